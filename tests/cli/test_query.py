"""semsearch query and semsearch related."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pytest
from command_line import COSINE_BIRDS, COSINE_SONGS, CommandLine

from semsearch.cli.questions import Question, read_questions

HIT_FIELDS = ["rank", "score", "score_kind", "id", "title", "abstract", "authors", "year", "date", "venue",
              "categories", "url", "doi", "signals", "highlight"]


# All three papers have five words, so BM25 with k1 = 1.2 gives a word that is there twice 2 * 2.2 / (2 + 1.2), and one
# that is there once 2.2 / 2.2, times the same weight of the word.
BM25_OF_ONE_TO_TWO = 3.2 / 4.4
FUSED_BIRDS = 0.6 * COSINE_BIRDS + 0.4
FUSED_SONGS = 0.6 * COSINE_SONGS + 0.4 * BM25_OF_ONE_TO_TWO
# A fifth is the score of the neighbours: each has the other, and cells3 nobody, since it shares no word with them.
HYBRID_BIRDS = 0.8 * FUSED_BIRDS + 0.2 * FUSED_SONGS
HYBRID_SONGS = 0.8 * FUSED_SONGS + 0.2 * FUSED_BIRDS


@pytest.mark.parametrize("mode, scores", [
    ("hybrid", [HYBRID_BIRDS, HYBRID_SONGS, 0]),
    ("dense", [COSINE_BIRDS, COSINE_SONGS, 0])])
def test_hits_are_whole_objects_with_scores_counted_by_hand(built: CommandLine, mode: str, scores: list[float]) -> None:
    hits = built.json("query", "birds", "--json", "--mode", mode)
    assert [list(hit) for hit in hits] == [HIT_FIELDS] * 3
    kind = {"hybrid": "hybrid", "dense": "cosine"}[mode]
    assert [(hit["rank"], hit["id"], hit["score_kind"]) for hit in hits] == [
        (1, "birds1", kind), (2, "songs2", kind), (3, "cells3", kind)]
    assert [hit["score"] for hit in hits] == pytest.approx(scores, abs=1e-4 if mode == "hybrid" else 1e-6)
    assert [hit["signals"]["cosine"] for hit in hits] == pytest.approx([COSINE_BIRDS, COSINE_SONGS, 0], abs=1e-6)
    assert hits[0]["authors"] == ["Ada Byron", "Li, Wei"] and hits[0]["doi"] == "10.1000/birds"


def test_the_list_for_people(built: CommandLine) -> None:
    assert built.ok("query", "birds", "-k", "1") == (
        f"  1   {HYBRID_BIRDS:.3f} Birds navigate\n"
        "            Ada Byron, Li, Wei · 2001 · Journal of Birds\n"
        "            birds1\n"
        "            » Birds watch stars.\n")


def test_words_are_joined_and_a_dash_reads_standard_input(built: CommandLine) -> None:
    joined = built.ok("query", "males", "sing", "--format", "ids", "-k", "1")
    assert joined == built.ok("query", "-", "--format", "ids", "-n", "1", input="males\nsing\n") == "songs2\n"


@pytest.mark.parametrize("option", ["-k", "--top-k", "-n", "--limit"])
def test_how_many_papers(built: CommandLine, option: str) -> None:
    assert built.ok("query", "birds", option, "2", "--format", "ids") == "birds1\nsongs2\n"


def test_more_than_there_are_gives_all_with_a_note(built: CommandLine) -> None:
    result = built("query", "birds", "-k", "50", "--format", "ids")
    assert result.stdout.splitlines() == ["birds1", "songs2", "cells3"]
    assert result.stderr == "50 papers were asked for; these are all 3.\n"
    assert built("query", "birds", "-k", "50", "-q").stderr == ""


@pytest.mark.parametrize("form, beginning", [
    ("csv", "rank,score,score_kind,id,"), ("bibtex", "@article{birds1,\n"), ("ris", "TY  - JOUR\nID  - birds1\n"),
    ("csl-json", '[\n{"id": "birds1", '), ("ids", "birds1\nsongs2\n"), ("trec", "1 Q0 birds1 1 0.7863")])
def test_every_format(built: CommandLine, form: str, beginning: str) -> None:
    assert built.ok("query", "birds", "--format", form).startswith(beginning)


def test_output_to_a_file_takes_its_format_from_the_name(built: CommandLine) -> None:
    for name, beginning in [("out.bib", "@article"), ("out.csv", "rank,"), ("out.jsonl", '{"rank": 1'),
                            ("out.ris", "TY  - "), ("out.json", "[\n"), ("out.txt", "  1 ")]:
        assert built.ok("query", "birds", "-o", name) == ""
        assert (built.folder / name).read_text().startswith(beginning)
    assert built.ok("query", "birds", "-o", "out.bib", "--format", "ids") == ""
    assert (built.folder / "out.bib").read_text() == "birds1\nsongs2\ncells3\n"
    assert not list(built.folder.glob(".*"))


def test_a_dash_is_standard_output(built: CommandLine) -> None:
    assert built.ok("query", "birds", "-o", "-", "-k", "1", "--format", "ids") == "birds1\n"


def test_verbose_says_how_long_it_took(built: CommandLine) -> None:
    for arguments in (["query", "birds"], ["related", "birds1"]):
        assert built(*arguments, "-k", "1").stderr == ""
        told = built(*arguments, "-k", "1", "-v").stderr
        assert re.fullmatch(r"Answered from 3 papers in \d+\.\d\d s\nOf that: encode .*, search .* ms, .*\n", told)


def test_a_file_that_cannot_be_written_is_found_before_the_work(built: CommandLine) -> None:
    built.provider.encoders.clear()
    assert "There is no folder 'none'." in built.fails("query", "birds", "-o", "none/out.bib", status=2)
    assert "'indexes' is a folder." in built.fails("query", "birds", "-o", "indexes", status=2)
    assert built.provider.loaded == 0


def test_json_and_another_format_contradict(built: CommandLine) -> None:
    error = built.fails("query", "birds", "--json", "--format", "ris", status=2)
    assert "--json is --format jsonl; --format ris says otherwise." in error


def test_questions_that_make_no_sense(built: CommandLine) -> None:
    assert "What is the question?" in built.fails("query", status=2)
    assert built.fails("query", "  ").startswith("Error: The question is empty.")
    assert "0 is not in the range" in built.fails("query", "birds", "-k", "0", status=2)
    assert "and not both" in built.fails("query", "birds", "--queries", "-", status=2)


def test_a_model_that_is_not_the_indexs_is_refused(built: CommandLine) -> None:
    assert "is not the one that made this index" in built.fails("query", "birds", "--model", "other")


def test_a_batch_of_lines_is_numbered(built: CommandLine) -> None:
    hits = built.json("query", "--queries", "-", "-k", "1", input="birds\n\nmales sing\n")
    assert [(hit["query_id"], hit["id"]) for hit in hits] == [("1", "birds1"), ("3", "songs2")]
    assert [list(hit) for hit in hits] == [["query_id", *HIT_FIELDS]] * 2


def test_a_batch_as_a_trec_run(built: CommandLine) -> None:
    (built.folder / "questions.tsv").write_text("q1\tbirds\nq2\tcells divide\n")
    assert built.ok("query", "--queries", "questions.tsv", "-k", "1", "-o", "run.trec", "--mode",
                    "dense") == ""
    # cells 2 and divide 1, of cells 2, divide, copy, genes
    assert (built.folder / "run.trec").read_text() == (
        f"q1 Q0 birds1 1 {COSINE_BIRDS:.6f} semsearch\n"
        f"q2 Q0 cells3 1 {(2 + 1) / (7**0.5 * 2**0.5):.6f} semsearch\n")


def test_a_batch_as_csv(built: CommandLine) -> None:
    rows = list(csv.DictReader(io.StringIO(built.ok("query", "--queries", "-", "-k", "2", "--format", "csv",
                                                    input='{"_id": 7, "text": "birds"}\n'))))
    assert [(row["query_id"], row["rank"], row["id"]) for row in rows] == [("7", "1", "birds1"), ("7", "2", "songs2")]


def test_a_batch_gives_the_same_as_its_questions_one_by_one(built: CommandLine) -> None:
    questions = ["birds", "males sing tunes", "genes", "stars"] * 50  # more than are encoded together
    batch = built.json("query", "--queries", "-", "-k", "3", "-q", input="\n".join(questions))
    for number, question in list(enumerate(questions, 1))[::37]:
        alone = built.json("query", question, "-k", "3", "--json")
        assert [{**hit, "query_id": str(number)} for hit in alone] == [
            hit for hit in batch if hit["query_id"] == str(number)]


@pytest.mark.parametrize("text, error", [
    ("", "Standard input holds no question."),
    ("q1\tbirds\nq1\tcells\n", "line 2: the id 'q1' was given before."),
    ("q1\t\n", "line 1: the question is empty."),
    ('{"id": "a", "text": "birds"}\nnot json\n', "line 2: not a JSON object."),
    ('{"id": "a"}\n', "line 1: `text` is missing or is not text."),
    ('{"id": [1], "text": "birds"}\n', "line 1: `id` is neither text nor a number."),
    (b"birds\nb\xfcrds\n", "standard input, line 2: not UTF-8 text."),
])
def test_a_batch_that_cannot_be_read_is_refused_before_the_work(built: CommandLine, text: str | bytes, error: str
                                                                ) -> None:
    built.provider.encoders.clear()
    assert error in built.fails("query", "--queries", "-", input=text)
    assert built.provider.loaded == 0


def test_a_batch_cannot_be_a_list_for_people(built: CommandLine) -> None:
    error = built.fails("query", "--queries", "-", "--format", "table", status=2, input="birds")
    assert ("--format table cannot tell the answers to several questions apart.\n"
            "Choose one of: jsonl, csv, trec.") in error


def test_lines_with_some_tabs_are_plain_lines(built: CommandLine) -> None:
    (built.folder / "q.txt").write_text("birds\tnavigate\r\ncells\n")
    assert read_questions("q.txt") == [Question("1", "birds\tnavigate"), Question("2", "cells")]


def test_related_by_id_needs_no_model_and_leaves_the_paper_out(built: CommandLine) -> None:
    built.provider.encoders.clear()
    hits = built.json("related", "birds1", "--json")
    assert [hit["id"] for hit in hits] == ["songs2", "cells3"]
    # birds 2 x 1, over two lengths of root 7; of the others songs2 has the best BM25
    assert [hit["score"] for hit in hits] == pytest.approx([0.6 * 2 / 7 + 0.4, 0], abs=1e-6)
    dense = built.json("related", "--like", "birds1", "--json", "--mode", "dense")
    assert [hit["score"] for hit in dense] == pytest.approx([2 / 7, 0], abs=1e-6)
    assert built.provider.loaded == 0


def test_related_by_any_identifier_and_by_title(built: CommandLine) -> None:
    by_id = built.ok("related", "birds1", "--json")
    assert built.ok("related", "https://doi.org/10.1000/BIRDS", "--json") == by_id
    assert built.ok("related", "bir", "--json") == by_id
    assert built.ok("related", "--title", "navigate", "--json") == by_id
    assert built.ok("related", "-", "--json", input="birds1\n\n") == by_id


def test_related_to_any_of_several(built: CommandLine) -> None:
    [hit] = built.json("related", "birds1", "--title", "cells divide", "--json", "-k", "1", "--mode", "dense")
    # 2 / 7 to the first and 0 to the second: their soft maximum
    soft = 0.08 * math.log((math.exp(2 / 7 / 0.08) + 1) / 2)
    assert (hit["id"], hit["score"]) == ("songs2", pytest.approx(soft, abs=1e-6))
    assert (hit["signals"]["nearest_like"], hit["signals"]["nearest_like_cosine"]) == (
        "birds1", pytest.approx(2 / 7, abs=1e-6))


def test_a_library_is_liked_and_not_given_back(built: CommandLine) -> None:
    (built.folder / "refs.bib").write_text("@article{key1, title={Birds navigate}, doi={10.1000/birds}}\n"
                                           "@article{key2, title={Robots see}, year=2020}\n")
    hits = built.json("related", "--like-file", "refs.bib", "--json")
    assert [hit["id"] for hit in hits] == ["songs2", "cells3"]
    assert {hit["signals"]["nearest_like"] for hit in hits} <= {"birds1", "key2"}


def test_what_is_unlike_is_no_answer_and_takes_away(built: CommandLine) -> None:
    assert built.ok("related", "birds1", "--unlike", "songs2", "--format", "ids") == "cells3\n"


def test_newer_than(built: CommandLine) -> None:
    assert built.ok("related", "birds1", "--newer-than", "2002", "--format", "ids") == "cells3\n"


def test_the_neighbours_of_every_paper(built: CommandLine) -> None:
    hits = built.json("related", "--all", "-k", "1", "-q")
    assert [(hit["query_id"], hit["id"], hit["score"]) for hit in hits] == [
        ("birds1", "songs2", pytest.approx(2 / 7, abs=1e-6)), ("songs2", "birds1", pytest.approx(2 / 7, abs=1e-6)),
        ("cells3", "birds1", pytest.approx(0, abs=1e-6))]
    assert "by meaning alone" in built.fails("related", "--all", "--mode", "hybrid", status=2)
    assert "name none" in built.fails("related", "birds1", "--all", status=2)


def test_related_to_a_text_from_a_file(built: CommandLine) -> None:
    (built.folder / "abstract.txt").write_text("Cells copy\ntheir genes.")
    assert built.ok("related", "--text", "abstract.txt", "--format", "ids", "-k", "1") == "cells3\n"
    assert built.ok("related", "--text", "-", "--format", "ids", "-k", "1", input="males sing") == "songs2\n"


def test_a_paper_given_by_its_abstract_is_not_among_the_hits(built: CommandLine) -> None:
    found = built.ok("related", "--text", "-", "--format", "ids", input="Abstract: Cells copy\ngenes.")
    assert sorted(found.split()) == ["birds1", "songs2"]


def test_related_to_what_is_not_there(built: CommandLine) -> None:
    assert built.fails("related", "zzz").startswith("Error: No paper has the id or alias 'zzz'.\n")
    assert "No title holds all the words of 'whales'." in built.fails("related", "--title", "whales")
    assert "There is no file 'none.txt'." in built.fails("related", "--text", "none.txt")
    assert "Related to what?" in built.fails("related", status=2)
    assert "can be read only once" in built.fails("related", "-", "--text", "-", status=2)


def test_an_ambiguous_title_lists_the_papers(built: CommandLine) -> None:
    error = built.fails("related", "--title", "birds")
    assert "2 titles hold all the words of 'birds':\n  birds1  Birds navigate\n  songs2  Birds sing\n" in error


def test_hits_of_papers_that_were_deleted_are_gone(built: CommandLine) -> None:
    built.ok("delete", "songs2")
    assert built.ok("query", "birds", "--format", "ids", "-k", "2") == "birds1\ncells3\n"
    assert "songs2" in built.fails("related", "songs2")
    told = built("query", "songs2").stderr
    assert "The paper 'songs2' was deleted on 20" in told and "--restore songs2" in told


def test_a_text_where_a_name_belongs_is_told_where_texts_go(built: CommandLine) -> None:
    told = built.fails("related", "how birds find their way")
    assert 'Ask it: semsearch query "..."' in told and "--text FILE" in told
    assert "Find its id with" in built.fails("related", "birds9")


def test_a_paper_without_a_title_is_shown_once(cli: CommandLine) -> None:
    first = "Birds navigate by the stars, which they watch for many nights before they leave their nests for the south."
    rest = "Cells do not do so, as far as anybody who has looked at them through a microscope could see or say."
    (cli.folder / "list.txt").write_text(f"ICLR 2025 papers\n\n{first} {rest}\n\n{rest} {first} And more.\n")
    cli.ok("build", "list.txt", "--from", "text")
    shown = " ".join(cli.ok("query", "birds navigate by the stars", "-k", "1").split())
    assert shown.count("Birds navigate by the stars") == 1 and "2025 · ICLR" in shown
    [hit] = cli.json("query", "birds navigate by the stars", "-k", "1", "--json")
    assert json.dumps(hit["abstract"]).count("Birds navigate") == 1
