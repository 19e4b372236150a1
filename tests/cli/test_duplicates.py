"""semsearch duplicates."""

from __future__ import annotations

import json

import pytest
from command_line import BIRDS, CELLS, SONGS, CommandLine

# A preprint of BIRDS that says one word more: "too" beside birds 2, navigate, watch, stars.
PREPRINT = {"id": "preprint", "title": "Birds navigate", "abstract": "Birds watch stars too.", "year": 2000,
            "doi": "10.1000/preprint"}
COSINE = 7 / (7 * 8) ** 0.5


@pytest.fixture
def doubled(cli: CommandLine) -> CommandLine:
    """The command line in a folder with an index of four papers, two of which are nearly the same."""
    papers = (BIRDS, SONGS, CELLS, PREPRINT)
    (cli.folder / "papers.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in papers))
    cli.ok("build", "papers.jsonl")
    cli.provider.encoders.clear()
    return cli


def test_pairs_are_objects_with_the_cosine_counted_by_hand(doubled: CommandLine) -> None:
    [pair] = doubled.json("duplicates", "--threshold", "0.9", "--json")
    assert pair == {"group": 1, "cosine": pytest.approx(COSINE, abs=1e-6), "same_title": True,
                    "ids": ["birds1", "preprint"], "titles": ["Birds navigate", "Birds navigate"],
                    "years": [2001, 2000], "dois": ["10.1000/birds", "10.1000/preprint"]}
    assert doubled.provider.loaded == 0


def test_the_list_for_people_says_how_to_clean_up(doubled: CommandLine) -> None:
    result = doubled("duplicates", "--threshold", "0.9", "-q")
    assert result.stdout == (
        "Group 1: cosine 0.935, same title\n"
        "  birds1\n"
        "    Birds navigate\n"
        "    2001 · Journal of Birds · 10.1000/birds\n"
        "  preprint\n"
        "    Birds navigate\n"
        "    2000 · 10.1000/preprint\n")
    assert result.stderr == ""
    assert "semsearch delete ID" in doubled("duplicates", "--threshold", "0.9").stderr
    doubled.ok("delete", "preprint", "--yes")
    result = doubled("duplicates", "--threshold", "0.9")
    assert (result.exit_code, result.stdout) == (0, "") and "No duplicates" in result.stderr


def test_the_threshold_and_filters_decide(doubled: CommandLine) -> None:
    assert doubled.ok("duplicates", "--threshold", "0.94") == ""
    assert len(doubled.json("duplicates", "--threshold", "0.25", "--json")) == 3
    assert doubled.json("duplicates", "--threshold", "0.25", "--year", "2001..", "--json")[0]["ids"] == [
        "birds1", "songs2"]
    assert doubled.ok("duplicates", "--threshold", "0.9", "--json", "-o", "pairs.jsonl") == ""
    assert json.loads((doubled.folder / "pairs.jsonl").read_text())["ids"] == ["birds1", "preprint"]


def test_what_makes_no_sense(doubled: CommandLine) -> None:
    for threshold in ("0", "1.5", "high"):
        assert "--threshold" in doubled.fails("duplicates", "--threshold", threshold, status=2)
    assert "No index named 'none'" in doubled.fails("duplicates", "-i", "none")
