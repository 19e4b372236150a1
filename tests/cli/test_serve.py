"""The command `serve`: a process that answers, says where, and ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from made_papers import records, write_jsonl

HERE = Path(__file__).resolve().parents[1]

COMMAND = """
import signal
import sys
import time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what is in its background without one
from fakes import FakeEncoder, FakeProvider
from semsearch.cli.app import App, main
plain = FakeEncoder.encode_queries
def slowly(self, texts):
    if "slow" in texts[0]:
        print(texts[0], file=sys.stderr, flush=True)
        time.sleep(1)
    return plain(self, texts)
FakeEncoder.encode_queries = slowly
main(sys.argv[1:], obj=App(FakeProvider()))
"""


class Server:
    """`semsearch serve` over fake encoders, in a folder with the index `papers`."""

    def __init__(self, folder: Path, *options: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "serve", *options],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def address(self) -> str:
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://\S+:\d+/", line)
        assert found, line
        return found[0]

    def end(self, number: int) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def get(address: str) -> dict:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return json.load(answer)


@pytest.fixture
def folder(cli, tmp_path):
    write_jsonl(tmp_path / "papers.jsonl", records(30))
    cli.ok("build", "papers.jsonl")
    return tmp_path


def test_it_says_where_it_is_answers_and_ends_with_ctrl_c(folder):
    server = Server(folder, "--port", "0")
    address = server.address()
    assert address.startswith("http://127.0.0.1:")
    assert get(f"{address}api/indexes")["indexes"][0]["papers"] == 30
    assert len(get(f"{address}api/indexes/papers/query?q=graph&limit=3")["hits"]) == 3
    with urllib.request.urlopen(address, timeout=60) as page:
        assert b"<title>semsearch</title>" in page.read()
    status, out, err = server.end(signal.SIGINT)
    assert (status, out) == (130, "") and "Traceback" not in err


def test_it_ends_when_told_to_by_the_system(folder):
    server = Server(folder, "--port", "0", "--encode-idle")
    assert get(f"{server.address()}api/indexes")["indexes"][0]["encoded_when_idle"] is True
    status, out, err = server.end(signal.SIGTERM)
    assert status == -signal.SIGTERM and (out, err) == ("", "")


def ask_and_leave(address: str, question: str) -> None:
    """Send a question and close the connection at once."""
    port = int(re.search(r":(\d+)/", address)[1])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET /api/indexes/papers/query?q={question} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def test_a_question_whose_asker_has_gone_is_not_answered(folder):
    server = Server(folder, "--port", "0")
    address = server.address()
    for number in range(30):
        ask_and_leave(address, f"slow{number}")
    assert server.process.stderr.readline().strip() == "slow0"
    assert get(f"{address}api/indexes/papers/query?q=graph&limit=3")["hits"]
    _, _, err = server.end(signal.SIGTERM)
    assert len(err.split()) < 10 and "Traceback" not in err


def test_ctrl_c_tells_those_who_wait(folder):
    server = Server(folder, "--port", "0")
    address = server.address()
    answers = []

    def ask(question):
        try:
            answers.append((200, get(f"{address}api/indexes/papers/query?q={question}")))
        except urllib.error.HTTPError as error:
            answers.append((error.code, json.load(error)))

    askers = [threading.Thread(target=ask, args=(f"slow{number}",)) for number in range(6)]
    for asker in askers:
        asker.start()
    assert server.process.stderr.readline().startswith("slow")
    status, _, err = server.end(signal.SIGINT)
    for asker in askers:
        asker.join(60)
    assert status == 130 and "Traceback" not in err
    turned_away = [answer["error"]["type"] for code, answer in answers if code == 503]
    assert len(answers) == 6 and len(turned_away) >= 3 and set(turned_away) == {"ShuttingDown"}


def test_the_other_loopback_address_serves_too(folder):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this system has no IPv6")
    server = Server(folder, "--host", "::1", "--port", "0")
    address = server.address()
    assert address.startswith("http://[::1]:") and get(f"{address}health")["status"] == "ok"
    server.end(signal.SIGTERM)


def test_a_port_that_is_taken_is_said(cli):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = cli("serve", "--port", str(port))
    assert result.exit_code == 2
    assert f"127.0.0.1, port {port}, cannot be listened to" in result.stderr and "--port" in result.stderr


def test_an_empty_address_is_said(cli):
    result = cli("serve", "--host", "", "--port", "0")
    assert result.exit_code == 2 and "The address to listen at is empty" in result.stderr


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a..b", "x" * 70])
def test_an_address_that_is_none_is_said(cli, host):
    result = cli("serve", "--host", host, "--port", "0")
    assert result.exit_code == 2 and "cannot be listened to" in result.stderr


def test_without_the_extra_it_is_named(cli, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("semsearch.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = cli("serve")
    assert result.exit_code == 1 and "pip install 'semsearch[serve]'" in result.stderr


def test_listening_to_everyone_is_said(monkeypatch):
    from semsearch.server import run
    from semsearch.server.service import ServerOptions

    notes, hosts = [], []
    monkeypatch.setattr(run.uvicorn.Server, "run", lambda self, sockets: sockets[0].close())
    monkeypatch.setattr(run, "create_app", lambda home, provider, options, note: hosts.append(options.hosts))
    asked = ("0.0.0.0", "127.0.0.1", "localhost", "127.0.0.2")
    for host in asked:
        run.serve(Path(), None, ServerOptions(), notes.append, host=host, port=0)
    assert hosts[0] == ("*",) and all({"localhost", "127.0.0.1", "::1", name} <= set(names)
                                      for name, names in zip(asked[1:], hosts[1:], strict=True))
    assert len([note for note in notes if "Anyone who can reach this machine" in note]) == 1
