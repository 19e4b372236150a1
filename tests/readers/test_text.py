"""Bytes to lines: encodings and line ends."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.readers import text as module
from semsearch.readers.text import HAS_NUL, TOO_LONG, UNDECODABLE, TextLines, sniff_text

CHINESE = "我们研究图神经网络的表达能力，并提出一种新的方法。"
FRENCH = "L’été, nous étudions les réseaux."
RUSSIAN = "Мы изучаем нейронные сети и предлагаем новый метод."
ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r\n\ufeff"))


def lines_of(data: bytes) -> tuple[list[tuple[int, str]], list[tuple[int, str]], str]:
    lines = TextLines(io.BytesIO(data))
    read = list(lines)
    return (
        [(line.number, line.text) for line in read if not line.problem],
        [(line.number, line.problem) for line in read if line.problem],
        lines.encoding,
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_and_line_ends(encoding: str, end: str) -> None:
    text = end.join(["first, in Latin letters", "", "naïve – façade", "last"])
    lines, problems, found = lines_of(text.encode(encoding))
    assert lines == [(1, "first, in Latin letters"), (2, ""), (3, "naïve – façade"), (4, "last")]
    assert problems == []
    assert found == encoding[:6].rstrip("-")


def test_a_last_line_end_makes_no_line() -> None:
    assert lines_of(b"a\nb\n")[0] == [(1, "a"), (2, "b")]
    assert lines_of(b"a\r")[0] == [(1, "a")]
    assert lines_of(b"\r\n\r\n")[0] == [(1, ""), (2, "")]
    assert lines_of(b"")[0] == []


def test_only_line_ends_end_a_line() -> None:
    assert lines_of("a\x0bb\x0cc\x1cd\x85e\u2028f".encode())[0] == [(1, "a\x0bb\x0cc\x1cd\x85e\u2028f")]


def test_a_line_end_split_between_two_blocks_is_one() -> None:
    data = b"x" * (module.HEAD_BYTES - 1) + b"\r\nsecond"
    assert [number for number, _ in lines_of(data)[0]] == [1, 2]


@given(
    st.lists(ANY_TEXT, min_size=1),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_every_text_comes_back(texts: list[str], encoding: str, end: str) -> None:
    lines, problems, _ = lines_of("".join(text + end for text in texts).encode(encoding))
    assert [text for _, text in lines] == texts
    assert problems == []


@given(st.binary(max_size=400))
def test_any_bytes_give_numbered_lines(data: bytes) -> None:
    lines, problems, _ = lines_of(data)
    numbers = sorted(number for number, _ in lines + problems)
    assert numbers == list(range(1, len(numbers) + 1))


def test_cp1252() -> None:
    lines, problems, encoding = lines_of(f"plain\n{FRENCH}\n".encode("cp1252"))
    assert lines == [(1, "plain"), (2, FRENCH)]
    assert (problems, encoding) == ([], "cp1252")


def test_a_few_lines_in_cp1252_among_utf8() -> None:
    data = FRENCH.encode() + b"\n" + FRENCH.encode("cp1252") + b"\n" + CHINESE.encode()
    assert lines_of(data) == ([(1, FRENCH), (2, FRENCH), (3, CHINESE)], [], "mixed")


def test_stray_bytes_within_a_utf8_line_are_cp1252() -> None:
    assert lines_of("naïve ".encode() + "façade".encode("cp1252")) == ([(1, "naïve façade")], [], "mixed")


def test_chinese_in_gb18030() -> None:
    lines, problems, encoding = lines_of(f"ICLR 2025 论文列表\n{CHINESE}\n".encode("gbk"))
    assert lines == [(1, "ICLR 2025 论文列表"), (2, CHINESE)]
    assert (problems, encoding) == ([], "gb18030")


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r"])
def test_an_encoding_that_is_not_known_is_refused_line_by_line(encoding: str) -> None:
    lines, problems, _ = lines_of(b"plain\n" + RUSSIAN.encode(encoding) + b"\nplain too")
    assert lines == [(1, "plain"), (3, "plain too")]
    assert problems == [(2, UNDECODABLE)]


def test_nul_bytes_are_no_text() -> None:
    assert lines_of(b"a good line, long enough\nx\0y\nb")[1] == [(2, HAS_NUL)]


def test_half_a_character_at_the_end_of_utf16() -> None:
    lines, problems, encoding = lines_of("first\nsecond".encode("utf-16")[:-1])
    assert (lines, problems, encoding) == ([(1, "first")], [(2, UNDECODABLE)], "utf-16")


def test_a_lone_surrogate_in_utf16_costs_its_line() -> None:
    data = "first\n".encode("utf-16") + b"\x00\xd8" + "x\nthird".encode("utf-16-le")
    assert lines_of(data) == ([(1, "first"), (3, "third")], [(2, UNDECODABLE)], "utf-16")


def test_a_line_over_the_limit_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_LIMIT_BYTES", 1_000_000)
    data = b"a\n" + b"x" * 1_000_001 + b"\nb\n" + b"y" * 1_000_000 + b"\n" + b"z" * 3_000_000
    lines, problems, _ = lines_of(data)
    assert [(number, len(text)) for number, text in lines] == [(1, 1), (3, 1), (4, 1_000_000)]
    assert problems == [(2, TOO_LONG), (5, TOO_LONG)]


def test_sniffing_tells_text_from_binary() -> None:
    assert sniff_text("größe".encode()) == "größe"
    assert sniff_text("größe".encode("cp1252")) == "größe"
    assert sniff_text("größe".encode("utf-16")) == "größe"
    assert sniff_text(CHINESE.encode("gbk")) == CHINESE
    assert sniff_text(b"\x7fELF\0\0\0") is None
    assert sniff_text(bytes(range(1, 32)) * 10) is None
