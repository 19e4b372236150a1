"""Settings of encoding: which are tried, which is best, and what is remembered of that."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from semsearch import calibration
from semsearch.calibration import (
    Setting,
    best_setting,
    candidates,
    machine,
    remember_setting,
    remembered_setting,
    usable_cores,
)

FINGERPRINT, OTHER = "ab" * 32, "cd" * 32
SETTING = Setting(2, 1, 512)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "calibrations" / f"{FINGERPRINT}.json"


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 8, 64])
def test_candidates_use_each_core_once_at_most(cores):
    found = candidates(cores)
    assert found[0] == Setting(cores, 1, 512)
    assert len(set(found)) == len(found) == {1: 2, 2: 3, 3: 3}.get(cores, 4)
    assert all(1 <= setting.workers * setting.threads <= cores for setting in found)


def test_a_setting_is_remembered_for_one_encoder_and_one_machine(cache, monkeypatch):
    assert remembered_setting(FINGERPRINT) is None
    remember_setting(FINGERPRINT, SETTING, {SETTING: 1234.5, Setting(1, 2, 2048): 1000.0})
    assert remembered_setting(FINGERPRINT) == SETTING
    assert remembered_setting(OTHER) is None
    entry = json.loads(cache.read_text())["machines"][machine()]
    assert [trial["tokens_per_second"] for trial in entry["trials"]] == [1234, 1000]
    monkeypatch.setattr(calibration, "usable_cores", lambda: 77)
    assert remembered_setting(FINGERPRINT) is None
    remember_setting(FINGERPRINT, Setting(77, 1, 512), {})
    monkeypatch.undo()
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(cache.parent.parent))
    assert remembered_setting(FINGERPRINT) == SETTING
    assert sorted(path.name for path in cache.parent.iterdir()) == [cache.name]


@pytest.mark.parametrize("content", [
    "", "{", "[]", "null", '{"format": 2, "machines": {}}', '{"format": 1}', '{"format": 1, "machines": []}',
    '{"format": 1, "machines": {"HERE": null}}', '{"format": 1, "machines": {"HERE": {"setting": {}}}}',
    '{"format": 1, "machines": {"HERE": {"setting": {"workers": 0, "threads": 1, "batch_tokens": 1}}}}',
    '{"format": 1, "machines": {"HERE": {"setting": {"workers": true, "threads": 1, "batch_tokens": 1}}}}',
    '{"format": 1, "machines": {"HERE": {"setting": {"workers": "2", "threads": 1, "batch_tokens": 1}}}}',
    '{"format": 1, "machines": {"HERE": {"setting": {"workers": 9999, "threads": 1, "batch_tokens": 1}}}}',
    '{"format": 1, "machines": {"HERE": {"setting": {"workers": 2, "threads": 1, "batch_tokens": 1, "x": 1}}}}',
])
def test_what_is_damaged_counts_as_not_there_and_is_replaced(cache, content):
    cache.parent.mkdir(parents=True)
    cache.write_text(content.replace("HERE", machine()))
    assert remembered_setting(FINGERPRINT) is None
    remember_setting(FINGERPRINT, SETTING, {SETTING: 1.0})
    assert remembered_setting(FINGERPRINT) == SETTING


@pytest.mark.parametrize("fingerprint", ["", "../x", "ab" * 31, "AB" * 32, "ab" * 32 + "\n"])
def test_what_is_no_fingerprint_leads_nowhere(tmp_path, fingerprint):
    remember_setting(fingerprint, SETTING, {})
    assert remembered_setting(fingerprint) is None
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_as_none(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "file"))
    remember_setting(FINGERPRINT, SETTING, {})
    assert remembered_setting(FINGERPRINT) is None


def test_another_setting_must_be_clearly_faster_than_the_first():
    first, second, third = SETTING, Setting(1, 2, 512), Setting(1, 1, 512)
    assert best_setting({first: 100.0, second: 104.0, third: 99.0}) == first
    assert best_setting({first: 100.0, second: 106.0, third: 120.0}) == third
    assert best_setting({first: 0.0}) == first


@pytest.mark.parametrize(("written", "cores"), [
    ("max 100000", None), ("200000 100000", 2), ("50000 100000", 1), ("9900000 100000", None), ("nonsense", None),
    ("1 0", None), ("", None)])
def test_the_limit_of_a_container_counts(monkeypatch, tmp_path, written, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(calibration, "_CGROUP", tmp_path / "cpu.max")
    assert usable_cores() == 8
    (tmp_path / "cpu.max").write_text(written)
    assert usable_cores() == (cores or 8)
