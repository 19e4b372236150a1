"""Names turned: given names first."""

from __future__ import annotations

import pytest

from semsearch.person_names import given_first, initials_first


@pytest.mark.parametrize(
    ("name", "turned"),
    [
        ("Lee, Ada M.", "Ada M. Lee"),
        ("van der Berg, Jan", "Jan van der Berg"),
        ("Lee, Ada, Jr.", "Ada Lee Jr."),
        ("Lee, Jr., Ada", "Ada Lee Jr."),
        ("Lee, Ada Jr", "Ada Lee Jr"),
        ("Lee, Ada M 3rd", "Ada M Lee 3rd"),
        ("Ada M. Lee, Jr.", "Ada M. Lee Jr."),
        ("Whitfield, SR", "SR Whitfield"),
        ("Jiang, Nan", "Nan Jiang"),
        ("Hoven, null", "Hoven"),
        ("Shannon,Claude E.", "Claude E. Shannon"),
        ("Plato", "Plato"),
        ("Lee,", "Lee"),
        ("", ""),
        ("Institute of Graphs, Oslo", "Institute of Graphs, Oslo"),
        ("  Lee ,  Ada  M. ", "Ada M. Lee"),
    ],
)
def test_given_first(name: str, turned: str) -> None:
    assert given_first(name) == turned


@pytest.mark.parametrize(
    ("name", "turned"),
    [
        ("Lee A", "A Lee"),
        ("van der Zee HH", "HH van der Zee"),
        ("Maher LJ 3rd", "LJ Maher 3rd"),
        ("Adler D.G.", "D.G. Adler"),
        ("Liu R.", "R. Liu"),
        ("Ruiz Á", "Á Ruiz"),
        ("Ada Lee", "Ada Lee"),
        ("J. LEE", "J. LEE"),
        ("A. B. LEE", "A. B. LEE"),
        ("The XY Group", "The XY Group"),
        ("Institute XY", "Institute XY"),
        ("Plato", "Plato"),
        ("", ""),
    ],
)
def test_initials_first(name: str, turned: str) -> None:
    assert initials_first(name) == turned
