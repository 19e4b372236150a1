"""BM25 over words against the formula computed in Python, with masks, ties, phrases and exclusions."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lexical_made import index_of

from semsearch.index import lexical_index
from semsearch.index.lexical_index import LexicalIndex, LexicalQuery

K1, B = 1.2, 0.75
WORDS = "graph nerve galaxy market robot plasma orbit cipher".split()


def bm25(texts: Sequence[str], asked: Counter[str]) -> np.ndarray:
    """Return the BM25 of each row; equal texts are one document. Lengths up to 40 words are kept exactly."""
    distinct = {text: Counter(text.split()) for text in texts}
    average = sum(sum(words.values()) for words in distinct.values()) / len(distinct)

    def score(words: Counter[str]) -> float:
        total, length = 0.0, sum(words.values())
        for word, times in asked.items():
            having = sum(word in other for other in distinct.values())
            if words[word]:
                idf = math.log(1 + (len(distinct) - having + 0.5) / (having + 0.5))
                norm = K1 * (1 - B + B * length / average)
                total += times * idf * words[word] * (K1 + 1) / (words[word] + norm)
        return total

    return np.array([score(distinct[text]) for text in texts])


def holds(text: str, phrase: Sequence[str]) -> bool:
    words = text.split()
    return any(words[i : i + len(phrase)] == list(phrase) for i in range(len(words)))


def as_pairs(index: LexicalIndex, query: LexicalQuery, depth: int, allowed=None) -> list[tuple[int, float]]:
    ranking = index.top(query, depth, allowed)
    return list(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True))


TEXT = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(TEXT, min_size=1, max_size=40),
    question=st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=5),
    phrase=st.lists(st.sampled_from(WORDS), max_size=2),
    excluded=st.lists(st.sampled_from(WORDS), max_size=2),
    chance=st.randoms(use_true_random=False),
    depth=st.integers(1, 12),
    few_rows=st.sampled_from([0, 5, 2000]),
    few_docs=st.sampled_from([0, 2000]),
    least_hits=st.sampled_from([1, 640]),
)
def test_the_best_rows_are_those_of_the_formula(texts, question, phrase, excluded, chance, depth, few_rows, few_docs,
                                                least_hits):
    asked = Counter([*question, *phrase])
    wanted = bm25(texts, asked)
    permitted = np.array([
        (not phrase or holds(text, phrase)) and not (excluded and holds(text, excluded)) for text in texts
    ])
    masks = [None, np.array([chance.random() < 0.5 for _ in texts]), np.arange(len(texts)) == 0]
    syntax = " ".join([*question, f'"{" ".join(phrase)}"' if phrase else "", f'-"{" ".join(excluded)}"'])
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(lexical_index, "_FEW_ROWS", few_rows)
        patched.setattr(lexical_index, "_FEW_DOCS", few_docs)
        patched.setattr(lexical_index, "_LEAST_HITS", least_hits)
        patched.setattr(lexical_index, "_SLACK", 1)
        index = index_of(Path(folder) / "g", texts, "none")
        query = index.parse(syntax)
        assert query.terms == asked
        assert (index.rows_permitted(query) == permitted).all()
        rows = np.array(chance.sample(range(len(texts)), chance.randint(0, len(texts))), np.int64)
        np.testing.assert_allclose(index.scores_of(query, rows), wanted[rows], rtol=1e-5, atol=1e-4)
        for mask in masks:
            ranking = index.top(query, depth, mask)
            counts = (wanted > 0) & permitted & (True if mask is None else mask)
            best = sorted(np.flatnonzero(counts).tolist(), key=lambda row: (-round(wanted[row], 3), row))
            assert len(ranking.rows) == min(depth, len(best))
            assert set(ranking.rows.tolist()) <= set(best)
            np.testing.assert_allclose(ranking.scores, wanted[ranking.rows], rtol=1e-5, atol=1e-4)
            np.testing.assert_allclose(ranking.scores, np.sort(wanted[counts])[::-1][:depth], rtol=1e-5, atol=1e-4)
            order = list(zip((-ranking.scores).tolist(), ranking.rows.tolist(), strict=True))
            assert order == sorted(order)
            full = as_pairs(index, query, len(texts), mask)
            assert full[:depth] == as_pairs(index, query, depth, mask)
        without = set(rows.tolist())
        others = [score for row, score in enumerate(wanted) if row not in without]
        assert index.best_score(query, without) == pytest.approx(max(others, default=0.0), rel=1e-5, abs=1e-4)


def test_ties_at_the_cut_are_ordered_by_row_however_many_there_are(tmp_path):
    texts = [f"graph {a} {b}" for a in WORDS[1:] for b in WORDS[1:]] * 2
    texts = [text + f" w{i:03}" for i, text in enumerate(texts)]
    index = index_of(tmp_path / "g", texts)
    query = index.parse("graph")
    for depth in (1, 5, 60, 97, 98, 200):
        assert index.top(query, depth).rows.tolist() == list(range(min(depth, len(texts))))
    last = np.arange(len(texts)) >= 90
    assert index.top(query, 3, last).rows.tolist() == [90, 91, 92]


def test_a_question_is_read_once_however_it_is_looked_at(tmp_path, monkeypatch):
    index = index_of(tmp_path / "g", [f"graph {word}" for word in WORDS] * 20)
    monkeypatch.setattr(lexical_index, "_FEW_ROWS", 0)
    read = []
    hits = index._hits
    monkeypatch.setattr(index, "_hits", lambda query, limit: read.append(limit) or hits(query, limit))
    query = index.parse("graph nerve")
    best = index.best_score(query)
    assert index.top(query, 10, np.arange(160) % 8 == 1).scores.tolist() == [best] * 10
    assert len(index.top(query, 160).rows) == 160 and len(read) == 1
    assert index.top(index.parse("galaxy"), 160).rows.tolist() == list(range(2, 160, 8)) and len(read) == 2


def test_rows_of_one_text_share_its_score(tmp_path):
    index = index_of(tmp_path / "g", ["graph", "nerve", "graph", "", "nerve graph", ""])
    ranking = index.top(index.parse("graph"), 10)
    assert ranking.rows.tolist() == [0, 2, 4]
    assert ranking.scores[0] == ranking.scores[1] > ranking.scores[2]
    assert index.top(index.parse("graph"), 1).rows.tolist() == [0]
    assert index.documents == 4
    assert ranking.rows.dtype == np.int64
    assert ranking.scores.dtype == np.float32


def test_a_repeated_word_counts_as_often_as_it_is_said(tmp_path):
    index = index_of(tmp_path / "g", ["graph orbit", "nerve orbit", "orbit"])
    once, twice = (index.top(index.parse(q), 1).scores[0] for q in ("graph", "graph graphs"))
    assert twice == pytest.approx(2 * once, abs=1e-3)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ('"theory of flow"', [0]),
        ('"theory flow"', [1]),
        ('theory -"theory of flow"', [1, 2]),
        ('theory -"of flow"', []),
        ("theory -flow", []),
        ("-flow theory plasma", [3]),
        ('"flow" plasma', [0, 1, 2]),
        ('"plasma"', [3]),
        ("-flow", []),
        ('"nowhere"', []),
        ("theory -nowhere", [0, 1, 2]),
    ],
)
def test_phrases_and_exclusions(tmp_path, question, wanted):
    index = index_of(tmp_path / "g", ["theory of flow", "theory flow", "flow theory", "plasma theorem"])
    assert sorted(index.top(index.parse(question), 10).rows.tolist()) == wanted


def test_exclusions_alone_still_say_which_rows_are_permitted(tmp_path):
    index = index_of(tmp_path / "g", ["graph", "nerve", "", "graph nerve"])
    assert index.rows_permitted(index.parse("-graph")).tolist() == [False, True, True, False]
    assert index.rows_permitted(index.parse("graph")).all()


def test_english_and_chinese_in_one_text(tmp_path):
    texts = ["使用 BERT 模型的神经网络", "深度神经网络", "BERT model", "unrelated"]
    index = index_of(tmp_path / "g", texts)
    assert index.top(index.parse("BERT 神经网络"), 10).rows.tolist()[0] == 0
    assert sorted(index.top(index.parse("神经网络"), 10).rows.tolist()) == [0, 1]
    assert index.top(index.parse('"度神经"'), 10).rows.tolist() == [1]
    query = index.parse("神经网络 models")
    assert [texts[1][a:b] for a, b in index.matched_spans(query, texts[1])] == ["神经网络"]
    assert [texts[2][a:b] for a, b in index.matched_spans(query, texts[2])] == ["model"]


def test_matched_words_are_where_they_stand_in_the_original(tmp_path):
    index = index_of(tmp_path / "g", ["x"])
    text = "Naïve ﬁshing: the fi\u00adshes of Zu\u0308rich (FISH)."
    spans = index.matched_spans(index.parse("fish naive Zürich"), text)
    assert [text[a:b] for a, b in spans] == ["Naïve", "ﬁshing", "fi\u00adshes", "Zu\u0308rich", "FISH"]


@pytest.mark.parametrize("texts", [[], [""], ["the of"], ["", ""]])
def test_nothing_to_find(tmp_path, texts):
    index = index_of(tmp_path / "g", texts)
    query = index.parse("graph")
    assert len(index.top(query, 5).rows) == 0
    assert index.best_score(query) == 0.0
    assert index.scores_of(query, np.arange(len(texts))).tolist() == [0.0] * len(texts)
    assert index.rows_permitted(index.parse('"graph" -nerve')).tolist() == [False] * len(texts)


def test_nothing_is_asked(tmp_path):
    index = index_of(tmp_path / "g", ["graph", "nerve"])
    for question in ("", "of the", "?!", "\ud800\x00"):
        query = index.parse(question)
        assert query.is_empty
        assert len(index.top(query, 5).rows) == 0
        assert index.scores_of(query, np.array([0, 1])).tolist() == [0, 0]
    assert len(index.top(index.parse("graph"), 0).rows) == 0
    assert len(index.top(index.parse("graph"), 5, np.zeros(2, np.bool_)).rows) == 0


def test_a_question_of_very_many_words_keeps_those_that_weigh_most(tmp_path, monkeypatch):
    monkeypatch.setattr(lexical_index, "MOST_TERMS", 3)
    index = index_of(tmp_path / "g", [f"common w{i} shared{i // 2}" for i in range(8)])
    query = index.of_texts(["common unknown1 unknown2 w3 shared0 common w5"])
    assert set(query.terms) == {"w3", "w5", "shared0"}
    assert index.of_texts(["w3 w5"]).terms == {"w3": 1, "w5": 1}


def test_a_megabyte_of_words_is_a_question(tmp_path):
    index = index_of(tmp_path / "g", ["w1 w2", "w77777", "nothing"])
    query = index.parse(" ".join(f"w{i}" for i in range(130_000)))
    assert set(query.terms) == {"w1", "w2", "w77777"}
    assert sorted(index.top(query, 5).rows.tolist()) == [0, 1]
