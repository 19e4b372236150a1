"""Meaning and words together: the same papers in the same order as a plain computation over all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder, FakeProvider
from hypothesis import given, settings
from hypothesis import strategies as st
from made_papers import WORDS, records, run_build, text_of, write_jsonl

from semsearch import candidates
from semsearch.candidates import Scoring, Words
from semsearch.encoding import EncoderRequest
from semsearch.errors import EmptyQuery, UsageError
from semsearch.filters import Filter
from semsearch.fusion import CosineEstimate
from semsearch.index.reader import IndexReader
from semsearch.index.row_ranking import Ranking
from semsearch.known_vectors import KnownVectors
from semsearch.maintenance import delete
from semsearch.nearness import ToOne
from semsearch.paper import Paper
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Searcher

COUNT = 300
HYBRID = SearchOptions(smoothing=0)
DENSE = SearchOptions(Mode.DENSE)
LEXICAL = SearchOptions(Mode.LEXICAL)


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hybrid")
    run_build([write_jsonl(folder / "papers.jsonl", records(COUNT))], folder / "index")
    return folder / "index"


@pytest.fixture
def searcher(index):
    with Searcher(index, provider=FakeProvider()) as searcher:
        yield searcher


def cosines_to(question: str, count: int = COUNT) -> np.ndarray:
    encoder = FakeEncoder(EncoderRequest())
    vectors = encoder.encode_documents([text_of(record) for record in records(count)]).vectors.astype(np.float64)
    return vectors @ encoder.encode_queries([question])[0]


def bm25_of(searcher: Searcher, question: str) -> np.ndarray:
    lexical = searcher.reader.lexical
    return lexical.scores_of(lexical.parse(question), np.arange(searcher.reader.manifest.papers)).astype(np.float64)


def plain_order(scores: np.ndarray, allowed: np.ndarray) -> list[int]:
    rows = np.flatnonzero(allowed)
    return [int(row) for row in rows[np.lexsort((rows, -np.round(scores[rows], 6)))]]


@pytest.mark.parametrize("k", [1, 7, 64, 299, 400])
@pytest.mark.parametrize("question", ["graph attention for a robot", "the enzyme", "study 7", "quantum quantum signal"])
def test_hybrid_is_the_formula_over_all_papers(searcher, question, k):
    bm25 = bm25_of(searcher, question)
    scores = 0.6 * cosines_to(question) + 0.4 * bm25 / bm25.max()
    order = plain_order(scores, np.ones(COUNT, bool))[:k]
    hits = searcher.query(question, k, HYBRID).hits
    assert [hit.paper.id for hit in hits] == [f"p{row}" for row in order]
    assert [hit.score for hit in hits] == pytest.approx(scores[order], abs=3e-6)
    for hit in hits:
        row = int(hit.paper.id[1:])
        assert hit.score_kind == "hybrid"
        assert hit.signals["cosine"] == pytest.approx(cosines_to(question)[row], abs=3e-6)
        assert hit.signals.get("bm25", 0) == pytest.approx(bm25[row], abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(words=st.lists(st.sampled_from([*WORDS, "study", "nowhere"]), min_size=1, max_size=6),
       weight=st.none() | st.floats(0, 1, width=16), k=st.integers(1, 40), seed=st.integers(0, 2**32 - 1),
       share=st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]), least=st.none() | st.floats(-0.25, 0.75, width=16))
def test_the_best_candidates_are_those_of_a_plain_scan(index, words, weight, k, seed, share, least):
    question = " ".join(words)
    allowed = np.random.default_rng(seed).random(COUNT) < share
    with IndexReader(index) as reader:
        query = reader.lexical.parse(question)
        best = reader.lexical.best_score(query)
        encoder = FakeEncoder(EncoderRequest())
        near = ToOne(KnownVectors(reader, lambda: encoder), encoder.encode_queries([question])[0])
        mode = Mode.LEXICAL if weight is None else Mode.HYBRID
        found = Scoring(mode, weight or 0.0, near, Words(reader.lexical, query, best)).best(k, allowed, least)
        bm25 = reader.lexical.scores_of(query, np.arange(COUNT)).astype(np.float64)
    cosines = cosines_to(question)
    scores = bm25 if weight is None else weight * cosines + (1 - weight) * (bm25 / best if best else 0)
    qualifies = allowed & (bm25 > 0) if weight is None else allowed
    if least is not None:
        qualifies &= cosines >= least
        undecided = np.abs(cosines - least) < 1e-6
        if (allowed & undecided).any():
            return
    order = plain_order(scores, qualifies)[:k]
    assert len(found.rows) == len(order)
    assert scores[found.rows] == pytest.approx(scores[order], abs=3e-6)
    assert found.scores == pytest.approx(scores[order], abs=3e-6)
    assert qualifies[found.rows].all()


class Listed:
    """Both sides of a score as lists: whoever reads too little of them gives wrong papers."""

    is_cosine = is_exact = True

    def __init__(self, scores: np.ndarray) -> None:
        self.scores = scores.astype(np.float32)

    def _ranking(self, depth: int, allowed, there: np.ndarray) -> Ranking:
        rows = np.flatnonzero(there & allowed)
        rows = rows[np.lexsort((rows, -self.scores[rows]))][:depth]
        return Ranking(rows, self.scores[rows])

    def search(self, depth: int, allowed) -> Ranking:
        return self._ranking(depth, allowed, ~np.isnan(self.scores))

    def top(self, query, depth: int, allowed) -> Ranking:
        return self._ranking(depth, allowed, self.scores > 0)

    def scores_of(self, *rows: np.ndarray) -> np.ndarray:
        return self.scores[rows[-1]]

    cosines_of = scores_of


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), papers=st.integers(1, 40), k=st.integers(1, 6), weight=st.floats(0, 1, width=16),
       mode=st.sampled_from(list(Mode)), least=st.none() | st.floats(-0.5, 0.75, width=16),
       first=st.tuples(st.integers(1, 4), st.integers(1, 4)), covered=st.sampled_from([1.0, 0.8, 0.3, 0.0]),
       estimate=st.none() | st.tuples(st.floats(-0.5, 1, width=16), st.floats(0, 1, width=16)))
def test_both_lists_are_read_as_deep_as_is_needed(seed, papers, k, weight, mode, least, first, covered, estimate):
    random = np.random.default_rng(seed)
    cosines = np.round(random.uniform(-0.5, 1, papers), 1)  # many ties
    cosines[random.random(papers) >= covered] = np.nan  # papers without a vector
    bm25 = np.round(np.maximum(random.uniform(-4, 8, papers), 0))
    allowed = random.random(papers) < 0.9
    words = None if mode is Mode.DENSE else Words(Listed(bm25), None, float(bm25.max()))
    line = estimate and CosineEstimate(*estimate)
    depths = candidates._NEAR_DEPTH, candidates._WORDS_DEPTH
    try:
        candidates._NEAR_DEPTH, candidates._WORDS_DEPTH = first
        found = Scoring(mode, weight, Listed(cosines), words, line).best(k, allowed, least)
    finally:
        candidates._NEAR_DEPTH, candidates._WORDS_DEPTH = depths
    share = bm25 / bm25.max() if bm25.max() else bm25
    base, slope = estimate or (0, 0)
    taken = np.where(np.isnan(cosines), base + slope * share, cosines)
    scores = {Mode.DENSE: cosines, Mode.LEXICAL: bm25,
              Mode.HYBRID: weight * taken + (1 - weight) * share}[mode].astype(np.float32)
    qualifies = allowed & {Mode.DENSE: ~np.isnan(cosines), Mode.LEXICAL: bm25 > 0,
                           Mode.HYBRID: ~np.isnan(cosines) | (bm25 > 0)}[mode]
    if least is not None:
        qualifies &= np.nan_to_num(cosines.astype(np.float32), nan=-2) >= least
    order = plain_order(scores, qualifies)[:k]
    assert len(found.rows) == len(order)
    assert np.round(found.scores, 5).tolist() == pytest.approx(np.round(scores[order], 5).tolist(), abs=2e-5)
    assert qualifies[found.rows].all()


def plainly_smoothed(scores: np.ndarray, vectors: np.ndarray, share: float) -> list[float]:
    """Each score and the mean of its five nearest, weighted by their cosines."""
    result = []
    nearness = np.round(np.maximum(vectors @ vectors.T, 0), 6)
    for n, score in enumerate(scores):
        others = sorted((m for m in range(len(scores)) if m != n), key=lambda m: -nearness[n, m])
        near = [(nearness[n, m], scores[m]) for m in others[:5]]
        total = sum(weight for weight, _ in near)
        result.append((1 - share) * score + share * (sum(w * s for w, s in near) / total if total else score))
    return result


@pytest.mark.parametrize("k", [1, 10, 50, 80])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_share_of_the_score_is_that_of_the_neighbours(searcher, k, share):
    question = "graph attention for a robot"
    fused = searcher.query(question, max(50, k), HYBRID).hits
    encoder = FakeEncoder(EncoderRequest())
    vectors = encoder.encode_documents([hit.paper.text for hit in fused[:50]]).vectors.astype(np.float64)
    smooth = plainly_smoothed([hit.score for hit in fused[:50]], vectors, share)
    expected = sorted(zip(smooth, (hit.paper.id for hit in fused[:50]), strict=True), key=lambda pair: -pair[0])
    expected += [(hit.score, hit.paper.id) for hit in fused[50:]]
    hits = searcher.query(question, k, SearchOptions(smoothing=share)).hits
    assert [hit.score for hit in hits] == pytest.approx([score for score, _ in expected[:k]], abs=1e-5)
    assert {hit.paper.id: hit.signals["fused"] for hit in hits}.items() <= {
        hit.paper.id: hit.score for hit in fused}.items()
    assert SearchOptions().smoothing == 0.2


def test_lexical_gives_only_papers_that_share_a_word_and_needs_no_model(index):
    provider = FakeProvider()
    with Searcher(index, provider=provider) as searcher:
        answer = searcher.query("enzyme nowhere", COUNT, LEXICAL)
        sharing = {record["id"] for record in records(COUNT) if "enzyme" in text_of(record).split()
                   or "enzyme." in text_of(record)}
        assert {hit.paper.id for hit in answer.hits} == sharing
        assert all(hit.score_kind == "bm25" and hit.signals["bm25"] == hit.score > 0 for hit in answer.hits)
        assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)
        assert answer.notes == (f"Only {len(sharing)} papers share a word with the question.",)
        assert searcher.query("nowhere", 5, LEXICAL).hits == ()
    assert provider.loaded == 0


@pytest.mark.parametrize("options", [HYBRID, DENSE, LEXICAL])
def test_phrases_and_exclusions_hold_in_every_mode(index, options):
    texts = {record["id"]: text_of(record) for record in records(COUNT)}
    pairs = [" ".join(pair) for text in texts.values() for pair in zip(text.split(), text.split()[1:], strict=False)
             if set(pair) <= set(WORDS)]
    phrase = max(set(pairs), key=pairs.count)
    with Searcher(index, provider=FakeProvider()) as searcher:
        held = searcher.query(f'"{phrase}" -ocean', COUNT, options)
        none = searcher.query('"ocean nowhere"', 3, options)
        with pytest.raises(EmptyQuery, match="must not be there"):
            searcher.query("-ocean", 3, options)
    clean = {paper_id: text.replace(".", "") for paper_id, text in texts.items()}
    right = {paper_id for paper_id, text in clean.items() if f" {phrase} " in f" {text} " and "ocean" not in text}
    assert {hit.paper.id for hit in held.hits} == right != set()
    assert none.hits == () and any("quoted phrases" in note for note in none.notes)


@pytest.mark.parametrize("typed", ["p17", "P17", " p17 "])
def test_an_id_typed_as_a_question_finds_its_paper_first(searcher, typed):
    for options in (HYBRID, DENSE, LEXICAL):
        first = searcher.query(typed, 3, options).hits[0]
        assert (first.paper.id, first.signals["exact"]) == ("p17", "id")


def test_a_title_typed_as_a_question_finds_its_paper_first(searcher):
    title = records(COUNT)[42]["title"]
    for spelt in (title, title.upper(), f"{title}?"):
        answer = searcher.query(spelt, 5)
        assert (answer.hits[0].paper.id, answer.hits[0].signals["exact"]) == ("p42", "title")
        scores = [hit.score for hit in answer.hits]
        assert scores == sorted(scores, reverse=True)
    assert "exact" not in searcher.query(title.rsplit(" ", 1)[0], 1).hits[0].signals
    refused = searcher.query("p17", 3, SearchOptions(filter=Filter(ids=("p1", "p2"))))
    assert {hit.paper.id for hit in refused.hits} == {"p1", "p2"}


def test_a_least_cosine_is_a_cosine_in_every_mode(index):
    question = "graph attention for a robot"
    cosines = cosines_to(question)
    for options in (HYBRID, DENSE, LEXICAL):
        with Searcher(index, provider=FakeProvider()) as searcher:
            hits = searcher.query(question, COUNT, replace(options, min_score=0.35)).hits
        near = {f"p{row}" for row in np.flatnonzero(cosines >= 0.35)}
        assert hits and {hit.paper.id for hit in hits} <= near
        assert options.mode is Mode.LEXICAL or {hit.paper.id for hit in hits} == near


def test_related_by_words_leaves_the_paper_out_of_the_best_bm25(searcher):
    lexical = searcher.reader.lexical
    own_words = lexical.of_texts([text_of(records(COUNT)[9]), records(COUNT)[9]["title"]])  # the title once more
    bm25 = lexical.scores_of(own_words, np.arange(COUNT)).astype(np.float64)
    vectors = FakeEncoder(EncoderRequest()).encode_documents([text_of(r) for r in records(COUNT)]).vectors
    others = np.arange(COUNT) != 9
    scores = 0.6 * (vectors @ vectors[9]).astype(np.float64) + 0.4 * bm25 / bm25[others].max()
    hits = searcher.related(["p9"], 12, HYBRID).hits
    assert [hit.paper.id for hit in hits] == [f"p{row}" for row in plain_order(scores, others)[:12]]
    assert [hit.score for hit in hits] == pytest.approx(scores[plain_order(scores, others)[:12]], abs=3e-6)


def test_likes_from_elsewhere_are_found_in_the_index_or_encoded(index):
    known = Paper("other-key", records(COUNT)[5]["title"], "Another wording.")
    stranger = Paper("new", "Robots that see", "A robot sees by vision.")
    provider = FakeProvider()
    with Searcher(index, provider=provider) as searcher:
        hits = searcher.related(liked_papers=[known, stranger], query="memory", k=40).hits
    assert "p5" not in {hit.paper.id for hit in hits}
    assert {hit.signals["nearest_like"] for hit in hits} <= {"p5", "new", "question"}
    assert provider.encoded == [stranger.text]


def test_diversity_takes_other_papers_and_keeps_the_first(searcher):
    plain = searcher.query("graph attention", 10).hits
    diverse = searcher.query("graph attention", 10, SearchOptions(diversity=0.6)).hits
    assert plain[0].paper.id == diverse[0].paper.id
    assert {hit.paper.id for hit in plain} != {hit.paper.id for hit in diverse}

    def likeness(hits):
        vectors = FakeEncoder(EncoderRequest()).encode_documents([hit.paper.text for hit in hits]).vectors
        return (vectors @ vectors.T).sum()

    assert likeness(diverse) < likeness(plain)


def test_deleted_papers_are_no_measure_of_words(tmp_path):
    items = [{"id": "a", "title": "graph graph graph graph"}, {"id": "b", "title": "graph theory of nets"},
             {"id": "c", "title": "cells divide"}]
    run_build([write_jsonl(tmp_path / "papers.jsonl", items)], tmp_path / "index")
    delete(tmp_path / "index", ["a"])
    with Searcher(tmp_path / "index", provider=FakeProvider()) as searcher:
        hit = searcher.query("graph", 1, SearchOptions(weight=0.0, smoothing=0)).hits[0]
        assert hit.score == pytest.approx(1.0)
        hybrid = searcher.query("graph", 1, HYBRID).hits[0]
    assert (hit.paper.id, hybrid.paper.id) == ("b", "b")
    assert hybrid.score == pytest.approx(0.6 * hybrid.signals["cosine"] + 0.4, abs=1e-5)


class ByLength:
    """A cross-encoder that prefers long texts."""

    def score(self, question, texts, advance=lambda amount: None):
        advance(len(texts))
        return np.array([len(text) for text in texts], np.float32)


def reranking(index, question, k, **options):
    """Return (hits, the hits without reranking)."""
    loader = lambda model, **_: ByLength()  # noqa: E731
    with Searcher(index, provider=FakeProvider(), reranker_loader=loader) as searcher:
        plain = searcher.query(question, max(k, 50), SearchOptions(**{**options, "rerank": None})).hits
        return searcher.query(question, k, SearchOptions(rerank="any", **options)).hits, plain


def test_the_head_is_put_in_the_order_of_its_new_scores(index):
    hits, plain = reranking(index, "graph attention", 12, rerank_depth=20)
    expected = sorted(plain[:20], key=lambda hit: -len(hit.paper.text))
    assert [hit.paper.id for hit in hits] == [hit.paper.id for hit in expected[:12]]
    assert [hit.rank for hit in hits] == list(range(1, 13))
    by_id = {hit.paper.id: hit for hit in plain}
    for hit in hits:
        assert hit.score_kind == "rerank"
        assert hit.score == len(hit.paper.text)
        before = by_id[hit.paper.id]
        assert (hit.signals["hybrid"], hit.signals["rank_before"]) == (before.score, before.rank)


def test_reranked_hits_that_are_diverse_are_as_many_as_were_asked_for(index):
    hits, _ = reranking(index, "graph attention", 20, rerank_depth=5, diversity=0.3)
    assert len({hit.paper.id for hit in hits}) == 20
    assert {hit.score_kind for hit in hits} == {"rerank"}  # no fewer are scored again than are shown


@pytest.mark.parametrize("options", [{}, {"rerank": "any"}, {"diversity": 0.5}, {"mode": Mode.LEXICAL},
                                     {"mode": Mode.DENSE}, {"weight": 0.0}])
def test_what_is_named_stands_first_whatever_else_is_asked_for(index, options):
    for question, what in (("p123", "id"), (records(COUNT)[77]["title"], "title")):
        with Searcher(index, provider=FakeProvider(), reranker_loader=lambda model, **_: ByLength()) as searcher:
            hits = searcher.query(question, 4, SearchOptions(**options)).hits
        first = hits[0]
        assert (first.paper.id, first.signals["exact"]) == ({"id": "p123", "title": "p77"}[what], what)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True) or "diversity" in options
        assert "NaN" not in json.dumps([hit.as_dict() for hit in hits])


def test_a_title_that_many_have_is_no_name(tmp_path):
    items = [{"id": f"i{n}", "title": "Introduction", "abstract": text} for n, text in
             enumerate(["birds", "cells divide", "introduction to graphs", "robots"])]
    run_build([write_jsonl(tmp_path / "papers.jsonl", items)], tmp_path / "index")
    with Searcher(tmp_path / "index", provider=FakeProvider()) as searcher:
        hits = searcher.query("Introduction", 4).hits
    assert hits[0].paper.id == "i2" and not any("exact" in hit.signals for hit in hits)


def test_a_least_cosine_with_several_likes_is_that_to_the_nearest(searcher):
    hits = searcher.related(["p1", "p2", "p3", "p4", "p5"], COUNT, SearchOptions(min_score=0.6)).hits
    vectors = FakeEncoder(EncoderRequest()).encode_documents([text_of(record) for record in records(COUNT)]).vectors
    greatest = (vectors @ vectors[1:6].T).max(axis=1)
    near = {f"p{row}" for row in np.flatnonzero(greatest >= 0.6)} - {"p1", "p2", "p3", "p4", "p5"}
    assert {hit.paper.id for hit in hits} == near != set()
    assert all(hit.signals["nearest_like_cosine"] >= 0.6 for hit in hits)


@pytest.mark.parametrize("options", [SearchOptions(weight=1.5), SearchOptions(diversity=-0.1),
                                     SearchOptions(smoothing=2), SearchOptions(min_score=float("nan")),
                                     SearchOptions(rerank="x", rerank_depth=0)])
def test_values_out_of_range_are_refused(searcher, options):
    with pytest.raises(UsageError):
        searcher.query("graph", 1, options)


def test_hits_are_json(searcher):
    for answer in (searcher.query("graph", 3, SearchOptions(highlight=True)), searcher.related(["p1", "p2"], 3)):
        for hit in answer.hits:
            assert json.loads(json.dumps(hit.as_dict()))["signals"] == dict(hit.signals)
