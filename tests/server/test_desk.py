"""The desk: one after the other, and other work only while nobody asks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from semsearch.server.desk import Desk, ShuttingDown


class Steps:
    """Spare work that counts its steps; `until` says after how many there is nothing more to do."""

    def __init__(self, until: int = 10**9, fails_at: int = 0) -> None:
        self.count, self._until, self._fails_at = 0, until, fails_at
        self.came = threading.Event()

    def step(self, is_wanted: Callable[[], bool]) -> bool:
        self.count += 1
        if self.count == self._fails_at:
            self.came.set()
            raise ZeroDivisionError
        if self.count == self._until:
            self.came.set()
        return self.count < self._until

    def interrupt(self) -> None:
        pass


def test_answers_come_in_order_from_one_thread():
    desk = Desk()
    threads = []

    def work(number):
        threads.append(threading.get_ident())
        return number

    futures = [desk.ask(lambda number=number: work(number)) for number in range(20)]
    assert [future.result(60) for future in futures] == list(range(20))
    assert len(set(threads)) == 1 and threads[0] != threading.get_ident()
    desk.close()


def test_an_error_goes_to_who_asked():
    desk = Desk()
    with pytest.raises(ZeroDivisionError):
        desk.ask(lambda: 1 / 0).result(60)
    assert desk.ask(lambda: 1).result(60) == 1
    desk.close()


def test_what_nobody_waits_for_any_more_is_not_done():
    desk = Desk()
    begun, held, done = threading.Event(), threading.Event(), []

    def hold():
        begun.set()
        held.wait(60)

    desk.ask(hold)
    assert begun.wait(60)
    given_up = desk.ask(lambda: done.append(1))
    assert given_up.cancel()
    held.set()
    desk.close()
    assert done == []


def test_at_the_end_those_who_wait_are_told():
    desk = Desk()
    begun, held = threading.Event(), threading.Event()

    def hold():
        begun.set()
        return held.wait(60)

    first, waits, given_up = desk.ask(hold), desk.ask(lambda: 1), desk.ask(lambda: 1)
    assert begun.wait(60) and given_up.cancel()
    desk.turn_away()
    with pytest.raises(ShuttingDown):
        waits.result(60)
    with pytest.raises(ShuttingDown):
        desk.ask(lambda: 1)
    held.set()
    assert first.result(60)
    last = []
    desk.close(lambda: last.append(threading.get_ident()))
    assert len(last) == 1 and last[0] != threading.get_ident()


def test_spare_work_goes_on_while_nobody_asks():
    steps = Steps(until=50)
    desk = Desk(steps, rest_seconds=0)
    assert steps.came.wait(60)
    desk.close()
    assert steps.count >= 50


def test_after_a_question_spare_work_rests_and_a_look_does_not_prolong_that():
    now = [0.0]
    steps = Steps(until=1)
    desk = Desk(steps, rest_seconds=100.0, clock=lambda: now[0])
    desk.ask(lambda: None).result(60)
    for moment in (30.0, 60.0, 99.0):
        now[0] = moment
        assert desk.look(lambda: steps.count).result(60) == 0
    now[0] = 101.0
    desk.look(lambda: None).result(60)
    assert steps.came.wait(60)  # though somebody has just looked
    desk.close()


def test_a_question_waits_for_one_step_at_most():
    counts = []
    entered, go_on = threading.Event(), threading.Event()

    class Slow:
        def step(self, is_wanted: Callable[[], bool]) -> bool:
            counts.append(1)
            entered.set()
            go_on.wait(60)
            return True

        def interrupt(self) -> None:
            pass

    desk = Desk(Slow(), rest_seconds=0)
    assert entered.wait(60)
    asked = desk.ask(lambda: len(counts))
    go_on.set()
    assert asked.result(60) == 1
    desk.close()


def test_a_question_interrupts_a_step_and_a_look_does_not():
    entered, interrupted, seen = threading.Event(), threading.Event(), []

    class Interruptible:
        def step(self, is_wanted: Callable[[], bool]) -> bool:
            seen.append(is_wanted())
            entered.set()
            assert interrupted.wait(60)
            seen.append(is_wanted())
            return True

        def interrupt(self) -> None:
            interrupted.set()

    desk = Desk(Interruptible(), rest_seconds=0)
    assert entered.wait(60)
    looked = desk.look(lambda: 1)
    assert not interrupted.is_set()
    assert desk.ask(lambda: 2).result(60) == 2 and looked.result(60) == 1
    desk.close()
    assert seen[:2] == [False, True]


def test_spare_work_that_fails_ends_and_answers_go_on(caplog):
    steps = Steps(fails_at=3)
    desk = Desk(steps, rest_seconds=0)
    assert steps.came.wait(60)
    assert desk.ask(lambda: 1).result(60) == 1
    desk.close()
    assert steps.count == 3
    assert "Spare work failed" in caplog.text and "ZeroDivisionError" in caplog.text
