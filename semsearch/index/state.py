"""What an index remembers besides its papers: its sources, the ids that were deleted, and saved searches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from semsearch.errors import IndexDamaged, IndexFormatUnsupported
from semsearch.identifiers import spellings
from semsearch.index.durable import write_atomically
from semsearch.index.generations import read_pointer
from semsearch.index.locks import publish_lock
from semsearch.index.saved_searches import SavedSearch
from semsearch.spelling import spelt_index

STATE: Final = "state.json"
STATE_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class RememberedSource:
    """A file or folder that `build` was given: its absolute path and the format it was said to have, if any."""

    path: str
    from_format: str | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """A paper that the user does not want: its id, and its look-up keys, by which it is known in other sources."""

    id: str
    keys: tuple[str, ...]
    title: str
    deleted: str


@dataclass(frozen=True, slots=True)
class State:
    """Remembered sources, deletions by paper id, and saved searches by name."""

    sources: tuple[RememberedSource, ...] = ()
    deletions: dict[str, Deletion] = field(default_factory=dict)
    searches: dict[str, SavedSearch] = field(default_factory=dict)

    def find_deletion(self, name: str) -> Deletion | None:
        """Return the deletion of the paper called `name`: its id, or an alias in any spelling."""
        exact = self.deletions.get(name.strip())
        if exact is not None or not self.deletions:
            return exact
        keys = set(spellings(name))
        return next((deletion for deletion in self.deletions.values() if keys & set(deletion.keys)), None)


def read_state(index_folder: Path) -> State:
    """Return the state of an index; one that is being made for the first time has an empty one.

    Raises:
        IndexDamaged: the file is missing or not what was written.
    """
    path = index_folder / STATE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if read_pointer(index_folder) is None:
            return State()
        raise _damaged(path, "is missing") from None
    try:
        document = json.loads(content)
        number, payload, sha256 = document["format"], document["state"], document["sha256"]
        if number != STATE_FORMAT and isinstance(number, int):
            raise IndexFormatUnsupported(f"{path} has format {number}; this version of semsearch reads format "
                                         f"{STATE_FORMAT}.", "Update semsearch.")
        if sha256 != _sha256(payload):
            raise ValueError("checksum")
        return State(tuple(RememberedSource(**s) for s in payload["sources"]),
                     {d["id"]: Deletion(**{**d, "keys": tuple(d["keys"])}) for d in payload["deletions"]},
                     {s["name"]: SavedSearch.from_dict(s) for s in payload.get("searches", ())})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, "is not what was written") from error


def change_state(index_folder: Path, change: Callable[[State], State], *, if_damaged: State | None = None) -> State:
    """Replace the state by what `change` makes of it, under the publish lock, and return the new one.

    A state that stays equal is not written again. `if_damaged` takes the place of one that cannot be read.
    """
    with publish_lock(index_folder):
        readable = (index_folder / STATE).exists()
        try:
            old = read_state(index_folder)
        except IndexDamaged:
            if if_damaged is None:
                raise
            old, readable = if_damaged, False
        new = change(old)
        if new != old or not readable:
            write_atomically(index_folder / STATE, _to_json(new))
        return new


def remember(state: State, sources: list[RememberedSource]) -> State:
    """Return `state` with these sources remembered; a source named again takes the new format."""
    by_path = {s.path: s for s in state.sources} | {s.path: s for s in sources}
    return replace(state, sources=tuple(by_path.values()))


def _damaged(path: Path, what: str) -> IndexDamaged:
    return IndexDamaged(f"The index is damaged: {path} {what}.",
                        "Restore it from a copy. Or begin anew: semsearch build --rebuild"
                        f"{spelt_index(path.parent)} SOURCE...  Papers that were deleted have to be deleted again "
                        "then, and saved searches be saved again.")


def _to_json(state: State) -> bytes:
    payload: dict[str, Any] = {"sources": [asdict(s) for s in state.sources],
                               "deletions": [asdict(d) for d in state.deletions.values()]}
    if state.searches:  # a state without any is what it was before there were saved searches
        payload["searches"] = [search.to_dict() for search in state.searches.values()]
    document = {"format": STATE_FORMAT, "sha256": _sha256(payload), "state": payload}
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def _sha256(payload: dict[str, Any]) -> str:
    canonical = json.dumps(payload, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
