"""What the tests share."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from fakes import FakeProvider


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real papers beside the project; without it the tests that need it are skipped, in CI they fail."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real papers are not there: {folder}")
    return folder


@pytest.fixture
def fake_provider() -> FakeProvider:
    """Encoders that can be read by hand."""
    return FakeProvider()


@pytest.fixture(autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests off the network, off the user's indexes and out of the user's cache."""
    for name in [n for n in os.environ if n.startswith("SEMSEARCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("SEMSEARCH_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failed one, unless this system itself cannot do what the test needs."""
    report = yield
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if os.environ.get("CI") == "true" and report.skipped and "this system" not in reason:
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {reason}"
    return report
