"""Cheap tests that say of a text that nothing is to be done: they never change what comes out."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from semsearch.cleaning import abstracts, latex_to_text, markup_to_text, notices, tidy, tidying
from semsearch.cleaning.latex_scanner import Scanner
from semsearch.paper import collapse_white_space

PIECES = st.sampled_from([
    "a", "The", " ", "  ", "\n", "é", "e\u0301", "\u0301", "\u0338", "ß", "ﬁ", "Ｆ", "𝒩", "神经", "ภา", "\u00a0",
    "\u2009", "\u00ad", "\u200b", "\u200d", "\ud800", "\x00", "’", "“", "–", "…", "≤", "∑", "α", "Ω", "\u2126", "-",
    "-\n", "\\", "$", "$x_1$", "{", "}", "~", "``", "`", "\\alpha", "\\'e", "<", ">", "<i>", "</i>", "<sub>2</sub>",
    "a<b", "&", "&amp;", "&lt;", "&copy;", "& b", "x < 3", "©", " 2019", "(c)", "(C)", " Copyright", "COPYRIGHT",
    "Elsevier Ltd.", " All rights reserved.", "Published by Elsevier.", ". ", "right", "access",
    "This is an open access article ", "This article is protected by copyright.", "(PsycINFO Database Record",
    "(ABSTRACT TRUNCATED AT 250 WORDS)", "Production and hosting by Elsevier", "Crown ", "published", "Abstract: "])
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join),
                  st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=12).map("".join))


def tidied_step_by_step(text: str) -> str:
    text = tidying._INVISIBLE.sub("", tidying._join_broken_words(text))
    text = tidying._COMPATIBILITY.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return collapse_white_space(tidying._STRAY_JOINERS.sub("", collapse_white_space(text)))


@given(TEXTS)
def test_text_that_is_tidy_is_what_tidying_gives(text: str) -> None:
    assert tidy(text) == tidied_step_by_step(text)


def test_every_usual_character_stays_beside_every_other() -> None:
    usual = [c for c in map(chr, range(0x20, 0x110000)) if not tidying._UNUSUAL.search(c) and c != " "]
    assert set("aé’–αΩ") < set(usual)
    for one in usual:
        pairs = one + one.join(usual) + one
        assert tidy(pairs) == pairs == tidied_step_by_step(pairs)


@given(TEXTS)
def test_text_without_a_sign_of_latex_has_no_latex(text: str) -> None:
    if not re.search(r"[\\${}~]|``", text):
        assert latex_to_text(text) == text
    elif "backslash" not in text:
        assert latex_to_text(text) == Scanner(text).read()


@given(TEXTS, st.sampled_from(["latex", "html"]))
def test_markup_is_decoded_wherever_it_is(text: str, markup: abstracts.Markup) -> None:
    first, second, sign = ((latex_to_text, markup_to_text, abstracts._ENTITY_OR_TAG) if markup == "latex"
                           else (markup_to_text, latex_to_text, abstracts._FORMULA))
    decoded = first(text)
    assert abstracts._decoded(text, markup) == (second(decoded) if sign.search(decoded) else decoded)
    if not re.search(r"<[A-Za-z/!?]|&[#A-Za-z]", text):
        assert markup_to_text(text) == text


@given(TEXTS, st.sampled_from(["", "A sentence. ", "x" * 1600 + ". "]))
def test_notices_are_found_without_the_signs_too(text: str, before: str) -> None:
    text = before + text
    earliest = max(len(text) - notices._LONGEST_NOTICE, 0)
    starts = (found.start() for pattern in (notices._NOTICE_START, notices._OTHER_START)
              for found in pattern.finditer(text, earliest))
    wanted = (start for start in starts if notices._stands_free(text, start) and notices._all_notice(text, start))
    assert notices._trailing_notice_start(text) == next(wanted, len(text))
