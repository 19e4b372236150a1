"""semsearch build."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import BIRDS, CommandLine
from fakes import FakeProvider

from semsearch.cli.build_report import report_lines
from semsearch.index.paper_table import SourceCounts
from semsearch.summary import BuildSummary


def test_the_report_names_files_papers_and_what_to_do_next(cli: CommandLine, papers_file: Path) -> None:
    lines = cli.ok("build", "papers.jsonl").splitlines()
    assert lines[0] == "papers.jsonl: 3 records = 3 papers (jsonl)"
    assert lines[1] == "Index papers, generation 1: 3 papers (3 added)"
    assert lines[2].startswith("Encoded 3 texts, in ")
    assert lines[3:] == ['Ask: semsearch query "..."']
    assert sorted(cli.provider.encoded) == ["Birds navigate Birds watch stars.", "Birds sing Males sing tunes.",
                                            "Cells divide Cells copy genes."]


def test_the_next_step_names_the_index_and_the_folder(cli: CommandLine, papers_file: Path) -> None:
    assert 'Ask: semsearch query -i mine "..."' in cli.ok("build", "papers.jsonl", "-i", "mine")
    (cli.folder / "a b").mkdir()
    report = cli.ok("build", "papers.jsonl", "-i", "mine", "--home", "a b")
    assert "Ask: semsearch query --home 'a b' -i mine \"...\"" in report


def test_building_again_says_that_nothing_changed(built: CommandLine) -> None:
    report = built.ok("build")
    assert "Index papers, generation 1: 3 papers (3 unchanged)\nNothing has changed since the last build.\n" in report


def test_only_what_is_new_is_encoded(built: CommandLine, papers_file: Path) -> None:
    with papers_file.open("a") as file:
        file.write('{"id": "new4", "title": "Genes divide"}\n')
    report = built.ok("build")
    assert "Index papers, generation 2: 4 papers (1 added, 3 unchanged)\nEncoded 1 text, 3 reused, in " in report
    assert "1 paper without an abstract: found by title alone.\n" in report


def test_json_is_the_summary(cli: CommandLine, papers_file: Path) -> None:
    [summary] = cli.json("build", "papers.jsonl", "--json", "-q")
    names = ("index", "generation", "records", "papers", "added", "updated", "unchanged", "removed", "merged",
             "rejected", "without_abstract", "encoded", "reused", "truncated", "coverage")
    assert [summary[name] for name in names] == ["papers", 1, 3, 3, 3, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1.0]
    assert [(file["records"], file["papers"]) for file in summary["files"]] == [(3, 3)]


def test_rejected_records_are_told_by_cause_and_change_the_exit_status(cli: CommandLine) -> None:
    (cli.folder / "some.jsonl").write_text(json.dumps(BIRDS) + '\n{"id": "x"}\n{"id": "y"}\nnot json\n')
    result = cli("build", "some.jsonl", "--rejects", "out.jsonl")
    assert result.exit_code == 3
    assert "some.jsonl: 4 records = 1 paper + 3 rejected (jsonl)\n" in result.stdout
    assert ("Rejected 3 records:\n  2 x neither title nor abstract\n  1 x not valid JSON\n"
            "  Each with file and line: out.jsonl\n") in result.stdout
    rejects = [json.loads(line) for line in (cli.folder / "out.jsonl").read_text().splitlines()]
    assert [(reject["file"], reject["line"], reject["reason"]) for reject in rejects] == [
        ("some.jsonl", 2, "neither title nor abstract"), ("some.jsonl", 3, "neither title nor abstract"),
        ("some.jsonl", 4, "not valid JSON")]
    again = cli("build", "some.jsonl", "--json")
    assert again.exit_code == 3 and json.loads(again.stdout)["rejected"] == 3


def test_strict_stops_at_the_first_record_that_cannot_be_used(cli: CommandLine) -> None:
    (cli.folder / "some.jsonl").write_text(json.dumps(BIRDS) + '\n{"id": "x"}\n')
    error = cli.fails("build", "some.jsonl", "--strict")
    assert "Error: some.jsonl, line 2: neither title nor abstract: x\nNothing was changed." in error
    assert not cli.home.joinpath("papers").exists()


def test_truncated_abstracts_are_counted_by_file_with_the_way_out(cli: CommandLine, papers_file: Path) -> None:
    # 5 words each; the fake encoder counts words.
    report = cli.ok("build", str(papers_file), "--max-tokens", "4", "-i", "short")
    assert ("3 of 3 abstracts are longer than 4 tokens and were cut there (longest 5): papers.jsonl 3\n"
            "  To read more of them, as far as the model can: semsearch reindex short --max-tokens 5\n") in report


def test_a_dry_run_writes_nothing(cli: CommandLine, papers_file: Path) -> None:
    report = cli.ok("build", "papers.jsonl", "--dry-run")
    assert report == ("Dry run: nothing was written. A build would do this:\n"
                      "papers.jsonl: 3 records = 3 papers (jsonl)\n"
                      "Index papers: 3 papers (3 added)\nTo be encoded: 3 texts\nLeave --dry-run out to build it.\n")
    assert not cli.home.exists() and cli.provider.encoded == []
    assert cli.json("build", "papers.jsonl", "--dry-run", "--json")[0]["generation"] is None


def test_the_sample_is_a_source(cli: CommandLine) -> None:
    [summary] = cli.json("build", "--sample", "--json")
    assert (summary["papers"], summary["merged"], summary["rejected"]) == (178, 0, 0)
    assert cli.ok("show", "vaswani2017attention", "--format", "ids") == "vaswani2017attention\n"


def test_standard_input_is_a_source(cli: CommandLine) -> None:
    [summary] = cli.json("build", "-", "--json", input=json.dumps(BIRDS) + "\n")
    assert (summary["papers"], summary["files"][0]["name"]) == (1, "standard input")


def test_prune_asks_for_yes_where_much_would_go(built: CommandLine, papers_file: Path) -> None:
    papers_file.write_text(json.dumps(BIRDS) + "\n")
    error = built.fails("build", "--prune", status=2)
    assert "Error: --prune would remove 2 of 3 papers, more than a quarter.\nNothing was changed." in error
    assert "1 paper (1 unchanged, 2 removed)" in built.ok("build", "--prune", "--yes")


def test_a_source_that_is_not_there(cli: CommandLine) -> None:
    assert cli.fails("build", "none.jsonl").startswith("Error: There is no file or folder 'none.jsonl'.\n")
    assert "No source is named, and this index remembers none." in cli.fails("build", status=2)


def test_an_unknown_format_is_answered_with_the_known_ones(cli: CommandLine, papers_file: Path) -> None:
    error = cli.fails("build", "papers.jsonl", "--from", "cuneiform", status=2)
    assert "There is no input format 'cuneiform'." in error and "jsonl" in error


def test_a_device_that_is_none_and_a_folder_that_is_not_there(cli: CommandLine, papers_file: Path) -> None:
    assert "'gpu' is no device. Give auto, cpu, cuda, cuda:N or mps." in cli.fails("build", "papers.jsonl", "--device",
                                                                                   "gpu", status=2)
    assert "There is no folder 'none'." in cli.fails("build", "papers.jsonl", "--rejects", "none/r.jsonl", status=2)


def test_quiet_leaves_the_report_and_no_notes(cli: CommandLine, papers_file: Path) -> None:
    loud, hushed = cli("build", "papers.jsonl"), cli("build", "papers.jsonl", "-q", "-i", "other")
    assert "Encoding: 3 abstracts ..." in loud.stderr
    assert hushed.stderr == "" and "3 papers" in hushed.stdout


def test_deleted_papers_stay_out_until_restored(built: CommandLine, papers_file: Path) -> None:
    built.ok("delete", "songs2")
    papers_file.write_text(papers_file.read_text() + '{"id": "new4", "title": "Genes"}\n')
    assert "1 record of deleted papers stayed out; --restore brings them back." in built.ok("build")
    assert "4 papers (1 added, 3 unchanged)" in built.ok("build", "--restore")


def test_another_model_encodes_everything_anew(built: CommandLine) -> None:
    [summary] = built.json("build", "--model", "other", "--json")
    assert (summary["encoded"], summary["reused"], summary["unchanged"]) == (3, 0, 3)
    assert built.json("info", "--json")[0]["model"] == "other"


def summary_of(files: tuple[SourceCounts, ...], **changes: object) -> BuildSummary:
    values = {"index": "papers", "generation": 1, "published": True, "records": 0, "papers": 0, "added": 0,
              "updated": 0, "unchanged": 0, "removed": 0, "merged": 0, "rejected": 0, "renamed": 0, "deleted": 0,
              "outdated": 0,
              "without_abstract": 0, "encoded": 0, "reused": 0, "truncated": 0, "longest_tokens": 0, "max_tokens": 256,
              "coverage": 1.0, "factory": "Flat", "recall_at_10": None, "seconds": 1.0, "truncated_in": {},
              "reject_reasons": {}, "refused_files": {}, "rejects_file": None}
    return BuildSummary(**{**values, **changes}, files=files)  # type: ignore[arg-type]


def test_many_files_are_summed_and_those_with_rejects_named() -> None:
    good = [SourceCounts(f"f{n}.csv", f"/f{n}.csv", "csv", "utf-8", "", 10, 9, 1, 0) for n in range(30)]
    bad = SourceCounts("bad.csv", "/bad.csv", "csv", "cp1252", "separated by ;", 5, 3, 0, 2)
    summary = summary_of((*good, bad), records=305, merged=30, rejected=2, reject_reasons={"no text": 2})
    lines = list(report_lines(summary, Path("indexes/papers")))
    assert lines[:2] == ["bad.csv: 5 records = 3 papers + 2 rejected (csv, separated by ;, cp1252)",
                         "31 files: 305 records = 273 papers + 30 merged + 2 rejected"]
    assert len(list(report_lines(summary, Path("indexes/papers"), every_file=True))) == len(lines) + 30


def test_the_rarer_findings_are_told() -> None:
    summary = summary_of((), papers=4, renamed=2, coverage=0.5, recall_at_10=0.987, factory="IVF4,Flat",
                         refused_files={"x.pdf": "PDF is not read."}, truncated=1, longest_tokens=300,
                         truncated_in={"a/x.txt": 1, "b/x.txt": 2})
    text = "\n".join(report_lines(summary, Path("indexes/papers")))
    assert "x.pdf: not read. PDF is not read." in text
    assert "2 papers came under an id that another work has, and got a suffix." in text
    assert ("2 of 4 papers are encoded; the others are found by their words, and encoded when a question needs them.\n"
            "  To encode them all: semsearch build\n") in text
    assert "Search by IVF4,Flat finds 98.7% of the ten nearest papers." in text
    assert ("1 of 4 abstracts is longer than 256 tokens and was cut there (longest 300): a/x.txt 1, b/x.txt 2") in text


def test_the_provider_of_the_caller_is_used(cli: CommandLine, papers_file: Path) -> None:
    assert isinstance(cli.provider, FakeProvider)
    cli.ok("build", "papers.jsonl")
    assert cli.provider.loaded == 1
