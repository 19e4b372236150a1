"""The sentence nearest to the question and the words that both share."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from fakes import FakeEncoder
from made_papers import run_build, write_jsonl

from semsearch.encoding import EncoderRequest
from semsearch.highlight import Highlighter, passages_of
from semsearch.index.reader import IndexReader
from semsearch.paper import Paper
from semsearch.ranking import Highlight

BIRDS = Paper("birds", "Birds", "Cells divide often. Birds navigate by stars. Birds sing.")
SONGS = Paper("songs", "On songs", "Males sing tunes. Males sing tunes.")
TITLE = Paper("title", "  Birds navigate ")
NOTHING = Paper("nothing")
PAPERS = [BIRDS, SONGS, TITLE, NOTHING]
QUESTION = "birds navigate"


def text_of(paper: Paper, highlight: Highlight) -> str:
    return paper.title if highlight.field == "title" else paper.abstract


@pytest.fixture
def encoder() -> FakeEncoder:
    return FakeEncoder(EncoderRequest())


@pytest.fixture
def reader(tmp_path: Path):
    source = write_jsonl(tmp_path / "papers.jsonl", [
        {"id": paper.id, "title": paper.title, "abstract": paper.abstract} for paper in PAPERS if paper.text])
    run_build([source], tmp_path / "index")
    with IndexReader(tmp_path / "index") as reader:
        yield reader


def test_the_nearest_sentence_of_each_paper(encoder: FakeEncoder) -> None:
    vector = encoder.encode_queries([QUESTION])[0]
    birds, songs, title, nothing = Highlighter(lambda: encoder, None).highlight(PAPERS, vector, None)
    # The fake encoder counts words: two of the four words of the sentence are the two of the question.
    assert birds == Highlight("abstract", "Birds navigate by stars.", 20, 44, pytest.approx(2 / 8**0.5, abs=1e-6))
    assert BIRDS.abstract[birds.start:birds.end] == birds.text
    assert songs is not None and (songs.start, songs.text) == (0, "Males sing tunes.")  # the first of two equal ones
    assert title == Highlight("title", "Birds navigate", 2, 16, 1.0)
    assert nothing is None
    assert len(encoder.encoded) == 5  # all in one call, equal sentences once
    assert encoder.encoded == ["Cells divide often.", "Birds navigate by stars.", "Birds sing.", "Males sing tunes.",
                               "Birds navigate"]


def test_cosines_are_those_of_numpy(encoder: FakeEncoder) -> None:
    vector = encoder.encode_queries([QUESTION])[0]
    passages = passages_of(PAPERS)
    found = Highlighter(lambda: encoder, None).cosines(passages, vector)
    for passage, cosines in zip(passages, found, strict=True):
        texts = [passage.text[start:end] for start, end in passage.sentences]
        expected = encoder.encode_queries(texts) @ vector
        assert cosines.shape == (len(texts),) and np.allclose(cosines, expected, atol=1e-6)


def test_the_words_that_are_shared(encoder: FakeEncoder, reader: IndexReader) -> None:
    query = reader.lexical.parse("bird navigation")
    vector = encoder.encode_queries([QUESTION])[0]
    found = Highlighter(lambda: encoder, reader.lexical).highlight(PAPERS, vector, query)
    words = {paper.id: [text_of(paper, highlight)[start:end] for start, end in highlight.words]
             for paper, highlight in zip(PAPERS, found, strict=True) if highlight is not None}
    assert words == {"birds": ["Birds", "navigate", "Birds"], "songs": [], "title": ["Birds", "navigate"]}


def test_without_a_model_the_sentence_with_most_of_the_words(reader: IndexReader) -> None:
    def no_encoder() -> FakeEncoder:
        raise AssertionError("no model is needed")

    highlighter = Highlighter(no_encoder, reader.lexical)
    papers = [BIRDS, Paper("twice", "", "Bird, birds, birding. Birds navigate. Navigate birds."), *PAPERS[1:]]
    birds, twice, songs, title, nothing = highlighter.highlight(papers, None, reader.lexical.parse(QUESTION))
    assert birds is not None and (birds.text, birds.cosine) == ("Birds navigate by stars.", None)
    assert twice is not None and twice.text == "Birds navigate."  # different words count, not how often
    assert songs is not None and (songs.start, songs.words) == (0, ())  # no word: the first sentence
    assert title is not None and title.text == "Birds navigate"
    assert nothing is None


def test_sentences_that_share_little_are_not_encoded(encoder: FakeEncoder, reader: IndexReader) -> None:
    shares = ["Birds navigate by stars.", "A bird can navigate.", "They say that birds navigate well."]
    others = ["Xylem cells divide.", "Zoom lenses jam."]
    paper = Paper("x", "T", " ".join([others[0], shares[0], others[1], *shares[1:]]))
    vector = encoder.encode_queries([QUESTION])[0]
    [found] = Highlighter(lambda: encoder, reader.lexical).highlight([paper], vector, reader.lexical.parse(QUESTION))
    assert encoder.encoded == shares
    assert found is not None and found.text == shares[0]
    assert paper.abstract[found.start:found.end] == found.text


def test_of_a_paper_that_shares_nothing_all_sentences_are_encoded(encoder: FakeEncoder, reader: IndexReader) -> None:
    paper = Paper("x", "T", "Xylem cells divide. Zoom lenses jam. Quick foxes jump. Lazy dogs doze.")
    vector = encoder.encode_queries([QUESTION])[0]
    Highlighter(lambda: encoder, reader.lexical).highlight([paper], vector, reader.lexical.parse(QUESTION))
    assert len(encoder.encoded) == 4


def test_nothing_to_go_by_gives_the_first_sentence() -> None:
    [found] = Highlighter(None, None).highlight([BIRDS], None, None)
    assert found == Highlight("abstract", "Cells divide often.", 0, 19, None)
    assert Highlighter(None, None).highlight([], None, None) == []


def test_offsets_count_characters_whatever_the_script(encoder: FakeEncoder) -> None:
    paper = Paper("x", "T", "𝔘𝔫𝔦 is bold. 鸟会唱歌。Émigré  birds navigate\u2003home.")
    [found] = Highlighter(lambda: encoder, None).highlight([paper], encoder.encode_queries([QUESTION])[0], None)
    assert found is not None
    assert paper.abstract[found.start:found.end] == found.text == "Émigré  birds navigate\u2003home."
    assert re.fullmatch(r"\S.*\S", found.text)
