"""The sample corpus that comes with the package: complete, well-formed, varied."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parent.parent / "semsearch" / "data" / "sample.jsonl"

FIELDS = {
    "language", "vision", "learning theory", "machine learning", "systems", "databases",
    "networks", "statistics", "biology", "physics", "medicine", "mathematics",
    "information retrieval", "security",
}
REQUIRED = {"id", "title", "abstract", "authors", "year", "venue", "categories"}
OPTIONAL = {"doi", "arxiv", "url"}
RUN = 8  # no two summaries may share this many words in a row

DOI = re.compile(r"10\.\d{4,9}/[^\s\"]+")
ARXIV = re.compile(r"(?:\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")
# A sentence ends at . ! or ? before white space or the end, so that "8,700" or "c-Myc" or
# "0.5" do not count; a closing quote or bracket may come in between.
SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s|$)")


def load():
    with SAMPLE.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


@pytest.fixture(scope="module")
def papers():
    return load()


def words(text):
    return re.findall(r"\w+", text.lower())


def test_every_line_is_one_object():
    raw = SAMPLE.read_bytes()
    assert raw.endswith(b"\n")
    lines = raw.decode("utf-8").splitlines()
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_size_and_unique_ids(papers):
    assert len(papers) >= 110
    ids = [paper["id"] for paper in papers]
    assert [key for key, n in Counter(ids).items() if n > 1] == []
    titles = [" ".join(words(paper["title"])) for paper in papers]
    assert [title for title, n in Counter(titles).items() if n > 1] == []


def test_required_fields_filled(papers):
    for paper in papers:
        key = paper.get("id")
        assert REQUIRED <= set(paper) <= REQUIRED | OPTIONAL, key
        for name in ("id", "title", "abstract", "venue"):
            assert isinstance(paper[name], str) and paper[name].strip() == paper[name] != "", key
        assert re.fullmatch(r"[a-z0-9]+", paper["id"]), key
        assert isinstance(paper["year"], int) and 1900 <= paper["year"] <= 2025, key
        assert str(paper["year"]) in paper["id"], key
        assert isinstance(paper["authors"], list) and paper["authors"], key
        for author in paper["authors"]:
            assert isinstance(author, str) and author.strip() == author != "", key
            assert "et al" not in author.lower(), key
        assert len(set(paper["authors"])) == len(paper["authors"]), key


def test_fields(papers):
    for paper in papers:
        assert len(paper["categories"]) == 1 and set(paper["categories"]) <= FIELDS, paper["id"]
    count = Counter(paper["categories"][0] for paper in papers)
    assert sum(n >= 8 for n in count.values()) >= 9, count


def test_three_to_six_sentences(papers):
    for paper in papers:
        text = paper["abstract"]
        assert SENTENCE_END.search(text[-2:]), paper["id"]
        assert 3 <= len(SENTENCE_END.findall(text)) <= 6, paper["id"]
        assert 40 <= len(words(text)) <= 160, paper["id"]


def test_identifiers(papers):
    for paper in papers:
        if "doi" in paper:
            assert DOI.fullmatch(paper["doi"]), paper["id"]
            assert paper["doi"][-1] not in ".,;", paper["id"]
        if "arxiv" in paper:
            assert ARXIV.fullmatch(paper["arxiv"]), paper["id"]
        if "url" in paper:
            assert re.fullmatch(r"https?://[^\s/]+\.[^\s/]+/\S*", paper["url"]), paper["id"]
    for name in OPTIONAL:
        values = [paper[name].lower() for paper in papers if name in paper]
        assert len(set(values)) == len(values), name


def test_no_shared_runs(papers):
    seen = {}
    shared = []
    for paper in papers:
        text = words(paper["abstract"])
        for run in {tuple(text[i:i + RUN]) for i in range(len(text) - RUN + 1)}:
            if run in seen:
                shared.append((seen[run], paper["id"], " ".join(run)))
            seen[run] = paper["id"]
    assert shared == []


@pytest.mark.parametrize("text, n", [
    ("One. Two? Three!", 3),
    ("It grew by 0.5 to 8,700 lines. The end.", 2),
    ("He said \"yes.\" She left.", 2),
])
def test_counting_sentences(text, n):
    assert len(SENTENCE_END.findall(text)) == n
