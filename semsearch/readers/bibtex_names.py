"""The names in an `author` field of BibTeX or BibLaTeX, as `Given Family`."""

from __future__ import annotations

import re
from typing import Final

from semsearch.cleaning import clean_title
from semsearch.paper import collapse_white_space
from semsearch.person_names import author_names, given_first

_AND: Final = re.compile(r"\\.|[{}]|\s+and(?=\s)", re.DOTALL | re.IGNORECASE)
_COMMA: Final = re.compile(r"\\.|[{},]", re.DOTALL)
_SEMICOLON: Final = re.compile(r"\\.|[{};]", re.DOTALL)
_NAME_PART: Final = re.compile(r'\s*"?([a-z]{4,30}(?:-i)?)\s*=\s*"?(.*?)"?\s*', re.DOTALL | re.IGNORECASE)
"""A part of a name in the extended format of BibLaTeX (manual, section 3.4)."""
_ENCLOSED: Final = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
_PLAIN: Final = re.compile(r"[^\\{}$~^_&<%#`'-]*")
_OTHERS: Final = frozenset({"others", "et al", "et al.", "\\textit{et al.}", "\\emph{et al.}"})
_NAME_ORDER: Final = ("given", "prefix", "family", "suffix")
_MOST_COMMAS: Final = 2
_SUFFIX: Final = re.compile(r"^(?:jr|sr)\.?$|^[ivx]+$", re.IGNORECASE)


def names_in(value: str) -> tuple[str, ...]:
    """Return the names in the value of a field; `and others` is none."""
    text = " ".join(value.split())
    parts = _split(text, _AND)
    if len(parts) == 1:
        listed = _split(without_outer_braces(text), _AND)  # the Web of Science doubles the braces of some fields
        if len(listed) > 1 and all("," in part for part in listed):
            parts = listed
    if len(parts) == 1:
        parts = _split(text, _SEMICOLON)
    names: list[str] = []
    for part in parts:
        part = part.strip(" ,;")
        if part and part.strip("{} ").casefold() not in _OTHERS and part.casefold() not in _OTHERS:
            names.extend(_names_of(part))
    return tuple(name for name in names if name)


def plain_text(value: str) -> str:
    """Return the text of a short field: LaTeX decoded, braces gone, white space collapsed."""
    return collapse_white_space(value) if _PLAIN.fullmatch(value) else clean_title(value, "latex")


def without_outer_braces(value: str) -> str:
    """Return a value without the braces that enclose all of it."""
    value = value.strip()
    return value[1:-1].strip() if _ENCLOSED.fullmatch(value) else value


def _split(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Split a text at the matches of `pattern` that stand in no braces, unless the braces do not balance."""
    pieces, start, depth = [], 0, 0
    balanced = text.count("{") == text.count("}")
    for found in pattern.finditer(text):
        token = found.group()
        if token == "{":
            depth += 1
        elif token == "}":
            depth = max(0, depth - 1)
        elif token[0] != "\\" and (depth == 0 or not balanced):
            pieces.append(text[start:found.start()])
            start = found.end()
    pieces.append(text[start:])
    return pieces


def _names_of(text: str) -> list[str]:
    parts = [part.strip() for part in _split(text, _COMMA)]
    named = [_NAME_PART.fullmatch(part) for part in parts]
    if all(named):
        by_name = {found.group(1).lower(): found.group(2) for found in named if found}
        return [plain_text(" ".join(by_name[part] for part in _NAME_ORDER if part in by_name))]
    parts = [part for part in parts if part]
    if len(parts) > _MOST_COMMAS + 1:  # no BibTeX: names separated by commas
        return [given_first(name) for name in author_names(plain_text(text))]
    if len(parts) == _MOST_COMMAS + 1 and not _SUFFIX.match(plain_text(parts[1])):
        if _SUFFIX.match(plain_text(parts[2])):
            parts = [parts[0], parts[2], parts[1]]
        elif all(" " in part for part in parts):
            return [plain_text(part) for part in parts]
    if len(parts) > 1:
        family, *between, given = parts
        return [plain_text(" ".join([given, family, *between]))]
    return [plain_text(text)]
