"""Names of authors folded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.index import author_names
from semsearch.index.author_names import folded_author

WORDS = st.sampled_from(["Ann", "LEE", "JA", "J", "van", "der", "Berg", "de", "Jr", "III", "al", "Bo", "X.", "O'Brien",
                         "é", "李", ",", "4th"])
NAMES = st.one_of(st.text(max_size=12), st.lists(WORDS, max_size=5).map(" ".join),
                  st.lists(WORDS, max_size=3).map("".join))


@pytest.mark.parametrize(("name", "folded"), [
    ("Ann Lee", "ann lee"),
    (" ann  Lee ", "ann lee"),
    ("Ann LEE", "ann lee *"),
    ("ANN LEE", "ann lee"),
    ("Jan van der Berg", "jan van _ der _ berg"),
    ("Ann Lee Jr", ", ann lee , jr"),
    ("Plato", "plato"),
    (" ", ""),
    ("", ""),
])
def test_folded(name: str, folded: str) -> None:
    assert folded_author(name) == folded


@given(NAMES)
def test_plain_names_are_folded_like_all(name: str) -> None:
    short = folded_author.__wrapped__(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(author_names, "_is_plain", lambda name: False)
        assert folded_author.__wrapped__(name) == short
