"""Names of authors folded so that words and initials can be compared: `van der Berg, J` with `Jan van der Berg`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from semsearch.paper import comparable

_PARTICLES: Final = frozenset("af al av bin da de del della den der di do dos du el ibn la las le los ten ter und van "
                              "vom von y zu zum zur".split())
"""Words that belong to the family name that follows where they are written small."""
_SUFFIXES: Final = frozenset("jr sr ii iii iv 2nd 3rd 4th".split())
_MARKS: Final = re.compile(r"[ ,_]+")
_MARKED: Final = re.compile(r"(\S+) \*")
_COMMA: Final = re.compile("[,，]")  # as it is written in English and in Chinese
_MOST_INITIALS: Final = 4
_REMEMBERED: Final = 20_000
"""Folded names that are kept: authors of one source have many papers in it."""


@dataclass(frozen=True, slots=True)
class AuthorWords:
    """An author as asked for: `family` and `given` where a comma told them apart, else `words` and `initials`.

    Words are whole words that have to be there, in any order; each initial is that of a word beside them. With a comma
    the family names are equal, and the given names agree one by one from the first: equal, or one is the initial of
    the other. `other_given`: the given names once more, with `JA` read as two initials; as a word it has to be equal.
    """

    words: tuple[str, ...] = ()
    initials: tuple[str, ...] = ()
    family: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    other_given: tuple[str, ...] = ()

    @property
    def whole_words(self) -> tuple[str, ...]:
        """The words that are in every name that fits, as they stand in a folded name."""
        return self.family or self.words

    def fits(self, folded: str) -> bool:
        """Return whether a name that `folded_author` folded is one of this author."""
        fits = self._fits_family if self.family else self._fits_words
        return any(map(fits, _readings(folded)))

    def _fits_words(self, folded: str) -> bool:
        there = _split(folded)
        if not set(self.words).issubset(there):
            return False
        beside = Counter(word[0] for word in there) - Counter(word[0] for word in set(self.words))
        return all(beside[letter] >= count for letter, count in Counter(self.initials).items())

    def _fits_family(self, folded: str) -> bool:
        family, comma, rest = (part.strip() for part in folded.partition(","))
        if comma and family:
            return _split(family) == self.family and self._fits_given(_split(rest.partition(",")[0]))
        whole = rest.partition(",")[0] if comma else family
        given, _, last = whole.replace(" _ ", "_").strip().rpartition(" ")
        while given or last:
            if _split(last) == self.family:
                return self._fits_given(_split(given))
            if not given:
                return False
            given, _, word = given.rpartition(" ")
            last = f"{word} {last}"
        return False

    def _fits_given(self, given: tuple[str, ...]) -> bool:
        if self.other_given:
            return self.given == given[:len(self.given)] or _agree_in_order(self.other_given, given)
        return _agree_in_order(self.given, given)


def author_words(name: str) -> AuthorWords:
    """Return what to look for where a user asks for an author."""
    folded = folded_author(name)
    family, comma, rest = (part.strip() for part in folded.partition(","))
    if comma and family and _split(rest.partition(",")[0]) and _COMMA.search(name):
        plain, *other = (_split(reading.split(",")[1]) for reading in _readings(folded))
        return AuthorWords(family=_split(family), given=plain, other_given=other[0] if other else ())
    words: list[str] = []
    initials: list[str] = []
    for token in _COMMA.sub(" ", name).split():
        parts = comparable(token).split()
        (initials if parts and all(map(_is_initial, parts)) else words).extend(parts)
    return AuthorWords(words=tuple(dict.fromkeys(words)), initials=tuple(initials))


@lru_cache(_REMEMBERED)
def folded_author(name: str) -> str:
    """Return a name folded: `family , given , suffix` where it is known which is which, else its words in their order.

    Words stand between single spaces. ` _ ` binds words that cannot be parted into given and family name (`o _ brien`).
    Small particles are bound to the family name (`jan van _ der _ berg`). ` *` follows capitals that may be initials
    (`smith , ja *`). `""` for no name.
    """
    if _is_plain(name):
        return " ".join(name.lower().split())
    family, given, suffix = _parts(_COMMA.sub(",", name))
    marked = not name.isupper()
    if not given:
        tokens = family.split()
        if len(tokens) > 2 and comparable(tokens[-1]) in _SUFFIXES:
            suffix = tokens.pop()
        start = _family_start(tokens)
        last = " _ ".join(filter(None, (_folded_words([token], marked) for token in tokens[start:])))
        words = f"{_folded_words(tokens[:start], marked)} {last}".strip()
        return _joined("", words, suffix) if suffix else words
    return _joined(comparable(family), _folded_words(given.split(), marked), suffix)


def _is_plain(name: str) -> bool:
    """Return whether a name is but words of ASCII letters that no one could take for more, as most names are."""
    if not name.isascii() or not name.replace(" ", "").isalpha():
        return False
    tokens = name.split()
    return (_PARTICLES.isdisjoint(tokens) and tokens[-1].lower() not in _SUFFIXES
            and not any(map(_may_be_initials, tokens)))


def _folded_words(tokens: list[str], marked: bool) -> str:
    """Return words folded; what white space did not part is bound, capitals that may be initials are `marked`."""
    folded = []
    for token in tokens:
        bound = " _ ".join(comparable(token).split())
        if bound:
            folded.append(f"{bound} *" if marked and _may_be_initials(token) else bound)
    return " ".join(folded)


def _parts(name: str) -> tuple[str, str, str]:
    """Return family name, given names and suffix of `Family, Given, Jr.`; without a comma all is the first."""
    if "," not in name:
        return name, "", ""
    parts = [part for part in (p.strip() for p in name.split(",")) if comparable(part)]
    suffixes = [part for part in parts[1:] if comparable(part) in _SUFFIXES]
    parts = [part for part in parts if part not in suffixes]
    if len(parts) < 2:
        return " ".join(parts), "", " ".join(suffixes)
    family, given = parts[0], " ".join(parts[1:])
    tokens = given.split()
    if len(tokens) > 1 and comparable(tokens[-1]) in _SUFFIXES:
        suffixes.append(tokens.pop())
    particles: list[str] = []
    while len(tokens) > 1 and tokens[-1] in _PARTICLES:  # Berg, Jan van der
        particles.insert(0, tokens.pop())
    return " ".join([*particles, family]), " ".join(tokens), " ".join(suffixes)


def _family_start(tokens: list[str]) -> int:
    """Return where the family name begins at the latest: at its small particles, else at the last word."""
    start = max(len(tokens) - 1, 0)
    while start > 1 and tokens[start - 1] in _PARTICLES:
        start -= 1
    return start


def _may_be_initials(token: str) -> bool:
    return 1 < len(token) <= _MOST_INITIALS and token.isalpha() and token.isupper()


def _readings(folded: str) -> list[str]:
    """Return a folded name with its marked words as words, and where there are such, as initials."""
    if " *" not in folded:
        return [folded]
    spaced = _MARKED.sub(lambda found: " ".join(found.group(1)), folded)
    return [folded.replace(" *", ""), spaced]


def _joined(family: str, given: str, suffix: str) -> str:
    parts = (family, given, comparable(suffix))
    return " , ".join(parts[:3] if parts[2] else parts[:2]).strip(" ") if any(parts) else ""


def _split(folded: str) -> tuple[str, ...]:
    return tuple(word for word in _MARKS.split(folded) if word)


def _is_initial(word: str) -> bool:
    return len(word) == 1 and word.isalpha() and word.upper() != word.lower()


def _agree_in_order(asked: tuple[str, ...], given: tuple[str, ...]) -> bool:
    return len(asked) <= len(given) and all(map(_agree, asked, given))


def _agree(one: str, other: str) -> bool:
    return one == other or ((_is_initial(one) or _is_initial(other)) and one[0] == other[0])
