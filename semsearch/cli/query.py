"""semsearch query: papers that answer a question."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.options import (
    HIT_FORMATS,
    Output,
    console_options,
    device_options,
    index_option,
    moved_model_option,
    output_options,
    top_k_option,
)
from semsearch.cli.search_options import highlight_option, rerank_options, search_options

if TYPE_CHECKING:
    from semsearch.cli.questions import Question
    from semsearch.ranking import Hit, SearchOptions
    from semsearch.search import Searcher

_BLOCK_QUESTIONS: Final = 64
"""How many questions of a batch are encoded together."""


@click.command(epilog="""\b
Examples:
  semsearch query learning from few labelled examples
  semsearch query '"protein folding" -yeast' --year 2020.. --author Jumper
  semsearch query "protein structure" -k 20 --format bibtex -o protein.bib
  semsearch query --queries questions.tsv --format trec -o run.trec
  pbpaste | semsearch query -
""")
@click.argument("text", nargs=-1, metavar="TEXT...")
@click.option("--queries", metavar="FILE|-",
              help="Many questions, one a line: text, id<TAB>text, or JSON objects with id and text. Written as jsonl "
              "(with query_id), csv or trec.")
@top_k_option
@search_options
@rerank_options
@highlight_option
@output_options(HIT_FORMATS)
@index_option
@moved_model_option
@device_options
@console_options
@click.pass_obj
def command(app: App, text: tuple[str, ...], queries: str | None, top_k: int, search: SearchOptions,
            rerank: str | None, rerank_depth: int, highlight: bool | None, output: Output, folder: Path,
            model: str | None, device: str, trust_remote_code: bool, console: Console) -> None:
    """Find the papers that answer a question.

    The words of TEXT are joined; `-` reads one question from standard input. Papers are compared by meaning and by
    words. A "phrase in quotes" has to be there, a -word must not. An id, a DOI or a title finds its paper. Best papers
    first; a higher score is better.
    """
    if bool(text) == (queries is not None):
        raise click.UsageError("Give a question, or a file of questions with --queries, and not both." if text else
                               "What is the question? Give it in words, - for standard input, or a file with "
                               "--queries.")
    from semsearch.cli.output import is_for_people, write_hits
    from semsearch.cli.questions import STDIN, read_questions, read_text
    from semsearch.search import Searcher

    questions = read_questions(queries) if queries is not None else []
    for_people = is_for_people(output) and not questions
    options = replace(search, rerank=rerank, rerank_depth=rerank_depth,
                      highlight=for_people if highlight is None else highlight)
    with Searcher(folder, model=model, device=device, trust_remote_code=trust_remote_code,
                  provider=app.provider, progress=console.progress() if rerank and not questions else None) as searcher:
        if questions:
            _answer_batch(searcher, questions, top_k, options, output, console)
        else:
            question = read_text(STDIN) if text == (STDIN,) else " ".join(text)
            with console.timed(f"Answered from {searcher.reader.visible:,} papers"):
                answer = searcher.query(question, top_k, options)
            console.notes(answer.notes, answer.seconds)
            write_hits(answer.hits, output)
        sys.stdout.flush()
        searcher.prepare_quick_answers(console.progress())


def _answer_batch(searcher: Searcher, questions: Sequence[Question], top_k: int, options: SearchOptions,
                  output: Output, console: Console) -> None:
    from semsearch.cli.output import write_answers
    from semsearch.errors import EmptyQuery

    for question in questions:
        if searcher.reader.lexical.parse(question.text).excludes_only:
            raise EmptyQuery(f"The question {question.id!r} says only what must not be there: {question.text!r}.",
                             "Nothing was asked yet. Say in it what should be there, too.")
    progress = console.progress()
    notes: dict[str, None] = {}
    seconds: dict[str, float] = {}

    def answers() -> Iterator[tuple[str, Sequence[Hit]]]:
        with progress.task("Asking", len(questions), "question") as task:
            for start in range(0, len(questions), _BLOCK_QUESTIONS):
                block = questions[start:start + _BLOCK_QUESTIONS]
                answered = searcher.query_many([question.text for question in block], top_k, options)
                for question, answer in zip(block, answered, strict=True):
                    notes.update(dict.fromkeys(answer.notes))
                    for what, spent in answer.seconds.items():
                        seconds[what] = seconds.get(what, 0.0) + spent
                    yield question.id, answer.hits
                task.advance(len(block))

    with console.timed(f"Answered {len(questions):,} questions from {searcher.reader.visible:,} papers"):
        write_answers(answers(), output)
    console.notes(notes, seconds)
