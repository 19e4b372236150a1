"""How a highlight looks in a list: on a terminal, and as plain text."""

from __future__ import annotations

import io
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from semsearch.paper import Paper
from semsearch.ranking import Highlight, Hit
from semsearch.writers.display import display_width, wrap
from semsearch.writers.marking import Piece, wrap_marked
from semsearch.writers.table import Look, write_hits

ABSTRACT = "Cells divide. Birds navigate by stars. They sing at night."
PAPER = Paper("p1", "On birds", ABSTRACT, year=2001)
BEST = Highlight("abstract", "Birds navigate by stars.", 14, 38, 0.7, ((14, 19), (20, 28), (39, 43)))


def listed(paper: Paper, highlight: Highlight | None, *, width: int = 60, colour: bool = False) -> list[str]:
    stream = io.StringIO()
    write_hits([Hit(1, 0.5, "hybrid", paper, {}, highlight)], stream, Look(width, colour))
    return stream.getvalue().splitlines()


def test_plain_text_marks_the_sentence_and_goes_on_after_it() -> None:
    assert listed(PAPER, BEST) == [
        "  1   0.500 On birds",
        "            2001",
        "            p1",
        "            » Birds navigate by stars.",
        "              They sing at night.",
    ]


def test_what_precedes_is_shown_where_nothing_follows() -> None:
    last = Highlight("abstract", "They sing at night.", 39, 58, 0.7)
    assert listed(PAPER, last)[3:] == ["              Cells divide. Birds navigate by stars.",
                                       "            » They sing at night."]
    lines = listed(replace(PAPER, abstract="x " * 100 + ABSTRACT), replace(last, start=239, end=258), width=80)
    assert len(lines) == 6 and lines[3].strip().startswith("… x x")
    assert lines[4].endswith("Birds navigate by stars.") and lines[5].endswith("» They sing at night.")


def test_a_terminal_underlines_the_words() -> None:
    line = listed(PAPER, BEST, colour=True)[3]
    assert line == ("            \x1b[36m» \x1b[0m\x1b[1;4mBirds\x1b[0m\x1b[36m \x1b[0m\x1b[1;4mnavigate\x1b[0m"
                    "\x1b[36m by stars.\x1b[0m")


def test_a_title_that_stands_alone_or_in_is_marked_itself() -> None:
    alone = Highlight("title", "On birds", 0, 8, 0.7, ((3, 8),))
    assert listed(replace(PAPER, abstract=""), alone, colour=True)[0].endswith(
        "\x1b[1mOn \x1b[0m\x1b[1;4mbirds\x1b[0m")
    stands_in = replace(PAPER, title="Cells divide.", title_stands_in=True)
    first = Highlight("abstract", "Cells divide.", 0, 13, 0.7, ((0, 5),))
    assert listed(stands_in, first)[0] == "  1   0.500 » Cells divide."
    assert listed(stands_in, first)[3:] == ["            Birds navigate by stars. They sing at night."]
    assert listed(stands_in, BEST)[0] == "  1   0.500 Cells divide."


def test_without_a_highlight_the_abstract_begins_as_ever() -> None:
    assert listed(PAPER, None, width=100)[3:] == [f"            {ABSTRACT}"]


def test_nothing_that_a_terminal_obeys_comes_through() -> None:
    text = "Birds\x1b[31m navi\x07gate\u202e by stars. \U0001d173x"
    paper = replace(PAPER, abstract=text)
    [line] = listed(paper, Highlight("abstract", text, 0, len(text), 0.7, ((0, 5), (11, 19))))[3:]
    assert line == "            » Birds navigate by stars. x"


def test_long_sentences_end_with_an_ellipsis_and_wide_characters_count_twice() -> None:
    text = "鸟会唱歌" * 100
    lines = listed(replace(PAPER, abstract=text), Highlight("abstract", text, 0, len(text), 0.7, ((0, 2),)))[3:]
    assert len(lines) == 5 and lines[-1].endswith("…")
    assert all(display_width(line) <= 60 for line in lines)


def test_pieces_are_marked_over_the_end_of_a_line() -> None:
    assert wrap_marked("ab cd ef", [(0, 5)], 4) == [[Piece("ab", True)], [Piece("cd", True)], [Piece("ef", False)]]
    assert wrap_marked("abcdefgh", [(2, 6)], 4) == [[Piece("ab", False), Piece("cd", True)],
                                                    [Piece("ef", True), Piece("gh", False)]]
    assert wrap_marked("", [], 4) == [] and wrap_marked("ab", [(0, 1), (0, 9)], 4) == [[Piece("a", True),
                                                                                        Piece("b", True)]]


@given(st.text(alphabet="ab é鸟\u0301", max_size=80), st.lists(st.integers(0, 80), max_size=8),
       st.integers(2, 30), st.none() | st.integers(1, 4))
@settings(deadline=None)
def test_marks_change_no_line(text: str, places: list[int], width: int, most_lines: int | None) -> None:
    spans = list(zip(*[iter(sorted(places))] * 2, strict=False))
    lines = ["".join(piece.text for piece in line) for line in wrap_marked(text, spans, width, most_lines)]
    assert lines == wrap(text, width, most_lines)
