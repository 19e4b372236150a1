"""semsearch reindex: make indexes again from their own papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.options import (
    console_options,
    device_options,
    home_option,
    index_name,
    json_option,
    model_options,
    named_or_all,
)
from semsearch.errors import SemsearchError

if TYPE_CHECKING:
    from semsearch.progress import Progress
    from semsearch.reindex import ReindexOptions


@click.command(epilog="""\b
Examples:
  semsearch reindex demo --model BAAI/bge-small-en-v1.5
  semsearch reindex demo --max-tokens 512
  semsearch reindex --all --factory auto
""")
@click.argument("names", nargs=-1, metavar="[NAME]...", type=index_name)
@click.option("--all", "every", is_flag=True, help="All indexes.")
@model_options
@device_options
@json_option
@home_option
@console_options
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], every: bool, model: str | None, model_revision: str | None,
            max_tokens: int | None, precision: str | None, factory: str | None, min_recall: float | None,
            language: str | None, device: str, trust_remote_code: bool, as_json: bool, home: Path, console: Console
            ) -> None:
    """Make indexes again from their own papers.

    Their sources are not needed. With another model or limit everything is encoded anew; with another factory nothing
    is. Questions are answered from the old state until the new one is there. One index that fails does not stop the
    others.
    """
    chosen = named_or_all(names, every, home)
    from semsearch.reindex import ReindexOptions

    options = ReindexOptions(model=model, revision=model_revision, max_tokens=max_tokens, factory=factory,
                             min_recall=min_recall, language=language, precision=precision, device=device,
                             trust_remote_code=trust_remote_code)
    app: App = ctx.obj
    progress = console.progress()
    failed = 0
    for name in chosen:
        if len(chosen) > 1:
            console.note(f"{name}:")
        failed += not _reindex_one(app, home.expanduser() / name, options, as_json, progress)
    if failed:
        ctx.exit(1)


def _reindex_one(app: App, folder: Path, options: ReindexOptions, as_json: bool, progress: Progress) -> bool:
    """Make one index again, print what came of it, and return whether it went well."""
    from semsearch.cli.build_report import changes_of, count_of
    from semsearch.cli.output import write_json
    from semsearch.cli.progress import duration
    from semsearch.reindex import reindex_index

    try:
        summary = reindex_index(folder, options, provider=app.provider, progress=progress)
    except (SemsearchError, OSError) as failure:
        from semsearch.cli.app import tell_error

        error = failure if isinstance(failure, SemsearchError) else SemsearchError(
            f"{failure.filename}: {failure.strerror}.", "Check the path, its permissions and the room on its disk.")
        tell_error(f"{folder.name}: {error.message}", error.way_out)
        if as_json:
            write_json({"index": folder.name, "error": error.message, "way_out": error.way_out})
        else:
            click.echo(f"{folder.name}: failed; nothing was changed")
        return False
    if as_json:
        write_json(summary.as_dict())
    else:
        click.echo(f"{summary.index}: generation {summary.generation}, {count_of(summary.papers, 'paper')} "
                   f"({changes_of(summary)}), {summary.encoded:,} encoded, {summary.reused:,} reused, "
                   f"{summary.factory}, in {duration(summary.seconds)}")
    return True
