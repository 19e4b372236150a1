"""An index opened for reading: one generation, with what was deleted since."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from semsearch.errors import PaperNotFound
from semsearch.index import generations
from semsearch.index.manifest import PAPERS, Manifest
from semsearch.index.paper_table import PaperTable
from semsearch.index.state import State, read_state
from semsearch.spelling import spelt_index

if TYPE_CHECKING:
    from semsearch.filters import Filter
    from semsearch.index.lexical_index import LexicalIndex
    from semsearch.index.paper_filter import Allowed
    from semsearch.index.vector_index import VectorIndex


class IndexReader:
    """One generation of an index, held open; a context manager.

    `hidden` holds the rows of papers that were deleted and whose rows have not gone yet.
    """

    def __init__(self, index_folder: Path | str, *, repairing: bool = False) -> None:
        """Open the current generation; `repairing` as `generations.open_current` says.

        Raises:
            IndexNotFound, IndexDamaged, IndexFormatUnsupported: there is nothing to read.
        """
        self.folder = Path(index_folder)
        self.generation = generations.open_current(self.folder, repairing=repairing)
        try:
            self.state: State = read_state(self.folder)
            self.papers = PaperTable(self.generation.path(PAPERS), self.manifest.papers)
            self.hidden = frozenset(self.papers.rows_of_ids(self.state.deletions))
        except BaseException:
            self.generation.close()
            raise

    @property
    def manifest(self) -> Manifest:
        """What the generation is made of."""
        return self.generation.manifest

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vectors; opened when first asked for."""
        from semsearch.index.vector_index import VectorIndex

        return VectorIndex(self.generation.folder, self.manifest)

    @cached_property
    def lexical(self) -> LexicalIndex:
        """The words of the papers; opened when first asked for."""
        from semsearch.index.lexical_index import LexicalIndex

        return LexicalIndex(self.generation.folder, self.manifest)

    @property
    def visible(self) -> int:
        """How many papers can be found."""
        return self.manifest.papers - len(self.hidden)

    def allowed(self, filter: Filter) -> Allowed:
        """Return the rows that meet a filter, deleted papers never among them; raises as `allowed_rows`."""
        from semsearch.index.paper_filter import allowed_rows

        return allowed_rows(self.papers, filter, self.hidden)

    def find(self, name: str) -> int:
        """Return the row of the paper called `name`, as `PaperTable.find`.

        Raises:
            PaperNotFound: there is none, or it was deleted; then the message says so.
            AmbiguousPaper: there are several.
        """
        try:
            return self.papers.find(name, self.hidden)
        except PaperNotFound:
            deletion = self.state.find_deletion(name)
            if deletion is None:
                raise
            raise PaperNotFound(f"The paper {name!r} was deleted on {deletion.deleted[:10]}.",
                                f"Bring it back with: semsearch delete{spelt_index(self.folder)} --restore "
                                f"{deletion.id}") from None

    def close(self) -> None:
        """Close the files and give the generation back."""
        self.papers.close()
        self.generation.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()
