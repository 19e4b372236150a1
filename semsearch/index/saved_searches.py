"""Searches that an index remembers, with what each of them has reported."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple

from semsearch.filters import Filter
from semsearch.ranking import DEFAULT_WEIGHT, Mode

REPORTS_KEPT: Final = 500
"""Of each search: a feed shows the last hundred; the others keep a rebuilt index from being news once more."""


class Report(NamedTuple):
    """A paper that a search gave: its id, when (ISO 8601, UTC), and its score then."""

    id: str
    reported: str
    score: float


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A question, or papers that are liked, asked again and again for what is new.

    `created`: ISO 8601 in UTC, to the microsecond; with the name it tells this search from a later one of that name.
    `seen_until`: the arrival (UTC seconds) of the newest paper that it has looked at, 0 for none yet. `last_run`: ISO
    8601, `""` before the first. `reports`: oldest first, at most `REPORTS_KEPT`.
    """

    name: str
    created: str
    question: str = ""
    likes: tuple[str, ...] = ()
    filter: Filter = field(default_factory=Filter)
    mode: Mode = Mode.HYBRID
    weight: float = DEFAULT_WEIGHT
    min_score: float | None = None
    diversity: float = 0.0
    k: int = 10
    seen_until: int = 0
    last_run: str = ""
    reports: tuple[Report, ...] = ()

    def advanced(self, seen_until: int, reports: tuple[Report, ...], now: str) -> SavedSearch:
        """Return the search after a run that looked at papers up to `seen_until` and gave `reports`.

        It never goes back: another run may have come further meanwhile. A paper keeps its first report.
        """
        known = {report.id for report in self.reports}
        best_first = [report for report in reports if report.id not in known][:REPORTS_KEPT]
        kept = (*self.reports, *best_first)[-REPORTS_KEPT:]
        return replace(self, seen_until=max(self.seen_until, seen_until), last_run=max(self.last_run, now),
                       reports=kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the search as it is written to JSON."""
        return {**asdict(self), "filter": self.filter.to_dict(), "reports": [list(report) for report in self.reports]}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> SavedSearch:
        """Return the search that `to_dict` wrote.

        Raises:
            ValueError, TypeError, KeyError: it is none.
        """
        return cls(**{**document, "filter": Filter.from_dict(document["filter"]), "mode": Mode(document["mode"]),
                      "likes": tuple(document["likes"]),
                      "reports": tuple(Report(*report) for report in document["reports"])})
