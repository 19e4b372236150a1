"""semsearch read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_line import BIRDS, CELLS, SONGS, CommandLine

BIB = """@article{birds1,
  title = {Birds navigate},
  author = {Byron, Ada and Wei, Li},
  journal = {Journal of Birds},
  year = 2001,
  doi = {10.1000/birds}
}

@misc{empty,
  year = 1999
}
"""


@pytest.fixture
def mixed(tmp_path: Path, papers_file: Path) -> Path:
    """A folder with a file of papers, a library with one of them and an unusable record, and a database."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    papers_file.rename(folder / "papers.jsonl")
    (folder / "library.bib").write_text(BIB, encoding="utf-8")
    (folder / "notes.dat").write_bytes(b"SQLite format 3\0" + bytes(100))
    return folder


def report_of(cli: CommandLine, *arguments: str, status: int = 0) -> dict[str, Any]:
    result = cli("read", *arguments, "--report", "report.json")
    assert result.exit_code == status, result.output
    report: dict[str, Any] = json.loads((cli.folder / "report.json").read_text(encoding="utf-8"))
    for file in report["files"]:
        assert file["records"] == file["papers"] + file["merged"] + len(file["rejected"]), file
    return report


def test_papers_go_to_standard_output_and_the_report_beside_it(cli: CommandLine, papers_file: Path) -> None:
    result = cli("read", "papers.jsonl")
    assert result.exit_code == 0
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["birds1", "songs2", "cells3"]
    assert ("papers.jsonl: 3 records = 3 papers + 0 merged + 0 rejected; 3 with abstract (jsonl, utf-8)\n"
            in result.stderr)
    assert not cli.home.exists() and cli.provider.loaded == 0


@pytest.mark.parametrize(("form", "begins"), [
    ("jsonl", '{"id": "birds1", "title": "Birds navigate"'),
    ("csv", "id,title,abstract,authors,year"),
    ("bibtex", "@article{birds1,\n  title = {Birds navigate}"),
    ("ris", "TY  - JOUR\nID  - birds1\n"),
    ("csl-json", '[\n{"id": "birds1"'),
    ("ids", "birds1\nsongs2\ncells3\n"),
])
def test_formats(cli: CommandLine, papers_file: Path, form: str, begins: str) -> None:
    assert cli.ok("read", "papers.jsonl", "--format", form).startswith(begins)


def test_json_is_json_lines(cli: CommandLine, papers_file: Path) -> None:
    assert cli.ok("read", "papers.jsonl", "--json") == cli.ok("read", "papers.jsonl")
    assert "--json" in cli.fails("read", "papers.jsonl", "--json", "--format", "ris", status=2)
    assert "'table' is not one of" in cli.fails("read", "papers.jsonl", "--format", "table", status=2)


def test_a_file_for_the_papers_takes_its_format_from_its_name(cli: CommandLine, papers_file: Path) -> None:
    assert cli.ok("read", "papers.jsonl", "-o", "all.bib") == ""
    assert (cli.folder / "all.bib").read_text(encoding="utf-8").startswith("@article{birds1,")
    assert cli.ok("read", "papers.jsonl", "-o", "all.bib", "--format", "ids") == ""
    assert (cli.folder / "all.bib").read_text(encoding="utf-8") == "birds1\nsongs2\ncells3\n"
    assert [paper["title"] for paper in cli.json("read", "papers.jsonl", "-o", "-")] == [
        "Birds navigate", "Birds sing", "Cells divide"]


def test_what_is_converted_reads_back(cli: CommandLine, papers_file: Path) -> None:
    first = cli.json("read", "papers.jsonl")
    for name in ("all.bib", "all.ris", "all.jsonl", "all.csv"):
        cli.ok("read", "papers.jsonl", "-o", name)
        again = cli.json("read", name)
        held = [{key: paper[key] for key in ("title", "abstract", "year", "venue", "doi", "url")} for paper in again]
        assert held == [{key: paper[key] for key in held[0]} for paper in first], name


def test_the_report_has_every_record_of_every_file(cli: CommandLine, mixed: Path) -> None:
    report = report_of(cli, "mixed", status=3)
    assert sorted(report) == ["files", "not_read"]
    library, papers = sorted(report["files"], key=lambda file: file["file"])
    assert library == {
        "file": str(Path("mixed") / "library.bib"), "format": "bibtex", "encoding": "utf-8", "detail": "", "records": 2,
        "papers": 1, "with_abstract": 1, "merged": 0,
        "rejected": [{"line": 9, "reason": "neither title nor abstract", "value": library["rejected"][0]["value"]}]}
    assert library["rejected"][0]["value"].startswith("@misc{empty,")
    assert (papers["format"], papers["records"], papers["papers"], papers["merged"]) == ("jsonl", 3, 2, 1)
    assert (papers["with_abstract"], papers["rejected"]) == (2, [])
    [(name, reason)] = report["not_read"].items()
    assert name.endswith("notes.dat") and "looks like an SQLite database" in reason


def test_records_of_one_work_in_two_files_are_one_paper(cli: CommandLine, mixed: Path) -> None:
    result = cli("read", "mixed")
    assert result.exit_code == 3
    papers = [json.loads(line) for line in result.stdout.splitlines()]
    assert sorted(paper["title"] for paper in papers) == ["Birds navigate", "Birds sing", "Cells divide"]
    [birds] = [paper for paper in papers if paper["title"] == "Birds navigate"]
    assert (birds["abstract"], birds["doi"]) == ("Birds watch stars.", "10.1000/birds")
    assert "library.bib: 2 records = 1 paper + 0 merged + 1 rejected; 1 with abstract (bibtex, utf-8)" in result.stderr
    assert "papers.jsonl: 3 records = 2 papers + 1 merged + 0 rejected; 2 with abstract (jsonl, utf-8)" in result.stderr
    assert "  line 9: neither title nor abstract: @misc{empty" in result.stderr
    assert "notes.dat: not read. " in result.stderr


def test_many_rejects_are_cut_short_but_in_the_report(cli: CommandLine) -> None:
    (cli.folder / "bad.jsonl").write_text(json.dumps(BIRDS) + "\n" + '{"id": 1}\n' * 8, encoding="utf-8")
    result = cli("read", "bad.jsonl")
    assert result.exit_code == 3
    assert result.stderr.count("neither title nor abstract") == 5
    assert "  and 3 more; --report FILE has them all\n" in result.stderr
    [file] = report_of(cli, "bad.jsonl", status=3)["files"]
    assert [reject["line"] for reject in file["rejected"]] == list(range(2, 10))


def test_strict_stops_at_the_first_record_that_cannot_be_used(cli: CommandLine, mixed: Path) -> None:
    error = cli.fails("read", "mixed", "--strict", "-o", "out.jsonl")
    assert "library.bib, line 9: neither title nor abstract" in error
    assert not (cli.folder / "out.jsonl").exists()
    assert len(cli.json("read", str(mixed / "papers.jsonl"), "--strict")) == 3


def test_standard_input(cli: CommandLine) -> None:
    lines = "".join(json.dumps(paper) + "\n" for paper in (BIRDS, SONGS))
    result = cli("read", "-", input=lines)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 2)
    assert "standard input: 2 records = 2 papers" in result.stderr
    [paper] = cli.json("read", "-", "--from", "bib", input=BIB.partition("@misc")[0])
    assert paper["id"] == "birds1"


def test_from_says_what_a_file_is(cli: CommandLine) -> None:
    (cli.folder / "list").write_text("Birds watch stars, and they find their way home by them.\n", encoding="utf-8")
    [paper] = cli.json("read", "list", "--from", "text")
    assert paper["abstract"] == "Birds watch stars, and they find their way home by them."
    error = cli.fails("read", "list", "--from", "nonsense", status=2)
    assert "There is no input format 'nonsense'" in error


def test_a_file_that_is_not_there_and_one_of_another_format(cli: CommandLine, mixed: Path) -> None:
    assert "There is no file or folder 'nowhere.bib'" in cli.fails("read", "nowhere.bib")
    error = cli.fails("read", str(mixed / "notes.dat"))
    assert "looks like an SQLite database, which this version does not read" in error
    assert "Missing argument 'SOURCE...'" in cli.fails("read", status=2)


def test_quiet_leaves_the_papers_and_the_status(cli: CommandLine, mixed: Path) -> None:
    result = cli("read", "mixed", "-q", "--format", "ids")
    assert (result.exit_code, result.stderr, len(result.stdout.splitlines())) == (3, "", 3)


def test_a_work_whose_id_another_has_gets_a_suffix(cli: CommandLine) -> None:
    (cli.folder / "a.bib").write_text("@misc{key, title = {Birds sing in spring}}\n", encoding="utf-8")
    (cli.folder / "b.bib").write_text("@misc{key, title = {Cells divide at night}}\n", encoding="utf-8")
    result = cli("read", "a.bib", "b.bib", "--format", "ids")
    assert result.exit_code == 0
    ids = result.stdout.splitlines()
    assert len(set(ids)) == 2 and ids[0] == "key" and ids[1].startswith("key")
    assert "1 work got a suffix, because another work in these files has their id." in result.stderr


def test_files_without_a_record(cli: CommandLine) -> None:
    (cli.folder / "empty.jsonl").write_bytes(b"")
    (cli.folder / "nothing").mkdir()
    [file] = report_of(cli, "empty.jsonl")["files"]
    assert (file["records"], file["rejected"]) == (0, [])
    assert report_of(cli, "nothing") == {"files": [], "not_read": {}}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this system lets its root read everything")
def test_a_file_that_may_not_be_read(cli: CommandLine, papers_file: Path) -> None:
    papers_file.chmod(0)
    assert "papers.jsonl cannot be opened: Permission denied" in cli.fails("read", "papers.jsonl")


def test_cells_alone_are_as_they_were(cli: CommandLine) -> None:
    (cli.folder / "cells.jsonl").write_text(json.dumps(CELLS) + "\n", encoding="utf-8")
    [paper] = cli.json("read", "cells.jsonl")
    assert {key: paper[key] for key in CELLS} == CELLS
