"""Exported encoders: against the original, what is refused, what is damaged, and what a cold process imports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from network_guard import network_forbidden
from safetensors.numpy import save_file
from tiny_model import MAX_TOKENS, change_json, make_tiny_model, write_json

from semsearch.build import BuildOptions, build_index
from semsearch.encoder import load_encoder
from semsearch.encoding import Encoder, EncoderIdentity, EncoderRequest
from semsearch.errors import EncodingFailed
from semsearch.exported import export as exporting
from semsearch.exported import readiness
from semsearch.exported.export import NotExportable, export, is_prepared
from semsearch.exported.readiness import MISSING, READY, REFUSED, readiness_of
from semsearch.exported.session import BATCH_TOKENS, ExportedEncoder, load_exported
from semsearch.exported.store import MODEL, SETTINGS, TOKENIZER, WEIGHTS, folder_of, read_settings
from semsearch.exported.trial import trial_texts
from semsearch.progress import Silent
from semsearch.provider import LocalModels, load_for_questions, prepare_quick_answers, request_for

TEXTS = ["quantum physics of galaxies", "", "We study dense retrieval of scientific papers. " * 40, "深度学习 🙂", "A",
         *(f"paper {number} on " + "language models " * (number % 13) for number in range(200))]
ALIEN = {"torch", "transformers", "sentence_transformers", "huggingface_hub", "onnx"}


@pytest.fixture(autouse=True)
def own_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An empty hub cache, an empty user cache, and no network."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    with network_forbidden(monkeypatch):
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, EncoderIdentity]]:
    """A model with two prompts, a user cache that holds its export, and its identity."""
    folder = tmp_path_factory.mktemp("made")
    tiny = make_tiny_model(folder / "tiny", prompts={"query": "question: ", "document": "paper text: "})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEMSEARCH_CACHE_DIR", str(folder / "cache"))
        encoder = load_encoder(EncoderRequest(str(tiny), device="cpu"))
        export(encoder)
    yield tiny, folder / "cache", encoder.identity


@pytest.fixture
def tiny(made: tuple[Path, Path, EncoderIdentity], tmp_path: Path) -> Path:
    """The model; its export is in the user cache of this test."""
    shutil.copytree(made[1], tmp_path / "cache")
    return made[0]


@pytest.fixture
def identity(tiny: Path, made: tuple[Path, Path, EncoderIdentity]) -> EncoderIdentity:
    return made[2]


def place(identity: EncoderIdentity) -> Path:
    folder = folder_of(identity.fingerprint)
    assert folder is not None
    return folder


def loaded(identity: EncoderIdentity) -> ExportedEncoder:
    encoder = load_exported(identity)
    assert encoder is not None
    return encoder


# The numbers


def test_vectors_and_lengths_are_those_of_the_original(tiny, identity):
    original, quick = load_encoder(EncoderRequest(str(tiny), device="cpu")), loaded(identity)
    ours, theirs = quick.encode_documents(TEXTS), original.encode_documents(TEXTS)
    np.testing.assert_allclose(ours.vectors, theirs.vectors, atol=1e-5)
    np.testing.assert_allclose(quick.encode_queries(TEXTS), original.encode_queries(TEXTS), atol=1e-5)
    assert ours.token_counts.tolist() == theirs.token_counts.tolist()
    assert max(ours.token_counts) > MAX_TOKENS
    assert sum(ours.token_counts) > 2 * BATCH_TOKENS
    assert (ours.vectors.dtype, ours.token_counts.dtype) == (np.float32, np.int32)
    assert np.abs(quick.encode_queries(TEXTS[:1]) - quick.encode_documents(TEXTS[:1]).vectors).max() > 0.01
    assert (quick.device, quick.identity) == ("cpu", original.identity)


def test_no_text_gives_no_vector_and_a_lone_surrogate_is_no_error(identity):
    quick = loaded(identity)
    vectors, counts = quick.encode_documents([])
    assert (vectors.shape, counts.shape, quick.encode_queries([]).shape) == ((0, 32), (0,), (0, 32))
    np.testing.assert_allclose(quick.encode_queries(["graph \udcff"]), quick.encode_queries(["graph ?"]), atol=1e-6)
    with pytest.raises(TypeError):
        quick.encode_queries("one text")


def with_pooling(folder: Path, mode: str) -> None:
    write_json(folder / "1_Pooling" / "config.json", {"embedding_dimension": 32, "pooling_mode": mode})


def with_dense(folder: Path, mode: str) -> None:
    """Put 32 -> 8 numbers between pooling and normalisation."""
    modules = json.loads((folder / "modules.json").read_text())
    modules.insert(2, {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    write_json(folder / "modules.json", [entry | {"idx": n, "name": str(n)} for n, entry in enumerate(modules)])
    (folder / "2_Dense").mkdir()
    write_json(folder / "2_Dense" / "config.json", {
        "in_features": 32, "out_features": 8, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"})
    save_file({"linear.weight": np.random.default_rng(1).normal(size=(8, 32)).astype(np.float32),
               "linear.bias": np.ones(8, np.float32)}, folder / "2_Dense" / "model.safetensors")


def truncated(folder: Path, mode: str) -> None:
    change_json(folder / "config_sentence_transformers.json", truncate_dim=12)


@pytest.mark.parametrize(("change", "mode"), [(with_pooling, "cls"), (with_pooling, "max"), (with_dense, "mean"),
                                              (truncated, "mean")])
def test_every_way_from_tokens_to_a_vector_is_exported(tmp_path, change, mode):
    folder = make_tiny_model(tmp_path / "tiny")
    change(folder, mode)
    original = load_encoder(EncoderRequest(str(folder), device="cpu"))
    export(original)
    quick = loaded(original.identity)
    few = TEXTS[:30]
    np.testing.assert_allclose(quick.encode_documents(few).vectors, original.encode_documents(few).vectors, atol=1e-5)


def test_a_smaller_maximum_of_tokens_is_another_encoder(tiny, identity):
    shorter = load_encoder(EncoderRequest(str(tiny), max_tokens=16, device="cpu"))
    assert load_exported(shorter.identity) is None
    export(shorter)
    np.testing.assert_allclose(loaded(shorter.identity).encode_documents(TEXTS[2:3]).vectors,
                               shorter.encode_documents(TEXTS[2:3]).vectors, atol=1e-5)


def test_a_text_without_a_vector_is_named(identity):
    class Zeros:
        def run(self, names, inputs):
            return [np.zeros((len(inputs["input_ids"]), 32), np.float32)]

    quick = loaded(identity)
    quick._session = Zeros()
    with pytest.raises(EncodingFailed, match="dark matter"):
        quick.encode_documents(["dark matter"])


@pytest.mark.parametrize("max_tokens", [8, 64, 8192])
def test_trial_texts_are_many_and_reach_beyond_the_limit(max_tokens):
    texts = trial_texts(max_tokens)
    assert len(set(texts)) >= 64
    assert max(len(text.split()) for text in texts) >= min(max_tokens, 512)


# What is refused


def test_an_encoder_whose_vectors_differ_is_refused_once_for_these_versions(tiny, identity, monkeypatch):
    original = load_encoder(EncoderRequest(str(tiny), device="cpu"))
    wrong = load_encoder(EncoderRequest(str(make_tiny_model(tiny.parent / "wrong", seed=7)), device="cpu"))
    write_graph = exporting._write_graph
    tried = []

    def write_another(model, folder, precision):  # as an exporter does that gets a model wrong
        tried.append(model)
        write_graph(wrong.parts[0], folder, precision)

    shutil.rmtree(place(identity))
    monkeypatch.setattr(exporting, "_write_graph", write_another)
    models = LocalModels()
    models._loaded = EncoderRequest(str(tiny)), original
    for _ in range(2):
        prepare_quick_answers(models, Silent())
    settings = read_settings(identity.fingerprint)
    assert "differ" in settings.refused
    assert sorted(path.name for path in place(identity).iterdir()) == [SETTINGS]
    assert (len(tried), load_exported(identity), is_prepared(identity.fingerprint)) == (1, None, True)
    assert readiness_of(identity.fingerprint) == (REFUSED, settings.refused)
    monkeypatch.setattr(exporting, "installed_versions", lambda: {"onnx": "99", "onnxruntime": "99"})
    monkeypatch.setattr(readiness, "installed_versions", exporting.installed_versions)
    assert not is_prepared(identity.fingerprint)
    assert readiness_of(identity.fingerprint) == (MISSING, "")


def test_a_model_without_a_fast_tokenizer_is_refused(tiny, identity, monkeypatch):
    original = load_encoder(EncoderRequest(str(tiny), device="cpu"))
    monkeypatch.setattr(type(original.parts[0].tokenizer), "backend_tokenizer", None)
    with pytest.raises(NotExportable, match="no tokenizer"):
        export(original)
    assert load_exported(identity) is None


@pytest.mark.parametrize("change", [{"device": "cuda"}, {"device": "mps"}, {"trust_remote_code": True},
                                    {"model": "elsewhere"}, {"revision": "main"}])
def test_other_requests_go_the_ordinary_way(identity, change):
    request = request_for(identity)
    assert isinstance(LocalModels().load_quick(request, identity), ExportedEncoder)
    assert LocalModels().load_quick(replace(request, **change), identity) is None


def test_a_provider_that_knows_nothing_of_it_is_asked_as_ever(fake_provider):
    request = EncoderRequest("fake")
    encoder = load_for_questions(fake_provider, request, fake_provider.identify(request))
    assert encoder is fake_provider.encoders[-1]
    prepare_quick_answers(fake_provider, Silent())


# What lies in the cache


@pytest.mark.parametrize("name", [MODEL, WEIGHTS, TOKENIZER])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_file_is_noticed(identity, name, damage):
    path = place(identity) / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content if damage == "changed" else content[:-1])
    assert load_exported(identity) is None
    assert not is_prepared(identity.fingerprint)


def test_what_is_damaged_is_made_again(identity):
    os.truncate(place(identity) / WEIGHTS, 1000)
    models = LocalModels()
    assert not isinstance(load_for_questions(models, request_for(identity), identity), ExportedEncoder)
    prepare_quick_answers(models, Silent())
    assert isinstance(load_for_questions(models, request_for(identity), identity), ExportedEncoder)
    assert not [path for path in place(identity).parent.iterdir() if path != place(identity)]


@pytest.mark.parametrize("content", [
    b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"format": 1}', b'{"format": 99}'])
def test_settings_that_make_no_sense_are_as_none(identity, content):
    (place(identity) / SETTINGS).write_bytes(content)
    assert read_settings(identity.fingerprint) is None
    assert load_exported(identity) is None


@pytest.mark.parametrize("change", [
    {"format": 2}, {"fingerprint": "0" * 64}, {"files": {}}, {"files": {"../model.onnx": [1, "a"]}}, {"files": 3},
    {"dimension": 31}, {"max_tokens": "64"}, {"padding": True}, {"queries": None}, {"versions": {"onnx": 1}}])
def test_settings_of_something_else_are_as_none(identity, change):
    change_json(place(identity) / SETTINGS, **change)
    if None in change.values():
        assert "queries" not in json.loads((place(identity) / SETTINGS).read_text())
    assert load_exported(identity) is None


@pytest.mark.parametrize("fingerprint", ["", "..", "../../x", "/etc", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_what_is_no_fingerprint_leads_nowhere(identity, fingerprint):
    assert folder_of(fingerprint) is None
    assert load_exported(replace(identity, fingerprint=fingerprint)) is None


def test_another_onnxruntime_uses_what_is_there_until_it_is_made_again(identity):
    assert is_prepared(identity.fingerprint)
    versions = read_settings(identity.fingerprint).versions
    change_json(place(identity) / SETTINGS, versions={**versions, "onnxruntime": "1.0"})
    assert isinstance(load_exported(identity), ExportedEncoder)
    assert not is_prepared(identity.fingerprint)
    assert readiness_of(identity.fingerprint) == (READY, "")


def test_what_is_not_there_is_not_ready(identity, monkeypatch):
    assert readiness_of(identity.fingerprint) == (READY, "")
    shutil.rmtree(place(identity))
    assert readiness_of(identity.fingerprint) == (MISSING, "")
    monkeypatch.setattr(readiness, "installed_versions", lambda: {"torch": "2"})
    assert readiness_of(identity.fingerprint) == (MISSING, "onnx and onnxruntime not installed")


# Building and asking


class Notes(Silent):
    """Keeps the notes and the tasks."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def note(self, message):
        self.heard.append(message)


@pytest.mark.parametrize(("error", "noted"), [(KeyboardInterrupt(), "were not prepared"),
                                              (RuntimeError("broken"), "RuntimeError: broken"),
                                              (OSError(28, "No space left"), "No space left")])
def test_what_goes_wrong_while_preparing_is_noted_and_no_more(tiny, identity, monkeypatch, error, noted):
    def fail(*arguments):
        raise error

    shutil.rmtree(place(identity))
    monkeypatch.setattr(exporting, "check", fail)
    models, notes = LocalModels(), Notes()
    models.load(EncoderRequest(str(tiny), device="cpu"))
    prepare_quick_answers(models, notes)
    assert [noted in note for note in notes.heard] == [True]
    assert read_settings(identity.fingerprint) is None
    assert not list(place(identity).parent.iterdir())


def modules_after(code: str, *arguments: str) -> tuple[set[str], str]:
    """Return the top-level modules of a new process after `code`, and what it wrote before."""
    report = "import sys; print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}", *arguments], capture_output=True, text=True,
                          cwd=Path(__file__).resolve().parent.parent, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    *written, modules = done.stdout.splitlines()
    return set(modules.split()), "\n".join(written)


COMMAND_LINE = """
import sys
from semsearch.cli import main
try:
    main(sys.argv[1:])
except SystemExit as exit:
    assert not exit.code, exit.code
"""


def test_running_an_exported_encoder_imports_no_torch(identity, tmp_path):
    code = ("import sys, json\nfrom semsearch.encoding import EncoderIdentity\n"
            "from semsearch.exported.session import load_exported\n"
            "vectors = load_exported(EncoderIdentity(*json.loads(sys.argv[1]))).encode_queries(['graph', 'cells'])\n"
            "print(json.dumps(vectors.tolist()))")
    values = [identity.model, identity.revision, identity.dimension, identity.max_tokens, identity.precision,
              identity.fingerprint]
    modules, written = modules_after(code, json.dumps(values))
    assert not modules & ALIEN
    assert {"onnxruntime", "tokenizers"} <= modules
    np.testing.assert_allclose(json.loads(written.strip()), loaded(identity).encode_queries(["graph", "cells"]),
                               atol=1e-6)


@pytest.fixture
def index(tiny: Path, tmp_path: Path) -> Path:
    papers = tmp_path / "papers.jsonl"
    papers.write_text("".join(json.dumps({"id": f"p{n}", "title": f"Paper {n}", "abstract": text}) + "\n"
                              for n, text in enumerate(TEXTS[5:30])))
    build_index([papers], tmp_path / "indexes" / "tiny", BuildOptions(model=str(tiny), device="cpu"))
    return tmp_path / "indexes" / "tiny"


def ask(index: Path, *command: str) -> tuple[set[str], list[dict[str, object]]]:
    modules, written = modules_after(COMMAND_LINE, *command, "--home", str(index.parent), "-i", index.name,
                                     "--format", "jsonl")
    return modules, [json.loads(line) for line in written.splitlines() if line]


def test_a_cold_question_imports_no_torch_and_finds_the_same(index, identity):
    question = ("query", "language models of", "-k", "5")
    modules, hits = ask(index, *question)
    assert not modules & {*ALIEN, "faiss", "portalocker"}
    shutil.rmtree(place(identity))
    modules, expected = ask(index, *question)
    assert "torch" in modules
    assert [hit["id"] for hit in hits] == [hit["id"] for hit in expected]
    np.testing.assert_allclose([hit["score"] for hit in hits], [hit["score"] for hit in expected], atol=1e-4)
    assert isinstance(load_exported(identity), ExportedEncoder), "asking did not prepare the next question"


def test_a_cold_related_needs_no_encoder_at_all(index):
    modules, hits = ask(index, "related", "p3")
    assert not modules & {*ALIEN, "onnxruntime", "tokenizers", "faiss", "portalocker", "pylatexenc"}
    assert hits


def test_building_prepares_quick_answers(index, identity, tmp_path):
    shutil.rmtree(place(identity))
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "new", "title": "A new paper", "abstract": "On stars."}) + "\n")
    build_index([more], index, BuildOptions(device="cpu"))
    assert isinstance(load_exported(identity), ExportedEncoder)


def test_an_exported_encoder_is_an_encoder(identity):
    encoder: Encoder = loaded(identity)
    assert encoder.identity == identity
