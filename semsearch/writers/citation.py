"""What bibliographies keep apart and a paper does not: the parts of a name, the kind of a venue."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from semsearch.person_names import is_group

_SUFFIXES: Final = frozenset({"jr", "jr.", "sr", "sr.", "ii", "iii", "iv"})
_PARTICLES: Final = frozenset("""van von de der den del della di da dos das du la le ten ter zu zur af av bin ibn al
    el""".split())
_GROUP_WORDS: Final = re.compile(r"\b(?:[Pp]roject|[Ii]nitiative|and|of|for|the)\b|&")
"""Beside the words that make a name a group's when it is read."""
_MEETING: Final = re.compile(r"\b(?:proceedings|conference|workshop|symposium|meeting|advances in neural)\b",
                             re.IGNORECASE)


class AuthorName(NamedTuple):
    """Family name with its particles, given names, and what follows (`Jr.`). A group has a family name alone."""

    family: str
    given: str
    suffix: str

    @property
    def inverted(self) -> str:
        """The name as `Family, Given, Suffix`."""
        return ", ".join(part for part in (self.family, self.given, self.suffix) if part)


def is_meeting(venue: str) -> bool:
    """Return whether a venue reads as a meeting's proceedings and not as a journal."""
    return bool(_MEETING.search(venue))


def joined_keywords(categories: tuple[str, ...]) -> str:
    """Return keywords in one text, separated by commas, or by semicolons where one of them has a comma."""
    if not any("," in category for category in categories):
        return ", ".join(categories)
    return "; ".join(categories) + (";" if len(categories) == 1 else "")


def split_name(name: str) -> AuthorName:
    """Return the parts of a name written `Given Family` or `Family, Given`.

    Particles in lower case belong to the family name (`Laurens van der Maaten`); the name of a group is kept whole.
    """
    if is_group(name) or _GROUP_WORDS.search(name):
        return AuthorName(" ".join(name.split()), "", "")
    parts = [part.strip() for part in name.split(",") if part.strip()]
    if len(parts) >= 2 and parts[-1].casefold() in _SUFFIXES:
        head = split_name(", ".join(parts[:-1]))
        return AuthorName(head.family, head.given, parts[-1])
    if len(parts) >= 2:
        return AuthorName(parts[0], " ".join(parts[1:]), "")
    words = name.replace(",", " ").split()
    if len(words) < 2:
        return AuthorName(" ".join(words), "", "")
    suffix = ""
    if len(words) > 2 and words[-1].casefold() in _SUFFIXES:
        suffix = words.pop()
    begin = len(words) - 1
    while begin > 1 and words[begin - 1] in _PARTICLES:
        begin -= 1
    return AuthorName(" ".join(words[begin:]), " ".join(words[:begin]), suffix)
