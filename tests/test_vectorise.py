"""Vectors from whoever has them already, else from the encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder

from semsearch.encoding import EncodedTexts, EncoderRequest
from semsearch.errors import DiskFull, EncodingFailed
from semsearch.index.keyed_vectors import KEY_DTYPE, KeyedVectors
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.vector_log import VectorLogWriter, read_logs
from semsearch.paper import Paper
from semsearch.progress import Silent
from semsearch.vectorise import RowBlocks, VectorSources, check_room, encode_rows, missing_rows, vectors_bytes


def keys_of(*numbers: int) -> np.ndarray:
    return np.frombuffer(b"".join(bytes([n]) * 16 for n in numbers), KEY_DTYPE)


def source(*numbers: int, vector: float) -> KeyedVectors:
    return KeyedVectors(keys_of(*numbers), np.array(numbers, np.int32), np.full((len(numbers), 3), vector, np.float32))


def test_the_first_source_that_has_a_text_gives_its_vector():
    sources = VectorSources([source(1, 2, vector=1), source(2, 3, vector=2), source(vector=9)])
    assert sources.has(keys_of(0, 1, 2, 3, 4)).tolist() == [False, True, True, True, False]
    taken = sources.take(keys_of(3, 2, 1, 3), 3)
    assert taken.vectors[:, 0].tolist() == [2, 1, 1, 2]
    assert taken.token_counts.tolist() == [3, 2, 1, 3]
    with pytest.raises(KeyError, match="1 keys"):
        sources.take(keys_of(1, 4), 3)
    blocks = list(RowBlocks(np.array([5, 7]), keys_of(3, 1), sources, 3))
    assert [(rows.tolist(), tokens.tolist(), vectors[:, 0].tolist()) for rows, _, tokens, vectors in blocks] == [
        ([5, 7], [3, 1], [2.0, 1.0])
    ]


def test_missing_rows_are_the_first_of_each_text():
    keys = keys_of(9, 1, 8, 9, 2, 8, 7)
    assert missing_rows(keys, VectorSources([source(1, 2, vector=1)])).tolist() == [0, 2, 6]
    assert missing_rows(keys_of(), VectorSources([])).tolist() == []


@pytest.fixture
def staged(tmp_path: Path):
    table = StagedPapers(tmp_path / "papers.sqlite", None)
    number = table.begin_source("/a", "a")
    for n in range(200):
        table.put(number, Paper(f"p{n}", f"Title {n}", "word " * (n % 50), identifiers=(("id:jsonl", f"p{n}"),)), n)
    table.merge([])
    yield table
    table.abandon()


class Failing(FakeEncoder):
    """Gives no vector for one text, as real encoders say it: for the whole batch."""

    def encode_documents(self, texts):
        if any("Title 77" in text for text in texts):
            raise EncodingFailed("no unit vector", "Another model.")
        return super().encode_documents(texts)


def encode(staged, encoder, folder: Path) -> int:
    rows = missing_rows(staged.text_keys(), VectorSources(read_logs(folder / "log", 64)))
    encode_rows(staged, rows, encoder.identity, encoder, VectorLogWriter(folder / "log", 64), Silent())
    return len(rows)


def test_every_text_is_encoded_once_and_logged(staged, tmp_path):
    encoder = FakeEncoder(EncoderRequest())
    assert encode(staged, encoder, tmp_path) == 200
    keys = staged.text_keys()
    taken = VectorSources(read_logs(tmp_path / "log", 64)).take(keys, 64)
    texts = [text for _, text, _ in staged.texts(range(200))]
    expected = FakeEncoder(EncoderRequest()).encode_documents(texts)
    assert (taken.vectors == expected.vectors).all() and (taken.token_counts == expected.token_counts).all()
    assert sorted(encoder.encoded) == sorted(texts)
    assert encode(staged, encoder, tmp_path) == 0


def test_a_text_without_a_vector_is_named_by_its_paper_and_whole_chunks_stay(staged, tmp_path):
    encoder = Failing(EncoderRequest())
    with pytest.raises(EncodingFailed, match="'p77'"):
        encode(staged, encoder, tmp_path)
    kept = sum(len(source) for source in read_logs(tmp_path / "log", 64))
    assert kept % 64 in (0, 8) and kept < 200
    again = FakeEncoder(EncoderRequest())
    assert encode(staged, again, tmp_path) == 200 - kept == len(again.encoded)


@pytest.mark.parametrize("vectors", [np.zeros((3, 63), np.float32), np.full((200, 64), np.inf, np.float32)])
def test_what_is_no_vector_of_the_model_is_refused(staged, tmp_path, vectors):
    class Odd(FakeEncoder):
        def encode_documents(self, texts):
            return EncodedTexts(vectors[: len(texts)], np.zeros(len(texts), np.int32))

    with pytest.raises(EncodingFailed, match="expected"):
        encode(staged, Odd(EncoderRequest()), tmp_path)
    assert read_logs(tmp_path / "log", 64) == []


def test_room_is_asked_for_before_hours_are_spent(tmp_path):
    assert vectors_bytes(1000, 384) == 1000 * (384 * 4 + 8 + 4 + 16)
    check_room(1, 1, 384, tmp_path)
    with pytest.raises(DiskFull, match="1 new vectors beside 999,999,999,999 others need about 1,564,000,000 MB"):
        check_room(1, 10**12, 384, tmp_path)
