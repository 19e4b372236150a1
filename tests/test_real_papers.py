"""Real papers through the whole pipeline: files that people really have, questions that people really ask."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes import FakeProvider

from semsearch.build import build_index as build
from semsearch.index.reader import IndexReader
from semsearch.maintenance import delete, verify
from semsearch.paper import paragraph_id
from semsearch.reindex import ReindexOptions
from semsearch.reindex import reindex_index as reindex
from semsearch.search import Searcher

QUESTIONS = Path(__file__).parent / "data" / "iclr2025_questions.jsonl"


def paragraphs_by_sha256(folder: Path) -> dict[str, str]:
    import hashlib

    texts = [
        " ".join(line.split())
        for file in sorted(folder.glob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return {hashlib.sha256(text.encode()).hexdigest(): text for text in texts if text}


@pytest.mark.real_model
def test_questions_in_ones_own_words_find_their_abstract_first(shared_data: Path, tmp_path: Path) -> None:
    lists = sorted((shared_data / "iclr2025").glob("*.txt"))
    summary = build(lists, tmp_path / "iclr2025")
    assert (summary.papers, summary.rejected, summary.merged) == (38, 0, 0)
    assert [f.papers for f in summary.files] == [19, 19]
    assert (summary.truncated, summary.max_tokens) == (25, 256)
    known = paragraphs_by_sha256(shared_data / "iclr2025")
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    assert len({q["paragraph_sha256"] for q in questions}) == 38
    with Searcher(tmp_path / "iclr2025") as searcher:
        answers = searcher.query_many([q["question"] for q in questions], 38)
    first = [
        answer.hits[0].paper.id == paragraph_id(known[q["paragraph_sha256"]])
        for answer, q in zip(answers, questions, strict=True)
    ]
    assert all(len(answer.hits) == 38 for answer in answers)
    assert sum(first) >= 35, [q["question"] for q, right in zip(questions, first, strict=True) if not right]
    assert {hit.paper.venue for hit in answers[0].hits} == {"ICLR"}
    assert {hit.paper.year for hit in answers[0].hits} == {2025}


def test_all_papers_of_an_anthology_volume_come_through(shared_data: Path, tmp_path: Path) -> None:
    source, index, provider = shared_data / "acl-anthology" / "acl-03.jsonl.gz", tmp_path / "acl", FakeProvider()
    summary = build([source], index, provider=provider)
    assert (summary.records, summary.papers, summary.rejected, summary.merged) == (4294, 4294, 0, 0)
    with IndexReader(index) as reader:
        dois: dict[str, list[str]] = {}
        for _, paper in reader.papers:
            dois.setdefault(paper.doi, []).append(paper.id)
    shared = [ids for doi, ids in dois.items() if doi and len(ids) > 1]
    assert [len(ids) for ids in shared] == [2]
    encoded = len(provider.encoded)

    again = build([source], index, provider=provider)
    assert (again.published, again.encoded, again.unchanged) == (False, 0, 4294)
    changed = reindex(index, ReindexOptions(factory="IVF32,Flat"), provider=provider)
    assert (changed.encoded, changed.factory) == (0, "IVF32,Flat")
    assert len(provider.encoded) == encoded
    assert changed.recall_at_10 is not None and changed.recall_at_10 >= 0.95

    assert [paper_id for paper_id, _ in delete(index, ["r19-1082"])] == ["R19-1082"]
    with Searcher(index, provider=provider) as searcher:
        hits = searcher.related(["R19-1083"], 4294).hits
    assert len(hits) == 4292
    assert not {"R19-1082", "R19-1083"} & {hit.paper.id for hit in hits}
    assert verify(index).problems == ()


@pytest.mark.parametrize(
    ("collection", "papers", "rejected"), [("scifact", 5183, 0), ("csfcube", 4205, 0), ("cranfield", 1398, 2)]
)
def test_every_judged_document_of_a_collection_stays(
    shared_data: Path, tmp_path: Path, collection: str, papers: int, rejected: int
) -> None:
    folder = shared_data / "collections" / collection
    summary = build([folder / "corpus.jsonl"], tmp_path / collection, provider=FakeProvider())
    assert (summary.papers, summary.rejected, summary.merged) == (papers, rejected, 0)
    judged = {
        line.split("\t")[1]
        for file in (folder / "qrels").glob("*.tsv")
        for line in file.read_text(encoding="utf-8").splitlines()[1:]
    }
    with IndexReader(tmp_path / collection) as reader:
        ids = {paper.id for _, paper in reader.papers}
    documents = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    empty = {d["_id"] for d in documents if not d["title"].strip() and not d["text"].strip()}
    assert judged & {d["_id"] for d in documents} - ids == judged & empty
