"""XML documents to records: each record is cut out of the text and parsed by itself.

Cutting first is what makes a file of any size stream, keeps a broken record from costing those after it, and lets
several documents in one file, or a piece of one, be read like a whole. It also keeps every DTD away from the parser:
no entity can be declared, so none expands, and nothing outside the file is ever asked for. The parser is expat, of the
standard library. lxml parses such records twice as fast (181 against 84 MB/s); that is a small part of the whole, and
its recovery mode loses text without a word.
"""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

from semsearch.paper import Paper, collapse_white_space
from semsearch.readers.base import Located, Reading, ReadItem, Rejected
from semsearch.readers.fields import WrongType
from semsearch.readers.text import UNDECODABLE
from semsearch.readers.window import RECORD_LIMIT, TOO_LONG, TextWindow, beginning

NOT_CLOSED: Final = "record without its end tag"
NOT_XML: Final = "not well-formed XML"

Element = ET.Element

_GAP_CHARACTERS: Final = 64 * 1024
_TAG_CHARACTERS: Final = 256
"""Longest record tag that may be cut by the border of what has been read."""
_ILLEGAL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE: Final = re.compile(r"&(?:#([0-9]{1,8}|[xX][0-9a-fA-F]{1,8});|([A-Za-z][A-Za-z0-9]{1,31});)?")
_FINE_REFERENCES: Final = frozenset({"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})
_SECTION: Final = re.compile(r"<!--|<!\[CDATA\[|<\?|<!")
_CLOSERS: Final = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_PREFIX: Final = re.compile(r"[<\s/]([A-Za-z_][\w.-]{0,60}):[A-Za-z_]", re.ASCII)
_STRAY_ANGLE: Final = re.compile(
    r"<(?!/?[A-Za-z_][\w.:-]*(?:\s+[\w.:-]+\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))*\s*/?>)", re.ASCII
)
_INLINE_TAG: Final = re.compile(r"</?(?:i|b|u|em|strong|sup|sub|italic|bold|sc|span|font|br|p)\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class XmlRecord:
    """A record as it stands in the document; `gap` is the end of what stands between it and the record before."""

    line: int
    text: str
    gap: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class XmlLayout:
    """Which elements of a document are records, and what becomes of them.

    `names` are the records' element names, `inner` those that are records only outside of any other. `paper_of` gets
    the element and the gap before it, returns None for what is no paper and no loss, and raises WrongType with the
    reason where the record cannot be used. `cut` leaves out of a record's text what need not be parsed.
    """

    names: tuple[str, ...]
    paper_of: Callable[[Element, str], Paper | None]
    inner: tuple[str, ...] = ()
    cut: Callable[[str], str] | None = None


def read_xml(stream: BinaryIO, layout: XmlLayout) -> Iterator[ReadItem]:
    """Yield one item for every record of a document."""
    window = TextWindow(stream)

    def items(reading: Reading) -> Iterator[ReadItem]:
        for record in xml_records(window, layout):
            item = _item(record, window, layout)
            if item is not None:
                yield item
        reading.encoding = window.encoding

    return Reading(items)


def _item(record: XmlRecord, window: TextWindow, layout: XmlLayout) -> ReadItem | None:
    if record.problem:
        return Rejected(record.line, record.problem, beginning(record.text))
    text = window.decoded(layout.cut(record.text) if layout.cut else record.text)
    if text is None:
        return Rejected(record.line, UNDECODABLE, beginning(record.text))
    element = parse_element(text)
    if element is None and layout.cut:
        element = parse_element(window.decoded(record.text) or "")
    if element is None:
        return Rejected(record.line, NOT_XML, beginning(record.text))
    try:
        paper = layout.paper_of(element, record.gap)
    except WrongType as problem:
        return Rejected(record.line, str(problem), beginning(str(problem.value)))
    return None if paper is None else Located(paper, record.line)


def _start_tag(names: Sequence[str]) -> str:
    return rf"<(?:[\w.-]+:)?({'|'.join(names)})(?=[\s/>])"


def xml_records(window: TextWindow, layout: XmlLayout) -> Iterator[XmlRecord]:
    """Yield the records of a document as text; one that is not closed ends where the next begins."""
    start = re.compile(_start_tag(layout.names + layout.inner), re.ASCII)
    ends = {
        name: re.compile(rf"</(?:[\w.-]+:)?{name}\s*>|{_start_tag(others)}", re.ASCII)
        for group, others in ((layout.names, layout.names), (layout.inner, layout.names + layout.inner))
        for name in group
    }
    gap = ""
    while True:
        found = _search(window, start, 0)
        if found is None:
            if len(window) > _GAP_CHARACTERS:
                passed = len(window) - _TAG_CHARACTERS
                gap = (gap + window.text[window.start : window.start + passed])[-_GAP_CHARACTERS:]
                window.drop(passed)
            if window.extend():
                continue
            return
        gap = (gap + window.text[window.start : found.start()])[-_GAP_CHARACTERS:]
        window.drop(found.start() - window.start)
        yield _next_record(window, ends[found.group(1)], len(found.group()), gap)
        gap = ""


def _search(window: TextWindow, pattern: re.Pattern[str], offset: int) -> re.Match[str] | None:
    """Return a match that what is read next cannot change."""
    found = pattern.search(window.text, window.start + offset)
    if found and found.end() + 1 >= len(window.text) and window.extend():
        found = pattern.search(window.text, window.start + offset)
    return found


def _next_record(window: TextWindow, end: re.Pattern[str], offset: int, gap: str) -> XmlRecord:
    line = window.line
    while True:
        found = _search(window, end, offset)
        if found:
            closed = found.group().startswith("</")
            size = (found.end() if closed else found.start()) - window.start
            text = window.text[window.start : window.start + size]
            window.drop(size)
            return XmlRecord(line, text, gap, "" if closed else NOT_CLOSED)
        if len(window) > RECORD_LIMIT:
            text = window.text[window.start : window.start + _GAP_CHARACTERS]
            window.drop(len(window) - _TAG_CHARACTERS)
            return XmlRecord(line, text, gap, TOO_LONG)
        offset = max(offset, len(window) - _TAG_CHARACTERS)
        if not window.extend():
            text = window.text[window.start :]
            window.drop(len(window))
            return XmlRecord(line, text, gap, NOT_CLOSED)


def parse_element(text: str) -> Element | None:
    """Return the element that a text is, None where it is not well-formed.

    Put right are: entities of HTML, references to characters that XML does not have, control characters, an `&` or `<`
    that stands for itself, and tags of italics and the like that are not closed (they are left out).
    """
    text = _without_sections(_ILLEGAL.sub("", text))
    if "&" in text:
        text = _REFERENCE.sub(_reference, text)
    for repair in (None, _STRAY_ANGLE, _INLINE_TAG):
        if repair:
            text = repair.sub("&lt;" if repair is _STRAY_ANGLE else "", text)
        element = _parsed(text)
        if element is not None:
            return element
    return None


def _parsed(text: str) -> Element | None:
    """Return the element, also where prefixes are declared outside of it only."""
    try:
        return ET.fromstring(text)
    except (ET.ParseError, ValueError):
        prefixes = sorted(set(_PREFIX.findall(text)) - {"xml", "xmlns"})
    if not prefixes:
        return None
    declared = " ".join(f'xmlns:{prefix}="{prefix}"' for prefix in prefixes)
    try:
        return ET.fromstring(f"<_ {declared}>{text}</_>")[0]
    except (ET.ParseError, ValueError, IndexError):
        return None


def _reference(found: re.Match[str]) -> str:
    whole, number, name = found.group(), found.group(1), found.group(2)
    if whole in _FINE_REFERENCES:
        return whole
    if number:
        code = int(number[1:], 16) if number[0] in "xX" else int(number)
        legal = code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
        return html.escape(chr(code)) if legal else ""
    if name:
        character = html.unescape(whole)
        return html.escape(character) if character != whole else f"&amp;{whole[1:]}"
    return "&amp;"


def _without_sections(text: str) -> str:
    """Return a text without comments, processing instructions and declarations, CDATA as escaped text."""
    pieces = []
    position = 0
    while found := _SECTION.search(text, position):
        opening = found.group()
        closer = _CLOSERS.get(opening, ">")
        closed = text.find(closer, found.end())
        if closed < 0:
            break
        pieces.append(text[position : found.start()])
        if closer == "]]>":
            pieces.append(html.escape(text[found.end() : closed], quote=False))
        position = closed + len(closer)
    return "".join([*pieces, text[position:]])


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def children(element: Element | None, name: str) -> list[Element]:
    """Return the children called `name`, whatever their namespace."""
    if element is None:
        return []
    qualified = "}" + name
    return [part for part in element if part.tag == name or part.tag.endswith(qualified)]


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first element at the end of a path of names, None where there is none."""
    for name in path:
        found = children(element, name)
        if not found:
            return None
        element = found[0]
    return element


def text_at(element: Element | None, *path: str) -> str:
    """Return the text of the first element at the end of a path, white space collapsed; `""` where there is none."""
    found = child(element, *path)
    return "" if found is None else collapse_white_space("".join(found.itertext()))


def markup_of(
    element: Element | None, leave_out: frozenset[str] = frozenset(), unwrap: frozenset[str] = frozenset()
) -> str:
    """Return what stands inside an element as HTML-like markup, escaped where it must be, without attributes.

    The `alttext` of a formula is kept.

    Elements called by a name in `leave_out` go with all that is in them, of those in `unwrap` the tags only.
    """
    if element is None:
        return ""
    pieces = [html.escape(element.text or "", quote=False)]
    stack: list[Element | str] = list(reversed(element))
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            pieces.append(part)
            continue
        name = local_name(part)
        tail = html.escape(part.tail or "", quote=False)
        if not name or name in leave_out:
            pieces.append(tail)
            continue
        bare = name in unwrap
        pieces.append(("" if bare else _tag(name, part)) + html.escape(part.text or "", quote=False))
        stack.append(("" if bare else f"</{name}>") + tail)
        stack.extend(reversed(part))
    return "".join(pieces).strip()


def _tag(name: str, element: Element) -> str:
    alternative = element.get("alttext") if name == "math" else None
    return f'<{name} alttext="{html.escape(alternative)}">' if alternative else f"<{name}>"
