"""Hits: papers in the order in which they answer a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from semsearch.paper import Paper


@dataclass(frozen=True, slots=True)
class Hit:
    """A paper and why it stands where it stands.

    `rank` counts from 1. `score`: higher is better, of the kind that `score_kind` names (`cosine`: in [-1, 1]).
    `signals` holds the parts of the score by name.
    """

    rank: int
    score: float
    score_kind: str
    paper: Paper
    signals: Mapping[str, float | int | str | bool] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return the hit as it is written to JSON, the same in every front end."""
        paper = self.paper
        return {
            "rank": self.rank, "score": self.score, "score_kind": self.score_kind, "id": paper.id, "title": paper.title,
            "abstract": paper.abstract, "authors": list(paper.authors), "year": paper.year, "date": paper.date,
            "venue": paper.venue, "categories": list(paper.categories), "url": paper.url, "doi": paper.doi,
            "signals": dict(self.signals), "highlight": None,
        }
