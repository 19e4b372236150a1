"""semsearch encode, and build --vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import BIRDS, CommandLine


def test_a_part_is_encoded_and_told(cli: CommandLine, papers_file: Path) -> None:
    lines = cli.ok("encode", "papers.jsonl", "--shards", "2", "-o", "vectors", "-q").splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Shard 1/2", "Shard 2/2"]
    assert sum(int(line.split(": ")[1].split()[0]) for line in lines) == 3
    assert len(cli.provider.encoded) == 3
    again = cli.ok("encode", "papers.jsonl", "--shard", "2/2", "-o", "vectors", "-q")
    assert again.startswith("Shard 2/2: ")
    assert "nothing to do" in again
    assert not (cli.home).exists()


def test_build_takes_the_vectors(cli: CommandLine, papers_file: Path) -> None:
    cli.ok("encode", "papers.jsonl", "-o", "vectors", "-q")
    encoded = len(cli.provider.encoded)
    [summary] = cli.json("build", "papers.jsonl", "--vectors", "vectors", "--json", "-q")
    assert (summary["encoded"], summary["reused"]) == (0, 3)
    assert len(cli.provider.encoded) == encoded
    assert "songs2" in cli.ok("query", "Males sing tunes", "--format", "ids")


def test_several_folders_of_vectors_are_taken_together(cli: CommandLine, papers_file: Path) -> None:
    cli.ok("encode", "papers.jsonl", "-o", "a", "--shard", "1/2", "-q")
    cli.ok("encode", "papers.jsonl", "-o", "b", "--shard", "2/2", "-q")
    [summary] = cli.json("build", "papers.jsonl", "--vectors", "a", "--vectors", "b", "--json", "-q")
    assert summary["encoded"] == 0


def test_json_is_one_object_a_shard(cli: CommandLine, papers_file: Path) -> None:
    summaries = cli.json("encode", "papers.jsonl", "--shards", "2", "-o", "vectors", "--json", "-q")
    assert [list(s) for s in summaries] == [
        ["shard", "of", "texts", "encoded", "reused", "rejected", "seconds", "folder"]] * 2
    assert [(s["shard"], s["of"], s["reused"], s["rejected"]) for s in summaries] == [(1, 2, 0, 0), (2, 2, 0, 0)]
    assert sum(s["encoded"] for s in summaries) == 3
    for summary in summaries:
        assert (Path(summary["folder"]) / "done.json").is_file()


def test_rejected_records_are_noted_and_no_failure_of_the_part(cli: CommandLine) -> None:
    (cli.folder / "some.jsonl").write_text(json.dumps(BIRDS) + '\n{"id": "x", "title": ""}\nnot json\n')
    for _ in range(2):  # the second time nothing is read
        result = cli("encode", "some.jsonl", "-o", "vectors")
        assert result.exit_code == 0
        assert "2 records of the sources were rejected; semsearch build and read say which." in result.stderr


@pytest.mark.parametrize(("options", "message"), [
    (("--shard", "5/4"), "'5/4' is no shard."),
    (("--shard", "1"), "'1' is no shard."),
    (("--shard", "1/4", "--shards", "4"), "give one"),
    (("--address", "auto"), "--engine ray"),
    (("--workers", "2"), "--engine ray"),
    (("--shards", "0"), "not in the range"),
])
def test_what_makes_no_sense_is_refused(cli: CommandLine, papers_file: Path, options: tuple[str, ...], message: str
                                        ) -> None:
    assert message in cli.fails("encode", "papers.jsonl", "-o", "vectors", *options, status=2)
    assert not (cli.folder / "vectors").exists()


def test_shards_of_another_model_are_refused_with_the_way_out(cli: CommandLine, papers_file: Path) -> None:
    cli.ok("encode", "papers.jsonl", "-o", "vectors", "-m", "small", "-q")
    error = cli.fails("build", "papers.jsonl", "--vectors", "vectors", "-q")
    assert "were made by another encoder (small, 64 dimensions, 256 tokens" in error
    assert "--model small --max-tokens 256" in error
    assert cli.json("build", "papers.jsonl", "--vectors", "vectors", "-m", "small", "--json", "-q")[0]["encoded"] == 0


def test_a_folder_without_shards_is_no_source_of_vectors(cli: CommandLine, papers_file: Path) -> None:
    (cli.folder / "empty").mkdir()
    error = cli.fails("build", "papers.jsonl", "--vectors", "empty", "-q")
    assert "There are no finished shards in empty." in error
    assert "semsearch encode SOURCE... --shard 1/16 -o empty" in error
    cli.fails("build", "papers.jsonl", "--vectors", "nowhere", status=2)


def test_a_file_is_no_place_for_shards(cli: CommandLine, papers_file: Path) -> None:
    cli.fails("encode", "papers.jsonl", "-o", "papers.jsonl", status=2)
