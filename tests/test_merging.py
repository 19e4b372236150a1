"""Which records are one paper: every rule with its exact case, whatever the order of arrival."""

from __future__ import annotations

import json
import random
from dataclasses import astuple, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semsearch.merging import cluster, content_key, from_data, linking_keys, merge, titles_agree, to_data
from semsearch.paper import Paper
from semsearch.reading import read_library

ABSTRACT = "We study graphs and find that they are larger than was thought before by most of those who study them"
SHORT = " ".join(ABSTRACT.split()[:11])
OTHER = "Cells divide in the night while nobody looks at what they do and how they come to do it at all"


def paper(id_: str = "", **fields: object) -> Paper:
    """Return a paper of which title, year and first author are those of all others, unless it says otherwise."""
    usual = {"title": "Graphs are large", "year": 2020, "authors": ("Ann Lee", "Bo Ek")}
    return Paper(id_, **{**usual, **fields})  # type: ignore[arg-type]


def identified(id_: str, *identifiers: tuple[str, str], **fields: object) -> Paper:
    return paper(id_, identifiers=identifiers, **fields)


def are_one(*papers: Paper) -> bool:
    groups = cluster(papers)
    assert sorted(i for group in groups for i in group) == list(range(len(papers)))
    assert groups_of(list(papers)) == groups_of(list(reversed(papers)))
    linked = any(set(linking_keys(a)) & set(linking_keys(b)) for a in papers for b in papers if a is not b)
    assert len(groups) > 1 or linked or len(papers) == 1  # else an index would never compare them
    return len(groups) == 1


def groups_of(papers: list[Paper]) -> set[frozenset[bytes]]:
    """Return the clusters by what is in them, not by where it stood."""
    return {frozenset(content_key(papers[i]) for i in group) for group in cluster(papers)}


@pytest.mark.parametrize(("kind", "one", "other"), [
    ("doi", "10.1000/1", "10.1000/2"), ("arxiv", "2106.01345", "2106.01346"), ("pmid", "1", "2"),
    ("acl", "N19-1423", "N19-1424"), ("openalex", "W10001", "W10002"), ("s2", "a" * 40, "b" * 40),
    ("id:jsonl", "p1", "p2"), ("id:bibtex:a.bib", "lee2020", "lee2020a"),
])
def test_an_identifier_of_one_kind_that_differs_makes_two(kind: str, one: str, other: str) -> None:
    first, second = identified("a", (kind, one), abstract=ABSTRACT), identified("b", (kind, other), abstract=ABSTRACT)
    assert not are_one(first, second)
    assert are_one(first, identified("b", (kind, one), abstract=ABSTRACT))


def test_one_that_differs_outweighs_one_that_is_equal() -> None:
    assert not are_one(identified("a", ("doi", "10.1000/1"), ("arxiv", "2106.01345")),
                       identified("b", ("doi", "10.1000/1"), ("arxiv", "2106.01346")))


def test_identifiers_of_different_kinds_do_not_differ() -> None:
    assert are_one(identified("a", ("doi", "10.1000/1")), identified("b", ("arxiv", "2106.01345")))
    assert are_one(identified("a", ("id:bibtex:a.bib", "x")), identified("b", ("id:bibtex:b.bib", "y")))


def test_of_several_of_one_kind_one_in_common_is_enough() -> None:
    both = identified("a", ("doi", "10.1000/1"), ("doi", "10.1000/2"))
    assert are_one(both, identified("b", ("doi", "10.1000/2")))
    assert not are_one(both, identified("b", ("doi", "10.1000/3")))


@pytest.mark.parametrize(("title", "agrees"), [
    ("Graphs are large", True),
    ("GRAPHS are large.", True),
    ("", True),
    ("Graphs are large and heavy", False),  # three words may begin anything
    ("Graphs are small", False),
    ("Erratum to: Graphs are large", False),
    ("Cells divide", False),
])
def test_an_equal_doi_needs_titles_that_agree(title: str, agrees: bool) -> None:
    first = identified("a", ("doi", "10.1000/1"), abstract=ABSTRACT)
    second = identified("b", ("doi", "10.1000/1"), title=title, year=1999, authors=("Cy Moe",), abstract=OTHER)
    assert are_one(first, second) is agrees


def test_titles_that_agree() -> None:
    assert titles_agree("graphs are large things", "graphs are large things a study of many")  # its subtitle left out
    assert titles_agree("the graphs are very large indeed in town", "graphs are very large indeed in town")
    assert not titles_agree("a study of graphs part one", "a study of cells part one")


def test_a_doi_that_stands_in_for_the_title_alone() -> None:
    """Without a title of its own the first sentence stands in, which says nothing about another's title."""
    one = identified("a", ("doi", "10.1000/1"), title="We study graphs", title_stands_in=True, abstract=ABSTRACT)
    assert are_one(one, identified("b", ("doi", "10.1000/1"), title="Graphs are large", abstract=ABSTRACT))
    assert not are_one(replace(one, identifiers=()), replace(one, id="b", abstract=OTHER, identifiers=()))


@pytest.mark.parametrize(("abstracts", "one"), [
    ((ABSTRACT, ABSTRACT), True),
    ((ABSTRACT, ABSTRACT.upper() + "."), True),
    ((ABSTRACT, ""), True),
    (("", ""), True),
    ((ABSTRACT, SHORT), True),  # cut off, but more than half of it
    ((ABSTRACT, ABSTRACT.replace("larger", "bigger")), True),
    ((ABSTRACT, OTHER), False),
    ((ABSTRACT, "We study graphs"), False),  # too short to say
])
def test_equal_title_year_and_first_author_need_abstracts_that_agree(abstracts: tuple[str, str], one: bool) -> None:
    assert are_one(*(paper(id_, abstract=text) for id_, text in zip("ab", abstracts, strict=True))) is one


@pytest.mark.parametrize("changes", [
    {"title": "Graphs are small"}, {"title": ""}, {"year": 2021}, {"year": None}, {"authors": ("Cy Moe", "Ann Lee")},
    {"authors": ()},
])
def test_without_an_identifier_all_three_must_be_there_and_equal(changes: dict[str, object]) -> None:
    assert not are_one(paper("a", abstract=ABSTRACT), paper("b", abstract=ABSTRACT, **changes))
    missing = {name: value for name, value in changes.items() if not value}
    if missing:
        nearly = ABSTRACT.replace("larger", "bigger")
        assert not are_one(paper("a", abstract=ABSTRACT, **missing), paper("b", abstract=nearly, **missing))
        assert are_one(paper("a", abstract=ABSTRACT, **missing), paper("b", abstract=ABSTRACT, **missing))  # met twice


def test_case_punctuation_and_diacritics_of_titles_do_not_matter() -> None:
    assert are_one(paper("a", title="Größe: the size of Graphs!"), paper("b", title="GRÖSSE — The Size of graphs"))


@pytest.mark.parametrize(("one", "other", "same"), [
    ("Ann Lee", "A. Lee", True),
    ("Ann Lee", "Lee, Ann", True),
    ("Ann Lee", "LEE, A.", True),
    ("Ada M. Lee Jr.", "Ada Lee", True),
    ("Lee, Ada, Jr.", "A. Lee", True),
    ("Lee Jr., Ada", "Ada Lee", True),
    ("Louis J. Maher 3rd", "L. J. Maher", True),
    ("José Muñoz", "Jose Munoz", True),
    ("Jan van der Berg", "J. van der Berg", True),
    ("van der Berg, Jan", "J. van der Berg", False),  # in doubt: two
    ("Ann Lee", "Ann Leeson", False),
    ("Wei Li", "Li Wei", False),
    ("ATLAS Collaboration", "The ATLAS Collaboration", True),
])
def test_first_authors_are_compared_by_family_name(one: str, other: str, same: bool) -> None:
    assert are_one(paper("a", authors=(one,)), paper("b", authors=(other, "Bo Ek"))) is same


def test_a_third_record_does_not_join_two_that_differ() -> None:
    first, second = identified("a", ("doi", "10.1000/1")), identified("b", ("doi", "10.1000/2"))
    between = paper("c", abstract=ABSTRACT)
    groups = cluster([first, between, second])
    assert sorted(map(len, groups)) == [1, 2]
    assert groups_of([first, between, second]) == groups_of([second, between, first])


def test_a_chain_of_equal_identifiers_is_one() -> None:
    assert are_one(
        identified("a", ("doi", "10.1000/1")),
        identified("b", ("doi", "10.1000/1"), ("pmid", "7"), year=2019),
        identified("c", ("pmid", "7"), year=2018),
    )


@pytest.mark.parametrize("count", [300, 600])
def test_a_placeholder_doi_on_hundreds_of_papers_joins_none(count: int) -> None:
    many = [identified(f"p{n}", ("doi", "10.1000/placeholder"), title=f"Study {n} of the graph number {n * 7919}",
                       authors=(f"Author Name{n}",)) for n in range(count)]
    assert len(cluster(many)) == count
    doubled = many + [replace(p, id=f"q{p.id}", abstract=ABSTRACT) for p in many[:5]]
    assert sorted(len(group) for group in cluster(doubled)) == [1] * (count - 5) + [2] * 5


WORKS = st.builds(
    lambda id_, title, year, author, abstract, doi, arxiv, key: Paper(
        id_, title, abstract, (author,) if author else (), year, doi=doi,
        identifiers=tuple(pair for pair in (("doi", doi), ("arxiv", arxiv), ("id:jsonl", key)) if pair[1])),
    st.sampled_from("abcdef"),
    st.sampled_from(["Graphs are large", "Graphs are large things indeed", "Cells divide", ""]),
    st.sampled_from([2020, 2021, None]), st.sampled_from(["Ann Lee", "A. Lee", "Bo Ek", ""]),
    st.sampled_from([ABSTRACT, SHORT, OTHER, ""]), st.sampled_from(["", "10.1000/1", "10.1000/2"]),
    st.sampled_from(["", "2106.01345"]), st.sampled_from(["", "", "k1", "k2"]))


@given(st.lists(WORKS, max_size=9), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=400)
def test_the_order_of_arrival_does_not_matter(papers: list[Paper], chance: random.Random) -> None:
    shuffled = papers.copy()
    chance.shuffle(shuffled)
    assert groups_of(papers) == groups_of(shuffled)
    merged = sorted(to_data(merge([papers[i] for i in group])) for group in cluster(papers))
    assert merged == sorted(to_data(merge([shuffled[i] for i in group])) for group in cluster(shuffled))


@given(st.lists(WORKS, max_size=9))
@settings(deadline=None, max_examples=300)
def test_no_paper_has_two_identifiers_of_a_kind_that_no_record_had_together(papers: list[Paper]) -> None:
    for group in cluster(papers):
        for kind in ("doi", "arxiv"):
            assert len({value for i in group for k, value in papers[i].identifiers if k == kind}) <= 1


@pytest.mark.parametrize(("one", "other"), [
    ("Modelling of coffee and sleep in adults Part I", "Modelling of coffee and sleep in adults Part II numbers"),
    ("Coffee and sleep in many adults 1", "Coffee and sleep in many adults 2"),
    ("Coffee and sleep in many adults", "Erratum coffee and sleep in many adults"),
    ("Coffee and sleep in many adults", "Reply to coffee and sleep in many adults"),
])
def test_parts_errata_and_replies_are_works_of_their_own(one: str, other: str) -> None:
    doi = ("doi", "10.1000/1")
    assert not are_one(identified("a", doi, title=one), identified("b", doi, title=other))


def test_a_number_that_two_libraries_gave_makes_no_paper_one() -> None:
    assert not are_one(paper("7", title="Coffee and sleep in adults", abstract=ABSTRACT),
                       paper("7", title="Deep learning for protein folding", abstract=OTHER))


def test_two_keys_of_one_file_may_stand_for_one_work_with_one_doi() -> None:
    keys = [("doi", "10.1000/1"), ("id:bibtex:a.bib", "k1")], [("doi", "10.1000/1"), ("id:bibtex:a.bib", "k2")]
    assert are_one(*(identified("a", *pairs) for pairs in keys))
    assert not are_one(*(identified("a", *pairs[1:]) for pairs in keys))


@pytest.mark.parametrize("title", ["Editorial", "Book review"])
def test_a_title_that_says_nothing_needs_an_abstract(title: str) -> None:
    assert not are_one(paper("a", title=title), paper("b", title=title, abstract=ABSTRACT))
    assert are_one(paper("a", title=title, abstract=ABSTRACT), paper("b", title=title, abstract=ABSTRACT.upper()))


@pytest.mark.parametrize(("one", "other", "same"), [
    ("Smith R.", "Smith, Robert", True), ("Smith R.J.", "Robert Smith", True), ("Smith RJ", "Smith, R. J.", True),
    ("Smith R.", "Jones R.", False), ("Wei Xu", "Wei Li", False), ("van der Berg A.", "van der Berg, Anna", True),
])
def test_family_names_with_initials_behind(one: str, other: str, same: bool) -> None:
    assert are_one(paper("a", authors=(one,)), paper("b", authors=(other,))) is same


def test_the_fuller_record_wins_field_by_field() -> None:
    full = paper("full", abstract=ABSTRACT, venue="J. Graphs", date="2020-05", url="https://x.org/1",
                 identifiers=(("doi", "10.1000/1"),), doi="10.1000/1")
    thin = paper("thin", title="GRAPHS ARE LARGE", language="en", categories=("graphs",), venue="Journal of Graphs",
                 identifiers=(("arxiv", "2106.01345"),))
    merged = merge([thin, full])
    assert merged == merge([full, thin])
    assert (merged.id, merged.title, merged.venue) == ("full", "Graphs are large", "J. Graphs")
    assert (merged.language, merged.categories) == ("en", ("graphs",))
    assert merged.identifiers == (("arxiv", "2106.01345"), ("doi", "10.1000/1"))


def test_a_title_of_its_own_goes_before_one_that_stands_in() -> None:
    stands_in = identified("a", ("doi", "10.1000/1"), title="We study graphs", title_stands_in=True, abstract=ABSTRACT,
                           venue="V", url="https://x.org", language="en")
    merged = merge([stands_in, identified("b", ("doi", "10.1000/1"))])
    assert (merged.title, merged.title_stands_in, merged.abstract) == ("Graphs are large", False, ABSTRACT)


def test_date_and_year_of_the_merged_paper_belong_together() -> None:
    dated = identified("a", ("doi", "10.1000/1"), year=2019, date="2019-12")
    later = identified("b", ("doi", "10.1000/1"), year=2020, abstract=ABSTRACT, venue="V", url="https://x.org")
    merged = merge([dated, later])
    assert (merged.year, merged.date) == (2019, "2019-12")


@given(WORKS)
@settings(deadline=None, max_examples=50)
def test_stored_papers_come_back_as_they_were(work: Paper) -> None:
    assert from_data(to_data(work)) == work
    assert content_key(from_data(to_data(work))) == content_key(work)


@pytest.mark.slow
def test_the_whole_anthology_stays(shared_data: Path) -> None:
    with read_library(sorted((shared_data / "acl-anthology").glob("*.jsonl.gz"))) as library:
        counts = [file.counts for file in library.report()]
        assert [(c.records, c.papers, c.merged, c.rejected) for c in counts] == [
            (27531, 27531, 0, 0), (27134, 27134, 0, 0), (4294, 4294, 0, 0)]
        assert len(library) == 58_959


@given(st.lists(st.builds(Paper, st.text(), title=st.text(), year=st.none() | st.integers()), min_size=1, max_size=4))
def test_data_is_that_of_the_paper_itself_whichever_was_asked_about_before(papers: list[Paper]) -> None:
    for one in [*papers, *papers, papers[0]]:
        assert to_data(one) == json.dumps(astuple(one), ensure_ascii=False, separators=(",", ":"))
        assert from_data(to_data(one)) == one


@pytest.mark.parametrize("data", ["[]", "{}", '["1", "a title"]', json.dumps([*astuple(paper("1")), 1]), '"text"', "{"])
def test_data_of_another_shape_is_refused(data: str) -> None:
    with pytest.raises(ValueError):
        from_data(data)


def test_a_single_record_is_its_paper_with_its_identifiers_in_order() -> None:
    alone = identified("1", ("pmid", "7"), ("doi", "10.1234/a"))
    assert merge([alone]) == replace(alone, identifiers=(("doi", "10.1234/a"), ("pmid", "7")))
    assert merge([merge([alone])]) == merge([alone])
