"""Blocks of BibTeX to entries: strictly where the braces balance, line by line where they do not."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Final

from semsearch.readers.base import VALUE_CHARACTERS
from semsearch.readers.bibtex_blocks import KIND

_HEAD: Final = re.compile(rf"[\s\ufeff,]*@\s*({KIND})\s*([{{(])\s*")
_SPACE: Final = re.compile(r"\s*")
_BETWEEN: Final = re.compile(r"[\s,]*")
_NAME: Final = re.compile(r"([^\s=,{}\"#()]+(?:[ \t\xa0]{1,3}[^\s=,{}\"#()]+){0,2})\s*=\s*")
"""Scopus writes `funding_text 1` with a space."""
_FIRST_FIELD: Final = re.compile(r"[A-Za-z][\w-]*\s*=\s*[{\"\w]")
_KEY: Final = re.compile(r"[^,\n{}=\"]*")
_KEY_TO_COMMA: Final = re.compile(r"([^,\n]*),?")
_BARE: Final = re.compile(r"[^\s,{}\"#()=]+")
_SIMPLE: Final = re.compile(r"\{([^{}\\]*)\}")
_BRACES: Final = re.compile(r"[{}]")
_BRACES_AND_ESCAPES: Final = re.compile(r"\\.|[{}]", re.DOTALL)
_QUOTES: Final = re.compile(r"\\.|[{}\"]", re.DOTALL)
_AFTER_VALUE: Final = re.compile(r"\s*(?:[,#})]|\Z|[^\s=,{}\"#()]+\s*=)")
_AFTER_QUOTE: Final = re.compile(r"\s*(?:,[\s,]*(?:[^\s=,{}\"#()]+\s*=|[})]|\Z)|[#})]|\Z|[^\s=,{}\"#()]+\s*=)")
_GOES_ON: Final = re.compile(r"[\s,]*[A-Za-z][\w-]*\s*=\s*[{\"\d]")
"""A field after the end of an entry: a brace too many closed it."""
_RECOVERED: Final = re.compile(
    r"(?:(\n)|,)[ \t,]{0,80}([A-Za-z][\w-]{0,40})[ \t]{0,40}=\s{0,80}"
    r"(?=([{\"])|[\w.-]{1,80}[ \t]{0,40}(?:,|\n|\Z|[})#]))")
"""Of bounded length, so that the time stays linear whatever is repeated."""
_MOST_MACROS: Final = 200_000
_PEOPLE: Final = frozenset({"author", "editor"})


@dataclass(slots=True)
class Entry:
    """An entry as it stands in the file: kind and names of fields in lower case, values without their delimiters.

    `mended` is true where braces or quotation marks did not balance and the fields were told apart by their lines;
    `closed` is false where the closing brace was not found; `end` is where the entry ends in its text, and `beginning`
    what it begins with.
    """

    line: int
    kind: str
    key: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    mended: bool = False
    closed: bool = True
    end: int = 0
    beginning: str = ""


class EntryParser:
    """Parses the entries of one file one after another; `@string` definitions hold from there on."""

    def __init__(self) -> None:
        self._macros: dict[str, str] = {}

    def parse(self, text: str, line: int, start: int = 0) -> Entry:
        """Return the entry that begins at a position of a text; it may be without fields."""
        beginning = text[start:start + VALUE_CHARACTERS]
        head = _HEAD.match(text, start)
        if head is None:
            return Entry(line, "", mended=True, closed=False, end=len(text), beginning=beginning)
        kind = head.group(1).lower()
        key, fields_start = ("", head.end()) if kind == "string" else _key(text, head.end())
        reading = _Fields(text, self._macros)
        entry = Entry(line, kind, key, beginning=beginning)
        end = reading.read_strictly(fields_start, "}" if head.group(2) == "{" else ")", entry.fields)
        entry.closed = end is not None
        if end is None or _GOES_ON.match(text, end):
            entry.mended, entry.fields = True, {}
            reading.read_by_lines(fields_start, entry.fields)
            end = len(text)
        entry.end = end
        return entry

    def define(self, entry: Entry) -> None:
        """Take the definitions of an `@string` entry."""
        if len(self._macros) < _MOST_MACROS:
            self._macros.update(entry.fields)


def _key(text: str, start: int) -> tuple[str, int]:
    """Return the key of an entry and where its fields begin; a key that is missing is `""`."""
    if _FIRST_FIELD.match(text, start):
        return "", start
    end = _end(_KEY, text, start)
    key, delimiter = text[start:end], text[end:end + 1]
    if delimiter == "=":  # no comma after the key: the last word names the first field
        name = key.rstrip().rpartition(" ")[2]
        end = start + key.rindex(name)
        return " ".join(text[start:end].split()), end
    if delimiter in '{"' and delimiter:
        found = _KEY_TO_COMMA.match(text, start)
        key, end = (found.group(1), found.end()) if found else (key, end)
    elif delimiter != "}":
        end += 1
    return " ".join(key.split()), min(end, len(text))


class _Fields:
    """The fields of one entry."""

    def __init__(self, text: str, macros: MutableMapping[str, str]) -> None:
        self._text, self._macros = text, macros
        self._escapes_count = True

    def read_strictly(self, position: int, closer: str, fields: dict[str, str]) -> int | None:
        """Read fields up to the closing brace; return the position after it, None where it is not found."""
        text = self._text
        while True:
            position = _end(_BETWEEN, text, position)
            if text.startswith(closer, position):
                return position + 1
            name = _NAME.match(text, position)
            if name is None:
                return None
            value = self._value(name.end(), len(text))
            if value is None:
                return None
            _put(fields, name.group(1).lower(), value[0])
            position = value[1]

    def read_by_lines(self, start: int, fields: dict[str, str]) -> None:
        """Read fields that begin lines, or follow commas, each up to the next."""
        found = list(self._field_starts(start))
        ends = [start_of_field for _, start_of_field, _ in found[1:]] + [len(self._text)]
        for (name, _, value_start), end in zip(found, ends, strict=False):
            _put(fields, name, self._value_within(value_start, end))

    def _field_starts(self, start: int) -> Iterator[tuple[str, int, int]]:
        first = _NAME.match(self._text, _end(_BETWEEN, self._text, start))
        if first:
            yield first.group(1).lower(), first.start(), first.end()
        for found in _RECOVERED.finditer(self._text, first.end() if first else max(start - 1, 0)):
            if found.group(1) or found.group(3):
                yield found.group(2).lower(), found.start(), found.end()

    def _value_within(self, start: int, end: int) -> str:
        """Return the value between two positions, however it ends."""
        text, self._escapes_count = self._text, True
        value = self._value(start, end)
        if value and (value[1] >= end or _AFTER_VALUE.match(text, value[1], end)):
            return value[0]
        opener = text[start:start + 1]
        if opener not in ("{", '"'):
            return text[start:end].rstrip(" \t\n,})")
        last = text.rfind("}" if opener == "{" else '"', start + 1, end)
        return text[start + 1:last if last >= 0 else end].strip().rstrip(",").rstrip()

    def _value(self, position: int, limit: int) -> tuple[str, int] | None:
        """Return a value, its parts joined and its macros replaced, and where it ends; None where it does not."""
        text, parts = self._text, []
        while True:
            part = self._part(position, limit)
            if part is None:
                return None
            parts.append(part[0])
            after = min(_end(_SPACE, text, part[1]), limit)
            if after >= limit or text[after] != "#":
                return (parts[0] if len(parts) == 1 else "".join(parts)), part[1]
            position = min(_end(_SPACE, text, after + 1), limit)

    def _part(self, position: int, limit: int) -> tuple[str, int] | None:
        text = self._text
        opener = text[position:position + 1] if position < limit else ""
        if opener == "{":
            simple = _SIMPLE.match(text, position, limit)
            if simple:
                return simple.group(1), simple.end()
            return self._braced(position, limit)
        if opener == '"':
            return self._quoted(position, limit)
        if opener in (",", "}", ")", ""):
            return "", position
        bare = _BARE.match(text, position, limit)
        return (self._macros.get(bare.group().lower(), bare.group()), bare.end()) if bare else None

    def _braced(self, position: int, limit: int) -> tuple[str, int] | None:
        r"""Return what stands in braces; `\{` and `\}` count as braces only where it does not come out otherwise.

        BibTeX counts them always, and JabRef never.
        """
        for pattern in (_BRACES_AND_ESCAPES, _BRACES) if self._escapes_count else (_BRACES,):
            end = _closing(pattern, self._text, position, limit)
            if end is not None and _AFTER_VALUE.match(self._text, end, limit):
                return self._text[position + 1:end - 1], end
            self._escapes_count = False  # tried once in an entry, so that the time stays linear
        return None

    def _quoted(self, position: int, limit: int) -> tuple[str, int] | None:
        """Return what stands in quotation marks; a mark that nothing sensible follows is part of the text."""
        depth = 0
        for found in _QUOTES.finditer(self._text, position + 1, limit):
            token = found.group()
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth < 0:
                    return None
            elif token == '"' and depth == 0 and _AFTER_QUOTE.match(self._text, found.end(), limit):
                return self._text[position + 1:found.start()], found.end()
        return None


def _closing(pattern: re.Pattern[str], text: str, position: int, limit: int) -> int | None:
    """Return the position after the brace that closes the one at `position`."""
    depth = 0
    for found in pattern.finditer(text, position, limit):
        token = found.group()
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                return found.end()
    return None


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


def _put(fields: dict[str, str], name: str, value: str) -> None:
    """Keep a field; of one that is repeated the first counts, as in BibTeX, but authors and keywords are gathered."""
    kept = fields.get(name)
    if kept is None or not kept.strip():
        fields[name] = value
    elif not value.strip() or value == kept:
        return
    elif name in _PEOPLE:
        fields[name] = f"{kept} and {value}"
    elif name == "keywords":
        fields[name] = f"{kept}; {value}" if ";" in kept + value else f"{kept}, {value}"
