"""What is encoded first."""

from __future__ import annotations

import numpy as np

from semsearch.encoding_queue import EncodingQueue
from semsearch.index.keyed_vectors import KEY_DTYPE

NONE = np.zeros(0, KEY_DTYPE)


def keys_of(*numbers: int) -> np.ndarray:
    return np.frombuffer(b"".join(bytes([n]) * 16 for n in numbers), KEY_DTYPE)


def queue(*papers: tuple[int, int, str]) -> EncodingQueue:
    rows, numbers, dates = zip(*papers, strict=True)
    return EncodingQueue(np.array(rows), keys_of(*numbers), np.array(dates))


def test_newest_first_and_unknown_dates_last():
    waiting = queue((0, 10, ""), (1, 11, "2020"), (2, 12, "2020-05"), (3, 13, "1999-12-31"), (4, 14, "2020-05-03"),
                    (5, 15, "2020"), (6, 16, ""))
    assert len(waiting) == 7
    assert waiting.take(3, NONE).tolist() == [4, 2, 1]
    assert waiting.take(100, NONE).tolist() == [5, 3, 0, 6]
    assert (len(waiting), waiting.take(5, NONE).tolist()) == (0, [])


def test_what_was_asked_about_goes_before_all_in_its_order():
    waiting = queue((0, 10, "2001"), (1, 11, "2002"), (2, 12, "2003"), (3, 13, "2004"))
    wanted = keys_of(10, 99, 11)  # 99 is of no paper
    assert waiting.take(1, wanted).tolist() == [0]
    assert waiting.take(2, wanted).tolist() == [1, 3]
    assert waiting.take(2, wanted).tolist() == [2]


def test_papers_with_one_text_wait_once_as_the_newest():
    waiting = queue((0, 10, "2001"), (1, 11, "2002"), (2, 10, "2003"))
    assert waiting.take(5, NONE).tolist() == [2, 1]


def test_what_has_a_vector_now_is_dropped():
    waiting = queue((0, 10, "2001"), (1, 11, "2002"), (2, 12, "2003"))
    assert (waiting.drop(keys_of(11, 77, 11)), len(waiting)) == (1, 2)
    assert (waiting.drop(keys_of(11)), waiting.drop(NONE)) == (0, 0)
    assert waiting.take(5, keys_of(11, 10)).tolist() == [0, 2]


def test_what_was_taken_last_can_be_put_back():
    waiting = queue((0, 10, "2001"), (1, 11, "2002"), (2, 12, "2003"), (3, 13, "2004"))
    waiting.put_back()
    assert len(waiting) == 4
    assert waiting.take(1, NONE).tolist() == [3]
    assert waiting.take(2, keys_of(10)).tolist() == [0, 2]
    waiting.put_back()
    assert (len(waiting), waiting.take(5, NONE).tolist()) == (3, [2, 1, 0])


def test_nothing_waits():
    waiting = EncodingQueue(np.zeros(0, np.int64), NONE, np.zeros(0, np.str_))
    assert (len(waiting), waiting.drop(keys_of(1)), waiting.take(3, keys_of(1)).tolist()) == (0, 0, [])
