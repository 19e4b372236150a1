"""semsearch watch: saving searches, and running them as a cron job would."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from command_line import CELLS, CommandLine

from semsearch.index import staged_file
from semsearch.index.state import read_state

ROOT = Path(__file__).resolve().parents[2]
ATOM = "{http://www.w3.org/2005/Atom}"
STARS = {"id": "stars4", "title": "Stars guide birds", "abstract": "Birds watch them.", "year": 2004,
         "url": "https://b.org/4"}
GENES = {"id": "genes5", "title": "Genes", "abstract": "Cells copy genes.", "year": 2005}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """When builds happen."""
    clock = SimpleNamespace(seconds=1_700_000_000)
    monkeypatch.setattr(staged_file, "time", SimpleNamespace(time=lambda: clock.seconds))
    return clock


@pytest.fixture
def watched(clock: SimpleNamespace, built: CommandLine) -> CommandLine:
    """The command line in a folder with the index of three papers and a search for birds."""
    built.ok("watch", "add", "birds", "who watches birds?", "--mode", "dense", "--min-score", "0.3")
    return built


def grow(cli: CommandLine, clock: SimpleNamespace, *papers: dict[str, object]) -> None:
    clock.seconds += 60
    file = cli.folder / f"{clock.seconds}.jsonl"
    file.write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    cli.ok("build", str(file))


def test_nothing_new_prints_nothing(watched: CommandLine) -> None:
    for arguments in ([], ["birds"], ["--json"], ["--format", "csv"], ["--format", "bibtex"], ["--format", "csl-json"]):
        result = watched("watch", "run", *arguments)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_new_papers_that_are_near_enough_are_printed_once(watched: CommandLine, clock: SimpleNamespace) -> None:
    grow(watched, clock, STARS, GENES)
    [hit] = watched.json("watch", "run", "--json")
    assert list(hit)[:4] == ["query", "rank", "score", "score_kind"]
    assert (hit["query"], hit["rank"], hit["id"]) == ("birds", 1, "stars4")
    # who, watches, birds against stars, guide, birds 2, watch, them
    assert hit["score"] == pytest.approx(2 / (3 * 8) ** 0.5, abs=1e-6)
    assert watched.ok("watch", "run") == ""


def test_the_list_for_people(watched: CommandLine, clock: SimpleNamespace) -> None:
    watched.ok("watch", "add", "cells", "genes of cells", "--mode", "dense", "--min-score", "0.3")
    grow(watched, clock, STARS, GENES)
    assert watched.ok("watch", "run") == (
        "birds: 1 new paper\n\n"
        "  1   0.408 Stars guide birds\n"
        "            2004\n"
        "            stars4\n"
        "            Birds watch them.\n"
        "\n"
        "cells: 1 new paper\n\n"
        "  1   0.707 Genes\n"
        "            2005\n"
        "            genes5\n"
        "            Cells copy genes.\n")


def test_a_dry_run_leaves_them_new(watched: CommandLine, clock: SimpleNamespace) -> None:
    grow(watched, clock, STARS)
    before = (watched.home / "papers" / "state.json").read_bytes()
    first = watched.ok("watch", "run", "--dry-run", "--format", "ids")
    assert (watched.home / "papers" / "state.json").read_bytes() == before
    assert first == watched.ok("watch", "run", "--format", "ids") == "stars4\n"


@pytest.mark.parametrize("form, beginning", [
    ("csv", "query_id,rank,score,"), ("bibtex", "@misc{stars4,\n"), ("ris", "TY  - GEN\nID  - stars4\n"),
    ("csl-json", '[\n{"id": "stars4", '), ("ids", "stars4\n"), ("table", "birds: 1 new paper\n")])
def test_every_format(watched: CommandLine, clock: SimpleNamespace, form: str, beginning: str) -> None:
    grow(watched, clock, STARS)
    assert watched.ok("watch", "run", "--format", form).startswith(beginning)


def test_a_feed_keeps_what_earlier_runs_gave(watched: CommandLine, clock: SimpleNamespace) -> None:
    def feed(*arguments: str) -> ElementTree.Element:
        assert watched.ok("watch", "run", *arguments, "--format", "atom", "-o", "feed.xml") == ""
        return ElementTree.parse(watched.folder / "feed.xml").getroot()

    def entries(root: ElementTree.Element) -> list[tuple[str | None, str | None]]:
        return [(entry.findtext(f"{ATOM}id"), entry.findtext(f"{ATOM}title")) for entry in root.iter(f"{ATOM}entry")]

    empty = feed()
    assert entries(empty) == [] and empty.findtext(f"{ATOM}title") == "semsearch papers"
    grow(watched, clock, STARS)
    first = entries(feed())
    assert [title for _, title in first] == ["Stars guide birds"]
    content = (watched.folder / "feed.xml").read_bytes()
    assert entries(feed()) == first and (watched.folder / "feed.xml").read_bytes() == content
    grow(watched, clock, {**STARS, "id": "new", "title": "Who watches birds", "url": ""})
    later = feed()
    assert set(entries(later)) > set(first) and len(entries(later)) == 2
    assert later.findtext(f"{ATOM}id") == empty.findtext(f"{ATOM}id")
    assert feed("birds").findtext(f"{ATOM}id") != empty.findtext(f"{ATOM}id")


def test_what_could_not_be_written_stays_new(watched: CommandLine, clock: SimpleNamespace,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    grow(watched, clock, STARS)

    def full(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("semsearch.index.durable.os.replace", full)
        assert "No space left" in watched.fails("watch", "run", "-o", "news.jsonl")
    assert watched.ok("watch", "run", "--format", "ids") == "stars4\n"


@pytest.mark.parametrize("stream", ["full disk", "closed pipe"])
def test_output_that_did_not_arrive_stays_new(watched: CommandLine, clock: SimpleNamespace, stream: str) -> None:
    if stream == "full disk" and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    grow(watched, clock, STARS)
    code = (f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r})\n"
            "from fakes import FakeProvider\n"
            "from semsearch.cli.app import App, main\n"
            "main(['watch', 'run'], obj=App(FakeProvider()))")
    if stream == "full disk":
        target = os.open("/dev/full", os.O_WRONLY)
    else:
        reading, target = os.pipe()
        os.close(reading)
    try:
        done = subprocess.run([sys.executable, "-c", code], stdout=target, stderr=subprocess.PIPE, text=True,
                              cwd=watched.folder, env={**os.environ, "PYTHONPATH": str(ROOT)})
    finally:
        os.close(target)
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if stream == "full disk" else 0)
    assert read_state(watched.home / "papers").searches["birds"].reports == ()
    assert watched.ok("watch", "run", "--format", "ids") == "stars4\n"


def test_one_search_that_cannot_be_asked_does_not_stop_the_others(watched: CommandLine, clock: SimpleNamespace) -> None:
    watched.ok("watch", "add", "like", "--like", "cells3")
    grow(watched, clock, STARS)
    watched.ok("delete", "cells3", "--yes")
    result = watched("watch", "run", "--format", "ids")
    assert (result.exit_code, result.stdout) == (1, "stars4\n")
    assert "Error: like: none of the papers" in result.stderr and "watch add like --replace" in result.stderr
    assert watched("watch", "run", "birds").exit_code == 0


def test_liked_papers_instead_of_a_question(watched: CommandLine, clock: SimpleNamespace) -> None:
    watched.ok("watch", "add", "like", "--like", "10.1000/birds", "--like", "birds1", "-k", "1")
    grow(watched, clock, GENES, STARS)
    watched.provider.encoders.clear()
    assert watched.ok("watch", "run", "like", "--format", "ids") == "stars4\n"
    assert watched.provider.loaded == 0


def test_saving_loads_no_model_and_all_counts_what_is_there(watched: CommandLine) -> None:
    watched.provider.encoders.clear()
    result = watched("watch", "add", "all", "birds", "--all", "--mode", "dense", "-k", "1")
    assert (result.exit_code, result.stdout, watched.provider.loaded) == (0, "", 0)
    assert "The first run gives papers that are in the index already." in result.stderr
    assert watched.ok("watch", "run", "all", "--format", "ids") == "birds1\n"
    assert watched.ok("watch", "run", "all", "--format", "ids") == ""


def test_a_name_is_taken_until_it_is_replaced(watched: CommandLine) -> None:
    error = watched.fails("watch", "add", "birds", "cells", status=2)
    assert "already" in error and "--replace" in error
    watched.ok("watch", "add", "birds", "cells", "--replace")
    assert read_state(watched.home / "papers").searches["birds"].question == "cells"


def test_the_list_of_searches(watched: CommandLine, clock: SimpleNamespace) -> None:
    watched.ok("watch", "add", "like", "--like", "cells3", "--year", "2004..", "--author", "Ada")
    grow(watched, clock, STARS)
    watched.ok("watch", "run", "birds")
    lines = watched.ok("watch", "list").splitlines()
    assert lines[0].split("  ")[0] == "name" and len(lines) == 3
    assert lines[1].startswith("birds  1 ") and lines[1].endswith("who watches birds?; min score 0.3")
    assert " never " in lines[2] and "like cells3; years 2004..; author Ada" in lines[2]
    birds, like = watched.json("watch", "list", "--json")
    assert (birds["name"], birds["question"], birds["min_score"], birds["reported"]) == (
        "birds", "who watches birds?", 0.3, 1)
    assert like["filter"] == {"first_year": 2004, "authors": ["Ada"]} and like["likes"] == ["cells3"]


def test_searches_are_removed(watched: CommandLine) -> None:
    assert watched("watch", "remove", "birds").stderr == "Removed 'birds'.\n"
    result = watched("watch", "list")
    assert (result.exit_code, result.stdout) == (0, "") and "semsearch watch add" in result.stderr
    assert watched.ok("watch", "run") == ""


@pytest.mark.parametrize("arguments, status, error", [
    (["run", "bird"], 1, "No saved search is called 'bird'. There: birds."),
    (["remove", "birds", "cells"], 1, "No saved search is called 'cells'. There: birds."),
    (["add", "x"], 2, "What is to be watched?"),
    (["add", "x", "-only"], 2, "No such option"),
    (["add", "x", " "], 1, "The question is empty."),
    (["add", "x", "--like", "nobody"], 1, "No paper has the id or alias 'nobody'."),
    (["add", "x", "birds", "--where", "no sql"], 2, "Error"),
    (["add", "", "birds"], 2, "is not a name for a search"),
    (["add", "x", "birds", "-i", "none"], 1, "No index named 'none'"),
    (["run", "-i", "none"], 1, "No index named 'none'"),
    (["list", "-i", "none"], 1, "No index named 'none'"),
    (["remove", "x", "-i", "none"], 1, "No index named 'none'"),
    (["sing"], 2, "No such command 'sing'"),
])
def test_what_makes_no_sense_is_told(watched: CommandLine, arguments: list[str], status: int, error: str) -> None:
    assert error in watched.fails("watch", *arguments, status=status)
    assert list(read_state(watched.home / "papers").searches) == ["birds"]


@pytest.mark.parametrize("name", ["add", "run", "list", "remove"])
def test_every_subcommand_explains_itself_with_an_example(cli: CommandLine, name: str) -> None:
    text = cli.ok("watch", name, "--help")
    assert f"semsearch watch {name}" in text and "Examples:" in text


def test_the_state_of_an_older_version_has_no_searches(watched: CommandLine) -> None:
    state = watched.home / "papers" / "state.json"
    watched.ok("watch", "remove", "birds")
    assert "searches" not in json.loads(state.read_text())["state"]
    watched.ok("watch", "add", "cells", CELLS["title"])
    assert [search["name"] for search in json.loads(state.read_text())["state"]["searches"]] == ["cells"]
