"""Which files are read, which are not, and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_papers import records, run_build, write_jsonl

from semsearch.errors import SourceNotFound, UsageError
from semsearch.index.reader import IndexReader
from semsearch.index.state import RememberedSource
from semsearch.intake import find_nothing_new, list_sources


class Notes:
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "in" / "a.jsonl", records(3))
    write_jsonl(tmp_path / "in" / "sub" / "b.jsonl", records(2, start=5))
    return tmp_path / "in"


def paths(sources) -> list[str]:
    return [file.path for file, _ in sources.files]


def test_named_sources_are_remembered_by_where_they_are(folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = list_sources(["a.jsonl", Path("sub"), "-", "../in/a.jsonl"], "jsonl", [], Notes())
    assert found.named == (
        RememberedSource(str(folder / "a.jsonl"), "jsonl"),
        RememberedSource(str(folder / "sub"), "jsonl"),
        RememberedSource(str(folder / "a.jsonl"), "jsonl"),
    )
    assert paths(found) == [str(folder / "a.jsonl"), str(folder / "sub" / "b.jsonl"), "-"]
    assert found.gone == ()


def test_remembered_sources_keep_their_formats_and_the_gone_are_told(folder):
    notes = Notes()
    remembered = [
        RememberedSource(str(folder / "a.jsonl"), "jsonl"),
        RememberedSource(str(folder / "gone"), None),
        RememberedSource(str(folder), None),
    ]
    found = list_sources([], "csv", remembered, notes)
    assert [(file.path, form) for file, form in found.files] == [
        (str(folder / "a.jsonl"), "jsonl"),
        (str(folder / "sub" / "b.jsonl"), None),
    ]
    assert found.gone == (str(folder / "gone"),) and len(notes.notes) == 1 and "gone" in notes.notes[0]
    with pytest.raises(SourceNotFound, match="None of the 1 remembered"):
        list_sources([], None, remembered[1:2], notes)
    with pytest.raises(UsageError):
        list_sources([], None, [], notes)


def test_nothing_is_new_until_bytes_or_the_reader_change(folder, tmp_path):
    run_build([folder], tmp_path / "index")

    def is_new(named=(folder,), form=None, prune=False) -> bool:
        with IndexReader(tmp_path / "index") as base:
            return find_nothing_new(list_sources(named, form, [], Notes()), base, prune) is None

    assert not is_new() and not is_new(prune=True) and not is_new([folder / "a.jsonl"])
    assert is_new(["-"])
    assert is_new(form="jsonl")
    content = (folder / "a.jsonl").read_text()
    write_jsonl(folder / "a.jsonl", records(4))
    assert is_new()
    (folder / "a.jsonl").write_text(content)
    assert not is_new()
    write_jsonl(folder / "c.jsonl", records(1))
    assert is_new()
    (folder / "c.jsonl").unlink()
    (folder / "sub" / "b.jsonl").unlink()
    assert not is_new() and is_new(prune=True)
    assert not is_new([folder / "a.jsonl"], prune=True)
