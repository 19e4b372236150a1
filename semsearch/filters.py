"""Which papers may be an answer, whatever the question."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that a paper has to meet, all of them; of one condition with several values any.

    `first_year` to `last_year`, each None where that side is open. `venues`, `authors` and `categories`: words, without
    regard to case and diacritics. `ids`: ids or aliases, None for all papers. `where`: an SQL expression over the paper
    table; only a command line on the user's own machine may pass one. `as_of`: an ISO date (year, month or day) after
    which no paper may have appeared; `newer_than`: one after which it has to have appeared. A paper whose date is
    unknown, or not known well enough to tell, meets no condition on dates.
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

    @property
    def is_empty(self) -> bool:
        """Whether it lets every paper pass."""
        return self == Filter()
