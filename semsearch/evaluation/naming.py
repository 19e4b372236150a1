"""The papers of a test collection under the ids that an index gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from semsearch.errors import AmbiguousPaper, PaperNotFound
from semsearch.evaluation.judgments import Qrels
from semsearch.identifiers import alias_key
from semsearch.index.reader import IndexReader


class PaperNames:
    """Finds papers by the ids of a collection: their own, or one under which they were merged into another paper.

    An alias of another kind (a DOI, a PubMed number) and the beginning of an id name no paper here.
    """

    def __init__(self, reader: IndexReader) -> None:
        self._reader = reader
        every = reader.papers.ids()
        self._ids = {paper_id for row, paper_id in enumerate(every) if row not in reader.hidden}
        self._every = every
        self._found: dict[str, str | None] = {}

    def id_of(self, name: str) -> str | None:
        """Return the id of the paper that a collection calls `name`, None where it is not in the index."""
        if name in self._ids:
            return name
        if name not in self._found:
            self._found[name] = self._merged_into(name)
        return self._found[name]

    def judged_name(self, grades: Mapping[str, int]) -> dict[str, str]:
        """Return by the id in the index what one question's judgments call a paper, where that is something else.

        Of several names for one paper the one with the best grade is taken; a paper that is judged under its own id
        keeps it.
        """
        names: dict[str, str] = {}
        for name in grades:
            own = self.id_of(name)
            if own is not None and own != name and own not in grades and (
                    own not in names or grades[name] > grades[names[own]]):
                names[own] = name
        return names

    def missing(self, qrels: Qrels) -> tuple[int, int]:
        """Return how many judgments are about papers that are not in the index, and how many of those are relevant."""
        lost = [grade for grades in qrels.values() for name, grade in grades.items() if self.id_of(name) is None]
        return len(lost), sum(grade > 0 for grade in lost)

    def renamed(self, qrels: Qrels) -> int:
        """Return how many judged papers have another id in the index."""
        return len({name for name in _names(qrels) if self.id_of(name) not in (None, name)})

    def _merged_into(self, name: str) -> str | None:
        with suppress(PaperNotFound, AmbiguousPaper):
            row = self._reader.papers.find(name, self._reader.hidden)
            if alias_key("id", name) in self._reader.papers.keys_of(row):
                return self._every[row]
        return None


def _names(qrels: Qrels) -> Iterable[str]:
    return (name for grades in qrels.values() for name in grades)
