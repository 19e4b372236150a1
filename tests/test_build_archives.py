"""Building from ZIP archives: what is read again, what is gone, what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from made_papers import papers_in, record, run_build, write_jsonl

from semsearch.errors import NothingToIndex, UnreadableArchive


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "indexes" / "papers"


def archive(path: Path, members: dict[str, list[dict[str, Any]]]) -> Path:
    lines = path.with_name("member.lines")
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, records in members.items():
            file.write(write_jsonl(lines, records), name)
    lines.unlink()
    return path


def test_only_members_that_changed_are_read_again(index: Path, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"x.jsonl": [record(0), record(1)], "in/y.jsonl": [record(2)]})
    first = run_build([path], index)
    assert (first.papers, [file.name for file in first.files]) == (3, [f"{path}/in/y.jsonl", f"{path}/x.jsonl"])
    assert run_build([path], index).published is False
    archive(path, {"x.jsonl": [record(0), record(1)], "in/y.jsonl": [record(2), record(3)]})
    assert run_build([], index).added == 1
    assert list(papers_in(index)) == ["p2", "p0", "p1", "p3"]


@pytest.mark.parametrize("named", ["archive", "folder"])
def test_a_member_that_is_gone_is_pruned(index: Path, tmp_path: Path, named: str) -> None:
    path = archive(tmp_path / "in" / "a.zip", {"x.jsonl": [record(0), record(1)], "y.jsonl": [record(2)]})
    source = path if named == "archive" else path.parent
    run_build([source], index)
    archive(path, {"x.jsonl": [record(0), record(1)]})
    assert run_build([source], index).removed == 0
    assert run_build([source], index, prune=True, confirmed=True).removed == 1
    assert list(papers_in(index)) == ["p0", "p1"]


def test_an_archive_that_is_damaged_prunes_nothing(index: Path, tmp_path: Path) -> None:
    path = archive(tmp_path / "in" / "a.zip", {"x.jsonl": [record(0)]})
    write_jsonl(tmp_path / "in" / "b.jsonl", [record(1)])
    run_build([path.parent], index)
    path.write_bytes(path.read_bytes()[:-30])
    write_jsonl(tmp_path / "in" / "b.jsonl", [record(1), record(2)])
    summary = run_build([path.parent], index, prune=True, confirmed=True)
    assert (summary.removed, summary.added) == (0, 1)
    assert list(summary.refused_files) == [str(path)]
    assert list(papers_in(index)) == ["p0", "p1", "p2"]
    with pytest.raises(UnreadableArchive, match="damaged ZIP archive"):
        run_build([path], index)


def test_an_archive_without_papers(index: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("figure.png", b"x")
    with pytest.raises(NothingToIndex):
        run_build([tmp_path / "a.zip"], index)
