"""Builds an index in a process of its own, slowly, and dies where it is told to.

    python crash_worker.py build INDEX JOB.json

runs one build; on stdout it says what it is doing, a line each. JOB holds `sources` and, where wanted: `options` (of
`BuildOptions`), `encoded` (a file to which every text that the encoder gets is appended), `chunk_seconds`, `fault`
({"call": "os.fsync", "number": 3, "how": "exit" or "full"}), `file_limit_bytes`, `wait_for` (a file without which the
encoder does not go on).
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fakes import FakeEncoder, FakeProvider

from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncodedTexts, EncoderRequest
from semsearch.errors import SemsearchError
from semsearch.index import generations
from semsearch.summary import BuildSummary

CALLS = ("os.fsync", "os.replace", "os.rename", "os.link", "os.unlink")
FAULT_EXIT = 77


def say(*words: object) -> None:
    print(*words, flush=True)


class SlowEncoder(FakeEncoder):
    """A fake encoder that tells a file of every text and takes its time."""

    def __init__(self, request: EncoderRequest, job: dict[str, Any]) -> None:
        super().__init__(request)
        self.job = job

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        if "encoded" in self.job:
            with open(self.job["encoded"], "a", encoding="utf-8") as file:
                file.write("".join(f"{text}\n" for text in texts))
        time.sleep(self.job.get("chunk_seconds", 0))
        while "wait_for" in self.job and not Path(self.job["wait_for"]).exists():
            time.sleep(0.005)
        return super().encode_documents(texts)


class SlowProvider(FakeProvider):
    """Gives slow encoders."""

    def __init__(self, job: dict[str, Any]) -> None:
        super().__init__()
        self.job = job

    def load(self, request: EncoderRequest) -> SlowEncoder:
        return SlowEncoder(request, self.job)


class Talking:
    """Progress that says on stdout which task has begun and how often it advanced."""

    def note(self, message: str) -> None:
        say("note", message)

    @contextmanager
    def task(self, label: str, total: int | None, unit: str) -> Iterator[Talking]:
        say(label)
        yield self

    def advance(self, amount: int) -> None:
        say("advance")


def run(index: Path, job: dict[str, Any]) -> BuildSummary:
    publish = generations.publish

    def announced(*arguments: Any) -> Any:
        say("Publishing")
        return publish(*arguments)

    generations.publish = announced
    try:
        return build_index(job["sources"], index, BuildOptions(**job.get("options", {})), provider=SlowProvider(job),
                           progress=Talking())
    finally:
        generations.publish = publish


def arm(fault: dict[str, Any]) -> None:
    """Make the n-th call of a function of `os` fail: by death at once, or as on a full disk."""
    name = fault["call"].removeprefix("os.")
    original: Callable[..., Any] = getattr(os, name)
    calls = 0

    def failing(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == fault["number"]:
            if fault["how"] == "exit":
                os._exit(FAULT_EXIT)
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*arguments, **named)

    setattr(os, name, failing)


def count_calls() -> dict[str, int]:
    """Begin to count the calls of all functions that may be made to fail."""
    counts = dict.fromkeys(CALLS, 0)
    for call in CALLS:
        original: Callable[..., Any] = getattr(os, call.removeprefix("os."))

        def counting(*arguments: Any, _call: str = call, _original: Callable[..., Any] = original, **named: Any) -> Any:
            counts[_call] += 1
            return _original(*arguments, **named)

        setattr(os, call.removeprefix("os."), counting)
    return counts


def main() -> int:
    index, job = Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text())
    if "file_limit_bytes" in job:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_limit_bytes"], job["file_limit_bytes"]))
    if "fault" in job:
        arm(job["fault"])
    try:
        summary = run(index, job)
    except SemsearchError as error:
        say("error", type(error).__name__, error.message)
        return 1
    say("done", summary.papers, summary.encoded, summary.generation)
    return 0


if __name__ == "__main__":
    sys.exit(main())
