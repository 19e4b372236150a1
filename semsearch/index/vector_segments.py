"""Which segments of vectors the next generation keeps, and what it writes anew.

A build that adds ten papers to a million writes ten vectors: segments are kept as they are, as hard links. Vectors of
papers that went stay where they are until they are a quarter of their segment. A new segment takes in those before it
that are hardly larger, so that sizes fall from each to the next by half or more and there are never many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.index.manifest import Segment
from semsearch.index.vector_files import segment_name

MOST_SEGMENTS: Final = 16
WRITTEN_AT_ONCE: Final = 5_000
"""Up to so many vectors are written as one segment in some ten milliseconds, which leaves nothing behind."""
_MERGED_RATIO: Final = 2
_DEAD_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """How the vectors of the next generation come to be.

    `kept`: segments of the generation before, in their order; `places`: `(vectors,)` int64, where each vector is in
    them, -1 where it is written anew, into the segment `written`; None where nothing is. `positions`: `(vectors,)`
    int64, the position of each in the generation before, -1 where it was not there. `read_before`: those segments of
    the generation before from which something is written anew.
    """

    kept: tuple[Segment, ...]
    places: NDArray[np.int64]
    written: Segment | None
    positions: NDArray[np.int64]
    read_before: tuple[str, ...]

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of the next generation."""
        return self.kept if self.written is None else (*self.kept, self.written)

    def kept_vectors(self, segments: tuple[Segment, ...]) -> int:
        """Return how many of the first vectors in the segments of the generation before stay at their places."""
        total = 0
        for before, after in zip(segments, self.kept, strict=False):
            if before != after:
                break
            total += before.vectors
        return total


def plan_new(vectors: int) -> SegmentPlan:
    """Return the plan that writes all vectors anew."""
    nowhere = np.full(vectors, -1, np.int64)
    return SegmentPlan((), nowhere, Segment(segment_name(1), vectors), nowhere, ())


def plan_segments(segments: tuple[Segment, ...], keys_before: NDArray[Any], places_before: NDArray[np.int64],
                  keys: NDArray[Any]) -> SegmentPlan:
    """Return how vectors of these `(vectors,)` text keys come out of the generation before.

    `keys_before`, `places_before`: `(m,)` by position there.
    """
    positions = match_keys(keys_before, keys)
    starts = np.cumsum([0, *(segment.vectors for segment in segments)])
    known = positions >= 0
    places = np.full(len(keys), -1, np.int64)
    places[known] = places_before[positions[known]]
    numbers = np.where(known, np.searchsorted(starts, places, side="right") - 1, -1)
    live = np.bincount(numbers[known], minlength=len(segments))
    kept = _kept(segments, live, len(keys) - int(live.sum()))
    moved = np.full(len(segments) + 1, -1, np.int64)  # the last is that of the vectors that were nowhere
    moved[kept] = np.cumsum([0, *(segments[number].vectors for number in kept)])[:-1]
    stays = moved[numbers] >= 0
    places = np.where(stays, places - starts[numbers] + moved[numbers], -1)
    anew = int((~stays).sum())
    return SegmentPlan(tuple(segments[number] for number in kept), places,
                       Segment(_new_name(segments, kept), anew) if anew or not kept else None, positions,
                       _read(segments, keys_before, places_before, keys[~stays], starts))


def match_keys(before: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Return `(n,)` int64: for each wanted key a position in `before` that has it, each given once, else -1."""
    found = np.full(len(wanted), -1, np.int64)
    shared = min(len(before), len(wanted))
    same = np.flatnonzero(before[:shared] == wanted[:shared])
    found[same] = same
    left = np.ones(len(before), np.bool_)
    left[same] = False
    rest, missing = np.flatnonzero(left), np.flatnonzero(found < 0)
    if not len(rest) or not len(missing):
        return found
    rest = rest[np.argsort(before[rest], kind="stable")]
    missing = missing[np.argsort(wanted[missing], kind="stable")]
    sorted_keys, sorted_wanted = before[rest], wanted[missing]
    nth = np.arange(len(missing)) - np.searchsorted(sorted_wanted, sorted_wanted)
    candidates = np.searchsorted(sorted_keys, sorted_wanted) + nth
    inside = np.minimum(candidates, len(rest) - 1)
    fits = (candidates < len(rest)) & (sorted_keys[inside] == sorted_wanted)
    found[missing[fits]] = rest[inside[fits]]
    return found


def _kept(segments: tuple[Segment, ...], live: NDArray[np.int64], new: int) -> list[int]:
    """Return the numbers of the segments that stay as they are."""
    if live.sum() + new <= WRITTEN_AT_ONCE and (new or len(segments) > 1 or live.sum() < segments[0].vectors):
        return []
    kept = [number for number, segment in enumerate(segments)
            if live[number] and live[number] >= (1 - _DEAD_SHARE) * segment.vectors]
    written = new + int(live.sum() - live[kept].sum())
    while written and kept and (segments[kept[-1]].vectors <= _MERGED_RATIO * written or len(kept) >= MOST_SEGMENTS):
        written += int(live[kept.pop()])
    return kept


def _new_name(segments: tuple[Segment, ...], kept: list[int]) -> str:
    taken = {segments[number].name for number in kept}
    number = 1
    while segment_name(number) in taken:
        number += 1
    return segment_name(number)


def _read(segments: tuple[Segment, ...], keys_before: NDArray[Any], places_before: NDArray[np.int64],
          written: NDArray[Any], starts: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the names of the segments in which the vectors of texts that are written anew are."""
    if not len(written):
        return ()
    places = places_before[np.isin(keys_before, written)]
    return tuple(segments[number].name for number in np.unique(np.searchsorted(starts, places, side="right") - 1))
