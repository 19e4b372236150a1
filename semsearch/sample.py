"""The sample corpus that comes with the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def sample_path() -> Path:
    """Return the file of the sample: JSON Lines, 178 well-known papers of fourteen fields."""
    return Path(str(resources.files("semsearch") / "data" / "sample.jsonl"))
