"""semsearch build: files become an index."""

from __future__ import annotations

from pathlib import Path

import click

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.options import (
    console_options,
    device_options,
    index_option,
    json_option,
    model_options,
    output_file,
)

RECORDS_REJECTED = 3
"""Exit status of a build that finished and had to leave records out."""


@click.command(epilog="""\b
Examples:
  semsearch build --sample
  semsearch build library.bib exports/ abstracts.txt -i mine
  semsearch build                          # again what was named before: only what is new is encoded
  zcat dump.jsonl.gz | semsearch build - --from jsonl
  semsearch build dump/ --vectors vectors/ # what semsearch encode has encoded on other machines
""")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@index_option
@click.option("--from", "from_format", metavar="FORMAT",
              help="What the files are, where looking into them is not enough.")
@click.option("--sample", is_flag=True, help="Read the sample that comes with the package: 178 well-known papers.")
@model_options
@click.option("--vectors", type=click.Path(exists=True, file_okay=False, path_type=Path), multiple=True, metavar="DIR",
              help="Take vectors from the shards that semsearch encode put there, before encoding. Repeatable.")
@click.option("--encode", type=click.Choice(["now", "later"]), default="now", show_default=True,
              help="later: end as soon as the index answers, by words; the next build encodes.")
@click.option("--prune", is_flag=True, help="Remove papers that the sources named no longer hold.")
@click.option("-y", "--yes", is_flag=True, help="Prune even where more than a quarter of the papers would go.")
@click.option("--restore", is_flag=True, help="Bring back the papers that you deleted.")
@click.option("--rebuild", is_flag=True, help="Begin anew from the sources, as where the index is damaged.")
@click.option("--strict", is_flag=True, help="Stop at the first record that cannot be used.")
@click.option("--rejects", "rejects_file", type=output_file, metavar="FILE",
              help="Write rejected records here too, as JSON Lines.")
@click.option("--dry-run", is_flag=True, help="Read and report; write nothing.")
@device_options
@json_option
@console_options
@click.pass_context
def command(ctx: click.Context, sources: tuple[str, ...], folder: Path, from_format: str | None, sample: bool,
            model: str | None, model_revision: str | None, max_tokens: int | None, precision: str | None,
            factory: str | None, min_recall: float | None, language: str | None, vectors: tuple[Path, ...],
            encode: str, prune: bool, yes: bool, restore: bool, rebuild: bool, strict: bool,
            rejects_file: Path | None, dry_run: bool, device: str, trust_remote_code: bool, as_json: bool,
            console: Console) -> None:
    """Read files and folders into an index, encoding what is new.

    SOURCE is a file, a folder or `-` for standard input, in any format that is read; it is found by looking. Without a
    SOURCE those named before are read again. As soon as the papers are there questions are answered, better and better
    while encoding goes on. A build that was stopped goes on where it was. Exit status 3 says that it finished and that
    some records were rejected.
    """
    from semsearch.build import BuildOptions, build_index
    from semsearch.cli.build_report import write_report
    from semsearch.cli.output import write_json
    from semsearch.sample import sample_path

    app: App = ctx.obj
    named = [*sources, *([str(sample_path())] if sample else [])]
    options = BuildOptions(from_format=from_format, model=model, revision=model_revision, max_tokens=max_tokens,
                           device=device, trust_remote_code=trust_remote_code, factory=factory,
                           min_recall=min_recall, language=language, precision=precision, prune=prune,
                           confirmed=yes, strict=strict, restore=restore, rebuild=rebuild, dry_run=dry_run,
                           rejects_file=rejects_file, vectors=vectors, encode=encode)
    summary = build_index(named, folder, options, provider=app.provider, progress=console.progress())
    if as_json:
        write_json(summary.as_dict())
    else:
        write_report(summary, folder, dry_run=dry_run, every_file=console.verbose)
    if summary.rejected:
        ctx.exit(RECORDS_REJECTED)
