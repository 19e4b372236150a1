"""semsearch query: papers that answer a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

if TYPE_CHECKING:
    from semsearch.cli.questions import Question
    from semsearch.ranking import Hit
    from semsearch.search import Searcher

_BLOCK_QUESTIONS: Final = 64
"""How many questions of a batch are encoded together."""


@click.command(epilog="""\b
Examples:
  semsearch query learning from few labelled examples
  semsearch query "protein structure" -k 20 --format bibtex -o protein.bib
  semsearch query --batch questions.tsv --format trec -o run.trec
  pbpaste | semsearch query -
""")
@click.argument("text", nargs=-1, metavar="TEXT...")
@click.option("--batch", metavar="FILE|-",
              help="Many questions, one a line: text, id<TAB>text, or JSON objects with id and text. Written as jsonl "
              "(with query_id), csv or trec.")
@top_k_option
@output_options(HIT_FORMATS)
@index_option
@moved_model_option
@device_options
@console_options
@click.pass_obj
def command(app: App, text: tuple[str, ...], batch: str | None, top_k: int, output: Output, folder: Path,
            model: str | None, device: str, trust_remote_code: bool, console: Console) -> None:
    """Find the papers nearest in meaning to a question.

    The words of TEXT are joined; `-` reads one question from standard input. Best papers first; a higher score is
    better.
    """
    if bool(text) == (batch is not None):
        raise click.UsageError("Give a question, or a file of questions with --batch, and not both." if text else
                               "What is the question? Give it in words, - for standard input, or a file with --batch.")
    from semsearch.cli.output import write_hits
    from semsearch.cli.questions import STDIN, read_questions, read_text
    from semsearch.search import Searcher

    questions = read_questions(batch) if batch is not None else []
    with Searcher(folder, model=model, device=device, trust_remote_code=trust_remote_code,
                  provider=app.provider) as searcher:
        if questions:
            _answer_batch(searcher, questions, top_k, output, console)
            return
        question = read_text(STDIN) if text == (STDIN,) else " ".join(text)
        with console.timed(f"Answered from {searcher.reader.visible:,} papers"):
            answer = searcher.query(question, top_k)
        for note in answer.notes:
            console.note(note)
        write_hits(answer.hits, output)


def _answer_batch(searcher: Searcher, questions: Sequence[Question], top_k: int, output: Output,
                  console: Console) -> None:
    from semsearch.cli.output import write_answers

    progress = console.progress()
    notes: dict[str, None] = {}

    def answers() -> Iterator[tuple[str, Sequence[Hit]]]:
        with progress.task("Asking", len(questions), "question") as task:
            for start in range(0, len(questions), _BLOCK_QUESTIONS):
                block = questions[start:start + _BLOCK_QUESTIONS]
                for question, answer in zip(block, searcher.query_many([q.text for q in block], top_k), strict=True):
                    notes.update(dict.fromkeys(answer.notes))
                    yield question.id, answer.hits
                task.advance(len(block))

    with console.timed(f"Answered {len(questions):,} questions from {searcher.reader.visible:,} papers"):
        write_answers(answers(), output)
    for note in notes:
        console.note(note)
