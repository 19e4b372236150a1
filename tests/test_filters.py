"""Filters as they are worded, described and kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import UsageError
from semsearch.filters import Filter, parse_date, parse_years

WORDS = st.lists(st.text(min_size=1, max_size=8), max_size=3).map(tuple)
DATES = st.sampled_from([None, "2020", "2020-06", "2020-06-15"])
FILTERS = st.builds(
    Filter,
    first_year=st.none() | st.integers(1900, 2000),
    last_year=st.none() | st.integers(2001, 2030),
    venues=WORDS,
    authors=WORDS,
    categories=WORDS,
    ids=st.none() | WORDS,
    where=st.none() | st.text(max_size=20),
    as_of=DATES,
    newer_than=DATES,
    added_after=st.none() | st.integers(0, 2**33),
)


@pytest.mark.parametrize(
    "text, years",
    [
        ("2020", (2020, 2020)),
        ("2020..2025", (2020, 2025)),
        (" 2020 .. 2025 ", (2020, 2025)),
        ("2020-2025", (2020, 2025)),
        ("2020 \N{EN DASH} 2025", (2020, 2025)),
        ("2020..", (2020, None)),
        ("..2025", (None, 2025)),
        ("2020..2020", (2020, 2020)),
        ("0999..1000", (999, 1000)),
    ],
)
def test_years_are_understood(text, years):
    assert parse_years(text) == years


@pytest.mark.parametrize(
    "text",
    ["", "..", "abc", "20", "20200", "2020-", "2020...2025", "2020 2025", "2020..x", "-2020", "٢٠٢٠", "2020\0"],
)
def test_what_is_no_range_of_years_is_told_with_the_form_wanted(text):
    with pytest.raises(UsageError) as caught:
        parse_years(text)
    assert repr(text) in caught.value.message
    assert "2020..2025, 2020, 2020.. or ..2025" in caught.value.way_out


def test_years_that_end_before_they_begin_are_turned_round():
    with pytest.raises(UsageError, match=r"'2025\.\.2020' ends before it begins") as caught:
        parse_years("2025..2020")
    assert caught.value.way_out == "Turn it round: 2020..2025."


@pytest.mark.parametrize("text", ["2020", "2020-06", "2020-06-15", "2024-02-29", " 2020 "])
def test_dates_keep_their_precision(text):
    assert parse_date(text) == text.strip()


@pytest.mark.parametrize(
    "text", ["", "2020-13", "2020-00", "2023-02-29", "2020-6-1", "15.06.2020", "yesterday", "0000"]
)
def test_what_is_no_date_is_told_with_the_form_wanted(text):
    with pytest.raises(UsageError, match="is no date") as caught:
        parse_date(text)
    assert repr(text) in caught.value.message and "2020-06-15, 2020-06 or 2020" in caught.value.way_out


@given(FILTERS)
def test_a_filter_survives_json(one):
    assert Filter.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert one.is_empty == (one.to_dict() == {})


@given(FILTERS)
def test_a_description_is_one_line_and_empty_for_no_condition(one):
    assert len(one.describe().splitlines()) <= 1
    assert (one.describe() == "") == one.is_empty


def test_the_description_says_every_condition():
    everything = Filter(
        2020,
        2025,
        ("ACL", "EMNLP"),
        ("van der Berg, J",),
        ("cs.CL",),
        ("a", "b"),
        "year\n> 1",
        "2024",
        "2021-02",
        86_461,
    )
    assert everything.describe() == (
        "years 2020..2025; venue ACL or EMNLP; author van der Berg, J; category cs.CL; among 2 ids; where year > 1; "
        "as of 2024; newer than 2021-02; added after 1970-01-02T00:01:01Z"
    )
    assert Filter(2020, 2020).describe() == "year 2020"
    assert Filter(first_year=2020).describe() == "years 2020.."
    assert Filter(last_year=2020, ids=("a",)).describe() == "years ..2020; among 1 id"


@pytest.mark.parametrize(
    "data",
    [
        {"year": 2020},
        {"first_year": "2020"},
        {"first_year": True},
        {"authors": "Ada"},
        {"ids": [1]},
        {"where": ["x"]},
        {"as_of": None},
        {"is_empty": "x"},
    ],
)
def test_what_is_no_filter_is_refused(data):
    with pytest.raises(ValueError, match=f"{next(iter(data))}: .* is no part of a filter"):
        Filter.from_dict(data)
