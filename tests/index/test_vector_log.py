"""Vectors that were paid for: whatever happens to a log, whole records are read and others are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from semsearch.encoding import EncodedTexts
from semsearch.index.keyed_vectors import KEY_DTYPE
from semsearch.index.vector_log import (
    FollowedLogs,
    VectorLogWriter,
    inspect_logs,
    read_logs,
    remove_logs,
    remove_other_fingerprints,
)

D = 5
RECORD = 16 + 4 + 4 + 4 * D
HEADER = 64
KEYS = [bytes([n]) * 15 + b"\0" for n in range(4)]  # the first is all zeros, all end in one
VECTORS = np.arange(4 * D, dtype=np.float32).reshape(4, D)
TOKENS = np.array([7, 0, 1000, -1], np.int32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index" / "vectors" / "f"


@pytest.fixture
def log(folder: Path) -> Path:
    writer = VectorLogWriter(folder, D)
    writer.append(KEYS[:3], EncodedTexts(VECTORS[:3], TOKENS[:3]))
    writer.append(KEYS[3:], EncodedTexts(VECTORS[3:], TOKENS[3:]))
    writer.close()
    (path,) = folder.iterdir()
    return path


def held(folder: Path) -> list[int]:
    """Return which of the four vectors the logs of a folder hold, each checked."""
    numbers: set[int] = set()
    for source in read_logs(folder, D):
        positions = source.find(np.frombuffer(b"".join(KEYS), KEY_DTYPE))
        found = np.flatnonzero(positions >= 0)
        taken = source.take(positions[found])
        assert (taken.vectors == VECTORS[found]).all() and (taken.token_counts == TOKENS[found]).all()
        numbers.update(found.tolist())
    return sorted(numbers)


def report(folder: Path, **dimension_of: int):
    (found,) = inspect_logs(folder.parent.parent, dimension_of)
    return found.readable, found.records, found.damaged, found.torn_bytes


def test_what_was_appended_is_read(folder, log):
    assert log.stat().st_size == HEADER + 4 * RECORD
    assert held(folder) == [0, 1, 2, 3]
    assert report(folder) == report(folder, f=D) == (True, 4, 0, 0)


def test_nothing_appended_makes_no_file(folder):
    writer = VectorLogWriter(folder, D)
    writer.checkpoint()
    writer.close()
    assert not folder.exists()
    assert (read_logs(folder, D), inspect_logs(folder.parent.parent, {})) == ([], [])


def test_every_length_of_a_torn_log_gives_its_whole_records(folder, log):
    content = log.read_bytes()
    for length in range(len(content)):
        log.write_bytes(content[:length])
        whole = max(0, (length - HEADER) // RECORD)
        assert held(folder) == list(range(whole))
        torn = length if length < HEADER else (length - HEADER) % RECORD
        assert report(folder, f=D) == (True, whole, 0, torn)


def test_every_damaged_byte_costs_its_record_and_no_other(folder, log):
    content = log.read_bytes()
    for position in range(len(content)):
        log.write_bytes(content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :])
        if position < HEADER:
            assert (held(folder), report(folder, f=D)) == ([], (False, 0, 0, 0))
        else:
            lost = (position - HEADER) // RECORD
            assert held(folder) == [n for n in range(4) if n != lost]
            assert report(folder, f=D) == (True, 3, 1, 0)


def test_two_logs_are_two_sources_and_another_dimension_is_not_read(folder, log):
    writer = VectorLogWriter(folder, D)
    writer.append(KEYS[:1], EncodedTexts(VECTORS[:1], TOKENS[:1]))
    writer.close()
    assert len(list(folder.iterdir())) == 2
    assert sorted(len(source) for source in read_logs(folder, D)) == [1, 4]
    assert read_logs(folder, D + 1) == []


def test_a_log_goes_when_it_is_no_longer_needed(folder, log):
    assert remove_logs(folder) == 1
    assert not folder.exists()


def test_a_log_that_is_being_written_stays(folder):
    writer = VectorLogWriter(folder, D)
    writer.append(KEYS, EncodedTexts(VECTORS, TOKENS))
    assert remove_logs(folder) == 0
    assert remove_other_fingerprints(folder.parent.parent, "other") == 0
    assert held(folder) == [0, 1, 2, 3]
    writer.close()
    assert remove_other_fingerprints(folder.parent.parent, "f") == 0
    assert remove_other_fingerprints(folder.parent.parent, "other") == 1
    assert not folder.exists()


def append(writer: VectorLogWriter, *numbers: int) -> None:
    chosen = list(numbers)
    writer.append([KEYS[n] for n in chosen], EncodedTexts(VECTORS[chosen], TOKENS[chosen]))


def numbers_of(keys: np.ndarray) -> list[int]:
    return [KEYS.index(bytes(key).ljust(16, b"\0")) for key in keys.tolist()]


def in_sources(logs: FollowedLogs) -> list[int]:
    numbers: list[int] = []
    for source in logs.sources():
        found = numbers_of(source.keys_by_position)
        taken = source.take(np.arange(len(found)))
        assert (taken.vectors == VECTORS[found]).all() and (taken.token_counts == TOKENS[found]).all()
        numbers += found
    return sorted(numbers)


def test_followed_logs_give_each_vector_once_as_it_comes(folder, monkeypatch):
    logs = FollowedLogs(folder, D)
    assert (numbers_of(logs.refresh()), logs.sources(), len(logs)) == ([], [], 0)
    first, second = VectorLogWriter(folder, D), VectorLogWriter(folder, D)
    append(first, 2)
    assert numbers_of(logs.refresh()) == [2]
    append(first, 0, 1)
    append(second, 3)
    assert sorted(numbers_of(logs.refresh())) == [0, 1, 3]
    assert (numbers_of(logs.refresh()), in_sources(logs), len(logs)) == ([], [0, 1, 2, 3], 4)
    first.close()
    second.close()


def test_followed_logs_read_no_torn_and_no_damaged_record(folder, log):
    content = log.read_bytes()
    log.write_bytes(content[: HEADER + 2 * RECORD + 7])
    logs = FollowedLogs(folder, D)
    assert numbers_of(logs.refresh()) == [0, 1]
    log.write_bytes(content[: HEADER + 2 * RECORD + 30] + b"\xff" + content[HEADER + 2 * RECORD + 31 :])
    assert (numbers_of(logs.refresh()), in_sources(logs), len(logs)) == ([3], [0, 1, 3], 3)
    log.write_bytes(b"x" + content[1:])
    assert (FollowedLogs(folder, D).refresh().tolist(), FollowedLogs(folder, D + 1).refresh().tolist()) == ([], [])


def test_only_logs_that_were_read_to_their_end_go(folder):
    logs = FollowedLogs(folder, D)
    done, grown, held = (VectorLogWriter(folder, D) for _ in range(3))
    append(done, 0)
    append(grown, 1)
    append(held, 2)
    done.close()
    logs.refresh()
    append(grown, 3)
    grown.close()
    assert (logs.remove_read(), in_sources(logs)) == (1, [1, 2])
    assert numbers_of(logs.refresh()) == [3]
    held.close()
    assert (logs.remove_read(), len(logs), list(folder.iterdir())) == (2, 0, [])


def test_a_log_that_goes_while_it_is_read_is_passed_over(folder, log):
    log.with_name("0-gone.log").symlink_to(folder / "removed")  # listed, and then not there
    [source] = read_logs(folder, D)
    assert len(source) == 4
