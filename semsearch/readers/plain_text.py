"""Plain text lists of abstracts: paragraphs between blank lines, or one abstract a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from statistics import median
from typing import BinaryIO, Final

from semsearch.cleaning import clean_abstract
from semsearch.paper import Paper, collapse_white_space, first_sentence, paragraph_id
from semsearch.readers.base import VALUE_CHARACTERS, Format, Located, Reading, ReadItem, Rejected
from semsearch.readers.fields import kept_raw
from semsearch.readers.headings import Heading, ends_sentence, heading_of
from semsearch.readers.labelled import labelled_paper
from semsearch.readers.text import Line, TextLines, sniff_text

TOO_SHORT: Final = "too short to be an abstract"
TOO_LONG: Final = "paragraph longer than 64 MiB"

PARAGRAPHS: Final = "paragraphs between blank lines"
LINES: Final = "one abstract a line"

_SPACE: Final = "id:text"
_MIN_CHARACTERS: Final = 40
_MIN_WORDS: Final = 6
"""Below both it is a fragment: neither an abstract nor, as a rule, a title."""
_PARAGRAPH_LIMIT: Final = 64 * 1024 * 1024
_SAMPLE_LINES: Final = 400
_SAMPLE_CHARACTERS: Final = 512 * 1024
_LONG_LINE: Final = 400
"""A line this long that ends a sentence is an abstract; a sentence or a wrapped line is shorter."""
_WRAPPED_LINE: Final = 200
_RULE: Final = re.compile(r"^\s*([-=*_#~+])(?:\s*\1){2,}\s*$")
_LABEL: Final = re.compile(r"^>?[A-Za-z0-9_+/-]{1,40}$")
"""A line of its own above an abstract: a citation key, or an accession number as in FASTA files."""
_TELLING_RATIO: Final = 3
"""A first line is a heading if what follows is so many times longer."""


def looks_like(name: str, head: bytes) -> int:
    """Return 20 for any text: what no other format claims is read as a list."""
    text = sniff_text(head)
    return 0 if text is None or not text.strip() else 40 if name.endswith((".txt", ".text", ".lst")) else 20


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every abstract or fragment; headings are none."""
    lines = TextLines(stream)

    def items(reading: Reading) -> Iterator[ReadItem]:
        iterator = iter(lines)
        sample: list[Line] = []
        characters = 0
        for line in iterator:
            sample.append(line)
            characters += len(line.text)
            if len(sample) >= _SAMPLE_LINES or characters >= _SAMPLE_CHARACTERS:
                break
        by_line = is_one_abstract_a_line([line.text for line in sample])
        everything = chain(sample, iterator)
        blocks = _lines(everything) if by_line else _blocks(everything, lines)
        headings: list[str] = []
        yield from _items(blocks, headings)
        reading.encoding = lines.encoding
        reading.detail = _detail(LINES if by_line else PARAGRAPHS, headings)

    return Reading(items)


def _detail(layout: str, headings: Sequence[str]) -> str:
    if not headings:
        return layout
    more = f" and {len(headings) - 1} more" if len(headings) > 1 else ""
    return f"{layout}; heading: {headings[0]}{more}"


def _is_blank(text: str) -> bool:
    """Tell whether a line only separates: white space, or a rule such as `-----`."""
    return not text.strip() or bool(_RULE.match(text))


def is_one_abstract_a_line(lines: Sequence[str]) -> bool:
    """Tell from the beginning of a list whether every line is an abstract of its own.

    With blank lines in it, only if most lines that have a neighbour are as long as abstracts and end a sentence. With
    none, unless the lines are evidently one text wrapped, or the labelled fields of one paper.
    """
    texts = ["" if _is_blank(line) else line.strip() for line in lines]
    while texts and (not texts[0] or heading_of(texts[0])):
        texts.pop(0)
    while texts and not texts[-1]:
        texts.pop()
    if len(texts) < 2:
        return False
    if "" not in texts:
        return not _is_wrapped(texts) and labelled_paper(texts) is None
    in_company = [text for before, text, after in zip(["", *texts], texts, [*texts[1:], ""], strict=False)
                  if text and (before or after)]
    whole = [text for text in in_company if ends_sentence(text)]
    return bool(in_company) and len(whole) >= 0.6 * len(in_company) and median(map(len, in_company)) >= _LONG_LINE


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Tell whether lines are those of one text: many begin in lower case; in scripts without, nearly all are full."""
    longest = max(map(len, lines))
    if longest > _WRAPPED_LINE:
        return False
    if sum(line[0].islower() for line in lines[1:]) >= 0.3 * (len(lines) - 1):
        return True
    if any(line[0].isupper() or not line[0].isalpha() for line in lines):
        return False
    full = sum(len(line) >= 0.75 * longest for line in lines[:-1])
    return full >= 0.8 * (len(lines) - 1) and sum(map(ends_sentence, lines[:-1])) < 0.5 * (len(lines) - 1)


def _lines(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Yield each line that is not blank as a paragraph of its own."""
    return ([line] for line in lines if line.problem or not _is_blank(line.text))


def _blocks(lines: Iterator[Line], source: TextLines) -> Iterator[list[Line]]:
    """Yield the lines of each paragraph; one that compressed data broke off in is not given."""
    block: list[Line] = []
    characters = 0
    for line in lines:
        if line.problem or not _is_blank(line.text):
            characters += len(line.text)
            if characters <= _PARAGRAPH_LIMIT:
                block.append(line)
            else:
                first = block[0] if block else line
                block = [Line(first.number, first.text, TOO_LONG)]
        elif block:
            yield block
            block, characters = [], 0
    if block and not source.cut:
        yield block


def _items(blocks: Iterator[list[Line]], headings: list[str]) -> Iterator[ReadItem]:
    current = Heading("", None)
    first = next(blocks, None)
    if first is None:
        return
    second = next(blocks, None)
    opens_list = second is not None and len(first) == 1 and _is_heading_of(first[0].text, second)
    for block in chain([first], [second] if second else [], blocks):
        found = None if block[0].problem else heading_of(block[0].text, opens_list and block is first)
        if found:
            current = found if found.venue or found.year else current
            headings.append(collapse_white_space(block[0].text))
            block = block[1:]
        if block:
            yield _item(block, current)


def _is_heading_of(text: str, block: Sequence[Line]) -> bool:
    """Tell from what follows whether a first line without any other sign is a heading."""
    following = " ".join(line.text.strip() for line in block)
    return ends_sentence(following) and len(following) >= _TELLING_RATIO * len(text.strip())


def _item(block: Sequence[Line], heading: Heading) -> ReadItem:
    for line in block:
        if line.problem:
            return Rejected(line.number, line.problem, line.text[:VALUE_CHARACTERS])
    raw = "\n".join(line.text for line in block)
    labelled = labelled_paper([line.text for line in block])
    if labelled:
        own = paragraph_id(raw)
        return Located(replace(labelled, id=own, identifiers=((_SPACE, own), *labelled.identifiers)), block[0].number)
    body = block[1:] if len(block) > 1 and _LABEL.match(block[0].text.strip()) else block
    raw_abstract = "\n".join(line.text for line in body)
    abstract = clean_abstract(raw_abstract, "latex")
    if is_fragment(abstract):
        return Rejected(block[0].number, TOO_SHORT, collapse_white_space(raw)[:VALUE_CHARACTERS])
    own = paragraph_id(raw)
    kept = kept_raw("", "", raw_abstract, abstract, "latex")
    return Located(
        Paper(id=own, title=first_sentence(abstract), abstract=abstract, year=heading.year,
              date=f"{heading.year:04d}" if heading.year else "", venue=heading.venue, identifiers=((_SPACE, own),),
              title_stands_in=True, raw_abstract=kept["raw_abstract"], markup=kept["markup"]),
        block[0].number)


def is_fragment(text: str) -> bool:
    """Tell whether a paragraph is too short to be an abstract or a title: under 40 characters and 6 words.

    A Chinese or Japanese character counts as half a word.
    """
    if len(text) >= _MIN_CHARACTERS:
        return False
    dense = sum(1 for c in text if "\u3040" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7a3")
    return len(text.split()) + dense / 2 < _MIN_WORDS


FORMAT: Final = Format(name="text", title="plain text list", looks_like=looks_like, read=read, version=1)
