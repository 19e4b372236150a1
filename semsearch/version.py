"""The version of this program, as it is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """Return the version, `unknown` where the program runs without being installed."""
    try:
        return version("semsearch")
    except PackageNotFoundError:
        return "unknown"
