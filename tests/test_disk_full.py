"""A disk that fills up: it is said, what was published answers as before, and the next run goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import crash_worker
import pytest
from made_papers import answers, papers_in, records, run_build, write_jsonl

from semsearch.errors import DiskFull, IndexNotFound
from semsearch.maintenance import delete, verify

TESTS = Path(__file__).resolve().parent


@pytest.mark.skipif(os.name == "nt", reason="this system has no limit on the size of files")
@pytest.mark.parametrize("factory", ["Flat", "HNSW4"])
@pytest.mark.parametrize("limit_bytes", [10, 600, 4_000, 20_000, 60_000, 90_000, 105_000])
def test_a_limit_on_the_size_of_files(tmp_path, limit_bytes, factory):
    source, index = write_jsonl(tmp_path / "papers.jsonl", records(40)), tmp_path / "index"
    run_build([source], index, factory=factory)
    before = answers(index)
    write_jsonl(source, records(400))
    (tmp_path / "job.json").write_text(json.dumps({"sources": [str(source)], "file_limit_bytes": limit_bytes}))
    done = subprocess.run(
        [sys.executable, crash_worker.__file__, "build", str(index), str(tmp_path / "job.json")],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])},
    )
    assert done.stdout.splitlines()[-1].split()[:2] == ["error", "DiskFull"], done.stdout + done.stderr
    assert (answers(index), verify(index).problems) == (before, ())
    assert not list((index / "generations").glob(".*"))
    summary = run_build([source], index)
    assert (summary.papers, verify(index).problems) == (400, ())


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path_factory.mktemp("disk")
    mount = shutil.which("mount")
    done = (
        subprocess.run([mount, "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, text=True)
        if mount
        else None
    )
    if done is None or done.returncode:
        pytest.skip(f"this system lets no file system be mounted here: {done.stderr.strip() if done else 'no mount'}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # a mapped file may still be held


def fill(disk: Path, free_bytes: int) -> Path:
    """Leave so much room on a disk, and return the file that takes the rest."""
    filler = disk / "filler"
    filler.write_bytes(b"\0" * max(shutil.disk_usage(disk).free - free_bytes, 0))
    return filler


@pytest.mark.slow
@pytest.mark.parametrize("first", [False, True])
def test_a_disk_with_ever_more_room(small_disk, tmp_path, first):
    source, index = write_jsonl(tmp_path / "papers.jsonl", records(40)), small_disk / "index"
    outcomes = Counter()
    free_bytes = 0
    while outcomes["done"] < 2:
        write_jsonl(source, records(40))
        if not first:
            run_build([source], index, factory="HNSW4")
            write_jsonl(source, records(300))
        before = None if first else answers(index)
        filler = fill(small_disk, free_bytes)
        try:
            run_build([source], index, factory="HNSW4")
            outcomes["done"] += 1
        except DiskFull:
            outcomes["full"] += 1
            if first:
                with pytest.raises(IndexNotFound):
                    papers_in(index)
            else:
                assert (answers(index), verify(index).problems) == (before, ())
        filler.unlink()
        summary = run_build([source], index, factory="HNSW4")
        assert (summary.papers, verify(index).problems) == (40 if first else 300, ())
        shutil.rmtree(index)
        free_bytes += 16_384
    assert outcomes["full"] > 5


def test_deleting_on_a_full_disk_changes_nothing(small_disk, tmp_path):
    index = small_disk / "index"
    run_build([write_jsonl(tmp_path / "papers.jsonl", records(10))], index)
    filler = fill(small_disk, 0)
    with pytest.raises(DiskFull):
        delete(index, ["p1"])
    assert "p1" in papers_in(index)
    filler.unlink()
    delete(index, ["p1"])
    assert "p1" not in papers_in(index)
    shutil.rmtree(index)
