"""Paths to files; bytes counted, hashed and decompressed."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from semsearch.errors import InputError, SourceNotFound, UnknownFormat
from semsearch.readers import Located, Rejected, SourceFile, SourceReader, expand_sources, read_file_sha256
from semsearch.readers.compression import SourceStream
from semsearch.readers.source_reader import DAMAGED

LINES = "".join(f'{{"id": {n}, "title": "Paper {n} on {n * 7919 % 1000}"}}\n' for n in range(4000)).encode()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstd,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def names(folder: Path, *sources: str | Path) -> list[str]:
    return [os.path.relpath(file.path, folder) for file in expand_sources(sources)]


def make(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x\n")


def read_all(path: Path) -> tuple[SourceReader, list[Located], list[Rejected]]:
    reader = SourceReader(SourceFile(str(path), path.name))
    items = list(reader)
    return reader, [i for i in items if isinstance(i, Located)], [i for i in items if isinstance(i, Rejected)]


def test_a_folder_is_walked_in_sorted_order(tmp_path: Path) -> None:
    make(tmp_path, "b.txt", "a/z.jsonl", "a/b.csv", "c.txt")
    assert names(tmp_path, tmp_path) == ["a/b.csv", "a/z.jsonl", "b.txt", "c.txt"]
    assert all(file.in_folder for file in expand_sources([tmp_path]))


def test_what_holds_no_papers_is_left_out_of_a_folder(tmp_path: Path) -> None:
    make(
        tmp_path,
        ".hidden",
        ".git/config",
        "README.md",
        "readme.txt",
        "LICENSE",
        "LICENSE-upstream.md",
        "fig.PNG",
        "paper.pdf",
        "run.py",
        "papers.txt",
        "papers.jsonl.gz",
        "readmission.csv",
    )
    # A PDF may be a paper: it is not read, and that is said.
    assert names(tmp_path, tmp_path) == ["paper.pdf", "papers.jsonl.gz", "papers.txt", "readmission.csv"]


def test_a_file_named_outright_is_always_taken(tmp_path: Path) -> None:
    make(tmp_path, "README.md")
    (file,) = expand_sources([tmp_path / "README.md"])
    assert file == SourceFile(os.path.realpath(tmp_path / "README.md"), str(tmp_path / "README.md"), in_folder=False)


def test_the_queries_beside_a_beir_corpus_are_no_papers(tmp_path: Path) -> None:
    make(tmp_path, "set/corpus.jsonl", "set/queries.jsonl", "set/qrels/test.tsv", "other/queries.jsonl")
    assert names(tmp_path, tmp_path) == ["other/queries.jsonl", "set/corpus.jsonl"]


def test_a_file_comes_once_however_often_it_is_named(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "b.txt")
    os.symlink(tmp_path / "a.txt", tmp_path / "c.txt")
    files = expand_sources([tmp_path, tmp_path / "b.txt", str(tmp_path / "a.txt")])
    assert [os.path.basename(file.path) for file in files] == ["a.txt", "b.txt"]
    assert [file.in_folder for file in files] == [False, False]


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    make(tmp_path, "in/a.txt")
    os.symlink(tmp_path, tmp_path / "in" / "loop")
    assert names(tmp_path, tmp_path) == ["in/a.txt"]


def test_a_missing_path_is_named_with_a_near_one(tmp_path: Path) -> None:
    make(tmp_path, "papers.jsonl")
    with pytest.raises(SourceNotFound, match=r"paperz\.jsonl") as caught:
        expand_sources([tmp_path / "paperz.jsonl"])
    assert "Did you mean" in caught.value.way_out
    assert "papers.jsonl" in caught.value.way_out


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound) as caught:
        expand_sources([tmp_path / "none" / "papers.jsonl"])
    assert f"{str(tmp_path / 'none')!r} is not there either" in caught.value.way_out


def test_standard_input_is_a_dash() -> None:
    assert expand_sources(["-"]) == [SourceFile("-", "standard input")]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(b'{"title": "A"}\n'))

    monkeypatch.setattr("sys.stdin", Stdin)
    reader = SourceReader(SourceFile("-", "standard input"))
    assert [item.paper.title for item in reader if isinstance(item, Located)] == ["A"]
    assert reader.size_bytes is None
    assert reader.bytes_read == len(Stdin.buffer.getvalue())
    assert not Stdin.buffer.closed


def test_hash_and_size_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "papers.jsonl.gz"
    path.write_bytes(gzip.compress(LINES))
    reader, papers, rejected = read_all(path)
    assert (len(papers), rejected) == (4000, [])
    assert reader.sha256 == hashlib.sha256(path.read_bytes()).hexdigest() == read_file_sha256(path)
    assert reader.bytes_read == reader.size_bytes == path.stat().st_size


def test_the_hash_of_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound):
        read_file_sha256(tmp_path / "none")


def test_a_reader_is_iterated_once(tmp_path: Path) -> None:
    make(tmp_path, "a.txt")
    reader = SourceReader(expand_sources([tmp_path / "a.txt"])[0])
    list(reader)
    with pytest.raises(RuntimeError):
        iter(reader)


def test_a_file_that_has_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match="gone"):
        SourceReader(SourceFile(str(tmp_path / "gone"), "gone"))


def test_a_disk_that_gives_up_is_an_error_with_the_name() -> None:
    class Failing(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object) -> int:
            raise OSError(5, "Input/output error")

    stream = SourceStream(io.BufferedReader(Failing()), "papers.jsonl")
    with pytest.raises(InputError, match=r"papers\.jsonl cannot be read any further: Input/output error"):
        stream.head(10)


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compression_is_found_by_content(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "papers.jsonl"
    path.write_bytes(COMPRESSORS[kind](LINES))
    _, papers, rejected = read_all(path)
    assert (len(papers), rejected) == (4000, [])
    assert papers[-1].paper.title == f"Paper 3999 on {3999 * 7919 % 1000}"
    assert papers[-1].line == 4000


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_several_compressed_streams_in_one_file_are_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "papers.jsonl"
    path.write_bytes(COMPRESSORS[kind](b'{"title": "A"}\n') + COMPRESSORS[kind](b'{"title": "B"}\n'))
    _, papers, rejected = read_all(path)
    assert [item.paper.title for item in papers] == ["A", "B"]
    assert rejected == []


@pytest.mark.parametrize("kind", COMPRESSORS)
@pytest.mark.parametrize("keep", [0.3, 0.7, 0.999])
def test_a_cut_stream_gives_what_came_before_and_one_reject(tmp_path: Path, kind: str, keep: float) -> None:
    path = tmp_path / "papers.jsonl"
    whole = COMPRESSORS[kind](LINES)
    path.write_bytes(whole[: int(len(whole) * keep)])
    reader, papers, rejected = read_all(path)
    assert [item.paper.id for item in papers] == [str(n) for n in range(len(papers))]
    assert [(item.reason, item.line) for item in rejected] == [(DAMAGED, len(papers) + 1)]
    if kind in ("gzip", "xz") and keep > 0.3:
        assert len(papers) > 4000 * keep * 0.5
    assert reader.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_a_damaged_stream_gives_one_reject_for_the_damage(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "papers.jsonl"
    data = bytearray(COMPRESSORS[kind](LINES))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xa5" * 40
    path.write_bytes(data)
    try:
        reader, _, rejected = read_all(path)
    except UnknownFormat:
        assert kind == "bzip2"  # it checks a block of 900 kB at its end only: what it gave before may be anything
        return
    assert [item.reason for item in rejected].count(DAMAGED) == 1
    assert reader.sha256 == hashlib.sha256(data).hexdigest()


def test_a_paragraph_cut_in_two_is_no_paper(tmp_path: Path) -> None:
    text = "".join(
        f"We study the problem number {n} in depth.\nWe find {n * 7919 % 1000}.\n\n" for n in range(3000)
    ).encode()
    path = tmp_path / "list.txt.gz"
    whole = gzip.compress(text)
    path.write_bytes(whole[: len(whole) // 2])
    _, papers, rejected = read_all(path)
    assert [item.reason for item in rejected] == [DAMAGED]
    assert len(papers) > 500
    n = len(papers) - 1
    assert papers[-1].paper.abstract == f"We study the problem number {n} in depth. We find {n * 7919 % 1000}."


def test_a_highly_compressed_file_is_read_in_pieces() -> None:
    for compress in COMPRESSORS.values():
        stream = SourceStream(io.BytesIO(compress(bytes(64 * 1024 * 1024))), "zeros")
        assert len(stream.head(1000)) == 1000
        assert len(stream._pending) <= 32 * 1024 * 1024


def test_a_damaged_beginning_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "papers.jsonl.gz"
    path.write_bytes(gzip.compress(LINES)[:12])
    _, papers, rejected = read_all(path)
    assert papers == []
    assert [item.reason for item in rejected] == [DAMAGED]


def test_a_tar_archive_inside_gzip_is_refused_by_name(tmp_path: Path) -> None:
    import tarfile

    make(tmp_path, "a.txt")
    with tarfile.open(tmp_path / "papers.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.txt", "a.txt")
    with pytest.raises(UnknownFormat, match="tar archive"):
        SourceReader(SourceFile(str(tmp_path / "papers.tar.gz"), "papers.tar.gz"))


def test_a_named_pipe_can_be_read(tmp_path: Path) -> None:
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text('{"title": "A"}\n'))
    writer.start()
    reader = SourceReader(expand_sources([pipe])[0])
    assert [item.paper.title for item in reader if isinstance(item, Located)] == ["A"]
    assert reader.size_bytes is None
    writer.join()
