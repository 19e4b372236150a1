"""Workers that encode: what they yield, what an error and an early end leave, and how the best setting is found."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder

from semsearch.calibration import Setting, remember_setting, remembered_setting
from semsearch.encoding import EncodedTexts, EncoderRequest
from semsearch.encoding_pool import PIECE_TEXTS, Chunk, TunableEncoder, encode_chunks, trial_texts
from semsearch.errors import EncodingFailed, UsageError

FAST, SLOW, OTHER = Setting(2, 1, 512), Setting(1, 2, 512), Setting(3, 1, 512)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "cache"))


class Tunable(FakeEncoder):
    """A fake that can be asked by several threads; `used` is the setting of each call, `delays` what it costs."""

    def __init__(self, settings: Sequence[Setting] = (SLOW, FAST)) -> None:
        super().__init__(EncoderRequest())
        self.settings = tuple(settings)
        self.setting: Setting | None = None
        self.used: list[Setting | None] = []
        self.delays: dict[Setting, float] = {}
        self.stopped = threading.Event()
        self.most_at_once = self.at_once = 0
        self.lock = threading.Lock()

    def tune(self, setting: Setting) -> None:
        assert self.at_once == 0
        self.setting = setting
        self.stopped.clear()

    def settle(self) -> None:
        assert self.setting is not None
        self.settings = (self.setting,)

    def stop(self) -> None:
        self.stopped.set()

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        with self.lock:
            self.used.append(self.setting)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.setting is not None and self.stopped.wait(self.delays.get(self.setting, 0)):
                raise RuntimeError("stopped")
            return super().encode_documents(texts)
        finally:
            with self.lock:
                self.at_once -= 1


def chunks(texts: int, size: int = 64) -> Iterator[Chunk]:
    for start in range(0, texts, size):
        numbers = range(start, min(texts, start + size))
        yield Chunk([f"p{n}" for n in numbers], [f"text number {n} of many" for n in numbers],
                    [n.to_bytes(16, "big") for n in numbers])


def encoded(encoder: FakeEncoder, texts: int, size: int = 64) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    results = encode_chunks(encoder, chunks(texts, size), lambda c: encoder.encode_documents(c.texts), texts)
    for chunk, result in results:
        assert len(chunk.ids) == len(chunk.keys) == len(result.vectors)
        assert not found.keys() & set(chunk.ids)
        found.update(zip(chunk.ids, result.vectors, strict=True))
    return found


@pytest.mark.parametrize("texts", [0, 1, 16, 17, 150, 1000])
def test_each_text_gets_its_own_vector_once(texts):
    encoder = Tunable()
    assert isinstance(encoder, TunableEncoder)
    found = encoded(encoder, texts, 50)
    alone = FakeEncoder(EncoderRequest())
    expected = alone.encode_documents([f"text number {n} of many" for n in range(texts)]).vectors
    assert len(found) == texts
    for n in range(texts):
        assert np.array_equal(found[f"p{n}"], expected[n])


def test_an_encoder_that_cannot_be_shared_gets_whole_chunks_in_order_in_this_thread():
    threads = set()

    class Alone(FakeEncoder):
        def encode_documents(self, texts):
            threads.add(threading.current_thread())
            return super().encode_documents(texts)

    encoder = Alone(EncoderRequest())
    assert not isinstance(encoder, TunableEncoder)
    assert list(encoded(encoder, 130)) == [f"p{n}" for n in range(130)]
    assert threads == {threading.current_thread()}


def test_as_many_workers_as_the_setting_says_are_at_work_at_once():
    encoder = Tunable((OTHER,))
    encoder.delays = {OTHER: 0.01}
    encoded(encoder, 20 * PIECE_TEXTS)
    assert encoder.most_at_once == 3


def test_the_fastest_setting_is_found_on_the_way_and_remembered():
    encoder = Tunable()
    encoder.delays = {SLOW: 0.03, FAST: 0.002}
    texts = trial_texts(encoder.settings) + 200
    assert len(encoded(encoder, texts)) == texts  # the trials count
    assert encoder.used[:4] == [SLOW, SLOW, FAST, FAST] and encoder.used[-1] == FAST
    assert remembered_setting(encoder.identity.fingerprint) == FAST
    again = Tunable()
    encoded(again, texts)
    assert set(again.used) == {FAST}


def test_where_nothing_can_be_remembered_one_encoder_is_calibrated_once(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "file"))
    encoder = Tunable()
    encoder.delays = {SLOW: 0.03, FAST: 0.002}
    texts = trial_texts(encoder.settings) + 100
    encoded(encoder, texts)
    encoder.used.clear()
    encoded(encoder, texts)
    assert set(encoder.used) == {FAST}


def test_small_jobs_take_the_first_setting_untried():
    encoder = Tunable()
    encoded(encoder, trial_texts(encoder.settings) - 1)
    assert set(encoder.used) == {SLOW}
    assert remembered_setting(encoder.identity.fingerprint) is None


def test_the_number_of_workers_can_be_forced(monkeypatch):
    monkeypatch.setenv("SEMSEARCH_WORKERS", "3")
    encoder = Tunable()
    remember_setting(encoder.identity.fingerprint, FAST, {FAST: 1.0})
    encoded(encoder, 1000)
    assert {setting.workers for setting in encoder.used} == {3}
    for wrong in ("0", "-1", "two", "1.5", "257", "²"):
        monkeypatch.setenv("SEMSEARCH_WORKERS", wrong)
        with pytest.raises(UsageError, match="SEMSEARCH_WORKERS"):
            encoded(encoder, 1)


def test_an_error_comes_after_what_others_had_begun():
    encoder = Tunable((OTHER,))
    encoder.delays = {OTHER: 0.005}

    def encode(chunk: Chunk) -> EncodedTexts:
        if "p40" in chunk.ids:
            raise EncodingFailed("no vector for p40", "")
        return encoder.encode_documents(chunk.texts)

    found: list[str] = []
    with pytest.raises(EncodingFailed, match="p40"):
        for chunk, _ in encode_chunks(encoder, chunks(1000), encode, 1000):
            found += chunk.ids
    assert "p40" not in found and len(set(found)) == len(found)
    done = len(encoder.used) * PIECE_TEXTS
    assert len(found) == done < 1000 - PIECE_TEXTS  # nothing that was encoded is lost, and nothing new was begun
    assert {"p0", "p16"} <= set(found)


def test_an_early_end_breaks_off_what_is_under_way():
    encoder = Tunable((FAST,))
    encoder.delays = {FAST: 0.0}
    before = threading.active_count()
    with closing(encode_chunks(encoder, chunks(1000), lambda c: encoder.encode_documents(c.texts), 1000)) as results:
        next(results)
        encoder.delays = {FAST: 3600.0}
        time.sleep(0.01)
    assert encoder.stopped.is_set()
    assert threading.active_count() == before
    assert len(encoder.used) * PIECE_TEXTS < 1000


def test_ctrl_c_in_the_caller_ends_the_workers():
    encoder = Tunable((FAST,))
    encoder.delays = {FAST: 3600.0}

    class Interrupting:
        def __iter__(self) -> Iterator[Chunk]:
            yield from chunks(32)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(encode_chunks(encoder, Interrupting(), lambda c: encoder.encode_documents(c.texts), 1000))
    assert encoder.stopped.is_set() and encoder.at_once == 0
