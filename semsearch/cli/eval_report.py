"""What `semsearch eval` found: a table for people, one object for programs, files for other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from semsearch.cli.build_report import count_of
from semsearch.evaluation import (
    AskedRun,
    Collection,
    Difference,
    Interval,
    Run,
    Scores,
    Task,
    compare,
    evaluate,
    mean_intervals,
    write_run,
)
from semsearch.evaluation.recall import is_approximate, structure_recall
from semsearch.evaluation.runs import in_trec
from semsearch.evaluation.significance import RESAMPLES
from semsearch.on_demand import LEAST_BUDGET, MOST_BUDGET
from semsearch.writers.display import pad, printable

if TYPE_CHECKING:
    from semsearch.index.manifest import Manifest
    from semsearch.ranking import SearchOptions
    from semsearch.search import Searcher

_NOTES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Measured:
    """A system that is measured: a run, and where it was made here, of which index and how.

    `recall`: by k, of the approximate structure against exact search, None where search is exact.
    """

    run: Run
    folder: Path | None = None
    options: SearchOptions | None = None
    asked: AskedRun | None = None
    manifest: Manifest | None = None
    recall: Mapping[int, float] | None = None

    def findings(self) -> Iterator[str]:
        """Yield what a user should know about how the run came about, a line each."""
        asked = self.asked
        if asked is None:
            return
        index = "" if self.folder is None else f"{self.folder.name}: "
        if asked.missing:
            yield (f"{index}{count_of(asked.missing, 'judgment')} of papers that are not in the index "
                   f"({asked.missing_relevant:,} relevant); these cannot be found, and count.")
        if asked.renamed:
            yield f"{index}{count_of(asked.renamed, 'judged paper')} merged into a paper of another id."
        if asked.unasked:
            yield f"{index}{count_of(asked.unasked, 'question')} not to be asked of this index; they score 0."
        if self.manifest and asked.encoded[0] < self.manifest.papers:
            before, after = asked.encoded
            yield (f"{index}{before:,} of {self.manifest.papers:,} papers were encoded before the first question and "
                   f"{after:,} after the last; each had {self._budget} encoded.")
        if self.recall and self.manifest:
            shown = ", ".join(f"recall@{k} {value:.3f}" for k, value in self.recall.items())
            yield f"{index}search by {self.manifest.factory} against exact search: {shown}."
        most = sorted(asked.notes.items(), key=lambda note: -note[1])
        for note, times in most[:_NOTES_SHOWN]:
            yield f"{self.run.name}: {note}" + (f" ({times:,} such questions)" if times > 1 else "")

    @property
    def _budget(self) -> str:
        """How many papers without a vector each question had encoded at most."""
        budget = None if self.options is None else self.options.encode_budget
        return f"about a second's worth of its best, {LEAST_BUDGET} to {MOST_BUDGET}," if budget is None else (
            f"at most {budget:,}")

    def as_dict(self) -> dict[str, Any]:
        """Return how the run came about as it is written to JSON."""
        document: dict[str, Any] = {"name": self.run.name}
        folder, options, manifest, asked = self.folder, self.options, self.manifest, self.asked
        if folder and options and manifest and asked:
            document |= {
                "index": folder.name, "model": manifest.encoder.model, "papers": manifest.papers,
                "factory": manifest.factory, "mode": str(options.mode), "weight": options.weight,
                "diversity": options.diversity, "rerank": options.rerank, "missing": asked.missing,
                "missing_relevant": asked.missing_relevant, "renamed": asked.renamed,
                "unasked": asked.unasked, "encoded": asked.encoded[0], "encoded_after": asked.encoded[1],
                "encode_budget": options.encode_budget, "seconds": round(asked.seconds, 3),
                "recall": None if self.recall is None else {str(k): v for k, v in self.recall.items()}}
        return document


@dataclass(frozen=True, slots=True)
class Report:
    """All systems, measured; the first is the baseline of the others."""

    collection: Collection
    systems: Sequence[Measured]
    scores: Sequence[Scores]
    intervals: Sequence[Mapping[str, Interval]]
    differences: Sequence[Sequence[Difference]]
    seed: int
    task: str
    pool: str
    depth: int

    @classmethod
    def of(cls, collection: Collection, systems: Sequence[Measured], measures: Sequence[str], seed: int, task: str,
           pool: str, depth: int) -> Report:
        """Measure the systems."""
        scores = [evaluate(system.run, collection.qrels, measures) for system in systems]
        intervals = [mean_intervals(own, seed=seed) for own in scores]
        differences = [compare(scores[0], own, seed=seed) if n else () for n, own in enumerate(scores)]
        return cls(collection, systems, scores, intervals, differences, seed, task, pool, depth)

    def write(self, *, as_json: bool) -> None:
        """Write the report to standard output."""
        from semsearch.cli.output import open_output, write_json

        if as_json:
            write_json(self.as_dict())
            return
        with open_output(None) as stream:
            for line in self.lines():
                stream.write(printable(line).rstrip() + "\n")

    def as_dict(self) -> dict[str, object]:
        """Return the report as it is written to JSON."""
        first = self.scores[0]
        return {
            "collection": self.collection.name, "split": self.collection.split, "task": self.task, "pool": self.pool,
            "depth": self.depth, "questions": len(first.questions), "judgments": self.collection.judgments,
            "without_relevant": first.without_relevant, "without_text": self.collection.without_text,
            "repeated": self.collection.repeated, "resamples": RESAMPLES, "seed": self.seed,
            "systems": [self._system_dict(n) for n in range(len(self.systems))]}

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        questions = len(self.scores[0].questions)
        split = f", {self.collection.split}" if self.collection.split else ""
        judgments = count_of(self.collection.judgments, "judgment")
        yield f"{self.collection.name}{split}: {count_of(questions, 'question')}, {judgments}"
        yield ""
        yield from _aligned(list(self._rows()))
        yield ""
        yield f"Means over the questions; 95 % intervals by bootstrap ({RESAMPLES:,} resamples, seed {self.seed})."
        if len(self.systems) > 1:
            yield f"Differences from {self.systems[0].run.name}; p of the two-sided paired randomisation test."
        for own in self.scores:
            if own.without_hits:
                yield f"{own.run}: {count_of(own.without_hits, 'question')} without any answer, which score 0."

    def _rows(self) -> Iterator[list[str]]:
        measures = self.scores[0].measures
        yield ["", *measures]
        for own, intervals, differences in zip(self.scores, self.intervals, self.differences, strict=True):
            means = own.means
            yield [own.run, *(f"{means[name]:.4f}" for name in measures)]
            yield ["", *(f"{intervals[name].low:.3f} to {intervals[name].high:.3f}" for name in measures)]
            if differences:
                yield ["  difference", *(f"{d.mean:+.4f}, p {d.p:.4f}" for d in differences)]
                yield ["", *(f"{d.interval.low:+.3f} to {d.interval.high:+.3f}" for d in differences)]

    def _system_dict(self, n: int) -> dict[str, Any]:
        own, means = self.scores[n], self.scores[n].means
        return self.systems[n].as_dict() | {
            "without_hits": own.without_hits,
            "measures": {name: {"mean": means[name], "low": interval.low, "high": interval.high}
                         for name, interval in self.intervals[n].items()},
            "differences": {d.measure: {"baseline": self.scores[0].run, "mean": d.mean, "low": d.interval.low,
                                        "high": d.interval.high, "p": d.p, "better": d.better, "worse": d.worse,
                                        "equal": d.equal} for d in self.differences[n]},
            "per_query": own.by_question()}


def findings(collection: Collection) -> Iterator[str]:
    """Yield what a user should know about a collection, a line each."""
    if collection.without_text:
        yield (f"{count_of(collection.without_text, 'judged question')} not in the file of questions, left out with "
               "their judgments.")
    if without := len(collection.qrels) - len(collection.with_relevant):
        yield f"{count_of(without, 'question')} without a relevant paper, left out."
    if collection.repeated:
        yield f"{count_of(collection.repeated, 'judgment')} there twice, counted once."
    negative = sum(grade < 0 for grades in collection.qrels.values() for grade in grades.values())
    if negative:
        yield f"{count_of(negative, 'judgment')} with a grade below 0, which counts as 0: not relevant."


def recall_of(searcher: Searcher, collection: Collection, task: Task) -> Mapping[int, float] | None:
    """Return by k how much of exact search the index finds for the questions, None where its search is exact."""
    from semsearch.evaluation.naming import PaperNames
    from semsearch.evaluation.task import paper_of

    reader = searcher.reader
    if not is_approximate(reader):
        return None
    if task is Task.RELATED:
        import numpy as np

        names = PaperNames(reader)
        papers = {paper for topic in collection.topics if (paper := paper_of(topic, names)) is not None}
        positions = reader.vectors.positions_of(np.asarray(reader.papers.rows_of_ids(papers), np.int64))
        return structure_recall(reader, reader.vectors.vectors_at(positions[positions >= 0]))
    texts = [topic.text for topic in collection.topics if topic.text]
    return structure_recall(reader, searcher.encoder().encode_queries(texts))


def note_run(report: Report, path: Path) -> Iterator[Path]:
    """Write the answers of each index that was asked, and yield the files: one for each, named for it."""
    from semsearch.cli.output import open_output

    made = [system for system in report.systems if system.asked is not None]
    for system in made:
        name = in_trec(system.run.name).replace("/", "_")
        file = path if len(made) == 1 else path.with_name(f"{path.stem}-{name}{path.suffix}")
        with open_output(None if str(file) == "-" else file) as stream:
            write_run(system.run, stream)
        yield file


def write_per_query(report: Report, path: Path) -> None:
    """Write a TSV with a line for each system and question."""
    from semsearch.cli.output import open_output

    with open_output(None if str(path) == "-" else path) as stream:
        stream.write("\t".join(("system", "query_id", *report.scores[0].measures)) + "\n")
        for own in report.scores:
            for question, values in zip(own.questions, own.values.tolist(), strict=True):
                stream.write("\t".join((own.run, question, *(f"{value:.6f}" for value in values))) + "\n")


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines whose columns stand below each other."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
