"""Papers: text, keys, ids, dates."""

from __future__ import annotations

import hashlib
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.paper import (
    Paper,
    collapse_white_space,
    comparable,
    content_id,
    first_sentence,
    normalise_date,
    paragraph_id,
    text_key,
)

WORDS = st.lists(st.text(st.characters(exclude_categories=("Z", "C")), min_size=1), min_size=1, max_size=8)
GAPS = st.text(st.sampled_from(" \t\n\r\u00a0\u2009"), min_size=1, max_size=3)


def test_text_is_title_then_abstract() -> None:
    assert Paper(id="1", title="A title", abstract="An abstract.").text == "A title An abstract."


def test_text_without_title_or_abstract_has_no_stray_space() -> None:
    assert Paper(id="1", title="A title").text == "A title"
    assert Paper(id="1", abstract="An abstract.").text == "An abstract."


def test_a_title_that_stands_in_is_not_embedded_twice() -> None:
    assert Paper(id="1", title="We study.", abstract="We study. More.", title_stands_in=True).text == "We study. More."


def test_text_key_is_half_a_sha256() -> None:
    assert text_key("abc") == hashlib.sha256(b"abc").digest()[:16]
    assert Paper(id="1", abstract="abc").text_key == text_key("abc")


def test_collapse_white_space() -> None:
    assert collapse_white_space("  a\t b\r\n\u00a0c  ") == "a b c"
    assert collapse_white_space("e\u0301") == "\u00e9"


def test_control_characters_and_surrogates_are_dropped() -> None:
    assert collapse_white_space("a \x01 b\x7f\ud800c") == "a bc"
    assert collapse_white_space("\x00 a") == "a"
    assert collapse_white_space("e\x02\u0301") == "\u00e9"


@given(st.text())
def test_collapsed_text_stays_as_it_is(text: str) -> None:
    once = collapse_white_space(text)
    assert collapse_white_space(once) == once
    assert once == once.strip()
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in once)
    once.encode("utf-8")


@given(st.text(st.characters(max_codepoint=0x17F) | st.sampled_from("é\u0301Σﬁ²½神İ_ \x1c\x85\ud800")))
def test_comparable_is_the_same_for_plain_and_other_characters(text: str) -> None:
    letters = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(c for c in letters if not unicodedata.combining(c))
    assert comparable(text) == re.sub(r"[\W_]+", " ", letters).strip()


def test_comparable_drops_case_diacritics_and_punctuation() -> None:
    assert comparable("Über-Graphs: A Straße!") == "uber graphs a strasse"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("We study graphs. They are large.", "We study graphs."),
        ("Is it so? Yes.", "Is it so?"),
        ("No end", "No end"),
        ("It has 3.5 parts and goes on. Then it ends.", "It has 3.5 parts and goes on."),
        ("这是第一句。这是第二句。", "这是第一句。"),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_a_long_first_sentence_is_cut_between_words() -> None:
    cut = first_sentence("word " * 100)
    assert cut == ("word " * 40).strip() + " ..."


def test_paragraph_id_is_that_of_the_collapsed_text() -> None:
    assert paragraph_id("  We study\n graphs. ") == hashlib.sha256(b"We study graphs.").hexdigest()[:12]


@given(WORDS, GAPS, GAPS)
def test_paragraph_id_does_not_see_white_space(words: list[str], one: str, other: str) -> None:
    assert paragraph_id(one.join(words)) == paragraph_id(other + other.join(words) + one)


@given(WORDS, WORDS)
def test_an_edited_paragraph_is_another(words: list[str], more: list[str]) -> None:
    assert paragraph_id(" ".join(words)) != paragraph_id(" ".join([*words, *more]))


def test_content_id_does_not_see_case_and_punctuation() -> None:
    one = content_id("A Title.", "Text", ("Ann Lee",), 2020)
    assert one == content_id("a title", "text!", ("ann lee",), 2020)
    assert one != content_id("A Title.", "Text", ("Ann Lee",), 2021)
    assert len(one) == 12


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2020", "2020"),
        ("2020-05", "2020-05"),
        (" 2020-05-31 ", "2020-05-31"),
        ("2020-02-29", "2020-02-29"),
        ("2021-02-29", ""),
        ("2020-13", ""),
        ("0000", ""),
        ("May 2020", ""),
        ("", ""),
        ("2020-5-1", ""),
    ],
)
def test_normalise_date(text: str, date: str) -> None:
    assert normalise_date(text) == date


def test_a_first_sentence_of_nothing_but_punctuation() -> None:
    assert first_sentence("; " * 200) == "..."
