"""Shards on a real Ray cluster of two nodes, of which workers and drivers are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeProvider
from made_papers import records, run_build, write_jsonl

from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncoderRequest
from semsearch.engines.ray import RayCluster, _Worker
from semsearch.errors import MissingExtra
from semsearch.index.reader import IndexReader
from semsearch.shards.division import all_shards
from semsearch.shards.run import encode_shards
from semsearch.shards.staging import StagedTexts
from semsearch.shards.work import ShardPlan

HERE = Path(__file__).resolve().parent
TEXTS, SHARDS = 600, 6
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(
    [str(HERE), str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]), "RAY_USAGE_STATS_ENABLED": "0"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two nodes."""
    pytest.importorskip("ray")
    process = subprocess.Popen([sys.executable, str(HERE / "ray_cluster.py")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENVIRONMENT)
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    yield next(line.strip() for line in lines if line[0].isdigit())
    process.communicate("")


class Run:
    """A driver at work in a folder of its own."""

    def __init__(self, folder: Path, cluster: str, *options: str) -> None:
        self.folder, self.calls, self.vectors = folder, folder / "calls", folder / "vectors"
        self.calls.mkdir(exist_ok=True)
        self.source = write_jsonl(folder / "papers.jsonl", records(TEXTS))
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "ray_driver.py"), str(self.calls), "encode", "papers.jsonl", "-o", "vectors",
             "--shards", str(SHARDS), "--engine", "ray", "--address", cluster, "--json", "-m", "fake", *options],
            cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for(self, pattern: str, folder: Path) -> Path:
        """Return a file of this name in `folder` as soon as there is one."""
        until = time.monotonic() + 120
        while time.monotonic() < until and self.process.poll() is None:
            found = sorted(folder.glob(pattern))
            if found:
                return found[0]
            time.sleep(0.05)
        raise AssertionError(f"no {pattern}: {self.process.communicate()}")

    def end(self) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error."""
        out, err = self.process.communicate(timeout=200)
        return self.process.returncode, out, err

    def encoded(self) -> int:
        """Return how many texts were given to encoders, those of calls that were killed too."""
        return sum(int(call.read_text()) for call in self.calls.iterdir())


def vectors_by_id(index: Path) -> dict[str, np.ndarray]:
    with IndexReader(index) as reader:
        rows = reader.vectors.rows
        vectors = reader.vectors.vectors_at(np.arange(len(rows)))
        return {paper.id: vectors[position] for position, paper in enumerate(reader.papers.get(rows.tolist()))}


def assert_index_is_that_of_one_machine(run: Run) -> None:
    run_build([run.source], run.folder / "one", model="fake")
    provider = FakeProvider()
    summary = build_index([run.source], run.folder / "many", BuildOptions(model="fake", vectors=(run.vectors,)),
                          provider=provider)
    assert (summary.encoded, provider.loaded) == (0, 0)
    one, many = vectors_by_id(run.folder / "one"), vectors_by_id(run.folder / "many")
    assert one.keys() == many.keys()
    assert max(np.abs(one[name] - many[name]).max() for name in one) <= 1e-5


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_one_chunk(tmp_path: Path, cluster: str) -> None:
    run = Run(tmp_path, cluster)
    killed = int(run.wait_for("*-1", run.calls).name.partition("-")[0])  # in its second chunk: the first is on disk
    os.kill(killed, signal.SIGKILL)
    status, out, err = run.end()
    assert status == 0, err
    summaries = [json.loads(line) for line in out.splitlines()]
    assert [s["shard"] for s in summaries] == list(range(1, SHARDS + 1))
    assert sum(s["texts"] for s in summaries) == TEXTS
    workers = {int(call.name.partition("-")[0]) for call in run.calls.iterdir()}
    assert len(workers - {killed}) == 2  # the other one, and one that took the place of the killed one
    assert TEXTS < run.encoded() <= TEXTS + 64
    assert_index_is_that_of_one_machine(run)


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_what_is_finished(tmp_path: Path, cluster: str) -> None:
    run = Run(tmp_path, cluster)
    run.wait_for("*/shard-*/done.json", run.vectors)
    run.process.kill()
    run.end()
    finished = len(list(run.vectors.glob("*/shard-*/done.json")))
    assert finished < SHARDS
    status, out, err = Run(tmp_path, cluster).end()
    assert status == 0, err
    summaries = [json.loads(line) for line in out.splitlines()]
    assert sum(s["texts"] for s in summaries) == TEXTS
    assert sum(s["encoded"] == 0 for s in summaries) >= finished
    assert run.encoded() <= TEXTS + 2 * 64 + 64  # what both workers had under way, and one chunk at the kill itself
    assert_index_is_that_of_one_machine(run)


@pytest.mark.slow
def test_what_a_worker_meets_comes_out_as_the_error_that_it_is(tmp_path: Path, cluster: str) -> None:
    status, out, err = Run(tmp_path, cluster, "-m", "absent").end()
    assert (status, out) == (1, "")
    assert "Error: Shard " in err
    assert ": The model 'absent' is not on this machine. (6 of 6 shards failed.)\nFetch it.\n" in err
    assert err.count("failed, the others go on: The model") == 1
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_said_before_anything_is_read(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    status, out, err = Run(tmp_path, "127.0.0.1:1").end()
    assert (status, out) == (2, "")
    assert "There is no Ray cluster to use at 127.0.0.1:1" in err
    assert "ray start --head" in err
    assert not (tmp_path / "vectors").exists()


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match="extra `ray`") as error:
        RayCluster("auto").check()
    assert "pip install 'semsearch[ray]'" in error.value.way_out
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    request = EncoderRequest("fake")
    plan = ShardPlan(tmp_path, request, FakeProvider().identify(request))
    row = _Worker(plan, StagedTexts(tmp_path / "elsewhere", 3, 0, ""), FakeProvider())({"number": [1], "of": [2]})
    assert row["error"] == ["SourceNotFound"]
    assert "does not see" in row["message"][0]
    assert "all machines of the cluster see" in row["way_out"][0]


def test_a_worker_makes_what_this_process_makes(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "papers.jsonl", records(30))

    def by_workers(plan: ShardPlan, staged: StagedTexts, shards: object, provider: FakeProvider, progress: object
                   ) -> Iterator[object]:
        worker = _Worker(plan, staged, provider)
        rows = [worker({"number": [s.number], "of": [s.of]}) for s in all_shards(3)]
        assert [row["number"] for row in rows] == [[1], [2], [3]]
        assert [row["error"] for row in rows] == [[""]] * 3
        assert sum(row["encoded"][0] for row in rows) == 30
        return iter(())

    list(encode_shards([source], all_shards(3), tmp_path / "v", EncoderRequest("fake"), engine=by_workers,
                       provider=FakeProvider()))
    assert len(list((tmp_path / "v").glob("*/shard-*/done.json"))) == 3
