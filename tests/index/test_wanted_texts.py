"""Texts that questions want to be encoded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from semsearch.index import wanted_texts
from semsearch.index.locks import lock_exclusive
from semsearch.index.wanted_texts import append_wanted, forget_wanted, read_wanted

KEYS = [bytes([n]) * 15 + b"\0" for n in range(8)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "vectors" / "f"


def read(folder: Path) -> list[int]:
    return [KEYS.index(bytes(key).ljust(16, b"\0")) for key in read_wanted(folder).tolist()]


def test_what_is_wanted_is_read_once_in_its_order(folder):
    assert read(folder) == []
    append_wanted(folder, [KEYS[5], KEYS[2]])
    append_wanted(folder, [KEYS[2], KEYS[7], KEYS[0]])
    assert read(folder) == [5, 2, 7, 0]
    assert len(list(folder.iterdir())) == 1


def test_each_process_has_its_file(folder):
    append_wanted(folder, KEYS[:1])
    code = ("from pathlib import Path\nfrom semsearch.index.wanted_texts import append_wanted\n"
            f"append_wanted(Path({str(folder)!r}), [{KEYS[3]!r}])")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert sorted(read(folder)) == [0, 3]
    assert len(list(folder.iterdir())) == 2


def test_a_torn_key_is_no_key_and_the_next_one_is_whole(folder):
    append_wanted(folder, KEYS[:2])
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-5])
    assert read(folder) == [0]
    append_wanted(folder, KEYS[2:3])
    assert read(folder) == [0, 2]


def test_a_full_file_and_a_full_folder_take_no_more(folder, monkeypatch):
    monkeypatch.setattr(wanted_texts, "MOST_BYTES", 3 * 16)
    monkeypatch.setattr(wanted_texts, "MOST_FILES", 2)
    append_wanted(folder, KEYS[:2])
    append_wanted(folder, KEYS[2:6])
    append_wanted(folder, KEYS[6:])
    assert read(folder) == [0, 1, 2]
    (folder / "wanted-a-1.keys").write_bytes(b"")
    (mine,) = [path for path in folder.iterdir() if path.stat().st_size]
    mine.rename(folder / "wanted-b-2.keys")
    append_wanted(folder, KEYS[6:])
    assert read(folder) == [0, 1, 2]


def test_no_lock_is_waited_for(folder):
    append_wanted(folder, KEYS[:1])
    (path,) = folder.iterdir()
    with open(path, "r+b") as file:
        assert lock_exclusive(file)
        append_wanted(folder, KEYS[1:2])
        assert forget_wanted(folder) == 0
    assert read(folder) == [0]


def test_files_are_forgotten_when_all_of_their_keys_are_done(folder):
    append_wanted(folder, KEYS[:2])
    done: list[bytes] = [KEYS[0].rstrip(b"\0")]

    def is_done(keys):
        return np.isin(keys, np.array(done, keys.dtype))

    assert (forget_wanted(folder, is_done), read(folder)) == (0, [0, 1])
    done.append(KEYS[1].rstrip(b"\0"))
    assert (forget_wanted(folder, is_done), read(folder)) == (1, [])
    append_wanted(folder, KEYS[4:5])
    assert (forget_wanted(folder), list(folder.iterdir())) == (1, [])
