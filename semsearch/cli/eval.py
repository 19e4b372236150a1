"""semsearch eval: how good the answers are, measured by a test collection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.filter_options import filter_options
from semsearch.cli.options import (
    console_options,
    device_options,
    home_option,
    index_name,
    json_option,
    output_file,
)
from semsearch.cli.search_options import DEFAULT_WEIGHT, MODES, rerank_options
from semsearch.errors import InputError

if TYPE_CHECKING:
    from semsearch.cli.eval_report import Measured
    from semsearch.evaluation import Collection, Pool, Run, Task
    from semsearch.filters import Filter
    from semsearch.ranking import SearchOptions

_DEFAULT_MEASURES: Final = "nDCG@10 R@100 RR@10 AP@100 P@10"
_DEFAULT_SEED: Final = 13
_SHARE: Final = click.FloatRange(0, 1)
_INPUT: Final = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line says about asking: of which indexes, how deep, and with whose model."""

    folders: tuple[Path, ...]
    searches: dict[str, SearchOptions]
    depth: int
    task: Task
    pool: Pool
    model: str | None
    device: str
    trust_remote_code: bool


@click.command(epilog="""\b
Examples:
  semsearch eval scifact                              # builds an index of scifact/corpus.jsonl, asks and measures
  semsearch eval scifact --mode dense --mode lexical --mode hybrid
  semsearch eval scifact -i small -i large            # two indexes of its papers
  semsearch eval csfcube --task related --pool judged
  semsearch eval --queries q.jsonl --qrels q.tsv -i papers --write-run run.trec
  semsearch eval --qrels qrels.txt --run bm25.run --run ours.run
""")
@click.argument("collection", required=False, metavar="[FOLDER]")
@click.option("-i", "--index", "indexes", type=index_name, multiple=True, metavar="NAME",
              help="An index that holds the papers; several are compared.  [default: one made of FOLDER/corpus.jsonl]")
@home_option
@click.option("--queries", type=_INPUT, metavar="FILE",
              help="The questions: JSON Lines, id<TAB>text, or TREC topics.  [default: FOLDER/queries.jsonl]")
@click.option("--qrels", type=_INPUT, multiple=True, metavar="FILE",
              help="The judgments, as BEIR or TREC write them.  [default: FOLDER/qrels/SPLIT.tsv]")
@click.option("--split", default="test", show_default=True, metavar="NAME", help="Which judgments of FOLDER.")
@click.option("--task", type=click.Choice(["query", "related"]), default="query", show_default=True,
              help="What a question is: words, or a paper of the corpus to find others like it.")
@click.option("--pool", type=click.Choice(["all", "judged"]), default="all", show_default=True,
              help="Rank all papers, or only those judged for the question.")
@click.option("--measures", default=_DEFAULT_MEASURES, show_default=True, metavar="LIST",
              help="What to measure, as ir_measures spells it.")
@click.option("--mode", "modes", type=click.Choice(MODES, case_sensitive=False), multiple=True,
              help="How to search, as in query; several are compared.  [default: hybrid]")
@click.option("--weight", "weights", type=_SHARE, multiple=True, metavar="0..1",
              help=f"The share of meaning in a hybrid score; several are compared.  [default: {DEFAULT_WEIGHT}]")
@click.option("--min-score", type=click.FloatRange(-1, 1), metavar="COSINE",
              help="Leave out papers whose cosine is less.")
@click.option("--diversity", type=_SHARE, default=0.0, metavar="0..1", help="Prefer hits unlike those above them.")
@rerank_options
@filter_options
@click.option("--run", "run_files", type=_INPUT, multiple=True, metavar="FILE",
              help="A TREC run of any tool to measure; several are compared. No index is asked unless one is named.")
@click.option("-k", "--top-k", "-n", "--limit", "top_k", type=click.IntRange(min=1), metavar="N",
              help="How deep answers go.  [default: as the measures look, at least 100]")
@click.option("--write-run", type=output_file, metavar="FILE", help="Write the answers as a TREC run.")
@click.option("--per-query", type=output_file, metavar="FILE", help="Write the values of each question as TSV.")
@click.option("--seed", type=click.IntRange(min=0), default=_DEFAULT_SEED, show_default=True, metavar="N",
              help="Of the resampling behind intervals and p.")
@click.option("-m", "--model", metavar="NAME|FOLDER",
              help="The sentence encoder of the index that is made here; of an index named with -i, where its model is "
              "now, if it has moved.")
@device_options
@json_option
@console_options
@click.pass_obj
def command(app: App, collection: str | None, indexes: tuple[str, ...], home: Path, queries: Path | None,
            qrels: tuple[Path, ...], split: str, task: str, pool: str, measures: str, modes: tuple[str, ...],
            weights: tuple[float, ...], min_score: float | None, diversity: float, rerank: str | None,
            rerank_depth: int, filter: Filter, run_files: tuple[Path, ...], top_k: int | None, write_run: Path | None,
            per_query: Path | None, seed: int, model: str | None, device: str, trust_remote_code: bool, as_json: bool,
            console: Console) -> None:
    """Measure how good the answers are by judged questions.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels/test.tsv, as BEIR lays them out. An index of its corpus is kept
    in --home as eval-FOLDER, so only the first run takes long. Measures are those of trec_eval, through ir_measures;
    questions without an answer score 0, those without a relevant paper are left out. The first of several systems is
    the baseline of the others; p is not corrected for how many there are.
    """
    from semsearch.cli.eval_report import Report, findings, note_run, write_per_query
    from semsearch.evaluation import Pool, Task, load_collection, parse_measures
    from semsearch.evaluation.measures import split_measures
    from semsearch.ranking import SearchOptions

    base = SearchOptions(filter=filter, min_score=min_score, diversity=diversity, rerank=rerank,
                         rerank_depth=rerank_depth)
    searches = _searches(base, modes, weights)
    names = parse_measures(split_measures(measures))
    depth = _depth(names, top_k)
    asks = bool(indexes or modes or weights or not run_files)
    if write_run is not None and not asks:
        raise click.UsageError("--write-run writes the answers of an index; name one with -i NAME.")
    questions = load_collection(collection, split=split, queries=queries, qrels=qrels, with_topics=asks)
    for finding in findings(questions):
        console.note(finding)
    measured: list[Measured] = []
    if asks:
        folders = tuple(home.expanduser() / name for name in dict.fromkeys(indexes)) or (
            _corpus_index(app, questions, home.expanduser(), model, device, trust_remote_code, console),)
        if not indexes and questions.corpus is not None:
            model = None  # the index has it now
        asked = _Asked(folders, searches, depth, Task(task), Pool(pool), model, device, trust_remote_code)
        measured += _ask(app, questions, asked, console)
    measured += _read_runs(questions, run_files, Pool(pool))
    report = Report.of(questions, _told_apart(measured), names, seed, task, pool, depth)
    if write_run is not None:
        for file in note_run(report, write_run):
            console.note(f"Answers written to {file}.")
    if per_query is not None:
        write_per_query(report, per_query)
    report.write(as_json=as_json)


def _searches(base: SearchOptions, modes: tuple[str, ...], weights: tuple[float, ...]) -> dict[str, SearchOptions]:
    """Return the searches to compare by a name that tells them apart: modes, and weights of the hybrid one."""
    from semsearch.ranking import Mode

    chosen = dict.fromkeys(Mode(mode.lower()) for mode in modes) or {Mode.HYBRID: None}
    if weights and Mode.HYBRID not in chosen:
        raise click.UsageError("--weight concerns --mode hybrid, which is not among the modes.")
    searches = {}
    for mode in chosen:
        for weight in dict.fromkeys(weights) if mode is Mode.HYBRID and weights else (base.weight,):
            shown = f" {weight:g}" if mode is Mode.HYBRID and len(set(weights)) > 1 else ""
            searches[f"{mode}{shown}"] = replace(base, mode=mode, weight=weight)
    return searches


def _depth(names: tuple[str, ...], top_k: int | None) -> int:
    from semsearch.evaluation import depth_of
    from semsearch.evaluation.measures import deepest_cutoff

    if top_k is not None and top_k < deepest_cutoff(names):
        raise click.UsageError(f"{', '.join(names)} look at the first {deepest_cutoff(names)} papers of an answer; "
                               f"-k {top_k} is less.")
    return top_k or depth_of(names)


def _corpus_index(app: App, collection: Collection, home: Path, model: str | None, device: str,
                  trust_remote_code: bool, console: Console) -> Path:
    """Return the folder of the index to ask where none was named: that of the corpus, built or brought up to date."""
    from semsearch.evaluation.indexing import build_corpus, index_of_corpus
    from semsearch.spelling import DEFAULT_INDEX

    if collection.corpus is None:
        return home / (os.environ.get("SEMSEARCH_INDEX") or DEFAULT_INDEX)
    folder = index_of_corpus(collection, home, model)
    if not folder.is_dir():
        console.note(f"An index of {collection.corpus} is made, and kept as {folder} for the next time.")
    summary = build_corpus(collection, folder, model=model, device=device, trust_remote_code=trust_remote_code,
                           provider=app.provider, progress=console.progress())
    if summary.rejected:
        reasons = ", ".join(f"{count:,} x {reason}" for reason, count in summary.reject_reasons.items())
        console.note(f"Left out of the index: {summary.rejected:,} of {summary.records:,} records ({reasons}).")
    return folder


def _ask(app: App, collection: Collection, asked: _Asked, console: Console) -> Iterator[Measured]:
    """Yield what each index answers in each of the ways that are compared."""
    from semsearch.cli.eval_report import Measured, recall_of
    from semsearch.evaluation import Task, make_run
    from semsearch.evaluation.task import asks_about_papers
    from semsearch.ranking import Mode
    from semsearch.search import Searcher

    said: set[str] = set()
    for folder in asked.folders:
        with Searcher(folder, model=asked.model, device=asked.device, trust_remote_code=asked.trust_remote_code,
                      provider=app.provider) as searcher:
            if asked.task is Task.QUERY and asks_about_papers(collection, searcher.reader):
                console.note(f"The questions are papers of {folder.name}, so each finds itself; --task related asks "
                             "for papers like it and leaves it out.")
            recall = None
            for name, options in asked.searches.items():
                shown = f"{folder.name} {name}" if len(asked.folders) > 1 else name
                run = make_run(searcher, collection, options, name=shown, depth=asked.depth, task=asked.task,
                               pool=asked.pool, progress=console.progress())
                if options.mode is not Mode.LEXICAL and recall is None:
                    recall = recall_of(searcher, collection, asked.task)
                system = Measured(run.run, folder, options, run, searcher.reader.manifest,
                                  recall if options.mode is not Mode.LEXICAL else None)
                for note in system.findings():
                    if note not in said:
                        console.note(note)
                    said.add(note)
                yield system


def _read_runs(collection: Collection, files: tuple[Path, ...], pool: Pool) -> Iterator[Measured]:
    """Yield the runs that exist already."""
    from semsearch.cli.eval_report import Measured
    from semsearch.evaluation import Pool, read_run
    from semsearch.evaluation.runs import with_ids_of, within

    papers = {paper for grades in collection.qrels.values() for paper in grades}
    for file in files:
        run: Run = with_ids_of(read_run(file.expanduser()), collection.qrels, papers)
        if run.lists.keys().isdisjoint(collection.qrels):
            raise InputError(f"No question of {file} is judged.", "The ids must be the same in both: in the judgments "
                             f"{next(iter(collection.qrels))!r}, in the run {next(iter(run.lists))!r}.")
        yield Measured(within(run, collection.qrels) if pool is Pool.JUDGED else run)


def _told_apart(measured: list[Measured]) -> list[Measured]:
    """Return the systems under names of which each comes once."""
    seen: dict[str, int] = {}
    named = []
    for system in measured:
        number = seen[system.run.name] = seen.get(system.run.name, 0) + 1
        run = system.run if number == 1 else replace(system.run, name=f"{system.run.name} ({number})")
        named.append(replace(system, run=run))
    return named
