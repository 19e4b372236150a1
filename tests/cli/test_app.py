"""What holds for all commands: help, cost of importing, where output goes, how errors end."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from semsearch import encoding, ranking
from semsearch.cli import options, search_options
from semsearch.cli.app import COMMANDS, App, main
from semsearch.encoding import EncoderIdentity, EncoderRequest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"numpy", "torch", "faiss", "sentence_transformers", "transformers", "huggingface_hub", "tqdm", "sqlite3",
         "portalocker", "platformdirs", "zstandard"}
CHEAP = {"semsearch", "semsearch.cli", "semsearch.cli.app"}


def semsearch_modules_after(*arguments: str) -> set[str]:
    code = ("import sys\nfrom semsearch.cli import main\n"
            f"try:\n    main({list(arguments)!r}, prog_name='semsearch')\n"
            "except SystemExit as end:\n    assert not end.code\n"
            "print('\\n' + ' '.join(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(done.stdout.splitlines()[-1].split())


def command_named(name: str) -> click.Command:
    command = main.get_command(click.Context(main), name)  # type: ignore[attr-defined]
    assert command is not None
    return command


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], *([name, "--help"] for name in COMMANDS)],
                         ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    loaded = semsearch_modules_after(*arguments)
    assert not {name.partition(".")[0] for name in loaded} & HEAVY


def test_a_commands_help_imports_that_command_alone() -> None:
    ours = {name for name in semsearch_modules_after("query", "--help") if name.startswith("semsearch")}
    assert ours == {*CHEAP, "semsearch.cli.console", "semsearch.cli.query", "semsearch.cli.filter_options",
                    "semsearch.cli.options", "semsearch.cli.search_options", "semsearch.errors", "semsearch.spelling"}


def test_the_list_of_commands_imports_none() -> None:
    assert {name for name in semsearch_modules_after("--help") if name.startswith("semsearch")} == CHEAP


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_each_command_says_of_itself(name: str) -> None:
    assert command_named(name).name in ("command", name)
    assert COMMANDS[name] == command_named(name).get_short_help_str(limit=200)


def test_every_command_of_the_package_is_listed() -> None:
    modules = {path.stem for path in (ROOT / "semsearch" / "cli").glob("*.py")}
    assert {name for name in modules if hasattr(importlib.import_module(f"semsearch.cli.{name}"), "command")} == {
        *COMMANDS}


def test_constants_of_the_options_are_those_of_the_search() -> None:
    assert tuple(ranking.Mode) == search_options.MODES
    assert search_options.DEFAULT_WEIGHT == ranking.DEFAULT_WEIGHT == ranking.SearchOptions().weight
    assert search_options.DEFAULT_RERANK_DEPTH == ranking.DEFAULT_RERANK_DEPTH
    assert options.PRECISIONS == encoding.PRECISIONS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    result = CliRunner().invoke(main, [name, "-h"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {name} ")
    assert re.search(rf"Examples:\n\s+semsearch {name}\b", result.output)
    command = command_named(name)
    assert command.help and all(parameter.help for parameter in command.params if isinstance(parameter, click.Option))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_stands_in_the_readme(name: str) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme.partition("\n## Commands\n")[2].partition("\n## ")[0]
    assert re.search(rf"^\| `{name}` \| \w", section, re.MULTILINE)


def test_the_commands_are_listed_with_whole_sentences() -> None:
    listed = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    commands = listed.partition("Commands:\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in commands.splitlines()] == list(COMMANDS)
    assert "..." not in commands
    assert "_SEMSEARCH_COMPLETE=bash_source" in listed


def test_a_misspelt_command_is_answered_with_the_nearest(cli) -> None:
    assert "There is no command 'qurey'. Did you mean query?" in cli.fails("qurey", status=2)


def test_version(cli) -> None:
    assert re.fullmatch(r"semsearch (\d+\.\d+.*|\(not installed as a package\))\n", cli.ok("--version"))


def test_completion_is_offered() -> None:
    environment = {**os.environ, "_SEMSEARCH_COMPLETE": "zsh_source"}
    done = subprocess.run([sys.executable, "-m", "semsearch"], env=environment, capture_output=True, text=True,
                          cwd=ROOT)
    assert "#compdef semsearch" in done.stdout


def test_commands_are_completed_without_importing_them() -> None:
    asked = {"_SEMSEARCH_COMPLETE": "bash_complete", "COMP_WORDS": "semsearch re", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-X", "importtime", "-m", "semsearch"], env={**os.environ, **asked},
                          capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == [f"plain,{name}" for name in COMMANDS if name.startswith("re")]
    assert "semsearch.cli.app" in done.stderr
    assert "semsearch.cli.related" not in done.stderr


@pytest.mark.parametrize("name", ["../papers", "/tmp/papers", ".", "..", "", "a/b", "a\nb"])
def test_an_index_has_a_name_and_not_a_path(cli, name: str) -> None:
    assert "is not the name of an index" in cli.fails("info", "-i", name, status=2)


def test_a_missing_index_is_named_with_those_that_are_there(built) -> None:
    error = built.fails("query", "birds", "-i", "none")
    assert error.startswith("Error: No index named 'none' in indexes. There: papers.\n")
    assert "semsearch build SOURCE... -i none" in error


def test_index_and_home_come_from_the_environment(built, monkeypatch: pytest.MonkeyPatch) -> None:
    (built.home / "papers").rename(built.folder / "mine")
    monkeypatch.setenv("SEMSEARCH_HOME", str(built.folder))
    monkeypatch.setenv("SEMSEARCH_INDEX", "mine")
    assert built.json("info", "--json")[0]["name"] == "mine"
    assert built.ok("query", "birds", "-k", "1", "--format", "ids") == "birds1\n"
    monkeypatch.setenv("SEMSEARCH_QUERY_TOP_K", "2")
    assert built.ok("query", "birds", "--format", "ids") == "birds1\nsongs2\n"


class Broken:
    """A provider whose models raise something."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> EncoderIdentity:
        raise self.error

    def load(self, request: EncoderRequest) -> object:
        raise self.error


def test_an_interrupted_build_says_that_nothing_is_lost(cli, papers_file: Path) -> None:
    result = CliRunner().invoke(main, ["build", str(papers_file)], obj=App(Broken(KeyboardInterrupt())))
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.endswith("Stopped. What was encoded so far is kept; run the same command again to go on.\n")


def test_an_interrupted_question_just_stops(built) -> None:
    result = CliRunner().invoke(main, ["query", "birds"], obj=App(Broken(KeyboardInterrupt())))
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "\nStopped.\n")


def test_our_own_bugs_keep_their_traceback(built) -> None:
    result = CliRunner().invoke(main, ["query", "birds"], obj=App(Broken(RuntimeError("a bug"))))
    assert isinstance(result.exception, RuntimeError) and result.exc_info is not None


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="this system lets us write anywhere")
def test_a_folder_that_cannot_be_written_to_is_named(cli, papers_file: Path) -> None:
    (cli.folder / "locked").mkdir(mode=0o500)
    assert "locked" in cli.fails("build", "papers.jsonl", "--home", "locked")


def test_a_file_in_the_place_of_the_folder_of_indexes_is_named(cli, papers_file: Path) -> None:
    (cli.folder / "taken").write_text("")
    error = cli.fails("build", "papers.jsonl", "--home", str(cli.folder / "taken" / "deeper"))
    assert error.startswith("Error: ") and "Not a directory" in error and "Traceback" not in error


def test_a_closed_pipe_ends_quietly(cli) -> None:
    lines = (f'{{"id": "p{n}", "title": "Paper {n} about birds", "abstract": "{"word " * 40}"}}' for n in range(2000))
    (cli.folder / "many.jsonl").write_text("\n".join(lines))
    cli.ok("build", "many.jsonl")
    script = f'"{sys.executable}" -m semsearch -q export | head -n 1 | cut -c 1-12; echo "${{PIPESTATUS[0]}}"'
    script = script.replace(" -q export", " export -q")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=cli.folder,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.stdout, done.stderr) == ('{"id": "p0",\n0\n', "")


def test_control_characters_of_a_file_name_do_not_reach_the_terminal(cli) -> None:
    (cli.folder / "red\x1b[31m.jsonl").write_text('{"id": "p1", "title": "Birds"}\n')
    result = cli("build", "red\x1b[31m.jsonl")
    assert result.exit_code == 0 and "\x1b" not in result.output and "red.jsonl: 1 record = 1 paper" in result.stdout
    assert "\x1b" not in cli.fails("build", "none\x1b[31m.txt")


def test_no_colour_where_nobody_looks(built) -> None:
    assert "\x1b" not in built("query", "birds").output
    assert "\x1b" not in built.fails("show", "nothing")


@pytest.mark.parametrize("no_color, coloured", [(None, True), ("1", False), ("", True)])
def test_colour_on_a_terminal_unless_no_color(built, monkeypatch: pytest.MonkeyPatch, no_color: str | None,
                                              coloured: bool) -> None:
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    result = CliRunner().invoke(main, ["show", "nothing"], obj=App(built.provider), color=True)
    assert ("\x1b[31m" in result.stderr) == coloured
