"""Promises that were once broken: one test for each way in which a user met it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeProvider

from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncoderRequest
from semsearch.errors import IndexBusy, PaperNotFound, UsageError
from semsearch.index import locks
from semsearch.index.locks import build_lock
from semsearch.index.reader import IndexReader
from semsearch.maintenance import delete
from semsearch.progress import Silent
from semsearch.reading import read_library
from semsearch.search import Searcher
from semsearch.summary import BuildSummary

ROOT = Path(__file__).resolve().parents[1]


def write(path: Path, *records: dict[str, object]) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def built(index: Path, *sources: Path, provider: FakeProvider | None = None, **options: Any) -> BuildSummary:
    return build_index(sources, index, BuildOptions(**options), provider=provider or FakeProvider())


def titles(index: Path) -> dict[str, str]:
    with IndexReader(index) as reader:
        return {paper.id: paper.title for row, paper in reader.papers if row not in reader.hidden}


def run(
    *arguments: str, cwd: Path, stdin: int | None = subprocess.DEVNULL, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "semsearch", *arguments],
        cwd=cwd,
        stdin=stdin,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )


def test_a_cut_source_takes_no_paper_away(tmp_path: Path) -> None:
    source = tmp_path / "papers.jsonl.gz"
    lines = "".join(
        json.dumps({"id": f"p{n}", "title": f"Paper {n} {os.urandom(40).hex()}"}) + "\n" for n in range(500)
    )
    source.write_bytes(gzip.compress(lines.encode()))
    built(tmp_path / "index", source)
    source.write_bytes(source.read_bytes()[:-5000])
    summary = built(tmp_path / "index", source, prune=True, confirmed=True)
    assert (summary.papers, summary.removed, summary.rejected) == (500, 0, 1)


def test_a_deleted_paper_stays_away_when_its_title_is_corrected(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", {"id": "a1", "title": "Wales sing"}, {"id": "a2", "title": "Birds fly"})
    built(tmp_path / "index", source)
    delete(tmp_path / "index", ["a1"])
    built(tmp_path / "index", source)
    write(source, {"id": "a1", "title": "The songs of whales in the deep"}, {"id": "a2", "title": "Birds fly"})
    built(tmp_path / "index", source)
    assert titles(tmp_path / "index") == {"a2": "Birds fly"}


def test_what_is_deleted_during_a_restoring_build_stays_deleted(tmp_path: Path) -> None:
    index = tmp_path / "index"
    source = write(tmp_path / "a.jsonl", *({"id": f"p{n}", "title": f"Paper {n}"} for n in range(3)))
    built(index, source)
    delete(index, ["p0"])

    class Meanwhile(FakeProvider):
        def load(self, request: EncoderRequest) -> Any:
            delete(index, ["p1"])
            return super().load(request)

    write(source, *({"id": f"p{n}", "title": f"Paper {n}"} for n in range(3)), {"id": "p3", "title": "Another"})
    built(index, source, provider=Meanwhile(), restore=True)
    assert sorted(titles(index)) == ["p0", "p2", "p3"]


def test_a_rebuild_does_not_lose_papers_silently(tmp_path: Path) -> None:
    index = tmp_path / "index"
    a = write(tmp_path / "a.jsonl", {"id": "a", "title": "Whales sing"})
    b = write(tmp_path / "b.jsonl", {"id": "b", "title": "Birds fly"})
    built(index, a, b)
    with pytest.raises(UsageError, match=r"b\.jsonl"):
        built(index, a, rebuild=True)
    b.unlink()
    with pytest.raises(UsageError, match=r"b\.jsonl"):
        built(index, rebuild=True)
    assert sorted(titles(index)) == ["a", "b"]
    assert built(index, a, rebuild=True, confirmed=True).papers == 1


def test_exports_of_two_databases_merge_by_doi(tmp_path: Path) -> None:
    scopus = tmp_path / "scopus.csv"
    scopus.write_text("Title,Year,DOI,EID\nWhales sing in the sea,2020,10.1000/w,2-s2.0-1\n", encoding="utf-8")
    lens = tmp_path / "lens.csv"
    lens.write_text(
        "Title,Publication Year,DOI,Lens ID\nWhales sing in the sea,2020,10.1000/w,001-1\n", encoding="utf-8"
    )
    summary = built(tmp_path / "index", scopus, lens)
    assert (summary.records, summary.papers, summary.merged) == (2, 1, 1)


def test_files_of_one_name_in_two_folders_merge_by_doi(tmp_path: Path) -> None:
    for folder, number in (("A", 1), ("B", 7)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "items.json").write_text(
            json.dumps(
                [{"id": number, "type": "article-journal", "title": "Whales sing in the sea", "DOI": "10.1000/w"}]
            )
        )
    summary = built(tmp_path / "index", tmp_path / "A", tmp_path / "B")
    assert (summary.records, summary.papers, summary.merged) == (2, 1, 1)


def test_a_former_id_is_not_given_away(tmp_path: Path) -> None:
    index = tmp_path / "index"
    for key in ("a", "b"):
        (tmp_path / f"{key}.bib").write_text(f"@article{{{key}, title = {{Whales sing in the sea}}}}\n")
    assert built(index, tmp_path / "a.bib", tmp_path / "b.bib").papers == 2
    for key in ("a", "b"):
        (tmp_path / f"{key}.bib").write_text(
            f"@article{{{key}, title = {{Whales sing in the sea}}, doi = {{10.1000/w}}}}\n"
        )
    assert built(index).papers == 1
    assert list(titles(index)) == ["a"]
    (tmp_path / "c.bib").write_text("@article{b, title = {Of something else}}\n")
    built(index, tmp_path / "c.bib")
    with IndexReader(index) as reader:
        assert reader.papers.get([reader.papers.find("b")])[0].title == "Whales sing in the sea"
    assert len(titles(index)) == 2


def test_works_of_one_key_keep_their_ids_when_another_comes_before_them(tmp_path: Path) -> None:
    index = tmp_path / "index"
    works = [{"id": "x", "title": "Whales sing"}, {"id": "x", "title": "Birds fly"}]
    source = write(tmp_path / "a.jsonl", *works)
    built(index, source)
    before = titles(index)
    write(source, {"id": "x", "title": "Cells divide"}, *works)
    built(index, source)
    assert before.items() <= titles(index).items()
    assert len(titles(index)) == 3


def test_two_files_on_standard_input_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for key_title in ("Whales sing in the sea", "Birds fly over it"):
        path = write(tmp_path / "in.jsonl", {"id": "smith2020", "title": key_title})
        with open(path, "rb") as stdin:
            done = run("read", "-", "--format", "ids", cwd=tmp_path, stdin=stdin.fileno())
        assert done.stdout == "smith2020\n"
    index = tmp_path / "index"
    for title in ("Whales sing in the sea", "Birds fly over it"):
        path = write(tmp_path / "in.jsonl", {"id": "smith2020", "title": title})
        with open(path, encoding="utf-8") as stream, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", stream)
            build_index(["-"], index, provider=FakeProvider())
    assert sorted(titles(index).values()) == ["Birds fly over it", "Whales sing in the sea"]


def test_a_lone_surrogate_in_raw_text_stops_nothing(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"id": "1", "title": "T", "abstract": "\\\\emph{x} of $\\\\alpha$ \\ud835 and so on"}\n')
    with read_library([source]) as library:
        assert [paper.id for paper in library] == ["1"]
    assert built(tmp_path / "index", source).papers == 1


def test_a_lock_on_a_file_that_its_holder_removed_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "index"
    index.mkdir()
    lock = locks.lock_exclusive

    def lock_too_late(file: Any) -> bool:
        (index / "build.lock").unlink()  # the last holder removes the index between our opening and our locking
        return lock(file)

    monkeypatch.setattr(locks, "lock_exclusive", lock_too_late)
    with pytest.raises(IndexBusy), build_lock(index, "build"):
        pass
    monkeypatch.undo()
    with build_lock(index, "build"):
        assert (index / "build.lock").exists()


def test_a_swapped_model_is_said_before_all_is_encoded_again(tmp_path: Path) -> None:
    progress = Listening()
    source = write(tmp_path / "a.jsonl", {"id": "a", "title": "Whales sing"})
    built(tmp_path / "index", source)
    build_index(
        [source], tmp_path / "index", BuildOptions(model="other"), provider=FakeProvider(), progress=progress)
    assert any("all its texts are encoded again" in note for note in progress.notes)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_standard_output_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", {"id": "a", "title": "Whales sing"})
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "semsearch", "read", "a.jsonl"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "No space left" in done.stderr


def test_variables_of_the_environment_do_not_reach_switches_that_are_not_for_them(tmp_path: Path) -> None:
    done = run("list", cwd=tmp_path, SEMSEARCH_VERSION="0.1.0")
    assert done.returncode == 0, done.stderr


def test_closed_streams_are_no_traceback(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", {"id": "a", "title": "Whales sing"})
    shell = f"exec '{sys.executable}' -m semsearch read - <&- 2>&-"
    done = subprocess.run(
        ["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert "Traceback" not in done.stdout + done.stderr


class Listening:
    """Keeps the notes of a run."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)

    def task(self, label: str, total: int | None, unit: str) -> Any:
        return Silent().task(label, total, unit)


def test_a_pdf_in_a_folder_is_named(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.jsonl", {"id": "a", "title": "Whales sing"})
    (tmp_path / "in" / "paper.pdf").write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n")
    progress = Listening()
    summary = build_index([tmp_path / "in"], tmp_path / "index", provider=FakeProvider(), progress=progress)
    assert [Path(name).name for name in summary.refused_files] == ["paper.pdf"]
    assert any("paper.pdf" in note and "PDF" in note for note in progress.notes)


def test_what_went_from_its_source_is_counted_and_said(tmp_path: Path) -> None:
    index, progress = tmp_path / "index", Listening()
    a = write(tmp_path / "in" / "a.jsonl", {"id": "a", "title": "Whales sing"}, {"id": "b", "title": "Birds fly"})
    b = write(tmp_path / "in" / "b.jsonl", {"id": "c", "title": "Cells divide"})
    built(index, tmp_path / "in")
    write(a, {"id": "a", "title": "Whales sing"})
    assert (built(index).outdated, built(index).papers) == (1, 3)
    b.unlink()
    build_index([], index, provider=FakeProvider(), progress=progress)
    assert any("b.jsonl went from the folder" in note for note in progress.notes)
    summary = built(index, prune=True, confirmed=True)
    assert (summary.papers, summary.removed, summary.outdated) == (1, 2, 0)


def test_a_file_without_a_record_is_named_and_takes_nothing_away(tmp_path: Path) -> None:
    index = tmp_path / "index"
    records = "".join(f"TY  - JOUR\nTI  - Of whale number {n}\nAB  - It sings.\nER  - \n" for n in range(9))
    (tmp_path / "a.ris").write_text(records)
    (tmp_path / "b.ris").write_text("TY  - JOUR\nTI  - Of birds\nAB  - They fly.\nER  - \n")
    built(index, tmp_path / "a.ris", tmp_path / "b.ris")
    (tmp_path / "b.ris").write_text("Error: too many requests\n")
    summary = built(index, prune=True, confirmed=True, from_format="ris")
    assert (summary.papers, summary.removed) == (10, 0)
    assert summary.rejected == 1 and "no record" in next(iter(summary.reject_reasons))


def test_a_deleted_paper_is_said_to_be_deleted(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, write(tmp_path / "a.jsonl", {"id": "a", "title": "Whales sing"}, {"id": "b", "title": "Birds fly"}))
    delete(index, ["a"])
    with Searcher(index, provider=FakeProvider()) as searcher, pytest.raises(PaperNotFound, match="was deleted on 20"):
        searcher.related(["a"])


def test_a_question_that_the_model_cuts_is_said_to_be_cut(tmp_path: Path) -> None:
    index = tmp_path / "index"
    built(index, write(tmp_path / "a.jsonl", {"id": "a", "title": "Whales sing"}))
    with Searcher(index, provider=FakeProvider()) as searcher:
        assert searcher.query("whales", k=1).notes == ()
        (note,) = searcher.query("whales " * 300, k=1).notes
    assert note == "The question has 300 words; the model reads its first 256 tokens."
