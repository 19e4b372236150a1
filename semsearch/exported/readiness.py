"""Whether the exported form of an encoder is there, and why it is not: for those who ask what their machine has."""

from __future__ import annotations

from typing import Final, NamedTuple

from semsearch.exported.export import NEEDED, installed_versions
from semsearch.exported.store import is_intact, read_settings

READY: Final = "ready"
REFUSED: Final = "refused"
MISSING: Final = "not made yet"


class Readiness(NamedTuple):
    """One of `READY`, `REFUSED` and `MISSING`; why it was refused or cannot be made, `""` where nothing is known."""

    state: str
    reason: str = ""


def readiness_of(fingerprint: str) -> Readiness:
    """Return whether the encoder of a fingerprint can be had in the form that starts at once.

    One that was refused by other versions of the libraries than are installed now counts as not made: the next to
    load it tries again.
    """
    settings, versions = read_settings(fingerprint), installed_versions()
    if settings is not None and settings.refused and settings.versions == versions:
        return Readiness(REFUSED, settings.refused)
    if settings is not None and not settings.refused and is_intact(settings) and "onnxruntime" in versions:
        return Readiness(READY)
    lacking = sorted(NEEDED - versions.keys())
    return Readiness(MISSING, f"{' and '.join(lacking)} not installed" if lacking else "")
