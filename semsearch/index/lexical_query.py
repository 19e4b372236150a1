"""A question -> what it asks of words: terms, phrases that must be there, and what must not be there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from semsearch.index.lexical_analysis import Analyser

Phrase = tuple[tuple[int, str], ...]
"""(position, term) of words that must stand in these places; one word alone is a phrase of one."""

Cut = Callable[[Mapping[str, int]], Mapping[str, int]]
"""Returns the terms that are asked for, of terms that may be too many."""

_QUOTED: Final = r'(?:(?<!\w)"([^"]*)"(?!\w)|„([^„“”"]*)[“”]|“([^“”]*)”|«([^«»]*)»)'
_SYNTAX: Final = re.compile(rf'(?P<minus>(?<!\S)-(?=["„“«]|[^\W\d_]))?(?:{_QUOTED}|(?P<word>(?<=-)[^\W\d_]\S*))')


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """What a question asks of words.

    `terms`: each term and how often it was said. `phrases`: each must be there. `excluded`: none may be there. `text`:
    the question without quotes and without what is excluded, which is what is encoded.
    """

    terms: Mapping[str, int]
    phrases: tuple[Phrase, ...]
    excluded: tuple[Phrase, ...]
    text: str

    @property
    def plain(self) -> LexicalQuery:
        """The query of the terms alone: nothing has to be there, or must not."""
        return LexicalQuery(self.terms, (), (), self.text) if self.restricts else self

    @property
    def is_empty(self) -> bool:
        """Whether no term is left."""
        return not self.terms

    @property
    def excludes_only(self) -> bool:
        """Whether the question says only what must not be there."""
        return bool(self.excluded) and not self.text.strip()

    @property
    def restricts(self) -> bool:
        """Whether papers may fail it: it has phrases or exclusions."""
        return bool(self.phrases or self.excluded)


def parse_question(question: str, analyser: Analyser, cut: Cut) -> LexicalQuery:
    """Return what a question asks of words; a character that is no syntax where it stands is just a character."""
    phrases: list[Phrase] = []
    excluded: list[Phrase] = []

    at_the_ends = _at_the_ends(question)

    def understood(found: re.Match[str]) -> str:
        minus = found["minus"] is not None and found.start() in at_the_ends
        if not minus and (found["word"] is not None or found["minus"] is not None):
            return found[0]
        said = found["word"] or next((g for g in found.groups()[1:-1] if g is not None), "")
        phrase = analyser.phrase(said)
        if minus:
            if not phrase:
                return found[0]
            excluded.append(phrase)
            return " "
        if phrase:
            phrases.append(phrase)
        return f" {said} "

    text = " ".join(_SYNTAX.sub(understood, question).split())
    return LexicalQuery(cut(_telling(Counter(analyser.terms(text)), analyser)), tuple(phrases), tuple(excluded), text)


def query_of_texts(texts: Sequence[str], analyser: Analyser, cut: Cut) -> LexicalQuery:
    """Return the query that is every word of these texts, in which no character is syntax.

    Single letters and digits, which mean something in a question (vitamin C), are mostly formulas in an abstract.
    """
    terms: Counter[str] = Counter()
    for text in texts:
        terms.update(term for term in analyser.terms(text) if len(term) > 1 or not term.isascii())
    return LexicalQuery(cut(_telling(terms, analyser)), (), (), " ".join(texts))


def _at_the_ends(question: str) -> set[int]:
    """Return where the words and phrases with a minus begin that stand at the beginning or the end of a question.

    In the middle a dash is punctuation, as in `methods -dash exact or approximate`.
    """
    with_minus = [found for found in _SYNTAX.finditer(question) if found["minus"] is not None]
    starts: set[int] = set()
    end = 0
    for found in with_minus:
        if question[end:found.start()].strip():
            break
        starts.add(found.start())
        end = found.end()
    begin = len(question)
    for found in reversed(with_minus):
        if question[found.end():begin].strip():
            break
        starts.add(found.start())
        begin = found.start()
    return starts


def _telling(terms: Counter[str], analyser: Analyser) -> Mapping[str, int]:
    """Return the terms that say what a text is about; all of them where none does."""
    telling = {term: count for term, count in terms.items() if term not in analyser.habitual}
    return telling or terms
