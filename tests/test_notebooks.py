"""The notebooks run from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.real_model
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
def test_the_quick_start_runs_and_shows_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = ROOT / "notebooks" / "quickstart.ipynb"
    stored = nbformat.read(path, as_version=4)
    fresh = NotebookClient(nbformat.read(path, as_version=4), timeout=300, kernel_name="python3",
                           resources={"metadata": {"path": tmp_path}}).execute()
    printed = [printed_by(cell) for cell in fresh.cells]
    assert [bool(text) for text in printed] == [bool(printed_by(cell)) for cell in stored.cells], "run: make notebook"
    everything = "\n".join(printed)
    assert "178 papers, 178 encoded, 0 rejected" in everything
    assert "second time: 0 encoded, 178 unchanged, published: False" in everything
    assert "1. " in everything and "[fischer1985impossibility]" in everything
    assert "HNSW32: 0 encoded" in everything
    assert "problems: ()" in everything


def printed_by(cell: nbformat.NotebookNode) -> str:
    return "".join(output.get("text", "") for output in cell.get("outputs", []))
