"""What entries of BibTeX take from others: `crossref` and `xdata`."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from typing import Final

from semsearch.readers.base import Rejected
from semsearch.readers.bibtex_entries import Entry

_REMEMBERED_ENTRIES: Final = 20_000
_REMEMBERED_CHARACTERS: Final = 32 * 1024 * 1024
"""How far apart an entry and its parent may stand: about 30 MB of a file, whichever comes first."""
_DEEPEST: Final = 4
_MOST_PARENTS: Final = 6
_NEVER_TAKEN: Final = frozenset({"crossref", "xdata", "ids", "options", "xref", "related", "entryset"})
_SAME_NAME: Final = ("editor", "series", "langid", "language", "eventtitle")
_DATES: Final = ("date", "year", "month", "day")
_FROM_PARENT: Final = frozenset({
    *_SAME_NAME, *_DATES, "title", "subtitle", "booktitle", "journal", "journaltitle", "author", "crossref", "xdata"})
_OWN_AUTHOR_KINDS: Final = frozenset({"inbook", "bookinbook", "suppbook"})
"""Parts of a book that have the author of the book (BibLaTeX manual, appendix B)."""


Item = Entry | Rejected


def references(item: Item) -> list[str]:
    """Return the keys of the entries that this one takes fields from, in lower case."""
    if isinstance(item, Rejected) or not ("crossref" in item.fields or "xdata" in item.fields):
        return []
    named = f"{item.fields.get('xdata', '')},{item.fields.get('crossref', '')}"
    return [key for key in (part.strip().lower() for part in named.split(",")) if key]


class Family:
    """Lets entries wait, in their order, until those they take fields from have come.

    BibTeX wants the parent behind its children, BibLaTeX allows both. Memory is bounded: an entry whose parent does not
    come within 20,000 entries or 32 MiB goes without, and so does one whose parent came so much earlier. `orphans`
    counts them.
    """

    def __init__(self) -> None:
        self._parents: OrderedDict[str, Entry] = OrderedDict()
        self._parent_characters = 0
        self._waiting: deque[Item] = deque()
        self._waiting_characters = 0
        self._awaited: list[str] = []
        self.orphans = 0

    def add(self, item: Item) -> Iterator[Item]:
        """Take the next item of the file; yield those that are complete now, with what they inherit."""
        came = self._remember(item) if isinstance(item, Entry) else ""
        missing = self._missing(item, _DEEPEST)
        if not missing and not self._waiting:
            yield self._complete(item)
            return
        self._waiting.append(item)
        self._waiting_characters += _size(item)
        if len(self._waiting) == 1:
            self._awaited = missing
        elif came in self._awaited:
            yield from self._release()
        while len(self._waiting) > _REMEMBERED_ENTRIES or self._waiting_characters > _REMEMBERED_CHARACTERS:
            yield self._complete(self._pop())
            yield from self._release()

    def rest(self) -> Iterator[Item]:
        """Yield what still waits at the end of the file."""
        while self._waiting:
            yield self._complete(self._pop())

    def _release(self) -> Iterator[Item]:
        while self._waiting:
            self._awaited = self._missing(self._waiting[0], _DEEPEST)
            if self._awaited:
                return
            yield self._complete(self._pop())

    def _missing(self, item: Item, depth: int) -> list[str]:
        """Return the keys that have not come among those an entry refers to, and its parents to in turn."""
        missing = []
        for key in references(item)[:_MOST_PARENTS] if depth else ():
            parent = self._parents.get(key)
            missing += [key] if parent is None else self._missing(parent, depth - 1)
        return missing

    def _pop(self) -> Item:
        item = self._waiting.popleft()
        self._waiting_characters -= _size(item)
        return item

    def _remember(self, entry: Entry) -> str:
        """Keep what others may take from an entry; return its key, `""` where it is of no use."""
        key = entry.key.lower()
        if not key or key in self._parents:
            return ""
        everything = entry.kind == "xdata"
        kept = {name: value for name, value in entry.fields.items() if everything or name in _FROM_PARENT}
        parent = Entry(entry.line, entry.kind, key, kept)
        self._parents[key] = parent
        self._parent_characters += _size(parent)
        while len(self._parents) > _REMEMBERED_ENTRIES or self._parent_characters > _REMEMBERED_CHARACTERS:
            _, forgotten = self._parents.popitem(last=False)
            self._parent_characters -= _size(forgotten)
        return key

    def _complete(self, item: Item) -> Item:
        keys = references(item)
        if keys and isinstance(item, Entry):
            self.orphans += any(key not in self._parents for key in keys)
            item.fields = self._inherited(item, _DEEPEST)
        return item

    def _inherited(self, entry: Entry, depth: int) -> dict[str, str]:
        """Return the fields of an entry with those it takes from its parents, and they from theirs."""
        fields = dict(entry.fields)
        own = entry.fields.get("crossref", "").strip().lower()
        for key in references(entry)[:_MOST_PARENTS] if depth else ():
            parent = self._parents.get(key)
            if parent is None:
                continue
            given = self._inherited(parent, depth - 1)
            if key == own:
                _take_from_parent(fields, entry.kind, given, parent.kind)
            else:
                for name, value in given.items():
                    if name not in _NEVER_TAKEN:
                        fields.setdefault(name, value)
        return fields


def _take_from_parent(fields: dict[str, str], kind: str, given: Mapping[str, str], parent_kind: str) -> None:
    """Take what a part has from the whole it stands in: never title, abstract or identifiers."""
    whole = given.get("booktitle") or given.get("title", "")
    if given.get("subtitle") and whole == given.get("title"):
        whole = f"{whole}: {given['subtitle']}"
    if parent_kind == "periodical" or kind == "article":
        journal = given.get("journaltitle") or given.get("journal") or whole
        if journal and not fields.get("journal"):
            fields.setdefault("journaltitle", journal)
    elif whole and not kind.startswith(("book", "mv", "collection", "proceedings")):
        fields.setdefault("booktitle", whole)
    if not any(fields.get(name) for name in ("date", "year")):
        fields.update({name: given[name] for name in _DATES if name in given})
    for name in (*_SAME_NAME, *(("author",) if kind in _OWN_AUTHOR_KINDS else ())):
        if given.get(name):
            fields.setdefault(name, given[name])


def _size(item: Item) -> int:
    return len(item.value) if isinstance(item, Rejected) else sum(map(len, item.fields.values()))
