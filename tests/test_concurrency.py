"""Several processes at one index: who waits for whom, and what each of them sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asking_worker
import crash_worker
import pytest
from fakes import FakeProvider
from made_papers import answers, papers_in, record, records, run_build, write_jsonl

from semsearch.errors import IndexBusy, IndexNotFound
from semsearch.index.locks import build_lock
from semsearch.maintenance import delete, describe, remove_index, restore, verify
from semsearch.reindex import ReindexOptions, reindex_index
from semsearch.search import Searcher

TESTS = Path(__file__).resolve().parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
READERS = 8
REBUILDS = 10


def wait_until(happened: Callable[[], bool], *processes: subprocess.Popen[str]) -> None:
    """Wait for something that other processes do; it is an error if one of them ends first."""
    while not happened():
        assert all(process.poll() is None for process in processes), "a process ended early"
        time.sleep(0.005)


class HeldBuild:
    """A build in another process that stands in its encoder until it is let go."""

    def __init__(self, folder: Path, index: Path, source: Path) -> None:
        self.gate, self.encoded = folder / "go", folder / "encoded"
        job = {"sources": [str(source)], "encoded": str(self.encoded), "wait_for": str(self.gate)}
        (folder / "job.json").write_text(json.dumps(job))
        self.process = subprocess.Popen(
            [sys.executable, crash_worker.__file__, "build", str(index), str(folder / "job.json")],
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        wait_until(self.encoded.exists, self.process)

    def finish(self) -> str:
        self.gate.touch()
        with self.process:
            assert self.process.stdout is not None
            return self.process.stdout.read().splitlines()[-1]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.finish()


@pytest.fixture
def index(tmp_path: Path) -> Path:
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(10))], tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture
def held(tmp_path: Path, index: Path) -> Iterator[HeldBuild]:
    """A build of ten more papers, in the middle of encoding them."""
    build = HeldBuild(tmp_path, index, write_jsonl(tmp_path / "papers.jsonl", records(20)))
    yield build
    build.stop()


def test_a_second_build_is_told_at_once_who_builds(index, held, tmp_path):
    for second in (
        lambda: run_build([], index),
        lambda: reindex_index(index, provider=FakeProvider()),
        lambda: remove_index(index),
    ):
        with pytest.raises(IndexBusy) as caught:
            second()
        assert f"build, process {held.process.pid} on " in caught.value.message
    assert len(papers_in(index)) == 10
    before = answers(index)
    assert (describe(index).generation, verify(index).problems) == (1, ())
    assert answers(index) == before
    assert held.finish() == "done 20 10 2"
    assert run_build([], index).published is False


def test_the_purpose_of_the_holder_is_named(index):
    with build_lock(index, "reindex"), pytest.raises(IndexBusy, match=f"reindex, process {os.getpid()}"):
        run_build([], index)
    assert run_build([], index).papers == 10


def test_two_first_builds_at_once(tmp_path):
    source, index = write_jsonl(tmp_path / "papers.jsonl", records(5)), tmp_path / "index"
    held = HeldBuild(tmp_path, index, source)
    with pytest.raises(IndexBusy):
        run_build([source], index)
    with pytest.raises(IndexNotFound, match="first build has not finished"):
        papers_in(index)
    assert held.finish() == "done 5 5 1"
    assert len(papers_in(index)) == 5


def test_deleting_does_not_wait_for_a_build_and_holds_after_it(index, held):
    delete(index, ["p1", "p2"])
    restore(index, ["p2"])
    assert "p1" not in papers_in(index)
    assert held.finish() == "done 20 10 2"
    assert set(papers_in(index)) == {f"p{n}" for n in range(20) if n != 1}
    with Searcher(index, provider=FakeProvider()) as searcher:
        assert "p1" not in {hit.paper.id for hit in searcher.query("graph", 100).hits}
    summary = run_build([], index)
    assert (summary.papers, summary.removed) == (19, 1)
    assert verify(index).problems == ()


def test_who_stays_open_keeps_its_generation(index, tmp_path):
    with Searcher(index, provider=FakeProvider()) as searcher:
        before = searcher.query("graph attention", 5)
        for count in (12, 14, 16):
            run_build([write_jsonl(tmp_path / "papers.jsonl", records(count))], index)
        reindex_index(index, ReindexOptions(factory="HNSW4"), provider=FakeProvider())
        assert searcher.query("graph attention", 5) == before
        assert len(searcher.related(["p3"], 100).hits) == 9
        assert [paper.id for _, paper in searcher.reader.papers] == [f"p{n}" for n in range(10)]
        assert sorted(p.name for p in (index / "generations").iterdir()) == ["1", "5"]
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(17))], index)
    assert [p.name for p in (index / "generations").iterdir()] == ["6"]


@pytest.mark.slow
def test_readers_see_one_whole_generation_each_while_ten_are_published(tmp_path):
    index, stop = tmp_path / "index", tmp_path / "stop"
    corpora = [
        write_jsonl(tmp_path / f"{name}.jsonl", [record(n, id=f"{name}{n}", venue=name) for n in numbers])
        for name, numbers in (("even", range(100, 140)), ("odd", range(25)))
    ]
    expected: dict[int, list[object]] = {}
    for parity in (1, 0):
        run_build([corpora[parity]], index, rebuild=True, confirmed=True)
        with Searcher(index, provider=FakeProvider()) as searcher:
            generation, ids, scores = asking_worker.ask(searcher)
        assert generation % 2 == parity and all(i.startswith(("even", "odd")[parity]) for i in ids)
        expected[parity] = [ids, scores]

    outputs = [tmp_path / f"reader{n}" for n in range(READERS)]
    readers = []
    for output in outputs:
        with open(output, "w") as out:
            readers.append(
                subprocess.Popen(
                    [sys.executable, asking_worker.__file__, str(index), str(stop)],
                    stdout=out,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=ENVIRONMENT,
                )
            )

    def answered() -> list[int]:
        return [output.read_text().count("\n") for output in outputs]

    try:
        wait_until(lambda: min(answered()) > 0, *readers)
        for rebuild in range(REBUILDS):
            summary = run_build([corpora[(rebuild + 1) % 2]], index, rebuild=True, confirmed=True)
            assert summary.generation == rebuild + 3
            before = sum(answered())
            wait_until(lambda before=before: sum(answered()) >= before + READERS // 2, *readers)
    finally:
        stop.touch()
        errors = [reader.communicate()[1][-2000:] for reader in readers]
        print(*errors)
    assert [error for error in errors if error] == []
    assert [reader.returncode for reader in readers] == [0] * READERS
    seen = set()
    for output in outputs:
        for line in output.read_text().splitlines():
            generation, *answer = json.loads(line)
            assert answer == expected[generation % 2]
            seen.add(generation)
    assert len(seen) > REBUILDS // 2
    run_build([corpora[1]], index, rebuild=True, confirmed=True)
    assert [p.name for p in (index / "generations").iterdir()] == [str(REBUILDS + 3)]
    assert verify(index).problems == ()
