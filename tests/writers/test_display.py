"""Lists for people: widths, wrapping, and nothing in them that a terminal obeys."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semsearch.paper import Paper
from semsearch.ranking import Hit
from semsearch.writers.display import display_width, pad, printable, shorten, wrap
from semsearch.writers.table import Look, authors_line, write_columns, write_hits, write_papers


@pytest.mark.parametrize("text, shown", [
    ("plain", "plain"), ("a\x1b[31mred\x1b[0m b", "ared b"), ("\x1b]0;title\x07x", "x"), ("a\x9b2Jb", "ab"),
    ("a\x07\x08b", "ab"), ("two\nlines\tmore", "two lines more"), ("\u202eevil", "evil"), ("a\ud800b", "a?b"),
    ("naïve 日本", "naïve 日本"), ("\x1bPq#0\x1b\\x", "x"), ("\x1b", ""),
])
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
@settings(deadline=None)
def test_nothing_printable_holds_a_control_character(text: str) -> None:
    shown = printable(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown)
    assert printable(shown) == shown


def test_widths() -> None:
    assert [display_width(text) for text in ("abc", "日本", "é", "e\u0301", "")] == [3, 4, 1, 1, 0]
    assert pad("日本", 6) == "日本  "


def test_wrapping_keeps_words_and_breaks_scripts_without_spaces() -> None:
    assert wrap("one two three four", 9) == ["one two", "three", "four"]
    assert wrap("日本語の論文", 5) == ["日本", "語の", "論文"]
    assert wrap("abcdefghij k", 4) == ["abcd", "efgh", "ij k"]
    assert wrap("", 10) == []


def test_what_is_left_out_is_shown_by_an_ellipsis() -> None:
    assert wrap("one two three four five six", 9, 2) == ["one two", "three …"]
    assert wrap("one two three four five six", 9, 1) == ["one two …"]
    assert wrap("abcdefghi jkl mno", 9, 1) == ["abcdefgh…"]
    assert wrap("one two", 9, 2) == ["one two"]
    assert shorten("one two three", 8) == "one two…" and shorten("one", 8) == "one"


@given(st.text(max_size=200), st.integers(4, 40), st.integers(1, 4))
@settings(deadline=None)
def test_no_line_is_too_wide(text: str, width: int, most: int) -> None:
    lines = wrap(text, width, most)
    assert len(lines) <= most and all(display_width(line) <= width for line in lines)
    assert "".join("".join(wrap(text, width)).split()) == "".join(printable(text).split())


def test_three_authors_and_the_rest() -> None:
    assert authors_line(["A", "B", "C"]) == "A, B, C" and authors_line(["A", "B", "C", "D"]) == "A, B, C et al."
    assert authors_line([]) == ""


LONG = Paper("p1", "A title", " ".join(f"word{n}" for n in range(60)), ("A B", "C D", "E F", "G H"), 2020,
             venue="Nature")


def shown(*papers: Paper, look: Look) -> str:
    stream = io.StringIO()
    write_hits([Hit(rank, 0.5, "cosine", paper) for rank, paper in enumerate(papers, 1)], stream, look)
    return stream.getvalue()


def test_a_hit_is_shown_with_three_lines_of_its_abstract() -> None:
    assert shown(LONG, look=Look(50)) == (
        "  1   0.500 A title\n"
        "            A B, C D, E F et al. · 2020 · Nature\n"
        "            p1\n"
        "            word0 word1 word2 word3 word4 word5\n"
        "            word6 word7 word8 word9 word10 word11\n"
        "            word12 word13 word14 word15 word16 …\n")


def test_colour_is_all_that_colour_changes() -> None:
    coloured = shown(LONG, LONG, look=Look(60, colour=True))
    assert [printable(line) for line in coloured.splitlines()] == shown(LONG, LONG, look=Look(60)).splitlines()
    assert "\x1b[1mA title\x1b[0m" in coloured


def test_a_title_that_stands_in_is_not_repeated() -> None:
    paper = Paper("p", "First sentence.", "First sentence. Second one.", title_stands_in=True)
    assert shown(paper, look=Look(80)) == "  1   0.500 First sentence.\n            p\n            Second one.\n"
    cut = Paper("p", "First words ...", "First words of a long sentence.", title_stands_in=True)
    assert shown(cut, look=Look(80)).splitlines()[2].strip() == "of a long sentence."
    stream = io.StringIO()
    write_papers([paper], stream, Look(80))
    assert stream.getvalue() == "id          p\nabstract    First sentence. Second one.\n"


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    stream = io.StringIO()
    write_columns(("name", "state"), [["日本語", "ok\x1b[2J"], ["b", "damaged"]], stream, Look())
    assert stream.getvalue() == "name    state\n日本語  ok\nb       damaged\n"
