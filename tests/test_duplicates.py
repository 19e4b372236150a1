"""Duplicates: pairs against cosines from numpy, titles and groups counted by hand."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder
from made_papers import record, records, run_build, text_of, write_jsonl

from semsearch import duplicates, neighbours
from semsearch.duplicates import find_duplicates
from semsearch.encoding import EncoderRequest
from semsearch.errors import UsageError
from semsearch.index.reader import IndexReader
from semsearch.maintenance import delete


def indexed(folder: Path, items, **options) -> Path:
    run_build([write_jsonl(folder / "papers.jsonl", items)], folder / "index", **options)
    return folder / "index"


def cosines_of(items) -> dict[tuple[str, str], float]:
    vectors = FakeEncoder(EncoderRequest()).encode_documents([text_of(item) for item in items]).vectors
    products = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    return {(items[a]["id"], items[b]["id"]): products[a, b] for a, b in combinations(range(len(items)), 2)}


def found_in(index: Path, *arguments, **options):
    with IndexReader(index) as reader:
        return find_duplicates(reader, *arguments, **options)


def ids_of(found) -> list[tuple[str, ...]]:
    return [tuple(paper.id for paper in pair.papers) for pair in found.pairs]


@pytest.mark.parametrize("threshold", [0.4, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("block", [7, 4096])
def test_all_pairs_that_are_near_enough_are_found(tmp_path, monkeypatch, threshold, block):
    monkeypatch.setattr(duplicates, "_BLOCK_ROWS", block)
    items = [*records(40), record(3, id="again", title="Study 3 once more"), record(5, id="copy")]
    items[-1]["title"] = items[5]["title"].upper() + "!"  # another text for a reader, the same words for the encoder
    found = found_in(indexed(tmp_path, items), threshold)
    expected = {pair: cosine for pair, cosine in cosines_of(items).items() if round(cosine, 6) >= threshold}
    assert set(ids_of(found)) == set(expected) and len(found.pairs) == len(expected) > 0
    for pair, ids in zip(found.pairs, ids_of(found), strict=True):
        assert pair.cosine == pytest.approx(expected[ids], abs=1e-6)
        assert pair.same_title == (ids == ("p5", "copy"))


def test_nothing_is_like_anything(tmp_path):
    assert found_in(indexed(tmp_path, records(20))).pairs == ()
    assert found_in(indexed(tmp_path / "one", records(1))).pairs == ()


TITLED = [
    {"id": "a", "title": "Étude of the stars", "abstract": "alpha beta gamma", "year": 2001, "doi": "10.1000/a"},
    {"id": "b", "title": "Etude of the STARS.", "abstract": "delta epsilon zeta", "year": 2002},
    {"id": "c", "title": "Editorial", "abstract": "one two three"},
    {"id": "d", "title": "Editorial", "abstract": "four five six"},
    {"id": "e", "title": "Book review", "abstract": "seven eight nine ten", "doi": "10.1000/e"},
    {"id": "f", "title": "Book review!", "abstract": "seven eight nine ten eleven", "doi": "10.1000/f"},
]


def test_titles_count_without_case_accents_and_punctuation_and_short_ones_beside_a_cosine(tmp_path):
    found = found_in(indexed(tmp_path, TITLED), 0.9)
    assert ids_of(found) == [("a", "b"), ("e", "f")]
    assert [pair.same_title for pair in found.pairs] == [True, True]
    assert [pair.group for pair in found.pairs] == [1, 2]
    cosines = cosines_of(TITLED)
    assert [pair.cosine for pair in found.pairs] == pytest.approx([cosines["a", "b"], cosines["e", "f"]], abs=1e-6)
    assert cosines["c", "d"] < 0.9 and cosines["a", "b"] < 0.9 < cosines["e", "f"]
    assert found.pairs[0].as_dict() == {
        "group": 1, "cosine": found.pairs[0].cosine, "same_title": True, "ids": ["a", "b"],
        "titles": ["Étude of the stars", "Etude of the STARS."], "years": [2001, 2002], "dois": ["10.1000/a", ""]}


def test_a_title_that_many_papers_have_counts_only_beside_a_cosine(tmp_path, monkeypatch):
    items = [{"id": f"p{n}", "title": "Front matter of this volume", "abstract": f"word{n} " * 9} for n in range(5)]
    index = indexed(tmp_path, items)
    assert len(found_in(index, 1.0).pairs) == 10
    monkeypatch.setattr(duplicates, "_COMMON_TITLE", 4)
    assert found_in(index, 1.0).pairs == ()


def test_a_title_that_stands_in_is_none(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("We study birds at night here. Alpha beta.\n\nWe study birds at night here. Gamma delta.\n")
    run_build([path], tmp_path / "index")
    with IndexReader(tmp_path / "index") as reader:
        titles = [paper.title for _, paper in reader.papers]
        assert len(titles) == 2 and len(set(titles)) == 1
    assert found_in(tmp_path / "index", 0.99).pairs == ()


def test_groups_are_what_pairs_connect(tmp_path):
    chain = [{"id": name, "title": title, "abstract": abstract} for name, title, abstract in [
        ("x", "Whales sing at sea", "a b c"), ("p", "Plain other paper entirely", "d e f"),
        ("y", "Whales sing at sea", "g h i j k l"), ("q", "Plain other paper entirely", "m n o"),
        ("z", "Whales never sing sea", "g h i j k l")]]
    found = found_in(indexed(tmp_path, chain), 0.85)
    assert [(pair.group, *(paper.id for paper in pair.papers)) for pair in found.pairs] == [
        (1, "x", "y"), (1, "y", "z"), (2, "p", "q")]
    assert [pair.same_title for pair in found.pairs] == [True, False, True]


def test_deleted_papers_and_those_outside_the_mask_are_left_out(tmp_path):
    items = [{"id": f"p{n}", "title": "Whales sing at sea", "abstract": "a b c " + f"d{n} "} for n in range(4)]
    index = indexed(tmp_path, items)
    delete(index, ["p1"])
    assert ids_of(found_in(index, 0.5)) == [("p0", "p2"), ("p0", "p3"), ("p2", "p3")]
    assert ids_of(found_in(index, 0.5, np.array([True, True, False, True]))) == [("p0", "p3")]


def test_papers_without_a_vector_are_compared_by_their_titles(tmp_path):
    index = indexed(tmp_path, TITLED[2:])
    run_build([write_jsonl(tmp_path / "more.jsonl", TITLED[:2])], index, encode="later")
    with IndexReader(index) as reader:
        found = find_duplicates(reader, 0.9)
    assert [(pair.cosine is None, pair.same_title) for pair in found.pairs] == [(False, True), (True, True)]
    assert found.notes == ("2 papers have no vector yet and were compared by their titles alone.",)


def test_a_short_title_alone_makes_no_pair(tmp_path):
    items = [{"id": name, "title": "Editorial", "year": year, "authors": [author]}
             for name, year, author in (("a", 2001, "Ada Byron"), ("b", 2002, "Li Wei"))]
    assert found_in(indexed(tmp_path, items), 0.9).pairs == ()


def test_a_large_index_with_a_structure_is_searched_through_it(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_UP_TO", 10)
    items = records(60) + [record(n, id=f"copy{n}", title=f"Study {n} again") for n in (3, 5)]
    index = indexed(tmp_path, items, factory="HNSW16")
    found = found_in(index, 0.85)
    expected = {pair for pair, cosine in cosines_of(items).items() if round(cosine, 6) >= 0.85}
    assert set(ids_of(found)) == expected and len(found.pairs) == len(expected) >= 2
    assert "HNSW16" in found.notes[0]


def test_what_makes_no_sense_is_said(tmp_path, monkeypatch):
    index = indexed(tmp_path, records(20))
    for threshold in (0, -0.5, 1.01, float("nan")):
        with pytest.raises(UsageError, match="no threshold"):
            found_in(index, threshold)
    monkeypatch.setattr(duplicates, "MOST_PAIRS", 10)
    with pytest.raises(UsageError, match="More than 10 pairs"):
        found_in(index, 0.01)
