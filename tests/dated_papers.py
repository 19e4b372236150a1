"""Made-up papers with missing and imprecise dates and names in many spellings, and tables of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from semsearch.index.paper_table import PaperTable
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.staged_records import SourceEntry
from semsearch.paper import Paper

# What made-up papers are made of, spelt in several ways. Names as (given names, family name).
PEOPLE = [
    ("John Andrew", "Smith"),
    ("J. A.", "Smith"),
    ("J.", "Smith"),
    ("Anna", "Smith"),
    ("Jan", "van der Berg"),
    ("J.", "van der Berg"),
    ("Jean-Paul", "Müller"),
    ("J.-P.", "Muller"),
    ("Wei", "Li"),
    ("W.", "Lin"),
    ("Ada", "Müller-Lüdenscheidt"),
    ("Kevin", "O'Brien"),
    ("伟", "李"),
]
DATES = [
    "",
    "2019",
    "2020",
    "2021",
    "2020-05",
    "2020-06",
    "2020-12",
    "2021-01",
    "2020-06-14",
    "2020-06-15",
    "2020-06-16",
]
DATES += ["2020-06-30", "2020-07-01", "2020-12-31", "2021-01-01", "2024-02-29"]
CUTS = [date for date in DATES if date] + ["2024-02", "2024-03-01"]
VENUES = ["", "ACL", "Journal of Birds", "Proc. of the ACL: Findings", "Études d’oiseaux", "Birds"]
CATEGORIES = ["cs.CL", "cs.LG", "math.CO", "Machine Learning", "cs", "csx.CL", "q-bio.NC"]


def made_paper(number: int, chance: random.Random) -> Paper:
    date = chance.choice(DATES)
    year = chance.choice([None, int(date[:4])] if date else [None, None, 2019, 2020, 2021])
    return Paper(
        f"p{number}",
        f"Paper {number}",
        "An abstract.",
        tuple(
            chance.choice([f"{given} {family}", f"{family}, {given}"])
            for given, family in chance.sample(PEOPLE, chance.randint(0, 3))
        ),
        year,
        date,
        chance.choice(VENUES),
        tuple(chance.sample(CATEGORIES, chance.randint(0, 2))),
        identifiers=(("doi", f"10.1000/{number}"), ("id:jsonl", f"p{number}")),
    )


MADE = [made_paper(number, random.Random(number)) for number in range(400)]


def write_table(path: Path, papers: Sequence[Paper], base: Path | None = None) -> Path:
    staged = StagedPapers(path, base)
    source = staged.begin_source("/a", "a")
    for line, paper in enumerate(papers, 1):
        staged.put(source, paper, line)
    staged.end_source(source, SourceEntry("/a", "a", "jsonl@1", "jsonl", "utf-8", "", "0" * 64))
    staged.merge([])
    staged.compact()
    staged.close()
    return path


def open_table(folder: Path, *papers: Paper) -> PaperTable:
    return PaperTable(write_table(folder / "papers.sqlite", papers), len(papers))
