"""Which rows a filter lets pass: a mask, made before anything is ranked."""

from __future__ import annotations

import calendar
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import PaperNotFound, UsageError
from semsearch.filters import Filter, parse_date
from semsearch.index.author_names import AuthorWords, author_words
from semsearch.index.facets import folded_category
from semsearch.index.paper_table import PaperTable
from semsearch.index.where import rows_where
from semsearch.paper import comparable

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Allowed:
    """The rows that may be answers.

    `mask`: (papers,) bool by row. `undated`: how many rows are left out only because their date is unknown or not
    known well enough. `missing`: the ids of the filter that no paper has.
    """

    mask: NDArray[np.bool_]
    undated: int = 0
    missing: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many rows may be answers."""
        return int(np.count_nonzero(self.mask))

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever asked should know: sentences, none where nothing is to be said."""
        notes = []
        if self.undated:
            papers = "1 paper was" if self.undated == 1 else f"{self.undated:,} papers were"
            notes.append(f"{papers} left out because the date is unknown or not known well enough to tell.")
        if self.missing:
            ids = "1 id is" if len(self.missing) == 1 else f"{len(self.missing):,} ids are"
            notes.append(f"{ids} not in the index: {_listed(self.missing)}.")
        return tuple(notes)


def allowed_rows(table: PaperTable, filter: Filter, hidden: Collection[int] = ()) -> Allowed:
    """Return the rows that meet all conditions of a filter; `hidden` rows never do.

    Raises:
        UsageError: a value has no word, or the SQL expression cannot be evaluated.
        PaperNotFound: the filter names ids and none of them is in the index.
    """
    mask = np.ones(table.papers, bool)
    mask[list(hidden)] = False
    undated = 0
    missing: tuple[str, ...] = ()
    if filter.ids is not None:
        rows, missing = _rows_of(table, filter.ids, hidden)
        mask &= _mask(table.papers, rows)
    if filter.authors:
        mask &= _mask(table.papers, _rows_by_authors(table, filter.authors))
    if filter.where is not None:
        mask &= _mask(table.papers, rows_where(table.path, table.papers, filter.where))
    conditions, parameters = _folded_conditions(filter)
    if filter.added_after is not None:
        conditions.append("added > ?")
        parameters.append(filter.added_after)
    dated, dates = _date_conditions(filter)
    if conditions or dated:
        condition = " AND ".join(conditions + dated)
        if dated:  # of three values: NULL where only an unknown date stands in the way
            unknown = _mask(table.papers, table.rows_by_facets(f"({condition}) IS NULL", parameters + dates))
            undated = int(np.count_nonzero(mask & unknown))
        mask &= _mask(table.papers, table.rows_by_facets(condition, parameters + dates))
    return Allowed(mask, undated, missing)


def _mask(papers: int, rows: Iterator[int] | list[int]) -> NDArray[np.bool_]:
    mask = np.zeros(papers, bool)
    mask[np.fromiter(rows, np.int64)] = True
    return mask


def _rows_of(table: PaperTable, names: tuple[str, ...], hidden: Collection[int]) -> tuple[list[int], tuple[str, ...]]:
    """Return the rows of the papers called by these names, and the names that no paper has."""
    rows: list[int] = []
    missing = []
    for name in dict.fromkeys(names):
        found = table.rows_named(name, hidden)
        rows += found
        if not found:
            missing.append(name)
    if not rows:
        raise PaperNotFound(f"None of the {len(names):,} ids to choose from is in the index: {_listed(missing)}."
                            if names else "The list of ids to choose from is empty.",
                            "Give ids or other identifiers of papers in the index, one a line.")
    return rows, tuple(missing)


def _listed(names: Collection[str]) -> str:
    first = ", ".join(repr(name) for name in list(names)[:_NAMED])
    return f"{first} ..." if len(names) > _NAMED else first


def _rows_by_authors(table: PaperTable, values: tuple[str, ...]) -> Iterator[int]:
    """Yield the rows of which one author fits one of the values."""
    for value in values:
        wanted = author_words(value)
        if not wanted.whole_words:
            raise UsageError(f"The author {value!r} holds no whole name.",
                             'Give one, as in "Ada Lovelace" or "Lovelace, A".')
        condition = " AND ".join(["instr(authors, ?)"] * len(wanted.whole_words))
        words = [f" {word} " for word in wanted.whole_words]
        if len(words) == 1 and not (wanted.initials or wanted.family):  # then the word alone decides
            yield from table.rows_by_facets(condition, words)
        else:
            yield from _rows_fitting(table, wanted, condition, words)


def _rows_fitting(table: PaperTable, wanted: AuthorWords, condition: str, words: list[str]) -> Iterator[int]:
    fits: dict[str, bool] = {}  # many papers share their authors
    for row, authors in table.facets("row, authors", condition, words):
        for author in authors.split("|"):
            if author not in fits:
                fits[author] = wanted.fits(author.strip())
            if fits[author]:
                yield row
                break


def _folded_conditions(filter: Filter) -> tuple[list[str], list[Any]]:
    """Return the conditions on venues and categories in SQL, with their parameters."""
    conditions, parameters = [], []
    if filter.venues:
        alternatives = []
        for venue in filter.venues:
            words = dict.fromkeys(comparable(venue).split())
            if not words:
                raise UsageError(f"The venue {venue!r} holds no word.", "Give words of its name, as in ACL.")
            alternatives.append(" AND ".join(["instr(venue, ?)"] * len(words)))
            parameters += [f" {word} " for word in words]
        conditions.append(f"({' OR '.join(f'({one})' for one in alternatives)})")
    if filter.categories:
        for category in filter.categories:
            folded = folded_category(category.strip().removesuffix(".*"))
            if not folded:
                raise UsageError(f"The category {category!r} holds no word.",
                                 "Give one as in cs.CL, or cs for all of it.")
            parameters += [f"|{folded}|", f"|{folded}."]
        either = " OR ".join(["instr(categories, ?) OR instr(categories, ?)"] * len(filter.categories))
        conditions.append(f"({either})")
    return conditions, parameters


def _date_conditions(filter: Filter) -> tuple[list[str], list[Any]]:
    """Return the conditions on dates in SQL, NULL where the date does not tell, with their parameters."""
    conditions: list[str] = []
    parameters: list[Any] = []
    for year, comparison in ((filter.first_year, ">="), (filter.last_year, "<=")):
        if year is not None:
            conditions.append(f"year {comparison} ?")
            parameters.append(year)
    for date, comparison in ((filter.as_of, "<"), (filter.newer_than, ">")):
        if date is not None:
            through = _through(parse_date(date))
            begun = [through[:length] for length in (4, 7) if length < len(through)]
            conditions.append(f"CASE WHEN date IN ({', '.join(['?'] * (1 + len(begun)))}) THEN NULL "
                              f"ELSE date {comparison} ? END")
            parameters += ["", *begun, f"{through}~"]  # `~` follows all digits and `-`
    return conditions, parameters


def _through(date: str) -> str:
    """Return the longest span that ends with a date: `2020` for 2020-12-31, `2020-06` for 2020-06-30.

    So a paper of which no more than that span is known has appeared by its last day.
    """
    if len(date) == 10 and int(date[8:]) == calendar.monthrange(int(date[:4]), int(date[5:7]))[1]:
        date = date[:7]
    return date[:4] if date[4:] == "-12" else date
