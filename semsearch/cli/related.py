"""semsearch related: papers near the ones that are named."""

from __future__ import annotations

from pathlib import Path

import click

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.options import (
    HIT_FORMATS,
    Output,
    console_options,
    device_options,
    index_option,
    moved_model_option,
    output_options,
    top_k_option,
)


@click.command(epilog="""\b
Examples:
  semsearch related vaswani2017attention
  semsearch related 1706.03762 10.18653/v1/N19-1423 -k 20 --format bibtex
  semsearch related --title "attention is all you need"
  semsearch related --text my-abstract.txt
  semsearch query "speech" --format ids | semsearch related -
""")
@click.argument("names", nargs=-1, metavar="[ID]...")
@click.option("--title", "titles", multiple=True, metavar="WORDS",
              help="A paper by words of its title. Can be repeated.")
@click.option("--text", "texts", multiple=True, metavar="FILE|-",
              help="An abstract that need not be in the index, from a file. Can be repeated.")
@top_k_option
@output_options(HIT_FORMATS)
@index_option
@moved_model_option
@device_options
@console_options
@click.pass_obj
def command(app: App, names: tuple[str, ...], titles: tuple[str, ...], texts: tuple[str, ...], top_k: int,
            output: Output, folder: Path, model: str | None, device: str, trust_remote_code: bool,
            console: Console) -> None:
    """Find the papers nearest to those that you name.

    Nearest to one, or to the middle of several. ID is an id, a DOI, an arXiv or PubMed id with or without its URL, or
    the unique beginning of an id; `-` reads ids from standard input. The papers that are named are never among the
    answers. By ids and titles alone, no model is loaded.
    """
    if not (names or titles or texts):
        raise click.UsageError("Related to what? Name papers by ID or --title, or give an abstract with --text.")
    if [*names, *texts].count("-") > 1:
        raise click.UsageError("Standard input can be read only once.")
    from semsearch.cli.output import write_hits
    from semsearch.cli.questions import read_names, read_text
    from semsearch.search import Searcher

    with Searcher(folder, model=model, device=device, trust_remote_code=trust_remote_code,
                  provider=app.provider) as searcher:
        likes, abstracts = read_names(names), [read_text(file) for file in texts]
        with console.timed(f"Answered from {searcher.reader.visible:,} papers"):
            answer = searcher.related(likes, top_k, titles=titles, texts=abstracts)
    for note in answer.notes:
        console.note(note)
    write_hits(answer.hits, output)
