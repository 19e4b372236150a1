"""semsearch related: papers near the ones that are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.filter_options import newer_than_option
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
from semsearch.cli.search_options import highlight_option, search_options

if TYPE_CHECKING:
    from semsearch.paper import Paper
    from semsearch.ranking import Hit, SearchOptions
    from semsearch.search import Searcher


@click.command(epilog="""\b
Examples:
  semsearch related vaswani2017attention
  semsearch related 1706.03762 10.18653/v1/N19-1423 --unlike W18-6249 -k 20
  semsearch related --like-file refs.bib --newer-than 2023     # what am I missing?
  semsearch related --title "attention is all you need" --query "for protein sequences"
  semsearch related --text my-abstract.txt --diversity 0.3
  semsearch related --all -k 10 -o neighbours.jsonl
""")
@click.argument("names", nargs=-1, metavar="[ID]...")
@click.option("--like", "likes", multiple=True, metavar="ID", help="A paper to be near to, as ID. Can be repeated.")
@click.option("--unlike", multiple=True, metavar="ID", help="A paper to keep away from. Can be repeated.")
@click.option("--title", "titles", multiple=True, metavar="WORDS",
              help="A paper by words of its title. Can be repeated.")
@click.option("--text", "texts", multiple=True, metavar="FILE|-",
              help="An abstract that need not be in the index, from a file. Can be repeated.")
@click.option("--query", metavar="WORDS", help="A question in words that goes with the papers.")
@click.option("--like-file", "like_files", multiple=True, metavar="FILE",
              help="All papers of a file in any format that is read, such as refs.bib. Can be repeated.")
@click.option("--all", "every", is_flag=True,
              help="The nearest papers of every paper of the index, by meaning; jsonl (with query_id), csv or trec.")
@top_k_option
@search_options
@newer_than_option
@highlight_option
@output_options(HIT_FORMATS)
@index_option
@moved_model_option
@device_options
@console_options
@click.pass_obj
def command(app: App, names: tuple[str, ...], likes: tuple[str, ...], unlike: tuple[str, ...], titles: tuple[str, ...],
            texts: tuple[str, ...], query: str | None, like_files: tuple[str, ...], every: bool, top_k: int,
            search: SearchOptions, newer_than: str | None, highlight: bool | None, output: Output, folder: Path,
            model: str | None, device: str, trust_remote_code: bool, console: Console) -> None:
    """Find the papers nearest to those that you name.

    Near to any of several, and away from those that are --unlike. ID is an id, a DOI, an arXiv or PubMed id with or
    without its URL, or the unique beginning of an id; `-` reads ids from standard input. The papers that are named are
    never among the answers. By ids and titles alone, no model is loaded.
    """
    named = names or likes or titles or texts or like_files or query
    if every and (named or unlike):
        raise click.UsageError("--all asks for the neighbours of every paper; name none, or leave it away.")
    if not (named or every):
        raise click.UsageError("Related to what? Name papers by ID, --like or --title, give an abstract with --text or "
                               "a library with --like-file.")
    if [*names, *likes, *unlike, *texts].count("-") > 1:
        raise click.UsageError("Standard input can be read only once.")
    from semsearch.cli.output import is_for_people, write_hits
    from semsearch.cli.questions import read_names, read_text
    from semsearch.search import Searcher

    options = replace(search, filter=replace(search.filter, newer_than=newer_than),
                      highlight=is_for_people(output) if highlight is None else highlight)
    with Searcher(folder, model=model, device=device, trust_remote_code=trust_remote_code,
                  provider=app.provider) as searcher:
        if every:
            _write_all(searcher, top_k, options, output, console)
            return
        liked, unliked = read_names([*names, *likes]), read_names(unlike)
        abstracts = [read_text(file) for file in texts]
        papers = _read_papers(like_files, console)
        with console.timed(f"Answered from {searcher.reader.visible:,} papers"):
            answer = searcher.related(liked, top_k, options, titles=titles, texts=abstracts, unlike=unliked,
                                      liked_papers=papers, query=query)
    console.notes(answer.notes, answer.seconds)
    write_hits(answer.hits, output)


def _read_papers(files: Sequence[str], console: Console) -> list[Paper]:
    if not files:
        return []
    from semsearch.reading import read_library

    with read_library(files, progress=console.progress()) as library:
        rejected = sum(len(report.rejected) for report in library.report())
        if rejected:
            console.note(f"{rejected:,} records of {', '.join(files)} could not be used: semsearch read --report says "
                         "why.")
        return list(library)


def _write_all(searcher: Searcher, top_k: int, options: SearchOptions, output: Output, console: Console) -> None:
    """Write the nearest papers of every paper that the filter lets pass."""
    from semsearch.cli.output import write_answers
    from semsearch.neighbours import all_neighbours
    from semsearch.ranking import Hit, Mode

    if click.get_current_context().get_parameter_source("mode") is ParameterSource.COMMANDLINE \
            and options.mode is not Mode.DENSE:
        raise click.UsageError(f"--all compares by meaning alone, and not by --mode {options.mode}.")
    if options.diversity > 0:
        raise click.UsageError("--all gives the nearest papers as they are, without --diversity.")
    reader = searcher.reader
    mask = None if options.filter.is_empty else reader.allowed(options.filter).mask
    ids = reader.papers.ids()

    def answers() -> Iterator[tuple[str, Sequence[Hit]]]:
        with console.progress().task("Comparing", reader.visible, "paper") as task:
            for row, rows, scores in all_neighbours(reader, top_k, mask, task.advance):
                papers = reader.papers.get(rows.tolist())
                kept = [(paper, round(float(score), 6)) for paper, score in zip(papers, scores, strict=True)
                        if options.min_score is None or score >= options.min_score]
                yield ids[row], [Hit(rank, score, "cosine", paper, {"cosine": score})
                                 for rank, (paper, score) in enumerate(kept, 1)]

    write_answers(answers(), output)
