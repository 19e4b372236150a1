"""semsearch show, list and info."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from command_line import BIRDS, CommandLine


def damage(home: Path, name: str = "papers") -> Path:
    """Cut a file of an index, and return it."""
    path = home / name / "generations" / "1" / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1])
    return path


def test_show_gives_every_field(built: CommandLine) -> None:
    assert built.ok("show", "birds1") == (
        "id          birds1\n"
        "title       Birds navigate\n"
        "authors     Ada Byron; Li, Wei\n"
        "date        2001\n"
        "venue       Journal of Birds\n"
        "categories  biology\n"
        "doi         10.1000/birds\n"
        "url         https://b.org/1\n"
        "abstract    Birds watch stars.\n")


def test_show_says_where_there_is_no_abstract(cli: CommandLine) -> None:
    (cli.folder / "a.jsonl").write_text('{"id": "a", "title": "Birds", "arxiv": "1706.03762v2"}\n')
    cli.ok("build", "a.jsonl")
    assert cli.ok("show", "arXiv:1706.03762") == (
        "id          a\ntitle       Birds\nalso        arxiv 1706.03762\nabstract    none\n")


def test_show_by_other_names_and_in_other_formats(built: CommandLine) -> None:
    [paper] = built.json("show", "doi:10.1000/BIRDS", "--json")
    assert paper == {**BIRDS, "date": "2001", "markup": "plain"}
    assert built.ok("show", "songs2", "-", "--format", "ids", input="birds1\n") == "songs2\nbirds1\n"
    assert built.ok("show", "songs2", "--format", "bibtex").startswith("@misc{songs2,\n  title = {Birds sing}")


def test_show_shows_all_or_says_which_is_missing(built: CommandLine) -> None:
    error = built.fails("show", "birds1", "nothing", "neither")
    assert error.startswith("Error: No paper has the id or alias 'nothing'.\n")
    assert "ID" in built.fails("show", status=2)


def test_show_has_no_ranks_to_write(built: CommandLine) -> None:
    assert "'trec' is not one of" in built.fails("show", "birds1", "--format", "trec", status=2)


def test_list_names_every_index_with_its_state(built: CommandLine) -> None:
    built.ok("build", "papers.jsonl", "-i", "broken")
    damaged = damage(built.home, "broken")
    lines = built.ok("list").splitlines()
    assert lines[0].split() == ["name", "papers", "model", "created", "size", "state"]
    assert lines[1].startswith("broken  -       -") and f"damaged: {damaged.relative_to(built.folder)} has " in lines[1]
    assert lines[2].startswith("papers  3       sentence-transformers/all-MiniLM-L6-v2  20")
    assert lines[2].endswith("  ok")


def test_list_as_json(built: CommandLine) -> None:
    [listed] = built.json("list", "--json")
    assert list(listed) == ["name", "state", "papers", "model", "created", "size_bytes", "generation", "coverage"]
    files = [path for path in (built.home / "papers").rglob("*") if path.is_file()]
    assert (listed["state"], listed["papers"], listed["generation"], listed["coverage"]) == ("ok", 3, 1, 1.0)
    assert listed["size_bytes"] == sum(path.stat().st_size for path in files)


def test_list_of_nothing(cli: CommandLine) -> None:
    result = cli("list")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "There is no index in indexes. Make one with: semsearch build SOURCE...\n"
    assert cli.ok("list", "--json", "--home", "none") == ""


def test_an_index_whose_first_build_was_stopped(cli: CommandLine) -> None:
    (cli.home / "half" / "generations").mkdir(parents=True)
    assert "unfinished: go on with semsearch build -i half" in cli.ok("list")


def test_an_index_of_another_format(built: CommandLine) -> None:
    manifest = built.home / "papers" / "generations" / "1" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 99}))
    digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
    (built.home / "papers" / "CURRENT").write_text(f"1 {digest}\n")
    assert "of another format: " in built.ok("list")
    assert "Update semsearch." in built.fails("info")


def test_info_tells_what_made_the_index(built: CommandLine) -> None:
    text = built.ok("info")
    assert text.startswith("index       papers (generation 1, 20")
    for line in ("papers      3", "model       sentence-transformers/all-MiniLM-L6-v2",
                 "            64 dimensions, 256 tokens, float32", "vectors     3 (100% of the papers)",
                 "search      exact (Flat)"):
        assert f"\n{line}\n" in text
    assert "papers.jsonl: 3 papers (jsonl)" in " ".join(text.split())
    assert built.ok("info", "papers") == text == built.ok("info", "-i", "papers")


def test_info_as_json(built: CommandLine) -> None:
    built.ok("delete", "cells3")
    [info] = built.json("info", "--json")
    assert (info["papers"], info["deleted"], info["vectors"], info["dimension"]) == (2, 1, 3, 64)
    assert "1 deleted by you" in built.ok("info")


def test_info_of_a_damaged_index_names_the_file(built: CommandLine) -> None:
    damaged = damage(built.home)
    error = built.fails("info")
    assert error.startswith(f"Error: The index is damaged: {damaged.relative_to(built.folder)} has ")
    assert "semsearch build --rebuild" in error


@pytest.mark.parametrize("command", [["query", "birds"], ["related", "birds1"], ["export"], ["info"]])
def test_a_damaged_index_is_refused_by_every_command(built: CommandLine, command: list[str]) -> None:
    damage(built.home)
    assert "The index is damaged: " in built.fails(*command)
