"""Damage in a large lexical index, whose files are not all read when it is opened."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fakes import FakeProvider
from made_papers import generation_folder, records, run_build, write_jsonl

from semsearch.errors import IndexDamaged
from semsearch.index import lexical_files
from semsearch.index.durable import copy_file
from semsearch.index.lexical_files import damage_named
from semsearch.index.reader import IndexReader
from semsearch.maintenance import verify
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Searcher


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    run_build([write_jsonl(folder / "papers.jsonl", records(300))], folder / "index")
    return folder / "index"


def ask(index: Path) -> list[str]:
    with Searcher(index, provider=FakeProvider()) as searcher:
        answers = [searcher.query(text, 20, SearchOptions(mode=Mode.LEXICAL))
                   for text in ("graph protein", '"neural graphs" -plasma', "study 7")]
        return [hit.paper.id for answer in answers for hit in answer.hits]


@pytest.mark.parametrize("kind", ["idx", "pos", "term", "fast", "fieldnorm", "store"])
def test_damage_that_is_not_seen_at_once_is_no_traceback(index: Path, monkeypatch: pytest.MonkeyPatch, kind: str,
                                                         capfd: pytest.CaptureFixture[str]) -> None:
    whole = ask(index)
    path = max((generation_folder(index) / "lexical").glob(f"*.{kind}"), key=lambda p: p.stat().st_size)
    content = path.read_bytes()
    chance = random.Random(kind)
    monkeypatch.setattr(lexical_files, "_CHECKED_WHOLE_BYTES", 0)
    monkeypatch.setattr(lexical_files, "_CHECKED_FILE_BYTES", 0)
    try:
        for _ in range(8):
            damaged = bytearray(content)
            for at in [chance.randrange(min(256, len(content) - 1), len(content)) for _ in range(5)]:
                damaged[at] = chance.randrange(256)
            path.write_bytes(damaged)
            try:
                ask(index)
            except IndexDamaged as error:
                assert "reindex" in error.way_out
            if damaged != content:
                assert path.name in " ".join(verify(index).problems)
    finally:
        path.write_bytes(content)
    assert ask(index) == whole
    capfd.readouterr()  # the library may have said that it panicked


def test_small_files_are_checked_in_a_large_index_too(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical_files, "_CHECKED_WHOLE_BYTES", 0)
    path = next((generation_folder(index) / "lexical").glob("*.fast"))
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    try:
        with IndexReader(index) as reader, pytest.raises(IndexDamaged, match=path.name):
            reader.lexical.documents  # noqa: B018
    finally:
        path.write_bytes(content)


class PanicException(BaseException):
    """As pyo3 raises it."""


@pytest.mark.parametrize("error", [ValueError("no"), TypeError("none"), PanicException("index out of bounds")])
def test_what_the_library_raises_over_damage_is_named(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(IndexDamaged, match="lexical cannot be searched"), damage_named(tmp_path):
        raise error


def test_an_interrupt_stays_one(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), damage_named(tmp_path):
        raise KeyboardInterrupt


def test_a_copy_is_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    copy_file(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b").write_bytes(b"y")
    assert (tmp_path / "a").read_bytes() == b"x" * 100_000
