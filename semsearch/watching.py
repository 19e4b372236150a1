"""Saved searches: asked again, they give only the papers that came into the index since the last time.

What is new is told by when a paper got its row (`arrivals`), and a search moves on to the newest arrival of the
generation that it read, never to the time of a clock: what a build publishes meanwhile is not passed over. It moves on
only when `advance` is called, after what was found has been written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semsearch.asking import Asking
from semsearch.encoding import Encoder
from semsearch.errors import EmptyQuery, PaperNotFound, QueryError, UsageError
from semsearch.index.facet_columns import arrivals
from semsearch.index.reader import IndexReader
from semsearch.index.saved_searches import Report, SavedSearch
from semsearch.index.state import State, change_state
from semsearch.known_vectors import KnownVectors
from semsearch.ranking import Hit, Mode, SearchOptions
from semsearch.search import Searcher
from semsearch.spelling import spelt_index
from semsearch.writers.atom import Entry, Feed

FEED_ENTRIES: Final = 100
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class News:
    """What a search found that is new, best first, ranks from 1.

    `search`: as it was when it was asked. `seen_until`: the newest arrival that was looked at. `notes`: what the user
    has to know, `details`: what they may want to know, a line each.
    """

    search: SavedSearch
    hits: tuple[Hit, ...]
    seen_until: int
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()

    def after(self, now: str) -> SavedSearch:
        """Return the search as it is once these news have been given, at `now` (ISO 8601)."""
        return _moved_on(self.search, self, now)


def utc_now() -> str:
    """Return the time as searches remember it: ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def save_search(index_folder: Path | str, search: SavedSearch, *, from_the_start: bool = False,
                replacing: bool = False) -> SavedSearch:
    """Remember a search in the state of an index and return it as it is remembered.

    `created`, `likes` (to be ids) and `seen_until` are filled in: papers that are in the index now are no news, unless
    `from_the_start`. With `replacing` a search of that name is given up together with what it reported.

    Raises:
        UsageError: the name is none, or is taken.
        EmptyQuery: there is neither a question nor a paper that is liked.
        PaperNotFound, AmbiguousPaper: a liked paper is not in the index.
    """
    index_folder = Path(index_folder)
    name = _checked_name(search.name)
    with IndexReader(index_folder) as reader:
        if search.question or not search.likes:
            asking = Asking(reader, KnownVectors(reader, _no_encoder), _no_encoder)
            asking.questions([search.question], by_meaning=False)
        liked = [reader.find(like) for like in search.likes]
        reader.allowed(search.filter)  # a condition that makes no sense is better told now than by each run
        newest = int(max(arrivals(reader), default=0))
        complete = replace(
            search, name=name, question=_encodable(search.question), seen_until=0 if from_the_start else newest,
            likes=tuple(dict.fromkeys(paper.id for paper in reader.papers.get(liked))), last_run="", reports=(),
            created=datetime.now(UTC).isoformat(timespec="microseconds"))

    def change(state: State) -> State:
        if name in state.searches and not replacing:
            raise UsageError(f"There is a saved search {name!r} already.",
                             "Choose another name, or say --replace: what it has reported is forgotten then.")
        return replace(state, searches={**state.searches, name: complete})

    change_state(index_folder, change)
    return complete


def forget_searches(index_folder: Path | str, names: Sequence[str]) -> list[SavedSearch]:
    """Remove saved searches and return them; all or, where one is not there, none.

    Raises:
        QueryError: there is none of such a name.
    """
    forgotten: list[SavedSearch] = []

    def change(state: State) -> State:
        forgotten[:] = choose_searches(state, names) if names else ()
        gone = {search.name for search in forgotten}
        return replace(state, searches={name: s for name, s in state.searches.items() if name not in gone})

    with IndexReader(Path(index_folder)):  # says what is wrong where there is no index
        change_state(Path(index_folder), change)
    return forgotten


def choose_searches(state: State, names: Sequence[str] = ()) -> list[SavedSearch]:
    """Return the saved searches of these names, each once, or all in the order in which they were saved.

    Raises:
        QueryError: there is none of such a name; those that are there are listed.
    """
    for name in names:
        if name not in state.searches:
            there = f"There: {', '.join(state.searches)}." if state.searches else "There is none yet."
            raise QueryError(f"No saved search is called {name!r}. {there}",
                                      f'Save one with: semsearch watch add {name} "a question"')
    return [state.searches[name] for name in dict.fromkeys(names)] if names else list(state.searches.values())


def find_news(searcher: Searcher, search: SavedSearch) -> News:
    """Return what came into the index since the search moved on last, at most its `k` best.

    They are ranked among the new papers alone, so older ones cannot crowd them out. A paper that it gave before is not
    given again, which matters where an index was built anew and all its papers are new to it.

    Raises:
        PaperNotFound: none of the papers that it is to be like is left.
        ModelError: the model of the index is not to be had.
    """
    reader = searcher.reader
    arrived = arrivals(reader)
    seen_until = _seen_until(reader, search, arrived)
    known = {report.id for report in search.reports}
    new = arrived > search.seen_until
    new[list(reader.hidden)] = False
    again = int(new[reader.papers.rows_of_ids(known)].sum())
    if new.sum() == again:
        return News(search, (), seen_until)
    options = SearchOptions(search.mode, search.weight, min_score=search.min_score, diversity=search.diversity,
                            filter=replace(search.filter, added_after=search.seen_until))
    likes, notes = _likes_left(reader, search)
    wanted = search.k + again + 1
    answer = searcher.related(likes, wanted, options, query=search.question or None) if likes else \
        searcher.query(search.question, wanted, options)
    fresh = [hit for hit in answer.hits if hit.paper.id not in known]
    if len(fresh) > search.k:
        near = "are near enough" if search.min_score is not None else "came in"
        notes.append(f"{search.name}: more than {search.k} new papers {near}; these are the best, the others will not "
                     "be given. A greater -k gives more.")
    if 0 < search.seen_until < min(arrived) and fresh:
        notes.append(f"{search.name}: the index was built anew, so all its papers are new but those reported before.")
    hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(fresh[:search.k], 1))
    return News(search, hits, seen_until, tuple(notes), answer.notes)


def advance(index_folder: Path, news: Sequence[News], now: str) -> None:
    """Move searches on, after what they found has been written; one that was removed or replaced meanwhile stays so."""
    def change(state: State) -> State:
        searches = dict(state.searches)
        for found in news:
            current = searches.get(found.search.name)
            if current is not None and current.created == found.search.created:
                searches[current.name] = _moved_on(current, found, now)
        return replace(state, searches=searches)

    change_state(index_folder, change)


def feed_of(reader: IndexReader, searches: Sequence[SavedSearch], title: str, key: str = "") -> Feed:
    """Return the feed of what some searches gave, newest first, the last 100 that can still be found.

    `key`: what tells this feed from others; by default it follows from the searches.
    """
    reports = [(report, search) for search in searches for report in search.reports]
    reports.sort(key=lambda pair: (pair[0].reported, pair[0].score), reverse=True)
    rows = [row for row in reader.papers.rows_of_ids({report.id for report, _ in reports}) if row not in reader.hidden]
    papers = {paper.id: paper for paper in reader.papers.get(rows)}
    entries = [Entry(papers[report.id], report.reported, search.name, _identity(search))
               for report, search in reports if report.id in papers]
    updated = max([*(search.created for search in searches), *(report.reported for report, _ in reports)],
                  default="1970-01-01T00:00:00+00:00")
    return Feed(key or "\n".join(map(_identity, searches)), title, updated, entries[:FEED_ENTRIES])


def _seen_until(reader: IndexReader, search: SavedSearch, arrived: NDArray[np.int64]) -> int:
    """Return up to which arrival this generation can be looked at: before the first paper that waits for its vector."""
    newest = int(max(arrived, default=0))
    if search.mode is not Mode.LEXICAL or search.min_score is not None:
        waiting = np.ones(len(arrived), np.bool_)
        waiting[reader.vectors.rows] = False
        waiting[list(reader.hidden)] = False
        newest = min(newest, int(min(arrived[waiting], default=newest + 1)) - 1)
    return max(search.seen_until, newest)


def _likes_left(reader: IndexReader, search: SavedSearch) -> tuple[list[str], list[str]]:
    """Return the liked papers that are still in the index, and a note for each that is not."""
    left, notes = [], []
    for like in search.likes:
        try:
            reader.find(like)
        except PaperNotFound:
            notes.append(f"{search.name}: the paper {like!r}, which others were to be like, is gone.")
        else:
            left.append(like)
    if search.likes and not left and not search.question:
        raise PaperNotFound(f"{search.name}: none of the papers that others were to be like is left in the index.",
                            f"Give it others: semsearch watch add{spelt_index(reader.folder)} {search.name} --replace "
                            "--like ID")
    return left, notes


def _moved_on(search: SavedSearch, found: News, now: str) -> SavedSearch:
    return search.advanced(found.seen_until, tuple(Report(hit.paper.id, now, hit.score) for hit in found.hits), now)


def _identity(search: SavedSearch) -> str:
    return f"{search.name}\n{search.created}"


def _checked_name(name: str) -> str:
    if not name or len(name) > _LONGEST_NAME or name != name.strip() or name.startswith("-") or not name.isprintable():
        raise UsageError(f"{name!r} is not a name for a search.", "Give a short word, as in: semsearch watch add birds "
                         '"how do birds navigate?"')
    return name


def _encodable(text: str) -> str:
    """Return a text on one line without what no encoding can write: bytes of a command line that are no text."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


def _no_encoder() -> Encoder:
    raise EmptyQuery("A question cannot be encoded before it is asked.")
