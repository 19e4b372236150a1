"""The command `semsearch`: finds its commands, and is where every error ends."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from semsearch.errors import SemsearchError

if TYPE_CHECKING:
    from semsearch.provider import EncoderProvider

COMMANDS: Final = ("build", "encode", "query", "related", "read", "show", "explain", "watch", "duplicates", "list",
                   "info", "export", "eval", "reindex", "delete", "verify", "remove", "doctor")
"""In the order of `--help`: asking first, then what is rarer. Each is a module of this package with a `command`."""

INTERRUPTED: Final = 130
"""128 + SIGINT, as shells report it."""

_RESUMABLE: Final = frozenset({"build", "encode", "eval", "reindex"})
_EPILOG: Final = """\b
First steps:
  semsearch build --sample
  semsearch query "learning from few labels"

\b
Completion of commands and options, for bash (zsh and fish likewise):
  eval "$(_SEMSEARCH_COMPLETE=bash_source semsearch)"
"""


@dataclass(frozen=True, slots=True)
class App:
    """What commands get from whoever starts them: who provides encoders, None for models on this machine."""

    provider: EncoderProvider | None = None


class Commands(click.Group):
    """The commands, imported one by one as they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of `--help`."""
        return list(COMMANDS)

    def resolve_command(self, ctx: click.Context, args: list[str]
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a command line; a misspelt one is answered with the nearest name."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from difflib import get_close_matches

            near = "".join(f" Did you mean {name}?" for name in get_close_matches(args[0], COMMANDS, 1))
            ctx.fail(f"There is no command {args[0]!r}.{near}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"semsearch.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and turn what it raises into a message and an exit status."""
        _open_missing_streams()
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        ctx.ensure_object(App)
        with _errors_told(ctx):
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()  # here a reader who has gone is noticed, and not when the interpreter ends
            return result


def _print_version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("semsearch")
        except PackageNotFoundError:
            number = "(not installed as a package)"
        click.echo(f"semsearch {number}")
        ctx.exit()


@click.command(cls=Commands, epilog=_EPILOG, context_settings={
    "help_option_names": ["-h", "--help"], "auto_envvar_prefix": "SEMSEARCH", "max_content_width": 100})
@click.option("--version", is_flag=True, allow_from_autoenv=False, is_eager=True, expose_value=False,
              callback=_print_version, help="Show the version and exit.")
def main() -> None:
    """Find scientific papers by meaning, on your own machine.

    BUILD an index from your files once, then ask it in your own words, or for papers related to those that you like.
    """


@contextmanager
def _errors_told(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except SemsearchError as error:
        tell_error(error.message, error.way_out)
        ctx.exit(error.exit_code)
    except KeyboardInterrupt:
        kept = " What was encoded so far is kept; run the same command again to go on."
        click.echo("\nStopped." + (kept if ctx.invoked_subcommand in _RESUMABLE else ""), err=True)
        ctx.exit(INTERRUPTED)
    except BrokenPipeError:
        _forget_stdout()
        ctx.exit(0)
    except OSError as error:
        tell_error(f"{error.filename or 'standard output'}: {error.strerror or error}.",
                   "Check the path, its permissions and the room on its disk.")
        _forget_stdout()
        ctx.exit(1)


def tell_error(message: str, way_out: str) -> None:
    """Print an error and the way out of it on standard error."""
    from semsearch.writers.display import printable

    lines = [printable(line) if line.strip() else "" for line in f"{message}\n{way_out}".strip().splitlines()]
    click.echo(click.style("Error:", fg="red", bold=True) + " " + "\n".join(lines), err=True)


def _open_missing_streams() -> None:
    """Give the program something to read and to write where it was started with closed streams, as some daemons do."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def _forget_stdout() -> None:
    """Send what is still buffered for a reader who has gone to nowhere, so that the interpreter ends quietly."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
