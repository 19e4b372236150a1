"""Vectors made in parts: which text is whose, what is made once, and that their index is that of one machine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import FakeEncoder, FakeProvider
from made_papers import record, records, run_build, text_of, write_jsonl
from tiny_model import make_tiny_model

from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncodedTexts, EncoderRequest
from semsearch.errors import IndexBusy, IndexDamaged, ModelMismatch, NothingToIndex, SourceNotFound, UsageError
from semsearch.index.durable import file_sha256
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import VectorLogWriter
from semsearch.paper import text_key
from semsearch.progress import Silent
from semsearch.shards.division import Shard, all_shards, parse_shard
from semsearch.shards.run import EncodeOptions, encode_shards
from semsearch.shards.store import LOG, NORM_TOLERANCE, open_shard
from semsearch.shards.work import ShardSummary

ROOT = Path(__file__).resolve().parents[1]
REQUEST = EncoderRequest("fake")


class Listening(Silent):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def encode(source: Path | list[Path], output: Path, shards: list[Shard], provider: FakeProvider | None = None,
           progress: Listening | None = None, **options: Any) -> list[ShardSummary]:
    sources = source if isinstance(source, list) else [source]
    return list(encode_shards(sources, shards, output, REQUEST, EncodeOptions(**options),
                              provider=provider or FakeProvider(), progress=progress))


def build(source: Path, index: Path, vectors: Path, provider: FakeProvider | None = None,
          progress: Listening | None = None, **options: Any) -> Any:
    return build_index([source], index, BuildOptions(model="fake", vectors=(vectors,), **options),
                       provider=provider or FakeProvider(), progress=progress)


def vectors_by_id(index: Path) -> dict[str, np.ndarray]:
    with IndexReader(index) as reader:
        rows = reader.vectors.rows
        vectors = reader.vectors.vectors_at(np.arange(len(rows)))
        return {paper.id: vectors[position] for position, paper in enumerate(reader.papers.get(rows.tolist()))}


def folder_of(output: Path, shard: Shard) -> Path:
    return output / FakeEncoder(REQUEST).identity.fingerprint / shard.folder_name


def file_of(folder: Path, what: str) -> Path:
    [path] = folder.glob(f"{what}-*.npy")
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "papers.jsonl", records(60))


def test_a_text_belongs_to_the_shard_that_its_hash_says() -> None:
    keys = [text_key(f"text {n}") for n in range(500)]
    array = np.frombuffer(b"".join(keys), "S16")
    held = np.array([shard.holds(array) for shard in all_shards(7)])
    assert held.sum(axis=0).tolist() == [1] * 500
    by_hand = [int(hashlib.sha256(f"text {n}".encode()).hexdigest()[:16], 16) % 7 for n in range(500)]
    assert held.argmax(axis=0).tolist() == by_hand
    assert Shard(7, 3).holds(array[:0]).tolist() == []


def test_a_shard_is_spelt_i_of_n() -> None:
    assert parse_shard("3/16") == Shard(of=16, number=3)
    assert Shard(16, 3).folder_name == "shard-0003-of-0016"
    for wrong in ("0/4", "5/4", "3", "a/b", "-1/4", "1/10000", "1/0", "١/٢"):
        with pytest.raises(UsageError, match="no shard"):
            parse_shard(wrong)


def test_an_index_of_shards_is_the_one_of_one_machine(tmp_path: Path, source: Path) -> None:
    run_build([source], tmp_path / "one", model="fake")
    summaries = encode(source, tmp_path / "vectors", all_shards(4))
    assert [s.texts for s in summaries] == [s.encoded for s in summaries]
    assert sum(s.texts for s in summaries) == 60
    provider = FakeProvider()
    summary = build(source, tmp_path / "many", tmp_path / "vectors", provider)
    assert (summary.encoded, summary.reused, provider.loaded) == (0, 60, 0)
    one, many = vectors_by_id(tmp_path / "one"), vectors_by_id(tmp_path / "many")
    assert one.keys() == many.keys()
    assert max(np.abs(one[name] - many[name]).max() for name in one) <= 1e-5
    with IndexReader(tmp_path / "one") as a, IndexReader(tmp_path / "many") as b:
        assert (a.vectors.token_counts == b.vectors.token_counts).all()


def test_each_text_is_encoded_by_one_shard_and_once(tmp_path: Path) -> None:
    twice = [record(1), record(2), record(1, id="q1", title=record(1)["title"], doi="10.1000/other", year=1990)]
    source = write_jsonl(tmp_path / "papers.jsonl", [*twice, *records(20, start=3)])
    encoded = []
    for shard in all_shards(3):
        provider = FakeProvider()
        encode(source, tmp_path / "vectors", [shard], provider)
        encoded += provider.encoded
    assert sorted(encoded) == sorted({text_of(item) for item in [*twice, *records(20, start=3)]})


def test_texts_are_those_of_merged_papers(tmp_path: Path) -> None:
    bare = {"id": "a", "title": "Of whales and their songs", "doi": "10.1000/w", "authors": ["Ada B"], "year": 2001}
    source = write_jsonl(tmp_path / "a.jsonl", [bare])
    other = write_jsonl(tmp_path / "b.jsonl", [{**bare, "id": "b", "abstract": "They sing in the deep."}])
    provider = FakeProvider()
    encode([source, other], tmp_path / "vectors", all_shards(2), provider)
    assert provider.encoded == ["Of whales and their songs They sing in the deep."]


def test_a_finished_shard_is_left_alone(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", [Shard(2, 1)])
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "vectors").glob("*/shard-*/*.npy")}
    provider = FakeProvider()
    [summary] = encode(source, tmp_path / "vectors", [Shard(2, 1)], provider)
    assert (summary.encoded, summary.reused, provider.loaded) == (0, summary.texts, 0)
    source.touch()
    source.write_text(source.read_text() + "\n")  # other bytes, the same texts
    [summary] = encode(source, tmp_path / "vectors", [Shard(2, 1)], provider)
    assert (summary.encoded, provider.loaded) == (0, 0)
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "vectors").glob("*/shard-*/*.npy")} == before


def test_where_the_sources_grew_only_the_new_texts_are_encoded(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", all_shards(2))
    write_jsonl(source, records(70))
    provider = FakeProvider()
    summaries = encode(source, tmp_path / "vectors", all_shards(2), provider)
    assert sorted(provider.encoded) == sorted(text_of(item) for item in records(10, start=60))
    assert sum(s.reused for s in summaries) == 60
    assert len(list((tmp_path / "vectors").rglob("vectors-*.npy"))) == 2  # those before are gone
    assert build(source, tmp_path / "index", tmp_path / "vectors").encoded == 0


def test_another_division_takes_what_the_first_encoded(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", all_shards(2))
    provider = FakeProvider()
    summaries = encode(source, tmp_path / "vectors", all_shards(5), provider)
    assert (sum(s.texts for s in summaries), provider.loaded) == (60, 0)


class DyingEncoder(FakeEncoder):
    """Breaks off at its second chunk, as a process that is killed there."""

    def encode_documents(self, texts: Any) -> EncodedTexts:
        if self.encoded:
            raise KeyboardInterrupt
        return super().encode_documents(texts)


class DyingProvider(FakeProvider):
    def load(self, request: EncoderRequest) -> FakeEncoder:
        self.encoders.append(DyingEncoder(request))
        return self.encoders[-1]


def test_a_run_that_was_stopped_goes_on_and_loses_one_chunk_at_most(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "papers.jsonl", records(150))
    first = DyingProvider()
    with pytest.raises(KeyboardInterrupt):
        encode(source, tmp_path / "vectors", [Shard(1, 1)], first)
    assert len(first.encoded) == 64
    folder = folder_of(tmp_path / "vectors", Shard(1, 1))
    assert not (folder / "done.json").exists()
    progress = Listening()
    index = tmp_path / "index"
    assert build(source, index, tmp_path / "vectors", progress=progress).encoded == 150
    assert any("No shard" in note for note in progress.notes)
    second = FakeProvider()
    [summary] = encode(source, tmp_path / "vectors", [Shard(1, 1)], second)
    assert (summary.encoded, summary.reused, len(second.encoded)) == (86, 64, 86)
    assert not (folder / LOG).exists()


def test_a_marker_that_was_not_written_costs_nothing(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", [Shard(1, 1)])
    folder = folder_of(tmp_path / "vectors", Shard(1, 1))
    vectors = open_shard(folder)
    assert vectors is not None
    log = VectorLogWriter(folder / LOG, 64)  # as it was before the shard was finished
    log.append([bytes(k).ljust(16, b"\0") for k in vectors.keys], vectors.take(np.arange(len(vectors))))
    log.close()
    (folder / "done.json").unlink()
    provider = FakeProvider()
    [summary] = encode(source, tmp_path / "vectors", [Shard(1, 1)], provider)
    assert (summary.encoded, summary.reused, provider.loaded) == (0, 60, 0)


def test_a_second_process_on_one_shard_ends_at_once_and_names_the_first(tmp_path: Path, source: Path) -> None:
    folder = folder_of(tmp_path / "vectors", Shard(2, 1))
    folder.mkdir(parents=True)
    held = subprocess.Popen(
        [sys.executable, "-c", "import sys; from pathlib import Path; from semsearch.index.locks import work_lock\n"
         "with work_lock(Path(sys.argv[1]), 'encode', '', ''):\n  print('held', flush=True); sys.stdin.read()",
         str(folder / "shard.lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert held.stdout is not None
        assert held.stdout.readline() == "held\n"
        with pytest.raises(IndexBusy, match=rf"at work on shard 1/2 .*process {held.pid} on "):
            encode(source, tmp_path / "vectors", [Shard(2, 1)])
        assert encode(source, tmp_path / "vectors", [Shard(2, 2)])[0].encoded > 0
    finally:
        held.communicate("")
    assert encode(source, tmp_path / "vectors", [Shard(2, 1)])[0].encoded > 0


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0x55
    path.write_bytes(content)


@pytest.mark.parametrize("what", ["keys", "tokens", "vectors"])
@pytest.mark.parametrize("how", ["cut", "flip", "gone", "head"])
def test_a_damaged_shard_is_named_and_made_anew_by_the_same_command(tmp_path: Path, source: Path, what: str, how: str
                                                                    ) -> None:
    encode(source, tmp_path / "vectors", all_shards(2))
    path = file_of(folder_of(tmp_path / "vectors", Shard(2, 1)), what)
    match how:
        case "cut":
            path.write_bytes(path.read_bytes()[:-7])
        case "flip":
            flip(path, path.stat().st_size - 5)
        case "gone":
            path.unlink()
        case "head":
            flip(path, 3)
    with pytest.raises(IndexDamaged, match=rf"shard-0001-of-0002 is damaged: .*{what}-") as error:
        build(source, tmp_path / "index", tmp_path / "vectors")
    assert "same semsearch encode again" in error.value.way_out
    progress = Listening()
    encode(source, tmp_path / "vectors", all_shards(2), progress=progress)
    assert any("is made anew" in note and what in note for note in progress.notes)
    assert build(source, tmp_path / "index", tmp_path / "vectors").encoded == 0


def test_a_marker_that_is_none_is_named(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", all_shards(1))
    marker = folder_of(tmp_path / "vectors", Shard(1, 1)) / "done.json"
    marker.write_bytes(marker.read_bytes()[:100])
    with pytest.raises(IndexDamaged, match="not the marker"):
        build(source, tmp_path / "index", tmp_path / "vectors")
    [summary] = encode(source, tmp_path / "vectors", all_shards(1))
    assert summary.texts == 60


def test_what_is_no_unit_vector_is_found_even_where_the_checksum_vouches_for_it(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", all_shards(1))
    folder = folder_of(tmp_path / "vectors", Shard(1, 1))
    path = file_of(folder, "vectors")
    for factor in (1 + 2 * NORM_TOLERANCE, np.nan):
        vectors = np.load(path)
        vectors[41] *= factor
        content = path.read_bytes()
        path.write_bytes(content[:len(content) - vectors.nbytes] + vectors.tobytes())
        marker = json.loads((folder / "done.json").read_text())
        marker["files"][path.name]["sha256"] = file_sha256(path)
        (folder / "done.json").write_text(json.dumps(marker))
        with pytest.raises(IndexDamaged, match="no unit vector at position 41"):
            open_shard(folder)
        vectors[41] /= factor


def test_missing_shards_are_noted_and_their_texts_encoded_by_the_build(tmp_path: Path, source: Path) -> None:
    done = encode(source, tmp_path / "vectors", [Shard(8, n) for n in (1, 2, 3, 4, 6, 7)])
    progress = Listening()
    summary = build(source, tmp_path / "index", tmp_path / "vectors", progress=progress)
    assert summary.encoded == 60 - sum(s.texts for s in done) > 0
    assert any("Of 8 shards" in note and "2 are missing (5/8, 8/8)" in note for note in progress.notes)


def test_shards_of_another_encoder_are_refused_with_the_names_of_both(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", all_shards(1))
    with pytest.raises(ModelMismatch, match=r"\(fake, 64 dimensions.*\(other, 64 dimensions") as error:
        build_index([source], tmp_path / "index", BuildOptions(model="other", vectors=(tmp_path / "vectors",)),
                    provider=FakeProvider())
    assert "--model fake --max-tokens 256" in error.value.way_out
    assert not (tmp_path / "index").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceNotFound, match="no finished shards"):
        build(source, tmp_path / "index", tmp_path / "empty")


def test_a_dry_run_counts_what_the_shards_have(tmp_path: Path, source: Path) -> None:
    done = encode(source, tmp_path / "vectors", [Shard(2, 1)])
    summary = build(source, tmp_path / "index", tmp_path / "vectors", dry_run=True)
    assert summary.encoded == 60 - done[0].texts


def test_an_index_that_grows_takes_the_new_vectors_from_shards(tmp_path: Path, source: Path) -> None:
    run_build([source], tmp_path / "index", model="fake")
    write_jsonl(source, records(80))
    encode(source, tmp_path / "vectors", all_shards(2))
    provider = FakeProvider()
    assert build(source, tmp_path / "index", tmp_path / "vectors", provider).encoded == 0
    assert provider.loaded == 0


def test_sources_are_read_once_for_all_their_shards(tmp_path: Path, source: Path) -> None:
    encode(source, tmp_path / "vectors", [Shard(3, 1)])
    [papers] = (tmp_path / "vectors" / "papers").glob("*/papers.sqlite")
    read = papers.stat().st_mtime_ns
    encode(source, tmp_path / "vectors", [Shard(3, 2)])
    assert papers.stat().st_mtime_ns == read
    papers.write_bytes(papers.read_bytes()[:-1])  # one that is not whole is no help
    assert encode(source, tmp_path / "vectors", [Shard(3, 3)])[0].encoded > 0
    assert not list((tmp_path / "vectors" / "papers").glob("*/*"))  # nobody needs it any more
    assert build(source, tmp_path / "index", tmp_path / "vectors").encoded == 0


def test_standard_input_is_a_source(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(source, encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        summaries = list(encode_shards(["-"], all_shards(2), tmp_path / "vectors", REQUEST, provider=FakeProvider()))
    assert sum(s.encoded for s in summaries) == 60
    assert build(source, tmp_path / "index", tmp_path / "vectors").encoded == 0


def test_sources_without_a_text_are_an_error(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "papers.jsonl", [{"id": "x", "title": "", "abstract": ""}])
    with pytest.raises(NothingToIndex, match="1 records were rejected"):
        encode(source, tmp_path / "vectors", all_shards(1))
    with pytest.raises(UsageError, match="No source"):
        encode([], tmp_path / "vectors", all_shards(1))


def test_more_shards_than_texts_leaves_some_empty(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "papers.jsonl", records(2))
    summaries = encode(source, tmp_path / "vectors", all_shards(9))
    assert sum(s.texts for s in summaries) == 2
    assert [s.texts for s in summaries].count(0) >= 7
    assert build(source, tmp_path / "index", tmp_path / "vectors").encoded == 0


def test_processes_side_by_side_make_what_one_makes(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "papers.jsonl", records(40))
    model = make_tiny_model(tmp_path / "model")
    command = [sys.executable, "-m", "semsearch", "encode", str(source), "-m", str(model), "-o", "vectors", "--json",
               "-q"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    both = [subprocess.Popen([*command, "--shard", f"{n}/2"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
                             text=True) for n in (1, 2)]
    done = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(summary["encoded"] for summary in done) == 40
    options = BuildOptions(model=str(model))
    build_index([source], tmp_path / "one", options)
    summary = build_index([source], tmp_path / "many", BuildOptions(model=str(model), vectors=(tmp_path / "vectors",)))
    assert summary.encoded == 0
    one, many = vectors_by_id(tmp_path / "one"), vectors_by_id(tmp_path / "many")
    assert one.keys() == many.keys()
    assert max(np.abs(one[name] - many[name]).max() for name in one) <= 1e-5
