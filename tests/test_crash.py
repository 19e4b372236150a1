"""Killed at any moment: the index is the old one or the new one, and what was encoded is not encoded again."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import crash_worker
import pytest
from made_papers import answers, records, run_build, text_of, write_jsonl

from semsearch.maintenance import describe, verify
from semsearch.ranking import SearchOptions
from semsearch.vectorise import _CHUNK_TEXTS

WORKER = Path(crash_worker.__file__)
KILLS = 20
STEP = 130


def start(index: Path, job: dict[str, Any]) -> subprocess.Popen[str]:
    path = index.parent / "job.json"
    path.write_text(json.dumps(job))
    return subprocess.Popen(
        [sys.executable, str(WORKER), "build", str(index), str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env=worker_environment(),
    )


def worker_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(WORKER.parent.parent), str(WORKER.parent)])}


def kill_at(process: subprocess.Popen[str], phase: str, advances: int, delay_seconds: float) -> None:
    """Kill a worker so many advances and so long after it began a phase, or let it be done."""
    assert process.stdout is not None
    seen = False
    for line in process.stdout:
        seen = seen or line.strip() == phase
        advances -= seen and line.strip() == "advance"
        if seen and (advances <= 0 or phase == "Publishing"):
            break
    time.sleep(delay_seconds)
    process.kill()
    process.stdout.close()
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("factory", ["Flat", "IVF4,Flat"])
def test_killed_at_any_moment_it_goes_on_where_it_was(tmp_path, factory):
    index, encoded, source = tmp_path / "index", tmp_path / "encoded.txt", tmp_path / "papers.jsonl"
    rng = random.Random(factory)
    count = STEP
    run_build([write_jsonl(source, records(count))], index, factory=factory)
    count += STEP
    before, after = answers(index), reference(tmp_path, count, factory)
    job = {"sources": [str(source)], "encoded": str(encoded), "chunk_seconds": 0.02}
    phases = Counter()
    for kill in range(KILLS):
        write_jsonl(source, records(count))
        phase = ("Reading", "Encoding", "Publishing", "Encoding")[kill % 4]
        kill_at(start(index, job), phase, rng.randrange(3), rng.random() * (0.03 if phase == "Encoding" else 0.01))
        now = answers(index)
        assert now in (before, after)
        assert verify(index).problems == ()
        phases[phase, now == after] += 1
        if now == after:
            count += STEP
            before, after = after, reference(tmp_path, count, factory)
    assert sum(n for (_, published), n in phases.items() if not published) >= KILLS // 2
    write_jsonl(source, records(count))
    process = start(index, job)
    assert process.communicate()[0].splitlines()[-1].split()[:2] == ["done", str(count)]
    assert (answers(index), verify(index).problems, verify(index).notes) == (after, (), ())
    wanted = {text_of(item) for item in records(count)[STEP:]}
    times = Counter(encoded.read_text().splitlines())
    assert set(times) == wanted
    assert sum(times.values()) - len(wanted) <= KILLS * _CHUNK_TEXTS
    assert list(index.glob("vectors/*/*")) == list(index.glob("generations/.*")) == []


@pytest.mark.slow
def test_killed_between_generations_it_answers_and_encodes_nothing_twice(tmp_path):
    index, encoded = tmp_path / "index", tmp_path / "encoded.txt"
    source = write_jsonl(tmp_path / "papers.jsonl", records(STEP))
    job = {"sources": [str(source)], "encoded": str(encoded), "chunk_seconds": 0.15, "window": 8}
    rng, covered = random.Random(1), []
    for kill in range(6):
        phase = ("Encoding", "Publishing")[kill % 2]
        kill_at(start(index, job), phase, 1 + rng.randrange(3), rng.random() * 0.05)
        covered.append(describe(index).vectors)
        assert (describe(index).papers, verify(index).problems) == (STEP, ())
        assert all(answers(index, options=SearchOptions(encode_budget=0)))
    assert covered == sorted(covered) and len(set(covered)) > 2
    process = start(index, job)
    assert process.communicate()[0].splitlines()[-1].split()[:2] == ["done", str(STEP)]
    assert (answers(index), verify(index).problems, verify(index).notes) == (
        reference(tmp_path, STEP, "Flat"), (), ())
    times = Counter(encoded.read_text().splitlines())
    assert set(times) == {text_of(item) for item in records(STEP)}
    assert sum(times.values()) - STEP <= 6 * job["window"]
    assert list(index.glob("vectors/*/*")) == list(index.glob("generations/.*")) == []


def reference(folder: Path, count: int, factory: str) -> list[list[tuple[int, str, float]]]:
    """Return the answers of an index of so many papers that was built undisturbed."""
    source = write_jsonl(folder / "reference.jsonl", records(count))
    index = folder / f"reference-{count}"
    run_build([source], index, factory=factory)
    return answers(index)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("kind", ["first", "more", "metadata", "rebuild", "structure", "parts"])
def test_a_fault_at_every_step_leaves_the_old_or_the_new(tmp_path, kind):
    done = subprocess.run(
        [sys.executable, str(WORKER), "sweep", str(tmp_path), kind],
        capture_output=True,
        text=True,
        env=worker_environment(),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    outcomes = Counter(done.stdout.splitlines()[-1].split())
    assert sum(outcomes.values()) > 20
    assert outcomes["exit:old"] > 5 and outcomes["full:old:DiskFull"] > 5
    assert outcomes["exit:new"] > 0
