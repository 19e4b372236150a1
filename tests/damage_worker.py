"""Damages one file of an index in many ways and looks what every reader makes of it, in a process of its own.

    python damage_worker.py TEMPLATE FOLDER FILE

TEMPLATE is a folder with `papers.jsonl` and `index`; FILE is relative to the index, with `*` for one name: the largest
that fits. On stdout comes a line of JSON for each damage, before it the damage itself, so that a crash can be told.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from fakes import FakeEncoder, FakeProvider
from made_papers import papers_in, record, records, run_build, text_of, write_jsonl

from semsearch.encoding import EncodedTexts, EncoderRequest
from semsearch.errors import SemsearchError
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER, VectorLogWriter
from semsearch.maintenance import delete, describe, verify
from semsearch.paper import text_key
from semsearch.search import Searcher

COUNT = 30
DELETED = "p2"
WAITING = [text_of(record(number)) for number in range(COUNT, COUNT + 3)]


def make_template(folder: Path) -> None:
    """Make an index with a structure, rejects, a deletion that waits, and vectors that wait."""
    source = write_jsonl(folder / "papers.jsonl", [*records(COUNT - 1), "not json", {"id": "empty"}])
    run_build([source], folder / "index", factory="HNSW8")
    write_jsonl(source, [*records(COUNT), "not json", {"id": "empty"}])
    run_build([source], folder / "index")
    delete(folder / "index", [DELETED])
    encoder = FakeEncoder(EncoderRequest())
    log = VectorLogWriter(folder / "index" / FOLDER / encoder.identity.fingerprint, encoder.identity.dimension)
    log.append([text_key(text) for text in WAITING], encoder.encode_documents(WAITING))
    log.close()


def damages(size: int, seed: str) -> Iterator[tuple[str, Callable[[bytes], bytes | None]]]:
    """Yield (name, what it makes of the content; None removes the file)."""
    rng = random.Random(seed)
    head, middle, end = (0, min(256, size)), (size // 4, max(3 * size // 4, 1)), (max(size - 64, 0), size)
    for part, (low, high) in (("head", head), ("middle", middle), ("end", end)):
        for _ in range(5):
            position, mask = rng.randrange(low, max(high, low + 1)), 1 << rng.randrange(8)
            yield f"flip {part} {position} {mask}", lambda content, p=position, m=mask: _flipped(content, p, m)
    for length in sorted({1, 10, 64, 100, size // 2, size - 8, size - 1} & set(range(1, size))):
        yield f"cut {length}", lambda content, n=length: content[:n]
    yield "longer", lambda content: content + b"\0"
    yield "empty", lambda content: b""
    yield "missing", lambda content: None
    garbage = random.Random(seed + "garbage").randbytes(size)
    yield "garbage", lambda content: garbage
    yield "short garbage", lambda content: garbage[:50]
    yield "zeros", lambda content: bytes(len(content))


def _flipped(content: bytes, position: int, mask: int) -> bytes:
    if not content:
        return content
    return content[:position] + bytes([content[position] ^ mask]) + content[position + 1 :]


def read_all(index: Path) -> None:
    with IndexReader(index) as reader:
        reader.papers.get(range(reader.manifest.papers))
        for _, paper in reader.papers:
            paper.text_key  # noqa: B018
        reader.papers.text_keys()
        reader.papers.source_counts()
        reader.papers.source_signatures()
        list(reader.papers.first_sources(range(reader.papers.papers)))
        [reject.to_json() for reject in reader.papers.rejects()]
        _ = reader.papers.tallies
        for find in (reader.papers.find, reader.papers.find_title):
            for name in ("p5", "p", "study 7", "10.1000/x"):
                with suppress(SemsearchError):
                    find(name, reader.hidden)
        reader.vectors.vectors_at(np.arange(len(reader.vectors.rows)))
        reader.lexical.top(reader.lexical.parse('"graph" of a protein -study'), 5)


def search(index: Path) -> list[list[tuple[str, float]]]:
    with Searcher(index, provider=FakeProvider()) as searcher:
        answers = [searcher.query("graph protein", 5), searcher.query("study 7", 100), searcher.related(["p3"], 5)]
        return [[(hit.paper.id, hit.score) for hit in answer.hits] for answer in answers]


def is_true(index: Path, count: int, deleted: bool) -> bool:
    """Return whether an index holds what its source says, with the vectors of that."""
    papers = papers_in(index)
    wanted = {f"p{number}": number for number in range(count)}
    if deleted:
        wanted.pop(DELETED)
    if set(papers) != set(wanted) or any(papers[i].text != text_of(record(n)) for i, n in wanted.items()):
        return False
    with IndexReader(index) as reader:
        texts = [paper.text for _, paper in reader.papers]
        expected = FakeEncoder(EncoderRequest()).encode_documents(texts)
        found = EncodedTexts(reader.vectors.vectors_at(np.arange(len(texts))), reader.vectors.token_counts)
        by_words = reader.lexical.top(reader.lexical.parse("plasma"), len(texts)).rows.tolist()
        if sorted(by_words) != [row for row, text in enumerate(texts) if "plasma" in text.replace(".", " ").split()]:
            return False
        return bool((expected.vectors == found.vectors).all() and (expected.token_counts == found.token_counts).all())


class Probe:
    """Looks at one damaged index and writes down what each reader said."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder, self.index, self.source = folder, folder / "index", source
        self.said: dict[str, str] = {}
        self.unexpected: list[str] = []

    def attempt(self, name: str, action: Callable[[], Any]) -> Any:
        try:
            result = action()
        except SemsearchError as error:
            self.said[name] = f"{type(error).__name__}: {error}"
            return None
        except BaseException:
            self.unexpected.append(f"{name}: {traceback.format_exc(limit=-4)}")
            return None
        self.said[name] = ""
        return result

    def look(self) -> dict[str, Any]:
        report = self.attempt("verify", lambda: verify(self.index))
        problems = "; ".join(report.problems) if report else ""
        notes = "; ".join(report.notes) if report else ""
        answers = self.attempt("search", lambda: search(self.index))
        self.attempt("read", lambda: read_all(self.index))
        self.attempt("describe", lambda: describe(self.index))
        source = self.source
        shutil.copytree(self.index, self.folder / "other")
        self.attempt("build", lambda: run_build([source], self.folder / "other"))
        more = write_jsonl(self.folder / "more.jsonl", [*records(COUNT + len(WAITING)), "not json"])
        built = self.attempt("build more", lambda: run_build([more], self.index))
        laundered = False
        if built is not None:
            again = self.attempt("verify built", lambda: verify(self.index))
            laundered = (
                bool(again) and not again.problems and not is_true(self.index, COUNT + len(WAITING), deleted=True)
            )
        rebuilt = self.attempt("rebuild", lambda: run_build([source, more], self.index, rebuild=True))
        sound = rebuilt is not None and self.attempt("verify rebuilt", lambda: verify(self.index).problems) == ()
        deleted = self.attempt("deleted", lambda: DELETED not in papers_in(self.index))
        true = sound and self.attempt("true", lambda: is_true(self.index, COUNT + len(WAITING), bool(deleted)))
        return {
            "said": self.said,
            "problems": problems,
            "notes": notes,
            "unexpected": self.unexpected,
            "answers": answers,
            "laundered": laundered,
            "rebuilt": bool(true),
            "deleted": bool(deleted),
        }


def main() -> None:
    template, folder, pattern = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    found = max((template / "index").glob(pattern), key=lambda path: path.stat().st_size)
    name = found.relative_to(template / "index")
    content = (template / "index" / name).read_bytes()
    for number, (damage, change) in enumerate(damages(len(content), pattern)):
        case = folder / str(number)
        shutil.copytree(template, case)
        changed = change(content)
        print(damage, flush=True)
        if changed == content:
            print("null", flush=True)
            continue
        if changed is None:
            (case / "index" / name).unlink()
        else:
            (case / "index" / name).write_bytes(changed)
        print(json.dumps(Probe(case, template / "papers.jsonl").look()), flush=True)
        shutil.rmtree(case)


if __name__ == "__main__":
    main()
