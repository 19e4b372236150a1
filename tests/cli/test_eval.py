"""semsearch eval: a collection, an index or runs, and a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import BIRDS, CELLS, SONGS, CommandLine
from made_papers import records, write_jsonl

from semsearch.cli.eval import command
from semsearch.evaluation import DEFAULT_MEASURES
from semsearch.evaluation.collections import DEFAULT_SPLIT
from semsearch.evaluation.measures import split_measures
from semsearch.evaluation.significance import DEFAULT_SEED


@pytest.fixture
def collection(cli: CommandLine) -> Path:
    """A collection of three papers, one empty, and four questions; the first two are answered right at once."""
    folder = cli.folder / "nature"
    papers = [{"_id": p["id"], "title": p["title"], "text": p["abstract"]} for p in (BIRDS, SONGS, CELLS)]
    write_jsonl(folder / "corpus.jsonl", [*papers, {"_id": "empty", "title": "", "text": ""}])
    questions = [("q1", "birds watch stars"), ("q2", "cells copy genes"), ("q3", "birds"), ("q4", "stars"), ("q5", "x")]
    write_jsonl(folder / "queries.jsonl", [{"_id": own, "text": text} for own, text in questions])
    write_qrels(folder / "qrels" / "test.tsv", "q1 birds1 1", "q2 cells3 1", "q3 songs2 2", "q4 songs2 0")
    write_qrels(folder / "qrels" / "dev.tsv", "q4 birds1 1")
    return folder


def write_qrels(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join("\t".join(line.split()) + "\n" for line in lines))
    return path


def test_a_folder_is_all_it_takes(cli: CommandLine, collection: Path) -> None:
    first = cli("eval", "nature", "--mode", "dense", "--measures", "nDCG@10 RR@10,P@1")
    assert first.exit_code == 0, first.output
    assert first.stdout.splitlines() == [
        "nature, test: 3 questions, 4 judgments",
        "",
        "       nDCG@10         RR@10           P@1",
        "dense  0.8770          0.8333          0.6667",
        "       0.631 to 1.000  0.500 to 1.000  0.000 to 1.000",
        "",
        "Means over the questions; 95 % intervals by bootstrap (10,000 resamples, seed 13)."]
    place = Path("indexes") / "eval-nature"
    assert f"An index of nature/corpus.jsonl is made, and kept as {place} for the next time." in first.stderr
    assert "Left out of the index: 1 of 4 records (1 x neither title nor abstract)." in first.stderr
    assert "1 question without a relevant paper, left out." in first.stderr
    encoded = len(cli.provider.encoded)
    again = cli("eval", "nature", "--mode", "dense", "--measures", "nDCG@10 RR@10,P@1")
    assert again.stdout == first.stdout and "is made" not in again.stderr
    assert len(cli.provider.encoded) == encoded


def test_the_index_follows_the_corpus_and_belongs_to_it(cli: CommandLine, collection: Path) -> None:
    cli.ok("eval", "nature", "-q")
    write_jsonl(collection / "corpus.jsonl", [{"_id": "birds1", "title": "Birds", "text": "Birds watch stars."}])
    result = cli("eval", "nature")
    assert "eval-nature: 3 judgments of papers that are not in the index (2 relevant); these cannot" in result.stderr
    other = cli.folder / "b" / "nature"
    other.parent.mkdir()
    collection.rename(other)
    write_jsonl(other / "corpus.jsonl", [{"_id": "cells3", "title": "Cells", "text": "Cells copy genes."}])
    cli.ok("eval", "b/nature", "-m", "some/other-model", "-q")
    cli.ok("eval", "b/nature", "-q")
    assert sorted(p.name for p in cli.home.iterdir()) == ["eval-nature", "eval-nature-2", "eval-nature-other-model"]


def test_as_json(cli: CommandLine, collection: Path) -> None:
    [report] = cli.json("eval", "nature", "--mode", "dense", "--mode", "lexical", "--measures", "RR@10", "--json",
                        "--seed", "7")
    assert {key: report[key] for key in ("collection", "split", "task", "pool", "depth", "questions", "judgments",
                                         "without_relevant", "without_text", "repeated", "resamples", "seed")} == {
        "collection": "nature", "split": "test", "task": "query", "pool": "all", "depth": 100, "questions": 3,
        "judgments": 4, "without_relevant": 1, "without_text": 0, "repeated": 0, "resamples": 10_000, "seed": 7}
    dense, lexical = report["systems"]
    assert (dense["name"], dense["index"], dense["mode"], dense["papers"], dense["missing"], dense["recall"]) == (
        "dense", "eval-nature", "dense", 3, 0, None)
    assert dense["per_query"] == {"q1": {"RR@10": 1}, "q2": {"RR@10": 1}, "q3": {"RR@10": 0.5}}
    assert dense["measures"]["RR@10"] == {"mean": pytest.approx(5 / 6), "low": 0.5, "high": 1}
    assert dense["differences"] == {} and lexical["differences"]["RR@10"]["baseline"] == "dense"
    assert lexical["differences"]["RR@10"]["p"] == 1


def test_runs_are_written_read_again_and_compared(cli: CommandLine, collection: Path) -> None:
    [asked] = cli.json("eval", "nature", "--mode", "dense", "--write-run", "ours.run", "--json")
    lines = Path("ours.run").read_text().splitlines()
    assert [line.split()[:4] for line in lines[:3]] == [["q1", "Q0", "birds1", "1"], ["q1", "Q0", "songs2", "2"],
                                                        ["q1", "Q0", "cells3", "3"]]
    assert len(lines) == 9
    write = Path("bad.run").write_text
    write("q1 Q0 songs2 1 3.0 bm25\nq1 Q0 birds1 2 2.0 bm25\nq3 Q0 cells3 1 1 bm25\n")
    built = cli.provider.loaded
    [report] = cli.json("eval", "nature", "--run", "ours.run", "--run", "bad.run", "--run", "ours.run", "--json")
    assert cli.provider.loaded == built
    assert [system["name"] for system in report["systems"]] == ["ours", "bad", "ours (2)"]
    ours, bad, same = report["systems"]
    assert ours["measures"] == asked["systems"][0]["measures"]
    assert bad["without_hits"] == 1 and bad["per_query"]["q1"]["RR@10"] == 0.5
    assert {key: bad["differences"]["RR@10"][key] for key in ("mean", "better", "worse", "equal", "p")} == {
        "mean": pytest.approx((0.5 - 1 + 0 - 1 + 0 - 0.5) / 3), "better": 0, "worse": 3, "equal": 0, "p": 0.25}
    assert same["differences"]["RR@10"]["p"] == 1
    table = cli.ok("eval", "--qrels", "nature/qrels/test.tsv", "--run", "bad.run", "--measures", "RR@10", "-q")
    assert "bad: 1 question without any answer, which score 0." in table


def test_several_systems_write_several_runs(cli: CommandLine, collection: Path) -> None:
    result = cli("eval", "nature", "--weight", "0.2", "--weight", "0.8", "--mode", "hybrid", "--mode", "lexical",
                 "--write-run", "all.run", "--per-query", "each.tsv")
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in cli.folder.glob("*.run")) == [
        "all-hybrid_0.2.run", "all-hybrid_0.8.run", "all-lexical.run"]
    rows = [line.split("\t") for line in Path("each.tsv").read_text().splitlines()]
    assert rows[0] == ["system", "query_id", "nDCG@10", "R@100", "RR@10", "AP@100", "P@10"]
    assert [row[:2] for row in rows[1:]] == [
        [system, question] for system in ("hybrid 0.2", "hybrid 0.8", "lexical") for question in ("q1", "q2", "q3")]
    assert rows[1][4] == "1.000000"


def test_two_indexes_are_compared(cli: CommandLine, collection: Path) -> None:
    for name in ("one", "two"):
        assert cli("build", "nature/corpus.jsonl", "-i", name, "-q").exit_code == 3  # the empty record
    table = cli.ok("eval", "nature", "-i", "one", "-i", "two", "--mode", "dense", "--measures", "RR@10", "-q")
    assert "one dense" in table and "two dense" in table and "Differences from one dense" in table
    assert not (cli.home / "eval-nature").exists()


def test_an_index_that_is_not_encoded_says_how_much_is(cli: CommandLine, collection: Path) -> None:
    assert cli("build", "nature/corpus.jsonl", "-i", "bare", "--encode", "later", "-q").exit_code == 3
    result = cli("eval", "nature", "-i", "bare", "--measures", "RR@10", "--json")
    assert "bare: 0 of 3 papers were encoded before the first question and 3 after the last; each had" in result.stderr
    [system] = json.loads(result.stdout)["systems"]
    assert (system["encoded"], system["encoded_after"], system["encode_budget"]) == (0, 3, None)


def test_an_index_and_files_without_a_folder(built: CommandLine, collection: Path) -> None:
    arguments = ["eval", "--queries", "nature/queries.jsonl", "--qrels", "nature/qrels/dev.tsv", "--json", "--measures",
                 "RR@10"]
    [report] = built.json(*arguments)
    assert (report["collection"], report["split"], report["systems"][0]["index"]) == ("dev", None, "papers")
    assert report["systems"][0]["measures"]["RR@10"]["mean"] == 1
    assert built.json("eval", "nature", "--split", "dev", "-i", "papers", "--json")[0]["split"] == "dev"


def test_papers_as_questions_in_the_judged_pool(cli: CommandLine) -> None:
    folder = cli.folder / "facets"
    made = records(12)
    write_jsonl(folder / "corpus.jsonl", [{"_id": m["id"], "title": m["title"], "text": m["abstract"]} for m in made])
    write_jsonl(folder / "queries.jsonl", [{"_id": f"p{n}-method", "text": f"{made[n]['title']}. {made[n]['abstract']}"}
                                           for n in range(3)])
    write_qrels(folder / "qrels" / "test.tsv", *(f"p{n}-method p{m} {m % 2}" for n in range(3) for m in range(3, 9)))
    result = cli("eval", "facets", "--json")
    assert "so each finds itself; --task related asks for papers like it" in result.stderr
    [report] = cli.json("eval", "facets", "--task", "related", "--pool", "judged", "--measures", "R@100 Judged@6",
                        "--write-run", "pool.run", "--mode", "dense", "--json")
    assert {name: value["mean"] for name, value in report["systems"][0]["measures"].items()} == {
        "R@100": 1, "Judged@6": 1}
    listed = {tuple(line.split()[0:3:2]) for line in Path("pool.run").read_text().splitlines()}
    assert listed == {(f"p{n}-method", f"p{m}") for n in range(3) for m in range(3, 9)}
    cli.ok("eval", "facets", "--task", "related", "--mode", "dense", "--write-run", "all.run", "-q")
    listed = {tuple(line.split()[0:3:2]) for line in Path("all.run").read_text().splitlines()}
    assert listed == {(f"p{n}-method", f"p{m}") for n in range(3) for m in range(12) if n != m}
    [pooled] = cli.json("eval", "facets", "--pool", "judged", "--run", "all.run", "--measures", "R@100 Judged@6",
                        "--json")
    assert pooled["systems"][0]["per_query"] == report["systems"][0]["per_query"]


def test_an_approximate_index_says_what_it_finds(cli: CommandLine, collection: Path) -> None:
    made = records(300)
    write_jsonl(collection / "corpus.jsonl", [{"_id": m["id"], "title": m["title"], "text": m["abstract"]}
                                              for m in made])
    write_qrels(collection / "qrels" / "test.tsv", "q1 p1 1", "q2 p2 1", "q3 p3 1")
    cli.ok("build", "nature/corpus.jsonl", "--factory", "HNSW8", "-q")
    result = cli("eval", "nature", "-i", "papers", "--mode", "dense", "--mode", "lexical", "--json")
    dense, lexical = json.loads(result.stdout)["systems"]
    assert dense["factory"] == "HNSW8" and dense["recall"].keys() == {"10", "100"}
    assert 0.5 < dense["recall"]["10"] <= 1 and lexical["recall"] is None
    assert "papers: search by HNSW8 against exact search: recall@10 " in result.stderr


def test_filters_and_depth_reach_the_search(cli: CommandLine, collection: Path) -> None:
    cli.ok("eval", "nature", "--mode", "dense", "--where", "id != 'birds1'", "-k", "100", "--write-run", "f.run", "-q")
    assert "birds1" not in Path("f.run").read_text()
    assert "hybrid" in cli.ok("eval", "nature", "-k", "1", "--measures", "P@1", "-q")


@pytest.mark.parametrize("arguments, status, what", [
    (["eval", "nature", "--measures", "nDGC@10"], 2, "There is no measure 'nDGC@10'. Did you mean nDCG?"),
    (["eval", "nature", "-k", "5"], 2, "look at the first 100 papers of an answer; -k 5 is less"),
    (["eval", "nature", "--split", "train"], 1, "There are: dev, test. Choose one with --split."),
    (["eval", "nowhere"], 1, "There is no folder 'nowhere'."),
    (["eval"], 2, "There are no judgments to measure by."),
    (["eval", "nature", "--mode", "dense", "--weight", "0.5"], 2, "--weight concerns --mode hybrid"),
    (["eval", "nature", "--run", "none.run"], 1, "There is no file 'none.run'."),
    (["eval", "nature", "-i", "none"], 1, "No index named 'none'"),
    (["eval", "nature", "--task", "related"], 2, "No question is about a paper of the index eval-nature"),
    (["eval", "--qrels", "nature/qrels/test.tsv"], 2, "There are no questions to ask."),
    (["eval", "nature", "--run", "x.run", "--write-run", "y.run"], 2, "--write-run writes the answers of an index"),
    (["eval", "nature", "--write-run", "nowhere/y.run"], 2, "There is no folder 'nowhere'."),
])
def test_what_makes_no_sense(cli: CommandLine, collection: Path, arguments: list[str], status: int, what: str) -> None:
    result = cli(*arguments)
    assert (result.exit_code, result.stdout) == (status, ""), result.output
    assert what in result.stderr


def test_a_run_of_other_questions_is_refused(cli: CommandLine, collection: Path) -> None:
    Path("other.run").write_text("301 Q0 birds1 1 3.0 bm25\n")
    told = cli.fails("eval", "nature", "--run", "other.run")
    assert "No question of other.run is judged." in told and "in the judgments 'q1', in the run '301'" in told


def test_the_defaults_of_the_command_are_those_of_the_library() -> None:
    defaults = {option.name: option.default for option in command.params}
    assert (split_measures(defaults["measures"]), defaults["seed"]) == (DEFAULT_MEASURES, DEFAULT_SEED)
    assert defaults["split"] == DEFAULT_SPLIT


def test_without_the_extra_the_line_that_installs_it_is_named(cli: CommandLine, collection: Path,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert "pip install 'semsearch[eval]'" in cli.fails("eval", "nature")
