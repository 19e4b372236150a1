"""Builds an index in a process of its own, slowly, and dies where it is told to.

    python crash_worker.py build INDEX JOB.json

runs one build; on stdout it says what it is doing, a line each. JOB holds `sources` and, where wanted: `options` (of
`BuildOptions`), `encoded` (a file to which every text that the encoder gets is appended), `chunk_seconds`, `fault`
({"call": "os.fsync", "number": 3, "how": "exit" or "full"}), `file_limit_bytes`, `wait_for` (a file without which the
encoder does not go on), `window` (so many texts are encoded at a time, and twice as many are worth a generation).

    python crash_worker.py sweep FOLDER KIND

lets every step of a build fail once, by death and by a full disk, and checks what is left and that the next build
succeeds. Every build runs in a forked child: this process computes nothing, so that there are no threads to lose.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes import FakeEncoder, FakeProvider
from made_papers import answers, papers_in, records, run_build, write_jsonl

from semsearch import encoding_on, first_generation
from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncodedTexts, EncoderRequest
from semsearch.errors import DiskFull, IndexNotFound, SemsearchError
from semsearch.index import generations
from semsearch.maintenance import describe, verify
from semsearch.ranking import SearchOptions
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
    if "window" in job:
        publish_often(job["window"])
    try:
        return build_index(
            job["sources"],
            index,
            BuildOptions(**job.get("options", {})),
            provider=SlowProvider(job),
            progress=Talking(),
        )
    finally:
        generations.publish = publish


def publish_often(window: int) -> None:
    """Let all texts be worth a first generation without them, and twice so many as a window holds be worth the next."""
    first_generation.FEW_TEXTS = 1
    encoding_on._WINDOW_TEXTS = (window, window)
    encoding_on.PUBLISH_TEXTS, encoding_on.PUBLISH_SHARE, encoding_on.PUBLISH_SECONDS = 2 * window, 0.0, 0.0


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


# Faults at every step


def in_a_child(action: Callable[[], None]) -> int:
    """Run something in a forked process and return its exit status; a traceback goes to stderr."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        action()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


@dataclass(frozen=True)
class Case:
    """A build in a folder: how many papers the index has before and after, and the venue of all of them after."""

    folder: Path
    kind: str

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def old(self) -> tuple[int, str]:
        return (0, "") if self.kind in ("first", "parts") else (20, "")

    @property
    def new(self) -> tuple[int, str]:
        return {"first": (20, ""), "parts": (20, ""), "metadata": (20, "ACL")}.get(self.kind, (30, ""))

    @property
    def job(self) -> dict[str, Any]:
        return {
            "sources": [str(self.folder / "papers.jsonl")],
            "options": {"rebuild": True} if self.kind == "rebuild" else {},
            **({"window": 5} if self.kind == "parts" else {}),
        }

    def prepare(self) -> None:
        source = write_jsonl(self.folder / "papers.jsonl", records(20))
        if self.kind in ("first", "parts"):
            return
        run_build([source], self.index, factory="HNSW4" if self.kind == "structure" else "Flat")
        write_jsonl(source, [{**item, "venue": self.new[1]} for item in records(self.new[0])])

    def count(self) -> None:
        counts = count_calls()
        run(self.index, self.job)
        (self.folder / "counts.json").write_text(json.dumps(counts))

    def fail(self, fault: dict[str, Any]) -> None:
        arm(fault)
        try:
            run(self.index, self.job)
        except DiskFull:
            (self.folder / "outcome").write_text(":DiskFull")

    def check(self, fault: dict[str, Any]) -> None:
        """Check that the index is the old or the new one, and that the next build leaves the new one alone."""
        found = self.found()
        assert found in (self.old, self.new), found
        if found != (0, ""):
            assert not (problems := verify(self.index).problems), problems
            assert all(answers(self.index, options=SearchOptions(encode_budget=0)))
        had = describe(self.index).vectors if found != (0, "") else 0
        provider = FakeProvider()
        summary = run_build(self.job["sources"], self.index, provider)
        assert len(provider.encoded) <= self.new[0] - had, (had, provider.encoded)
        assert describe(self.index).coverage == 1
        problems = verify(self.index).problems
        assert (self.found(), problems) == (self.new, ()), (self.found(), problems)
        left = {path.name for path in (self.index / "generations").iterdir()}
        assert left == {str(summary.generation)} or not summary.published, left
        outcome = self.folder / "outcome"
        how = outcome.read_text() if outcome.exists() else ""
        outcome.write_text(f"{fault['how']}:{'new' if found == self.new else 'old'}{how}")

    def found(self) -> tuple[int, str]:
        try:
            papers = papers_in(self.index)
        except IndexNotFound:
            return 0, ""
        (venue,) = {paper.venue for paper in papers.values()}
        return len(papers), venue


def sweep(folder: Path, kind: str) -> int:
    counted = Case(folder / "counted", kind)
    assert in_a_child(counted.prepare) == 0 and in_a_child(counted.count) == 0
    faults = [
        {"call": call, "number": number + 1, "how": how}
        for call, calls in json.loads((counted.folder / "counts.json").read_text()).items()
        for number in range(calls)
        for how in ("exit", "full")
    ]
    outcomes = []
    for number, fault in enumerate(faults):
        case = Case(folder / str(number), kind)
        assert in_a_child(case.prepare) == 0
        status = in_a_child(lambda case=case, fault=fault: case.fail(fault))
        expected = (0, FAULT_EXIT) if fault["how"] == "exit" else (0,)
        if status not in expected or in_a_child(lambda case=case, fault=fault: case.check(fault)) != 0:
            print(f"{kind}, {fault}: status {status}", file=sys.stderr)
            return 1
        outcomes.append((case.folder / "outcome").read_text())
    say(*outcomes)
    return 0


def main() -> int:
    if sys.argv[1] == "sweep":
        return sweep(Path(sys.argv[2]), sys.argv[3])
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
