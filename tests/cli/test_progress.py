"""Progress on standard error."""

from __future__ import annotations

import io

import pytest

from semsearch.cli.console import Console
from semsearch.cli.progress import Bars, Lines, duration, size_of
from semsearch.progress import Silent


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_log_hears_of_the_begin_then_every_thirty_seconds_then_of_the_end() -> None:
    clock, stream = Clock(), io.StringIO()
    with Lines(stream, clock).task("Encoding", 4000, "abstract") as task:
        for _ in range(10):  # 10 seconds and 100 abstracts each
            clock.seconds += 10
            task.advance(100)
    assert stream.getvalue().splitlines() == [
        "Encoding: 4,000 abstracts ...",
        "Encoding: 300 of 4,000 abstracts (7 %), 10 abstracts a second, about 6 min left",
        "Encoding: 600 of 4,000 abstracts (15 %), 10 abstracts a second, about 6 min left",
        "Encoding: 900 of 4,000 abstracts (22 %), 10 abstracts a second, about 5 min left",
        "Encoding: 1,000 abstracts in 2 min",
    ]


def test_a_short_task_is_one_line_and_none_at_all_is_silent() -> None:
    stream = io.StringIO()
    lines = Lines(stream, Clock())
    with lines.task("Reading", 1500, "B") as task:
        task.advance(1500)
    with lines.task("Encoding", 0, "abstract"):
        pass
    lines.note("A note\x1b[2J.")
    assert stream.getvalue() == "Reading: 1.5 kB ...\nA note.\n"


def test_what_has_no_total_and_what_is_slow() -> None:
    clock, stream = Clock(), io.StringIO()
    with Lines(stream, clock).task("Reading", None, "paper") as task:
        clock.seconds = 40
        task.advance(10)
    assert stream.getvalue().splitlines() == ["Reading ...", "Reading: 10 papers, 0.25 papers a second",
                                              "Reading: 10 papers in 40 s"]


def test_bytes_are_told_by_their_share() -> None:
    clock, stream = Clock(), io.StringIO()
    with Lines(stream, clock).task("Reading", 4_000_000, "B") as task:
        clock.seconds = 50
        task.advance(1_000_000)
    assert stream.getvalue().splitlines()[1] == "Reading: 25 % of 4.0 MB, 20.0 kB a second, about 2 min left"


def test_a_task_that_fails_has_no_end() -> None:
    clock, stream = Clock(), io.StringIO()
    with pytest.raises(KeyError), Lines(stream, clock).task("Reading", 10, "paper") as task:
        clock.seconds = 31
        task.advance(1)
        raise KeyError
    assert stream.getvalue().splitlines()[-1].startswith("Reading: 1 of 10 papers (10 %)")


def test_a_bar_leaves_nothing_behind_but_the_notes(capsys: pytest.CaptureFixture[str]) -> None:
    bars = Bars()
    with bars.task("Encoding", 3, "abstract") as task:
        task.advance(3)
        bars.note("A note.")
    captured = capsys.readouterr()
    assert captured.out == "" and "\rA note.\n" in captured.err
    assert captured.err.rsplit("\r", 2)[1].strip() == ""  # the bar is wiped at the end


def test_who_shows_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert isinstance(Console().progress(), Bars)
    assert isinstance(Console(quiet=True).progress(), Silent)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert isinstance(Console().progress(), Lines)


@pytest.mark.parametrize("seconds, text", [
    (0.04, "0.0 s"), (9.96, "10.0 s"), (12.4, "12 s"), (59.6, "1 min"), (60, "1 min"), (3599, "1 h 0 min"),
    (3600, "1 h 0 min"), (7500, "2 h 5 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize("size, text", [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (123_456, "123 kB"),
                                        (999_960, "1.0 MB"), (1_540_000_000, "1.5 GB"), (2 * 10**12, "2.0 TB")])
def test_sizes(size: int, text: str) -> None:
    assert size_of(size) == text
