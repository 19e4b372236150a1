"""How to be near to several papers: their mean, the nearest of them, or a soft maximum; and how to be far from some.

    python benchmarks/several_likes.py ../shared/data/collections/cranfield --index cranfield

Takes a judged collection and an index of it. Papers that answer one question are taken to be of one topic. For each
trial some topics are drawn, some papers of each are liked, and the others of these topics are to be found among the
first ten. Dislikes: the first three of fifteen hits that are of no liked topic are disliked, and the list is made
again. The baseline is the mean of the liked vectors; for dislikes it is to take no notice of them.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from record import append_result

from semsearch.evaluation import load_collection
from semsearch.index.reader import IndexReader

TEMPERATURES = (0.03, 0.05, 0.08, 0.1, 0.15, 0.2)
UNLIKE_WEIGHTS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.7)
TOPICS_AND_LIKES = ((1, 2), (1, 3), (1, 5), (3, 1), (3, 3), (5, 3), (10, 3))
LEAST_PAPERS = 6

Vectors = NDArray[np.float32]


def soft_maximum(cosines: Vectors, temperature: float) -> Vectors:
    """Return T log(mean(exp(cosine / T))) of each row."""
    return np.log(np.exp(cosines / temperature).mean(axis=1)) * temperature


def to_mean(vectors: Vectors, liked: Vectors) -> Vectors:
    """Return the cosines to the mean of the liked."""
    mean = liked.mean(axis=0)
    return vectors @ (mean / np.linalg.norm(mean))


WAYS: Mapping[str, Callable[[Vectors, Vectors], Vectors]] = {
    "mean": to_mean,
    "maximum": lambda vectors, liked: (vectors @ liked.T).max(axis=1),
    **{f"soft maximum {t:g}": lambda vectors, liked, t=t: soft_maximum(vectors @ liked.T, t) for t in TEMPERATURES},
}


def first(scores: Vectors, count: int, without: list[int]) -> list[int]:
    """Return the best rows, leaving some out."""
    scores = scores.copy()
    scores[without] = -np.inf
    return np.argsort(-scores, kind="stable")[:count].tolist()


def compare_likes(vectors: Vectors, topics: list[list[int]], trials: int, seed: int) -> dict[str, dict[str, float]]:
    """Return the mean precision at ten of each way, by numbers of topics and likes."""
    random = np.random.default_rng(seed)
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for count, likes in TOPICS_AND_LIKES:
        for _ in range(trials):
            liked, wanted = [], set()
            for topic in random.choice(len(topics), count, replace=False):
                order = random.permutation(topics[topic])
                liked += order[:likes].tolist()
                wanted.update(order[likes:].tolist())
            wanted -= set(liked)
            for way, score in WAYS.items():
                hits = first(score(vectors, vectors[liked]), 10, liked)
                found[f"{count} topics, {likes} liked of each"][way].append(np.mean([hit in wanted for hit in hits]))
    return {case: {way: round(float(np.mean(values)), 4) for way, values in ways.items()}
            for case, ways in found.items()}


def compare_dislikes(vectors: Vectors, topics: list[list[int]], trials: int, seed: int, temperature: float
                     ) -> dict[str, float]:
    """Return the mean precision at ten by how much the soft maximum over disliked papers takes away."""
    random = np.random.default_rng(seed)
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(trials):
        order = random.permutation(topics[random.integers(len(topics))])
        liked, wanted = order[:2].tolist(), set(order[2:].tolist())
        near = soft_maximum(vectors @ vectors[liked].T, temperature)
        disliked = [hit for hit in first(near, 15, liked) if hit not in wanted][:3]
        if not disliked:
            continue
        far = soft_maximum(vectors @ vectors[disliked].T, temperature)
        for weight in UNLIKE_WEIGHTS:
            hits = first(near - weight * far, 10, [*liked, *disliked])
            found[f"{weight:g}"].append(np.mean([hit in wanted for hit in hits]))
    return {weight: round(float(np.mean(values)), 4) for weight, values in found.items()}


def main() -> None:
    """Run the comparison and append its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--home", type=Path, default=Path("indexes"))
    parser.add_argument("--index", required=True)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    collection = load_collection(arguments.collection)
    with IndexReader(arguments.home / arguments.index) as reader:
        place = {paper_id: row for row, paper_id in enumerate(reader.papers.ids())}
        vectors = np.concatenate([block for _, block in reader.vectors.blocks()])
        if len(vectors) != len(place):
            raise SystemExit("The index has papers without a vector: run semsearch build first.")
    judged = [[place[doc] for doc, grade in grades.items() if grade > 0 and doc in place]
              for grades in collection.qrels.values()]
    topics = [rows for rows in judged if len(rows) >= LEAST_PAPERS]
    append_result("several_likes", arguments.seed, {
        "collection": arguments.collection.name, "topics": len(topics), "trials": arguments.trials,
        "precision_at_10_of_likes": compare_likes(vectors, topics, arguments.trials, arguments.seed),
        "precision_at_10_by_weight_of_dislikes": compare_dislikes(vectors, topics, arguments.trials, arguments.seed,
                                                                  0.08)})


if __name__ == "__main__":
    main()
