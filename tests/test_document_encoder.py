"""The exported encoder for many documents: the vectors of the original, several threads, and when it is taken."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeProvider
from network_guard import network_forbidden
from tiny_model import make_tiny_model

from semsearch.calibration import Setting
from semsearch.document_encoder import WORTH_EXPORTING, load_for_documents
from semsearch.encoder import SentenceTransformerEncoder, load_encoder
from semsearch.encoding import INT8, CanBeStopped, EncoderRequest, EncodingStopped
from semsearch.encoding_pool import Chunk, TunableEncoder, encode_chunks
from semsearch.errors import ModelUnusable, UsageError
from semsearch.exported import export as exporting
from semsearch.exported.documents import DocumentEncoder, load_document_encoder
from semsearch.exported.export import NotExportable, export
from semsearch.exported.quantised import load_quantised
from semsearch.exported.session import load_exported
from semsearch.models import identify, resolve_model
from semsearch.progress import Silent
from semsearch.provider import LocalModels

TEXTS = [f"we study {'graph neural networks for protein data ' * (n % 9)} and {n} questions" for n in range(90)]
TEXTS += ["", "?", "深度学习", "Größe \udcff"]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An empty hub cache, an empty user cache, no network."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    with network_forbidden(monkeypatch):
        yield


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "tiny", prompts={"document": "paper: ", "query": "search: "})


class Notes(Silent):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def note(self, message: str) -> None:
        self.heard.append(message)


def take(request: EncoderRequest, texts: int, provider: LocalModels | None = None, progress: Silent | None = None):
    provider = provider or LocalModels()
    return load_for_documents(provider, request, provider.identify(request), texts, progress or Silent())


def test_each_setting_gives_the_vectors_of_the_original_to_all_threads(tiny):
    original = load_encoder(EncoderRequest(str(tiny), device="cpu"))
    expected = original.encode_documents(TEXTS)
    export(original)
    encoder = load_document_encoder(original.identity)
    assert isinstance(encoder, DocumentEncoder) and isinstance(encoder, TunableEncoder)
    for setting in (*encoder.settings, Setting(3, 1, 1)):
        encoder.tune(setting)
        with ThreadPoolExecutor(4) as threads:
            for found in threads.map(encoder.encode_documents, [TEXTS] * 4):
                assert np.einsum("ij,ij->i", found.vectors, expected.vectors).min() >= 0.999999
                assert np.array_equal(found.token_counts, expected.token_counts)
    encoder.settle()
    assert np.allclose(encoder.encode_queries(TEXTS[:3]), original.encode_queries(TEXTS[:3]), atol=1e-5)


def test_it_can_be_stopped_and_set_to_work_again(tiny):
    original = load_encoder(EncoderRequest(str(tiny), device="cpu"))
    export(original)
    encoder = load_document_encoder(original.identity)
    assert encoder is not None
    encoder.stop()
    with pytest.raises(Exception, match="terminate"):
        encoder.encode_documents(TEXTS)
    encoder.tune(encoder.settings[0])
    assert len(encoder.encode_documents(TEXTS).vectors) == len(TEXTS)


def test_a_stoppable_encoder_shares_all_but_its_end(tiny):
    original = load_encoder(EncoderRequest(str(tiny), device="cpu"))
    export(original)
    encoder = load_exported(original.identity)
    first, second = encoder.stoppable(), encoder.stoppable()
    assert isinstance(encoder, CanBeStopped) and not isinstance(original, CanBeStopped)
    expected = encoder.encode_documents(TEXTS)
    found = first.encode_documents(TEXTS)
    assert np.array_equal(found.vectors, expected.vectors)
    assert np.array_equal(found.token_counts, expected.token_counts)
    first.stop()
    for _ in range(2):
        with pytest.raises(EncodingStopped):
            first.encode_documents(TEXTS)
    for other in (encoder, second):
        assert np.array_equal(other.encode_documents(TEXTS).vectors, expected.vectors)


def test_what_is_being_encoded_ends_when_another_thread_says_so(tiny):
    original = load_encoder(EncoderRequest(str(tiny), device="cpu"))
    export(original)
    encoder = load_exported(original.identity).stoppable()
    done = []

    def encode_for_ever():
        while True:
            encoder.encode_documents(TEXTS)
            done.append(1)

    with ThreadPoolExecutor(1) as threads:
        work = threads.submit(encode_for_ever)
        while not done:
            assert not work.done()
        encoder.stop()
        assert isinstance(work.exception(60), EncodingStopped)


def test_other_errors_of_a_stoppable_encoder_stay_what_they_are(tiny):
    original = load_encoder(EncoderRequest(str(tiny), device="cpu"))
    export(original)
    encoder = load_exported(original.identity).stoppable()
    encoder._session = None
    with pytest.raises(AttributeError):
        encoder.encode_documents(TEXTS)


def test_many_documents_are_worth_an_export_and_few_are_not(tiny, monkeypatch):
    request = EncoderRequest(str(tiny))
    assert isinstance(take(request, WORTH_EXPORTING - 1), SentenceTransformerEncoder)
    encoder = take(request, WORTH_EXPORTING)
    assert isinstance(encoder, DocumentEncoder)
    monkeypatch.setattr(LocalModels, "load", None)  # from now on no model is loaded
    assert isinstance(take(request, 1), DocumentEncoder)
    chunks = [Chunk([str(n) for n in range(len(TEXTS))], TEXTS, [b""] * len(TEXTS))]
    found = {}
    for chunk, result in encode_chunks(encoder, chunks, lambda c: encoder.encode_documents(c.texts), len(TEXTS)):
        found.update(zip(chunk.ids, result.vectors, strict=True))
    expected = load_encoder(replace(request, device="cpu")).encode_documents(TEXTS).vectors
    assert np.einsum("ij,ij->i", np.array([found[str(n)] for n in range(len(TEXTS))]), expected).min() >= 0.999999


def test_other_providers_foreign_code_and_other_devices_get_the_model_as_loaded(tiny, monkeypatch):
    fake = FakeProvider()
    request = EncoderRequest("fake")
    assert load_for_documents(fake, request, fake.identify(request), 10**6, Silent()) is fake.encoders[0]
    trusted = take(EncoderRequest(str(tiny), trust_remote_code=True), 1000)
    assert isinstance(trusted, SentenceTransformerEncoder)
    monkeypatch.setattr(SentenceTransformerEncoder, "device", "cuda:0")
    assert isinstance(take(EncoderRequest(str(tiny)), 1000), SentenceTransformerEncoder)
    assert not (tiny.parent / "cache" / "encoders").exists()


@pytest.mark.parametrize(("error", "noted"), [
    (NotExportable("odd"), []), (OSError(28, "No space left on device"), ["OSError"]), (ValueError("new"), ["new"])])
def test_a_failed_export_is_no_error(tiny, monkeypatch, error, noted):
    def fail(encoder: object) -> None:
        raise error

    monkeypatch.setattr(exporting, "export", fail)
    notes = Notes()
    assert isinstance(take(EncoderRequest(str(tiny)), 1000, progress=notes), SentenceTransformerEncoder)
    assert len(notes.heard) == len(noted)
    assert all(word in note for word, note in zip(noted, notes.heard, strict=True))


def test_ctrl_c_during_the_export_ends_the_work(tiny, monkeypatch):
    def interrupt(encoder: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "export", interrupt)
    with pytest.raises(KeyboardInterrupt):
        take(EncoderRequest(str(tiny)), 1000)


# 8 bits


def test_int8_has_its_own_fingerprint_and_nearly_the_same_vectors(tiny):
    whole, request = EncoderRequest(str(tiny)), EncoderRequest(str(tiny), precision=INT8)
    handlers = logging.getLogger().handlers[:]
    provider = LocalModels()
    encoder = provider.load(request)
    assert logging.getLogger().handlers == handlers
    identity = provider.identify(request)
    assert encoder.identity == identity
    assert identity.precision == INT8 and identity.fingerprint != provider.identify(whole).fingerprint
    expected = load_encoder(replace(whole, device="cpu")).encode_documents(TEXTS)
    found = encoder.encode_documents(TEXTS)
    cosines = np.einsum("ij,ij->i", found.vectors, expected.vectors)
    assert cosines.min() > 0.98 and not np.allclose(found.vectors, expected.vectors, atol=1e-5)  # it is another
    assert np.array_equal(found.token_counts, expected.token_counts)
    alone = np.concatenate([encoder.encode_documents([text]).vectors for text in TEXTS])
    assert np.einsum("ij,ij->i", found.vectors, alone).min() >= 1 - 1e-6
    many = take(request, 1000)
    assert isinstance(many, DocumentEncoder)
    assert {setting.batch_tokens for setting in many.settings} == {1}
    for setting in many.settings:
        many.tune(setting)
        assert np.einsum("ij,ij->i", many.encode_documents(TEXTS).vectors, found.vectors).min() >= 1 - 1e-6


def test_int8_is_refused_where_it_cannot_be_had(tiny, monkeypatch):
    request = EncoderRequest(str(tiny), precision=INT8)
    with pytest.raises(UsageError, match="the device cuda takes no part"):
        load_quantised(replace(request, device="cuda"))
    with pytest.raises(UsageError, match="foreign code takes no part"):
        load_quantised(replace(request, trust_remote_code=True))
    with pytest.raises(UsageError, match=r"'int4' is no precision"):
        identify(resolve_model(str(tiny)), None, "int4")
    monkeypatch.setitem(exporting.MIN_COSINE, INT8, 1.5)
    with pytest.raises(ModelUnusable, match="cannot be had in int8: its vectors differ"):
        load_quantised(request)
