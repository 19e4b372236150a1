"""Every error that a user can meet.

    SemsearchError                      exit status 1
    ├── UsageError                      the request makes no sense as worded (exit status 2)
    ├── MissingExtra                    an optional dependency is not installed
    ├── InputError                      a source cannot be read
    │   ├── SourceNotFound              a named file or folder is not there
    │   ├── UnknownFormat               the content is of no format that is read here
    │   ├── UnreadableArchive           an archive, a member of it or a compressed file cannot be unpacked
    │   ├── RecordRejected              a record was unusable and `--strict` was given
    │   └── NothingToIndex              no usable record was found at all
    ├── ModelError
    │   ├── ModelNotFound               the model is neither on this machine nor to be fetched
    │   ├── ModelMismatch               the model is not the one that made the index
    │   ├── ModelUnusable               the files are there and do not make a working encoder
    │   └── EncodingFailed              a text came out as something that is no unit vector
    ├── IndexStoreError
    │   ├── IndexNotFound               there is no index of that name
    │   ├── IndexDamaged                a file of the index is missing, cut or not what was written
    │   ├── IndexFormatUnsupported      the index was written by an older or newer format
    │   ├── IndexBusy                   another build holds the lock
    │   ├── IndexChanged                the generation a build started from is no longer current
    │   └── DiskFull                    a file could not be written for want of space
    └── QueryError
        ├── EmptyQuery                  the question has no text
        ├── PaperNotFound               no paper by that id, alias or title
        └── AmbiguousPaper              several papers fit; they are listed
"""

from __future__ import annotations

from collections.abc import Sequence


class SemsearchError(Exception):
    """Base of all errors that are the user's to mend.

    `message` says what was wrong, with the value; `way_out` says what to do next.
    """

    exit_code = 1

    def __init__(self, message: str, way_out: str = "") -> None:
        self.message = message
        self.way_out = way_out
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message}\n{self.way_out}" if self.way_out else self.message


class UsageError(SemsearchError):
    """The request makes no sense as worded."""

    exit_code = 2


class MissingExtra(SemsearchError):
    """An optional dependency is not installed.

    The message names the line that installs it.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra `{extra}`, which is not installed.",
                         f"Install it with: pip install 'semsearch[{extra}]'")


class InputError(SemsearchError):
    """A source cannot be read."""


class SourceNotFound(InputError):
    """A named file or folder is not there."""


class UnknownFormat(InputError):
    """The content is of no format that is read here."""


class UnreadableArchive(InputError):
    """An archive, a member of it or a compressed file cannot be unpacked: damaged, encrypted, a decompression bomb."""


class RecordRejected(InputError):
    """A record was unusable and the run was told to stop at the first."""


class NothingToIndex(InputError):
    """No usable record was found at all."""


class ModelError(SemsearchError):
    """A model cannot be used."""


class ModelNotFound(ModelError):
    """The model is neither on this machine nor to be fetched."""


class ModelMismatch(ModelError):
    """The model is not the one that made the index."""


class ModelUnusable(ModelError):
    """The model's files are there and do not make a working encoder."""


class EncodingFailed(ModelError):
    """A text came out as something that is no unit vector."""


class IndexStoreError(SemsearchError):
    """An index cannot be opened, read or written."""


class IndexNotFound(IndexStoreError):
    """There is no index of that name."""


class IndexDamaged(IndexStoreError):
    """A file of the index is missing, cut or not what was written."""


class IndexFormatUnsupported(IndexStoreError):
    """The index was written by an older or newer format."""


class IndexBusy(IndexStoreError):
    """Another build holds the lock."""


class IndexChanged(IndexStoreError):
    """The generation that a build started from is no longer current."""


class DiskFull(IndexStoreError):
    """A file could not be written for want of space."""


class QueryError(SemsearchError):
    """A question cannot be answered."""


class EmptyQuery(QueryError):
    """The question has no text."""


class PaperNotFound(QueryError):
    """No paper by that id, alias or title."""


class AmbiguousPaper(QueryError):
    """Several papers fit; `candidates` holds (id, title) of each."""

    def __init__(self, message: str, candidates: Sequence[tuple[str, str]], way_out: str = "") -> None:
        self.candidates = tuple(candidates)
        lines = "".join(f"\n  {paper_id}  {title}" for paper_id, title in self.candidates)
        super().__init__(message + lines, way_out)
