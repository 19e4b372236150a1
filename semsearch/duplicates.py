"""Papers that are in an index more than once: nearly the same text, or the same title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import UsageError
from semsearch.index.facet_columns import shared_titles
from semsearch.index.reader import IndexReader
from semsearch.index.vector_index import VectorIndex
from semsearch.neighbours import all_neighbours, cosines_of_pairs, is_approximate, positions_permitted
from semsearch.paper import Paper, comparable
from semsearch.progress import Progress, Silent

DEFAULT_THRESHOLD: Final = 0.95
MOST_PAIRS: Final = 100_000
"""Beyond these nobody reads them, and memory is not for the taking."""
_NEAREST: Final = 10
"""Neighbours of each paper that are looked at where the index is too large to compare all with all."""
_SHORT_TITLE: Final = 2
"""A title of so many words (`Editorial`, `Book review`) is many papers'; it counts only where the texts are near."""
_COMMON_TITLE: Final = 20
"""So is a title that more papers than this have."""
_BLOCK_ROWS: Final = 4_096
_SLACK: Final = 1e-5
"""By how much a product in single precision may fall short of the cosine."""


@dataclass(frozen=True, slots=True)
class DuplicatePair:
    """Two papers that may be one; those that are linked by pairs have one `group`, from 1.

    `cosine` is of their texts, None where one has no vector. `papers` come in the order of their rows.
    """

    group: int
    cosine: float | None
    same_title: bool
    papers: tuple[Paper, Paper]

    def as_dict(self) -> dict[str, object]:
        """Return the pair as it is written to JSON."""
        return {"group": self.group, "cosine": self.cosine, "same_title": self.same_title,
                "ids": [paper.id for paper in self.papers], "titles": [paper.title for paper in self.papers],
                "years": [paper.year for paper in self.papers], "dois": [paper.doi for paper in self.papers]}


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What a search for duplicates found: pairs by group and then by row, and what a user should know, a line each."""

    pairs: tuple[DuplicatePair, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Link:
    """Two rows, the lower one first, and why they are a pair."""

    first: int
    second: int
    cosine: float | None
    same_title: bool


def find_duplicates(reader: IndexReader, threshold: float = DEFAULT_THRESHOLD, mask: NDArray[np.bool_] | None = None,
                    progress: Progress | None = None) -> Duplicates:
    """Return the pairs of papers whose cosine is at least `threshold` or whose titles are the same.

    Titles are compared without case, diacritics and punctuation; one of one or two words, or one that more than 20
    papers have, counts only beside a cosine, and not at all where there is no abstract. `mask`: `(papers,)` bool by
    row, the papers to compare, None for all. Deleted papers are left out. All are compared with all; in an index of
    more than 200,000 papers that has an approximate structure, each with the ten nearest that the structure finds.

    Raises:
        UsageError: the threshold is no cosine above 0, or more pairs were found than anyone reads.
    """
    if not 0 < threshold <= 1:
        raise UsageError(f"{threshold} is no threshold for duplicates.", "Give a cosine above 0 and up to 1.")
    positions = positions_permitted(reader, mask)
    approximate = is_approximate(reader, len(positions))
    progress = progress or Silent()
    found = (_near_by_structure if approximate else _near)(reader, positions, threshold, progress)
    links: dict[tuple[int, int], _Link] = {}
    for first, second, cosine in found:
        links[first, second] = _Link(first, second, cosine, False)
        if len(links) > MOST_PAIRS:
            raise UsageError(f"More than {MOST_PAIRS:,} pairs have a cosine of at least {threshold}.",
                             "Give a higher --threshold.")
    _link_titles(reader, mask, links)
    pairs = _pairs(reader, _saying_enough(reader, links.values()))
    return Duplicates(pairs, _notes(reader, mask, positions, approximate))


def _near(reader: IndexReader, positions: NDArray[np.int64], threshold: float, progress: Progress
          ) -> Iterator[tuple[int, int, float]]:
    """Yield (row, later row, cosine) of all pairs that are near enough."""
    vectors, least = reader.vectors, np.float32(threshold - _SLACK)
    blocks = [positions[start:start + _BLOCK_ROWS] for start in range(0, len(positions), _BLOCK_ROWS)]
    with progress.task("Comparing", len(positions) * (len(positions) - 1) // 2, "pair") as task:
        for number, block in enumerate(blocks):
            left = vectors.vectors_at(block)
            for other in blocks[number:]:
                near = left @ vectors.vectors_at(other).T >= least
                if other is block:
                    near = np.triu(near, 1)
                if near.any():
                    places, columns = np.nonzero(near)
                    yield from _checked(vectors, block[places], other[columns], threshold)
                task.advance(len(block) * (len(block) - 1) // 2 if other is block else len(block) * len(other))


def _near_by_structure(reader: IndexReader, positions: NDArray[np.int64], threshold: float, progress: Progress
                       ) -> Iterator[tuple[int, int, float]]:
    """Yield (row, later row, cosine) of pairs, of which one is among the nearest that the structure finds of the other.

    A pair may come twice.
    """
    permitted = np.zeros(reader.manifest.papers, np.bool_)
    permitted[reader.vectors.rows[positions]] = True
    with progress.task("Comparing", len(positions), "paper") as task:
        for row, rows, scores in all_neighbours(reader, _NEAREST, permitted, task.advance):
            near = rows[scores >= threshold - _SLACK]
            ends = reader.vectors.positions_of(np.array([[min(row, r), max(row, r)] for r in near.tolist()],
                                                        np.int64).reshape(-1))
            yield from _checked(reader.vectors, ends[::2], ends[1::2], threshold)


def _checked(vectors: VectorIndex, first: NDArray[np.int64], second: NDArray[np.int64], threshold: float
             ) -> Iterator[tuple[int, int, float]]:
    """Yield (row, row, cosine) of the pairs of positions whose cosine, summed exactly and rounded, is high enough."""
    cosines = cosines_of_pairs(vectors, first, second)
    for place in np.flatnonzero(cosines >= threshold):
        yield int(vectors.rows[first[place]]), int(vectors.rows[second[place]]), float(cosines[place])


def _link_titles(reader: IndexReader, mask: NDArray[np.bool_] | None, links: dict[tuple[int, int], _Link]) -> None:
    """Mark the links whose papers share a title, and add those of papers that share a title that says enough."""
    new: list[tuple[int, int]] = []
    title_of: dict[int, str] = {}
    for title, everywhere in shared_titles(reader):
        rows = [row for row in everywhere if row not in reader.hidden and (mask is None or mask[row])]
        title_of.update(dict.fromkeys(rows, title))
        if len(title.split()) > _SHORT_TITLE and len(rows) <= _COMMON_TITLE:
            new += [pair for pair in combinations(rows, 2) if pair not in links]
    for pair, link in links.items():
        if pair[0] in title_of and title_of[pair[0]] == title_of.get(pair[1]):
            links[pair] = replace(link, same_title=True)
    ends = reader.vectors.positions_of(np.array(new, np.int64).reshape(-1))
    first, second = ends[::2], ends[1::2]
    there = np.flatnonzero((first >= 0) & (second >= 0))
    cosines = dict(zip(there.tolist(), cosines_of_pairs(reader.vectors, first[there], second[there]).tolist(),
                       strict=True))
    for place, pair in enumerate(new):
        links[pair] = _Link(*pair, cosines.get(place), True)


def _saying_enough(reader: IndexReader, links: Iterable[_Link]) -> list[_Link]:
    """Return the links but those of papers of which nothing is known but one short title: `Editorial`, twice."""
    doubtful = {row for link in links if link.same_title for row in (link.first, link.second)}
    rows = sorted(doubtful)
    bare = {row for row, paper in zip(rows, reader.papers.get(rows), strict=True)
            if not paper.abstract and len(comparable(paper.title).split()) <= _SHORT_TITLE}
    return [link for link in links if not (link.same_title and {link.first, link.second} <= bare)]


def _pairs(reader: IndexReader, links: list[_Link]) -> tuple[DuplicatePair, ...]:
    links.sort(key=lambda link: (link.first, link.second))
    group_of = _groups(links)
    rows = sorted(group_of)
    papers = dict(zip(rows, reader.papers.get(rows), strict=True))
    pairs = [DuplicatePair(group_of[link.first], link.cosine, link.same_title,
                           (papers[link.first], papers[link.second])) for link in links]
    return tuple(sorted(pairs, key=lambda pair: pair.group))  # stable: by row within a group


def _groups(links: list[_Link]) -> dict[int, int]:
    """Return the group of each row, numbered from 1 in the order of their first rows: rows that links connect."""
    leader: dict[int, int] = {}

    def find(row: int) -> int:
        while leader.setdefault(row, row) != row:
            leader[row] = row = leader[leader[row]]
        return row

    for link in links:
        one, other = sorted((find(link.first), find(link.second)))
        leader[other] = one
    numbers: dict[int, int] = {}
    return {row: numbers.setdefault(find(row), len(numbers) + 1) for row in sorted(leader)}


def _notes(reader: IndexReader, mask: NDArray[np.bool_] | None, positions: NDArray[np.int64], approximate: bool
           ) -> tuple[str, ...]:
    permitted = np.ones(reader.manifest.papers, np.bool_) if mask is None else mask.copy()
    permitted[list(reader.hidden)] = False
    notes = []
    if missing := int(permitted.sum()) - len(positions):
        notes.append(f"{missing:,} papers have no vector yet and were compared by their titles alone.")
    if approximate:
        notes.append(f"This index is large: each paper was compared with the {_NEAREST} nearest that "
                     f"{reader.manifest.factory} finds, and some pairs may be missing.")
    return tuple(notes)
