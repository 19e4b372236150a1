"""A filter never lets a wrong paper in and never loses a right one."""

from __future__ import annotations

import calendar
import datetime
import itertools
import re
import unicodedata
from collections.abc import Iterator

import numpy as np
import pytest
from dated_papers import CUTS, MADE, PEOPLE, open_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semsearch.errors import PaperNotFound, UsageError
from semsearch.filters import Filter
from semsearch.index.paper_filter import Allowed, allowed_rows
from semsearch.index.paper_table import PaperTable
from semsearch.paper import Paper


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaperTable]:
    with open_table(tmp_path_factory.mktemp("made"), *MADE) as opened:
        assert opened.papers == len(MADE)
        yield opened


# The brute force: dates as days, names as lists of words.


def bare(text: str) -> list[str]:
    """Return the words of a text in small letters without accents."""
    text = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return re.findall(r"[a-z0-9]+|[^\W\d_a-z]+", text)


def span(date: str) -> tuple[datetime.date, datetime.date]:
    """Return the first and the last day that a date may mean."""
    year, month, day = [*map(int, date.split("-")), 0, 0][:3]
    last_month = month or 12
    last_day = day or calendar.monthrange(year, last_month)[1]
    return datetime.date(year, month or 1, day or 1), datetime.date(year, last_month, last_day)


def appeared_by(paper: Paper, date: str) -> bool | None:
    known = paper.date or (str(paper.year) if paper.year else "")
    if not known:
        return None
    first, last = span(known)
    through = span(date)[1]
    return True if last <= through else False if first > through else None


def in_years(paper: Paper, first: int | None, last: int | None) -> bool | None:
    year = paper.year if paper.year is not None else int(paper.date[:4]) if paper.date else None
    if first is None and last is None:
        return True
    return None if year is None else (first or 0) <= year <= (last or 9999)


def in_category(category: str, wanted: str) -> bool:
    if wanted.endswith(".*"):
        wanted = wanted[:-2]
    return bare(category) == bare(wanted) or category.lower().startswith(wanted.lower() + ".")


def parted(name: str) -> tuple[str, str]:
    """Return given and family name of one of `PEOPLE`, however it is spelt."""
    return next((g, f) for g, f in PEOPLE if name in (f"{g} {f}", f"{f}, {g}"))


def by_author(name: str, wanted: str) -> bool:
    given, family = parted(name)
    if "," in wanted:
        asked_family, asked_given = wanted.split(",")
        initials = [list(w) if w.isalpha() and w.isupper() else bare(w) for w in asked_given.split()]
        pairs = list(zip(itertools.chain(*initials), bare(given), strict=False))
        return (
            bare(asked_family) == bare(family)
            and len(pairs) == len([*itertools.chain(*initials)])
            and all(
                a.lower() == b or (min(len(a), len(b)) == 1 and a.isascii() and a[0].lower() == b[0]) for a, b in pairs
            )
        )
    words = bare(f"{given} {family}")
    whole = [w for part in wanted.split() for w in bare(part) if len(bare(part)[-1]) > 1 or not w.isascii()]
    rest = [word[0] for word in words if word not in whole]
    initials = [w for w in bare(wanted) if w not in whole]
    return set(whole) <= set(words) and all(rest.count(w) >= initials.count(w) for w in initials)


def passes(paper: Paper, one: Filter) -> bool | None:
    """Return whether a paper passes, None where only its date does not tell."""
    others = [
        not one.venues or any(set(bare(v)) <= set(bare(paper.venue)) for v in one.venues),
        not one.categories or any(in_category(c, w) for c in paper.categories for w in one.categories),
        not one.authors or any(by_author(a, w) for a in paper.authors for w in one.authors),
        one.ids is None or bool({paper.id, *(f"{k}:{v}" for k, v in paper.identifiers)} & set(one.ids)),
    ]
    dates = [in_years(paper, one.first_year, one.last_year)]
    if one.as_of:
        dates.append(appeared_by(paper, one.as_of))
    if one.newer_than:
        old = appeared_by(paper, one.newer_than)
        dates.append(None if old is None else not old)
    if not all(others) or False in dates:
        return False
    return None if None in dates else True


def values(*choices: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.just(()) | st.lists(st.sampled_from(choices), min_size=1, max_size=2).map(tuple)


YEARS = st.none() | st.integers(2018, 2022)
FILTERS = st.builds(
    Filter,
    first_year=YEARS,
    last_year=YEARS,
    venues=values("acl", "ACL findings", "birds", "BIRDS journal", "etudes", "d'oiseaux", "bird", "ac"),
    authors=values(
        *("smith", "Smith, J", "Smith, JA", "Smith, J. A.", "Smith, John", "Smith, john andrew", "J Smith", "Smith, A"),
        *("van der Berg, J", "Berg, J", "berg", "VAN DER BERG", "Berg Jan", "muller", "MÜLLER, J", "Müller, Jean Paul"),
        *(
            "Muller, J.-P.",
            "li",
            "Li, W",
            "Wei Li",
            "Ludenscheidt, A",
            "Müller-Lüdenscheidt, A",
            "O'Brien",
            "O'Brien, K",
        ),
        *("Brien", "李", "李, 伟", "李 伟", "K O'Brien", "J. J. Smith", "Lin, W", "Smi"),
    ),
    categories=values("cs.CL", "CS.cl", "cs", "cs.*", "machine learning", "Machine", "math.*", "Q-Bio", "CL"),
    ids=st.none() | st.lists(st.integers(0, 399), min_size=1, max_size=200).map(lambda n: tuple(f"p{i}" for i in n)),
    as_of=st.none() | st.sampled_from(CUTS),
    newer_than=st.none() | st.sampled_from(CUTS),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILTERS)
def test_a_filter_never_lets_a_wrong_paper_in_and_never_loses_a_right_one(table, one):
    expected = [passes(paper, one) for paper in MADE]
    allowed = allowed_rows(table, one)
    assert allowed.mask.tolist() == [e is True for e in expected]
    assert allowed.undated == expected.count(None)
    assert allowed.count == expected.count(True)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILTERS, st.sets(st.integers(0, 399), max_size=300))
def test_hidden_papers_neither_pass_nor_count(table, one, hidden):
    expected = [passes(paper, one) if row not in hidden else False for row, paper in enumerate(MADE)]
    if one.ids is not None and hidden.issuperset(int(i[1:]) for i in one.ids):
        with pytest.raises(PaperNotFound):
            allowed_rows(table, one, hidden)
        return
    allowed = allowed_rows(table, one, hidden)
    assert (allowed.mask.tolist(), allowed.undated) == ([e is True for e in expected], expected.count(None))


@pytest.mark.parametrize(
    "one", [Filter(authors=(wanted,)) for wanted in ["Smith, JA", "van der Berg, J", "O'Brien, K"]]
)
def test_the_made_up_papers_put_names_to_the_test(one):
    found = [passes(paper, one) for paper in MADE]
    assert 5 < found.count(True) < 200


@pytest.mark.parametrize(
    "written, asked, fits",
    [
        ("John Andrew Smith", "Smith, J", True),
        ("John Andrew Smith", "Smith, J.", True),
        ("John Andrew Smith", "Smith, JA", True),
        ("John Andrew Smith", "Smith, J. A.", True),
        ("John Andrew Smith", "Smith, JB", False),
        ("John Andrew Smith", "Smith, A", False),
        ("JA Smith", "Smith, John Andrew", True),
        ("JA Smith", "J Smith", True),
        ("Smith, JA", "Smith, J A", True),
        ("Smith, J", "Smith, JA", False),
        ("SMITH, J A", "Smith, John", True),
        ("John Smith Jr.", "Smith, John", True),
        ("Smith, John, Jr.", "Smith, J", True),
        ("Smith, John, Jr.", "John Smith Jr", True),
        ("Ada Goldsmith", "smith", False),
        ("LI Wei", "Li", True),
        ("Wei LI", "Li, W", True),
        ("Jo Smith", "Smith, Jo", True),
        ("Berg, Jan van der", "van der Berg, J", True),
        ("Jan Van Der Berg", "van der berg, j", True),
        ("Jan van der Berg", "Berg, J", False),
        ("Jan van der Berg", "der Berg, J", False),
        ("Arantza Diaz de Ilarraza", "Diaz de Ilarraza, A", True),
        ("Arantza Diaz de Ilarraza", "de Ilarraza, A", True),
        ("Arantza Diaz de Ilarraza", "Ilarraza, A", False),
        ("Jan van der Berg Jr.", "van der Berg, J", True),
        ("Maria Garcia Lopez", "Garcia Lopez, M", True),
        ("Maria Garcia Lopez", "Lopez, M", True),
        ("Oscar Brien", "O'Brien", False),
        ("Oscar Brien", "O'Brien, O", False),
        ("Jean-Paul Sartre", "Sartre, JP", True),
        ("Li Wei", "Li, Wei", False),
        ("李，伟", "李, 伟", True),
        ("李伟", "李伟", True),
        ("李伟", "李", False),
        ("김철수", "김철수", True),
        ("Lovelace", "Lovelace, A", False),
        ("Lovelace, A", "Lovelace,", True),
        ("Ting-YiLi", "Ting", True),
        ("Ada, Countess of Lovelace", "Lovelace Ada", True),
        (" , ; ", "Ada", False),
        ("| x , * y _ |", "Y", False),
    ],
)
def test_names_and_initials(tmp_path, written, asked, fits):
    with open_table(tmp_path, Paper("a", "T", authors=("Grace Hopper", written))) as one:
        if asked == "Y":
            asked = "X Y Z Hopper"
        assert allowed_rows(one, Filter(authors=(asked,))).count == fits


def test_all_words_stand_in_the_name_of_one_author(tmp_path):
    with open_table(tmp_path, Paper("a", "T", authors=("Ada Lovelace", "Grace Hopper"))) as one:
        assert allowed_rows(one, Filter(authors=("grace hopper",))).count == 1
        assert allowed_rows(one, Filter(authors=("Ada Hopper",))).count == 0
        assert allowed_rows(one, Filter(authors=("Ada Hopper", "hopper"))).count == 1


@pytest.mark.parametrize(
    "wanted", [{"authors": ("J",)}, {"authors": ("!",)}, {"venues": ("",)}, {"categories": (".*",)}]
)
def test_a_value_without_a_word_is_refused(table, wanted):
    with pytest.raises(UsageError, match="holds no w"):
        allowed_rows(table, Filter(**wanted))


def test_rows_added_after_a_moment(tmp_path):
    with open_table(tmp_path, *MADE[:20]) as one:
        (added,) = {when for (when,) in one.facets("added", "1", [])}
        assert allowed_rows(one, Filter(added_after=added - 1)).count == 20
        assert allowed_rows(one, Filter(added_after=added)).count == 0


def test_a_damaged_date_of_a_filter_is_refused(table):
    with pytest.raises(UsageError, match="'soon' is no date"):
        allowed_rows(table, Filter(as_of="soon"))


def test_ids_in_any_spelling_and_those_that_are_not_there(table):
    allowed = allowed_rows(table, Filter(ids=("P7", "https://doi.org/10.1000/9", "p7", *(f"no{n}" for n in range(5)))))
    assert allowed.mask.nonzero()[0].tolist() == [7, 9]
    assert allowed.missing == ("no0", "no1", "no2", "no3", "no4")
    assert allowed.notes == ("5 ids are not in the index: 'no0', 'no1', 'no2' ....",)
    with pytest.raises(PaperNotFound, match="None of the 2 ids to choose from is in the index: 'p', 'x'"):
        allowed_rows(table, Filter(ids=("p", "x")))
    with pytest.raises(PaperNotFound, match="empty"):
        allowed_rows(table, Filter(ids=()))


def test_notes_count_what_was_left_out():
    mask = np.array([True, False, True])
    assert (Allowed(mask).notes, Allowed(mask).count) == ((), 2)
    notes = [Allowed(mask, undated).notes[0] for undated in (1, 1234)]
    assert notes[0].startswith("1 paper was left out because the date is unknown")
    assert notes[1].startswith("1,234 papers were left out")
