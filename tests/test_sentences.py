"""Sentences of abstracts: by hand, and that nothing is lost whatever the text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semsearch.sentences import MOST_CHARACTERS, split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def assert_all_is_covered(text: str) -> None:
    done = 0
    for start, end in split_sentences(text):
        assert done <= start < end <= len(text)
        assert not text[done:start].strip()
        assert text[start:end] == text[start:end].strip()
        assert end - start <= MOST_CHARACTERS
        done = end
    assert not text[done:].strip()


@pytest.mark.parametrize("expected", [
    ["Birds sing."],
    ["One sentence without an end"],
    ["We used E. coli and S. cerevisiae.", "They grew."],
    ["Methods, e.g. those of Fig. 3 and Eq. 2, cf. Smith et al. 2019, fail.", "Ours, i.e. the new one, works."],
    ["It was shown by Li et al.", "We go on."],
    ["Pseudomonas sp. and Bacillus spp. were found.", "No. 5 was not."],
    ["J. R. Smith met Dr. Jones in the U.S. Senate.", "They talked."],
    ["The effect was significant, p < 0.05.", "It was 3.14 vs. 2.71 before."],
    ["See version v2.0 at www.x.Y or node.js.", "It runs."],
    ["BACKGROUND: Birds sing.", "METHODS: We listened.", "MATERIALS AND METHODS: Ears.", "Results: They sing."],
    ["Does it work?", "Yes!", '"It does."', "(So we think.)"],
    ["Expression fell.", "p53 rose.", "mRNA was stable."],
    ["It sells shoes, hats, etc.", "Existing shops do not."],
    ["We parse it as IE.", "Analysing costs more."],
    ["1. One thing is this.", "2. Another is that."],
    ["First; second; third.", "End."],
    ["We see growth... and decline.", "Then nothing..."],
    ["the flow is steady .", "it was found that lift falls .", "no more"],
])
def test_sentences_are_cut_as_by_hand(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("We train a model.We test it.", ["We train a model.", "We test it."]),
    ("As in e.g.The Times it stays.", ["As in e.g.The Times it stays."]),
    ("我们研究鸟。它们唱歌！为什么？不知道", ["我们研究鸟。", "它们唱歌！", "为什么？", "不知道"]),
    ("鳥は「歌う。」という。", ["鳥は「歌う。」", "という。"]),
    ("Findings:\n- birds sing\n- cells divide\n\nThe end.",
     ["Findings:", "- birds sing", "- cells divide", "The end."]),
    ("Aims • birds sing • cells divide", ["Aims", "• birds sing", "• cells divide"]),
    ("the first is short. the second too.", ["the first is short.", "the second too."]),  # a text without capitals
    ("We did it RESULTS: It worked.", ["We did it", "RESULTS: It worked."]),
    ("Values rose (p < 0. 05). Others fell.", ["Values rose (p < 0. 05).", "Others fell."]),
    ("", []), (" \n\t ", []), ("...", ["..."]), ("A. ...", ["A. ..."]), ("  padded.  ", ["padded."]),
])
def test_unusual_texts(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_long_sentences_are_cut_at_a_comma_else_at_a_space_else_anywhere() -> None:
    assert [len(s) for s in sentences("word, " * 300)] == [599, 599, 599]
    by_spaces = sentences("word " * 300)
    assert all(len(s) <= 600 and not s.startswith("ord") for s in by_spaces) and len(by_spaces) == 3
    assert [len(s) for s in sentences("x" * 1500)] == [600, 600, 300]
    early = "a, " * 10 + "x" * 1000
    assert [len(s) for s in sentences(early)] == [600, 430]  # commas so early leave a sliver


@given(st.text(alphabet="aB1 .!?。\n,;:()[]\"'•-é·", max_size=300))
@settings(deadline=None)
def test_nothing_is_lost(text: str) -> None:
    assert_all_is_covered(text)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_nothing_is_lost_of_any_characters(text: str) -> None:
    assert_all_is_covered(text)


@pytest.mark.parametrize("unit", ["a. ", ".", " ", "\n", "x", ".(", "e.g. ", "a.B", "METHODS: ", "\n -", ",", ".'\"",
                                  "PATIENTS AND ", ". \n", "1. "])
def test_monotonous_texts_of_half_a_million_characters(unit: str) -> None:
    assert_all_is_covered(unit * (500_000 // len(unit)))  # in quadratic time this would take hours


def test_real_abstracts(shared_data: Path) -> None:
    with gzip.open(shared_data / "acl-anthology" / "acl-01.jsonl.gz", "rt", encoding="utf-8") as file:
        abstracts = [json.loads(line).get("abstract") or "" for _, line in zip(range(2000), file, strict=False)]
    counts = []
    for abstract in filter(None, abstracts):
        assert_all_is_covered(abstract)
        counts.append(len(split_sentences(abstract)))
    assert 4 < sum(counts) / len(counts) < 9  # by eye an abstract has six or seven
