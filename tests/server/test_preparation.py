"""Encoders that a server had to load as they are: another process exports them, and it takes them in that form."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time

import pytest
from fakes import FakeProvider
from made_papers import records, write_jsonl
from starlette.testclient import TestClient
from tiny_model import make_tiny_model

from semsearch.build import BuildOptions, build_index
from semsearch.encoder import SentenceTransformerEncoder, load_encoder
from semsearch.encoding import EncoderRequest
from semsearch.export_process import prepare, start
from semsearch.exported.session import ExportedEncoder, load_exported
from semsearch.provider import LocalModels
from semsearch.server import preparation
from semsearch.server.api import create_app
from semsearch.server.preparation import Preparation
from semsearch.server.service import ServerOptions

COUNT = 30


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A user's cache with nothing in it."""
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "cache"


@pytest.fixture
def tiny(tmp_path):
    return make_tiny_model(tmp_path / "tiny")


@pytest.fixture
def home(tmp_path, tiny):
    """The home of an index of which nothing is encoded."""
    source = write_jsonl(tmp_path / "papers.jsonl", records(COUNT))
    build_index([source], tmp_path / "home" / "bare", BuildOptions(model=str(tiny), encode="later"))
    return tmp_path / "home"


def wait_until(is_so):
    end = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def ask(client):
    answer = client.get("/api/indexes/bare/query", params={"q": "a study of graphs", "encode_budget": 5})
    assert answer.status_code == 200
    return answer.json()


def test_a_server_takes_the_encoder_anew_once_another_process_has_exported_it(home):
    with TestClient(create_app(home, LocalModels(), ServerOptions(encode_idle=True))) as client:
        shelf = client.app.state.service.shelf
        before = ask(client)
        assert before["coverage"] == 5 / COUNT

        def is_exported():
            found = client.app.state.service.desk.look(lambda: shelf.open("bare").searcher.encoder()).result(60)
            return isinstance(found, ExportedEncoder)

        wait_until(is_exported)
        after = ask(client)
        assert after["coverage"] >= 10 / COUNT
        wait_until(lambda: client.get("/api/indexes/bare").json()["coverage"] == 1.0)
    with TestClient(create_app(home, LocalModels(), ServerOptions())) as client:
        assert ask(client)["coverage"] == 1.0


def test_a_process_exports_and_says_whether_it_is_there(tiny, monkeypatch, tmp_path):
    encoder = load_encoder(EncoderRequest(str(tiny), device="cpu"))
    (tmp_path / "elsewhere").mkdir()
    for module in ("json", "numpy", "torch", "semsearch"):  # not of ours: a folder of somebody's work
        (tmp_path / "elsewhere" / f"{module}.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert start(encoder.identity).wait(120) == 0
    assert load_exported(encoder.identity) is not None
    shutil.rmtree(tiny)
    assert prepare(encoder.identity)  # it has been
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path / "other"))
    assert start(encoder.identity).wait(120) == 1
    assert not prepare(encoder.identity)


def test_only_what_gains_by_it_is_exported(tiny, monkeypatch):
    begun = []
    monkeypatch.setattr(Preparation, "_run", lambda self, identity: begun.append(identity.fingerprint))
    request = EncoderRequest(str(tiny), device="cpu")
    encoder = load_encoder(request)
    assert isinstance(encoder, SentenceTransformerEncoder)

    def consider(provider, encoder, request):
        made = Preparation(provider, begun.append)
        for _ in range(2):
            made.consider(encoder, request)
        wait_until(lambda: not any(thread.name == "semsearch-prepare" for thread in threading.enumerate()))
        found = list(begun)
        begun.clear()
        return found

    assert consider(LocalModels(), encoder, request) == [encoder.identity.fingerprint]
    fake = FakeProvider()
    assert consider(fake, fake.load(request), request) == consider(fake, encoder, request) == []
    assert consider(LocalModels(), encoder, EncoderRequest(str(tiny), trust_remote_code=True)) == []
    assert consider(LocalModels(), encoder, EncoderRequest(str(tiny), device="cuda")) == []
    assert prepare(encoder.identity)
    assert consider(LocalModels(), encoder, request) == []
    assert consider(LocalModels(), load_exported(encoder.identity), request) == []


@pytest.fixture
def starting(monkeypatch):
    """Lets another command be run in place of the export."""
    def starts(*command):
        monkeypatch.setattr(preparation, "start", lambda identity: subprocess.Popen(command))

    return starts


IDENTITY = FakeProvider().identify(EncoderRequest("fake"))


@pytest.mark.parametrize("command", [(sys.executable, "-c", "raise SystemExit(1)"), ("/nowhere/at/all",)])
def test_where_it_fails_nothing_is_taken_anew(starting, command):
    heard = []
    starting(*command)
    Preparation(LocalModels(), heard.append)._run(IDENTITY)
    assert heard == []
    starting(sys.executable, "-c", "")
    Preparation(LocalModels(), heard.append)._run(IDENTITY)
    assert heard == [IDENTITY.fingerprint]


def test_the_end_of_the_server_ends_it(starting):
    heard = []
    made = Preparation(LocalModels(), heard.append)
    starting(sys.executable, "-c", "import time; time.sleep(600)")
    work = threading.Thread(target=made._run, args=(IDENTITY,))
    work.start()
    wait_until(lambda: made._process is not None)
    made.close()
    work.join(60)
    assert not work.is_alive()
    starting(sys.executable, "-c", "")
    made._run(IDENTITY)  # nor does another begin
    assert heard == []
