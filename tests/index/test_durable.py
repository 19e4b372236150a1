"""Files that are replaced whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os

import pytest

from semsearch.errors import DiskFull
from semsearch.index.durable import disk_full, file_sha256, full_disk_named, sync_file, sync_folder, write_atomically


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "file"
    for content in (b"one", b"", b"three" * 100_000):
        write_atomically(path, content)
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_leaves_the_old_content(tmp_path, monkeypatch, call, number):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(*_):
        raise OSError(number, "full")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(DiskFull, match=str(tmp_path)):
        write_atomically(path, b"new")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"old", [path])


def test_only_a_full_disk_is_called_one(tmp_path):
    with pytest.raises(PermissionError), full_disk_named(tmp_path):
        raise PermissionError(errno.EACCES, "no")
    error = disk_full(tmp_path / "not" / "there")
    assert "MB free" in error.message and "run the same command again" in error.way_out


def test_the_hash_of_a_file_is_that_of_its_bytes(tmp_path):
    for size in (0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1):
        content = bytes(size)
        (tmp_path / "file").write_bytes(content)
        assert file_sha256(tmp_path / "file") == hashlib.sha256(content).hexdigest()
    sync_file(tmp_path / "file")
    sync_folder(tmp_path)
