"""Options that several commands share, and the objects that they become."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from semsearch.spelling import DEFAULT_HOME, DEFAULT_INDEX

F = TypeVar("F", bound=Callable[..., Any])

PRECISIONS: Final = ("float32", "int8")
"""As `semsearch.encoding` has them, which imports numpy."""
PAPER_FORMATS: Final = ("table", "jsonl", "csv", "bibtex", "ris", "csl-json", "ids")
HIT_FORMATS: Final = (*PAPER_FORMATS, "trec")
_FORMAT_OF_SUFFIX: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".bib": "bibtex", ".ris": "ris",
                            ".json": "csl-json", ".trec": "trec", ".run": "trec", ".atom": "atom", ".xml": "atom"}
_NO_NAME: Final = re.compile(r'[/\\:*?"<>|\x00-\x1f]')
_DEVICE: Final = re.compile(r"^(auto|cpu|cuda(:\d+)?|mps(:0)?)$")


@dataclass(frozen=True, slots=True)
class Output:
    """Where papers go, None for standard output, and in which format, None where the user did not say."""

    format: str | None
    path: Path | None


def index_name(text: str) -> str:
    """Return the name of an index where it is one: one folder name, never a path."""
    if not text or text.startswith(".") or _NO_NAME.search(text):
        raise click.BadParameter(f"{text!r} is not the name of an index. Give a plain name, as in -i my-papers; "
                                 "--home DIR says where indexes are.")
    return text


def output_file(text: str) -> Path:
    """Return the path of a file that can be written: found out before the work and not after it."""
    path = Path(text).expanduser()  # `-` passes: whoever writes papers takes it for standard output
    if path.is_dir():
        raise click.BadParameter(f"{text!r} is a folder. Give the name of a file.")
    if not path.parent.is_dir():
        raise click.BadParameter(f"There is no folder {str(path.parent)!r}. Make it first, or give another.")
    return path


def device(text: str) -> str:
    """Return the device where it is spelt as one."""
    if not _DEVICE.match(text):
        raise click.BadParameter(f"{text!r} is no device. Give auto, cpu, cuda, cuda:N or mps.")
    return text


def home_option(function: F) -> F:
    """Add `--home`, passed as `home`: the folder that holds the indexes."""
    return click.option("--home", type=click.Path(file_okay=False, path_type=Path), default=DEFAULT_HOME,
                        envvar="SEMSEARCH_HOME", show_envvar=True, show_default=True, metavar="DIR",
                        help="Where the indexes are.")(function)


def index_option(function: F) -> F:
    """Add `-i/--index` and `--home`, passed together as `folder`: the folder of the index."""
    @functools.wraps(function)
    def with_folder(*arguments: Any, index: str, home: Path, **options: Any) -> Any:
        return function(*arguments, folder=home.expanduser() / index, **options)

    named = click.option("-i", "--index", type=index_name, metavar="NAME", default=DEFAULT_INDEX,
                         envvar="SEMSEARCH_INDEX", show_envvar=True, show_default=True, help="The index.")
    return named(home_option(with_folder))  # type: ignore[return-value]


def console_options(function: F) -> F:
    """Add `-q/--quiet` and `-v/--verbose`, passed together as `console`."""
    @functools.wraps(function)
    def with_console(*arguments: Any, quiet: bool, verbose: bool, **options: Any) -> Any:
        from semsearch.cli.console import Console

        console = Console(quiet=quiet, verbose=verbose)
        console.hush_libraries()
        return function(*arguments, console=console, **options)

    hushed = click.option("-q", "--quiet", is_flag=True, help="No notes and no progress; errors stay.")
    told = click.option("-v", "--verbose", is_flag=True, help="Say more on standard error.")
    return hushed(told(with_console))  # type: ignore[return-value]


def device_options(function: F) -> F:
    """Add `--device` and `--trust-remote-code`."""
    where = click.option("--device", type=device, default="auto", show_default=True, metavar="auto|cpu|cuda|mps",
                         help="Where the model runs; cuda:N for one of several GPUs.")
    trust = click.option("--trust-remote-code", is_flag=True, help="Let a model run Python code that it brings along.")
    return where(trust(function))


def precision_option(function: F) -> F:
    """Add `--precision`, passed as `precision`, None where the user did not say."""
    return click.option("--precision", type=click.Choice(PRECISIONS), help="int8 encodes faster on a CPU; its vectors "
                        "are nearly those of float32, see docs/quality.md. An index keeps its own.  "
                        "[default: float32]")(function)


def model_options(function: F) -> F:
    """Add what decides the model (`-m/--model` ...) and the structures (`--factory`, `--min-recall`, `--language`)."""
    options = [
        click.option("-m", "--model", metavar="NAME|FOLDER",
                     help="The sentence encoder: its name on the Hugging Face Hub, or a folder that holds one. An "
                     "index keeps its own.  [default: all-MiniLM-L6-v2]"),
        click.option("--model-revision", metavar="REV", help="A branch, tag or commit of the model."),
        click.option("--max-tokens", type=click.IntRange(min=1), metavar="N",
                     help="Cut texts after N tokens: 128 for the default model halves the work and costs little.  "
                     "[default: the model's own limit]"),
        precision_option,
        click.option("--factory", metavar="SPEC", help="How vectors are searched: a faiss factory string such as "
                     "IVF1024,Flat, or auto.  [default: by the number of papers]"),
        click.option("--min-recall", type=click.FloatRange(0, 1), metavar="SHARE", help="How many of the ten nearest "
                     "papers search is to find where it is not exact; measured when the index is made.  "
                     "[default: 0.95]"),
        click.option("--language", metavar="NAME", help="In which language words are compared: english, german, french "
                     "and so on, or none for words just as they are. An index keeps its own.  [default: english]"),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def moved_model_option(function: F) -> F:
    """Add `-m/--model` to a command that asks an index: another model than the index's own is refused."""
    return click.option("-m", "--model", metavar="NAME|FOLDER",
                        help="Where the model that made the index is now, if it has moved.")(function)


def json_option(function: F) -> F:
    """Add `--json` to a command that prints a summary, passed as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")(function)


def top_k_option(function: F) -> F:
    """Add `-k/--top-k`, alias `-n/--limit`, passed as `top_k`."""
    return click.option("-k", "--top-k", "-n", "--limit", "top_k", type=click.IntRange(min=1), default=10, metavar="N",
                        show_default=True, help="How many papers.")(function)


def named_or_all(names: Sequence[str], every: bool, home: Path) -> list[str]:
    """Return the indexes named, each once, or with `every` all that are in `home`.

    Raises click.UsageError where neither or both were given.
    """
    from semsearch.index.generations import index_names

    if bool(names) == every:
        raise click.UsageError("Name indexes, or say --all, and not both." if names else
                               "Which index? Name it, or say --all.")
    return index_names(home.expanduser()) if every else list(dict.fromkeys(names))


def output_options(formats: Sequence[str]) -> Callable[[F], F]:
    """Add `--format`, `--json` and `-o/--output`, passed together as `output`."""
    def decorate(function: F) -> F:
        @functools.wraps(function)
        def with_output(*arguments: Any, format_: str | None, as_jsonl: bool, output_file: Path | None,
                        **options: Any) -> Any:
            if as_jsonl and format_ not in (None, "jsonl"):
                raise click.UsageError(f"--json is --format jsonl; --format {format_} says otherwise.")
            by_name = _FORMAT_OF_SUFFIX.get(output_file.suffix.lower()) if output_file else None
            chosen = "jsonl" if as_jsonl else format_ or (by_name if by_name in formats else None)
            path = None if output_file == Path("-") else output_file
            return function(*arguments, output=Output(chosen, path), **options)

        usual = "table" if "table" in formats else "jsonl"
        form = click.option("--format", "format_", type=click.Choice(formats, case_sensitive=False),
                            help=f"How papers are written.  [default: by the name of -o FILE, else {usual}]")
        as_json = click.option("--json", "as_jsonl", is_flag=True, help="The same as --format jsonl.")
        file = click.option("-o", "--output", "output_file", type=output_file, metavar="FILE",
                            help="Write to a file, all of it or nothing.")
        return form(as_json(file(with_output)))  # type: ignore[return-value]

    return decorate
