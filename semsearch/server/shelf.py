"""The indexes of a home, held open while questions are asked, and opened anew when they have changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from semsearch.encoding import Encoder, EncoderIdentity, EncoderRequest
from semsearch.errors import IndexNotFound, SemsearchError
from semsearch.index.generations import CURRENT, index_names
from semsearch.index.locks import is_build_running
from semsearch.index.state import STATE
from semsearch.provider import EncoderProvider, load_for_questions
from semsearch.search import Searcher

_UNKNOWN: Final = ("papers", "vectors", "coverage", "generation", "created", "model", "precision")


class SharedEncoders:
    """Gives each encoder once, whatever index asks for it, and however often that is opened."""

    def __init__(self, provider: EncoderProvider, loaded: Callable[[Encoder, EncoderRequest], object]) -> None:
        """Take who loads them, and who hears of each that was loaded."""
        self._provider, self._loaded = provider, loaded
        self._encoders: dict[str, Encoder] = {}

    def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> EncoderIdentity:
        """Return the identity of an encoder, as the provider does."""
        return self._provider.identify(request, allow_download=allow_download)

    def load(self, request: EncoderRequest) -> Encoder:
        """Return an encoder, as the provider does."""
        return self._provider.load(request)

    def load_quick(self, request: EncoderRequest, identity: EncoderIdentity) -> Encoder:
        """Return the encoder of this identity, loaded when it is first asked for."""
        if identity.fingerprint not in self._encoders:
            encoder = self._encoders[identity.fingerprint] = load_for_questions(self._provider, request, identity)
            self._loaded(encoder, request)
        return self._encoders[identity.fingerprint]

    def forget(self, fingerprint: str) -> None:
        """Let an encoder be loaded anew when it is asked for again."""
        self._encoders.pop(fingerprint, None)

    def prepare_quick(self, progress: object) -> None:
        """Leave it: the encoder is loaded as long as the server runs."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An index that is open, and what it was opened from."""

    name: str
    searcher: Searcher
    seen: tuple[object, ...]

    @property
    def papers(self) -> int:
        """How many papers can be found."""
        return self.searcher.reader.visible

    @property
    def lacking(self) -> int:
        """How many of them have no vector, neither in the generation nor in the log."""
        if self.searcher.vectors.is_complete:
            return 0
        lacking = self.searcher.vectors.lacking()
        lacking[list(self.searcher.reader.hidden)] = False
        return int(np.count_nonzero(lacking))

    def describe(self) -> dict[str, object]:
        """Return what lists of indexes say of it."""
        manifest, papers, lacking = self.searcher.reader.manifest, self.papers, self.lacking
        return {"name": self.name, "state": "ok", "papers": papers, "vectors": papers - lacking,
                "coverage": (papers - lacking) / papers if papers else 1.0, "generation": manifest.generation,
                "created": manifest.created, "model": manifest.encoder.model, "precision": manifest.encoder.precision,
                "building": is_build_running(self.searcher.reader.folder)}


class Shelf:
    """Opens the indexes of a folder by name. For one thread: the one in which it is asked."""

    def __init__(self, home: Path, provider: EncoderProvider, device: str = "auto", trust_remote_code: bool = False,
                 loaded: Callable[[Encoder, EncoderRequest], object] = lambda encoder, request: None) -> None:
        """Take the folder of the indexes, who provides encoders, how these run, and who hears of each loaded one."""
        self.home = home
        self._encoders = SharedEncoders(provider, loaded)
        self._device, self._trust_remote_code = device, trust_remote_code
        self._open: dict[str, OpenIndex] = {}
        self._asked: dict[str, float] = {}

    def names(self) -> list[str]:
        """Return the names of all indexes, sorted."""
        return index_names(self.home)

    def open(self, name: str) -> OpenIndex:
        """Return an index as it is now, with what others have encoded meanwhile.

        Raises:
            IndexNotFound: there is none of this name.
            IndexStoreError: it cannot be read.
        """
        folder = self.home / name
        if name not in self.names():
            self._forget(name)
            raise IndexNotFound(f"There is no index named {name!r}.", "/api/indexes lists those that are there.")
        seen = self.stamp(name)
        there = self._open.get(name)
        if there is not None and there.seen == seen:
            there.searcher.vectors.refresh()
            return there
        self._forget(name)
        searcher = Searcher(folder, device=self._device, trust_remote_code=self._trust_remote_code,
                            provider=self._encoders)
        self._open[name] = OpenIndex(name, searcher, seen)
        return self._open[name]

    def ask(self, name: str) -> OpenIndex:
        """Return an index as it is now, which somebody is about to ask; raises as `open`."""
        self._asked[name] = time.monotonic()
        return self.open(name)

    def stamp(self, name: str) -> tuple[object, ...]:
        """Return what tells that an index has changed: by a build, a deletion, or whatever replaces its files."""
        return _stamp(self.home / name / CURRENT), _stamp(self.home / name / STATE)

    def last_asked(self, name: str) -> float:
        """Return when an index was last asked, in monotonic seconds; 0 where it never was."""
        return self._asked.get(name, 0.0)

    def listed(self) -> Iterator[dict[str, object]]:
        """Yield what there is to say of each index by name; one that cannot be read says why."""
        for name in self.names():
            try:
                yield self.open(name).describe()
            except (SemsearchError, OSError) as error:
                yield {"name": name, "state": str(error).splitlines()[0], **dict.fromkeys(_UNKNOWN),
                       "building": is_build_running(self.home / name)}

    def warm(self) -> None:
        """Open all that can be read, and load the encoder of the index that was made last: before anybody asks."""
        for name in self.names():
            with suppress(SemsearchError, OSError):
                self.open(name)
        newest = max(self._open.values(), key=lambda index: index.searcher.reader.manifest.created, default=None)
        if newest is not None:
            with suppress(SemsearchError):  # told when it is asked
                newest.searcher.encoder()

    def renew(self, fingerprint: str) -> None:
        """Take an encoder, and the indexes that use it, anew: there is a better form of it now."""
        self._encoders.forget(fingerprint)
        for name, index in list(self._open.items()):
            if index.searcher.reader.manifest.encoder.fingerprint == fingerprint:
                self._forget(name)
                with suppress(SemsearchError, OSError):  # told when it is asked
                    self.open(name).searcher.encoder()

    def close(self) -> None:
        """Close all that is open."""
        for name in list(self._open):
            self._forget(name)

    def _forget(self, name: str) -> None:
        there = self._open.pop(name, None)
        if there is not None:
            there.searcher.close()


def _stamp(path: Path) -> object:
    """Return what tells that a file, which is only ever replaced, is another one now."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
