"""Markup to text: exact values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.cleaning import markup_to_text

MML = "http://www.w3.org/1998/Math/MathML"
CASES = [
    ("<p>One.</p><p>Two.</p>", "One.\nTwo."),
    ("<jats:p>One.</jats:p>", "One."),
    ("One.<br/>Two.", "One.\nTwo."),
    ("<jats:title>Background</jats:title><jats:p>We do.</jats:p>", "Background: We do."),
    ("<jats:sec><jats:title>Aim:</jats:title><jats:p>We do.</jats:p></jats:sec>", "Aim: We do."),
    ("<h4>METHODS</h4>We do.", "METHODS: We do."),
    ("<title></title>x", "x"),
    ('<AbstractText Label="RESULTS">All.</AbstractText>', "RESULTS: All."),
    ("CO<sub>2</sub>", "CO2"),
    ("IC<sub>50</sub>", "IC50"),
    ("10<sup>5</sup>", "10⁵"),
    ("Ca<sup>2+</sup>", "Ca²⁺"),
    ("m<sup>-2</sup>", "m⁻²"),
    ("5<sup>th</sup>", "5th"),
    ("p53<sup>flox</sup>", "p53flox"),
    ("CO<SUB>2</SUB>", "CO2"),
    ("H<inf>2</inf>O", "H2O"),
    ("<i>E. coli</i> and <b>x</b>", "E. coli and x"),
    ("<jats:italic>n</jats:italic> = 3", "n = 3"),
    ('<a href="https://x.y">here</a>', "here"),
    ("<scp>R</scp> package", "R package"),
    ("<!-- no -->yes", "yes"),
    ("<![CDATA[a < b]]>", "a < b"),
    ('<?xml version="1.0"?>x', "x"),
    ("<script>no()</script>yes", "yes"),
    ("p &lt; 0.05", "p < 0.05"),
    ("a &amp;lt; b", "a < b"),
    ("R&amp;D", "R&D"),
    ("caf&eacute;", "café"),
    ("&#945; &#x3b1;", "α α"),
    ("a&nbsp;b", "a b"),
    ("&lt;i&gt;x&lt;/i&gt;", "x"),
    ("&unknown; AT&T &c", "&unknown; AT&T &c"),
    # MathML
    ("<mml:math><mml:mi>x</mml:mi><mml:mo>=</mml:mo><mml:mn>1</mml:mn></mml:math>", "x = 1"),
    ("<math><msup><mn>10</mn><mrow><mo>-</mo><mn>5</mn></mrow></msup></math>", "10⁻⁵"),
    ("<math><msub><mi>x</mi><mi>i</mi></msub></math>", "x_i"),
    ("<math><mfrac><mi>a</mi><mi>b</mi></mfrac></math>", "a/b"),
    ("<math><msqrt><mi>n</mi></msqrt></math>", "√n"),
    ("<math><mover><mi>x</mi><mo>¯</mo></mover></math>", "x\u0304"),
    (f'<i:math xmlns:i="{MML}"><i:msup><i:mi>x</i:mi><i:mn>2</i:mn></i:msup></i:math>', "x²"),
    ('<mml:math alttext="\\alpha &gt; 0"><mml:mi>b</mml:mi></mml:math> y', "α > 0 y"),
    (
        "<jats:inline-formula><jats:alternatives><jats:tex-math>$$\\alpha$$</jats:tex-math><mml:math><mml:mi>α</mml:mi>"
        "</mml:math></jats:alternatives></jats:inline-formula>-stable",
        "α-stable",
    ),
    ("<tex-math>\\documentclass{m}\\begin{document}$$x^2$$\\end{document}</tex-math>", "x²"),
    # no markup
    ("p < 0.05 and n > 3", "p < 0.05 and n > 3"),
    ("a<b", "a<b"),
    ("if a<b and c>d", "if a<b and c>d"),
    ("a<b>c", "a<b>c"),
    ("couples <assumption, source>", "couples <assumption, source>"),
    ("<a> and <c + a>", "<a> and <c + a>"),
    ("<unk> token", "<unk> token"),
    ("1 <-> 2", "1 <-> 2"),
    # broken
    ("<i>a", "<i>a"),
    ("a</i>", "a"),
    ("<sup>2", "²"),
    ("<!-- a", "<!-- a"),
    ("<p", "<p"),
    ("&lt", "&lt"),
    ("<b><i>a</b>", "<i>a"),
]


@pytest.mark.parametrize(("markup", "text"), CASES)
def test_text_of_markup(markup: str, text: str) -> None:
    assert markup_to_text(markup) == text


@pytest.mark.parametrize("text", ["", "Plain text.", "1 < 2 & 3 > 2"])
def test_text_without_markup_comes_back_itself(text: str) -> None:
    assert markup_to_text(text) is text


@given(
    st.lists(
        st.sampled_from([*"<>&;/ab \"'=!-", "<sup>", "<p>", "<mfrac>", "<math alttext=", "<![CDATA[", "&lt;"])
    ).map("".join)
)
def test_never_raises(text: str) -> None:
    markup_to_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "<" * 500_000,
        "<!--" * 100_000,
        "<sup>a" * 50_000,
        '<math a="' * 50_000,
        "&lt;" * 100_000,
        "<p" + " a" * 200_000,
        "<b " * 100_000,
        "</sup>" * 50_000,
        "<![CDATA[" * 50_000,
        "&amp;" * 100_000,
    ],
)
def test_hostile_markup_ends(text: str) -> None:
    assert isinstance(markup_to_text(text), str)
