"""How an index is named on a command line: what messages need that say which command comes next."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Final

DEFAULT_INDEX: Final = "papers"
DEFAULT_HOME: Final = "indexes"


def spelt_index(folder: Path) -> str:
    """Return the options that name an index on a command line, `""` where the defaults and the environment name it."""
    usual = os.environ.get("SEMSEARCH_INDEX") or DEFAULT_INDEX
    return spelt_home(folder.parent) + ("" if folder.name == usual else f" -i {shlex.quote(folder.name)}")


def spelt_home(home: Path) -> str:
    """Return the option that names a folder of indexes, `""` where it is the default or that of the environment."""
    usual = Path(os.environ.get("SEMSEARCH_HOME") or DEFAULT_HOME).expanduser()
    return "" if home == usual else f" --home {shlex.quote(str(home))}"
