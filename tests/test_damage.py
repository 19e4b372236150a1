"""Every file of an index damaged in every way: it is noticed and named, nothing crashes, and a rebuild mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import damage_worker
import pytest

from semsearch.maintenance import verify

WORKER = Path(damage_worker.__file__)
GENERATION = "generations/2"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    damage_worker.make_template(folder)
    report = verify(folder / "index")
    assert (report.problems, len(report.notes), report.files_checked > 10) == ((), 1, True)
    assert damage_worker.is_true(folder / "index", damage_worker.COUNT, deleted=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        "CURRENT",
        "state.json",
        f"{GENERATION}/manifest.json",
        f"{GENERATION}/papers.sqlite",
        f"{GENERATION}/vectors.npy",
        f"{GENERATION}/vector_keys.npy",
        f"{GENERATION}/index.faiss",
        f"{GENERATION}/rejects.jsonl",
        f"{GENERATION}/lexical/meta.json",
        f"{GENERATION}/lexical/rows.npy",
        f"{GENERATION}/lexical/*.idx",
        "vectors/*/*.log",
        "build.lock",
        "publish.lock",
    ],
)
def test_damage_is_noticed_and_named_and_mended(template, tmp_path, file):
    done = subprocess.run(
        [sys.executable, str(WORKER), str(template), str(tmp_path), file],
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(WORKER.parent.parent), str(WORKER.parent)])},
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"died after {lines[-1:]}: {done.stderr[-3000:]}"
    cases = [(damage, json.loads(found)) for damage, found in zip(lines[::2], lines[1::2], strict=True)]
    size = max(path.stat().st_size for path in (template / "index").glob(file))
    whole = damage_worker.search(template / "index")
    wrong = []
    last_cut = f"cut {size - 1}"  # of state.json the newline at its end
    for damage, found in cases:
        if found is None:
            continue
        complaints = list(found["unexpected"])
        if not found["rebuilt"]:
            complaints.append(f"not mended: {found['said']}")
        if found["laundered"] and file != "state.json":
            complaints.append("a build took the damage over into a generation that passes for sound")
        is_harmless = file.endswith((".lock", ".log")) or (file == "state.json" and damage in ("missing", last_cut))
        told = " ".join([found["problems"], found["notes"], *found["said"].values()])
        if not is_harmless and Path(file).name.lstrip("*") not in told:
            complaints.append(f"not named: {found}")
        if not is_harmless and not found["problems"] and "IndexDamaged" not in told:
            complaints.append(f"not called damage: {found}")
        if (
            is_harmless
            and file != "state.json"
            and found["answers"] != [[list(hit) for hit in answer] for answer in whole]
        ):
            complaints.append("other answers")
        if file != "state.json" and not found["deleted"]:
            complaints.append("the deleted paper came back")
        for said in found["said"].values():
            if said and "\n" not in said:
                complaints.append(f"no way out: {said}")
        wrong += [f"{damage}: {complaint}" for complaint in complaints]
    assert not wrong, f"{len(wrong)} complaints:\n" + "\n".join(wrong[:12])
    assert len([damage for damage, found in cases if found is not None]) >= (18 if size else 2)
