"""The page, in a real browser: what it shows of coverage, answers and text that is not to be trusted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
import uvicorn
from fakes import FakeProvider
from made_papers import record, run_build, write_jsonl

from semsearch.server.api import PAGE, create_app
from semsearch.server.service import ServerOptions

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUESTION = "graph attention for a robot"
Shown = Callable[[str], str]


@pytest.fixture
def server(home: Path) -> Iterator[tuple[str, object]]:
    """The address of a server over the home, and its app."""
    evil = [record(1, url="javascript:alert(1)", authors=["<img src=x onerror=alert(2)>"],
                   venue="<script>alert(3)</script>", abstract="🐦🐦🐦 Of a graph 🐦 and an ocean.")]
    run_build([write_jsonl(home.parent / "evil.jsonl", evil)], home / "evil")
    app = create_app(home, FakeProvider(), ServerOptions())
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/", app
    running.should_exit = True
    thread.join()


@pytest.fixture
def shown(server, tmp_path: Path) -> Shown:
    """Returns what a browser makes of the page at an address below the server, once all has been loaded."""
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("there is no Chromium to look at the page with")

    def show(path: str) -> str:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000",
                   f"--user-data-dir={tmp_path / 'browser'}", "--dump-dom", server[0] + path]
        environment = {**os.environ, "HOME": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=environment).stdout

    return show


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


@pytest.mark.slow
def test_an_answer_and_the_coverage_of_a_bare_index(shown):
    dom = shown("?index=bare&q=graph+attention+for+a+robot")
    text = text_of(dom)
    assert "10 of 60 papers" in text
    assert dom.count("Related papers</button>") == 10
    assert text.count("encoded for this question") >= 10
    assert re.search(r"\d+% encoded: \d+ of 60 papers; semsearch build encodes the rest", text)
    assert "papers are not encoded yet" in text
    assert "<mark>" in dom
    assert re.search(r'<div id="coverage">', dom)


@pytest.mark.slow
def test_a_whole_index_says_nothing_of_coverage(shown):
    dom = shown("?index=whole&q=graph&limit=25")
    assert '<div id="coverage" hidden="">' in dom
    assert dom.count("Related papers</button>") == 25
    assert "encoded for this question" not in dom


@pytest.mark.slow
def test_related_papers(shown):
    text = text_of(shown("?index=whole&like=p3"))
    assert "Papers like Study 3 of" in text and "10 of 60 papers" in text


@pytest.mark.slow
def test_there_is_more_only_where_there_is(shown):
    assert '<button id="more" type="button">' in shown("?index=whole&q=graph&limit=50")
    assert '<button id="more" type="button" hidden="">' in shown("?index=evil&q=graph")


@pytest.mark.slow
def test_the_first_index_that_can_be_asked_is_chosen(shown, home):
    next((home / "bare").glob("generations/*/manifest.json")).write_text("{}")
    (home / "bare" / "CURRENT").touch()  # opened anew
    dom = shown("?q=graph")
    assert "bare (cannot be asked)</option>" in dom
    assert "1 of 1 papers" in text_of(dom)  # of `evil`, which comes next
    assert "gone (not there)</option>" in shown("?index=gone&q=graph")


@pytest.mark.slow
def test_errors_are_shown_with_the_way_out(shown):
    dom = shown("?index=whole&q=graph&year=soon")
    assert 'class="error"' in dom
    assert "'soon' is no range of years. Give it as 2020..2025" in text_of(dom)
    assert "There is no index named 'nowhere'" in text_of(shown("?index=nowhere&q=graph"))


@pytest.mark.slow
def test_text_of_papers_never_becomes_markup(shown):
    dom = shown("?index=evil&q=graph")
    hits = dom[dom.index('<ol id="hits">'):dom.index("</ol>")]
    assert "&lt;img src=x onerror=alert(2)&gt; · &lt;script&gt;alert(3)&lt;/script&gt;" in hits
    assert "<img" not in hits and "<script" not in hits and "javascript:" not in hits


@pytest.mark.slow
def test_words_are_marked_where_they_are_beyond_the_basic_plane_too(shown):
    assert "Of a <mark>graph</mark> 🐦 and an ocean." in shown("?index=evil&q=graph")


def test_the_page_loads_nothing_from_elsewhere():
    for file in PAGE.iterdir():
        assert not re.search(r"(src|href)=\"?(https?:)?//|@import|url\(\s*['\"]?http", file.read_text("utf-8")), file
