"""What the API is asked -> what the searcher is asked; unknown names and wrong values are refused by name."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from semsearch.errors import UsageError
from semsearch.filters import Filter, parse_date, parse_years
from semsearch.paper import comparable
from semsearch.ranking import DEFAULT_WEIGHT, Mode, SearchOptions
from semsearch.search import DEFAULT_HITS

MOST_HITS: Final = 1000
"""`offset` and `limit` together: further down no one reads, and each hit costs memory."""
_MOST_CHARACTERS: Final = 100_000
_MOST_IDS: Final = 1000



def _several(value: object) -> object:
    """Return one value as a list of it."""
    return [value] if isinstance(value, str) else value


def _written(value: object) -> object:
    """Return a year that is a number as text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Text = Annotated[str, Field(max_length=_MOST_CHARACTERS)]
Words = Annotated[list[Annotated[str, Field(max_length=1000)]], BeforeValidator(_several), Field(max_length=100)]
Ids = Annotated[list[Annotated[str, Field(max_length=1000)]], BeforeValidator(_several), Field(max_length=_MOST_IDS)]
Date = Annotated[str | None, BeforeValidator(_written)]


class Parameters(BaseModel):
    """What all questions may say; the names are those of the command line."""

    model_config = ConfigDict(extra="forbid")

    limit: Annotated[int, Field(ge=1, le=MOST_HITS, description="How many papers.")] = DEFAULT_HITS
    offset: Annotated[int, Field(ge=0, lt=MOST_HITS, description="How many of the best are left out.")] = 0
    mode: Annotated[Mode, Field(description="By meaning and words, by meaning alone, by words alone.")] = Mode.HYBRID
    weight: Annotated[float, Field(ge=0, le=1, description="The share of meaning in a hybrid score.")] = DEFAULT_WEIGHT
    min_score: Annotated[float | None, Field(ge=-1, le=1, description="The least cosine of a hit.")] = None
    diversity: Annotated[float, Field(ge=0, le=1, description="Prefer hits unlike those above them.")] = 0.0
    encode_budget: Annotated[int | None, Field(
        ge=0, le=1000, description="At most so many papers without a vector are encoded for the question.")] = None
    highlight: Annotated[bool, Field(description="Find the sentence nearest to the question.")] = False
    year: Annotated[Date, Field(description="2020, 2020..2025, 2020.. or ..2025")] = None
    venue: Annotated[Words, Field(description="Words of the venue; any of several.")] = []
    author: Annotated[Words, Field(description='Words of an author\'s name, or "Family, J"; any of several.')] = []
    category: Annotated[Words, Field(description="A category, or how it begins; any of several.")] = []
    ids: Annotated[Ids, Field(description="Only these papers.")] = []
    as_of: Annotated[Date, Field(description="As if later papers did not exist: a day, month or year.")] = None
    newer_than: Annotated[Date, Field(description="Only papers after this day, month or year.")] = None

    @property
    def depth(self) -> int:
        """How many hits have to be found.

        Raises:
            UsageError: more than are given.
        """
        if self.offset + self.limit > MOST_HITS:
            raise UsageError(f"offset {self.offset} and limit {self.limit} reach beyond the {MOST_HITS} best papers.",
                             "Ask a narrower question, or use a filter.")
        return self.offset + self.limit

    def options(self) -> SearchOptions:
        """Return how answers are to be found.

        Raises:
            UsageError: a year or date is none, or a name holds no word.
        """
        first, last = parse_years(self.year) if self.year is not None else (None, None)
        filter = Filter(first, last, _worded(self.venue), _worded(self.author), _worded(self.category),
                        tuple(self.ids) or None, None, _date(self.as_of), _date(self.newer_than))
        return SearchOptions(self.mode, self.weight, filter=filter, min_score=self.min_score, diversity=self.diversity,
                             highlight=self.highlight, encode_budget=self.encode_budget)


class QueryParameters(Parameters):
    """A question in words."""

    q: Annotated[Text, Field(description='The question; "a phrase" has to be there, -word must not.')]


class RelatedParameters(Parameters):
    """Papers to be near to, and away from."""

    id: Annotated[Ids, Field(description="Ids, DOIs or other identifiers of papers of the index.")] = []
    unlike: Annotated[Ids, Field(description="Papers to keep away from.")] = []
    title: Annotated[Words, Field(description="Papers by words of their titles.")] = []
    text: Annotated[Annotated[list[Text], BeforeValidator(_several), Field(max_length=100)],
                    Field(description="Abstracts that need not be in the index.")] = []
    query: Annotated[Text | None, Field(description="A question in words that goes with the papers.")] = None


def _worded(names: list[str]) -> tuple[str, ...]:
    for name in names:
        if not comparable(name):
            raise UsageError(f"{name!r} holds no word.", "Give a name in letters or digits.")
    return tuple(names)


def _date(text: str | None) -> str | None:
    return None if text is None else parse_date(text)
