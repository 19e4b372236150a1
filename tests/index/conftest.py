"""What tests of the stores share."""

from __future__ import annotations

from collections.abc import Iterator

import faiss
import pytest


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Threads that wait for each other take longer than these small sums."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(threads)
