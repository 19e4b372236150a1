"""TREC run files: `qid Q0 id rank score tag`, as trec_eval and its descendants read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, TextIO

from semsearch.ranking import Hit

RUN_TAG: Final = "semsearch"
_WHITE_SPACE: Final = re.compile(r"\s+")


def write_hits(hits: Iterable[Hit], stream: TextIO, query_id: str = "1") -> None:
    """Write the hits of one question; white space inside an id, which the format cannot hold, becomes `_`.

    Whoever evaluates a run sorts it by score. So where scores do not fall with the ranks, as with diverse hits or where
    only the first ones were reranked, the number of hits from there to the end stands in place of the score.
    """
    hits = list(hits)
    question = _WHITE_SPACE.sub("_", query_id.strip())
    falls = all(before.score >= after.score for before, after in pairwise(hits))
    for place, hit in enumerate(hits):
        paper = _WHITE_SPACE.sub("_", hit.paper.id.strip())
        score = hit.score if falls else len(hits) - place
        stream.write(f"{question} Q0 {paper} {hit.rank} {score:.6f} {RUN_TAG}\n")
