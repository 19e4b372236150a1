"""Text files read line by line, with errors that name the line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO, cast

from semsearch.errors import InputError, SourceNotFound

_SHOWN: Final = 60
"""How many characters of a bad value an error shows."""


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text) of each line that is not blank, without its end; gzip is unpacked.

    Raises:
        SourceNotFound, InputError: there is no such file, or it is not UTF-8 text.
    """
    number = 0
    try:
        with _opened(path) as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except FileNotFoundError as error:
        raise SourceNotFound(f"There is no file {str(path)!r}.", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, after line {number}: not UTF-8 text.", "Save it as UTF-8.") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(f"{str(path)!r} cannot be read: {reason}.", "Check the file.") from error


def bad_line(path: Path, number: int, what: str, way_out: str) -> InputError:
    """Return the error for a line that cannot be used."""
    return InputError(f"{path}, line {number}: {what}.", way_out)


def shown(value: object) -> str:
    """Return a value as an error shows it: quoted, and cut where it is long."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN - 1] + "…")


def cells_of(line: str) -> list[str]:
    """Return the cells of a line: between tabs where it has any, so that ids may hold spaces, else between blanks."""
    return [cell.strip() for cell in line.split("\t")] if "\t" in line.strip() else line.split()


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8-sig"))
    return open(path, encoding="utf-8-sig")
