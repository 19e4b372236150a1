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
import numpy as np
import pytest
import storing_worker
from fakes import FakeProvider
from made_papers import answers, records, run_build, text_of, write_jsonl

from semsearch.encoding import EncoderRequest
from semsearch.index.vector_log import inspect_logs
from semsearch.maintenance import describe, verify
from semsearch.ranking import SearchOptions
from semsearch.search import Searcher
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


def start_asking(index: Path, first: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, storing_worker.__file__, str(index), str(first)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=worker_environment())


def kill_storing(process: subprocess.Popen[str], times: int, delay_seconds: float) -> None:
    """Kill an asking process so long after it has begun for the so-manieth time to store vectors."""
    assert process.stdout is not None and process.stderr is not None
    for _ in range(times):
        assert process.stdout.readline() == "storing\n", process.stderr.read()
    time.sleep(delay_seconds)
    process.kill()
    process.communicate()


def check_vectors(index: Path) -> int:
    """Check that each vector that is known is that of its paper; return how many there are."""
    truth = FakeProvider().load(EncoderRequest()).encode_documents([text_of(item) for item in records(STEP)]).vectors
    with Searcher(index, provider=FakeProvider()) as searcher:
        count = 0
        for rows, vectors in searcher.vectors.blocks():
            assert np.allclose(vectors, truth[rows], atol=1e-6)
            count += len(rows)
        assert count == searcher.vectors.count
    return count


def test_killed_while_it_stores_vectors_a_question_loses_those_alone(tmp_path):
    index, source = tmp_path / "index", write_jsonl(tmp_path / "papers.jsonl", records(STEP))
    run_build([source], index, encode="later")
    rng, stored = random.Random(2), [0]
    for kill in range(8):
        kill_storing(start_asking(index, 10 * kill), 1 + rng.randrange(3),
                     (0.0, rng.random() * 2 * storing_worker.HALF_SECONDS)[kill % 2])
        stored.append(check_vectors(index))
        assert all(answers(index, options=SearchOptions(encode_budget=0)))
        assert verify(index).problems == ()
    assert stored == sorted(stored) and len(set(stored)) > 4
    assert sum(log.torn_bytes > 0 for log in inspect_logs(index, {})) > 2
    builder = FakeProvider()
    summary = run_build([source], index, builder)
    assert (summary.reused, summary.encoded) == (stored[-1], STEP - stored[-1]) == (
        stored[-1], len(builder.encoded))
    assert answers(index) == reference(tmp_path, STEP, "Flat")
    assert (verify(index).problems, verify(index).notes) == ((), ())
    assert list(index.glob("vectors/*/*")) == []


@pytest.mark.slow
def test_questions_that_store_vectors_and_a_build_are_at_work_at_once(tmp_path):
    index, encoded = tmp_path / "index", tmp_path / "encoded.txt"
    source = write_jsonl(tmp_path / "papers.jsonl", records(STEP))
    run_build([source], index, encode="later")
    asking = [start_asking(index, first) for first in (0, 50, 100)]
    try:
        for process in asking:  # all of them have begun
            assert process.stdout is not None and process.stdout.readline() == "storing\n"
        build = start(index, {"sources": [str(source)], "encoded": str(encoded), "chunk_seconds": 0.05, "window": 8})
        assert build.communicate()[0].splitlines()[-1].split()[:2] == ["done", str(STEP)]
    finally:
        are_asking = [process.poll() is None for process in asking]
        for process in asking:
            process.kill()
        said = [process.communicate()[1] for process in asking]
    assert all(are_asking), said
    assert len(encoded.read_text().splitlines()) < STEP  # questions paid for some
    assert check_vectors(index) == describe(index).vectors == STEP
    assert answers(index) == reference(tmp_path, STEP, "Flat")
    assert verify(index).problems == ()


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
