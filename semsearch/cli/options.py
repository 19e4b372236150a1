"""Options that several commands share, and the objects that they become."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_INDEX: Final = "papers"
DEFAULT_HOME: Final = "indexes"
_NO_NAME: Final = re.compile(r'[/\\:*?"<>|\x00-\x1f]')
_DEVICE: Final = re.compile(r"^(auto|cpu|cuda(:\d+)?|mps)$")

pass_app = click.make_pass_decorator(object)


class IndexName(click.ParamType):
    """The name of an index: one folder name, never a path."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name where it is one."""
        text = str(value)
        if not text or text.startswith(".") or _NO_NAME.search(text):
            self.fail(f"{text!r} is not the name of an index. Give a plain name, as in -i my-papers; --home DIR says where "
                      "indexes are.", param, ctx)
        return text


class Device(click.ParamType):
    """Where the model runs."""

    name = "auto|cpu|cuda|mps"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the device where it is spelt as one."""
        if not _DEVICE.match(str(value)):
            self.fail(f"{value!r} is no device. Give auto, cpu, cuda, cuda:N or mps.", param, ctx)
        return str(value)


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

    named = click.option("-i", "--index", type=IndexName(), default=DEFAULT_INDEX, envvar="SEMSEARCH_INDEX",
                         show_envvar=True, show_default=True, help="The index.")
    return named(home_option(with_folder))  # type: ignore[return-value]


def console_options(function: F) -> F:
    """Add `-q/--quiet` and `-v/--verbose`, passed together as `console`."""
    @functools.wraps(function)
    def with_console(*arguments: Any, quiet: bool, verbose: bool, **options: Any) -> Any:
        from semsearch.cli.console import Console

        return function(*arguments, console=Console(quiet=quiet, verbose=verbose), **options)

    hushed = click.option("-q", "--quiet", is_flag=True, help="No notes and no progress; errors stay.")
    told = click.option("-v", "--verbose", is_flag=True, help="Say more on standard error.")
    return hushed(told(with_console))  # type: ignore[return-value]


def device_options(function: F) -> F:
    """Add `--device` and `--trust-remote-code`."""
    device = click.option("--device", type=Device(), default="auto", show_default=True,
                          help="Where the model runs; cuda:N for one of several GPUs.")
    trust = click.option("--trust-remote-code", is_flag=True, help="Let a model run Python code that it brings along.")
    return device(trust(function))


def model_options(function: F) -> F:
    """Add `-m/--model`, `--model-revision`, `--max-tokens` and `--factory`."""
    options = [
        click.option("-m", "--model", metavar="NAME|FOLDER", help="The sentence encoder: its name on the Hugging Face Hub, or "
                     "a folder that holds one. An index keeps its own.  [default: all-MiniLM-L6-v2]"),
        click.option("--model-revision", metavar="REV", help="A branch, tag or commit of the model."),
        click.option("--max-tokens", type=click.IntRange(min=1), metavar="N",
                     help="Cut texts after N tokens.  [default: the model's own limit]"),
        click.option("--factory", metavar="SPEC", help="How vectors are searched: a faiss factory string such as "
                     "IVF1024,Flat, or auto.  [default: by the number of papers]"),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def json_option(function: F) -> F:
    """Add `--json` to a command that prints a summary, passed as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")(function)


def top_k_option(function: F) -> F:
    """Add `-k/--top-k`, alias `-n/--limit`, passed as `top_k`."""
    return click.option("-k", "--top-k", "-n", "--limit", "top_k", type=click.IntRange(min=1), default=10, metavar="N",
                        show_default=True, help="How many papers.")(function)
