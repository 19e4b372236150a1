"""How many workers, threads and tokens at a time encode fastest here: measured once on real work, and remembered.

One file for each encoder in the user's cache, with one entry for each machine. What is damaged counts as not there.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from semsearch.errors import UsageError
from semsearch.models import cache_folder

FORMAT: Final = 1
CALIBRATIONS: Final = "calibrations"
WORKERS_ENVIRONMENT: Final = "SEMSEARCH_WORKERS"
MOST_WORKERS: Final = 256
WORTH_CHANGING: Final = 1.05
"""How much faster than the first candidate another must be: less is noise, and the first is the most even-tempered."""

_SMALL_BATCH: Final = 512
"""Tokens: the activations of such a batch stay in a core's own cache, whatever its neighbours do."""
_LARGE_BATCH: Final = 2048
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CGROUP: Final = Path("/sys/fs/cgroup/cpu.max")
_CPUINFO: Final = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Setting:
    """How documents are encoded: by `workers` at once, each with `threads`, in batches of `batch_tokens` at most."""

    workers: int
    threads: int
    batch_tokens: int


def usable_cores() -> int:
    """Return how many cores this process may use, by its affinity and by the limit of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CGROUP.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))  # "max" is no number
    except (OSError, ValueError, ZeroDivisionError):
        return cores


def candidates(cores: int) -> tuple[Setting, ...]:
    """Return the settings that are worth a trial on so many cores; the first is taken where there is none."""
    found = [Setting(cores, 1, _SMALL_BATCH), Setting(cores, 1, _LARGE_BATCH)]
    if cores > 1:
        found.append(Setting(1, cores, _LARGE_BATCH))
    if cores >= 4:  # two threads of a core share its arithmetic units, and large models their way to memory
        found.append(Setting(cores // 2, 1, _SMALL_BATCH))
    return tuple(found)


def asked_setting() -> Setting | None:
    """Return the setting that a user forces through `SEMSEARCH_WORKERS`, None where there is none.

    Raises:
        UsageError: its value is no number of workers.
    """
    asked = os.environ.get(WORKERS_ENVIRONMENT, "").strip()
    if not asked:
        return None
    if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked) <= MOST_WORKERS:
        raise UsageError(f"{WORKERS_ENVIRONMENT} is {asked!r}, which is no number of workers.",
                         f"Give a number from 1 to {MOST_WORKERS}, or leave it away.")
    return Setting(int(asked), 1, _SMALL_BATCH)


def best_setting(rates: Mapping[Setting, float]) -> Setting:
    """Return the fastest setting; the first, unless another is faster by more than what chance does."""
    first = next(iter(rates))
    best = max(rates, key=lambda setting: rates[setting])
    return best if rates[best] > WORTH_CHANGING * rates[first] else first


def remembered_setting(fingerprint: str) -> Setting | None:
    """Return the setting that was found best for an encoder on this machine; None where none was."""
    entry: Any = _read(fingerprint).get(machine())
    try:
        setting = Setting(**entry["setting"])
    except (TypeError, KeyError):
        return None
    numbers = (setting.workers, setting.threads, setting.batch_tokens)
    usable = all(type(number) is int and number > 0 for number in numbers) and setting.workers <= MOST_WORKERS
    return setting if usable else None


def remembered_rate(fingerprint: str) -> float | None:
    """Return the tokens a second that the best setting for an encoder reached on this machine; None where unknown."""
    try:
        entry: Any = _read(fingerprint)[machine()]
        rates = [trial["tokens_per_second"] for trial in entry["trials"]]
        return float(max(rates)) if rates and all(type(rate) is int and rate > 0 for rate in rates) else None
    except (TypeError, KeyError):
        return None


def remember_setting(fingerprint: str, setting: Setting, rates: Mapping[Setting, float]) -> None:
    """Remember what is best for an encoder on this machine, and the rates in tokens a second that say so.

    A cache that cannot be written is as no cache.
    """
    path = _file(fingerprint)
    if path is None:
        return
    entry = {"setting": asdict(setting), "trials": [
        {**asdict(tried), "tokens_per_second": round(rate)} for tried, rate in rates.items()]}
    machines = {**_read(fingerprint), machine(): entry}
    content = json.dumps({"format": FORMAT, "machines": machines}, indent=1)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def machine() -> str:
    """Return what the best setting depends on beside the encoder: processor, cores, system and runtime."""
    try:
        runtime = metadata.version("onnxruntime")
    except metadata.PackageNotFoundError:
        runtime = "none"
    return f"{_processor()}, {usable_cores()} cores, {platform.system()}, onnxruntime {runtime}"


def _processor() -> str:
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _file(fingerprint: str) -> Path | None:
    """Return the file of an encoder; None where it is no fingerprint, which would lead elsewhere."""
    return cache_folder() / CALIBRATIONS / f"{fingerprint}.json" if _FINGERPRINT.fullmatch(fingerprint) else None


def _read(fingerprint: str) -> dict[str, Any]:
    """Return what is remembered of an encoder by machine."""
    path = _file(fingerprint)
    if path is None:
        return {}
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return {}
    machines = content.get("machines")
    return machines if isinstance(machines, dict) else {}
