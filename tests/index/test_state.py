"""What an index remembers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from semsearch.errors import IndexDamaged, IndexFormatUnsupported
from semsearch.index.state import Deletion, RememberedSource, State, change_state, read_state, remember

DELETION = Deletion("é", ("id:é", "doi:10.1/x"), "A title", "2025-01-01")


def test_it_is_read_as_it_was_written(tmp_path):
    assert read_state(tmp_path) == State()
    state = State((RememberedSource("/a"), RememberedSource("/b", "jsonl")), {"é": DELETION})
    assert change_state(tmp_path, lambda old: state) == state == read_state(tmp_path)


def test_an_equal_state_is_not_written(tmp_path):
    change_state(tmp_path, lambda state: state)
    assert (tmp_path / "state.json").exists()  # from the first build on, so that a lost one is noticed
    change_state(tmp_path, lambda state: replace(state, deletions={"é": DELETION}))
    before = (tmp_path / "state.json").stat()
    change_state(tmp_path, lambda state: replace(state, deletions=dict(state.deletions)))
    assert (tmp_path / "state.json").stat().st_ino == before.st_ino


def test_a_source_named_again_takes_the_new_format_and_keeps_its_place():
    state = remember(State(), [RememberedSource("/a"), RememberedSource("/b")])
    state = remember(state, [RememberedSource("/c"), RememberedSource("/a", "csv")])
    assert state.sources == (RememberedSource("/a", "csv"), RememberedSource("/b"), RememberedSource("/c"))


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", "[[[", '{"format": 1, "state": {}, "sha256": ""}', "\x00"])
def test_what_is_no_state_is_damage(tmp_path, content):
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(IndexDamaged, match=r"state\.json"):
        read_state(tmp_path)
    with pytest.raises(IndexDamaged):
        change_state(tmp_path, lambda state: state)
    assert (tmp_path / "state.json").read_text() == content


def test_a_changed_value_is_damage_and_another_format_is_none(tmp_path):
    change_state(tmp_path, lambda state: replace(state, deletions={"é": DELETION}))
    path = tmp_path / "state.json"
    content = path.read_text("utf-8")
    path.write_text(content.replace("A title", "B title"), "utf-8")
    with pytest.raises(IndexDamaged):
        read_state(tmp_path)
    path.write_text(json.dumps({**json.loads(content), "format": 2}))
    with pytest.raises(IndexFormatUnsupported, match="format 2"):
        read_state(tmp_path)
