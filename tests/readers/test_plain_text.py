"""Plain text lists: layouts, headings, ids."""

from __future__ import annotations

import hashlib
import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.paper import Paper, paragraph_id
from semsearch.readers import Located, Rejected, SourceReader, expand_sources
from semsearch.readers.headings import Heading, heading_of
from semsearch.readers.plain_text import LINES, PARAGRAPHS, TOO_LONG, TOO_SHORT, is_one_abstract_a_line, read
from semsearch.readers.text import HAS_NUL

ABSTRACTS = [
    f"We study the {topic} problem, which matters to everyone. Our method is {adverb} better than what was known. "
    f"Experiments on {number} data sets show it, and we prove a bound that holds for all {topic} instances of any size."
    for topic, adverb, number in [
        ("matching", "much", "three"),
        ("sorting", "slightly", "four"),
        ("packing", "never", "five"),
        ("covering", "often", "six"),
        ("routing", "provably", "seven"),
    ]
]
LONG = [
    abstract + " It is also shown, at some length, that the result does not depend on the order of the data." * 3
    for abstract in ABSTRACTS
]
WORDS = st.lists(st.text(st.characters(categories=("Ll", "Lu")), min_size=2, max_size=9), min_size=8, max_size=30)


def items_of(text: str | bytes) -> list[Located | Rejected]:
    data = text.encode() if isinstance(text, str) else text
    return list(read(io.BytesIO(data), "list.txt"))


def papers_of(text: str) -> list[Paper]:
    items = items_of(text)
    assert all(isinstance(item, Located) for item in items), items
    return [item.paper for item in items if isinstance(item, Located)]


def detail_of(text: str) -> str:
    reading = read(io.BytesIO(text.encode()), "list.txt")
    list(reading)
    return str(getattr(reading, "detail", ""))


def wrap(text: str, width: int = 60) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))


def test_a_paragraph_is_a_paper() -> None:
    (paper,) = papers_of(ABSTRACTS[0] + "\n")
    own = hashlib.sha256(ABSTRACTS[0].encode()).hexdigest()[:12]
    assert paper == Paper(
        id=own,
        title="We study the matching problem, which matters to everyone.",
        abstract=ABSTRACTS[0],
        identifiers=(("id:text", own),),
        title_stands_in=True,
    )


def test_latex_is_cleaned_and_kept_raw() -> None:
    raw = r"We show that $\alpha$-\emph{sparse} codes of \"Osterreich are learned with 50\% fewer labels than before."
    (paper,) = papers_of(raw)
    assert paper.abstract == "We show that α-sparse codes of Österreich are learned with 50% fewer labels than before."
    assert (paper.raw_abstract, paper.markup) == (raw, "latex")
    assert paper.id == paragraph_id(raw)


@pytest.mark.parametrize(
    "layout",
    [
        "\n\n".join(ABSTRACTS),
        "\n \n\t\n".join(map(wrap, ABSTRACTS)),
        "\n".join(ABSTRACTS),
        "\r\n\r\n".join(ABSTRACTS),
        "\r".join(ABSTRACTS),
        "\n\n\n" + "\n\n\n\n".join(ABSTRACTS) + "\n\n",
        "\n".join(LONG[:3]) + "\n\n" + "\n".join(LONG[3:]),
    ],
)
def test_the_same_abstracts_in_several_layouts(layout: str) -> None:
    wanted = LONG if LONG[0] in layout else ABSTRACTS
    assert [paper.abstract for paper in papers_of(layout)] == wanted
    assert [paper.id for paper in papers_of(layout)] == [paragraph_id(text) for text in wanted]


@pytest.mark.parametrize(
    ("lines", "by_line"),
    [
        (ABSTRACTS, True),
        (["Conference 2020", "", *ABSTRACTS], True),
        (["A single abstract of one sentence that stands alone."], False),
        (wrap(ABSTRACTS[0]).split("\n"), False),
        (
            [
                "Attention Is All You Need",
                "Deep Residual Learning for Image Recognition",
                "Adam: A Method for Stochastic Optimization",
            ],
            True,
        ),
        ([text for abstract in ABSTRACTS for text in (abstract, "")], False),
        (
            [
                "BACKGROUND: It is not known.",
                "METHODS: We looked.",
                "RESULTS: There is none.",
                "",
                "AIM: To look.",
                "RESULT: None.",
            ],
            False,
        ),
        ([*LONG[:2], "", *LONG[2:]], True),
        ([], False),
        ([""], False),
    ],
)
def test_the_layout_is_found(lines: list[str], by_line: bool) -> None:
    assert is_one_abstract_a_line(lines) is by_line


def test_the_layout_is_said() -> None:
    assert detail_of("\n\n".join(ABSTRACTS)) == PARAGRAPHS
    assert detail_of("\n".join(ABSTRACTS)) == LINES
    assert detail_of("ICLR 2025 论文列表\n\n" + "\n\n".join(ABSTRACTS)) == f"{PARAGRAPHS}; heading: ICLR 2025 论文列表"
    assert (
        detail_of(f"ICLR 2024\n\n{ABSTRACTS[0]}\n\nICLR 2025\n\n{ABSTRACTS[1]}")
        == f"{PARAGRAPHS}; heading: ICLR 2024 and 1 more"
    )


@pytest.mark.parametrize(
    ("line", "venue", "year"),
    [
        ("ICLR 2025 论文列表", "ICLR", 2025),
        ("NeurIPS 2023 accepted papers", "NeurIPS", 2023),
        ("ICML 2023", "ICML", 2023),
        ("ICLR2025", "ICLR", 2025),
        ("# CVPR 2024 #", "CVPR", 2024),
        ("== ACL 2019 ==", "ACL", 2019),
        ("ICML '23", "ICML", 2023),
        ("Accepted papers of KDD 2020:", "KDD", 2020),
        ("2025年ICLR会议论文列表", "ICLR", 2025),
        (
            "Proceedings of the 2023 Conference on Empirical Methods in Natural Language Processing",
            "Conference on Empirical Methods in Natural Language Processing",
            2023,
        ),
        ("List of accepted papers", "", None),
        ("# Oral", "", None),
        ("Spotlight presentations", "", None),
        ("Part two:", "", None),
    ],
)
def test_headings(line: str, venue: str, year: int | None) -> None:
    assert heading_of(line) == Heading(venue, year)


@pytest.mark.parametrize(
    "line",
    [
        "Attention Is All You Need",
        "The 2005 PASCAL Visual Object Classes Challenge",
        "Deep Residual Learning for Image Recognition",
        "We won in 2020.",
        "Is this 2020?",
        "Not available.",
        "",
        ABSTRACTS[0],
        "我们研究图神经网络的表达能力。",
    ],
)
def test_no_headings(line: str) -> None:
    assert heading_of(line) is None


def test_a_heading_holds_for_what_follows_it() -> None:
    papers = papers_of(
        f"{ABSTRACTS[0]}\n\nICLR 2024\n\n{ABSTRACTS[1]}\n\nOrals:\n\n{ABSTRACTS[2]}\n\nNeurIPS 2023\n{ABSTRACTS[3]}\n"
    )
    assert [(paper.venue, paper.year, paper.date) for paper in papers] == [
        ("", None, ""),
        ("ICLR", 2024, "2024"),
        ("ICLR", 2024, "2024"),
        ("NeurIPS", 2023, "2023"),
    ]
    assert papers[3].id == paragraph_id(ABSTRACTS[3])


def test_headings_in_a_list_of_lines() -> None:
    papers = papers_of("ICLR 2025 论文列表\n" + "\n".join(ABSTRACTS))
    assert [paper.venue for paper in papers] == ["ICLR"] * 5


def test_a_first_line_is_a_heading_if_abstracts_follow() -> None:
    assert [p.abstract for p in papers_of("My favourite texts\n\n" + "\n\n".join(ABSTRACTS))] == ABSTRACTS
    assert [p.abstract for p in papers_of("We stand here entirely alone, friends")] == [
        "We stand here entirely alone, friends"
    ]


def test_titles_alone_are_papers() -> None:
    titles = [
        "Deep Residual Learning for Image Recognition",
        "A Neural Probabilistic Language Model for Everyone",
        "Learning to Rank with Nonsmooth Cost Functions",
    ]
    assert [paper.text for paper in papers_of("\n".join(titles))] == titles
    assert [paper.text for paper in papers_of("\n\n".join(titles))] == titles


def test_fragments_are_rejected_and_counted() -> None:
    items = items_of(f"{ABSTRACTS[0]}\n\nNot available.\n\n{ABSTRACTS[1]}\n\n(1)\n")
    assert [(item.line, item.reason, item.value) for item in items if isinstance(item, Rejected)] == [
        (3, TOO_SHORT, "Not available."),
        (7, TOO_SHORT, "(1)"),
    ]


def test_rules_separate_like_blank_lines() -> None:
    assert [p.abstract for p in papers_of("\n-----\n".join(map(wrap, ABSTRACTS)))] == ABSTRACTS
    assert [p.abstract for p in papers_of("\n* * *\n".join(LONG))] == LONG


def test_six_short_words_or_forty_characters_are_enough() -> None:
    short = ["a b c d e f", "Word " * 7 + "worded", "我们研究图神经网络的表达能力。"]
    assert [len(items_of(text)) for text in short] == [1, 1, 1]
    assert all(isinstance(items_of(text)[0], Located) for text in short)
    assert all(
        isinstance(items_of(text)[0], Rejected) for text in ("a b c d e", "Unfortunately unavailable", "图网络。")
    )


def test_a_citation_key_above_an_abstract_is_no_part_of_it() -> None:
    (first, second) = papers_of(f">MTBLS5665\n{ABSTRACTS[0]}\n\nRWEP07\n{ABSTRACTS[1]}\n")
    assert (first.abstract, second.abstract) == (ABSTRACTS[0], ABSTRACTS[1])
    assert first.id == paragraph_id(f">MTBLS5665 {ABSTRACTS[0]}")


def test_labelled_lines_are_fields() -> None:
    text = (
        f"KKS03\nTitle: Finite volumes\n on grids\nAuthor(s): Klassen, L; Kroner, D\nSource: J. METEOROLOGY 82 2003\n"
        f"DOI: 10.1000/X\nAbstract:{ABSTRACTS[0]}\nISSN: 0177-7971\n"
    )
    (paper,) = papers_of(text)
    assert paper == Paper(
        id=paragraph_id(text),
        title="Finite volumes on grids",
        abstract=ABSTRACTS[0],
        authors=("Klassen, L", "Kroner, D"),
        doi="10.1000/x",
        identifiers=(("id:text", paragraph_id(text)), ("doi", "10.1000/x")),
    )


def test_a_line_that_is_no_text_costs_its_paragraph() -> None:
    data = "\n\n".join(ABSTRACTS).encode().replace(b"sorting", b"sort\0ing")
    items = items_of(data)
    assert [item.reason for item in items if isinstance(item, Rejected)] == [HAS_NUL]
    assert len(items) == 5


def test_a_paragraph_over_the_limit_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.readers.plain_text._PARAGRAPH_LIMIT", 1000)
    items = items_of("\n\n".join([ABSTRACTS[0], wrap(ABSTRACTS[1] * 6), ABSTRACTS[2]]))
    assert [(type(item).__name__, item.line) for item in items][:2] == [("Located", 1), ("Rejected", 3)]
    assert isinstance(items[1], Rejected) and items[1].reason == TOO_LONG
    assert [item.paper.abstract for item in items if isinstance(item, Located)] == [ABSTRACTS[0], ABSTRACTS[2]]


def test_the_encoding_does_not_change_an_id() -> None:
    text = "Nous étudions les réseaux profonds et leurs propriétés à l’été. Voilà ce que nous avons trouvé.\n"
    ids = {items_of(text.encode(encoding))[0].paper.id for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252")}  # type: ignore[union-attr]
    assert ids == {paragraph_id(text)}


@given(st.lists(WORDS, min_size=2, max_size=6, unique_by=tuple), st.randoms(use_true_random=False))
def test_ids_survive_reordering_wrapping_and_growth(paragraphs: list[list[str]], chance: random.Random) -> None:
    texts = [" ".join([*words, "so", "it", "ends."]) for words in paragraphs]
    plain = {paper.id for paper in papers_of("\n\n".join(texts))}
    chance.shuffle(texts)
    ends = [chance.choice(["\n\n", "\n \n", "\r\n\r\n\r\n"]) for _ in texts]
    shuffled = {
        paper.id
        for paper in papers_of("".join(text.replace(" ", "  ") + end for text, end in zip(texts, ends, strict=True)))
    }
    assert plain == shuffled == {paragraph_id(text) for text in texts}
    assert plain < {paper.id for paper in papers_of("\n\n".join([*texts, ABSTRACTS[0]]))}


@pytest.mark.parametrize("name", ["list-000.txt", "list-002.txt"])
def test_the_lists_of_iclr_2025(shared_data: Path, name: str) -> None:
    path = shared_data / "iclr2025" / name
    reader = SourceReader(expand_sources([path])[0])
    items = list(reader)
    papers = [item.paper for item in items if isinstance(item, Located)]
    assert (len(items), len(papers)) == (19, 19)
    assert {(paper.venue, paper.year) for paper in papers} == {("ICLR", 2025)}
    assert (reader.format.name, reader.encoding) == ("text", "utf-8")
    paragraphs = [part for part in path.read_text(encoding="utf-8").split("\n\n") if part.strip()][1:]
    assert [paper.id for paper in papers] == [
        hashlib.sha256(" ".join(part.split()).encode()).hexdigest()[:12] for part in paragraphs
    ]


def test_the_questions_name_the_papers_of_the_lists(shared_data: Path) -> None:
    questions = Path(__file__).parents[1] / "data" / "iclr2025_questions.jsonl"
    wanted = {json.loads(line)["paragraph_sha256"][:12] for line in questions.read_text().splitlines()}
    found = {
        item.paper.id
        for name in ("list-000.txt", "list-002.txt")
        for item in SourceReader(expand_sources([shared_data / "iclr2025" / name])[0])
        if isinstance(item, Located)
    }
    assert wanted <= found


@pytest.mark.parametrize(
    ("name", "papers", "rejected", "detail"),
    [
        ("ehayakawa-abstracts-fastalike.txt", 3, 0, PARAGRAPHS),
        ("hilaryweller-moreRefsAbstracts.txt", 17, 0, PARAGRAPHS),
        ("overton-abstracts.txt", 448, 1, LINES),
        ("ryavorsky-direktor_shkoly-russian.txt", 1338, 1, LINES),
        ("tahirlanre-abstracts-blankline.txt", 15, 0, PARAGRAPHS),
    ],
)
def test_real_lists(shared_data: Path, name: str, papers: int, rejected: int, detail: str) -> None:
    reader = SourceReader(expand_sources([shared_data / "wild" / "plain-text" / name])[0])
    items = list(reader)
    assert sum(isinstance(item, Located) for item in items) == papers
    assert sum(isinstance(item, Rejected) for item in items) == rejected
    assert reader.detail == detail
