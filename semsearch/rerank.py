"""A second, slower look at the best hits: a cross-encoder reads question and paper together.

Beside `encoder` the only importer of sentence-transformers, inside functions: importing this module costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import EncodingFailed, ModelError, ModelUnusable
from semsearch.model_loading import check_device, encodable, hub_offline, set_environment, silence, untrained_weights

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

    from semsearch.models import LocalModel

SCORE_KIND: Final = "rerank"
CPU_BATCH: Final = 8
GPU_BATCH: Final = 64

_TRIAL: Final = ("Does it answer?", "It does.")
_SHOWN_CHARACTERS: Final = 60


def _unheard(amount: int) -> None:
    """Hear that texts were scored, and say nothing."""


class Reranker(Protocol):
    """Scores how well texts answer a question."""

    def score(self, question: str, texts: Sequence[str], advance: Callable[[int], None] = _unheard
              ) -> NDArray[np.float32]:
        """Return the `(n,)` float32 scores of the texts, in their order; higher is better.

        `advance` hears how many more texts were scored.
        """
        ...


class CrossEncoderReranker:
    """A `Reranker` made of a loaded model. Made by `load_reranker`."""

    def __init__(self, model: CrossEncoder, name: str) -> None:
        self._model = model
        self._name = name
        self._batch_size = CPU_BATCH if model.device.type == "cpu" else GPU_BATCH

    @property
    def device(self) -> str:
        """Where it runs, as torch spells it."""
        return str(self._model.device)

    def score(self, question: str, texts: Sequence[str], advance: Callable[[int], None] = _unheard
              ) -> NDArray[np.float32]:
        """Return the `(n,)` float32 scores of the texts, in their order, as the model's own activation gives them.

        Equal texts get equal scores. A pair that is longer than the model reads is cut by its own rule.

        Raises:
            EncodingFailed: a score is no number.
        """
        [asked] = encodable([question])
        given = encodable(texts)
        unique = sorted(dict.fromkeys(given), key=len, reverse=True)  # batches of similar length, the longest first
        scores: dict[str, float] = {}
        repeated = {text: given.count(text) for text in unique} if len(unique) < len(given) else {}
        while len(scores) < len(unique):
            batch = unique[len(scores):len(scores) + self._batch_size]
            found = self._predict([(asked, text) for text in batch])
            if found is None:
                continue
            scores.update(zip(batch, self._checked(found, batch).tolist(), strict=True))
            advance(sum(repeated.get(text, 1) for text in batch))
        return np.array([scores[text] for text in given], np.float32)

    def _predict(self, pairs: list[tuple[str, str]]) -> NDArray[np.float32] | None:
        """Return the scores of a batch, None where the device's memory does not hold it; the next is smaller."""
        try:
            with silence():
                scores: Any = self._model.predict(pairs, batch_size=len(pairs), show_progress_bar=False,
                                                  convert_to_numpy=True)
            return np.asarray(scores, np.float32)
        except RuntimeError as error:  # torch.OutOfMemoryError is one
            if "out of memory" not in str(error):
                raise
            if self._batch_size == 1:
                raise ModelError(f"The memory of {self.device} does not hold {self._name} and one paper.",
                                 "Give --device cpu, or a smaller cross-encoder.") from error
            self._batch_size //= 2
            return None

    def _checked(self, scores: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        if scores.shape != (len(texts),):
            from semsearch.models.cross_encoder import WAY_OUT

            raise ModelUnusable(f"The model {self._name} gives {scores.size} numbers for {len(texts)} pairs.", WAY_OUT)
        wrong = np.flatnonzero(~np.isfinite(scores))
        if wrong.size:
            text = texts[int(wrong[0])][:_SHOWN_CHARACTERS]
            raise EncodingFailed(f"The cross-encoder {self._name} gave the score {scores[wrong[0]]} to the text "
                                 f"{text!r} ({wrong.size} of {len(texts)} texts).",
                                 "Its files may be damaged: fetch the model again, or give another with --rerank.")
        return scores


def load_reranker(model: str, *, revision: str | None = None, device: str = "auto", trust_remote_code: bool = False,
                  allow_download: bool = True) -> CrossEncoderReranker:
    """Return the cross-encoder of a name or folder, loaded from this machine, fetched only where it is not there.

    Raises what `resolve_model` raises; ModelUnusable where the model is no cross-encoder, gives more than one score for
    a pair, makes no working model, or needs code from its repository without `trust_remote_code`; ModelError where the
    device is not there.
    """
    from semsearch.encoder import choose_device
    from semsearch.models import CROSS_ENCODER, refuse_foreign_activation, refuse_foreign_code, resolve_model
    from semsearch.models.cross_encoder import WAY_OUT

    check_device(device)
    local = resolve_model(model, revision, allow_download=allow_download, kind=CROSS_ENCODER)
    refuse_foreign_code(local.name, local.folder, trust_remote_code)
    refuse_foreign_activation(local.name, local.folder, trust_remote_code)
    set_environment()
    with silence() as warned:
        loaded = _load(local, choose_device(device), trust_remote_code)
    untrained = untrained_weights(warned)
    if untrained:
        raise ModelUnusable(f"The weights of the model {local.name} do not fit its config.json: {untrained[0]} and "
                            f"{len(untrained) - 1} more are not in {local.folder}.", "Fetch the model again.")
    if loaded.num_labels != 1:
        raise ModelUnusable(f"The model {local.name} gives {loaded.num_labels} numbers for a pair of texts, one for "
                            "each of its labels; which of them says how good a paper is cannot be told.", WAY_OUT)
    return CrossEncoderReranker(loaded, local.name)


def _load(local: LocalModel, device: str, trust_remote_code: bool) -> CrossEncoder:
    from semsearch.models import needs_another_repository

    fetches_code = trust_remote_code and needs_another_repository(local.folder)
    with hub_offline(unless=fetches_code):
        try:
            from sentence_transformers import CrossEncoder

            model: CrossEncoder = CrossEncoder(str(local.folder), device=device, local_files_only=not fetches_code,
                                               trust_remote_code=trust_remote_code)
            model.float()  # from half precision it is exact
            model.eval()
            model.predict([_TRIAL], show_progress_bar=False)  # not all that is loaded gives scores
        except Exception as error:  # the files come from anywhere and fail in any way; none of it is our own code
            first_line = (str(error).strip().splitlines() or [""])[0]
            raise ModelUnusable(f"The model {local.name} cannot be loaded from {local.folder}: "
                                f"{type(error).__name__}: {first_line}",
                                "Its files may be damaged: fetch the model again, or give another.") from error
    return model
