"""The name of a model -> the folder that holds it, offline first."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from semsearch.errors import ModelNotFound, ModelUnusable, UsageError
from semsearch.models.carried import find_carried_model
from semsearch.models.cross_encoder import what_a_cross_encoder_lacks
from semsearch.models.hub import download
from semsearch.models.layout import holds_model, what_is_missing
from semsearch.models.places import hub_cache_folders, hub_is_offline, not_found

MAIN: Final = "main"

_HUB_NAME: Final = re.compile(r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?$", re.ASCII)
_REVISION: Final = re.compile(r"^[\w][\w./-]*$", re.ASCII)
_COMMIT: Final = re.compile(r"^[0-9a-f]{40}$")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this machine.

    `name` is what was asked for, a name with its organisation, a folder in full, so that it is found again from
    elsewhere; `revision` the commit where that is known.
    """

    name: str
    folder: Path
    origin: Literal["folder", "hub cache", "package", "hub"]
    revision: str | None


@dataclass(frozen=True, slots=True)
class ModelKind:
    """What is expected of a model.

    `organisation` stands before names that have none; `example` is a name; `lacks` says which file of a folder is
    missing and raises ModelUnusable for a model of another kind.
    """

    organisation: str
    example: str
    lacks: Callable[[Path], str]


ENCODER: Final = ModelKind("sentence-transformers", "all-MiniLM-L6-v2", what_is_missing)
CROSS_ENCODER: Final = ModelKind("cross-encoder", "ms-marco-MiniLM-L6-v2", what_a_cross_encoder_lacks)


def resolve_model(name: str, revision: str | None = None, *, allow_download: bool = True,
                  kind: ModelKind = ENCODER) -> LocalModel:
    """Return where a model is on this machine, fetching it only where it is in none of the places.

    The places in their order: a folder; the hub's cache, read without a request; a package that carries the model;
    the hub, unless `allow_download` is false or `HF_HUB_OFFLINE` is set.
    Raises ModelNotFound where it is in none, listing the ways out; ModelUnusable where a place holds a model that is
    incomplete, not what it should be, or of another kind; UsageError where `name` or `revision` cannot be one.
    """
    in_folder = _find_folder(name, kind)
    if in_folder is not None:
        if revision is not None:
            raise UsageError(f"{name} is a folder, which has no revision {revision}.", "Leave --model-revision out.")
        return in_folder
    hub_name = _hub_name(name, kind)
    if revision is not None and (not _REVISION.match(revision) or ".." in revision):
        raise UsageError(f"{revision!r} is not a revision.", "Give a branch, a tag or the 40 hex digits of a commit.")
    cached, incomplete = _find_in_hub_cache(hub_name, revision or MAIN, kind)
    if cached is not None:
        return cached
    if revision in (None, MAIN):
        carried = find_carried_model(hub_name)
        if carried is not None:
            kind.lacks(carried)
            return LocalModel(hub_name, carried, "package", None)
    if not allow_download or hub_is_offline():
        switched_off = "HF_HUB_OFFLINE is set" if hub_is_offline() else "downloads are switched off"
        raise not_found(hub_name, incomplete or switched_off)
    folder = download(hub_name, revision or MAIN, hub_cache_folders()[0])
    missing = kind.lacks(folder) if holds_model(folder) else "it has neither modules.json nor config.json"
    if missing:
        raise ModelUnusable(f"The model {hub_name} on the hub is not complete: {missing}.",
                            "Give a model that was made for sentence-transformers.")
    return LocalModel(hub_name, folder, "hub", folder.name)


def _find_folder(name: str, kind: ModelKind) -> LocalModel | None:
    folder = Path(os.path.expanduser(name))
    says_path = (name.startswith((".", "~", "/")) or "\\" in name or name.count("/") > 1 or folder.is_absolute()
                 or ("/" in name and folder.is_dir()))
    if name and holds_model(folder):
        missing = kind.lacks(folder)
        if missing:
            raise ModelUnusable(f"The model in {name} is not complete: {missing}.", "Copy the whole folder again.")
        folder = folder.resolve()
        return LocalModel(str(folder), folder, "folder", None)
    if not says_path:
        return None
    if folder.is_dir():
        raise ModelUnusable(f"{name} holds no model: neither modules.json nor config.json is in it.",
                            "Give the folder that sentence-transformers or transformers saved a model to.")
    raise ModelNotFound(f"There is no folder {name}.", "Give a folder that holds a model, or a name such as "
                        f"{kind.organisation}/{kind.example}.")


def _hub_name(name: str, kind: ModelKind) -> str:
    if not _HUB_NAME.match(name) or ".." in name or "--" in name:
        raise UsageError(f"{name!r} is neither a folder nor the name of a model.",
                         f"A name looks like {kind.organisation}/{kind.example}.")
    return name if "/" in name else f"{kind.organisation}/{name}"


def _find_in_hub_cache(name: str, revision: str, kind: ModelKind) -> tuple[LocalModel | None, str]:
    """Return the model from a cache folder of the hub, else None and what is missing there."""
    incomplete = ""
    for cache in hub_cache_folders():
        try:
            found, missing = _find_snapshot(cache / f"models--{name.replace('/', '--')}", revision, kind)
        except PermissionError as error:
            incomplete = f"the hub cache may not be read: {error.filename or cache}"
            continue
        if found is not None and not missing:
            return LocalModel(name, found, "hub cache", found.name), ""
        incomplete = f"the copy in the hub cache is not complete: {missing}" if missing else incomplete
    return None, incomplete


def _find_snapshot(repository: Path, revision: str, kind: ModelKind) -> tuple[Path | None, str]:
    """Return the snapshot of a revision, None where there is none, and what it lacks."""
    commit = revision if _COMMIT.match(revision) else _read_reference(repository / "refs" / revision)
    folder = repository / "snapshots" / commit
    if not commit or not folder.is_dir():
        return None, ""
    if not holds_model(folder):
        return folder, "neither modules.json nor config.json is there"
    return folder, kind.lacks(folder)


def _read_reference(path: Path) -> str:
    try:
        commit = path.read_text(encoding="ascii").strip()
    except PermissionError:
        raise
    except (OSError, ValueError):
        return ""
    return commit if re.fullmatch(r"[0-9A-Za-z]+", commit) else ""
