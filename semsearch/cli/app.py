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

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from semsearch.provider import EncoderProvider

COMMANDS: Final = {
    "build": "Read files and folders into an index, encoding what is new.",
    "encode": "Encode texts in parts, on several machines.",
    "query": "Find the papers that answer a question.",
    "related": "Find the papers nearest to those that you name.",
    "read": "Read files and print their papers.",
    "show": "Show papers with all their fields.",
    "explain": "Explain why a paper stands where it stands for a question.",
    "watch": "Save searches, and ask them again for what is new.",
    "duplicates": "List papers that may be in the index more than once.",
    "list": "List the indexes, with papers, model, size and state.",
    "info": "Tell what an index holds and what made it.",
    "export": "Write the papers of an index, or their vectors, to files.",
    "serve": "Answer over HTTP, with a page to search on, on this machine.",
    "eval": "Measure how good the answers are by judged questions.",
    "reindex": "Make indexes again from their own papers.",
    "delete": "Take papers out of an index.",
    "verify": "Check every checksum and every count of an index.",
    "remove": "Remove a whole index.",
    "doctor": "Check the installation and say what to do.",
}
"""Name -> the first sentence of its help, in the order of `--help`: asking first, then what is rarer.

Each is a module of this package with a `command`. The sentences stand here too so that `--help` imports none of them.
"""

INTERRUPTED: Final = 130
"""128 + SIGINT, as shells report it."""

_YOUNG_OBJECTS: Final = 50_000
"""After so many new objects garbage is collected."""
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

            near = "".join(f" Did you mean {name}?" for name in get_close_matches(args[0], list(COMMANDS), 1))
            ctx.fail(f"There is no command {args[0]!r}.{near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with what each does, importing none."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so, importing no command."""
        from click.shell_completion import CompletionItem

        return [*(CompletionItem(name, help=does) for name, does in COMMANDS.items() if name.startswith(incomplete)),
                *click.Command.shell_complete(self, ctx, incomplete)]

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
        from semsearch.version import own_version

        click.echo(f"semsearch {own_version()}")
        ctx.exit()


@click.command(cls=Commands, epilog=_EPILOG, context_settings={
    "help_option_names": ["-h", "--help"], "auto_envvar_prefix": "SEMSEARCH", "max_content_width": 100})
@click.option("--version", is_flag=True, allow_from_autoenv=False, is_eager=True, expose_value=False,
              callback=_print_version, help="Show the version and exit.")
def main() -> None:
    """Find scientific papers by meaning, on your own machine.

    BUILD an index from your files once, then ask it in your own words, or for papers related to those that you like.
    """


def run() -> None:
    """Be the process `semsearch`: run the command that its arguments name, and end.

    Imports make hundreds of thousands of objects that stay. The garbage collector would look at them again and again
    while they are made, and once more when the process ends: a quarter of the time that `related` takes.
    """
    import gc

    gc.set_threshold(_YOUNG_OBJECTS)
    try:
        main(prog_name="semsearch")
    finally:
        gc.freeze()


@contextmanager
def _errors_told(ctx: click.Context) -> Iterator[None]:
    from semsearch.errors import SemsearchError

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
