"""HTML, JATS and MathML in titles and abstracts, to text.

Only what is written like a tag and has a name that HTML, JATS or MathML knows is markup: "p < 0.05 and n > 3", "a<b"
and "<assumption>" are text. The standard library's `html.parser` takes all of these for tags and drops them, which is
why a pattern is used here; entities are decoded by `html.unescape`.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Final

from semsearch.cleaning.latex import latex_to_text
from semsearch.cleaning.mathml import MATH_ELEMENTS, SPACED_CHILDREN, math_text
from semsearch.cleaning.notation import raised

_NEEDS_WORK: Final = re.compile(r"<[A-Za-z/!?]|&[#A-Za-z]")
_ENTITY: Final = re.compile(r"&(?:#\d{1,8}|#[xX][0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});")
_MAX_ESCAPED: Final = 3
"""Times a text may have been escaped before it came here; `&amp;amp;lt;` is seen in real exports."""

_TAG: Final = re.compile(
    r"""<(?:
        (?P<close>/)?
        (?:[A-Za-z][\w.-]{0,20}+:)?+
        (?P<name>[A-Za-z][A-Za-z0-9-]{0,30}+)
        (?P<attributes>(?:\s++[\w:.-]++(?:\s*+=\s*+(?:"[^"]{0,5000}+"|'[^']{0,5000}+'|[^\s"'<>=/]++))?+)*+)
        \s*+/?>
        |(?P<other>!--|!\[CDATA\[|[?!][A-Za-z])
    )""",
    re.VERBOSE,
)
_PREFIXED: Final = re.compile(r"</?(?:jats|mml|m|ce|sb|xocs|ali|xlink|xhtml|html):", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")

_BLOCKS: Final = frozenset(
    """p div br hr li ul ol dl dt dd table tr td th thead tbody sec section abstract list list-item disp-formula
    disp-quote break title h1 h2 h3 h4 h5 h6 para simple-para body html head abstracttext blockquote pre caption
    def-list def-item header article fig statement abstract-sec trans-abstract""".split()
)
_HEADINGS: Final = frozenset("title h1 h2 h3 h4 h5 h6 section-title".split())
_INLINE: Final = frozenset(
    """i b u s em strong a span font small big tt code kbd samp var cite q abbr acronym del ins mark sup sub inf
    italic bold sc scp underline overline strike monospace roman sans-serif styled-content named-content ext-link
    xref email uri inline-formula alternatives tex-math label fn graphic inline-graphic media img sub-title subtitle
    bdi bdo center dfn nobr wbr time data strike o inter-ref cross-ref smallcaps style script smallcap institution
    chem-struct private-char glyph-data glyph-ref related-article target x annotation
    annotation-xml""".split()
)
_KNOWN: Final = _BLOCKS | _INLINE | MATH_ELEMENTS
_DROPPED: Final = frozenset(["script", "style", "annotation", "annotation-xml", "glyph-data"])
_CAPTURED: Final = (
    _HEADINGS | _DROPPED | MATH_ELEMENTS | {"sup", "sub", "inf", "tex-math", "alternatives", "abstracttext"}
)
_DOCUMENT: Final = re.compile(r"\\begin\{document\}")
_EMPTY: Final = frozenset("br break hr img none mprescripts mspace graphic inline-graphic wbr".split())
_SHORT_CLOSE: Final = re.compile(r"</(?:\w{1,20}:)?([A-Za-z])>")
_BARE_ATTRIBUTE: Final = re.compile(r"(?:^|\s)[\w:.-]++(?=\s|\Z)(?!\s*=)")
_DECLARATION: Final = re.compile(r"<(?:!(?:DOCTYPE|ENTITY|ELEMENT)|\?xml)", re.IGNORECASE)
_MAX_DEPTH: Final = 40
_LABEL_END: Final = (":", ".", "?", "!", "：", "。")


@dataclass(slots=True)
class _Frame:
    """An open element whose text is needed as a whole."""

    name: str
    attributes: str = ""
    pieces: list[str] = field(default_factory=list)


def markup_to_text(text: str) -> str:
    """Return `text` without tags and with its entities decoded; text without either comes back as it is.

    CO<sub>2</sub> is CO2, 10<sup>5</sup> is 10⁵; headings end with a colon, blocks begin a line. A formula in MathML is
    what its `alttext` says, else its own text on one line.
    """
    if ("<" not in text and "&" not in text) or not _NEEDS_WORK.search(text):
        return text
    for _ in range(_MAX_ESCAPED):
        before = text
        if "<" in text:
            text = _Stripper(text).read()
        text = _ENTITY.sub(_decoded, text)
        if text == before or not _NEEDS_WORK.search(text):
            break
    return text


def _decoded(found: re.Match[str]) -> str:
    return html.unescape(found[0]).replace("\xa0", " ")


class _Stripper:
    """One reading of one text, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = 0  # where the text begins that has not been taken yet
        self.frames = [_Frame("")]
        self.closed = frozenset(name.lower() for name in _SHORT_CLOSE.findall(text))
        self.any_markup = False
        self.missing: set[str] = set()  # ends that do not come any more

    def read(self) -> str:
        """Return the text without its tags; unchanged where nothing in it is one."""
        position = 0
        while found := _TAG.search(self.text, position):
            position = found.end()
            if found["other"]:
                position = self.other(found)
            elif self.is_tag(found):
                self.take(found.start(), found.end())
                self.tag(found["name"].lower(), bool(found["close"]), found["attributes"], found[0].endswith("/>"))
        if not self.any_markup:
            return self.text
        self.take(len(self.text), len(self.text))
        while len(self.frames) > 1:
            self.close()
        return "".join(self.frames[0].pieces).strip()

    def take(self, end: int, skip_to: int) -> None:
        """Take the plain text up to `end`, and leave out what follows up to `skip_to`."""
        self.any_markup = self.any_markup or skip_to > end
        frame = self.frames[-1]
        if end > self.plain and frame.name not in SPACED_CHILDREN:
            frame.pieces.append(self.text[self.plain : end])
        self.plain = skip_to

    def other(self, found: re.Match[str]) -> int:
        """Take a comment, a CDATA section, a declaration or an instruction; return where to go on."""
        opening = found["other"]
        until = {"!--": "-->", "![CDATA[": "]]>"}.get(opening, ">")
        end = -1 if until in self.missing else self.text.find(until, found.end())
        if end < 0:
            self.missing.add(until)
            return found.end()
        if until == ">" and not _DECLARATION.match(self.text, found.start()):
            return found.end()
        self.take(found.start(), found.end())
        if opening == "![CDATA[":
            self.take(end, end + len(until))
        self.plain = end + len(until)
        return self.plain

    def is_tag(self, found: re.Match[str]) -> bool:
        """Is it markup? A letter alone (`a<b>c`) is, where it is closed somewhere, or a paragraph's beginning."""
        name = found["name"].lower()
        if name not in _KNOWN:
            return bool(_PREFIXED.match(found[0]))
        if _BARE_ATTRIBUTE.search(found["attributes"]):
            return False
        if len(name) > 1 or found["close"] or found["attributes"] or name in self.closed:
            return True
        before = self.text[max(found.start() - 1, 0) : found.start()]
        return name == "p" and (not before or before.isspace() or before in ".>:")

    def tag(self, name: str, closing: bool, attributes: str, empty: bool) -> None:
        """Take a tag."""
        if name in _BLOCKS:
            self.new_line()
        if empty or name in _EMPTY:
            if name == "mspace":
                self.frames[-1].pieces.append(" ")
        elif name not in _CAPTURED:
            return
        elif not closing:
            if len(self.frames) <= _MAX_DEPTH:
                self.frames.append(_Frame(name, attributes))
        elif any(frame.name == name for frame in self.frames):
            while self.frames[-1].name != name:
                self.close()
            self.close()

    def new_line(self) -> None:
        """Begin a line, if there is something on this one."""
        pieces = self.frames[-1].pieces
        if pieces and pieces[-1] and not pieces[-1][-1].isspace():
            pieces.append("\n")

    def close(self) -> None:
        """End the innermost element: its text becomes a piece of the one around it."""
        frame = self.frames.pop()
        text = _element_text(frame)
        if text:
            self.frames[-1].pieces.append(text)


def _element_text(frame: _Frame) -> str:
    """Return the text of an element."""
    name = frame.name
    if name in _DROPPED:
        return ""
    if name == "alternatives":
        return next((piece for piece in frame.pieces if piece.strip()), "")
    attributes = {
        found[1].lower(): html.unescape(found[2] or found[3] or "") for found in _ATTRIBUTE.finditer(frame.attributes)
    }
    if name == "math" and attributes.get("alttext", "").strip():
        return latex_to_text(f"${attributes['alttext'].strip().strip('$')}$")
    if name in MATH_ELEMENTS:
        return math_text(name, frame.pieces, attributes)
    text = "".join(frame.pieces)
    if name == "sup":
        return raised(text)
    if name in _HEADINGS:
        return _heading(text)
    if name == "abstracttext":
        label = attributes.get("label", "").strip()
        return f"{label}: {text.strip()}" if label else text
    if name == "tex-math":
        document = _DOCUMENT.split(text, maxsplit=1)[-1].replace("\\end{document}", "").strip()
        return latex_to_text(document if "$" in document or "\\(" in document else f"${document}$")
    return text


def _heading(text: str) -> str:
    text = text.strip()
    return text + (" " if text.endswith(_LABEL_END) else ": ") if text else ""
