"""What a question asks of words: quotes, exclusions, and everything that only looks like them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.index.lexical_analysis import Analyser
from semsearch.index.lexical_query import LexicalQuery, parse_question, query_of_texts

ENGLISH = Analyser("english")


def parse(question: str) -> LexicalQuery:
    return parse_question(question, ENGLISH, dict)


@pytest.mark.parametrize(
    ("question", "text", "phrases", "excluded"),
    [
        ("neural networks", "neural networks", (), ()),
        ('a "neural network" now', "a neural network now", (((0, "neural"), (1, "network")),), ()),
        ('"theory of flow"', "theory of flow", (((0, "theori"), (2, "flow")),), ()),
        ("„neural network“ «deep net» “big data”", "neural network deep net big data", 3, ()),
        ("„neural network” too", "neural network too", 1, ()),
        ("graphs -trees", "graphs", (), (((0, "tree"),),)),
        ('graphs now -"binary tree"', "graphs now", (), (((0, "binari"), (1, "tree")),)),
        ('graphs -"binary tree" now', 'graphs -"binary tree" now', (), ()),  # in the middle a dash is punctuation
        ("-trees graphs -nets", "graphs", (), (((0, "tree"),), ((0, "net"),))),
        ("methods -dash exact -dash known", "methods -dash exact -dash known", (), ()),
        ("-state-of-the-art graphs", "graphs", (), (((0, "state"), (3, "art")),)),
        ("-trees", "", (), (((0, "tree"),),)),
        ("graph-based state-of-the-art", "graph-based state-of-the-art", (), ()),
        ("x -y = z", "x -y = z", (), ()),
        ("a -- b --long option", "a -- b --long option", (), ()),
        ("- item", "- item", (), ()),
        ("-5 degrees -2.5", "-5 degrees -2.5", (), ()),
        ("the -the end", "the -the end", (), ()),
        ('5" wafers and 3" ones', '5" wafers and 3" ones', (), ()),
        ('say "hello', 'say "hello', (), ()),
        ('"" empty', "empty", (), ()),
        ('"of the" things', "of the things", (), ()),
        ("(AND OR NOT) title:x^2 ~*?[a TO b]", "(AND OR NOT) title:x^2 ~*?[a TO b]", (), ()),
        ("", "", (), ()),
    ],
)
def test_syntax(question, text, phrases, excluded):
    found = parse(question)
    assert found.text == text
    assert (len(found.phrases) if isinstance(phrases, int) else found.phrases) == phrases
    assert found.excluded == excluded
    assert found.restricts == bool(phrases or excluded)


def test_repeated_words_count_and_excluded_ones_do_not():
    found = parse('network networks "deep network" -tree')
    assert found.terms == {"network": 3, "deep": 1}
    assert not found.is_empty


def test_a_question_of_exclusions_alone_says_so():
    assert parse("-tree").excludes_only
    assert parse("-tree").is_empty
    assert not parse("-tree of").excludes_only
    assert not parse("of the").excludes_only
    assert parse("of the").is_empty


def test_texts_of_papers_have_no_syntax():
    found = query_of_texts(['a "quoted phrase"', "graph -tree"], ENGLISH, dict)
    assert found.terms == {"quot": 1, "phrase": 1, "graph": 1, "tree": 1} | {
        term: 1 for term in ENGLISH.terms("phrase")
    }
    assert not found.restricts


@given(st.text(st.one_of(st.characters(), st.sampled_from('"„“”«»- abc神经')), max_size=60))
def test_any_text_is_a_question(question):
    found = parse(question)
    terms = set(ENGLISH.terms(found.text))
    assert set(found.terms) == (terms - ENGLISH.habitual or terms)


@pytest.mark.parametrize("piece", ['"', "„", "“", "«", '-"', " -", " -a", '"a" ', "a-", "-„a", '"„“«', "\x00\ud800"])
def test_a_long_question_takes_no_quadratic_time(piece):
    question = piece * (400_000 // len(piece))
    assert len(parse(question).text) <= len(question)
