"""Hits: papers in the order in which they answer a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from semsearch.filters import Filter
from semsearch.paper import Paper

DEFAULT_WEIGHT: Final = 0.6
DEFAULT_SMOOTHING: Final = 0.2
"""Both measured: docs/quality.md."""
DEFAULT_RERANK_DEPTH: Final = 50


class Mode(StrEnum):
    """By what papers are compared: meaning and words together, meaning alone, words alone."""

    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How answers are found and shown; the defaults are those of the command line.

    `weight`: the share of the cosine in a hybrid score, in [0, 1]. `smoothing`: the share of a hybrid score that is the
    mean score of the nearest papers among the best; 0 leaves it away. `min_score`: the least cosine of a hit.
    `diversity`: in [0, 1], how much a hit loses for being like those above it (0: nothing). `highlight`: find the
    sentence that is nearest to the question. `rerank`: the name or folder of a cross-encoder that scores the best
    `rerank_depth` again. `encode_budget`: how many papers without a vector are encoded for a question, None for about a
    second's worth.
    """

    mode: Mode = Mode.HYBRID
    weight: float = DEFAULT_WEIGHT
    smoothing: float = DEFAULT_SMOOTHING
    filter: Filter = field(default_factory=Filter)
    min_score: float | None = None
    diversity: float = 0.0
    highlight: bool = False
    rerank: str | None = None
    rerank_depth: int = DEFAULT_RERANK_DEPTH
    encode_budget: int | None = None


@dataclass(frozen=True, slots=True)
class Highlight:
    """Why a paper is there: the sentence nearest to the question, and the words that both share.

    `start` and `end` are offsets into the abstract, or into the title where `field` says so, in Unicode characters;
    `text` is what stands there. `cosine`: of the sentence to the question, None where no vector was asked. `words`:
    (start, end) offsets of the matched words in the same field.
    """

    field: str
    text: str
    start: int
    end: int
    cosine: float | None
    words: tuple[tuple[int, int], ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return the highlight as it is written to JSON."""
        return {"field": self.field, "text": self.text, "start": self.start, "end": self.end, "cosine": self.cosine,
                "words": [list(word) for word in self.words]}


@dataclass(frozen=True, slots=True)
class Hit:
    """A paper and why it stands where it stands.

    `rank` counts from 1. `score`: higher is better, of the kind that `score_kind` names: `cosine` in [-1, 1], `bm25`,
    `hybrid` (`weight` x cosine + the rest x BM25 by the question's best BM25, a part of it that of the nearest other
    hits) or `rerank`. `signals` holds the parts of the score by name.
    """

    rank: int
    score: float
    score_kind: str
    paper: Paper
    signals: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    highlight: Highlight | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the hit as it is written to JSON, the same in every front end."""
        paper = self.paper
        return {
            "rank": self.rank, "score": self.score, "score_kind": self.score_kind, "id": paper.id, "title": paper.title,
            "abstract": paper.abstract, "authors": list(paper.authors), "year": paper.year, "date": paper.date,
            "venue": paper.venue, "categories": list(paper.categories), "url": paper.url, "doi": paper.doi,
            "signals": dict(self.signals), "highlight": self.highlight.as_dict() if self.highlight else None,
        }
