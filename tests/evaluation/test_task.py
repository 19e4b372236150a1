"""Questions put to an index: which papers are asked about, left out, ranked and renamed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder, FakeProvider
from made_papers import record, records, run_build, text_of, write_jsonl

from semsearch.encoding import EncoderRequest
from semsearch.errors import UsageError
from semsearch.evaluation import Collection, Pool, Task, Topic, evaluate, make_run
from semsearch.evaluation.naming import PaperNames
from semsearch.evaluation.recall import exact_cosines, structure_recall
from semsearch.evaluation.task import asks_about_papers, paper_of
from semsearch.filters import Filter
from semsearch.index.reader import IndexReader
from semsearch.index.row_ranking import Ranking
from semsearch.maintenance import delete
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Searcher

DENSE = SearchOptions(mode=Mode.DENSE)
PAPERS = 40


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of forty papers; p0 came twice under one DOI, the second time as `other`."""
    folder = tmp_path_factory.mktemp("task")
    made = records(PAPERS)
    made[0]["doi"] = "10.1000/zero"
    twin = {**made[0], "id": "other", "abstract": ""}
    run_build([write_jsonl(folder / "papers.jsonl", [*made, twin])], folder / "index")
    return folder / "index"


@pytest.fixture
def searcher(index: Path):
    with Searcher(index, provider=FakeProvider()) as searcher:
        yield searcher


def collection(*topics: Topic, **qrels: dict[str, int]) -> Collection:
    judged = {topic.id: qrels.get(topic.id, {"p1": 1}) for topic in topics}
    return Collection("made", topics, judged)


def ranking_by_hand(question: str) -> list[str]:
    """Return the ids of the papers by the cosine of the fake encoder, ties by row."""
    encoder = FakeEncoder(EncoderRequest("any"))
    texts = [text_of(item) for item in records(PAPERS)]
    cosines = encoder.encode_documents(texts).vectors @ encoder.encode_queries([question])[0]
    return [f"p{row}" for row in np.argsort(-cosines, kind="stable")]


def test_a_run_holds_the_answers_in_their_order(searcher):
    topics = [Topic(f"q{n}", f"graph {record(n)['title']}") for n in range(70)]  # more than a block
    made = make_run(searcher, collection(*topics), DENSE, name="dense", depth=5)
    assert list(made.run.lists) == [topic.id for topic in topics] and made.run.name == "dense"
    for topic in topics[::23]:
        assert list(made.run.lists[topic.id].ids) == ranking_by_hand(topic.text)[:5]
    scores = made.run.lists["q3"].scores
    assert list(scores) == sorted(scores, reverse=True)
    assert (made.missing, made.unasked, made.renamed) == (0, 0, 0)


def test_more_than_there_are_are_asked_for_without_a_note(searcher):
    made = make_run(searcher, collection(Topic("1", "graph")), DENSE, depth=1000)
    assert len(made.run.lists["1"].ids) == PAPERS and not made.notes


def test_the_paper_of_a_question(searcher):
    names = PaperNames(searcher.reader)
    found = [paper_of(topic, names) for topic in (
        Topic("p3", "x"), Topic("p4-method", "x"), Topic("p5_result", "x"), Topic("p6-a-b", "x"), Topic("1", "x", "p7"),
        Topic("other-facet", "x"), Topic("p3", "x", "nowhere"), Topic("method-p3", "x"), Topic("p", "x"),
        Topic("-p3", "x"))]
    assert found == ["p3", "p4", "p5", "p6", "p7", "p0", None, None, None, None]


def test_related_never_finds_the_paper_that_is_asked_about(searcher):
    topics = [Topic("p3-method", "ignored"), Topic("x", "", "p4"), Topic("nowhere", "graph")]
    made = make_run(searcher, collection(*topics), DENSE, task=Task.RELATED)
    assert made.unasked == 1 and list(made.run.lists) == ["p3-method", "x"]
    for question, paper in (("p3-method", 3), ("x", 4)):
        wanted = [own for own in ranking_by_hand(text_of(record(paper))) if own != f"p{paper}"]
        assert list(made.run.lists[question].ids) == wanted
    with pytest.raises(UsageError, match="No question is about a paper of the index index: 'nowhere' is not one"):
        make_run(searcher, collection(Topic("nowhere", "graph")), task=Task.RELATED)


def test_the_judged_pool_is_ranked_whole_and_alone(searcher):
    grades = {f"p{n}": n % 2 for n in range(3, 33, 3)} | {"lost": 1}
    judged = collection(Topic("1", "graph protein"), **{"1": grades})
    made = make_run(searcher, judged, DENSE, depth=2, pool=Pool.JUDGED)
    assert list(made.run.lists["1"].ids) == [own for own in ranking_by_hand("graph protein") if own in grades]
    made = make_run(searcher, collection(Topic("p3", "x"), p3=grades), DENSE, task=Task.RELATED, pool=Pool.JUDGED)
    assert set(made.run.lists["p3"].ids) == grades.keys() - {"p3", "lost"}
    lost = collection(Topic("1", "graph"), Topic("2", "graph"), **{"1": {"lost": 1}, "2": {"p1": 1}})
    assert make_run(searcher, lost, DENSE, pool=Pool.JUDGED).unasked == 1
    with pytest.raises(UsageError, match="itself a list"):
        make_run(searcher, lost, SearchOptions(filter=Filter(ids=("p1",))), pool=Pool.JUDGED)


def test_judged_papers_that_are_missing_are_counted_and_stay_in_the_measures(searcher):
    grades = {"lost": 2, "gone": 0, "p1": 1, "p": 1, "10.1000/zero": 1}
    judged = collection(Topic("1", text_of(record(1))), **{"1": grades})
    made = make_run(searcher, judged, DENSE, depth=10)
    assert (made.missing, made.missing_relevant) == (4, 3)  # neither the beginning of an id nor a DOI is an id
    assert evaluate(made.run, judged.qrels, ["R@10", "RR@10"]).means == {"R@10": 1 / 4, "RR@10": 1}


def test_a_merged_paper_is_found_under_the_id_that_was_judged(searcher):
    text = text_of(record(0))
    judged = collection(Topic("1", text), Topic("2", text), Topic("3", text),
                        **{"1": {"other": 1}, "2": {"p0": 1}, "3": {"other": 1, "p0": 2}})
    made = make_run(searcher, judged, DENSE, depth=3)
    assert [made.run.lists[n].ids[0] for n in "123"] == ["other", "p0", "p0"]
    assert (made.missing, made.renamed) == (0, 1)


def test_a_deleted_paper_is_missing(index, tmp_path):
    run_build([write_jsonl(tmp_path / "few.jsonl", records(5))], tmp_path / "few")
    delete(tmp_path / "few", ["p1"])
    with Searcher(tmp_path / "few", provider=FakeProvider()) as searcher:
        made = make_run(searcher, collection(Topic("1", "graph")), DENSE)
    assert (made.missing, made.missing_relevant, len(made.run.lists["1"].ids)) == (1, 1, 4)


def test_questions_that_say_nothing_are_counted(searcher):
    made = make_run(searcher, collection(Topic("1", "-graph"), Topic("2", "graph")), DENSE)
    assert made.unasked == 1 and list(made.run.lists) == ["2"]
    with pytest.raises(UsageError, match="no questions to ask"):
        make_run(searcher, collection())


def test_questions_with_operators_are_noted(searcher):
    made = make_run(searcher, collection(Topic("1", 'graph "neural attention"'), Topic("2", "graph -dash"),
                                         Topic("3", "graph-like")), DENSE, depth=3)
    assert [times for note, times in made.notes.items() if "taken for phrases and exclusions" in note] == [2]
    assert "dash" not in made.run.lists


def test_notes_that_differ_in_numbers_are_one(searcher):
    made = make_run(searcher, collection(Topic("1", "graph"), Topic("2", "protein vision"), Topic("3", "nonsense")),
                    SearchOptions(mode=Mode.LEXICAL))
    [(note, times)] = made.notes.items()
    assert note.startswith("Only ") and times == 3


def test_questions_that_are_papers_are_recognised(searcher):
    papers = [Topic(f"p{n}-facet", f"{record(n)['title']}. {record(n)['abstract']}") for n in range(30)]
    assert asks_about_papers(collection(*papers), searcher.reader)
    assert not asks_about_papers(collection(Topic("p31", "graph"), *papers), searcher.reader)
    assert not asks_about_papers(collection(Topic("p3", "graph")), searcher.reader)
    assert not asks_about_papers(collection(Topic("31", record(3)["title"])), searcher.reader)


def test_exact_cosines_are_those_of_a_matrix_product(index):
    with IndexReader(index) as reader:
        queries = FakeEncoder(EncoderRequest("any")).encode_queries(["graph", "protein cell", "orbit"])
        stored = reader.vectors.vectors_at(np.arange(PAPERS))
        wanted = -np.sort(-(queries @ stored.T), axis=1)
        np.testing.assert_allclose(exact_cosines(reader, queries, 7), wanted[:, :7], atol=1e-6)
        assert structure_recall(reader, queries) == {10: 1.0, 100: 1.0}
        assert structure_recall(reader, queries[:0]) == {}


class Forgetful:
    """The vectors of an index, searched by a structure that misses the nearest paper."""

    def __init__(self, vectors) -> None:
        self._vectors, self.rows, self.vectors_at = vectors, vectors.rows, vectors.vectors_at

    def search(self, query, k):
        found = self._vectors.search(query, min(k + 1, len(self.rows)))
        return Ranking(found.rows[1:], found.scores[1:])


def test_recall_of_a_structure_that_misses_papers(index):
    with IndexReader(index) as reader:
        queries = FakeEncoder(EncoderRequest("any")).encode_queries(["graph neural attention", "protein galaxy market"])
        exact = exact_cosines(reader, queries, 12)
        falls = (exact[:, :-1] > exact[:, 1:] + 1e-4).all(axis=0)
        first, k = (np.flatnonzero(falls)[:2] + 1).tolist()  # where nothing is tied with what comes next
        reader.__dict__["vectors"] = Forgetful(reader.vectors)
        assert first == 1 and structure_recall(reader, queries, (k, 1)) == {k: pytest.approx((k - 1) / k), 1: 0.0}
