"""Identifiers: many spellings, one value."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.identifiers import (
    alias_key,
    normalise_acl,
    normalise_arxiv,
    normalise_doi,
    normalise_openalex,
    normalise_pmid,
    spellings,
)

DOI_SUFFIXES = st.text(st.sampled_from("abcXYZ0123456789()[]<>;:/._-"), min_size=1, max_size=30)
ARXIV_IDS = st.builds(
    lambda year, month, number: f"{year:02d}{month:02d}.{number:05d}",
    st.integers(7, 26),
    st.integers(1, 12),
    st.integers(0, 99999),
)


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("10.1000/ABC", "10.1000/abc"),
        ("https://doi.org/10.1000/abc", "10.1000/abc"),
        ("http://dx.doi.org/10.1000/abc", "10.1000/abc"),
        ("doi: 10.1000/abc.", "10.1000/abc"),
        ("https://doi.org/10.1000%2Fabc", "10.1000/abc"),
        ("(see 10.1000/abc)", "10.1000/abc"),
        ("10.1016/S0140-6736(05)67889-3", "10.1016/s0140-6736(05)67889-3"),
        (
            "10.1002/(SICI)1097-4571(199510)46:9<1::AID-ASI1>3.0.CO;2-S",
            "10.1002/(sici)1097-4571(199510)46:9<1::aid-asi1>3.0.co;2-s",
        ),
        ("10.1000/abc).;", "10.1000/abc"),
        ("10.1000/", ""),
        ("10.1000/)", ""),
        ("10.1", ""),
        ("", ""),
        ("none", ""),
    ],
)
def test_normalise_doi(text: str, doi: str) -> None:
    assert normalise_doi(text) == doi


@given(st.integers(1000, 99999), DOI_SUFFIXES)
def test_a_normalised_doi_stays_as_it_is(prefix: int, suffix: str) -> None:
    doi = normalise_doi(f"10.{prefix}/{suffix}")
    assert normalise_doi(doi) == doi
    assert normalise_doi(f"https://doi.org/{doi}".upper()) == doi


@pytest.mark.parametrize(
    ("text", "arxiv"),
    [
        ("2106.01345", "2106.01345"),
        ("arXiv:2106.01345v2", "2106.01345"),
        ("ARXIV: 2106.01345", "2106.01345"),
        ("https://arxiv.org/abs/2106.01345v1", "2106.01345"),
        ("http://arxiv.org/pdf/2106.01345v3.pdf", "2106.01345"),
        ("https://arxiv.org/abs/2106.01345?context=cs", "2106.01345"),
        ("arXiv:2106.01345v1 [cs.LG] 2 Jun 2021", "2106.01345"),
        ("math/0207249", "math/0207249"),
        ("math.GT/0309136v2", "math.gt/0309136"),
        ("arXiv:hep-th/9901001", "hep-th/9901001"),
        ("10.48550/arXiv.2106.01345", "2106.01345"),
        ("0704.0001", "0704.0001"),
        ("2106.0134", "2106.0134"),
        ("2106.013", ""),
        ("P19-1001", ""),
        ("", ""),
    ],
)
def test_normalise_arxiv(text: str, arxiv: str) -> None:
    assert normalise_arxiv(text) == arxiv


@given(ARXIV_IDS, st.integers(1, 20))
def test_the_spellings_of_an_arxiv_id_are_one(arxiv: str, version: int) -> None:
    for spelling in (
        arxiv,
        f"{arxiv}v{version}",
        f"arXiv:{arxiv}",
        f"https://arxiv.org/abs/{arxiv}v{version}",
        f"https://arxiv.org/pdf/{arxiv}.pdf",
        f"10.48550/ARXIV.{arxiv}",
    ):
        assert normalise_arxiv(spelling) == arxiv
        assert f"arxiv:{arxiv}" in spellings(spelling)


@pytest.mark.parametrize(
    ("text", "pmid"),
    [
        ("PMID: 30898391", "30898391"),
        ("pmid:0030898391", ""),
        ("pmid:030898391", "30898391"),
        ("https://pubmed.ncbi.nlm.nih.gov/30898391/", "30898391"),
        ("https://www.ncbi.nlm.nih.gov/pubmed/30898391", "30898391"),
        ("30898391", ""),
        ("", ""),
    ],
)
def test_normalise_pmid(text: str, pmid: str) -> None:
    assert normalise_pmid(text) == pmid


@pytest.mark.parametrize(
    ("text", "acl"),
    [
        ("P19-1001", "P19-1001"),
        ("p19-1001", "P19-1001"),
        ("https://aclanthology.org/P19-1001/", "P19-1001"),
        ("https://aclanthology.org/2020.acl-main.1.pdf", "2020.acl-main.1"),
        ("2020.ACL-main.1", "2020.acl-main.1"),
        ("ACL: R19-1082", "R19-1082"),
        ("W19-50", ""),
        ("", ""),
    ],
)
def test_normalise_acl(text: str, acl: str) -> None:
    assert normalise_acl(text) == acl


@pytest.mark.parametrize(
    ("text", "openalex"),
    [
        ("https://openalex.org/W1995017064", "W1995017064"),
        ("w1995017064", "W1995017064"),
        ("https://api.openalex.org/works/W1995017064", "W1995017064"),
        ("A1995017064", ""),
        ("W12", ""),
    ],
)
def test_normalise_openalex(text: str, openalex: str) -> None:
    assert normalise_openalex(text) == openalex


def test_spellings_begin_with_the_id_itself() -> None:
    assert spellings(" My-Key ") == ["id:my-key"]
    assert spellings("https://doi.org/10.1000/ABC")[:2] == ["id:https://doi.org/10.1000/abc", "doi:10.1000/abc"]


def test_bare_digits_may_be_a_pubmed_id() -> None:
    assert spellings("30898391") == ["id:30898391", "pmid:30898391"]


@given(st.text())
def test_nothing_breaks_on_any_text(text: str) -> None:
    for normalise in (normalise_doi, normalise_arxiv, normalise_pmid, normalise_acl, normalise_openalex):
        assert isinstance(normalise(text), str)
    assert spellings(text)[0] == alias_key("id", text)


def test_a_doi_ends_before_a_control_character() -> None:
    assert normalise_doi("doi:10.1000/9\x13pmid") == "10.1000/9"
    assert normalise_doi("10.1000/\x00") == ""


@given(st.lists(st.sampled_from(["arXiv:", "2106.01345", "v2", " ", "[cs.LG]", "[1]", "?a", "#b", "math/0207249", "%23",
                                 "https://arxiv.org/abs/", "10.48550/arXiv.", ".pdf", "\n", "/"]), max_size=5))
def test_what_follows_an_arxiv_id_changes_nothing(parts: list[str]) -> None:
    bare = re.sub(r"\s*\[[\w.-]+\].*$|[?#].*$", "", unquote("".join(parts)).strip(), flags=re.DOTALL)
    assert normalise_arxiv("".join(parts)) == normalise_arxiv(bare)
