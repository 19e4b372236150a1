"""Dates as records write them, to ISO 8601 with the precision that is known."""

from __future__ import annotations

import re
from typing import Final

from semsearch.paper import normalise_date

_FIRST_YEAR: Final = 1400
_LAST_YEAR: Final = 2100
_ISO: Final = re.compile(r"^\s*(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?!\d)", re.ASCII)
_COMPACT: Final = re.compile(r"^\s*(\d{4})(\d{2})(\d{2})\s*$", re.ASCII)
_YEAR: Final = re.compile(r"(?<!\d)(\d{4})(?!\d)", re.ASCII)
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_DAY: Final = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?(?![\d/])", re.ASCII)
_MONTHS: Final = {name: number for number, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}


def year_of(value: object) -> int | None:
    """Return the year in a number or text, None where there is none from 1400 to 2100."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = int(value) if value == value and abs(value) < 1e6 else None
    if isinstance(value, int):
        return value if _FIRST_YEAR <= value <= _LAST_YEAR else None
    if isinstance(value, list) and value:
        return year_of(value[0])
    if not isinstance(value, str):
        return None
    return next((int(year) for year in _YEAR.findall(value) if _FIRST_YEAR <= int(year) <= _LAST_YEAR), None)


def date_of(value: object) -> str:
    """Return the ISO date in a text, as precise as it says; `""` where there is none.

    A day and month in digits alone in an order that may be either (`03/04/2021`) give the year only.
    """
    if isinstance(value, dict):
        value = value.get("date-parts", value.get("value"))
    while isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    if isinstance(value, list) and 1 <= len(value) <= 3:
        value = "-".join(str(part) for part in value)
    if isinstance(value, str):
        value = _COMPACT.sub(r"\1-\2-\3", value)
    year = year_of(value)
    if not isinstance(value, str) or year is None:
        return f"{year:04d}" if year else ""
    text = value[:100]
    found = _ISO.match(text)
    if found and int(found.group(1)) == year:
        parts = [part.zfill(2) for part in found.groups() if part]
        for size in (3, 2):
            date = normalise_date("-".join(parts[:size]))
            if len(parts) >= size and date:
                return date
    return _worded_date(text, year)


def _worded_date(text: str, year: int) -> str:
    """Return the date of a text such as `12 January 2021` or `2021 Jan`."""
    month = next((_MONTHS[word[:3].casefold()] for word in _WORD.findall(text) if word[:3].casefold() in _MONTHS), None)
    if month is None:
        return f"{year:04d}"
    days = _DAY.findall(_YEAR.sub(" ", text))
    if len(days) == 1:
        date = normalise_date(f"{year:04d}-{month:02d}-{int(days[0]):02d}")
        if date:
            return date
    return f"{year:04d}-{month:02d}"
