"""Words of texts: which there are, in which scripts, and where in the text they stand."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import UsageError
from semsearch.index.lexical_analysis import LANGUAGES, Analyser, check_language

ENGLISH = Analyser("english")


def terms(text: str, language: str = "english") -> list[str]:
    return (ENGLISH if language == "english" else Analyser(language)).terms(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The Networks are learning", ["network", "learn"]),
        ("naïve Schrödinger", ["naiv", "schroding"]),
        ("GPT-4, p53, IL-2 and COVID-19", ["gpt", "-4", "p53", "il", "-2", "covid", "19"]),
        ("R, C++, vitamin C", ["r", "c", "vitamin", "c"]),
        ("x of a 3 in b", []),
        ("10-25 mg", ["10", "25", "mg"]),
        ("α-synuclein", ["synuclein"]),
        ("state-of-the-art", ["state", "art"]),
        ("", []),
        ("+-*/ !?", []),
    ],
)
def test_words(text, wanted):
    assert terms(text) == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ﬁsh ﬂow", "fish flow"),
        ("ＢＥＲＴ", "BERT"),
        ("e\u0301tude", "étude"),
        ("étude", "etude"),
        ("soft\u00adhyphen", "softhyphen"),
        ("word\u2060joiner\ufeff", "wordjoiner"),
        ("İstanbul", "Istanbul"),
        ("Straße", "STRASSE"),
        ("IL\u20112", "IL-2"),
        ("IL–2", "IL-2"),
        ("x\u0304yz", "xyz"),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد", "محمد"),
        ("ｶﾞｽ", "ガス"),
        ("한국어", unicodedata.normalize("NFD", "한국어")),
    ],
)
def test_spellings_of_one_word(one, other):
    assert terms(one) == terms(other) != []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("神经网络", ["神经", "经网", "网络"]),
        ("神", ["神"]),
        ("使用BERT模型", ["使用", "bert", "模型"]),
        ("第3章", ["第", "章"]),
        ("ニューラル", ["ニュ", "ュー", "ーラ", "ラル"]),
        ("신경망을", ["신경", "경망", "망을"]),
        ("ภาษา", ["ภา", "าษ", "ษา"]),
        ("神经, 网络", ["神经", "网络"]),
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),
        ("ភាសា", ["ភា", "ាស", "សា"]),
    ],
)
def test_scripts_without_spaces_become_pairs(text, wanted):
    assert terms(text) == wanted


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("german", "die Häuser", "Haus"),
        ("french", "les théories", "théorie"),
        ("russian", "сети", "сеть"),
        ("turkish", "IŞIK", "ışık"),
        ("turkish", "İSTANBUL", "istanbul"),
        ("greek", "ΛΟΓΟΣ", "λόγος"),
        ("spanish", "las redes", "red"),
    ],
)
def test_languages(language, one, other):
    assert terms(one, language) == terms(other, language) != []


def test_each_language_can_be_used_and_another_is_refused():
    for language in LANGUAGES:
        assert "2026" in terms("2026 words", language)
    assert terms("The networks", "none") == ["the", "networks"]
    with pytest.raises(UsageError, match="klingon") as caught:
        check_language("klingon")
    assert "swedish" in caught.value.way_out


def test_long_runs_of_letters_are_left_out():
    assert terms("a" * 255) == ["a" * 255]
    assert terms(f"{'a' * 256} good {'b' * 70_000}") == ["good"]


def test_positions_count_the_stop_words_that_are_left_out():
    assert ENGLISH.phrase("theory of the flow") == ((0, "theori"), (3, "flow"))
    assert ENGLISH.phrase("the flow") == ((0, "flow"),)
    assert ENGLISH.phrase("of the") == ()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The naïve ﬁsh", ["naïve", "ﬁsh"]),
        ("e\u0301tude of cafe\u0301s", ["e\u0301tude", "cafe\u0301s"]),
        ("soft\u00adhyphen.", ["soft\u00adhyphen"]),
        ("使用BERT模型，很好", ["使用", "BERT", "模型", "很好"]),
        ("神经网络", ["神经", "经网", "网络"]),
        ("a 神 b", ["神"]),
        ("㎏ cup ｶﾞｽ", ["㎏", "cup", "ｶﾞｽ"]),
        ("\ud800 lone surrogate", ["lone", "surrogate"]),
        ("İstanbul'da", ["İstanbul", "da"]),
    ],
)
def test_each_term_knows_where_it_stood(text, wanted):
    assert [text[span.start : span.end] for span in ENGLISH.spans(text)] == wanted


ANYTHING = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("ab -\"'e\u0301ﬁ½㎏İ\u00ad\u200d\u3099ｶﾞ神经网络ᄒᆞᆫภาษາ한국\U00020000\ud800\x00"),
    ),
    max_size=40,
)


@given(ANYTHING, st.sampled_from(["english", "turkish", "none"]))
def test_places_and_terms_agree_for_any_text(text, language):
    analyser = Analyser(language)
    spans = list(analyser.spans(text))
    assert [span.term for span in spans] == analyser.terms(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)
