"""Killed at any moment: the index is the old one or the new one, and what was encoded is not encoded again."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import crash_worker
import pytest
from made_papers import answers, papers_in, records, run_build, text_of, write_jsonl

from semsearch.errors import DiskFull, IndexNotFound
from semsearch.index.generations import read_pointer
from semsearch.index.reader import IndexReader
from semsearch.maintenance import verify
from semsearch.vectorise import _CHUNK_TEXTS

WORKER = Path(crash_worker.__file__)
KILLS = 20
STEP = 130


def start(index: Path, job: dict[str, Any]) -> subprocess.Popen[str]:
    path = index.parent / "job.json"
    path.write_text(json.dumps(job))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(WORKER.parent.parent), str(WORKER.parent)])}
    return subprocess.Popen([sys.executable, str(WORKER), "build", str(index), str(path)], stdout=subprocess.PIPE,
                            text=True, env=environment)


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
@pytest.mark.parametrize("factory", ["Flat", "HNSW8"])
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


def reference(folder: Path, count: int, factory: str) -> list[list[tuple[int, str, float]]]:
    """Return the answers of an index of so many papers that was built undisturbed."""
    source = write_jsonl(folder / "reference.jsonl", records(count))
    index = folder / f"reference-{count}"
    if factory == "Flat":
        run_build([source], index, factory=factory)
        return answers(index)
    for size in range(STEP, count + 1, STEP):  # as the other: a graph depends on how it grew
        write_jsonl(source, records(size))
        run_build([source], index, factory=factory)
    return answers(index)


# Faults at every step

def in_a_child(action: Callable[[], None]) -> int:
    """Run something in a forked process and return its exit status; a traceback goes to stderr."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        action()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def case(folder: Path, kind: str) -> tuple[Path, dict[str, Any], int, int]:
    """Return an index before a build of some kind, the job, and how many papers it has before and after."""
    source, index = write_jsonl(folder / "papers.jsonl", records(20)), folder / "index"
    if kind == "first":
        return index, {"sources": [str(source)]}, 0, 20
    run_build([source], index, factory="HNSW4" if kind == "structure" else "Flat")
    write_jsonl(source, records(30))
    options = {"rebuild": True} if kind == "rebuild" else {}
    if kind == "metadata":
        write_jsonl(source, [{**item, "venue": "ACL"} for item in records(20)])
        return index, {"sources": [str(source)]}, 20, 20
    return index, {"sources": [str(source)], "options": options}, 20, 30


def size_and_venue(index: Path) -> tuple[int, str]:
    try:
        papers = papers_in(index)
    except IndexNotFound:
        return 0, ""
    return len(papers), papers["p0"].venue


def faults(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Yield every fault that can befall a build of some kind."""
    index, job, _, _ = case(folder, kind)
    report = folder / "calls.json"

    def count() -> None:
        counts = crash_worker.count_calls()
        crash_worker.run(index, job)
        report.write_text(json.dumps(counts))

    assert in_a_child(count) == 0
    for call, number in json.loads(report.read_text()).items():
        for n in range(1, number + 1):
            for how in ("exit", "full"):
                yield {"call": call, "number": n, "how": how}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("kind", ["first", "more", "metadata", "rebuild", "structure"])
def test_a_fault_at_every_step_leaves_the_old_or_the_new(tmp_path, kind, capfd):
    (tmp_path / "counted").mkdir()
    seen = Counter()
    for number, fault in enumerate(faults(tmp_path / "counted", kind)):
        folder = tmp_path / str(number)
        index, job, old, new = case(folder, kind)
        status_file = folder / "raised"

        def build(index=index, job=job, fault=fault, status_file=status_file) -> None:
            crash_worker.arm(fault)
            try:
                crash_worker.run(index, job)
            except DiskFull:
                status_file.write_text("")

        status = in_a_child(build)
        assert status == 0 or (fault["how"] == "exit" and status == crash_worker.FAULT_EXIT), fault
        size, venue = size_and_venue(index)
        assert size in (old, new), fault
        if size:
            assert verify(index).problems == (), fault
        if kind == "metadata":
            assert venue in ("", "ACL"), fault
        seen[fault["how"], size == new, status_file.exists()] += 1

        summary = run_build(job["sources"], index)
        assert (summary.papers, verify(index).problems) == (new, ()), fault
        assert size_and_venue(index)[1] == ("ACL" if kind == "metadata" else "")
        pointer = read_pointer(index)
        assert [p.name for p in (index / "generations").iterdir()] == [str(pointer.generation)] or not summary.published, fault
        with IndexReader(index) as reader:
            assert len(reader.vectors.rows) == new
    capfd.readouterr()
    assert sum(seen.values()) > 20
    if kind != "metadata":
        assert seen["exit", False, False] > 5 and seen["full", False, True] > 5
