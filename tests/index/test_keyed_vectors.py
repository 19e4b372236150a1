"""Vectors found by key, against a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from semsearch.index.keyed_vectors import KEY_DTYPE, KeyedVectors

# Few different bytes, zeros among them: equal beginnings and ends are where mistakes would be.
keys = st.lists(st.sampled_from([0, 1, 255]), min_size=16, max_size=16).map(bytes)


def as_array(some: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(some), KEY_DTYPE)


@settings(max_examples=200, deadline=None)
@given(stored=st.lists(keys, max_size=12, unique=True), asked=st.lists(keys, max_size=12))
def test_find_and_take(stored, asked):
    vectors = np.arange(len(stored) * 3, dtype=np.float32).reshape(len(stored), 3)
    source = KeyedVectors(as_array(stored), np.arange(len(stored), dtype=np.int32), vectors)
    positions = source.find(as_array(asked))
    assert positions.tolist() == [stored.index(key) if key in stored else -1 for key in asked]
    found = positions[positions >= 0]
    taken = source.take(found)
    assert (taken.vectors == vectors[found]).all() and (taken.token_counts == found).all()
    assert (taken.vectors.dtype, taken.token_counts.dtype) == (np.float32, np.int32)
    assert len(source) == len(stored)


def test_a_key_held_twice_is_found_once():
    source = KeyedVectors(as_array([b"a" * 16, b"b" * 16, b"a" * 16]), np.zeros(3), np.zeros((3, 1)))
    assert source.find(as_array([b"a" * 16])).tolist() == [0]
