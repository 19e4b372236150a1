"""Texts -> unit vectors, with sentence-transformers on torch.

The only importer of both, inside functions: importing this module costs nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from semsearch.encoding import EncodedTexts, EncoderIdentity, EncoderRequest, Vectors, unit_rows
from semsearch.errors import EncodingFailed, ModelError, ModelUnusable
from semsearch.half_precision import HalfPrecision
from semsearch.model_loading import check_device, encodable, hub_offline, set_environment, silence, untrained_weights
from semsearch.models import (
    LocalModel,
    Prompts,
    identify,
    needs_another_repository,
    read_prompts,
    refuse_foreign_code,
    resolve_model,
)

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

CPU_BATCH_TOKENS: Final = 1024
"""Tokens at a time on a CPU, padding included: four abstracts. Larger batches leave its cache and pad more."""
GPU_BATCH_TOKENS: Final = 65_536
MOST_BATCH_TEXTS: Final = 512

_NOT_USED_FOR_VECTORS: Final = re.compile(r"(^|\.)(pooler|lm_head|cls|classifier|qa_outputs)(\.|$)")


class SentenceTransformerEncoder:
    """An `Encoder` made of a loaded model. Made by `load_encoder`."""

    def __init__(self, model: SentenceTransformer, identity: EncoderIdentity, prompts: Prompts) -> None:
        self._model = model
        self._identity = identity
        self._prompts = prompts
        self._batch_tokens = CPU_BATCH_TOKENS if model.device.type == "cpu" else GPU_BATCH_TOKENS
        self._half = HalfPrecision(model.device.type)

    @property
    def identity(self) -> EncoderIdentity:
        """What decides this encoder's vectors."""
        return self._identity

    @property
    def device(self) -> str:
        """Where it runs, as torch spells it."""
        return str(self._model.device)

    @property
    def parts(self) -> tuple[SentenceTransformer, Prompts]:
        """The model itself and what it puts before texts, for who exports it."""
        return self._model, self._prompts

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the vectors of documents, in their order, and their lengths in tokens.

        The lengths count special tokens and the model's prompt. Raises EncodingFailed, with the beginning of the
        text, where one comes out as something that is no unit vector.
        """
        readable = encodable(texts)
        lengths = self._count_tokens(readable, self._prompts.documents)
        vectors = self._encode(self._model.encode_document, readable, self._prompts.documents, lengths)
        return EncodedTexts(vectors, lengths)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the `(n, d)` float32 unit vectors of questions, in their order.

        Raises EncodingFailed as `encode_documents` does.
        """
        readable = encodable(texts)
        lengths = self._count_tokens(readable, self._prompts.queries)
        return self._encode(self._model.encode_query, readable, self._prompts.queries, lengths)

    def _encode(self, encode: Callable[..., Any], texts: list[str], prompt: str, lengths: NDArray[np.int32]) -> Vectors:
        if not texts:
            return np.empty((0, self._identity.dimension), dtype=np.float32)
        longest = max(1, min(int(lengths.max()), self._identity.max_tokens))

        def vectors_of(some: Sequence[str]) -> Vectors:
            return self._of_stated_dimension(self._in_batches(encode, list(some), prompt, longest))

        if self._half.is_untried:
            self._half.try_out(vectors_of, texts)
        try:
            return unit_rows(vectors_of(texts), texts)
        except EncodingFailed:
            if not self._half.is_on:
                raise
            self._half.refuse()  # a number too large for half precision
            return unit_rows(vectors_of(texts), texts)

    def _in_batches(self, encode: Callable[..., Any], texts: list[str], prompt: str, longest: int) -> Vectors:
        """Return the vectors of texts of at most `longest` tokens, as many at a time as the memory holds."""
        while True:
            together = max(1, min(self._batch_tokens // longest, MOST_BATCH_TEXTS))
            try:
                with silence(), self._half.products():
                    # The prompt is passed and not left to the library, which looks under fewer names for it.
                    return np.asarray(encode(texts, prompt=prompt, batch_size=together, show_progress_bar=False,
                                             normalize_embeddings=True, convert_to_numpy=True), dtype=np.float32)
            except RuntimeError as error:  # torch.OutOfMemoryError is one
                if "out of memory" not in str(error):
                    raise
                self._take_smaller_batches(together, longest)

    def _of_stated_dimension(self, vectors: Vectors) -> Vectors:
        if vectors.shape[1] != self._identity.dimension:
            raise ModelUnusable(f"The model {self._identity.model} gives vectors of {vectors.shape[1]} numbers; its "
                                f"files say {self._identity.dimension}.", "Fetch the model again, or give another.")
        return vectors

    def _take_smaller_batches(self, together: int, longest: int) -> None:
        """Halve the batch of so many texts and tokens each; vectors do not depend on it."""
        if together == 1:
            raise ModelError(f"The memory of {self.device} does not hold {self._identity.model} and one text.",
                             "Give --device cpu, or a smaller --max-tokens.")
        self._batch_tokens = together // 2 * longest

    def _count_tokens(self, texts: list[str], prompt: str) -> NDArray[np.int32]:
        if not texts:
            return np.empty(0, dtype=np.int32)
        tokenizer = self._model.tokenizer
        prompted = [prompt + text for text in texts]
        with silence():
            if _is_bare_tokenizer(tokenizer):
                with _without_truncation(tokenizer):
                    lengths = [len(one.ids) for one in tokenizer.encode_batch(prompted, add_special_tokens=False)]
            else:
                lengths = [len(ids) for ids in tokenizer(prompted, truncation=False, padding=False, verbose=False,
                                                         return_attention_mask=False)["input_ids"]]
        return np.array(lengths, dtype=np.int32)


def load_encoder(request: EncoderRequest, *, allow_download: bool = True) -> SentenceTransformerEncoder:
    """Return the encoder that a request names, loaded from this machine, fetched first only where it is not there.

    Raises what `resolve_model` and `identify` raise; ModelUnusable where the files make no working encoder or need
    code from their repository without `trust_remote_code`; ModelError where the device is not there.
    """
    check_device(request.device)
    local = resolve_model(request.model, request.revision, allow_download=allow_download)
    refuse_foreign_code(local.name, local.folder, request.trust_remote_code)
    identity = identify(local, request.max_tokens)
    set_environment()
    with silence() as warned:
        device = choose_device(request.device)
        model = _load(local, identity, device, request.trust_remote_code)
    _refuse_untrained(local, warned)
    return SentenceTransformerEncoder(model, identity, read_prompts(local.folder))


def choose_device(asked: str) -> str:
    """Return the device to use, as torch spells it; `auto` is the first of cuda, mps and cpu that is there.

    Raises ModelError, naming what torch has, where the one asked for is not there.
    """
    import torch

    there = ["cpu"]
    if torch.backends.mps.is_available():
        there.insert(0, "mps")
    if torch.cuda.is_available():
        there = [f"cuda:{number}" for number in range(torch.cuda.device_count())] + there
    if asked == "auto":
        return there[0].partition(":")[0]
    if not any(device == asked or device.partition(":")[0] == asked.removesuffix(":0") for device in there):
        raise ModelError(f"The device {asked} is not there: torch {torch.__version__} has {', '.join(there)}.",
                         "Give one of these with --device, or install a build of torch for your device.")
    return asked


def _load(local: LocalModel, identity: EncoderIdentity, device: str, trust_remote_code: bool) -> SentenceTransformer:
    fetches_code = trust_remote_code and needs_another_repository(local.folder)
    with hub_offline(unless=fetches_code):
        try:
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(
                str(local.folder), device=device, local_files_only=not fetches_code,
                trust_remote_code=trust_remote_code)
            model.float()  # from half precision it is exact
            _cut_at(model, identity.max_tokens)
        except Exception as error:  # the files come from anywhere and fail in any way; none of it is our own code
            first_line = (str(error).strip().splitlines() or [""])[0]
            raise ModelUnusable(f"The model {local.name} cannot be loaded from {local.folder}: "
                                f"{type(error).__name__}: {first_line}",
                                "Its files may be damaged: fetch the model again, or give another.") from error
    return model.eval()


def _refuse_untrained(local: LocalModel, warned: list[str]) -> None:
    """Raise ModelUnusable where weights that the model needs are not in its files and were made up at random."""
    untrained = [name for name in untrained_weights(warned) if not _NOT_USED_FOR_VECTORS.search(name)]
    if untrained:
        raise ModelUnusable(f"The weights of the model {local.name} do not fit its config.json: {untrained[0]} and "
                            f"{len(untrained) - 1} more are not in {local.folder}.", "Fetch the model again.")


def _is_bare_tokenizer(tokenizer: object) -> bool:
    return not callable(tokenizer)


def _cut_at(model: SentenceTransformer, max_tokens: int) -> None:
    if _is_bare_tokenizer(model.tokenizer):
        model.tokenizer.enable_truncation(max_tokens)
    else:
        model.max_seq_length = max_tokens


@contextlib.contextmanager
def _without_truncation(tokenizer: Any) -> Iterator[None]:
    truncation = tokenizer.truncation
    tokenizer.no_truncation()
    try:
        yield
    finally:
        if truncation:
            tokenizer.enable_truncation(**truncation)
