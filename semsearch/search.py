"""Searcher: questions in words, and papers related to papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self

from semsearch.answering import Answering, Spent
from semsearch.asking import Asking
from semsearch.encoding import Encoder
from semsearch.errors import UsageError
from semsearch.index.reader import IndexReader
from semsearch.known_vectors import KnownVectors
from semsearch.on_demand import OnDemand
from semsearch.paper import Paper
from semsearch.progress import Progress
from semsearch.provider import (
    EncoderProvider,
    LocalModels,
    load_for_questions,
    prepare_quick_answers,
    request_for,
)
from semsearch.ranking import Hit, Mode, SearchOptions
from semsearch.rerank import Reranker, load_reranker

if TYPE_CHECKING:
    from semsearch.highlight import Highlighter

DEFAULT_HITS: Final = 10


class RerankerLoader(Protocol):
    """Loads a cross-encoder by its name or folder."""

    def __call__(self, model: str, *, device: str = "auto", trust_remote_code: bool = False) -> Reranker:
        """Return the cross-encoder."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, best first; what a user should know about them, a line each; seconds by what they were spent on."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)


class Searcher:
    """Answers questions from one generation of an index; a context manager.

    It keeps answering from that generation while newer ones are published. The model is loaded with the first question
    that needs it; `related` by id, and a question by words alone, need none.
    """

    def __init__(self, index_folder: Path | str, *, model: str | None = None, device: str = "auto",
                 trust_remote_code: bool = False, provider: EncoderProvider | None = None,
                 reranker_loader: RerankerLoader = load_reranker, progress: Progress | None = None) -> None:
        """Open the index in a folder. `model` says where the model that made the index is now, if it has moved.

        Raises:
            IndexNotFound, IndexDamaged, IndexFormatUnsupported: there is nothing to read.
        """
        self.reader = IndexReader(Path(index_folder))
        self._request = request_for(self.reader.manifest.encoder, device, trust_remote_code)
        if model is not None:
            self._request = replace(self._request, model=model, revision=None)
        self._provider = provider or LocalModels()
        self._encoder: Encoder | None = None
        self._load_reranker = reranker_loader
        self._rerankers: dict[str, Reranker] = {}
        self.vectors = KnownVectors(self.reader, self.encoder)
        self.asking = Asking(self.reader, self.vectors, self.encoder)
        on_demand = OnDemand(self.reader, self.vectors, self.encoder)
        self._answering = Answering(self.reader, self.vectors, on_demand, lambda: self._highlighter, self._reranker,
                                    progress)

    def query(self, text: str, k: int = DEFAULT_HITS, options: SearchOptions | None = None) -> Answer:
        """Return the `k` papers that answer a question in words best; all that qualify where there are fewer.

        Raises:
            EmptyQuery: the question has no text.
            ModelError: the model of the index is not to be had, or another one stands in its place.
        """
        return self.query_many([text], k, options)[0]

    def query_many(self, texts: Sequence[str], k: int = DEFAULT_HITS, options: SearchOptions | None = None
                   ) -> list[Answer]:
        """Return the answers to several questions, encoded together."""
        options = _checked(k, options or SearchOptions())
        spent = Spent()
        by_meaning = options.mode is not Mode.LEXICAL or options.min_score is not None
        with spent.on("encode"):
            questions = self.asking.questions(texts, by_meaning=by_meaning)
        with spent.on("filter"):
            permitted = self._answering.permitted(options)
        answers = []
        for asked in questions:
            own = Spent({what: seconds / len(questions) for what, seconds in spent.seconds.items()})
            hits, notes = self._answering.answer(asked, k, options, permitted, own)
            answers.append(Answer(hits, notes, own.seconds))
        return answers

    def related(self, names: Sequence[str] = (), k: int = DEFAULT_HITS, options: SearchOptions | None = None, *,
                titles: Sequence[str] = (), texts: Sequence[str] = (), unlike: Sequence[str] = (),
                liked_papers: Sequence[Paper] = (), query: str | None = None) -> Answer:
        """Return the `k` papers nearest to any of some papers and far from others, never one of them.

        `names`: ids, aliases or unique beginnings of ids; `titles`: words of a title; `texts`: abstracts that need not
        be in the index; `liked_papers`: papers read from elsewhere; `query`: a question in words to go with them;
        `unlike`: names of papers to keep away from. A paper of the index that has the very text, or that abstract, is
        left out too.

        Raises:
            PaperNotFound, AmbiguousPaper: a name or title fits no paper, or several.
            EmptyQuery: nothing to be like, or an empty text, was given.
            UsageError: a cross-encoder was asked for, which compares questions and not papers.
        """
        options = _checked(k, options or SearchOptions())
        if options.rerank is not None:
            raise UsageError("A reranker scores questions in words, not papers.", "Leave --rerank away.")
        if unlike and options.mode is Mode.LEXICAL:
            raise UsageError("Words alone cannot tell what a paper is unlike.",
                             "Leave --mode lexical or --unlike away.")
        spent = Spent()
        by_meaning = options.mode is not Mode.LEXICAL or options.min_score is not None
        with spent.on("encode"):
            asked = self.asking.related(names, titles, texts, unlike, liked_papers, query, by_meaning=by_meaning)
        with spent.on("filter"):
            permitted = self._answering.permitted(options)
        hits, notes = self._answering.answer(asked, k, options, permitted, spent)
        return Answer(hits, notes, spent.seconds)

    def encoder(self) -> Encoder:
        """Return the encoder that made this index, loaded when first asked for."""
        if self._encoder is None:
            self._encoder = load_for_questions(self._provider, self._request, self.reader.manifest.encoder)
        return self._encoder

    def prepare_quick_answers(self, progress: Progress) -> None:
        """After the last answer: spare later processes the loading of the model, where this one had to load it."""
        prepare_quick_answers(self._provider, progress)

    def close(self) -> None:
        """Close the index."""
        self.vectors.close()
        self.reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @cached_property
    def _highlighter(self) -> Highlighter:
        from semsearch.highlight import Highlighter

        return Highlighter(self.encoder, self.reader.lexical)

    def _reranker(self, model: str) -> Reranker:
        if model not in self._rerankers:
            self._rerankers[model] = self._load_reranker(model, device=self._request.device,
                                                         trust_remote_code=self._request.trust_remote_code)
        return self._rerankers[model]


def _checked(k: int, options: SearchOptions) -> SearchOptions:
    """Return the options where they and `k` are in range.

    Raises:
        UsageError: naming the value and its range.
    """
    if k < 1:
        raise UsageError(f"{k} papers cannot be asked for.", "Ask for at least 1, as in -k 10.")
    for name, value in (("weight", options.weight), ("smoothing", options.smoothing),
                        ("diversity", options.diversity)):
        if not 0 <= value <= 1:
            raise UsageError(f"The {name} {value:g} is not between 0 and 1.", f"Give one between 0 and 1, as in "
                             f"--{name} 0.5.")
    if options.min_score is not None and not -1 <= options.min_score <= 1:
        raise UsageError(f"The least cosine {options.min_score:g} is not between -1 and 1.",
                         "Give one such as --min-score 0.4.")
    if options.rerank_depth < 1:
        raise UsageError(f"The best {options.rerank_depth} hits cannot be reranked.", "Give --rerank-depth 50 or so.")
    return options
