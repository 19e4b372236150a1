"""A sound file of every format that is read, made by chance, with the papers that must come of it."""

from __future__ import annotations

import csv
import io
import json
import random
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from readers.document_samples import SAMPLES as DOCUMENTS
from readers.document_samples import Sample as Document

TAME_WORDS = "graph network über naïve 图神经网络 модель learning “quoted” sparse 3.5 data-driven Q&A".split(" ")
WILD_WORDS = "a,b c;d $x^2$ et al. data\u2028set {\\'e} 100% <5 \"said\" | # @ 50~% & -- and".split(" ")
VERBS = ("drew", "liked", "über", "图神经网络", "проверили", "saw")
MOST_WORKS = 12


@dataclass(frozen=True)
class Work:
    """A paper that goes into a file."""

    number: int
    title: str
    abstract: str
    year: int

    @property
    def text(self) -> tuple[str, str]:
        """What must be read back, title and abstract."""
        return self.title, self.abstract


@dataclass(frozen=True)
class Sample:
    """A file: its bytes, and title and abstract of its papers in order, where they are known exactly."""

    data: bytes
    texts: list[tuple[str, str]]


@dataclass(frozen=True)
class Kind:
    """A format: the names that its files have, and what makes one; `tame` keeps to words that no format changes."""

    names: tuple[str, ...]
    make: Callable[[random.Random, bool], Sample]


def sentence(chance: random.Random, tame: bool) -> str:
    """Return a sentence of a few words."""
    words = TAME_WORDS if tame else TAME_WORDS + WILD_WORDS
    return "We see " + " ".join(chance.choices(words, k=chance.randint(3, 25))) + "."


def works(chance: random.Random, tame: bool) -> list[Work]:
    """Return a few works."""
    return [
        Work(
            number,
            f"Study {number} of " + " ".join(chance.choices(TAME_WORDS, k=chance.randint(2, 12))),
            " ".join(sentence(chance, tame) for _ in range(chance.randint(2, 4))),
            2000 + number,
        )
        for number in range(1, chance.randint(1, MOST_WORKS) + 1)
    ]


def _texts(made: Iterable[Work]) -> list[tuple[str, str]]:
    return [work.text for work in made]


def _wrapped(text: str, indent: str) -> str:
    lines = textwrap.wrap(text, 70, break_on_hyphens=False, break_long_words=False)
    return f"\n{indent}".join(lines)


def jsonl(chance: random.Random, tame: bool) -> Sample:
    """Return JSON Lines."""
    made = works(chance, tame)
    ascii_only = chance.random() < 0.5
    lines = [
        json.dumps(
            {
                "id": work.number,
                "title": work.title,
                "abstract": work.abstract,
                "authors": ["Ann Lee", "Bo Ek"],
                "year": work.year,
                "doi": f"10.1000/{work.number}",
            },
            ensure_ascii=ascii_only,
        )
        for work in made
    ]
    return Sample("".join(line + "\n" for line in lines).encode(), _texts(made))


def table(chance: random.Random, tame: bool) -> Sample:
    """Return a table."""
    made = works(chance, tame)
    text = io.StringIO(newline="")
    quoting = chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(text, delimiter=chance.choice(",;\t|"), quoting=quoting)
    writer.writerow(["Id", "Title", "Abstract", "Authors", "Year"])
    for work in made:
        abstract = work.abstract if tame else work.abstract.replace(". ", ".\n")
        writer.writerow([work.number, work.title, abstract, "Lee, A.; Ek, B.", work.year])
    return Sample(text.getvalue().encode(), _texts(made))


def plain_text(chance: random.Random, tame: bool) -> Sample:
    """Return a plain text list; its papers have no titles."""
    made = works(chance, tame)
    gap = chance.choice(["\n\n", "\n"])
    paragraphs = [f"In study {work.number} we look again. {work.abstract}" for work in made]
    data = gap.join(["ICLR 2025 论文列表", *paragraphs]).encode()
    return Sample(data, [("", paragraph) for paragraph in paragraphs])


def bibtex(chance: random.Random, tame: bool) -> Sample:
    """Return entries of BibTeX."""
    made = works(chance, tame)
    opening, closing = chance.choice(["{}", '""'] if tame else ["{}"])
    entries = ["@string{jg = {J. Graphs}}\n"] + [
        f"@article{{key{work.number},\n  title = {opening}{work.title}{closing},\n"
        f"  author = {{Lee, Ann and van der Berg, Jan}},\n  journal = jg, year = {work.year},\n"
        f"  abstract = {opening}{_wrapped(work.abstract, '    ')}{closing}\n}}\n"
        for work in made
    ]
    return Sample("\n".join(entries).encode(), _texts(made))


def refer(chance: random.Random, tame: bool) -> Sample:
    """Return records of refer."""
    made = works(chance, tame)
    records = [
        f"%0 Journal Article\n%A Lee, Ann\n%T {work.title}\n%D {work.year}\n%R 10.1000/{work.number}\n"
        f"%X {work.abstract}\n"
        for work in made
    ]
    return Sample("\n".join(records).encode(), _texts(made))


def ris(chance: random.Random, tame: bool) -> Sample:
    """Return records of RIS."""
    made = works(chance, tame)
    records = [
        f"TY  - JOUR\nAU  - Lee, Ann\nTI  - {work.title}\nPY  - {work.year}\nDO  - 10.1000/{work.number}\n"
        f"AB  - {work.abstract}\nER  - \n"
        for work in made
    ]
    return Sample(chance.choice(["\n", ""]).join(records).encode(), _texts(made))


def medline(chance: random.Random, tame: bool) -> Sample:
    """Return records of MEDLINE."""
    made = works(chance, tame)
    records = [
        f"\nPMID- {1000 + work.number}\nOWN - NLM\nDP  - {work.year} May\nTI  - {_wrapped(work.title, '      ')}\n"
        f"AB  - {_wrapped(work.abstract, '      ')}\nFAU - Lee, Ann\nJT  - Journal of graphs\n"
        for work in made
    ]
    return Sample("".join(records).encode(), _texts(made))


def wos(chance: random.Random, tame: bool) -> Sample:
    """Return records of the Web of Science."""
    made = works(chance, tame)
    records = [
        f"PT J\nAU Lee, A\nTI {_wrapped(work.title, '   ')}\nSO GRAPHS\nAB {_wrapped(work.abstract, '   ')}\n"
        f"PY {work.year}\nUT WOS:{work.number:015d}\nER\n\n"
        for work in made
    ]
    head = "FN Clarivate Analytics Web of Science\nVR 1.0\n"
    return Sample((head + "".join(records) + "EF\n").encode(), _texts(made))


def wos_tab(chance: random.Random, tame: bool) -> Sample:
    """Return a table of the Web of Science."""
    made = works(chance, tame)
    rows = [
        f"J\tLee, A\t{work.title}\tGRAPHS\t{work.abstract}\t{work.year}\tWOS:{work.number:015d}" for work in made
    ]
    return Sample("\n".join(["PT\tAU\tTI\tSO\tAB\tPY\tUT", *rows, ""]).encode(), _texts(made))


def ovid(chance: random.Random, tame: bool) -> Sample:
    """Return records of Ovid."""
    made = works(chance, tame)
    records = [
        f"<{work.number}>\nAccession Number\n  {1000 + work.number}.\nAuthor\n  Lee, Ann;  Ek, Bo.\n"
        f"Title\n  {_wrapped(work.title, '  ')}.\nSource\n  Journal of Graphs. 8(6):1-2, {work.year}.\n"
        f"Abstract\n  {_wrapped(work.abstract, '  ')}\n\n"
        for work in made
    ]
    return Sample("".join(records).encode(), [(f"{work.title}.", work.abstract) for work in made])


def pubmed_abstract(chance: random.Random, tame: bool) -> Sample:
    """Return what PubMed calls "Abstract (text)"."""
    made = works(chance, tame)
    records = [
        f"{position}. J Graphs. {work.year} Aug 7;39(8):1421-1430. doi: 10.1000/{work.number}.\n\n"
        f"{_wrapped(work.title, '')}.\n\nLee A(1), Ek B(1).\n\nAuthor information:\n(1)Department of Graphs, Oslo.\n\n"
        f"{_wrapped(work.abstract, '')}\n\nDOI: 10.1000/{work.number}\nPMID: {1000 + work.number}\n\n\n"
        for position, work in enumerate(made, start=1)
    ]
    return Sample("".join(records).encode(), [(f"{work.title}.", work.abstract) for work in made])


def pubmed_summary(chance: random.Random, tame: bool) -> Sample:
    """Return what PubMed calls "Summary (text)"; it has no abstracts."""
    made = works(chance, tame)
    records = [
        "\n" + _wrapped(f"{position}: Lee A, Ek B. {work.title}. Nature. {work.year} Sep 5;573(7772):15. "
                        f"doi: 10.1000/{work.number}. PubMed PMID: {1000 + work.number}.", "") + "\n\n"
        for position, work in enumerate(made, start=1)
    ]
    return Sample("".join(records).encode(), [(f"{work.title}.", "") for work in made])


def parquet(chance: random.Random, tame: bool) -> Sample:
    """Return a Parquet file."""
    made = works(chance, tame)
    rows = [
        {"id": work.number, "title": work.title, "abstract": work.abstract, "authors": ["Ann Lee"], "year": work.year}
        for work in made
    ]
    data = io.BytesIO()
    codec = chance.choice(["snappy", "none", "zstd"])
    pq.write_table(pa.Table.from_pylist(rows), data, compression=codec, row_group_size=chance.randint(1, len(rows)))
    return Sample(data.getvalue(), _texts(made))


def _document(document: Document) -> Callable[[random.Random, bool], Sample]:
    """Return what makes a document of XML or JSON whose records follow from their numbers."""

    def make(chance: random.Random, tame: bool) -> Sample:
        numbers = range(1, chance.randint(1, MOST_WORKS) + 1)
        verb = chance.choice(VERBS)
        text = document.document(numbers, indent=chance.choice([None, 1])).replace("drew", verb)
        titles, abstracts = _DOCUMENT_TEXTS.get(document.name, ("Graph number {n}", "We {verb} {n} graphs."))
        expected = [(titles.format(n=n), abstracts.format(n=n, verb=verb)) for n in numbers]
        return Sample(text.encode(), expected)

    return make


_DOCUMENT_TEXTS = {"pubmed-xml": ("Graph number {n} & others.", "METHODS: We {verb} {n} graphs.")}

KINDS: dict[str, Kind] = {
    "jsonl": Kind(("papers.jsonl", "papers.ndjson", "papers.json", "papers"), jsonl),
    "csv": Kind(("papers.csv", "papers.tsv", "papers.txt"), table),
    "bibtex": Kind(("papers.bib", "papers.txt", "papers"), bibtex),
    "refer": Kind(("papers.enw", "papers.txt"), refer),
    "ris": Kind(("papers.ris", "papers.txt"), ris),
    "medline": Kind(("papers.nbib", "papers.txt"), medline),
    "wos": Kind(("savedrecs.txt", "papers.isi", "papers.ciw"), wos),
    "wos-tab": Kind(("savedrecs.txt", "papers.tsv"), wos_tab),
    "ovid": Kind(("papers.txt", "papers.ovid"), ovid),
    "pubmed-abstract": Kind(("abstracts.txt", "papers"), pubmed_abstract),
    "pubmed-summary": Kind(("pubmed_result.txt", "papers"), pubmed_summary),
    "parquet": Kind(("papers.parquet", "papers"), parquet),
    "text": Kind(("papers.txt", "papers.md", "papers"), plain_text),
    **{
        document.name: Kind(
            ("papers.xml", "papers.txt") if document.around else ("papers.json", "papers"), _document(document)
        )
        for document in DOCUMENTS
    },
}
"""Every format in `FORMATS`; a test sees to that."""
