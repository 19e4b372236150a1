"""Where a result comes from, and where it goes."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("BENCH_FOLDER", Path(__file__).parent))
"""Where results and pictures go: `BENCH_FOLDER`, so that a trial does not stand among what was measured with care."""
RESULTS = FOLDER / "results"
PICTURES = FOLDER / "pictures"


def append_result(name: str, seed: int, figures: dict[str, Any]) -> None:
    """Append one line to `results/NAME.jsonl` and print it."""
    line = {"benchmark": name, "commit": _commit(), "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.platform(),
                        "python": platform.python_version()},
            "seed": seed, **figures}
    RESULTS.mkdir(parents=True, exist_ok=True)
    with open(RESULTS / f"{name}.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(json.dumps(line, indent=1))


def _commit() -> str:
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False,
                           cwd=Path(__file__).parent)
    return found.stdout.strip() or "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
