"""Options that say which papers may be an answer."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def filter_options(function: F) -> F:
    """Add `--year`, `--venue`, `--author`, `--category`, `--ids`, `--where` and `--as-of`, passed as one `filter`."""
    @functools.wraps(function)
    def with_filter(*arguments: Any, year: tuple[int | None, int | None] | None, venues: tuple[str, ...],
                    authors: tuple[str, ...], categories: tuple[str, ...], id_files: tuple[str, ...],
                    where: str | None, as_of: str | None, **options: Any) -> Any:
        from semsearch.filters import Filter

        first, last = year or (None, None)
        ids = ids_in(id_files) if id_files else None
        filter = Filter(first, last, venues, authors, categories, ids, where, as_of)
        return function(*arguments, filter=filter, **options)

    decorators: list[Callable[[Any], Any]] = [
        click.option("--year", callback=_years, metavar="YEARS",
                     help="Only papers of these years: 2020, 2020..2025 (or 2020-2025), 2020.. or ..2025."),
        click.option("--venue", "venues", multiple=True, metavar="WORDS", callback=_worded,
                     help="Only papers whose venue holds these words. Can be repeated for any of several."),
        click.option("--author", "authors", multiple=True, metavar="NAME", callback=_worded,
                     help='Only papers by an author of this name: words of it, or "Family, J" for initials. Can be '
                     "repeated for any of several."),
        click.option("--category", "categories", multiple=True, metavar="NAME", callback=_worded,
                     help="Only papers of this category, such as cs.CL, or cs for all that begin so. Can be repeated "
                     "for any of several."),
        click.option("--ids", "id_files", multiple=True, metavar="FILE|-",
                     help="Only papers named in a file: ids, DOIs or other identifiers, one a line."),
        click.option("--where", metavar="SQL",
                     help="Only papers for which an SQL expression is true, as in \"abstract LIKE '%speech%' AND "
                     'year > 2019".'),
        click.option("--as-of", callback=_date, metavar="DATE",
                     help="Answer as if papers after this day, month or year did not exist."),
    ]
    decorated: Any = with_filter
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return decorated  # type: ignore[no-any-return]


def newer_than_option(function: F) -> F:
    """Add `--newer-than`, passed as `newer_than`: an ISO date, or None."""
    return click.option("--newer-than", callback=_date, metavar="DATE",
                        help="Only papers that appeared after this day, month or year.")(function)


def ids_in(files: Sequence[str]) -> tuple[str, ...]:
    """Return the ids in files, one a line; `-` is standard input.

    Raises:
        click.BadParameter: a file cannot be read, or there is no id in them.
    """
    ids: dict[str, None] = {}
    for file in files:
        try:
            content = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise click.BadParameter(f"{file!r} cannot be read: {reason}. Give a file of ids, one a line.",
                                     param_hint="'--ids'") from error
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        ids.update(dict.fromkeys(line.strip() for line in content.decode(encoding, "replace").splitlines()
                                 if line.strip()))
    if not ids:
        raise click.BadParameter(f"There is no id in {', '.join(files)}. Give a file of ids, one a line.",
                                 param_hint="'--ids'")
    return tuple(ids)


def _years(ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int | None, int | None] | None:
    if text is None:
        return None
    from semsearch.filters import parse_years

    with _refused_by(ctx, parameter):
        return parse_years(text)


def _date(ctx: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    from semsearch.filters import parse_date

    with _refused_by(ctx, parameter):
        return parse_date(text)


@contextmanager
def _refused_by(ctx: click.Context, parameter: click.Parameter) -> Iterator[None]:
    """Tell what is wrong with a value as that of the option."""
    from semsearch.errors import UsageError

    try:
        yield
    except UsageError as error:
        raise click.BadParameter(f"{error.message} {error.way_out}", ctx, parameter) from error


def _worded(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        return values
    from semsearch.paper import comparable

    for value in values:
        if not comparable(value):
            raise click.BadParameter(f"{value!r} holds no word.", ctx, parameter)
    return values
