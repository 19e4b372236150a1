"""Words cut for tantivy: the terms and their places are those that the analyser finds, whatever the text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lexical_made import write
from tantivy import TextAnalyzer

from semsearch.index import lexical_cutting, lexical_writer
from semsearch.index.lexical_analysis import Analyser
from semsearch.index.lexical_cutting import Cutter
from semsearch.index.manifest import LEXICAL

TEXTS = ["IL-2 and GPT-4 in 10-25 mg – vitamin C's “effect”", "naïve Schrödinger–Straße 1990–2020", "神经网络 BERT-2",
         "a\x01b -2\x01 x", "–5 ‐6 -7a -8é", "x of a 3 in b", "", "snake_case _ -_ -1_", "\ud800 İstanbul ﬁsh"]
PIECES = st.sampled_from([*"abIZ019_ -‐–—’“”…·×°éÉßσΣІ神ภ²½ﬁİı\u0301\u00ad\u200d\x01\x00\t\n\x1c\x85\u00a0\ud800",
                          "IL-2", "the", "networks"])
ANYTHING = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))


@cache
def cutter_and_analyser(language: str) -> tuple[Cutter, Analyser]:
    return Cutter(Analyser(language)), Analyser(language)


def places(tokenizer: TextAnalyzer, text: str) -> list[tuple[int, str]]:
    return [(token.position, token.text) for token in tokenizer.pre_tokenize(text).tokens]


def assert_same_terms(text: str, language: str = "english") -> None:
    cutter, analyser = cutter_and_analyser(language)
    assert places(cutter.tokenizer, cutter.cut(text)) == places(analyser.tokenizer, analyser.prepare(text))


@given(ANYTHING, st.sampled_from(["english", "turkish", "german", "none"]))
def test_the_terms_are_those_of_the_analyser(text: str, language: str) -> None:
    assert_same_terms(text, language)


@pytest.mark.parametrize("text", TEXTS)
def test_hyphens_digits_and_other_scripts(text: str) -> None:
    assert_same_terms(text)


def test_every_character_that_is_taken_the_short_way() -> None:
    common = [c for c in map(chr, range(0x3000)) if lexical_cutting._cut_common(c) is not None]
    assert {*"aZ0_-\x00é’–αΩ"} < set(common) and not {*"\x01²İЖ\u0301"} & set(common)
    for c in common:
        for text in (c, f"{c}b", f"b{c}", f"-2{c}", f"a-{c} b", f"{c}-2", f"{c}2 ", f"-{c}-2{c} {c} b{c}b", f"{c}{c}"):
            assert_same_terms(text)
    assert_same_terms(" ".join(common) + "".join(common))


def test_the_files_are_those_of_the_longer_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class LongerWay:
        def __init__(self, analyser: Analyser) -> None:
            self.tokenizer, self.cut = analyser.tokenizer, analyser.prepare

    def files(name: str) -> list[tuple[str, bytes]]:
        folder = write(tmp_path / name, TEXTS)[0].folder / LEXICAL
        return sorted((path.suffix, path.read_bytes()) for path in folder.iterdir() if path.name != lexical_writer.META)

    cut = files("cut")
    monkeypatch.setattr(lexical_writer, "Cutter", LongerWay)
    assert files("prepared") == cut
