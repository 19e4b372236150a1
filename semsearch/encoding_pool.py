"""Pieces of work given to an encoder, several at once where it can; the best number of workers is found on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Final, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from semsearch.calibration import Setting, asked_setting, best_setting, remember_setting, remembered_setting
from semsearch.encoding import EncodedTexts, Encoder

PIECE_TEXTS: Final = 16
"""Texts that one worker takes at a time: so few that little is lost with them, and that workers end together."""
ROUNDS: Final = 2
"""How often each setting is tried; the better time counts, as what disturbs a measurement only slows it."""
_WAITING: Final = 2
"""Pieces in hand for each worker: one under way, one ready."""


class Chunk(NamedTuple):
    """Texts with the ids of their papers and their text keys."""

    ids: list[str]
    texts: list[str]
    keys: list[bytes]

    def pieces(self, size: int) -> Iterator[Chunk]:
        """Yield the same texts in chunks of `size` at most."""
        for start in range(0, len(self.texts), size):
            stop = start + size
            yield Chunk(self.ids[start:stop], self.texts[start:stop], self.keys[start:stop])


@runtime_checkable
class TunableEncoder(Protocol):
    """An `Encoder` that several threads may ask at once, in more ways than one."""

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that are worth a trial here; the first is the one to take without."""
        ...

    def tune(self, setting: Setting) -> None:
        """Work by a setting from now on; not while texts are being encoded."""
        ...

    def settle(self) -> None:
        """Keep to the setting of now: it is the only one from now on, and the memory of all others is given back."""
        ...

    def stop(self) -> None:
        """Let what is being encoded by other threads fail at once; `tune` makes the encoder work again."""
        ...


Encode = Callable[[Chunk], EncodedTexts]
Result = tuple[Chunk, EncodedTexts]


def encode_chunks(encoder: Encoder, chunks: Iterable[Chunk], encode: Encode, texts: int
                  ) -> Generator[Result, None, None]:
    """Yield pieces of the chunks, in the order in which they are done, with what `encode` makes of them.

    `texts`: how many there are in all. Where `encode` raises for a piece, what other workers have begun is finished
    and yielded before the error goes on. Where the caller ends early, work under way is broken off.

    Raises:
        UsageError: `SEMSEARCH_WORKERS` is no number of workers.
    """
    asked = asked_setting()
    if not isinstance(encoder, TunableEncoder):
        for chunk in chunks:
            yield chunk, encode(chunk)
        return
    pieces = (piece for chunk in chunks for piece in chunk.pieces(PIECE_TEXTS))
    settings, fingerprint = encoder.settings, encoder.identity.fingerprint
    setting = asked or remembered_setting(fingerprint)
    if setting is None and len(settings) > 1 and texts >= trial_texts(settings):
        rates = yield from _calibrate(encoder, encoder.identity.max_tokens, pieces, encode)
        setting = best_setting(rates)
        remember_setting(fingerprint, setting, rates)
    chosen = setting or settings[0]
    encoder.tune(chosen)
    if setting is not None:
        encoder.settle()
    with _Workers(chosen.workers, encoder) as workers:
        yield from workers.run(pieces, encode)


def trial_texts(settings: tuple[Setting, ...]) -> int:
    """Return how many texts it takes to try all of the settings."""
    return ROUNDS * len(settings) * _trial_pieces(settings) * PIECE_TEXTS


def _trial_pieces(settings: tuple[Setting, ...]) -> int:
    return max(setting.workers for setting in settings)


def _calibrate(encoder: TunableEncoder, max_tokens: int, pieces: Iterator[Chunk], encode: Encode
               ) -> Generator[Result, None, dict[Setting, float]]:
    """Yield the results of the first pieces, each setting trying its share; return the rates in tokens a second."""
    settings = encoder.settings
    rates = dict.fromkeys(settings, 0.0)
    for _ in range(ROUNDS):
        for setting in settings:
            encoder.tune(setting)
            share = list(islice(pieces, _trial_pieces(settings)))
            with _Workers(setting.workers, encoder) as workers:
                begun = time.perf_counter()
                results = list(workers.run(iter(share), encode))
                seconds = time.perf_counter() - begun
            tokens = sum(int(np.minimum(encoded.token_counts, max_tokens).sum()) for _, encoded in results)
            rates[setting] = max(rates[setting], tokens / max(seconds, 1e-9))
            yield from results
    return rates


class _Workers:
    """Threads that encode; leaving by an error, Ctrl-C too, breaks off what they do."""

    def __init__(self, count: int, encoder: TunableEncoder) -> None:
        self._count, self._encoder = count, encoder
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="encode")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self._encoder.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def run(self, pieces: Iterator[Chunk], encode: Encode) -> Iterator[Result]:
        """Yield the pieces and what `encode` makes of them, in the order in which they are done."""
        under_way: dict[Future[EncodedTexts], Chunk] = {}
        failure: BaseException | None = None
        while True:
            while failure is None and len(under_way) < _WAITING * self._count:
                piece = next(pieces, None)
                if piece is None:
                    break
                under_way[self._threads.submit(encode, piece)] = piece
            if not under_way:
                break
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                piece = under_way.pop(future)
                error = future.exception()
                if error is None:
                    yield piece, future.result()
                else:
                    failure = failure or error
        if failure is not None:
            raise failure
