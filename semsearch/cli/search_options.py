"""Options that say how answers are found; shared by the commands that ask an index."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from semsearch.cli.filter_options import filter_options

if TYPE_CHECKING:
    from semsearch.filters import Filter

F = TypeVar("F", bound=Callable[..., Any])

MODES: Final = ("hybrid", "dense", "lexical")
DEFAULT_WEIGHT: Final = 0.6
DEFAULT_RERANK_DEPTH: Final = 50
"""All three as `semsearch.ranking` has them, which a help text need not import."""
_SHARE: Final = click.FloatRange(0, 1)


def search_options(function: F) -> F:
    """Add what decides the ranking and the filters, passed together as `search`: `SearchOptions`."""
    @functools.wraps(function)
    def with_search(*arguments: Any, mode: str, weight: float, min_score: float | None, diversity: float,
                    encode_budget: int | None, filter: Filter, **options: Any) -> Any:
        from semsearch.ranking import Mode, SearchOptions

        search = SearchOptions(Mode(mode), weight, filter=filter, min_score=min_score, diversity=diversity,
                               encode_budget=encode_budget)
        return function(*arguments, search=search, **options)

    decorators = [
        click.option("--mode", type=click.Choice(MODES, case_sensitive=False), default=MODES[0], show_default=True,
                     help="Compare by meaning and words, by meaning alone (dense), or by words alone (lexical; needs "
                     "no model)."),
        click.option("--weight", type=_SHARE, default=DEFAULT_WEIGHT, show_default=True, metavar="0..1",
                     help="The share of meaning in a hybrid score."),
        click.option("--min-score", type=click.FloatRange(-1, 1), metavar="COSINE",
                     help="Leave out papers whose cosine is less."),
        click.option("--diversity", type=_SHARE, default=0.0, metavar="0..1",
                     help="Prefer hits that are unlike those above them; 0 does not, 0.3 is a good start."),
        click.option("--encode-budget", type=click.IntRange(min=0), metavar="N",
                     help="Where the index is not encoded to the end: encode at most N papers for a question.  "
                     "[default: about a second's worth, at least 20]"),
    ]
    decorated: Callable[..., Any] = filter_options(with_search)
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return decorated  # type: ignore[return-value]


def rerank_options(function: F) -> F:
    """Add `--rerank` and `--rerank-depth`."""
    model = click.option("--rerank", metavar="NAME|FOLDER",
                         help="A cross-encoder that scores the best hits again, such as "
                         "cross-encoder/ms-marco-MiniLM-L6-v2. Slow, and often better.")
    depth = click.option("--rerank-depth", type=click.IntRange(min=1), default=DEFAULT_RERANK_DEPTH, show_default=True,
                         metavar="N", help="How many of the best it scores; at least those that are asked for.")
    return model(depth(function))


def highlight_option(function: F) -> F:
    """Add `--highlight/--no-highlight`, passed as `highlight`, None where the user did not say."""
    return click.option("--highlight/--no-highlight", default=None,
                        help="Find the sentence of each abstract that is nearest to the question.  [default: where "
                        "people read the answer]")(function)
