"""Locks: who gets them, what the others are told, and that death frees them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from semsearch.errors import IndexBusy
from semsearch.index.locks import build_lock, is_build_running, lock_exclusive, lock_shared, publish_lock

HOLD = """
import sys
from pathlib import Path
from semsearch.index.locks import build_lock, publish_lock
with {lock}:
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(tmp_path, lock: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(lock=lock), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_a_second_build_is_told_at_once_and_death_frees_the_lock(tmp_path):
    with holder(tmp_path, "build_lock(Path(sys.argv[1]), 'build')") as process:
        with (
            pytest.raises(IndexBusy, match=rf"build, process {process.pid} on .*, since 2") as caught,
            build_lock(tmp_path, "reindex"),
        ):
            pass
        assert repr(tmp_path.name) in caught.value.message
        process.kill()
    with build_lock(tmp_path, "reindex"):
        assert json.loads((tmp_path / "build.lock").read_text())["pid"] == os.getpid()


def test_a_lock_without_a_name_is_still_a_lock(tmp_path):
    with build_lock(tmp_path, "build"):
        (tmp_path / "build.lock").write_text("garbage")
        with pytest.raises(IndexBusy, match="has not written its name"), build_lock(tmp_path, "build"):
            pass
    (tmp_path / "build.lock").write_text("garbage that is longer than what will be written" * 20)
    with build_lock(tmp_path, "remove"):
        assert json.loads((tmp_path / "build.lock").read_text())["purpose"] == "remove"


def test_whether_a_build_is_running_is_seen_and_asking_keeps_nobody_out(tmp_path):
    assert not is_build_running(tmp_path) and not is_build_running(tmp_path / "nowhere")
    with holder(tmp_path, "build_lock(Path(sys.argv[1]), 'build')") as process:
        assert is_build_running(tmp_path)
        process.kill()
    assert not is_build_running(tmp_path)
    asks = threading.Event()
    looking = threading.Thread(target=lambda: [is_build_running(tmp_path) for _ in iter(asks.is_set, True)])
    looking.start()
    try:
        for _ in range(50):
            with build_lock(tmp_path, "build"):
                pass
    finally:
        asks.set()
        looking.join()


def test_a_holder_that_is_brief_is_waited_for(tmp_path):
    with holder(tmp_path, "build_lock(Path(sys.argv[1]), 'serve', briefly=True)") as process:
        got = []

        def build():
            with build_lock(tmp_path, "build"):
                got.append(json.loads((tmp_path / "build.lock").read_text())["purpose"])

        waiting = threading.Thread(target=build)
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive() and not got
        process.communicate("")
        waiting.join(60)
        assert got == ["build"]


def test_a_holder_that_is_not_as_brief_as_it_said_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("semsearch.index.locks.BRIEFLY_SECONDS", 0.2)
    with holder(tmp_path, "build_lock(Path(sys.argv[1]), 'serve', briefly=True)") as process:
        with pytest.raises(IndexBusy, match=f"serve, process {process.pid}"), build_lock(tmp_path, "build"):
            pass
        process.communicate("")


def test_an_error_inside_frees_the_locks(tmp_path):
    for _ in range(2):
        with pytest.raises(ValueError), build_lock(tmp_path, "build"), publish_lock(tmp_path):
            raise ValueError


def test_shared_and_exclusive(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with open(path, "r+b") as one, open(path, "r+b") as two, open(path, "r+b") as three:
        assert lock_shared(one) and lock_shared(two)
        assert not lock_exclusive(three)
        one.close()
        assert not lock_exclusive(three)
        two.close()
        assert lock_exclusive(three)
        with open(path, "rb") as four:
            assert not lock_shared(four)
