"""semsearch info: what an index holds, and what made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from semsearch.cli.options import console_options, index_name, index_option, json_option

if TYPE_CHECKING:
    from semsearch.cli.console import Console
    from semsearch.maintenance import IndexInfo

_SOURCES_SHOWN: Final = 20


@click.command(epilog="""\b
Examples:
  semsearch info
  semsearch info demo --json
""")
@click.argument("name", required=False, type=index_name)
@json_option
@index_option
@console_options
def command(name: str | None, as_json: bool, folder: Path, console: Console) -> None:
    """Tell what an index holds and what made it.

    Papers, sources, model, vectors, size. NAME is the index; so is -i NAME.
    """
    from semsearch.cli.output import open_output, write_json
    from semsearch.maintenance import describe

    folder = folder.with_name(name) if name else folder
    info = describe(folder)
    if as_json:
        write_json(info.as_dict())
        return
    from semsearch.cli.console import look_of
    from semsearch.writers.table import write_fields

    with open_output(None) as stream:
        write_fields(_fields(info, folder, everything=console.verbose), stream, look_of(stream))


def _fields(info: IndexInfo, folder: Path, *, everything: bool) -> list[tuple[str, str]]:
    from semsearch.cli.progress import size_of
    from semsearch.spelling import spelt_index

    shown = info.sources if everything else info.sources[:_SOURCES_SHOWN]
    fields = [
        ("index", f"{info.name} (generation {info.generation}, {info.created}, semsearch {info.semsearch_version})"),
        ("folder", info.folder),
        ("size", size_of(info.size_bytes)),
        ("papers", f"{info.papers:,}"),
        ("", f"{info.deleted:,} deleted by you" if info.deleted else ""),
        ("", f"{info.without_abstract:,} without an abstract, found by their title" if info.without_abstract else ""),
        ("", f"{info.truncated:,} longer than {info.max_tokens} tokens, cut there" if info.truncated else ""),
        ("model", f"{info.model}" + (f", revision {info.revision}" if info.revision else "")),
        ("", f"{info.dimension} dimensions, {info.max_tokens} tokens, {info.precision}"),
        ("", f"fingerprint {info.fingerprint}"),
        ("vectors", f"{info.vectors:,} ({int(100 * info.coverage)}% of the papers)"),
        ("", f"{info.waiting_vectors:,} more wait for the next build" if info.waiting_vectors else ""),
        ("", f"go on encoding with: semsearch build{spelt_index(folder)}" if info.coverage < 1 else ""),
        ("search", _search(info)),
        ("words", f"{info.language}, of {info.distinct_texts:,} distinct texts" if info.language != "none" else
         f"just as they are, of {info.distinct_texts:,} distinct texts"),
    ]
    for number, source in enumerate(shown):
        fields.append(("" if number else "sources", f"{source.path}: {source.papers:,} papers ({source.format})"))
    if len(shown) < len(info.sources):
        fields.append(("", f"and {len(info.sources) - len(shown)} more; -v lists them all"))
    fields += [("" if number else "remembered", path) for number, path in enumerate(info.remembered)]
    return [(label, text) for label, text in fields if text]


def _search(info: IndexInfo) -> str:
    if info.recall_at_10 is None:
        return f"exact ({info.factory})"
    parameters = ", ".join(f"{name}={value}" for name, value in info.search_parameters.items())
    with_parameters = f" with {parameters}" if parameters else ""
    return f"{info.factory}{with_parameters}; finds {info.recall_at_10:.1%} of the ten nearest"
