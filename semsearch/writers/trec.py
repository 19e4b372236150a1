"""TREC run files: `qid Q0 id rank score tag`, as trec_eval and its descendants read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import Final, TextIO

from semsearch.ranking import Hit

RUN_TAG: Final = "semsearch"
_WHITE_SPACE: Final = re.compile(r"\s+")


def write_hits(hits: Iterable[Hit], stream: TextIO, query_id: str = "1") -> None:
    """Write the hits of one question; white space inside an id, which the format cannot hold, becomes `_`.

    Whoever evaluates a run sorts it by score, and equal scores by id. So a score that does not fall with the rank
    (equal ones, diverse hits, those beyond a reranked head) is written a millionth below the one before.
    """
    question = _WHITE_SPACE.sub("_", query_id.strip())
    before = inf
    for hit in hits:
        paper = _WHITE_SPACE.sub("_", hit.paper.id.strip())
        before = min(hit.score, before - 0.000_001)
        stream.write(f"{question} Q0 {paper} {hit.rank} {before:.6f} {RUN_TAG}\n")
