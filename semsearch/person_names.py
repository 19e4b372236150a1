"""Authors in the many ways in which records list them, to names."""

from __future__ import annotations

import re
from typing import Final

from semsearch.paper import collapse_white_space

_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_AND: Final = re.compile(r"\s+(?:and|&)\s+", re.IGNORECASE)
_NO_NAME: Final = re.compile(r"\[?(?:no author (?:name )?(?:available|id available)|anonymous)\]?", re.IGNORECASE)
_TRAILING_NUMBER: Final = re.compile(r"\s*\(\d+\)\s*$")
_INITIALS: Final = re.compile(r"^(?:[^\W\d_]\.?[\s-]*){1,4}$")
"""One to four letters; told from a short name such as `Bo` by their being capitals."""
_ET_AL: Final = re.compile(r",?\s*\bet\.?\s+al\.?\s*$", re.IGNORECASE)
_FULL_NAME_KEYS: Final = ("name", "display_name", "displayName", "fullname", "full_name", "fullName", "literal",
                          "value", "raw_author_name", "text")
_GIVEN_KEYS: Final = ("given", "first", "firstname", "first_name", "firstName", "forename", "given_name", "givenName")
_FAMILY_KEYS: Final = ("family", "last", "lastname", "last_name", "lastName", "surname", "family_name", "familyName")
_SUFFIXES: Final = frozenset({"jr", "jr.", "sr", "sr.", "ii", "iii", "iv"})
_NOT_GIVEN: Final = frozenset({"null", "undefined"})
"""What exports write where they know no given name."""
_NUMBERS: Final = frozenset({"2nd", "3rd", "4th"})
_GROUP: Final = re.compile(
    r"\b(?:group|consortium|collaborat(?:ion|ors|ive)|committee|commission|network|organi[sz]ation|society|association|"
    r"institut(?:e|ion)|university|ministry|department|council|cent(?:er|re)|foundation|investigators|team|task force|"
    r"inc|ltd)\b", re.IGNORECASE)
_FAMILY_INITIALS: Final = re.compile(
    r"^(?P<family>\S.*?)\s+(?P<given>[^\W\d_a-z]{1,4}|(?:[^\W\d_a-z]\.[\s-]?){1,4})"
    r"(?:\s+(?P<suffix>Jr\.?|Sr\.?|[2-4](?:nd|rd|th)|II|III|IV))?$")
"""A name as indexes shorten it: `van der Zee HH`, `Maher LJ 3rd`, `Adler D.G.`"""

_DOTTED: Final = re.compile(r"(?:[^\W\d_]\.[\s-]?)+$")


def author_names(value: object) -> tuple[str, ...]:
    """Return the names in `value`: a list of texts or objects, or one text that holds them all.

    What is no name is left out: a list of authors never makes a record unusable.
    """
    if isinstance(value, str):
        names = split_names(value)
    elif isinstance(value, dict):
        names = [_name_of(value)]
    elif isinstance(value, list):
        names = [_name_of(part) for part in value]
    else:
        names = []
    return tuple(name for name in map(_clean, names) if name and not _NO_NAME.fullmatch(name))


def _clean(name: str) -> str:
    return _TRAILING_NUMBER.sub("", collapse_white_space(name)).strip(" ,;")


def _name_of(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return " ".join(text for text in reversed(part[:2]) if isinstance(text, str))
    if not isinstance(part, dict):
        return ""
    inner = part.get("author")
    if isinstance(inner, dict):
        part = inner
    elif isinstance(inner, str):
        return inner
    for key in _FULL_NAME_KEYS:
        name = part.get(key)
        if isinstance(name, str) and name.strip():
            return name
    given = next((part[key] for key in _GIVEN_KEYS if isinstance(part.get(key), str)), "")
    family = next((part[key] for key in _FAMILY_KEYS if isinstance(part.get(key), str)), "")
    middle = part.get("middle")
    if isinstance(middle, list):
        given = " ".join([given, *(text for text in middle if isinstance(text, str))])
    return f"{given} {family}"


def is_group(name: str) -> bool:
    """Tell whether a name is evidently that of a group and no person's."""
    return bool(_GROUP.search(name))


def given_first(name: str) -> str:
    """Return a name written `Family, Given, Jr.` as `Given Family Jr.`; a group's name stays whole."""
    name = collapse_white_space(name)
    family, comma, rest = (part.strip() for part in name.partition(","))
    if not comma or not rest or is_group(name):
        return name.strip(" ,")
    given, _, suffix = (part.strip() for part in rest.partition(","))
    given = "" if given in _NOT_GIVEN else given
    if given.casefold() in _SUFFIXES | _NUMBERS and (suffix or " " in family):
        given, suffix = suffix, given
    name, _, last = given.rpartition(" ")
    if name and not suffix and last.casefold() in _SUFFIXES | _NUMBERS:
        given, suffix = name, last
    return " ".join(part for part in (given, family, suffix.replace(",", "")) if part)


def initials_first(name: str) -> str:
    """Return a name as indexes shorten it (`Maher LJ 3rd`) as `LJ Maher 3rd`; what is none stays as it is."""
    name = collapse_white_space(name)
    found = _FAMILY_INITIALS.match(name)
    if not found or is_group(name) or _DOTTED.match(found.group("family")):
        return name
    return " ".join(part.strip() for part in found.group("given", "family", "suffix") if part)


def split_names(text: str) -> list[str]:
    """Return the names in one text: separated by `;`, `|`, ` and ` or, where both sides are whole names, commas."""
    stripped = text.strip()
    if stripped.startswith("[") and stripped.endswith("]"):
        quoted = _QUOTED.findall(stripped)
        if quoted:
            return [one or other for one, other in quoted]
    stripped = _ET_AL.sub("", stripped)
    for separator in (";", "|", "\n"):
        if separator in stripped:
            return stripped.split(separator)
    return [name for part in _AND.split(stripped) for name in _split_commas(part.strip(" ,"))]


def _split_commas(text: str) -> list[str]:
    """Split `A. Smith, B. Jones` and `Smith, A., Jones, B.` into names; leave `van der Berg, Jan` whole."""
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    if len(pieces) < 2:
        return pieces
    if pieces[-1].casefold() in _SUFFIXES:
        pieces[-2:] = [f"{pieces[-2]}, {pieces[-1]}"]
    second = pieces[1::2]
    if len(pieces) % 2 == 0 and all(_INITIALS.match(piece) and piece.isupper() for piece in second):
        return [f"{family}, {initials}" for family, initials in zip(pieces[0::2], second, strict=True)]
    if len(pieces) > 2 or all(" " in piece for piece in pieces):
        return pieces
    return [", ".join(pieces)]
