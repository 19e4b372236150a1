"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes import FakeProvider

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real papers beside the project; without it the tests that need it are skipped, in CI they fail."""
    if not SHARED_DATA.is_dir():
        message = f"the real papers are not there ({SHARED_DATA})"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return SHARED_DATA


@pytest.fixture
def fake_provider() -> FakeProvider:
    """Encoders that can be read by hand."""
    return FakeProvider()


@pytest.fixture(autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests off the network, off the user's indexes and out of the user's cache."""
    for name in [n for n in os.environ if n.startswith("SEMSEARCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
