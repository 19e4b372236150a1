"""Questions by meaning: scores against numpy, order, what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder, FakeProvider
from made_papers import record, records, run_build, text_of, write_jsonl

from semsearch.encoding import EncoderRequest
from semsearch.errors import AmbiguousPaper, EmptyQuery, IndexNotFound, PaperNotFound, UsageError
from semsearch.maintenance import delete, describe
from semsearch.nearness import TEMPERATURE, UNLIKE_WEIGHT
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Searcher

DENSE = SearchOptions(Mode.DENSE)
COUNT = 60
TWINS = 40


@pytest.fixture(scope="module", params=["Flat", "HNSW16", "IVF4,Flat"])
def index(request, tmp_path_factory) -> Path:
    """60 papers, the last 40 of them with one text."""
    items = records(COUNT - TWINS) + [
        record(0, id=f"twin{n}", title="Twins", abstract="graph graph protein") for n in range(TWINS)
    ]
    folder = tmp_path_factory.mktemp("search")
    run_build([write_jsonl(folder / "papers.jsonl", items)], folder / "index", factory=request.param)
    return folder / "index"


TEXTS = [text_of(record(n)) for n in range(COUNT - TWINS)] + ["Twins graph graph protein"] * TWINS
IDS = [f"p{n}" for n in range(COUNT - TWINS)] + [f"twin{n}" for n in range(TWINS)]


def vectors_of(texts: list[str]) -> np.ndarray:
    return FakeEncoder(EncoderRequest()).encode_documents(texts).vectors.astype(np.float64)


def ranked(query: np.ndarray, leave_out: set[int] = frozenset()) -> list[tuple[str, float]]:
    """Return (id, cosine) of all papers by cosine, then by row: the truth, from numpy alone."""
    scores = vectors_of(TEXTS) @ query
    order = sorted((row for row in range(COUNT) if row not in leave_out), key=lambda row: (-round(scores[row], 9), row))
    return [(IDS[row], scores[row]) for row in order]


def check(hits, truth, factory="Flat"):
    """Compare hits with the truth; which of more equal papers than it looks at a graph finds is its own affair."""
    if factory.startswith("HNSW"):
        found = [(-hit.score, IDS.index(hit.paper.id)) for hit in hits]
        assert found == sorted(set(found))
    else:
        assert [hit.paper.id for hit in hits] == [paper_id for paper_id, _ in truth]
    assert [hit.rank for hit in hits] == list(range(1, len(truth) + 1))
    assert [hit.score for hit in hits] == pytest.approx([score for _, score in truth], abs=2e-6)
    assert all(hit.score_kind == "cosine" and hit.signals["cosine"] == hit.score for hit in hits)
    assert [hit.signals["cosine_rank"] for hit in hits] == [hit.rank for hit in hits]


@pytest.mark.parametrize("k", [1, 5, 23, 59, 60, 1000])
@pytest.mark.parametrize(
    "question", ["graph attention", "Twins graph protein", text_of(record(3)), "no word that is known"]
)
def test_query_gives_the_nearest_in_order(index, question, k):
    with Searcher(index, provider=FakeProvider()) as searcher:
        answer = searcher.query(question, k, DENSE)
    check(answer.hits, ranked(vectors_of([question])[0])[:k], describe(index).factory)
    assert bool(answer.notes) == (k > COUNT)


def test_many_questions_are_answered_as_one(index):
    questions = ["graph", " graph \n attention ", "protein"]
    provider = FakeProvider()
    with Searcher(index, provider=provider) as searcher:
        together = searcher.query_many(questions, 7, DENSE)
        assert together == [searcher.query(question, 7, DENSE) for question in questions]
        assert searcher.query_many([], 7) == []
    assert provider.loaded == 1


@pytest.mark.parametrize("k", [1, 10, 30, 80])
def test_related_leaves_out_what_was_named_and_needs_no_model(index, k):
    provider = FakeProvider()
    with Searcher(index, provider=provider) as searcher:
        one = searcher.related(["p4"], k, DENSE)
        four = searcher.related(["p4", "p5", "p4", "twin0"], k, DENSE, titles=["study 6"])
    vectors = vectors_of(TEXTS)
    check(one.hits, ranked(vectors[4], {4})[:k], describe(index).factory)
    assert {hit.signals["nearest_like"] for hit in one.hits} == {"p4"}
    rows = [4, 5, 6, COUNT - TWINS]
    check_several(four.hits, soft_maximum(vectors @ vectors[rows].T), set(rows), k)
    for hit in four.hits:
        cosines = vectors[rows] @ vectors[IDS.index(hit.paper.id)]
        assert hit.signals["nearest_like_cosine"] == pytest.approx(cosines.max(), abs=2e-6)
        assert cosines[["p4", "p5", "p6", "twin0"].index(hit.signals["nearest_like"])] == pytest.approx(cosines.max())
    assert provider.loaded == 0


def test_disliked_papers_take_away(index):
    with Searcher(index, provider=FakeProvider()) as searcher:
        hits = searcher.related(["p4"], 20, DENSE, unlike=["p5", "p6"]).hits
        only_disliked = searcher.related(["p4"], 60, DENSE, unlike=["twin3"]).hits
    vectors = vectors_of(TEXTS)
    scores = vectors @ vectors[4] - UNLIKE_WEIGHT * soft_maximum(vectors @ vectors[[5, 6]].T)
    check_several(hits, scores, {4, 5, 6}, 20)
    assert "twin3" not in {hit.paper.id for hit in only_disliked}
    assert len(only_disliked) == COUNT - 2


def soft_maximum(cosines: np.ndarray) -> np.ndarray:
    return TEMPERATURE * np.log(np.exp(cosines / TEMPERATURE).mean(axis=1))


def check_several(hits, scores, leave_out, k):
    order = sorted((row for row in range(COUNT) if row not in leave_out), key=lambda row: (-round(scores[row], 6), row))
    assert [hit.score for hit in hits] == pytest.approx([scores[row] for row in order[:k]], abs=5e-6)
    assert {hit.paper.id for hit in hits[:3]} == {IDS[row] for row in order[:3]} or k < 3
    assert all(hit.score_kind == "hybrid" and hit.signals["likeness"] == hit.score for hit in hits)


def test_related_to_a_text_leaves_out_every_paper_of_that_text(index):
    with Searcher(index, provider=FakeProvider()) as searcher:
        hits = searcher.related(texts=["Twins  graph graph\nprotein"], k=100).hits
        assert [hit.paper.id for hit in hits if hit.paper.id.startswith("twin")] == []
        assert len(hits) == COUNT - TWINS
        assert len(searcher.related(texts=["a text of nobody"], k=100).hits) == COUNT


def test_deleted_papers_are_not_found(index, tmp_path):
    source = write_jsonl(tmp_path / "papers.jsonl", records(30))
    run_build([source], tmp_path / "index", factory=describe(index).factory)
    delete(tmp_path / "index", ["p1", "p2"])
    with Searcher(tmp_path / "index", provider=FakeProvider()) as searcher:
        hits = searcher.query(text_of(record(1)), 100)
        assert {hit.paper.id for hit in hits.hits} == {f"p{n}" for n in range(30) if n not in (1, 2)}
        with pytest.raises(PaperNotFound):
            searcher.related(["p2000"])
        with pytest.raises((PaperNotFound, AmbiguousPaper)):
            searcher.related(["p1"])
        with pytest.raises(PaperNotFound):
            searcher.related(titles=["study 1 of"])
    left_out = {f"p{n}" for n in range(30)} - {"p7", "p8"} - {"p1", "p2"}
    delete(tmp_path / "index", sorted(left_out))
    with Searcher(tmp_path / "index", provider=FakeProvider()) as searcher:
        assert {hit.paper.id for hit in searcher.query(text_of(record(1)), 100).hits} == {"p7", "p8"}


def test_what_makes_no_sense_is_said(index):
    provider = FakeProvider()
    with Searcher(index, provider=provider) as searcher:
        for text in ("", "  \n\t "):
            with pytest.raises(EmptyQuery):
                searcher.query(text)
            with pytest.raises(EmptyQuery):
                searcher.related(texts=["fine", text])
        with pytest.raises(EmptyQuery):
            searcher.related()
        for k in (0, -1):
            with pytest.raises(UsageError):
                searcher.query("graph", k)
        with pytest.raises(PaperNotFound):
            searcher.related(["nobody"])
        with pytest.raises(AmbiguousPaper) as caught:
            searcher.related(["twin1"[:4]])
        assert len(caught.value.candidates) == 10
    assert provider.loaded == 0
    with pytest.raises(IndexNotFound):
        Searcher(index.parent / "nothing")


def test_a_question_that_no_encoding_can_write_is_answered(index):
    with Searcher(index, provider=FakeProvider()) as searcher:
        assert len(searcher.query("graph \udcff", 3).hits) == 3
        with pytest.raises(PaperNotFound):
            searcher.related(["\udcff"])


def test_opposite_papers_are_both_liked(tmp_path):
    class Signed(FakeEncoder):
        """One dimension of meaning: texts with `not` point the other way."""

        def _vectors(self, texts):
            vectors = np.zeros((len(texts), 64), np.float32)
            vectors[:, 0] = [-1.0 if "not" in text else 1.0 for text in texts]
            return vectors

    class Provider(FakeProvider):
        def load(self, request):
            return Signed(request)

    items = [{"id": name, "title": title} for name, title in
             [("yes", "It is so"), ("no", "It is not so"), ("aye", "So it is"), ("nay", "So it is not")]]
    run_build([write_jsonl(tmp_path / "a.jsonl", items)], tmp_path / "index", Provider())
    with Searcher(tmp_path / "index", provider=Provider()) as searcher:
        both = searcher.related(["yes", "no"], options=DENSE).hits
        assert [(hit.paper.id, hit.signals["nearest_like"]) for hit in both] == [("aye", "yes"), ("nay", "no")]
        assert [(hit.paper.id, hit.score) for hit in searcher.query("so", 4, DENSE).hits] == [
            ("yes", 1.0), ("aye", 1.0), ("no", -1.0), ("nay", -1.0)]
