"""The options that say which papers may be an answer."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner, Result

from semsearch.cli.filter_options import filter_options, newer_than_option
from semsearch.filters import Filter

got: list[tuple[Filter, str | None]] = []


@click.command()
@filter_options
@newer_than_option
def ask(filter: Filter, newer_than: str | None) -> None:
    """Keep what arrives."""
    got.append((filter, newer_than))


def run(*arguments: str, input: str | bytes | None = None) -> Result:
    got.clear()
    return CliRunner().invoke(ask, list(arguments), input=input, catch_exceptions=False)


def asked(*arguments: str, input: str | bytes | None = None) -> Filter:
    result = run(*arguments, input=input)
    assert result.exit_code == 0, result.output
    return got[0][0]


def refused(*arguments: str, input: str | bytes | None = None) -> str:
    result = run(*arguments, input=input)
    assert (result.exit_code, result.stdout, got) == (2, "", []), result.output
    return " ".join(result.stderr.split())


def test_without_options_every_paper_passes():
    assert asked().is_empty


def test_all_options_become_one_filter(tmp_path):
    file = tmp_path / "ids.txt"
    file.write_bytes("\ufeff2106.01345\r\n\r\n  doi:10.1000/ABC \r\n2106.01345\r\nÜber".encode())
    assert asked(
        *("--year", "2020..2025", "--venue", "ACL", "--venue", "EMNLP", "--author", "van der Berg, J"),
        *("--category", "cs.CL", "--ids", str(file), "--where", "year > 2019", "--as-of", "2024-06"),
    ) == Filter(
        2020,
        2025,
        ("ACL", "EMNLP"),
        ("van der Berg, J",),
        ("cs.CL",),
        ("2106.01345", "doi:10.1000/ABC", "Über"),
        "year > 2019",
        "2024-06",
    )


def test_ids_come_from_standard_input_and_several_files(tmp_path):
    (tmp_path / "a").write_text("x\ny\n")
    (tmp_path / "b").write_bytes("z\n".encode("utf-16"))
    assert asked("--ids", "-", input="a\nb c\n").ids == ("a", "b c")
    assert asked("--ids", str(tmp_path / "a"), "--ids", str(tmp_path / "b")).ids == ("x", "y", "z")


def test_newer_than_is_a_date():
    assert run("--newer-than", "2020-06-15").exit_code == 0
    assert got == [(Filter(), "2020-06-15")]
    assert "'--newer-than': '2020-13' is no date" in refused("--newer-than", "2020-13")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--year", "2025..2020"), "'--year': '2025..2020' ends before it begins. Turn it round: 2020..2025."),
        (("--year", "abc"), "'--year': 'abc' is no range of years. Give it as 2020..2025, 2020, 2020.. or ..2025."),
        (("--as-of", "2020-13"), "'--as-of': '2020-13' is no date. Give a day, a month or a year as 2020-06-15"),
        (("--author", "..."), "'--author': '...' holds no word."),
        (("--venue", ""), "'--venue': '' holds no word."),
        (("--category", "*"), "'--category': '*' holds no word."),
        (("--ids", "nowhere.txt"), "'nowhere.txt' cannot be read: No such file or directory."),
        (("--ids", "."), "'.' cannot be read: Is a directory."),
    ],
)
def test_bad_values_are_usage_errors_with_the_form_wanted(arguments, said):
    assert said in refused(*arguments)


def test_a_list_without_ids_is_refused():
    assert "There is no id in -. Give a file of ids, one a line." in refused("--ids", "-", input=" \n\n")
