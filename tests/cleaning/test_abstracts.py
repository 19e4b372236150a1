"""Tidy text, titles and abstracts: exact values."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.cleaning import clean_abstract, clean_title, tidy

TIDY = [
    ("transfor-\nmation", "transformation"),
    ("transfor-\r\n   mation", "transformation"),
    ("transfor\u00ad\nmation", "transformation"),
    ("state-of-\nthe-art", "state-of-the-art"),
    ("state-\nof-the-art", "state-of-the-art"),
    ("well-\nknown", "well-known"),
    ("Bayes-\nNash", "Bayes-Nash"),
    ("GPT-\n4", "GPT-4"),
    ("pre-\nand post-training", "pre- and post-training"),
    ("graph-based and graph-\nbased", "graph-based and graph-based"),
    ("x-\nray", "x-ray"),
    ("a - \nb", "a - b"),
    ("Trans-\nformers", "Transformers"),
    ("one\n two\t three ", "one two three"),
    ("so\u00adft", "soft"),
    ("a\u200bb\ufeff", "ab"),
    ("a\x00b", "ab"),
    ("e\u0301", "é"),
    ("e\ufb03cient", "efficient"),
    ("Ｆｕｌｌ　１２", "Full 12"),
    ("（全角）", "（全角）"),
    ("\U0001d4a9 x² ½", "N x² ½"),
    ("a\u200db", "ab"),
    ("می\u200cخواهم", "می\u200cخواهم"),
    ("👩\u200d🔬", "👩\u200d🔬"),
    ("a\xa0b", "a b"),
    ("\ud800a", "a"),
]

ABSTRACTS = [
    ("Abstract: We do.", "We do."),
    ("ABSTRACT. We do.", "We do."),
    ("Abstract—We do.", "We do."),
    ("Abstract We do.", "We do."),
    ("Abstract\nTransformers are.", "Transformers are."),
    ("Abstract-We do.", "We do."),
    ("ABSTRACT Transformers are.", "Transformers are."),
    ("Summary. We do.", "We do."),
    ("SUMMARY: We do.", "We do."),
    ("Abstract: Summary: We do.", "We do."),
    ("Resumen: Hola.", "Hola."),
    ("Abstract interpretation is old.", "Abstract interpretation is old."),
    ("Abstract Interpretation is.", "Abstract Interpretation is."),
    ("Summary statistics are kept.", "Summary statistics are kept."),
    ("Abstract-level features.", "Abstract-level features."),
    ("Abstractive summaries.", "Abstractive summaries."),
    ("Abstract\ninterpretation is.", "Abstract interpretation is."),
    ("ABSTRACT REASONING is.", "ABSTRACT REASONING is."),
    ("We do. © 2019 Elsevier B.V. All rights reserved.", "We do."),
    ("We do. © 2010 Elsevier B.V.", "We do."),
    ("We do. Copyright (C) 2020 John Wiley & Sons, Ltd.", "We do."),
    ("We do. (c) 2004 Wiley Periodicals, Inc.", "We do."),
    ("We do. © The Author(s) 2021. Published by Oxford University Press.", "We do."),
    ("We do. Published by Elsevier Ltd.", "We do."),
    ("We do. (C) 2013 Elsevier B. V. All rights reserved.", "We do."),
    ("We do. All rights reserved.", "We do."),
    ("We do Crown Copyright (C) 2013 Published by Elsevier B.V. All rights reserved.", "We do"),
    ("We do. © 2010 The Authors. Journal compilation © 2010 British Ecological Society.", "We do."),
    ("We do. (PsycINFO Database Record (c) 2016 APA, all rights reserved)", "We do."),
    ("We do. © 2022 S. M. Senthil et al.", "We do."),
    ("We do. (C) 1999 American Institute of Physics. [S0021-9606(99)01641-4].", "We do."),
    ("We do. © IMechE 2024.", "We do."),
    (
        "We do. © 2017 Carreira et al. This is an open access article distributed under the terms of a License.",
        "We do.",
    ),
    ("© 2018 IEEE. We present x.", "We present x."),
    ("© 2019 Elsevier B.V. All rights reserved. We present x.", "We present x."),
    ("Copyright © 2015 John Wiley & Sons, Ltd. We present x.", "We present x."),
    ("© 2018 IEEE. Abstract: We present x.", "We present x."),
    ("The Pillcam© capsule is small.", "The Pillcam© capsule is small."),
    ("Copyright law is old.", "Copyright law is old."),
    ("It was published by Elsevier in 2004. We read it.", "It was published by Elsevier in 2004. We read it."),
    ("We test (a) x, (b) y and (c) 2004 samples of z.", "We test (a) x, (b) y and (c) 2004 samples of z."),
    ("BACKGROUND: One. METHODS: Two.", "BACKGROUND: One. METHODS: Two."),
    ("[No abstract available]", ""),
    ("No abstract", ""),
    ("N/A", ""),
    ("null", ""),
    ("Abstract not available", ""),
    ("Abstract", ""),
    ("No abstract available.", ""),
    ("-", ""),
    ("", ""),
    ("No abstract domain is complete.", "No abstract domain is complete."),
]


@pytest.mark.parametrize(("text", "tidied"), TIDY)
def test_tidy(text: str, tidied: str) -> None:
    assert tidy(text) == tidied


@pytest.mark.parametrize(("text", "cleaned"), ABSTRACTS)
def test_clean_abstract(text: str, cleaned: str) -> None:
    assert clean_abstract(text) == cleaned


def test_markup_is_what_the_source_says_it_is() -> None:
    assert clean_title(r"{BERT}: \emph{Pre-training} of $k$ &amp; more", "latex") == "BERT: Pre-training of k & more"
    assert clean_title("The <i>k</i>-means &amp; more", "html") == "The k-means & more"
    assert clean_title(r"On $\mathcal{N}=4$ and <i>x</i>", "html") == "On N=4 and x"
    assert clean_title("{a} ~5 <i>x</i>", "plain") == "{a} ~5 <i>x</i>"
    assert clean_abstract("<jats:title>Abstract</jats:title>\n <jats:p>We do.</jats:p>", "html") == "We do."
    assert clean_abstract("costs $5 {a} ~6", "html") == "costs $5 {a} ~6"


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from([*"ab.A \n-\u200d\u00ad\u0301", "Abstract", "©", " 2019 ", "Elsevier. "])).map(
            "".join
        ),
    )
)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean_abstract(text)
    assert clean_abstract(once) == once
    assert tidy(tidy(text)) == tidy(text)


@given(st.lists(st.text(alphabet=string.ascii_lowercase, min_size=1), min_size=1))
def test_plain_sentences_come_back_as_they_are(words: list[str]) -> None:
    sentence = "We read " + " ".join(words) + ", and more."
    assert clean_abstract(sentence) == sentence
    assert clean_abstract(sentence, "latex") == sentence
    assert clean_abstract(sentence, "html") == sentence


@pytest.mark.parametrize(
    "text", ["Abstract: " * 50_000, "© 2019 A. " * 50_000, "a-\n" * 100_000, " " * 500_000, "." * 500_000]
)
def test_hostile_text_ends(text: str) -> None:
    assert isinstance(clean_abstract(text), str)
