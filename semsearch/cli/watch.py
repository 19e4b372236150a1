"""semsearch watch: saved searches that give what is new."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from semsearch.cli.app import App, tell_error
from semsearch.cli.console import Console
from semsearch.cli.options import (
    PAPER_FORMATS,
    Output,
    console_options,
    device_options,
    index_option,
    json_option,
    moved_model_option,
    output_options,
    top_k_option,
)
from semsearch.cli.search_options import search_options
from semsearch.errors import QueryError, UsageError

if TYPE_CHECKING:
    from semsearch.index.reader import IndexReader
    from semsearch.index.saved_searches import SavedSearch
    from semsearch.ranking import SearchOptions
    from semsearch.watching import News
    from semsearch.writers import atom

_FORMATS: Final = (*PAPER_FORMATS, "atom")


@click.group(epilog="""\b
Examples:
  semsearch watch add birds "how do birds navigate?" --min-score 0.4
  semsearch watch add like-ours --like vaswani2017attention --like 1810.04805 --year 2024..
  semsearch build && semsearch watch run                # in a cron job: prints what is new
  semsearch watch run birds --format atom -o birds.xml  # a feed to subscribe to
""")
def command() -> None:
    """Save searches, and ask them again for what is new.

    A search that was run gives, the next time, only papers that came into the index since. Saved searches belong to an
    index and stay when it is built again.
    """


@command.command("add", epilog="""\b
Examples:
  semsearch watch add birds "how do birds navigate?" --min-score 0.4
  semsearch watch add like-ours --like vaswani2017attention --like 1810.04805
""")
@click.argument("name", metavar="NAME")
@click.argument("text", nargs=-1, metavar="[QUESTION]...")
@click.option("--like", "likes", multiple=True, metavar="ID",
              help="Papers like this one, instead of a question or beside it. Can be repeated.")
@click.option("--all", "from_the_start", is_flag=True,
              help="Papers that are in the index already count as new: the first run gives the best of them.")
@click.option("--replace", "replacing", is_flag=True, help="Take the place of a saved search of that name.")
@top_k_option
@search_options
@index_option
@console_options
def add(name: str, text: tuple[str, ...], likes: tuple[str, ...], from_the_start: bool, replacing: bool, top_k: int,
        search: SearchOptions, folder: Path, console: Console) -> None:
    """Save a search under a name.

    Only papers that come into the index from now on are new to it, unless --all is given. A run gives the -k best of
    the new papers; with --min-score, only those that are near enough. No model is loaded.
    """
    if not (text or likes):
        raise click.UsageError("What is to be watched? Give a question, or papers with --like.")
    from semsearch.index.saved_searches import SavedSearch
    from semsearch.watching import save_search

    saved = save_search(folder, SavedSearch(name, "", " ".join(text), likes, search.filter, search.mode, search.weight,
                                            search.min_score, search.diversity, top_k),
                        from_the_start=from_the_start, replacing=replacing)
    console.note(f"Saved {saved.name!r}. " + (
        "The first run gives papers that are in the index already." if from_the_start else
        "Papers that come into the index from now on are new to it."))


@command.command("run", epilog="""\b
Examples:
  semsearch watch run
  semsearch watch run birds --json
  semsearch watch run --format atom -o news.xml
""")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--dry-run", is_flag=True, help="Show what is new and leave it new.")
@output_options(_FORMATS)
@index_option
@moved_model_option
@device_options
@console_options
@click.pass_context
def run(ctx: click.Context, names: tuple[str, ...], dry_run: bool, output: Output, folder: Path, model: str | None,
        device: str, trust_remote_code: bool, console: Console) -> None:
    """Give the papers that are new to saved searches, to all where no NAME is given.

    Where nothing is new, nothing is printed, and a file of earlier news is left as it is. A paper that was given is not
    given again; one that could not be written, because a disk was full, stays new. JSON lines begin with the field
    `query`: the name of the search. A feed (--format atom) holds the last 100 papers that the searches gave, whenever
    that was.
    """
    app = ctx.find_object(App) or App()
    from semsearch.search import Searcher
    from semsearch.watching import News, advance, choose_searches, find_news, utc_now

    news: list[News] = []
    failures: list[QueryError | UsageError] = []
    with Searcher(folder, model=model, device=device, trust_remote_code=trust_remote_code,
                  provider=app.provider) as searcher:
        for search in choose_searches(searcher.reader.state, names):
            with console.timed(f"Asked {search.name}"):
                try:
                    news.append(find_news(searcher, search))
                except (QueryError, UsageError) as error:  # one that cannot be asked is no reason to miss the others
                    failures.append(error)
                    news.append(News(search, (), search.seen_until))
        now = utc_now()
        _write(searcher.reader, news, output, now, names)
    if not dry_run:
        advance(folder, news, now)
    for found in news:
        for note in (*found.notes, *(found.details if console.verbose else ())):
            console.note(note)
    for failure in failures:
        tell_error(failure.message, failure.way_out)
    if failures:
        ctx.exit(1)


@command.command("list", epilog="""\b
Examples:
  semsearch watch list
  semsearch watch list --json
""")
@json_option
@index_option
@console_options
def list_searches(as_json: bool, folder: Path, console: Console) -> None:
    """List the saved searches of an index."""
    from semsearch.cli.console import look_of
    from semsearch.cli.output import open_output, write_json
    from semsearch.index.reader import IndexReader
    from semsearch.writers.table import write_columns

    with IndexReader(folder) as reader:
        searches = list(reader.state.searches.values())
    if as_json:
        for search in searches:
            write_json(_summary(search))
    elif searches:
        with open_output(None) as stream:
            write_columns(("name", "reported", "last run", "search"), [_cells(search) for search in searches], stream,
                          look_of(stream))
    else:
        from semsearch.spelling import spelt_index

        console.note(f'No search is saved. Save one with: semsearch watch add{spelt_index(folder)} NAME "a question"')


@command.command("remove", epilog="""\b
Examples:
  semsearch watch remove birds
""")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@index_option
@console_options
def remove(names: tuple[str, ...], folder: Path, console: Console) -> None:
    """Remove saved searches."""
    from semsearch.watching import forget_searches

    for search in forget_searches(folder, names):
        console.note(f"Removed {search.name!r}.")


def _write(reader: IndexReader, news: Sequence[News], output: Output, now: str, names: Sequence[str]) -> None:
    """Write what is new, and see to it that it has left this process."""
    from semsearch.cli.output import open_output, write_hits

    form = output.format or "table"
    hits = [hit for found in news for hit in found.hits]
    if not hits and form != "atom":
        return  # a file of earlier news may not have been read yet
    if form not in ("table", "jsonl", "csv", "atom"):
        write_hits(hits, output)
    else:
        with open_output(output.path) as stream:
            _write_news(form, reader, news, stream, now, names)
    if output.path is None:
        with open_output(None) as stream:
            stream.flush()


def _write_news(form: str, reader: IndexReader, news: Sequence[News], stream: TextIO, now: str, names: Sequence[str]
                ) -> None:
    from semsearch.writers import atom, jsonl, tabular

    with_hits = [found for found in news if found.hits]
    if form == "atom":
        atom.write_feed(_feed(reader, news, now, names), stream)
    elif form == "jsonl":
        for found in with_hits:
            stream.writelines(jsonl.json_line({"query": found.search.name, **hit.as_dict()}) + "\n"
                              for hit in found.hits)
    elif form == "csv" and with_hits:
        tabular.write_answers([(found.search.name, found.hits) for found in with_hits], stream)
    elif form == "table":
        _write_lists(with_hits, stream)


def _write_lists(news: Sequence[News], stream: TextIO) -> None:
    from semsearch.cli.console import look_of
    from semsearch.cli.progress import amount_of
    from semsearch.writers import table
    from semsearch.writers.display import printable

    look = look_of(stream)
    for position, found in enumerate(news):
        head = f"{printable(found.search.name)}: {amount_of(len(found.hits), 'new paper')}"
        stream.write(("\n" if position else "") + look.bold(head) + "\n\n")
        table.write_hits(found.hits, stream, look)


def _feed(reader: IndexReader, news: Sequence[News], now: str, names: Sequence[str]) -> atom.Feed:
    """Return the feed of searches as they are once these news are given; that of all has a name of its own."""
    from semsearch.watching import feed_of

    searches = [found.after(now) for found in news]
    index = reader.folder.resolve().name
    title = f"semsearch {index}: {', '.join(names)}" if names else f"semsearch {index}"
    return feed_of(reader, searches, title, "" if names else f"all searches of {index}")


def _summary(search: SavedSearch) -> dict[str, object]:
    document = search.to_dict()
    document["reported"] = len(document.pop("reports"))
    return document


def _cells(search: SavedSearch) -> list[str]:
    like = f"like {', '.join(search.likes)}" if search.likes else ""
    least = "" if search.min_score is None else f"min score {search.min_score:g}"
    parts = [search.question, like, search.filter.describe(), least]
    return [search.name, f"{len(search.reports):,}", search.last_run[:16].replace("T", " ") or "never",
            "; ".join(part for part in parts if part)]
