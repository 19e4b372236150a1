"""The lexical index of a new generation: made from the one before where that is right, and published with the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import lexical_made
import numpy as np
import pytest
from fakes import FakeProvider
from lexical_made import index_of, write
from made_papers import generation_folder, records, run_build, write_jsonl

from semsearch.errors import DiskFull, IndexDamaged, UsageError
from semsearch.index import lexical_writer
from semsearch.index.lexical_files import lexical_names
from semsearch.index.lexical_index import LexicalIndex
from semsearch.index.manifest import LEXICAL
from semsearch.index.reader import IndexReader
from semsearch.maintenance import describe, verify
from semsearch.reindex import ReindexOptions, reindex_index

TEXTS = [f"common word{i} and number{i % 7}" for i in range(60)]


@pytest.fixture
def incremental(monkeypatch):
    """Let documents go from the files of the generation before, however few there are."""
    monkeypatch.setattr(lexical_writer, "_CHEAP_DOCUMENTS", 0)


def found(index: LexicalIndex, question: str) -> list[int]:
    return sorted(index.top(index.parse(question), 1000).rows.tolist())


def inodes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in (folder / LEXICAL).iterdir()}


def test_nothing_changed_is_links_alone(tmp_path):
    base, _ = write(tmp_path / "1", TEXTS)
    after, table = write(tmp_path / "2", TEXTS, base=base)
    assert table.read == []
    assert inodes(base.folder) == inodes(after.folder)


def test_renumbered_rows_read_no_text(tmp_path):
    base, _ = write(tmp_path / "1", TEXTS)
    turned = TEXTS[::-1] + TEXTS[:1]
    after, table = write(tmp_path / "2", turned, base=base)
    assert table.read == []
    changed = {name for name, inode in inodes(after.folder).items() if inodes(base.folder)[name] != inode}
    assert changed == {"rows.npy"}
    assert found(LexicalIndex(after.folder, after.manifest), "word0") == [59, 60]


def test_only_new_texts_are_read_and_old_files_stay(tmp_path):
    base, _ = write(tmp_path / "1", TEXTS)
    after, table = write(tmp_path / "2", [*TEXTS, "fresh plasma", TEXTS[0], "another plasma"], base=base)
    assert table.read == [60, 62]
    index = LexicalIndex(after.folder, after.manifest)
    assert found(index, "plasma") == [60, 62]
    assert found(index, "word0") == [0, 61]
    assert set(inodes(base.folder).values()) & set(inodes(after.folder).values())
    assert found(LexicalIndex(base.folder, base.manifest), "plasma") == []


def test_texts_that_went_or_changed_are_not_found(tmp_path, incremental):
    base, _ = write(tmp_path / "1", TEXTS)
    texts = [*TEXTS[:10], "changed plasma", *TEXTS[11:57]]
    after, table = write(tmp_path / "2", texts, base=base)
    assert table.read == [10]
    index = LexicalIndex(after.folder, after.manifest)
    assert [path.suffix for path in (after.folder / LEXICAL).glob("*.del")] == [".del"]
    for question, rows in (("word10", []), ("word59", []), ("plasma", [10]), ("word11", [11]), ("word56", [56])):
        assert found(index, question) == rows
    assert found(index, "common") == [row for row in range(57) if row != 10]
    again, table = write(tmp_path / "3", TEXTS, base=after)
    assert found(LexicalIndex(again.folder, again.manifest), "word10") == [10]
    assert found(LexicalIndex(again.folder, again.manifest), "plasma") == []


def test_where_much_went_all_begins_anew_so_that_frequencies_are_true(tmp_path, incremental):
    base, _ = write(tmp_path / "1", TEXTS)
    after, table = write(tmp_path / "2", TEXTS[:50], base=base)
    fresh = index_of(tmp_path / "3", TEXTS[:50])
    assert sorted(table.read) == list(range(50))
    index = LexicalIndex(after.folder, after.manifest)
    for question in ("common", "word1 number3"):
        np.testing.assert_array_equal(index.top(index.parse(question), 9).scores,
                                      fresh.top(fresh.parse(question), 9).scores)


def test_a_small_index_never_counts_what_went(tmp_path):
    base, _ = write(tmp_path / "1", TEXTS)
    after, table = write(tmp_path / "2", TEXTS[:-1], base=base)
    assert len(table.read) == 59
    assert not list((after.folder / LEXICAL).glob("*.del"))


def test_many_small_additions_keep_the_files_few(tmp_path):
    base, _ = write(tmp_path / "0", TEXTS[:1])
    most = 0
    for count in range(2, 40):
        base, table = write(tmp_path / str(count), TEXTS[:count], base=base)
        assert table.read == [count - 1] or count <= 3
        most = max(most, len(lexical_names(base.manifest)))
    assert most <= 8 * 6 + 1
    index = LexicalIndex(base.folder, base.manifest)
    assert found(index, "common") == list(range(39))


def test_another_language_reads_all_again(tmp_path):
    base, _ = write(tmp_path / "1", ["die Häuser", "ein Haus"])
    after, table = write(tmp_path / "2", ["die Häuser", "ein Haus"], "german", base=base)
    assert table.read == [0, 1]
    assert found(LexicalIndex(after.folder, after.manifest), "Hauses") == [0, 1]
    assert found(LexicalIndex(base.folder, base.manifest), "Hauses") == [1]


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:-3] + bytes([b[-3] ^ 1]) + b[-2:], lambda b: b""])
def test_damage_of_any_file_is_named_and_the_next_generation_is_whole(tmp_path, damage):
    base, _ = write(tmp_path / "generations" / "1", TEXTS)
    for number, name in enumerate(base.manifest.files):
        path = base.path(name)
        whole = path.read_bytes()
        if not whole:
            continue
        path.unlink()
        path.write_bytes(damage(whole))
        with pytest.raises(IndexDamaged, match=path.name) as caught:
            LexicalIndex(base.folder, base.manifest)
        assert "semsearch reindex" in caught.value.way_out
        after, table = write(tmp_path / f"after {number}", TEXTS, base=base)
        assert len(table.read) == 60
        assert found(LexicalIndex(after.folder, after.manifest), "word7") == [7]
        path.write_bytes(whole)


def test_searching_writes_nothing_and_needs_no_folder_of_its_own(tmp_path):
    base, _ = write(tmp_path / "1", TEXTS)
    before = sorted(os.listdir(base.folder / LEXICAL))
    base.folder.joinpath(LEXICAL).chmod(0o555)
    index = LexicalIndex(base.folder, base.manifest)
    assert found(index, "word7") == [7]
    assert sorted(os.listdir(base.folder / LEXICAL)) == before
    base.folder.joinpath(LEXICAL).chmod(0o755)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("An IO error occurred: 'No space left on device (os error 28)'", DiskFull),
        ("An error occurred in a thread: 'An index writer was killed.. A worker thread'", DiskFull),
        ("Internal error: 'Permission denied (os error 13)'", PermissionError),
        ("Schema error", ValueError),
    ],
)
def test_errors_of_the_system_are_told_as_what_they_are(tmp_path, monkeypatch, said, meant):
    class Failing:
        def __init__(self, *arguments: object, **named: object) -> None:
            raise ValueError(said)

    monkeypatch.setattr(lexical_writer.tantivy, "Index", Failing)
    with pytest.raises(meant):
        write(tmp_path / "1", TEXTS)


@pytest.mark.skipif(os.name == "nt", reason="this system has no limit on the size of files")
@pytest.mark.parametrize("limit_bytes", [0, 300, 700, 5_000])
def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path, limit_bytes):
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from lexical_made import write\n"
        "from semsearch.errors import DiskFull\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes}, {limit_bytes}))\n"
        "try:\n"
        f"    write(Path({str(tmp_path / '1')!r}), [f'common w{{i}} v{{i}} u{{i}}' for i in range(500)])\n"
        "except DiskFull:\n"
        "    raise SystemExit(7)\n"
    )
    tests = Path(lexical_made.__file__).resolve().parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests.parent), str(tests)])},
    )
    assert (done.returncode, done.stderr) == (7, "")


def test_a_build_publishes_words_with_the_rest(tmp_path):
    source, index = write_jsonl(tmp_path / "papers.jsonl", records(20)), tmp_path / "index"
    run_build([source], index)
    with IndexReader(index) as reader:
        row = reader.papers.find("p7")
        assert reader.lexical.top(reader.lexical.parse('"Study 17" "of"'), 3).rows.tolist() == [17]
        assert row in reader.lexical.top(reader.lexical.parse("finding study"), 20).rows
        assert {Path(name).suffix for name in lexical_names(reader.manifest)} >= {".idx", ".term", ".json"}
    assert verify(index).problems == verify(index).notes == ()
    assert (describe(index).language, describe(index).distinct_texts) == ("english", 20)


def test_the_language_of_an_index_stays_until_another_is_asked_for(tmp_path):
    source, index = write_jsonl(tmp_path / "papers.jsonl", records(5)), tmp_path / "index"
    provider = FakeProvider()
    run_build([source], index, provider, language="german")
    write_jsonl(source, records(6))
    run_build([source], index, provider)
    assert describe(index).language == "german"
    summary = run_build([source], index, provider, language="none")
    assert (summary.encoded, summary.published, describe(index).language) == (0, True, "none")
    assert run_build([source], index, provider, language="none").published is False
    summary = reindex_index(index, ReindexOptions(language="french"), provider=provider)
    assert (summary.encoded, describe(index).language) == (0, "french")
    run_build([source], index, provider, rebuild=True)
    assert describe(index).language == "french"
    for refused in (lambda: run_build([source], index, language="klingon"),
                    lambda: reindex_index(index, ReindexOptions(language="English"))):
        with pytest.raises(UsageError, match="language"):
            refused()


def test_another_factory_links_the_words(tmp_path):
    source, index = write_jsonl(tmp_path / "papers.jsonl", records(40)), tmp_path / "index"
    run_build([source], index)
    with IndexReader(index):  # keeps the generation
        before = inodes(generation_folder(index))
        reindex_index(index, ReindexOptions(factory="HNSW8"), provider=FakeProvider())
        assert inodes(generation_folder(index)) == before


def test_reindex_mends_damaged_words(tmp_path):
    source, index = write_jsonl(tmp_path / "papers.jsonl", records(20)), tmp_path / "index"
    run_build([source], index)
    for name in os.listdir(generation_folder(index) / LEXICAL):
        path = generation_folder(index) / LEXICAL / name
        if not path.exists() or not path.stat().st_size:
            continue
        path.unlink()
        with pytest.raises(IndexDamaged, match=r"reindex --home \S+ index"):
            IndexReader(index)
        assert reindex_index(index, provider=FakeProvider()).encoded == 0
        assert verify(index).problems == ()
