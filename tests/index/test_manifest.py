"""The manifest: written and read back, and what is told about files that are not what was written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from fakes import FakeEncoder

from semsearch.encoding import EncoderRequest
from semsearch.errors import IndexDamaged, IndexFormatUnsupported
from semsearch.index.manifest import FORMAT, Manifest, Segment, check_files, describe_file, parse


@pytest.fixture
def manifest(tmp_path) -> Manifest:
    for name, content in (("a", b"x" * 1000), ("b", b""), ("c", b"short")):
        (tmp_path / name).write_bytes(content)
    return Manifest(
        generation=3,
        created="2025-01-01T00:00:00+00:00",
        semsearch_version="1",
        papers=5,
        vectors=4,
        encoder=FakeEncoder(EncoderRequest()).identity,
        factory="Flat",
        search_parameters={"nprobe": 4},
        recall_at_10=0.5,
        files={name: describe_file(tmp_path / name) for name in "abc"},
        notes={"factory_asked": "auto", "deletions": ["é"]},
        segments=(Segment("vectors.npy", 3), Segment("vectors-2.npy", 1)),
    )


def test_it_is_read_as_it_was_written(manifest, tmp_path):
    assert parse(manifest.to_json(), tmp_path / "manifest.json") == manifest
    entry = manifest.files["a"]
    assert (entry.size_bytes, entry.sha256) == (1000, hashlib.sha256(b"x" * 1000).hexdigest())
    assert entry.head_sha256 == hashlib.sha256(b"x" * 256).hexdigest()


def test_vectors_of_the_format_before_are_one_segment(manifest, tmp_path):
    document = json.loads(manifest.to_json())
    for name in ("segments", "indexed_vectors", "min_recall", "skeleton_bytes", "skeleton_sha256"):
        del document[name]
    document["format"] = 1
    read = parse(json.dumps(document).encode(), tmp_path / "manifest.json", outdated=True)
    assert (read.segments, read.indexed_vectors) == ((Segment("vectors.npy", 4),), 0)
    document["files"]["index.faiss"] = document["files"]["a"]
    read = parse(json.dumps(document).encode(), tmp_path / "manifest.json", outdated=True)
    assert (read.indexed_vectors, read.min_recall) == (4, 0.95)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b"1",
        b'{"format": 2}',
        b'{"format": 2, "encoder": 5}',
        b'{"format": 2, "encoder": {}, "files": {"a": {}}}',
    ],
)
def test_what_is_no_manifest_is_damage(content, tmp_path):
    with pytest.raises(IndexDamaged, match=r"manifest\.json"):
        parse(content, tmp_path / "manifest.json")


@pytest.mark.parametrize(
    "number, way_out",
    [
        (FORMAT + 1, "Update semsearch"),
        (1, "semsearch reindex --home"),
        (0, "build --rebuild"),
        ("x", "build --rebuild"),
        ([], "build --rebuild"),
    ],
)
def test_another_format_is_told_apart(manifest, tmp_path, number, way_out):
    document = {**json.loads(manifest.to_json()), "format": number}
    with pytest.raises(IndexFormatUnsupported, match="has format ") as caught:
        parse(json.dumps(document).encode(), tmp_path / "manifest.json")
    assert f"format {number}; " in caught.value.message
    assert way_out in caught.value.way_out


def test_the_format_before_is_read_by_whoever_brings_it_up_to_date(manifest, tmp_path):
    document = {**json.loads(manifest.to_json()), "format": 1}
    del document["language"]
    old = parse(json.dumps(document).encode(), tmp_path / "manifest.json", outdated=True)
    assert (old.format, old.language, old.papers) == (1, "english", 5)
    with pytest.raises(IndexFormatUnsupported, match="format 0"):
        parse(json.dumps({**document, "format": 0}).encode(), tmp_path / "manifest.json", outdated=True)


def test_files_in_folders_are_checked_and_words_only_where_they_count(manifest, tmp_path):
    (tmp_path / "generations" / "3" / "lexical").mkdir(parents=True)
    folder = tmp_path / "generations" / "3"
    (folder / "lexical" / "meta.json").write_bytes(b"words")
    held = replace(manifest, files={"lexical/meta.json": describe_file(folder / "lexical" / "meta.json")})
    check_files(folder, held)
    (folder / "lexical" / "meta.json").write_bytes(b"word")
    with pytest.raises(IndexDamaged, match=r"meta\.json has 4 bytes") as caught:
        check_files(folder, held)
    assert caught.value.way_out.endswith(f"semsearch reindex --home {tmp_path.parent} {tmp_path.name}")
    check_files(folder, held, lexical=False)


def test_files_are_checked_by_size_and_beginning(manifest, tmp_path):
    check_files(tmp_path, manifest)
    path = tmp_path / "a"
    for content, reason in (
        (b"x" * 999, "has 999 bytes where 1,000 were written"),
        (b"y" + b"x" * 999, "does not begin"),
        (b"x" * 255 + b"y" + b"x" * 744, "does not begin"),
    ):
        path.write_bytes(content)
        with pytest.raises(IndexDamaged, match=reason) as caught:
            check_files(tmp_path, manifest)
        assert str(path) in caught.value.message and "--rebuild" in caught.value.way_out
    path.write_bytes(b"x" * 256 + b"y" * 744)
    check_files(tmp_path, manifest)
    path.unlink()
    with pytest.raises(IndexDamaged, match="is missing"):
        check_files(tmp_path, manifest)
