"""What an index remembers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from semsearch.errors import IndexDamaged, IndexFormatUnsupported
from semsearch.filters import Filter
from semsearch.index.saved_searches import REPORTS_KEPT, Report, SavedSearch
from semsearch.index.state import Deletion, RememberedSource, State, change_state, read_state, remember
from semsearch.ranking import Mode

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


def search(**changes) -> SavedSearch:
    return SavedSearch(**{"name": "birds", "created": "2025-01-01T00:00:00.000001+00:00", **changes})


def test_saved_searches_are_read_as_they_were_written(tmp_path):
    full = search(question='how do "birds" é -navigate', likes=("p1", "10.1/x"), mode=Mode.DENSE, weight=0.25,
                  filter=Filter(first_year=2020, authors=("Ada",), ids=("a", "b")), min_score=0.1, diversity=0.5, k=3,
                  seen_until=1_700_000_000, last_run="2025-01-02T00:00:00+00:00",
                  reports=(Report("p9", "2025-01-02T00:00:00+00:00", 0.123456),))
    state = State(searches={"birds": full, "plain": search(name="plain", likes=("p",))})
    assert change_state(tmp_path, lambda old: state) == state == read_state(tmp_path)
    assert list(read_state(tmp_path).searches) == ["birds", "plain"]


def test_a_state_from_before_there_were_saved_searches_is_read(tmp_path):
    payload = {"sources": [{"path": "/a", "from_format": None}],
               "deletions": [{"id": "x", "keys": ["id:x"], "title": "T", "deleted": "2024-01-01"}]}
    canonical = json.dumps(payload, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    document = {"format": 1, "sha256": hashlib.sha256(canonical.encode()).hexdigest(), "state": payload}
    (tmp_path / "state.json").write_text(json.dumps(document))
    state = State((RememberedSource("/a"),), {"x": Deletion("x", ("id:x",), "T", "2024-01-01")})
    assert read_state(tmp_path) == state
    change_state(tmp_path, lambda old: replace(old, sources=()))  # and one without searches is written as it was
    assert set(json.loads((tmp_path / "state.json").read_text())["state"]) == {"sources", "deletions"}


@pytest.mark.parametrize("changes", [{"mode": "psychic"}, {"filter": {"colour": "red"}}, {"reports": [["p"]]},
                                     {"unknown": 1}, {"likes": 3}])
def test_a_saved_search_that_is_none_is_damage(tmp_path, changes):
    payload = {"sources": [], "deletions": [], "searches": [{**search().to_dict(), **changes}]}
    canonical = json.dumps(payload, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    (tmp_path / "state.json").write_text(json.dumps(
        {"format": 1, "sha256": hashlib.sha256(canonical.encode()).hexdigest(), "state": payload}))
    with pytest.raises(IndexDamaged, match=r"state\.json"):
        read_state(tmp_path)


def test_a_search_never_goes_back_and_a_paper_keeps_its_first_report():
    first, second = Report("p1", "2025-01-02", 0.5), Report("p2", "2025-01-03", 0.4)
    moved = search(seen_until=10).advanced(20, (first,), "2025-01-02").advanced(
        15, (Report("p1", "2025-01-03", 0.9), second), "2025-01-03")
    assert (moved.seen_until, moved.last_run, moved.reports) == (20, "2025-01-03", (first, second))


def test_reports_are_bounded_and_the_latest_stay():
    many = tuple(Report(f"p{n}", "2025", 0.0) for n in range(REPORTS_KEPT + 7))
    kept = search().advanced(1, many[:10], "2025").advanced(2, many, "2025").reports
    assert kept == many[7:]
