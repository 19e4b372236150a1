"""Names of measures, such as nDCG@10: what ir_measures makes of them. The only importer of ir_measures."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from semsearch.errors import MissingExtra, UsageError

DEFAULT_MEASURES: Final = ("nDCG@10", "R@100", "RR@10", "AP@100", "P@10")
LEAST_DEPTH: Final = 100
UNCUT_DEPTH: Final = 1000
"""How deep answers go for a measure that looks at all of them (AP, Rprec): as deep as TREC's runs."""
_MEASURE: Final = re.compile(r"(\w+)(?:\(([^()]*)\))?(?:@([0-9.]+))?")
_ARGUMENT: Final = re.compile(r"\s*(\w+)\s*=\s*(?:(True|False)|([0-9]+)|([0-9]*\.[0-9]+)|['\"]([\w-]*)['\"])\s*")
_LISTED: Final = re.compile(r"(?:[^\s,()]|\([^()]*\))+|[()]+")
_EXAMPLES: Final = ("Examples: nDCG@10, R@100 (recall), RR@10 (MRR), AP@100 (MAP), P@10, P(rel=2)@10, Success@5, "
                    "Judged@10.")


def split_measures(text: str) -> tuple[str, ...]:
    """Return the names in a list that is separated by blanks or commas."""
    return tuple(_LISTED.findall(text))


def parse_measures(names: Iterable[str]) -> tuple[str, ...]:
    """Return measures as ir_measures spells them, each once: `MRR@10` becomes `RR@10`.

    Raises:
        UsageError: there is no such measure, or what computes it is not installed.
        MissingExtra: ir_measures is not installed.
    """
    parsed = tuple(dict.fromkeys(str(_parse(name)) for name in names))
    if not parsed:
        raise UsageError("No measure was named.", _EXAMPLES)
    return parsed


def depth_of(names: Sequence[str]) -> int:
    """Return how many papers of each answer these measures look at, at least 100."""
    uncut = any("cutoff" not in _parse(name).params for name in names)
    return max(LEAST_DEPTH, deepest_cutoff(names), UNCUT_DEPTH if uncut else 0)


def deepest_cutoff(names: Sequence[str]) -> int:
    """Return the largest k of these measures, 0 where none has one."""
    return max((int(_parse(name).params.get("cutoff", 0)) for name in names), default=0)


def per_question(names: Sequence[str], qrels: Mapping[str, Mapping[str, int]], lists: Mapping[str, Sequence[str]]
                 ) -> dict[tuple[str, str], float]:
    """Return the value of each (question, measure); `lists` holds ranked paper ids by question.

    The tools behind ir_measures sort by score, in single precision, and equal scores by id. So they get falling whole
    numbers for scores, and our order is the one that is measured. They have no grades below 0, which mean the same as 0
    here: judged, and not relevant.
    """
    parsed = {str(measure): measure for measure in map(_parse, names)}
    grades = {question: {paper: max(grade, 0) for paper, grade in judged.items()} for question, judged in qrels.items()}
    scores = {question: {paper: float(-rank) for rank, paper in enumerate(lists[question])}
              for question in qrels if lists.get(question)}
    metrics = _library().iter_calc(list(parsed.values()), grades, scores)
    return {(metric.query_id, str(metric.measure)): float(metric.value) for metric in metrics}


def _parse(name: str) -> Any:
    """Return the measure of a name. ir_measures' own parser needs parts of `ast` that later Pythons lack."""
    library = _library()
    spelt = _MEASURE.fullmatch(name.strip())
    known = library.measures.registry
    if spelt is None or spelt[1] not in known:
        near = difflib.get_close_matches(spelt[1] if spelt else name, known, 1)
        raise UsageError(f"There is no measure {name!r}." + (f" Did you mean {near[0]}?" if near else ""), _EXAMPLES)
    kind = known[spelt[1]]
    arguments = dict(_arguments(name, spelt[2]))
    if spelt[3] is not None:
        arguments[kind.AT_PARAM] = float(spelt[3]) if "." in spelt[3] else int(spelt[3])
    measure = kind(**arguments)
    try:
        measure.validate_params()
        usable = measure.params.get("cutoff", 1) >= 1 and library.DefaultPipeline.supports(measure)
    except (AssertionError, TypeError, ValueError, KeyError) as error:
        raise UsageError(f"The measure {name!r} is not spelt as ir_measures spells it: {error}.", _EXAMPLES) from error
    if not usable:
        raise UsageError(f"The measure {name!r} cannot be computed with what is installed.", _EXAMPLES)
    return measure


def _arguments(name: str, text: str | None) -> Iterable[tuple[str, Any]]:
    for part in (text or "").split(",") if text else ():
        spelt = _ARGUMENT.fullmatch(part)
        if spelt is None:
            raise UsageError(f"The measure {name!r} has a part that is not understood: {part.strip()!r}.", _EXAMPLES)
        key, truth, whole, fraction, word = spelt.groups()
        yield key, truth == "True" if truth else int(whole) if whole else float(fraction) if fraction else word


def _library() -> Any:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra("Measuring", "eval") from error
    return ir_measures
