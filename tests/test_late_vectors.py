"""Questions to an index that is not encoded to the end."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder, FakeProvider
from made_papers import generation_folder, records, run_build, text_of, write_jsonl

from semsearch.encoding import EncoderRequest
from semsearch.explanation import explain
from semsearch.filters import Filter
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER
from semsearch.on_demand import LEAST_BUDGET, MOST_BUDGET, OnDemand
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Searcher

COUNT = 300
QUESTION = "graph attention for a robot"
PLAIN = SearchOptions(smoothing=0)


def partly_encoded(folder: Path, covered: int, count: int = COUNT) -> Path:
    """Return an index of which only the first papers have a vector: the others lost theirs with a build that began."""
    from semsearch.build import BuildOptions, build_index

    class Stopping(FakeProvider):
        """Encodes so many texts and is then interrupted, again and again."""

        def load(self, request):
            encoder = super().load(request)
            plain = encoder.encode_documents

            def encode(texts):
                if sum(len(e.encoded) for e in self.encoders) + len(texts) > covered:
                    raise KeyboardInterrupt
                return plain(texts)

            encoder.encode_documents = encode
            return encoder

    source = write_jsonl(folder / "papers.jsonl", records(count))
    build_index([source], folder / "index", BuildOptions(encode="later"), provider=FakeProvider())
    if covered:
        with pytest.raises(KeyboardInterrupt):
            build_index([source], folder / "index", BuildOptions(), provider=Stopping())
    return folder / "index"


@pytest.fixture
def bare(tmp_path) -> Path:
    return partly_encoded(tmp_path, 0)


def truth(question: str, lexical, encoded: set[int], weight: float = 0.6) -> np.ndarray:
    """Return the scores of all papers: by cosine where they are encoded, else by a line drawn through those that are.

    NaN where a paper has neither a vector nor a word of the question.
    """
    encoder = FakeEncoder(EncoderRequest())
    vectors = encoder.encode_documents([text_of(record) for record in records(COUNT)]).vectors
    cosines = vectors @ encoder.encode_queries([question])[0]
    bm25 = lexical.scores_of(lexical.parse(question), np.arange(COUNT))
    share = bm25 / bm25.max()
    known = np.isin(np.arange(COUNT), sorted(encoded))
    fitted = [row for row in np.lexsort((np.arange(COUNT), -bm25)) if known[row] and bm25[row] > 0][:100]
    slope, base = np.polyfit([*share[fitted], 0, 1], [*cosines[fitted], 0.1, 0.6], 1)
    if slope < 0:
        slope, base = 0, np.mean([*cosines[fitted], 0.1, 0.6])
    cosines = np.where(known, cosines, np.where(bm25 > 0, base + slope * share, np.nan))
    return weight * cosines + (1 - weight) * share


@pytest.mark.parametrize("budget", [0, 5, 20, 1000])
def test_the_best_by_words_are_encoded_and_all_are_ranked_by_one_score(bare, budget):
    provider = FakeProvider()
    with Searcher(bare, provider=provider) as searcher:
        lexical = searcher.reader.lexical
        candidates = lexical.top(lexical.parse(QUESTION), COUNT).rows[:budget]
        best = lexical.best_score(lexical.parse(QUESTION))
        answer = searcher.query(QUESTION, COUNT, replace(PLAIN, encode_budget=budget))
    texts = [text_of(records(COUNT)[row]) for row in candidates]
    assert sorted(provider.encoded) == sorted(texts)
    scores = truth(QUESTION, lexical, set(candidates.tolist()))
    assert [hit.score for hit in answer.hits] == pytest.approx(
        [scores[int(hit.paper.id[1:])] for hit in answer.hits], abs=1e-5)
    assert {hit.paper.id for hit in answer.hits} == {
        f"p{row}" for row in np.flatnonzero(~np.isnan(scores))}
    for hit in answer.hits:
        assert ("cosine" in hit.signals) == (int(hit.paper.id[1:]) in candidates) != ("cosine_estimate" in hit.signals)
        nearness = hit.signals.get("cosine", hit.signals.get("cosine_estimate"))
        assert hit.score == pytest.approx(0.6 * nearness + 0.4 * hit.signals["bm25"] / best, abs=1e-5)
    marked = {hit.paper.id for hit in answer.hits if hit.signals.get("encoded_on_demand")}
    assert marked == {f"p{row}" for row in candidates}
    assert any("not encoded yet" in note for note in answer.notes) == (len(candidates) < COUNT)


def test_a_vector_is_paid_for_once(bare):
    provider = FakeProvider()
    for _ in range(2):  # two processes one after the other
        with Searcher(bare, provider=provider) as searcher:
            first = searcher.query(QUESTION, 10, replace(PLAIN, encode_budget=30))
            again = searcher.query(QUESTION, 10, replace(PLAIN, encode_budget=0))
        assert [hit.paper.id for hit in first.hits] == [hit.paper.id for hit in again.hits]
        assert len(provider.encoded) in (30, 60)  # the second question takes the next thirty
    assert len(set(provider.encoded)) == 60
    builder = FakeProvider()
    run_build([bare.parent / "papers.jsonl"], bare, builder)
    assert len(builder.encoded) == COUNT - 60 and not set(builder.encoded) & set(provider.encoded)
    with Searcher(bare, provider=provider) as searcher:
        complete = searcher.query(QUESTION, 10, PLAIN)
    assert not any("encoded_on_demand" in hit.signals for hit in complete.hits) and complete.notes == ()
    assert len(provider.encoded) == 60


def test_the_default_budget_aims_at_a_second(bare):
    class Clock:
        seconds = 0.0

        def __call__(self):
            self.seconds += 0.3
            return self.seconds

    with Searcher(bare, provider=FakeProvider()) as searcher:
        words = searcher.reader.lexical.parse("graph attention robot protein galaxy market language")
        slow = OnDemand(searcher.reader, searcher.vectors, searcher.encoder, Clock())
        assert len(slow.encode_for(words, None, None)) == 50  # five steps of ten, 0.3 s each, until a second is over
        clock = Clock()
        clock.__class__.__call__ = lambda self: setattr(self, "seconds", self.seconds + 60) or self.seconds
        slowest = OnDemand(searcher.reader, searcher.vectors, searcher.encoder, clock)
        assert len(slowest.encode_for(words, None, None)) == LEAST_BUDGET
        fast = OnDemand(searcher.reader, searcher.vectors, searcher.encoder, lambda: 0.0)
        assert len(fast.encode_for(words, None, None)) == MOST_BUDGET


def test_filters_hold_for_what_is_encoded(bare):
    provider = FakeProvider()
    allowed = tuple(f"p{n}" for n in range(0, 60, 2))
    options = replace(PLAIN, filter=Filter(ids=allowed), encode_budget=1000)
    with Searcher(bare, provider=provider) as searcher:
        hits = searcher.query(QUESTION, 100, options).hits
    texts = {text_of(records(COUNT)[n]) for n in range(0, 60, 2)}
    assert set(provider.encoded) <= texts and {hit.paper.id for hit in hits} <= set(allowed)


def test_related_encodes_the_paper_first(bare):
    provider = FakeProvider()
    with Searcher(bare, provider=provider) as searcher:
        hits = searcher.related(["p7"], 5, replace(PLAIN, encode_budget=10)).hits
    assert provider.encoded[0] == text_of(records(COUNT)[7]) and len(provider.encoded) == 11
    assert "p7" not in {hit.paper.id for hit in hits} and hits[0].signals["nearest_like"] == "p7"


def test_words_alone_encode_nothing(bare):
    provider = FakeProvider()
    with Searcher(bare, provider=provider) as searcher:
        assert searcher.query(QUESTION, 5, SearchOptions(Mode.LEXICAL)).hits
    assert provider.loaded == 0


def test_nothing_needs_to_be_writable(bare, monkeypatch):
    def refuse(*arguments):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("semsearch.index.vector_log.VectorLogWriter._create", refuse)
    monkeypatch.setattr("semsearch.on_demand.append_wanted", refuse)
    provider = FakeProvider()
    with Searcher(bare, provider=provider) as searcher:
        first = searcher.query(QUESTION, 5, replace(PLAIN, encode_budget=20)).hits
        assert [hit.paper.id for hit in searcher.query(QUESTION, 5, replace(PLAIN, encode_budget=0)).hits] == [
            hit.paper.id for hit in first]
    assert len(provider.encoded) == 20
    assert not list((bare / FOLDER).glob("*/*.log"))


@pytest.mark.parametrize("damage", ["torn", "flipped", "header", "empty"])
def test_a_damaged_log_costs_the_vectors_that_it_held(bare, damage):
    with Searcher(bare, provider=FakeProvider()) as searcher:
        expected = searcher.query(QUESTION, 10, replace(PLAIN, encode_budget=30)).hits
    [log] = (bare / FOLDER).glob("*/*.log")
    content = log.read_bytes()
    log.write_bytes({"torn": content[:-100], "flipped": content[:500] + b"\xff\x00" + content[502:],
                     "header": b"x" + content[1:], "empty": b""}[damage])
    provider = FakeProvider()
    with Searcher(bare, provider=provider) as searcher:
        lexical = searcher.reader.lexical
        lost = {"torn": 1, "flipped": 1, "header": 30, "empty": 30}[damage]
        assert searcher.vectors.count == 30 - lost
        best = lexical.top(lexical.parse(QUESTION), 30).rows
        searcher.vectors.encode(best)
        again = searcher.query(QUESTION, 10, replace(PLAIN, encode_budget=0)).hits
    assert [hit.paper.id for hit in again] == [hit.paper.id for hit in expected]
    assert len(provider.encoded) == lost


def test_processes_that_ask_the_same_new_question_agree(bare):
    asks = (f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "from fakes import FakeProvider\nfrom semsearch.search import Searcher\n"
            "from semsearch.ranking import SearchOptions\n"
            f"with Searcher({str(bare)!r}, provider=FakeProvider()) as searcher:\n"
            f"    hits = searcher.query({QUESTION!r}, 10, SearchOptions(encode_budget=40)).hits\n"
            "    print(' '.join(hit.paper.id for hit in hits))\n")
    root = str(Path(__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": root}
    processes = [subprocess.Popen([sys.executable, "-c", asks], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env=environment) for _ in range(8)]
    answers = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, answers
    with IndexReader(bare) as reader, Searcher(bare, provider=FakeProvider()) as searcher:
        assert searcher.vectors.count >= 40
        assert reader.manifest.vectors == 0
    first = answers[0][0]
    assert first and sum(out == first for out, _ in answers) >= 1
    builder = FakeProvider()
    run_build([bare.parent / "papers.jsonl"], bare, builder)
    with IndexReader(bare) as reader:
        assert reader.manifest.vectors == COUNT
    assert len(builder.encoded) <= COUNT - 40


def test_the_estimate_is_that_of_the_whole_index_whatever_the_filter(tmp_path):
    index = partly_encoded(tmp_path, 128)
    options = replace(PLAIN, encode_budget=0)
    with Searcher(index, provider=FakeProvider()) as searcher:
        every = {hit.paper.id: (hit.score, hit.signals.get("cosine_estimate"))
                 for hit in searcher.query(QUESTION, COUNT, options).hits}
        allowed = tuple(f"p{n}" for n in range(0, COUNT, 3))
        some = searcher.query(QUESTION, COUNT, replace(options, filter=Filter(ids=allowed))).hits
    assert {hit.paper.id for hit in some} == every.keys() & set(allowed)
    assert all((hit.score, hit.signals.get("cosine_estimate")) == every[hit.paper.id] for hit in some)
    assert any("cosine_estimate" in hit.signals for hit in some)


def test_an_explanation_tells_the_estimate(tmp_path):
    index = partly_encoded(tmp_path, 128)
    with Searcher(index, provider=FakeProvider()) as searcher:
        hits = searcher.query(QUESTION, 20, SearchOptions(encode_budget=0)).hits
        for hit in hits:
            told = explain(searcher, hit.paper.id, QUESTION)
            assert (told.hybrid.score, told.hybrid.rank) == (pytest.approx(hit.score, abs=2e-6), hit.rank)
            assert (told.cosine.score, told.cosine_estimate) == (
                pytest.approx(hit.signals.get("cosine"), abs=2e-6),
                pytest.approx(hit.signals.get("cosine_estimate"), abs=2e-6))
            assert bool(told.obstacles) == ("cosine" not in hit.signals)
            assert told.encoded == searcher.vectors.count < told.candidates == COUNT
            assert told.cosine.rank is None or told.cosine.rank <= told.encoded
            assert f"{COUNT - told.encoded} of {COUNT} papers are not encoded yet" in told.notes[-1]
        assert {"cosine" in hit.signals for hit in hits} == {True, False}


def test_half_an_index(tmp_path):
    index = partly_encoded(tmp_path, 128)
    with Searcher(index, provider=FakeProvider()) as searcher:
        known = {int(row) for row in np.flatnonzero(~searcher.vectors.lacking())}
        assert 0 < len(known) <= 128
        options = replace(PLAIN, encode_budget=0)
        hits = searcher.query(QUESTION, COUNT, options).hits
        scores = truth(QUESTION, searcher.reader.lexical, known)
        dense = searcher.query(QUESTION, COUNT, SearchOptions(Mode.DENSE, encode_budget=0)).hits
    assert [hit.score for hit in hits] == pytest.approx([scores[int(hit.paper.id[1:])] for hit in hits], abs=1e-5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.paper.id for hit in dense} == {f"p{row}" for row in known}
    assert generation_folder(index).is_dir()


def test_what_is_said_of_papers_without_a_vector_is_what_was_done_with_them(bare):
    with Searcher(bare, provider=FakeProvider()) as searcher:
        [waiting] = searcher.query(QUESTION, 5, SearchOptions(encode_budget=5)).notes
        assert waiting == (f"{COUNT - 5} of {COUNT} papers are not encoded yet and are found by their words only; 5 "
                           "were encoded for this question.")
        [*_, waiting] = searcher.query(QUESTION, 5, SearchOptions(mode=Mode.DENSE, encode_budget=0)).notes
        assert waiting.startswith(f"{COUNT - 5} of {COUNT} papers are not encoded yet and are left out of this answer;")
        few, waiting = searcher.query(QUESTION, 5, SearchOptions(min_score=0.999, encode_budget=0)).notes
        assert few == "Only 0 encoded papers have a cosine of 0.999 or more."
        assert "left out of this answer" in waiting


def test_what_is_said_where_few_papers_are_there_is_what_is_shown(bare):
    first, second = ({word.strip(".,:") for word in text_of(record).split()} for record in records(2))
    own, shared = (next(word for word in sorted(words) if word.isalpha() and len(word) > 4)
                   for words in (first - second, first & second))
    with Searcher(bare, provider=FakeProvider()) as searcher:
        two = SearchOptions(mode=Mode.LEXICAL, filter=Filter(ids=tuple(searcher.reader.papers.ids()[:2])))
        none = replace(two, filter=Filter(first_year=3000))
        assert searcher.query(own, 10, two).notes == ("Only 1 paper shares a word with the question.",)
        assert searcher.query(shared, 10, two).notes == ("10 papers were asked for; these are all 2.",)
        assert searcher.query(own, 10, none).notes[0] == "No paper passes the filter."
