"""What each idea for ranking is worth: an ablation on test collections, with what it costs.

    OPENBLAS_NUM_THREADS=1 python benchmarks/ranking_ideas.py ../shared/data/collections/scifact [MORE FOLDERS]

Takes folders laid out as BEIR does. An index of each corpus is kept in --home as eval-NAME, the one that `semsearch
eval` makes and uses. Questions in words are put to all papers; where a question is a paper of the corpus, related
papers are asked for, ranked within those that were judged. Where a collection has judgments `train`, they are measured
too, once as questions, once as papers that ask for those that answer the same question. The baseline is the plain
hybrid: the formula that ships, without smoothing, longer stop list and titles said once more. p is that of the paired
randomisation test against it, not corrected for the number of ideas.

`ms more` is the median of the processor time that a question takes more than by the plain hybrid, `times` how many
times as much it takes: all ideas run in turn for each question, whose vector is there before. (With one thread for
matrix products: more of them wait for each other on a busy machine, and count while they do.) Sentences and titles are
encoded once and kept in --parts; that takes minutes for thousands of papers. In the end the same questions are put to
`Searcher`: what is called "as shipped" has to be what it answers; the result says for how many questions it is not.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from part_vectors import PartVectors, part_vectors, sentences_of, title_of
from ranked_questions import PLAIN, SHIPPED, STOP, TITLE, Ground, Question, QuestionSet, papers_of_one_question
from ranking_formulas import (
    DEPTH,
    Rank,
    feedback,
    hybrid,
    meaning_alone,
    min_max,
    plain,
    reciprocal_ranks,
    relevance_model,
    sentences_of_all,
    sentences_of_head,
    shipped_candidates,
    smoothing,
    smoothing_by,
    title_field,
    title_vectors,
    weight_by_lead,
    words_alone,
)
from record import append_result

from semsearch.evaluation import (
    Pool,
    RankedList,
    Run,
    Scores,
    Task,
    compare,
    evaluate,
    load_collection,
    make_run,
    mean_intervals,
)
from semsearch.evaluation.indexing import build_corpus, index_of_corpus
from semsearch.evaluation.task import asks_about_papers
from semsearch.search import Searcher

BASELINE = "plain hybrid"
AS_SHIPPED = "as shipped"
MEASURE = "nDCG@10"


@dataclass(frozen=True, slots=True)
class Idea:
    """An idea; `bytes_per_paper` is what it stores beside an index; `related`: its question has to be a paper."""

    name: str
    rank: Rank
    bytes_per_paper: float = 0
    related: bool = False


def ideas(ground: Ground, titles: PartVectors, sentences: PartVectors) -> Iterator[Idea]:
    """Yield the baseline, then everything that is compared with it."""
    yield Idea(BASELINE, plain())
    yield Idea("BM25 alone", words_alone(PLAIN))
    yield Idea("BM25 alone, as shipped", words_alone(SHIPPED))
    yield Idea("dense alone", meaning_alone)
    yield Idea("RRF, k 60", reciprocal_ranks)
    yield Idea("min-max average", min_max)
    yield Idea("weight .5", plain(0.5))
    yield Idea("weight .7", plain(0.7))
    yield Idea("weight by lead of best BM25", weight_by_lead)
    yield Idea("longer stop list", plain(form=STOP))
    yield Idea("title once more", plain(form=TITLE), related=True)
    for head, share in ((50, 0.1), (50, 0.2), (50, 0.3), (100, 0.1), (100, 0.2), (100, 0.3)):
        yield Idea(f"smoothing, {head} best, share {share:g}", smoothing(share, head))
    for neighbours in (3, 10):
        yield Idea(f"smoothing, {neighbours} neighbours", smoothing_by(neighbours))
    yield Idea("stop list, smoothing", smoothing(form=STOP))
    yield Idea(AS_SHIPPED, smoothing(form=SHIPPED))
    for share in (0.3, 0.6):
        yield Idea(f"feedback of 3 hits, share {share:g}", feedback(share))
    yield Idea("RM3", relevance_model)
    yield Idea("title as a field of BM25, x .2", title_field(ground, 0.2))
    quarter = title_vectors(titles, lambda whole, title: 0.75 * whole + 0.25 * title)
    yield Idea("title vectors, a quarter", quarter, titles.bytes_per_paper)
    yield Idea("title vectors, maximum", title_vectors(titles, np.maximum), titles.bytes_per_paper)
    for head in (10, 20, 50):
        by_sentences = sentences_of_head(sentences, head, lambda g, q: hybrid(g, q, depth=50))
        yield Idea(f"sentences of the {head} best", by_sentences, sentences.bytes_per_paper)
    yield Idea("sentences of all", sentences_of_all(sentences), sentences.bytes_per_paper)
    yield Idea("as shipped + weight .7", smoothing(form=SHIPPED, weight=0.7))
    yield Idea("as shipped + feedback, share .3", feedback(0.3, SHIPPED, 0.2))
    for head in (10, 50):
        by_sentences = sentences_of_head(sentences, head, shipped_candidates)
        yield Idea(f"as shipped + sentences of the {head} best", by_sentences, sentences.bytes_per_paper)
    yield Idea("as shipped + sentences of all", sentences_of_all(sentences, 0.2, SHIPPED), sentences.bytes_per_paper)


def question_sets(folder: Path, splits: Sequence[str], searcher: Searcher) -> Iterator[QuestionSet]:
    """Yield the test questions of a collection and what can be made of its training judgments."""
    collection = load_collection(folder)
    if "test" in splits and asks_about_papers(collection, searcher.reader):
        yield QuestionSet(collection.name, collection, Task.RELATED, Pool.JUDGED)
    elif "test" in splits:
        yield QuestionSet(collection.name, collection, Task.QUERY, Pool.ALL)
    if "train" in splits and (folder / "qrels" / "train.tsv").is_file():
        train = load_collection(folder, split="train")
        yield QuestionSet(f"{collection.name} train", train, Task.QUERY, Pool.ALL)
        papers = papers_of_one_question(train, f"{collection.name} train papers")
        if papers.topics:
            yield QuestionSet(papers.name, papers, Task.RELATED, Pool.ALL)


def measure(ground: Ground, asked: QuestionSet, questions: Sequence[Question], tried: Sequence[Idea], seed: int
            ) -> tuple[dict[str, dict[str, Any]], dict[str, Run]]:
    """Return the figures of each idea, by its name, and its answers."""
    lists: dict[str, dict[str, RankedList]] = {idea.name: {} for idea in tried}
    seconds: dict[str, list[float]] = {idea.name: [] for idea in tried}
    for question in questions:
        spelt = ground.names.judged_name(asked.collection.qrels[question.topic.id])
        tried[0].rank(ground, question)  # whoever comes first would fill the caches for all
        for idea in tried:
            begun = time.process_time()
            rows = idea.rank(ground, question)[:DEPTH]
            seconds[idea.name].append(time.process_time() - begun)
            ids = tuple(spelt.get(ground.ids[row], ground.ids[row]) for row in rows)
            lists[idea.name][question.topic.id] = RankedList(ids, tuple(float(-n) for n in range(len(ids))))
    runs = {name: Run(name, found) for name, found in lists.items()}
    scores = {name: evaluate(run, asked.collection.qrels, [MEASURE]) for name, run in runs.items()}
    base = np.array(seconds[BASELINE])
    figures = {}
    for idea in tried:
        taken = np.array(seconds[idea.name])
        figures[idea.name] = {**_compared(scores[BASELINE], scores[idea.name], seed),
                              "ms_more": round(float(np.median(taken - base)) * 1000, 2),
                              "times": round(float(np.median(taken / base)), 2),
                              "bytes_per_paper": round(idea.bytes_per_paper)}
    return figures, runs


def _compared(baseline: Scores, scores: Scores, seed: int) -> dict[str, Any]:
    [difference] = compare(baseline, scores, seed=seed)
    interval = mean_intervals(scores, seed=seed)[MEASURE]
    return {"ndcg_at_10": round(scores.means[MEASURE], 4), "difference": round(difference.mean, 4),
            "interval": [round(interval.low, 4), round(interval.high, 4)], "p": round(difference.p, 4),
            "better": difference.better, "worse": difference.worse}


def differing(searcher: Searcher, asked: QuestionSet, run: Run) -> int:
    """Return to how many questions the searcher gives other first hits than a run."""
    answered = make_run(searcher, asked.collection, task=asked.task, pool=asked.pool).run
    return sum(run.lists[topic].ids != ranked.ids[:DEPTH] for topic, ranked in answered.lists.items())


def encoding_ms(searcher: Searcher, ground: Ground) -> float:
    """Return the milliseconds of processor time that a sentence takes to encode, of a hundred papers together."""
    papers = ground.reader.papers.get(np.linspace(0, ground.papers - 1, 100).astype(int).tolist())
    sentences = [sentence for paper in papers for sentence in sentences_of(paper)]
    begun = time.process_time()
    searcher.encoder().encode_documents(sentences)
    return (time.process_time() - begun) / max(len(sentences), 1) * 1000


def measured(folder: Path, home: Path, parts: Path, splits: Sequence[str], wanted: str, seed: int
             ) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """Yield the name and the figures of each set of questions of a collection, after a line of each was kept."""
    collection = load_collection(folder)
    index = index_of_corpus(collection, home)
    build_corpus(collection, index)
    with Searcher(index) as searcher:
        ground = Ground(searcher.reader, searcher.encoder)
        stem = f"{collection.name}-{searcher.reader.manifest.encoder.fingerprint[:12]}"

        def made(kind: str, of: Callable[[Any], Sequence[str]]) -> PartVectors:
            return part_vectors(searcher.reader, searcher.encoder(), of, parts / f"{stem}-{kind}")

        titles, sentences = made("titles", title_of), made("sentences", sentences_of)
        per_sentence = encoding_ms(searcher, ground)
        tried = [idea for idea in ideas(ground, titles, sentences)
                 if idea.name in (BASELINE, AS_SHIPPED) or re.search(wanted, idea.name)]
        for asked in question_sets(folder, splits, searcher):
            questions = ground.questions(asked)
            fitting = [idea for idea in tried if asked.task is Task.RELATED or not idea.related]
            figures, runs = measure(ground, asked, questions, fitting, seed)
            other = differing(searcher, asked, runs[AS_SHIPPED])
            append_result("ranking_ideas", seed, {
                "questions_of": asked.name, "task": str(asked.task), "pool": str(asked.pool), "papers": ground.papers,
                "questions": len(questions), "model": searcher.reader.manifest.encoder.model,
                "sentences_per_paper": round(len(sentences.vectors) / ground.papers, 2),
                "ms_to_encode_a_sentence": round(per_sentence, 2),
                "as_shipped_differs_from_searcher": other, "ideas": figures})
            yield asked.name, figures


def table(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return the figures as a table in Markdown: nDCG@10 and p by question set, then the costs, means over the sets."""
    names = list(dict.fromkeys(name for figures in found.values() for name in figures))
    lines = [f"| idea | {' | '.join(found)} | ms more | times | bytes |", "|---" * (len(found) + 4) + "|"]
    for name in names:
        there = [figures[name] for figures in found.values() if name in figures]
        cells = [f"{figures[name]['ndcg_at_10']:.4f} ({figures[name]['p']:.4f})" if name in figures else ""
                 for figures in found.values()]
        costs = [f"{np.mean([one[key] for one in there]):.{digits}f}"
                 for key, digits in (("ms_more", 1), ("times", 1), ("bytes_per_paper", 0))]
        lines.append(f"| {name} | {' | '.join([*cells, *costs])} |")
    return "\n".join(lines)


def main() -> None:
    """Measure all collections, append a line for each set of questions and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", type=Path, nargs="+")
    parser.add_argument("--home", type=Path, default=Path("indexes"))
    parser.add_argument("--split", choices=["test", "train"], action="append", help="[both]")
    parser.add_argument("--ideas", default="", help="a regular expression: only ideas so named  [all]")
    parser.add_argument("--parts", type=Path, help="where vectors of sentences and titles are kept  [HOME/.parts]")
    parser.add_argument("--seed", type=int, default=13)
    arguments = parser.parse_args()
    parts = arguments.parts or arguments.home / ".parts"
    found: dict[str, dict[str, dict[str, Any]]] = {}
    splits = arguments.split or ["test", "train"]
    for folder in arguments.collections:
        for name, figures in measured(folder, arguments.home, parts, splits, arguments.ideas, arguments.seed):
            found[name] = figures
    print(table(found))


if __name__ == "__main__":
    main()
