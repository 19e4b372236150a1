"""What a reader found out about a record, made into a paper in the one way that holds for all formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from semsearch.cleaning import Markup, clean_abstract, clean_title, markup_to_text
from semsearch.identifiers import normalise_acl, normalise_arxiv, normalise_openalex
from semsearch.paper import Paper, collapse_white_space, content_id
from semsearch.readers.fields import NO_TEXT, WrongType

_OF_URL: Final = (("acl", normalise_acl), ("openalex", normalise_openalex))
"""Sources whose pages are addressed by their own ids."""
_ID_KINDS: Final = ("doi", "arxiv", "pmid", "acl", "openalex", "s2")


@dataclass(slots=True)
class Parts:
    """The fields of a record as they were found: title and abstract in their markup, identifiers normalised.

    `own_id` is the record's own id, `space` the id space that it is unique in, both `""` where there is none. `also`
    holds ids of other spaces, by which a paper is found and never called.
    """

    title: str = ""
    abstract: str = ""
    markup: Markup = "html"
    authors: Iterable[str] = ()
    date: str = ""
    venue: str = ""
    categories: Iterable[str] = ()
    url: str = ""
    language: str = ""
    own_id: str = ""
    space: str = ""
    identifiers: dict[str, str] = field(default_factory=dict)
    also: tuple[tuple[str, str], ...] = ()

    def paper(self) -> Paper:
        """Return the paper; raises WrongType where there is neither title nor abstract."""
        title, abstract = clean_title(self.title, self.markup), clean_abstract(self.abstract, self.markup)
        identifiers = {kind: collapse_white_space(value) for kind, value in self.identifiers.items()}
        named = {kind: value for kind, value in identifiers.items() if value}
        if "arxiv" not in named and normalise_arxiv(named.get("doi", "")):
            named["arxiv"] = normalise_arxiv(named["doi"])
        for kind, normalise in _OF_URL:
            if kind not in named and (found := normalise(self.url)):
                named[kind] = found
        if not title and not abstract:
            raise WrongType(NO_TEXT, self.own_id or next(iter(named.values()), ""))
        authors = tuple(name for name in map(collapse_white_space, self.authors) if name)
        year = int(self.date[:4]) if self.date else None
        raw_title = "" if collapse_white_space(self.title) == title else self.title
        raw_abstract = "" if collapse_white_space(self.abstract) == abstract else self.abstract
        own_id = collapse_white_space(self.own_id)
        own = ((f"id:{self.space}", own_id),) if own_id and self.space else ()
        return Paper(
            id=own_id
            or next((named[kind] for kind in _ID_KINDS if kind in named), "")
            or content_id(title, abstract, authors, year),
            title=title,
            abstract=abstract,
            authors=authors,
            year=year,
            date=self.date,
            venue=collapse_white_space(markup_to_text(self.venue)),
            categories=tuple(dict.fromkeys(text for text in map(collapse_white_space, self.categories) if text)),
            url=collapse_white_space(self.url),
            doi=named.get("doi", ""),
            language=collapse_white_space(self.language),
            identifiers=(*own, *named.items(), *self.also),
            raw_title=raw_title,
            raw_abstract=raw_abstract,
            markup=self.markup if (raw_title or raw_abstract) and self.markup != "plain" else "",
        )
