"""Members of ZIP archives are read as files of their own."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import struct
import sys
import zipfile
from pathlib import Path

import pytest

from semsearch.errors import SemsearchError, UnknownFormat, UnreadableArchive
from semsearch.readers import Located, Rejected, SourceFile, SourceReader, expand_sources, read_file_sha256
from semsearch.readers.archives import MEMBER_MARK, members_of
from semsearch.readers.compression import Damaged
from semsearch.readers.source_reader import DAMAGED
from semsearch.reading import read_library

RECORD = b'{"id": "a1", "title": "Graphs", "abstract": "We study graphs."}\n'
BIBTEX = b"@article{lee2020,\n  title = {Trees},\n  author = {Lee, Ann},\n}\n"
LINES = b"".join(b'{"id": %d, "title": "Paper number %d"}\n' % (n, n * 7919) for n in range(8000))
ENCRYPTED_BIT = 1


def archive_of(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def names(*sources: Path) -> list[str]:
    return [file.name for file in expand_sources(sources)]


def changed_in_directory(data: bytes, place: int, layout: str, value: int) -> bytes:
    """Return an archive whose list of contents says something else of its first member."""
    start = data.index(b"PK\x01\x02") + place
    return data[:start] + struct.pack(layout, value) + data[start + struct.calcsize(layout):]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_members_are_files_of_their_own(tmp_path: Path, method: int) -> None:
    path = archive_of(tmp_path / "library.zip", {"b/deep/trees.bib": BIBTEX, "a.jsonl": LINES, "b/": b""}, method)
    first, second = expand_sources([path])
    assert first.name == f"{path}/a.jsonl"
    assert first.path == f"{path}!/a.jsonl"
    assert second.path == f"{path}!/b/deep/trees.bib"
    assert first.in_folder
    assert first.size_bytes == len(LINES)
    reader = SourceReader(first)
    items = list(reader)
    assert len(items) == 8000
    assert isinstance(items[-1], Located)
    assert items[-1].paper.title == f"Paper number {7999 * 7919}"
    assert reader.sha256 == read_file_sha256(first) == hashlib.sha256(LINES).hexdigest()
    assert reader.bytes_read == reader.size_bytes == len(LINES)
    [item] = SourceReader(second)
    assert isinstance(item, Located)
    assert (item.paper.id, item.paper.title) == ("lee2020", "Trees")


def test_archives_in_folders_and_compressed_members(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    archive_of(tmp_path / "in" / "papers.zip", {"x.jsonl.gz": gzip.compress(RECORD)})
    (tmp_path / "in" / "z.jsonl").write_bytes(RECORD)
    files = expand_sources([tmp_path])
    assert [os.path.relpath(f.path, tmp_path) for f in files] == ["in/papers.zip!/x.jsonl.gz", "in/z.jsonl"]
    [item] = SourceReader(files[0])
    assert isinstance(item, Located)
    assert item.paper.id == "a1"


def test_an_archive_is_known_by_its_content(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "library", {"x.jsonl": RECORD})
    assert names(path) == [f"{path}/x.jsonl"]
    text = tmp_path / "text.zip"
    text.write_bytes(RECORD)
    assert names(text) == [str(text)]


def test_what_holds_no_papers_is_left_out(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.zip", {
        name: RECORD for name in (
            "__MACOSX/._x.jsonl", ".hidden.jsonl", ".git/x.jsonl", "in/.hidden/x.jsonl", "README.md", "LICENSE",
            "f.png", "x.jsonl", "beir/corpus.jsonl", "beir/queries.jsonl", "beir/qrels/test.tsv", "other/queries.jsonl",
            "other/qrels/test.tsv")})
    assert [name.removeprefix(f"{path}/") for name in names(path)] == [
        "beir/corpus.jsonl", "other/qrels/test.tsv", "other/queries.jsonl", "x.jsonl"]
    flat = archive_of(tmp_path / "flat.zip", {
        name: RECORD for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "in/queries.jsonl")})
    assert [name.removeprefix(f"{flat}/") for name in names(flat)] == ["corpus.jsonl", "in/queries.jsonl"]


def test_a_name_may_come_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.jsonl", RECORD)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("x.jsonl", RECORD + RECORD)
    assert [file.path.partition(MEMBER_MARK)[2] for file in expand_sources([path])] == ["x.jsonl", "x.jsonl (2)"]
    assert [len(list(SourceReader(file))) for file in expand_sources([path])] == [1, 2]


def test_names_in_utf8_that_do_not_say_so(tmp_path: Path) -> None:
    name = "über 论文.jsonl"
    stand_in = "u" * len(name.encode())
    path = archive_of(tmp_path / "a.zip", {stand_in: RECORD})
    path.write_bytes(path.read_bytes().replace(stand_in.encode(), name.encode()))
    assert names(path) == [f"{path}/{name}"]
    assert len(list(SourceReader(expand_sources([path])[0]))) == 1


@pytest.mark.parametrize(
    ("mark", "part", "title"),
    [
        ("[Content_Types].xml", "word/document.xml", "a Word document"),
        ("[Content_Types].xml", "xl/workbook.xml", "an Excel workbook"),
        ("[Content_Types].xml", "ppt/presentation.xml", "a PowerPoint presentation"),
        ("META-INF/MANIFEST.MF", "Main.class", "a Java archive"),
    ],
)
def test_documents_are_not_taken_apart(tmp_path: Path, mark: str, part: str, title: str) -> None:
    path = archive_of(tmp_path / "x.zip", {mark: b"<x/>", part: RECORD})
    [file] = expand_sources([path])
    with pytest.raises(UnknownFormat, match=f"looks like {title}"):
        SourceReader(file)


@pytest.mark.parametrize(
    ("kind", "title"),
    [(b"application/vnd.oasis.opendocument.text", "an OpenDocument file"), (b"application/epub+zip", "an EPUB book")],
)
def test_documents_that_name_their_kind(tmp_path: Path, kind: bytes, title: str) -> None:
    path = archive_of(tmp_path / "x", {"mimetype": kind, "content.xml": b"<x/>"}, zipfile.ZIP_STORED)
    with pytest.raises(UnknownFormat, match=f"looks like {title}"):
        SourceReader(expand_sources([path])[0])


def test_an_encrypted_member_is_refused_and_the_others_read(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.zip", {"a.jsonl": RECORD, "b.jsonl": RECORD})
    path.write_bytes(changed_in_directory(path.read_bytes(), 8, "<H", ENCRYPTED_BIT))
    secret, plain = expand_sources([path])
    with pytest.raises(UnreadableArchive, match=r"a\.zip/a\.jsonl is encrypted"):
        SourceReader(secret)
    assert len(list(SourceReader(plain))) == 1
    with read_library([path]) as library:
        assert len(library) == 1
        assert library.refused == {f"{path}/a.jsonl": f"{path}/a.jsonl is encrypted."}


def test_an_unknown_method_is_refused(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.zip", {"a.jsonl": RECORD}, zipfile.ZIP_LZMA)
    with pytest.raises(UnreadableArchive, match="packed by a method"):
        SourceReader(expand_sources([path])[0])


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.zip", {"bomb.txt": b"\n" * (65 * 1024 * 1024), "small.txt": b" " * 1_000_000})
    bomb, small = expand_sources([path])
    with pytest.raises(UnreadableArchive, match="more than 200 times its size"):
        SourceReader(bomb)
    assert list(SourceReader(small)) == []


def test_members_that_overlap_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.jsonl", RECORD * 100)
        for number in range(5):
            copy = zipfile.ZipInfo(f"{number}.jsonl")
            for name in ("CRC", "compress_size", "file_size", "header_offset", "compress_type"):
                setattr(copy, name, getattr(archive.infolist()[0], name))
            archive.filelist.append(copy)
    with pytest.raises(Damaged, match="overlap"):
        members_of(str(path))
    with pytest.raises(UnreadableArchive, match="overlap"):
        SourceReader(expand_sources([path])[0])


def test_a_lie_about_the_size_ends_the_member(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.zip", {"a.jsonl": LINES})
    path.write_bytes(changed_in_directory(path.read_bytes(), 24, "<L", 100_000))
    items = list(SourceReader(expand_sources([path])[0]))
    assert isinstance(items[-1], Rejected)
    assert items[-1].reason == DAMAGED
    assert 1000 < len(items) < 4000


def test_a_damaged_member_gives_what_came_before(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.zip", {"a.jsonl": LINES, "b.jsonl": RECORD}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[len(LINES) // 2] ^= 1
    path.write_bytes(data)
    damaged, sound = expand_sources([path])
    reader = SourceReader(damaged)
    items = list(reader)
    assert len(items) == 8001  # stored: all is there, but the checksum is wrong
    assert items[-1] == Rejected(8001, DAMAGED)
    assert reader.sha256 == read_file_sha256(damaged)
    assert len(list(SourceReader(sound))) == 1


def test_a_damaged_packed_member_gives_what_came_before(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.zip", {"a.jsonl": LINES})
    data = bytearray(path.read_bytes())
    data[len(data) // 2:len(data) // 2 + 8] = bytes(8)
    path.write_bytes(data)
    [damaged] = expand_sources([path])
    reader = SourceReader(damaged)
    items = list(reader)
    assert items[-1].reason == DAMAGED if isinstance(items[-1], Rejected) else False
    assert 2000 < len(items) < 8001
    assert reader.sha256 == read_file_sha256(damaged)


def test_an_archive_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "a.zip", {"a.jsonl": LINES})
    path.write_bytes(path.read_bytes()[:-40])
    [file] = expand_sources([path])
    with pytest.raises(UnreadableArchive, match="damaged ZIP archive"):
        SourceReader(file)
    (tmp_path / "b.jsonl").write_bytes(RECORD)
    with read_library([tmp_path]) as library:
        assert len(library) == 1
        assert list(library.refused) == [str(path)]


def test_an_archive_from_a_pipe_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive_of(tmp_path / "a.zip", {"a.jsonl": RECORD}).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(UnknownFormat, match="a ZIP archive inside another file or from a pipe"):
        SourceReader(SourceFile("-", "standard input"))


def test_an_archive_in_an_archive_is_refused_by_name(tmp_path: Path) -> None:
    inner = archive_of(tmp_path / "in.zip", {"a.jsonl": RECORD}).read_bytes()
    path = archive_of(tmp_path / "out.zip", {"in.zip": inner})
    with read_library([path]) as library:
        assert list(library.refused) == [f"{path}/in.zip"]


def test_damage_raises_nothing_but_what_users_are_told(tmp_path: Path) -> None:
    members = {"a.jsonl": LINES[:3000], "in/b.bib": BIBTEX, "c.gz": gzip.compress(RECORD)}
    sound = [archive_of(tmp_path / "a.zip", members, method).read_bytes()
             for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)]
    for seed in range(1000):
        chance = random.Random(seed)
        data = bytearray(chance.choice(sound))
        directory = data.index(b"PK\x01\x02")
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(chance.choice([0, directory]), len(data))] = chance.randrange(256)
        if chance.random() < 0.2:
            data = data[:chance.randrange(len(data))]
        (tmp_path / "a.zip").write_bytes(data)
        for file in expand_sources([tmp_path / "a.zip"]):
            try:
                for item in SourceReader(file):
                    assert isinstance(item, Located | Rejected)
            except SemsearchError as error:
                assert error.message
