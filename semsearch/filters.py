"""Which papers may be an answer, whatever the question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self

from semsearch.errors import UsageError
from semsearch.paper import normalise_date

_YEARS: Final = re.compile(r"(\d{4})?\s*(\.\.|-|\N{EN DASH})?\s*(\d{4})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a paper has to meet, all of them; of one condition with several values any.

    `first_year` to `last_year`, each None where that side is open. `venues`, `authors` and `categories`: words, without
    regard to case and diacritics. `ids`: ids or aliases, None for all papers. `where`: an SQL expression over the paper
    table; only a command line on the user's own machine may pass one. `as_of`: an ISO date (year, month or day) after
    which no paper may have appeared; `newer_than`: one after which it has to have appeared. A paper whose date is
    unknown, or not known well enough to tell, meets no condition on dates. `added_after`: UTC seconds after which its
    row has to have been given.
    """

    first_year: int | None = None
    last_year: int | None = None
    venues: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    ids: tuple[str, ...] | None = None
    where: str | None = None
    as_of: str | None = None
    newer_than: str | None = None
    added_after: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it lets every paper pass."""
        return self == Filter()

    def describe(self) -> str:
        """Return the conditions in one readable line, `""` where there are none."""
        parts = [self._years()] if self.first_year is not None or self.last_year is not None else []
        for name, values in (("venue", self.venues), ("author", self.authors), ("category", self.categories)):
            if values:
                parts.append(f"{name} {' or '.join(values)}")
        if self.ids is not None:
            parts.append(f"among {len(self.ids):,} id{'s' * (len(self.ids) != 1)}")
        if self.where is not None:
            parts.append(f"where {self.where}")
        if self.as_of is not None:
            parts.append(f"as of {self.as_of}")
        if self.newer_than is not None:
            parts.append(f"newer than {self.newer_than}")
        if self.added_after is not None:
            parts.append(f"added after {_moment(self.added_after)}")
        return " ".join("; ".join(parts).split())

    def _years(self) -> str:
        if self.first_year == self.last_year:
            return f"year {self.first_year}"
        return f"years {'' if self.first_year is None else self.first_year}.." \
               f"{'' if self.last_year is None else self.last_year}"

    def to_dict(self) -> dict[str, object]:
        """Return the conditions that are set, as they are written to JSON."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value
                for name, value in found.items() if value is not None and (value != () or name == "ids")}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Return the filter that `to_dict` wrote.

        Raises:
            ValueError: it is not one.
        """
        values: dict[str, object] = {}
        for name, value in data.items():
            if name in ("first_year", "last_year", "added_after"):
                fits = type(value) is int
            elif name in ("venues", "authors", "categories", "ids"):
                fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
                value = tuple(value) if isinstance(value, list) else value
            else:
                fits = name in ("where", "as_of", "newer_than") and isinstance(value, str)
            if not fits:
                raise ValueError(f"{name}: {value!r} is no part of a filter")
            values[name] = value
        return cls(**values)  # type: ignore[arg-type]


def _moment(seconds: int) -> str:
    from datetime import UTC, datetime, timedelta

    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_years(text: str) -> tuple[int | None, int | None]:
    """Return first and last year of `2020..2025` or `2020-2025`, `2020`, `2020..`, `..2025`; None where a side is open.

    Raises:
        UsageError: it is none of these, or ends before it begins.
    """
    found = _YEARS.fullmatch(text.strip())
    first, dots, last = found.groups() if found else (None, None, None)
    is_dash = bool(dots) and dots != ".."
    if not (first or last) or (not dots and last) or (is_dash and not (first and last)):
        raise UsageError(f"{text!r} is no range of years.", "Give it as 2020..2025, 2020, 2020.. or ..2025.")
    if first and last and int(first) > int(last):
        raise UsageError(f"{text!r} ends before it begins.", f"Turn it round: {last}..{first}.")
    if not dots:
        last = first
    return (int(first) if first else None, int(last) if last else None)


def parse_date(text: str) -> str:
    """Return an ISO date as it was given, to the year, the month or the day.

    Raises:
        UsageError: it is none.
    """
    date = normalise_date(text)
    if not date:
        raise UsageError(f"{text!r} is no date.", "Give a day, a month or a year as 2020-06-15, 2020-06 or 2020.")
    return date
