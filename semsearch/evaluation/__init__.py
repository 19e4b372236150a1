"""Measuring how good answers are: collections, runs, measures, and how sure one can be of a difference."""

from __future__ import annotations

from semsearch.evaluation.collections import Collection, load_collection
from semsearch.evaluation.judgments import Qrels
from semsearch.evaluation.measures import DEFAULT_MEASURES, depth_of, parse_measures
from semsearch.evaluation.runs import RankedList, Run, read_run, write_run
from semsearch.evaluation.scores import Scores, evaluate
from semsearch.evaluation.significance import Difference, Interval, compare, mean_intervals
from semsearch.evaluation.task import AskedRun, Pool, Task, make_run
from semsearch.evaluation.topics import Topic

__all__ = [
    "DEFAULT_MEASURES", "AskedRun", "Collection", "Difference", "Interval", "Pool", "Qrels", "RankedList", "Run",
    "Scores", "Task", "Topic", "compare", "depth_of", "evaluate", "load_collection", "make_run", "mean_intervals",
    "parse_measures", "read_run", "write_run",
]
