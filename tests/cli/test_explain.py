"""semsearch explain: one paper and one question, counted by hand."""

from __future__ import annotations

import pytest
from command_line import BIRDS, CELLS, COSINE_BIRDS, COSINE_SONGS, SONGS, CommandLine
from made_papers import write_jsonl

from semsearch.errors import EmptyQuery
from semsearch.search import Searcher


def test_parts_of_the_score(built: CommandLine) -> None:
    [found] = built.json("explain", "birds1", "birds", "--json")
    assert (found["id"], found["rank"], found["candidates"], found["weight"]) == ("birds1", 1, 3, 0.6)
    assert found["cosine"] == pytest.approx(COSINE_BIRDS, abs=1e-6)
    assert found["bm25"] == pytest.approx(found["best_bm25"])  # it is the best itself
    assert found["fused"] == pytest.approx(0.6 * COSINE_BIRDS + 0.4, abs=1e-5)
    songs = 0.6 * COSINE_SONGS + 0.4 * 3.2 / 4.4  # as counted in test_query.py
    assert found["score"] == pytest.approx(0.8 * found["fused"] + 0.2 * songs, abs=1e-4)
    [hit] = built.json("query", "birds", "--json", "-k", "1")
    assert (found["score"], found["rank"]) == (hit["score"], hit["rank"])
    assert found["obstacles"] == [] and found["missing"] == []
    [term] = found["terms"]
    assert (term["word"], term["in_question"], term["in_paper"], term["share"]) == ("birds", 1, 2, 1.0)
    [sentence] = found["sentences"]
    assert (sentence["text"], found["field"]) == ("Birds watch stars.", "abstract")
    assert sentence["cosine"] == pytest.approx(1 / 3**0.5, abs=1e-6)


def test_it_agrees_with_the_answer(built: CommandLine) -> None:
    with Searcher(built.home / "papers", provider=built.provider) as searcher:
        hits = searcher.query("birds sing of genes", 3).hits
    for hit in hits:
        [found] = built.json("explain", hit.paper.id, "birds sing of genes", "--json")
        assert (found["rank"], found["score"], found["cosine"]) == (hit.rank, hit.score, hit.signals["cosine"])
        assert sum(term["bm25"] for term in found["terms"]) == pytest.approx(found["bm25"] or 0, abs=1e-3)


def test_terms_that_are_there_and_words_that_are_not(built: CommandLine) -> None:
    [found] = built.json("explain", "songs2", "singing singing birds and galaxies", "--json")
    assert [(t["word"], t["in_question"], t["in_paper"]) for t in found["terms"]] == [
        ("singing", 2, 2), ("birds", 1, 1)]
    assert found["missing"] == ["galaxies"]
    assert sum(term["share"] for term in found["terms"]) == pytest.approx(1, abs=1e-3)


def test_what_keeps_a_paper_out(built: CommandLine) -> None:
    [found] = built.json("explain", "cells3", 'birds "sing tunes"', "--year", "2001..2002", "--json")
    assert (found["candidates"], found["rank"]) == (1, 2)  # only songs2 has the phrase
    assert [obstacle.split()[1] for obstacle in found["obstacles"]] == ["filter", "paper"]
    assert found["bm25"] is None and found["bm25_rank"] is None
    built.ok("delete", "songs2", "--yes")
    [found] = built.json("explain", "songs2", "birds", "--json")
    assert found["obstacles"] == ["The paper was deleted: no question finds it."]
    assert found["cosine"] == pytest.approx(COSINE_SONGS, abs=1e-6)
    assert (found["candidates"], found["encoded"], found["notes"]) == (2, 2, [])


def test_a_question_that_is_its_id(built: CommandLine) -> None:
    [found] = built.json("explain", "cells3", "cells3", "--json")
    assert found["notes"] == ["The question is the id of this paper: it stands first, at the best score of all."]


def test_text_for_people(built: CommandLine) -> None:
    text = built.ok("explain", "birds1", "birds", "and", "whales")
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[0] == "Birds navigate" and lines[1].split() == ["id", "birds1"]
    assert any(line.startswith("by itself") and "(rank 1 of 3) = 0.6 x " in line for line in lines)
    assert any(line.split()[:1] == ["birds"] and "100%" in line for line in lines)
    assert any(line.split() == ["not", "in", "it", "whales"] for line in lines)
    assert lines[-1].endswith("Birds watch stars.") and "█" in lines[-1] and "\x1b" not in text


def test_a_paper_without_a_vector_has_an_estimate(cli: CommandLine) -> None:
    write_jsonl(cli.folder / "papers.jsonl", [BIRDS, SONGS, CELLS])
    cli.ok("build", "papers.jsonl", "-i", "bare", "--encode", "later", "-q")
    [found] = cli.json("explain", "-i", "bare", "birds1", "birds", "--json")
    assert found["cosine"] is None and found["cosine_estimate"] == pytest.approx(0.1 + 0.5 * found["bm25"] / found[
        "best_bm25"], abs=1e-5)
    assert found["fused"] == pytest.approx(0.6 * found["cosine_estimate"] + 0.4 * found["bm25"] / found["best_bm25"],
                                           abs=1e-5)
    shown = cli.ok("explain", "-i", "bare", "birds1", "birds")
    assert f"none: the paper has no vector; {found['cosine_estimate']:.3f} is taken, by its words" in shown
    [named] = cli.json("explain", "-i", "bare", "cells3", "cells3", "--json")
    assert (named["rank"], named["cosine_estimate"]) == (1, None)
    [neither] = cli.json("explain", "-i", "bare", "cells3", "birds", "--json")
    assert (neither["score"], neither["rank"], neither["cosine_estimate"]) == (None, None, None)


def test_errors_are_told(built: CommandLine) -> None:
    assert "No paper has the id" in built.fails("explain", "nobody", "birds")
    assert "empty" in built.fails("explain", "birds1", " ")
    assert "QUESTION" in built.fails("explain", "birds1", status=2)
    with Searcher(built.home / "papers", provider=built.provider) as searcher, pytest.raises(EmptyQuery):
        searcher.query("")
