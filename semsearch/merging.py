"""Which records are one paper, and what that paper says.

Both answers follow from the set of records alone, whatever their order.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import combinations, pairwise
from operator import attrgetter
from typing import Any, Final

from semsearch.identifiers import alias_key
from semsearch.paper import Paper, comparable, content_id

_FIELDS: Final = tuple(f.name for f in fields(Paper))
_VALUES: Final = attrgetter(*_FIELDS)
_AUTHORS, _CATEGORIES, _IDENTIFIERS = (_FIELDS.index(name) for name in ("authors", "categories", "identifiers"))
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_TELLING_WORDS: Final = frozenset("""i ii iii iv v vi vii viii ix x one two three four first second third erratum
    corrigendum correction corrections retraction retracted reply response comment comments commentary""".split())
_TELLING_TITLE_WORDS: Final = 3
"""A title of fewer words (`Editorial`, `Book review`) is no sign of one work without an abstract that agrees."""
_INITIALS: Final = re.compile(r"(?:[A-Z]\.?-?){1,4}")
_LOCAL: Final = "id:"
"""Kinds that begin so are ids of a file or a database: two of them may stand for one work that has one DOI."""
_NAME_SUFFIXES: Final = frozenset({"jr", "sr", "ii", "iii", "iv", "2nd", "3rd"})
_WORDS_AGREE: Final = 0.8
"""Share of common words (Jaccard) from which two titles or abstracts are taken for spellings of one."""
_PREFIX_WORDS: Final = 4
"""A title of at least this many words that begins another one is that title without its subtitle."""
_MOST_PAIRS_RECORDS: Final = 400
"""Above this many records that hang together (a DOI typed into all of them, say) only equal titles are compared."""


@dataclass(frozen=True, slots=True)
class _Features:
    identifiers: dict[str, frozenset[str]]
    title: str
    abstract: str
    title_year_author: tuple[str, int, str] | None
    content_id: str
    order: bytes


_GroupIdentifiers = dict[str, set[frozenset[str]]]
"""For each kind the different sets of values that a group's records have: nearly always one."""


@lru_cache(1)  # a record is looked at, hashed and written as JSON, one after the other
def to_data(paper: Paper) -> str:
    """Return a paper as canonical JSON: equal papers give equal strings."""
    return _ENCODER.encode(_VALUES(paper))


def from_data(data: str) -> Paper:
    """Return the paper that `to_data` wrote.

    Raises:
        ValueError, TypeError: `data` is not what `to_data` writes.
    """
    values: Any = json.loads(data)
    if not isinstance(values, list) or len(values) != len(_FIELDS):
        raise ValueError(f"a paper is a list of {len(_FIELDS)} values")
    values[_AUTHORS] = tuple(values[_AUTHORS])
    values[_CATEGORIES] = tuple(values[_CATEGORIES])
    values[_IDENTIFIERS] = tuple([(kind, value) for kind, value in values[_IDENTIFIERS]])
    return Paper(*values)


def content_key(paper: Paper) -> bytes:
    """Return 16 bytes that change when anything about a paper changes."""
    return hashlib.sha256(to_data(paper).encode("utf-8", "surrogatepass")).digest()[:16]


def linking_keys(paper: Paper) -> list[str]:
    """Return the keys of which two records must share one to be one paper."""
    keys = [alias_key(kind, value) for kind, value in paper.identifiers] or [f"content:{_content_id(paper)}"]
    triple = _title_year_author(paper)
    if triple:
        digest = hashlib.sha256("\x1f".join(map(str, triple)).encode("utf-8", "replace")).hexdigest()
        keys.append(f"title:{digest[:16]}")
    return keys


def cluster(papers: Sequence[Paper]) -> list[list[int]]:
    """Return which of these records are one paper, as lists of positions.

    Two records are one paper only when no identifier of the same kind differs (an id that a file or a database gives
    may, where a DOI or the like is equal), and either an identifier is equal and the titles agree, or title, year and
    first author are present and equal and the abstracts agree or one is missing. Records without any identifier are one
    where title, abstract, authors and year are all equal. When in doubt they are two.
    """
    features = [_features(p) for p in papers]
    canonical = sorted(range(len(papers)), key=lambda i: features[i].order)
    members = {i: [i] for i in canonical}
    identifiers = {i: {kind: {values} for kind, values in features[i].identifiers.items()} for i in canonical}
    home = {i: i for i in canonical}
    for i, j in _pairs(canonical, features):
        a, b = home[i], home[j]
        if a == b or not _same_work(features[i], features[j]) or _groups_conflict(identifiers[a], identifiers[b]):
            continue
        for moved in members.pop(b):
            members[a].append(moved)
            home[moved] = a
        for kind, sets in identifiers.pop(b).items():
            identifiers[a].setdefault(kind, set()).update(sets)
    return [sorted(group) for group in members.values()]


def merge(papers: Sequence[Paper]) -> Paper:
    """Return the paper that these records of one work describe together: the fullest wins, field by field."""
    if len(papers) == 1:
        identifiers = tuple(sorted(papers[0].identifiers))
        return papers[0] if identifiers == papers[0].identifiers else replace(papers[0], identifiers=identifiers)
    ranked = sorted(papers, key=_fullness)
    chosen: dict[str, Any] = {name: next((v for p in ranked if (v := getattr(p, name))), getattr(ranked[0], name))
                              for name in _FIELDS}
    titled = next((p for p in ranked if p.title and not p.title_stands_in), None)
    chosen["title_stands_in"] = titled is None and bool(chosen["title"])
    if titled is not None:
        chosen.update(title=titled.title, raw_title=titled.raw_title)
    described = next((p for p in ranked if p.abstract), ranked[0])
    chosen.update(raw_abstract=described.raw_abstract, markup=described.markup or (titled or described).markup)
    if titled is not None and titled.markup != chosen["markup"]:
        chosen["raw_title"] = ""  # one markup for both: the clean title stands in both
    dated = next((p for p in ranked if p.date), None)
    if dated is not None and dated.year:
        chosen["year"] = dated.year
    chosen["id"] = ranked[0].id
    chosen["identifiers"] = tuple(sorted({pair for p in papers for pair in p.identifiers}))
    return Paper(**chosen)


def titles_agree(a: str, b: str) -> bool:
    """Return whether two comparable titles may be spellings of one; a missing title agrees with all."""
    if not a or not b or a == b:
        return True
    if _tells_apart(a) != _tells_apart(b):
        return False
    shorter, longer = sorted((a, b), key=len)
    if longer.startswith(shorter + " ") and shorter.count(" ") + 1 >= _PREFIX_WORDS:
        return True
    return _overlap(a, b) >= _WORDS_AGREE


def _tells_apart(title: str) -> list[str]:
    """Return the words of a title of which each makes another work: numbers of parts, `erratum`, `reply` ..."""
    return sorted(word for word in title.split() if word.isdigit() or word in _TELLING_WORDS)


def _abstracts_agree(a: str, b: str) -> bool:
    if not a or not b or a == b:
        return True
    shorter, longer = sorted((a, b), key=len)
    return (longer.startswith(shorter) and 2 * len(shorter) >= len(longer)) or _overlap(a, b) >= _WORDS_AGREE


def _overlap(a: str, b: str) -> float:
    words, others = set(a.split()), set(b.split())
    return len(words & others) / len(words | others)


def _features(paper: Paper) -> _Features:
    identifiers: dict[str, set[str]] = defaultdict(set)
    for kind, value in paper.identifiers:
        identifiers[kind].add(value)
    return _Features({kind: frozenset(values) for kind, values in identifiers.items()},
                     "" if paper.title_stands_in else comparable(paper.title), comparable(paper.abstract),
                     _title_year_author(paper), "" if paper.identifiers else _content_id(paper), content_key(paper))


def _content_id(paper: Paper) -> str:
    return content_id(paper.title, paper.abstract, paper.authors, paper.year)


def _title_year_author(paper: Paper) -> tuple[str, int, str] | None:
    if paper.title_stands_in or not paper.authors or paper.year is None:
        return None
    title, author = comparable(paper.title), _family_name(paper.authors[0])
    return (title, paper.year, author) if title and author else None


def _family_name(author: str) -> str:
    family, comma, _ = author.partition(",")
    written = author.split()
    while not comma and len(written) > 1 and _INITIALS.fullmatch(written[-1]):  # `Smith R.` of medical databases
        written.pop()
        family = comma = " ".join(written)
    words = comparable(family if comma else author).split()
    while len(words) > 1 and words[-1] in _NAME_SUFFIXES:
        words.pop()
    return " ".join(words) if comma else " ".join(words[-1:])


def _same_work(a: _Features, b: _Features) -> bool:
    shared = {kind for kind, values in a.identifiers.items() if values & b.identifiers.get(kind, frozenset())}
    differing = {kind for kind in a.identifiers.keys() & b.identifiers.keys() if kind not in shared}
    if any(not kind.startswith(_LOCAL) for kind in differing):
        return False
    if shared and (not differing or any(not kind.startswith(_LOCAL) for kind in shared)):
        return titles_agree(a.title, b.title)
    if differing:
        return False
    if a.content_id and a.content_id == b.content_id:  # a record without any identifier, met twice
        return True
    if a.title_year_author is None or a.title_year_author != b.title_year_author:
        return False
    if a.title.count(" ") + 1 < _TELLING_TITLE_WORDS and not (a.abstract and b.abstract):
        return False
    return _abstracts_agree(a.abstract, b.abstract)


def _groups_conflict(a: _GroupIdentifiers, b: _GroupIdentifiers) -> bool:
    """Return whether any record of one group has an identifier that differs from one of the same kind in the other."""
    return any(not values & others for kind, sets in a.items() if kind in b and not kind.startswith(_LOCAL)
               for values in sets for others in b[kind])


def _pairs(canonical: list[int], features: list[_Features]) -> Iterable[tuple[int, int]]:
    if len(canonical) <= _MOST_PAIRS_RECORDS:
        yield from combinations(canonical, 2)
        return
    by_title = defaultdict(list)
    for i in canonical:
        by_title[features[i].title].append(i)
    for same in by_title.values():
        # A chain is enough for equal titles that hang together; it keeps thousands of equal records linear.
        yield from combinations(same, 2) if len(same) <= _MOST_PAIRS_RECORDS else pairwise(same)


def _fullness(paper: Paper) -> tuple[int, int, bytes]:
    filled = sum(1 for value in _VALUES(paper) if value)
    return (-filled, -len(paper.abstract) - len(paper.title), content_key(paper))
