"""semsearch explain: how one paper comes to its place among the answers to a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from semsearch.cli.app import App
from semsearch.cli.console import Console
from semsearch.cli.filter_options import filter_options
from semsearch.cli.options import console_options, device_options, index_option, json_option, moved_model_option
from semsearch.cli.search_options import DEFAULT_WEIGHT

if TYPE_CHECKING:
    from semsearch.explanation import Explanation, Part
    from semsearch.filters import Filter
    from semsearch.writers.table import Look

_BAR_COLUMNS: Final = 10


@click.command(epilog="""\b
Examples:
  semsearch explain vaswani2017attention "models without recurrence"
  semsearch explain 1706.03762 models without recurrence --weight 0.3 --json
""")
@click.argument("name", metavar="ID")
@click.argument("text", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--weight", type=click.FloatRange(0, 1), default=DEFAULT_WEIGHT, show_default=True, metavar="0..1",
              help="The share of meaning in the score.")
@filter_options
@json_option
@index_option
@moved_model_option
@device_options
@console_options
@click.pass_obj
def command(app: App, name: str, text: tuple[str, ...], weight: float, filter: Filter, as_json: bool, folder: Path,
            model: str | None, device: str, trust_remote_code: bool, console: Console) -> None:
    """Explain why a paper stands where it stands for a question.

    ID is an id, a DOI, an arXiv or PubMed id, or the unique beginning of an id. The words of QUESTION are joined; `-`
    reads the question from standard input. Shown are the score and its parts, the words that the paper shares with the
    question, and its sentences by how near they are.
    """
    from semsearch.cli.console import look_of
    from semsearch.cli.output import open_output, write_json
    from semsearch.cli.questions import STDIN, read_text
    from semsearch.explanation import explain
    from semsearch.search import Searcher

    with Searcher(folder, model=model, device=device, trust_remote_code=trust_remote_code,
                  provider=app.provider) as searcher:
        question = read_text(STDIN) if text == (STDIN,) else " ".join(text)
        with console.timed("Explained"):
            explanation = explain(searcher, name, question, weight, filter)
    if as_json:
        write_json(explanation.as_dict())
        return
    with open_output(None) as stream:
        _write(explanation, stream, look_of(stream))


def _write(explanation: Explanation, stream: TextIO, look: Look) -> None:
    from semsearch.writers.display import printable
    from semsearch.writers.table import write_columns, write_fields

    paper = explanation.paper
    stream.write(f"{look.bold(printable(paper.title or paper.id))}\n")
    write_fields([("id", paper.id), *_scores(explanation)], stream, look)
    if explanation.terms:
        stream.write("\n")
        rows = [(term.word, f"{term.bm25:.3f}", f"{term.share:.0%}", str(term.in_question), str(term.in_paper))
                for term in explanation.terms]
        write_columns(("word", "BM25", "share", "in question", "in paper"), rows, stream, look)
    if explanation.missing:
        stream.write("\n")
        write_fields([("not in it", ", ".join(explanation.missing))], stream, look)
    if explanation.sentences:
        stream.write("\n")
        _write_sentences(explanation, stream, look)


def _scores(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """Yield the labels and texts of the score, its parts and what else decides."""
    weight, best = explanation.weight, explanation.best_bm25
    cosine, bm25 = explanation.cosine.score or explanation.cosine_estimate or 0.0, explanation.bm25.score or 0.0
    words = f"{1 - weight:g} x {bm25:.3f} / {best:.3f}" if best else f"{1 - weight:g} x 0 (no paper has its words)"
    yield "score", _placed(explanation.hybrid, explanation.candidates)
    if explanation.hybrid.score != explanation.fused.score:
        yield "", f"{explanation.smoothing:.0%} of it is the mean score of the papers nearest to it among the best"
    yield "by itself", f"{_placed(explanation.fused, explanation.candidates)} = {weight:g} x {cosine:.3f} + {words}"
    yield "cosine", _placed(explanation.cosine, explanation.encoded) or _no_cosine(explanation)
    yield "BM25", (f"{_placed(explanation.bm25, explanation.candidates)}; the best of this question is {best:.3f}"
                   if explanation.bm25.rank else "0: it shares no word with the question")
    yield from (("kept out", obstacle) for obstacle in explanation.obstacles)
    yield from (("note", note) for note in explanation.notes)


def _no_cosine(explanation: Explanation) -> str:
    estimate = explanation.cosine_estimate
    taken = "" if estimate is None else f"; {estimate:.3f} is taken, by its words"
    return f"none: the paper has no vector{taken}"


def _placed(part: Part, among: int) -> str:
    if part.score is None:
        return ""
    return f"{part.score:.3f} (rank {part.rank:,} of {max(among, part.rank or 0):,})"


def _write_sentences(explanation: Explanation, stream: TextIO, look: Look) -> None:
    """Write the sentences, nearest first, each with its cosine and a bar."""
    from semsearch.writers.display import wrap

    margin = " " * (len("0.000 ") + _BAR_COLUMNS + 1)
    for number, sentence in enumerate(explanation.sentences):
        filled = round(max(sentence.cosine, 0.0) * _BAR_COLUMNS)
        head = f"{sentence.cosine:6.3f} {look.green('█' * filled)}{look.dim('·' * (_BAR_COLUMNS - filled))} "
        for line_number, line in enumerate(wrap(sentence.text, max(look.width - len(margin) - 1, 24))):
            shown = look.cyan(line) if number == 0 else line
            stream.write(f"{' ' + margin if line_number else head}{shown}\n")
