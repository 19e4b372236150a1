"""Judgments, topics, runs and collections, read from files."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

import pytest

from semsearch.errors import InputError, SourceNotFound, UsageError
from semsearch.evaluation import RankedList, Run, Topic, load_collection, read_run, write_run
from semsearch.evaluation.judgments import read_judgments
from semsearch.evaluation.runs import with_ids_of, within
from semsearch.evaluation.topics import read_topics


@pytest.fixture
def file(tmp_path: Path):
    """Writes a file and gives its path."""
    def write(content: str | bytes, name: str = "file.tsv") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path
    return write


@pytest.mark.parametrize("content", [
    pytest.param("query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tc\t1\n", id="BEIR"),
    pytest.param("1\ta\t2\n1\tb\t0\n2\tc\t1\n", id="without the names of the columns"),
    pytest.param("\ufeffquery-id\tcorpus-id\tscore\r\n1\ta\t2\r\n\r\n1\tb\t0\r\n2\tc\t1", id="BOM, CRLF, blank line"),
    pytest.param("1 0 a 2\n1 0 b 0\n2 0 c 1\n", id="TREC"),
    pytest.param("1\t0\ta\t2\n1\tQ0\tb\t0\n2\t0\tc\t1\n", id="TREC with tabs"),
    pytest.param("1 a 2.0\n1 b 0\n2 c +1\n", id="three columns between blanks, numbers in other spellings"),
])
def test_judgments_in_every_layout(file, content):
    assert read_judgments([file(content)]).qrels == {"1": {"a": 2, "b": 0}, "2": {"c": 1}}


def test_judgments_may_be_packed_and_lie_in_several_files(file):
    first, second = file("1 0 a 1\n", "one.txt"), file(gzip.compress(b"2 0 b 1\n1 0 c 0\n"), "two.txt.gz")
    assert read_judgments([first, second]).qrels == {"1": {"a": 1, "c": 0}, "2": {"b": 1}}


def test_ids_keep_their_spaces_between_tabs(file):
    path = file("query-id\tcorpus-id\tscore\nclaim one\tpaper a\t1\n")
    assert read_judgments([path]).qrels == {"claim one": {"paper a": 1}}


def test_grades_below_zero_are_kept(file):
    assert read_judgments([file("1 0 a -1\n1 0 b 3\n")]).qrels == {"1": {"a": -1, "b": 3}}


def test_a_judgment_that_stands_twice_is_counted_once_and_a_contradiction_is_an_error(file):
    judged = read_judgments([file("1 0 a 1\n1 0 a 1\n1 0 b 0\n")])
    assert (judged.qrels, judged.repeated) == ({"1": {"a": 1, "b": 0}}, 1)
    one, other = file("1 0 a 1\n", "one.txt"), file("1 0 b 0\n\n1 0 a 2\n", "two.txt")
    with pytest.raises(InputError) as caught:
        read_judgments([one, other])
    assert caught.value.message == (f"{other}, line 3: grade 2 for 'a' as an answer to '1', which has grade 1 in "
                                    "one.txt, line 1.")


@pytest.mark.parametrize("content, what", [
    ("1 0 a 1\n1 0 a\tb\n", "line 2: 2 columns where there should be 3 or 4: '1 0 a\\tb'"),
    ("1 0 a 1\n1 0 b yes\n", "line 2: the grade 'yes' is not a whole number"),
    ("1 0 a 1\n1 0 b 0.5\n", "line 2: the grade '0.5' is not a whole number"),
    ("1\ta\t1\n\tb\t1\n", "line 2: an id is missing: '\\tb\\t1'"),
    ("1 0 a 1\n" + "x" * 99 + "\n", f"line 2: 1 columns where there should be 3 or 4: '{'x' * 59}…'"),
    (b"1 0 a 1\n\xff\xfe 0 b 1\n", "after line 0: not UTF-8 text"),
    ("\n \n", "there is no judgment"),
    ("query-id\tcorpus-id\tscore\n", "there is no judgment"),
])
def test_bad_judgments_are_named_by_file_line_and_value(file, content, what):
    path = file(content)
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*" + re.escape(what)) as caught:
        read_judgments([path])
    assert caught.value.way_out


def test_files_that_are_not_there_or_not_what_they_say(file, tmp_path):
    with pytest.raises(SourceNotFound, match="no file"):
        read_judgments([tmp_path / "none.tsv"])
    for content in (b"1 0 a 1", gzip.compress(b"1 0 a 1\n" * 99)[:-12]):
        with pytest.raises(InputError, match="cannot be read"):
            read_judgments([file(content, "cut.gz")])
    with pytest.raises(InputError, match="cannot be read"):
        read_judgments([tmp_path])


def test_topics_in_every_format(file):
    wanted = [Topic("1", "how do birds sing"), Topic("2", "why")]
    objects = '{"_id": "1", "text": "how do  birds\\nsing", "metadata": {}}\n{"id": 2, "query": "why"}\n'
    assert read_topics(file(objects)) == wanted
    assert read_topics(file("\ufeff1\thow do birds sing\r\n2\twhy\r\n")) == wanted
    assert read_topics(file("qid\tquery\n1\thow do birds sing\n2\twhy\n")) == wanted
    trec = ("<top>\n<num> Number: 1\n<title> how do birds\nsing\n<desc> Description:\nlong\n</top>\n\n"
            "<top>\n<num>2</num><title>why</title>\n</top>\n")
    assert read_topics(file(trec)) == wanted


def test_topics_may_name_their_paper(file):
    objects = '{"_id": "1", "paper_id": "p7", "text": "birds"}\n{"_id": "2", "doc_id": 8}\n'
    assert read_topics(file(objects)) == [Topic("1", "birds", "p7"), Topic("2", "", "8")]


@pytest.mark.parametrize("content, what", [
    ("", "holds no question"),
    ('{"_id": "1", "text": "a"}\n[1]\n', "line 2: not a JSON object: '[1]'"),
    ('{"_id": "1", "text": ["a"]}\n', "line 1: `text` is neither text nor a number: '[\"a\"]'"),
    ('{"_id": true, "text": "a"}\n', "line 1: `_id` is neither text nor a number: 'true'"),
    ('{"text": "a"}\n', "line 1: the question has no id"),
    ('{"_id": "1", "text": " "}\n', "line 1: the question '1' has no text"),
    ("1\ta\n1\tb\n", "line 2: the id '1' was given before"),
    ("1\ta\n\nb\n", "line 3: no tab between an id and a text: 'b'"),
    ("<top>\n<num> 1\n<title> a\n</top>\n\n<top>\n<num> 2\n</top>\n", "line 6: a topic without <num> or <title>"),
    ("<topics>\n</topics>\n", "holds no <top>"),
])
def test_bad_topics_are_named_by_file_line_and_value(file, content, what):
    path = file(content)
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*" + re.escape(what)) as caught:
        read_topics(path)
    assert caught.value.way_out


def test_runs_of_other_tools_are_ordered_by_score_then_rank_then_line(file):
    content = ("1 Q0 low 1 0.5 bm25\r\n1 Q0 tie2 5 7e-1 bm25\r\n1 Q0 tie1 4 0.70 bm25\r\n1\tQ0\ttop\t9\t2\tbm25\r\n"
               "2 0 same1 0 -3 x\n2 0 same2 0 -3 x\n")
    run = read_run(file(content, "anserini.bm25.txt"))
    assert run == Run("anserini.bm25", {"1": RankedList(("top", "tie1", "tie2", "low"), (2.0, 0.7, 0.7, 0.5)),
                                        "2": RankedList(("same1", "same2"), (-3.0, -3.0))})


@pytest.mark.parametrize("content, what", [
    ("1 Q0 a 1 0.5\n", "line 1: 5 columns where there should be 6"),
    ("1 Q0 a 1 0.5 x\n1 Q0 b 2 high x\n", "line 2: the score 'high' is not a number"),
    ("1 Q0 a 1 nan x\n", "line 1: the score 'nan' is not a number"),
    ("1 Q0 a first 0.5 x\n", "line 1: the rank 'first' is not a whole number"),
    ("1 Q0 a 1 0.5 x\n2 Q0 a 1 0.5 x\n1 Q0 a 2 0.4 x\n", "line 3: 'a' is an answer to '1' twice"),
    ("\n", "holds no answer"),
])
def test_bad_runs_are_named_by_file_line_and_value(file, content, what):
    path = file(content)
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*" + re.escape(what)):
        read_run(path)


def test_a_written_run_keeps_its_order_where_scores_are_equal_or_rise(file):
    ids = ("z", "a", "m", "b")
    stream = io.StringIO()
    write_run(Run("our run", {"claim one": RankedList(ids, (0.123456, 0.123456, 0.5, 0.1))}), stream)
    lines = [line.split(" ") for line in stream.getvalue().splitlines()]
    assert [(line[0], line[2], line[3], line[5]) for line in lines] == [
        ("claim_one", own, str(rank), "our_run") for rank, own in enumerate(ids, 1)]
    scores = [float(line[4]) for line in lines]
    assert lines[0][4] == "0.123456" and scores == sorted(set(scores), reverse=True)
    assert scores[:3] == pytest.approx([0.123456] * 3, abs=1e-7) and scores[3] == 0.1
    read = with_ids_of(read_run(file(stream.getvalue())), ["claim one"], ids)
    assert read.lists["claim one"].ids == ids


def test_only_the_judged_papers_of_a_run():
    run = Run("run", {"1": RankedList(("a", "b", "c"), (3, 2, 1)), "2": RankedList(("a",), (1,))})
    assert within(run, {"1": {"c": 0, "a": 1}}).lists == {"1": RankedList(("a", "c"), (3, 1)), "2": RankedList((), ())}


@pytest.fixture
def folder(file, tmp_path: Path) -> Path:
    """A collection of four questions, one without a relevant paper, one not judged."""
    place = tmp_path / "birds"
    file("".join(json.dumps({"_id": n, "text": f"question {n}"}) + "\n" for n in "1234"), "birds/queries.jsonl")
    file('{"_id": "a", "title": "t", "text": "x"}\n', "birds/corpus.jsonl")
    file("query-id\tcorpus-id\tscore\n1\ta\t1\n2\ta\t0\n4\tb\t2\n9\ta\t1\n", "birds/qrels/test.tsv")
    file("3\ta\t1\n", "birds/qrels/train.tsv")
    return place


def test_a_collection_in_a_folder(folder):
    found = load_collection(folder)
    assert (found.name, found.split, found.corpus) == ("birds", "test", folder / "corpus.jsonl")
    assert [topic.id for topic in found.topics] == ["1", "4"] == found.with_relevant
    assert found.qrels == {"1": {"a": 1}, "2": {"a": 0}, "4": {"b": 2}}
    assert (found.judgments, found.unjudged, found.without_text, found.repeated) == (3, 1, 1, 0)
    assert [topic.id for topic in load_collection(folder, split="train").topics] == ["3"]


@pytest.mark.parametrize("name, split, questions, judgments, unjudged", [
    ("scifact", "test", 300, 339, 809), ("scifact", "train", 809, 919, 300), ("cranfield", "test", 225, 1837, 0),
    ("cranfield", "test-without-minus1", 225, 1612, 0), ("csfcube", "test", 50, 6244, 0),
    ("csfcube", "background", 16, 1877, 34)])
def test_real_collections(shared_data, name, split, questions, judgments, unjudged):
    found = load_collection(shared_data / "collections" / name, split=split)
    assert (len(found.topics), found.judgments, found.unjudged) == (questions, judgments, unjudged)
    assert (found.without_text, found.repeated, len(found.with_relevant)) == (0, 0, questions)


def test_files_override_the_folder_and_are_enough(folder, file):
    qrels = file("4 0 a 1\n", "mine.qrels")
    queries = file("4\tmy question\n", "mine.tsv")
    assert load_collection(folder, qrels=[qrels]).topics == (Topic("4", "question 4"),)
    alone = load_collection(queries=queries, qrels=[qrels])
    assert (alone.name, alone.split, alone.corpus, alone.topics) == ("mine", None, None, (Topic("4", "my question"),))
    assert load_collection(qrels=[qrels], with_topics=False).topics == ()


def test_collections_that_lack_something(folder, file, tmp_path):
    with pytest.raises(SourceNotFound, match="no judgments 'dev'") as caught:
        load_collection(folder, split="dev")
    assert caught.value.way_out == "There are: test, train. Choose one with --split."
    with pytest.raises(SourceNotFound, match="There is no folder"):
        load_collection(tmp_path / "none")
    with pytest.raises(UsageError, match="no judgments to measure by"):
        load_collection()
    with pytest.raises(UsageError, match="no questions to ask"):
        load_collection(qrels=[file("1 0 a 1\n")])
    with pytest.raises(InputError, match="is judged in") as caught:
        load_collection(folder, qrels=[file("q1 0 a 1\n")])
    assert "there 'q1', here '1'" in caught.value.way_out
    with pytest.raises(InputError, match="no paper is relevant"):
        load_collection(folder, qrels=[file("1 0 a 0\n")])
    (folder / "queries.jsonl").unlink()
    with pytest.raises(SourceNotFound, match=r"no file .*queries\.jsonl"):
        load_collection(folder)
