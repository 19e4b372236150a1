"""Publishing, opening and pruning generations."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes import FakeEncoder

from semsearch.encoding import EncoderRequest
from semsearch.errors import IndexChanged, IndexDamaged, IndexFormatUnsupported, IndexNotFound
from semsearch.index import generations
from semsearch.index.generations import (
    index_names,
    open_current,
    prune,
    publish,
    read_manifest,
    read_pointer,
    staging,
    take_over,
)
from semsearch.index.manifest import FileEntry, Manifest


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def describe(generation: int, files: dict[str, FileEntry]) -> Manifest:
    return Manifest(
        generation=generation,
        created="",
        semsearch_version="",
        encoder=FakeEncoder(EncoderRequest()).identity,
        papers=0,
        vectors=0,
        factory="Flat",
        search_parameters={},
        recall_at_10=None,
        files=files,
    )


def put(index: Path, content: str = "x", base=None) -> Manifest:
    with staging(index) as folder:
        (folder / "file").write_text(content)
        return publish(index, folder, base, describe)


def numbers(index: Path) -> list[str]:
    return sorted(p.name for p in (index / "generations").iterdir())


def test_generations_are_numbered_and_the_last_is_current(index):
    assert read_pointer(index) is None
    with pytest.raises(IndexNotFound, match="has not finished"):
        open_current(index)
    for number in (1, 2, 3):
        assert put(index, f"content {number}").generation == number
        generation = open_current(index)
        assert generation.path("file").read_text() == f"content {number}"
        assert generation.manifest == read_manifest(index)
        generation.close()
    assert numbers(index) == ["1", "2", "3"]
    assert (prune(index), numbers(index), prune(index)) == ([1, 2], ["3"], [])


def test_a_published_file_that_did_not_change_is_the_same_file(index):
    put(index, "kept")
    base = open_current(index)
    with staging(index) as folder:
        take_over(base, "file", folder)
        manifest = publish(index, folder, base, describe)
    assert manifest.files == base.manifest.files
    assert os.path.samefile(index / "generations" / "1" / "file", index / "generations" / "2" / "file")
    base.close()


def test_where_there_are_no_hard_links_a_damaged_file_is_not_copied_into_a_sound_one(index, monkeypatch):
    put(index, "kept")
    base = open_current(index)
    monkeypatch.setattr(os, "link", refuse_links)
    with staging(index) as folder:
        take_over(base, "file", folder)
        assert (folder / "file").read_bytes() == base.path("file").read_bytes()
        content = bytearray(base.path("file").read_bytes())
        content[-1] ^= 1
        base.path("file").write_bytes(content)
        with pytest.raises(IndexDamaged, match="checksum"):
            take_over(base, "file", folder)
    base.close()


def refuse_links(source, target):
    raise OSError("no hard links here")


def test_what_is_read_is_not_pruned(index):
    put(index)
    readers = [open_current(index), open_current(index)]
    put(index)
    assert prune(index) == []
    readers[0].close()
    assert prune(index) == []
    assert readers[1].path("file").read_text() == "x"
    readers[1].close()
    assert prune(index) == [1]


def test_a_generation_after_the_current_one_is_not_pruned_until_it_lies_behind(index):
    put(index)
    (index / "generations" / "7").mkdir()
    assert (prune(index), numbers(index)) == ([], ["1", "7"])
    assert put(index).generation == 8
    assert (prune(index), numbers(index)) == ([1, 7], ["8"])


def test_publishing_on_a_base_that_is_no_longer_current_changes_nothing(index):
    put(index, "first")
    base = open_current(index)
    put(index, "second", base)
    with pytest.raises(IndexChanged):
        put(index, "third", base)
    base.close()
    generation = open_current(index)
    assert (generation.path("file").read_text(), numbers(index)) == ("second", ["1", "2"])
    generation.close()


def test_staging_leaves_nothing_and_removes_what_crashes_left(index):
    for name in (".staging-1", ".pruned-1-2"):
        (index / "generations" / name).mkdir(parents=True)
        (index / "generations" / name / "file").write_text("x")
    with pytest.raises(ValueError), staging(index) as folder:
        assert [p.name for p in (index / "generations").iterdir()] == [folder.name]
        (folder / "file").write_text("x")
        raise ValueError
    assert numbers(index) == []


def test_a_crash_before_the_first_generation_was_pointed_to_is_no_damage(index, monkeypatch):
    write = generations.write_atomically

    def die_at_the_pointer(path: Path, content: bytes) -> None:
        if path.name == "CURRENT" and content != b"0\n":
            raise KeyboardInterrupt
        write(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(generations, "write_atomically", die_at_the_pointer)
        with pytest.raises(KeyboardInterrupt):
            put(index)
    assert numbers(index) == ["1"]
    with pytest.raises(IndexNotFound, match="has not finished"):
        open_current(index)
    assert put(index).generation == 2
    assert prune(index) == [1]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "1",
        "x y",
        "1 2",
        "-1 " + "0" * 64,
        "01 " + "0" * 64 + "\n",
        "1 " + "0" * 64,
        "9" * 5000 + " " + "0" * 64 + "\n",
        "1 " + "g" * 64 + "\n",
    ],
)
def test_a_pointer_that_points_nowhere_is_damage(index, content):
    put(index)
    (index / "CURRENT").write_text(content)
    for look in (open_current, read_manifest, read_pointer):
        with pytest.raises(IndexDamaged, match="CURRENT"):
            look(index)


def test_a_missing_pointer_is_damage_and_a_missing_index_is_none(index):
    put(index)
    (index / "CURRENT").unlink()
    with pytest.raises(IndexDamaged, match="CURRENT is missing"):
        open_current(index)
    with pytest.raises(IndexNotFound, match=r"'other'.*There: index"):
        open_current(index.parent / "other")
    assert (index_names(index.parent), index_names(index.parent / "nowhere")) == (["index"], [])


def test_a_pointer_to_another_manifest_is_damage(index):
    put(index)
    sha256 = read_pointer(index).manifest_sha256
    (index / "CURRENT").write_text(f"2 {sha256}\n")
    with pytest.raises(IndexDamaged, match=r"2/manifest\.json is missing.*CURRENT"):
        open_current(index)
    (index / "CURRENT").write_text(f"1 {'0' * 64}\n")
    with pytest.raises(IndexDamaged, match="not the manifest that CURRENT names"):
        open_current(index)


def test_another_format_is_said_to_be_one(index):
    with staging(index) as folder:
        publish(
            index,
            folder,
            None,
            lambda generation, files: Manifest(
                **{
                    **{name: getattr(describe(generation, files), name) for name in Manifest.__dataclass_fields__},
                    "format": 99,
                }
            ),
        )
    with pytest.raises(IndexFormatUnsupported, match="format 99"):
        open_current(index)


def test_a_checked_path_is_checked_to_the_last_byte(index):
    put(index, "x" * 1000)
    generation = open_current(index)
    assert generation.checked_path("file").read_text() == "x" * 1000
    generation.path("file").write_text("x" * 999 + "y")
    with pytest.raises(IndexDamaged, match="checksum"):
        generation.checked_path("file")
    generation.close()
    open_current(index).close()
