"""How good the answers are, with the real model; docs/quality.md tells how the figures there are got again."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch.evaluation import compare, evaluate, load_collection, make_run
from semsearch.evaluation.indexing import build_corpus, index_of_corpus
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Searcher

MEASURE = "nDCG@10"


@pytest.mark.real_model
@pytest.mark.slow
def test_questions_of_cranfield_are_answered_as_well_as_promised(shared_data: Path, tmp_path: Path) -> None:
    cranfield = load_collection(shared_data / "collections" / "cranfield")
    index = index_of_corpus(cranfield, tmp_path)
    build_corpus(cranfield, index)
    plain = SearchOptions(smoothing=0)
    with Searcher(index) as searcher:
        scores = {
            name: evaluate(make_run(searcher, cranfield, options, name=name).run, cranfield.qrels, [MEASURE])
            for name, options in {
                "shipped": SearchOptions(),
                "unsmoothed": plain,
                "dense": SearchOptions(mode=Mode.DENSE),
                "lexical": SearchOptions(mode=Mode.LEXICAL),
            }.items()
        }
    means = {name: found.means[MEASURE] for name, found in scores.items()}
    assert len(scores["shipped"].questions) == 225
    assert means["shipped"] >= 0.570, means
    assert means["dense"] == pytest.approx(0.506, abs=0.005)  # of the model, whatever the ranking
    assert 0.51 < means["lexical"] < 0.54, means
    for worse in ("unsmoothed", "dense", "lexical"):
        [difference] = compare(scores[worse], scores["shipped"])
        assert difference.mean > 0 and difference.p < 0.01, (worse, difference)
