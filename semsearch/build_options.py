"""What a build can be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from semsearch.first_generation import NOW


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build.

    `model`, `revision`, `max_tokens`, `precision`, `factory`, `min_recall`, `language`: None keeps what the index has.
    `prune` removes what the sources no longer hold, `confirmed` even where that is over a quarter. `restore` forgets
    earlier deletions. `rebuild` starts without the current generation. `dry_run` reads and reports, and writes nothing.
    `vectors` are folders of shards that `encode` made: their vectors are taken before a text is encoded. `encode`:
    `now`, or `later` to leave off as soon as the index answers.
    """

    from_format: str | None = None
    model: str | None = None
    revision: str | None = None
    max_tokens: int | None = None
    device: str = "auto"
    trust_remote_code: bool = False
    factory: str | None = None
    min_recall: float | None = None
    language: str | None = None
    precision: str | None = None
    prune: bool = False
    confirmed: bool = False
    strict: bool = False
    restore: bool = False
    rebuild: bool = False
    dry_run: bool = False
    rejects_file: Path | None = None
    vectors: tuple[Path, ...] = ()
    encode: str = NOW

    @property
    def names_model(self) -> bool:
        """Whether the user asked for something about the model."""
        return any(asked is not None for asked in (self.model, self.revision, self.max_tokens, self.precision))
