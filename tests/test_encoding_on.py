"""Answers while a build is still encoding: generations with more vectors, one after the other."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeEncoder, FakeProvider
from made_papers import answers, generation_folder, papers_in, record, records, run_build, text_of, write_jsonl

from semsearch import encoding_on, first_generation
from semsearch.build import BuildOptions, build_index
from semsearch.calibration import Setting, remember_setting
from semsearch.encoding import EncodedTexts, EncoderRequest
from semsearch.errors import IndexChanged, ModelNotFound, UsageError
from semsearch.index import generations
from semsearch.index.locks import publish_lock
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER, VectorLogWriter
from semsearch.index.wanted_texts import append_wanted
from semsearch.maintenance import delete, describe, restore, verify
from semsearch.progress import Silent
from semsearch.ranking import Mode, SearchOptions
from semsearch.reindex import ReindexOptions, reindex_index
from semsearch.search import Searcher
from semsearch.summary import BuildSummary

COUNT = 40


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten texts are many, windows hold four, and eight new vectors are worth a generation."""
    monkeypatch.setattr(first_generation, "FEW_TEXTS", 10)
    monkeypatch.setattr(encoding_on, "_WINDOW_TEXTS", (4, 4))
    monkeypatch.setattr(encoding_on, "PUBLISH_TEXTS", 8)
    monkeypatch.setattr(encoding_on, "PUBLISH_SECONDS", 0.0)


class Watched(FakeProvider):
    """Encoders that call `between` before each piece of work, with the texts; it may raise."""

    def __init__(self, between: Callable[[list[str]], object]) -> None:
        super().__init__()
        self.between = between

    def load(self, request: EncoderRequest) -> FakeEncoder:
        encoder = super().load(request)
        plain = encoder.encode_documents

        def encode(texts: Sequence[str]) -> EncodedTexts:
            self.between(list(texts))
            return plain(texts)

        encoder.encode_documents = encode  # type: ignore[method-assign]
        return encoder


@dataclass
class Notes(Silent):
    """Progress that keeps what it hears."""

    notes: list[str] = field(default_factory=list)

    def note(self, message: str) -> None:
        self.notes.append(message)


def coverage(index: Path) -> tuple[int, int, int]:
    """Return the generation, its papers and its vectors."""
    manifest = generations.read_manifest(index)
    return manifest.generation, manifest.papers, manifest.vectors


def stop_after(texts: int) -> Watched:
    """Return encoders that are interrupted when so many texts are encoded."""
    seen: list[str] = []

    def between(more: list[str]) -> None:
        if len(seen) + len(more) > texts:
            raise KeyboardInterrupt
        seen.extend(more)

    return Watched(between)


def interrupted(source: Path, index: Path, texts: int, **options: Any) -> tuple[FakeProvider, list[str]]:
    provider, notes = stop_after(texts), Notes()
    with pytest.raises(KeyboardInterrupt):
        build_index([source], index, BuildOptions(**options), provider=provider, progress=notes)
    return provider, notes.notes


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "papers.jsonl", records(COUNT))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


def by_words(index: Path) -> list[str]:
    with Searcher(index, provider=FakeProvider()) as searcher:
        return [hit.paper.id for hit in searcher.query("graph attention", 8, SearchOptions(Mode.LEXICAL)).hits]


def test_it_answers_before_a_text_is_encoded_and_more_and_more_by_meaning(index, source, tmp_path):
    seen, words = [], []

    def between(texts: list[str]) -> None:
        seen.append(coverage(index))
        words.append(by_words(index))
        assert verify(index).problems == ()

    notes, provider = Notes(), Watched(between)
    summary = build_index([source], index, provider=provider, progress=notes)
    # Eight more are wanted, or a quarter of what there is: 8, 16, 24, 32, and then what is left.
    assert seen == [(1, 40, 0)] * 2 + [(2, 40, 8)] * 2 + [(3, 40, 16)] * 2 + [(4, 40, 24)] * 2 + [(5, 40, 32)] * 2
    assert (summary.generation, summary.encoded, summary.reused, summary.coverage) == (6, 40, 0, 1.0)
    assert (summary.papers, summary.added, summary.unchanged, summary.published) == (40, 40, 0, True)
    assert sorted(provider.encoded) == sorted(text_of(item) for item in records(COUNT))
    assert notes.notes[0] == (f'Ready to ask: semsearch query --home {tmp_path} -i index "..."  '
                              "(words now, meaning as encoding goes on)")
    run_build([source], tmp_path / "reference")
    assert answers(index) == answers(tmp_path / "reference")
    assert set(map(tuple, words)) == {tuple(by_words(tmp_path / "reference"))}
    assert [path.name for path in (index / "generations").iterdir()] == ["6"]
    assert list((index / FOLDER).glob("*/*")) == []
    assert run_build([], index).published is False


def test_the_steps_grow(index, source, monkeypatch):
    monkeypatch.setattr(encoding_on, "PUBLISH_TEXTS", 4)
    monkeypatch.setattr(encoding_on, "PUBLISH_SHARE", 1.0)
    seen = []
    build_index([source], index, provider=Watched(lambda texts: seen.append(coverage(index)[2])))
    assert sorted(set(seen)) == [0, 4, 8, 16, 32]


def test_no_generation_sooner_than_so_long_after_the_last(index, source, monkeypatch):
    monkeypatch.setattr(encoding_on, "PUBLISH_SECONDS", 3600.0)
    seen = []
    summary = build_index([source], index, provider=Watched(lambda texts: seen.append(coverage(index)[2])))
    assert (set(seen), summary.generation) == ({0}, 2)


def test_few_texts_are_encoded_before_anything_is_published(index, tmp_path):
    notes = Notes()
    source = write_jsonl(tmp_path / "papers.jsonl", records(9))
    summary = build_index([source], index, provider=FakeProvider(), progress=notes)
    assert (summary.generation, summary.coverage, notes.notes) == (1, 1.0, [])


@pytest.mark.parametrize(("tokens_per_second", "published"), [(1_000, 1), (500, 6)])
def test_so_are_texts_that_take_no_time_by_what_this_machine_remembers(index, source, tokens_per_second, published):
    request = EncoderRequest()
    setting = Setting(1, 1, 512)
    remember_setting(FakeEncoder(request).identity.fingerprint, setting, {setting: tokens_per_second})
    try:  # 40 texts of 200 tokens
        notes = Notes()
        summary = build_index([source], index, provider=FakeProvider(), progress=notes)
    finally:
        remember_setting(FakeEncoder(request).identity.fingerprint, setting, {setting: 0})
    assert summary.generation == published
    assert notes.notes[:1] == [] if published == 1 else "about 16 seconds left)" in notes.notes[0]


def test_unchanged_files_of_generations_in_between_are_hard_links(index, source):
    kept: dict[int, dict[str, int]] = {}

    def between(texts: list[str]) -> None:
        folder = generation_folder(index)
        kept[int(folder.name)] = {str(path.relative_to(folder)): os.stat(path).st_ino for path in folder.rglob("*")
                                  if path.name == "papers.sqlite" or path.parent.name == "lexical"}

    build_index([source], index, provider=Watched(between))
    assert len(kept) == 5 and "papers.sqlite" in kept[1] and len(kept[1]) > 3
    assert all(inodes == kept[1] for inodes in kept.values())


def test_what_people_asked_about_is_encoded_first_and_then_the_newest(index, tmp_path):
    source = write_jsonl(tmp_path / "papers.jsonl", [
        record(n, **({"date": f"20{n:02}-01-02"} if n % 2 else {})) for n in range(20)])
    build_index([source], index, BuildOptions(encode="later"), provider=FakeProvider())
    with IndexReader(index) as reader:
        folder = index / FOLDER / reader.manifest.encoder.fingerprint
        append_wanted(folder, [paper.text_key for paper in reader.papers.get([4, 1])])
    encoded: list[list[str]] = []

    def between(texts: list[str]) -> None:
        encoded.append(texts)
        if len(encoded) == 2:  # meanwhile someone asks
            with IndexReader(index) as reader:
                append_wanted(folder, [reader.papers.get([0])[0].text_key])

    build_index([], index, provider=Watched(between))
    order = [{n for n in range(20) if text_of(record(n)) in texts} for texts in encoded]
    assert order == [{4, 1, 19, 17}, {15, 13, 11, 9}, {0, 7, 5, 3}, {2, 6, 8, 10}, {12, 14, 16, 18}]
    assert not folder.exists()


def test_what_a_question_encodes_meanwhile_is_not_encoded_again(index, source):
    def between(texts: list[str]) -> None:
        if not asked:
            encoder = FakeEncoder(EncoderRequest())
            rest = [item for item in map(record, range(COUNT)) if text_of(item) not in texts][:6]
            asked.extend(text_of(item) for item in rest)
            with IndexReader(index) as reader:
                papers = {paper.text: paper.text_key for _, paper in reader.papers}
            log = VectorLogWriter(index / FOLDER / encoder.identity.fingerprint, 64)
            log.append([papers[text] for text in asked], encoder.encode_documents(asked))
            log.close()

    asked: list[str] = []
    provider = Watched(between)
    summary = build_index([source], index, provider=provider)
    assert len(asked) == 6 and not set(asked) & set(provider.encoded)
    assert (summary.encoded, summary.reused, summary.coverage) == (34, 6, 1.0)
    assert verify(index).problems == ()


def test_a_writer_that_is_at_work_keeps_its_log(index, source):
    build_index([source], index, BuildOptions(encode="later"), provider=FakeProvider())
    encoder = FakeEncoder(EncoderRequest())
    log = VectorLogWriter(index / FOLDER / encoder.identity.fingerprint, 64)
    log.append([b"k" * 16], encoder.encode_documents(["of another corpus"]))
    build_index([source], index, provider=FakeProvider())
    assert len(list((index / FOLDER).glob("*/*.log"))) == 1
    log.close()


def test_stopped_at_any_moment_it_answers_and_goes_on(index, source, monkeypatch):
    first, notes = interrupted(source, index, 21)
    assert coverage(index) == (3, 40, 16)
    named = f"--home {index.parent} -i index"
    assert notes[-1] == (f'The index answers: semsearch query {named} "..."  20 of 40 papers are encoded; go on with: '
                         f"semsearch build {named}")
    assert describe(index).waiting_vectors == 4 and verify(index).problems == ()
    assert len(by_words(index)) == 8

    def fail(*arguments: Any) -> None:
        raise AssertionError("the sources are not read again")

    monkeypatch.setattr("semsearch.build.read_sources", fail)
    second = FakeProvider()
    summary = build_index([], index, provider=second)
    assert (summary.encoded, summary.reused, summary.coverage, summary.published) == (20, 20, 1.0, True)
    assert sorted(first.encoded + second.encoded) == sorted(text_of(item) for item in records(COUNT))


def test_reindex_goes_on_too(index, source):
    first, _ = interrupted(source, index, 21)
    source.unlink()
    second, notes = FakeProvider(), Notes()
    summary = reindex_index(index, provider=second, progress=notes)
    assert (summary.encoded, summary.reused, summary.coverage) == (20, 20, 1.0)
    assert summary.generation > 4 and notes.notes[0].startswith("Ready to ask: ")
    assert not set(first.encoded) & set(second.encoded)
    assert verify(index).problems == ()


def test_deleting_does_not_wait_and_the_rows_go_with_the_next_generation(index, source):
    seen = []

    def between(texts: list[str]) -> None:
        if not seen:
            delete(index, ["p3", "p7", "p8"])
            restore(index, ["p8"])
        seen.append(coverage(index)[:2])
        assert not {"p3", "p7"} & set(papers_in(index))

    summary = build_index([source], index, provider=Watched(between))
    assert seen[:3] == [(1, 40), (1, 40), (2, 38)] and summary.generation == 6
    assert (summary.papers, summary.added, summary.removed, summary.unchanged) == (38, 38, 0, 0)
    assert set(papers_in(index)) == {f"p{n}" for n in range(COUNT) if n not in (3, 7)}
    assert verify(index).problems == ()
    assert run_build([], index).published is False
    restore(index, ["p3"])
    assert run_build([], index).added == 1


def test_a_paper_that_was_there_before_counts_as_removed(index, source, tmp_path):
    build_index([source], index, provider=FakeProvider())
    write_jsonl(source, records(COUNT + 20))
    provider = Watched(lambda texts: delete(index, ["p1", "p50"]) if not provider.encoded else None)
    summary = build_index([source], index, provider=provider)
    assert (summary.papers, summary.added, summary.removed, summary.unchanged) == (58, 19, 1, 39)
    assert summary.coverage == 1.0


def test_restored_papers_are_found_from_the_first_generation_on(index, source):
    build_index([source], index, provider=FakeProvider())
    delete(index, [f"p{n}" for n in range(20)])
    assert run_build([], index).papers == 20
    seen = []
    summary = build_index([], index, BuildOptions(restore=True), provider=Watched(
        lambda texts: seen.append(len(papers_in(index)))))
    assert (set(seen), summary.papers, summary.added, summary.deleted) == ({40}, 40, 20, 0)


def test_new_papers_keep_the_vectors_that_there_are(index, source):
    build_index([source], index, provider=FakeProvider())
    write_jsonl(source, records(COUNT + 12))
    seen = []
    provider = Watched(lambda texts: seen.append(coverage(index)))
    summary = build_index([source], index, provider=provider)
    assert seen[0] == (7, 52, 40) and (summary.encoded, summary.reused) == (12, 40)


def test_later_ends_as_soon_as_it_answers(index, source):
    provider = FakeProvider()
    summary = build_index([source], index, BuildOptions(encode="later"), provider=provider)
    assert (summary.generation, summary.encoded, summary.coverage, provider.loaded) == (1, 0, 0.0, 0)
    assert len(by_words(index)) == 8
    with Searcher(index, provider=FakeProvider()) as searcher:  # what questions pay for is taken by the next run
        searcher.query("graph attention", 5, SearchOptions(encode_budget=6))
    summary = build_index([], index, BuildOptions(encode="later"), provider=provider)
    assert (summary.published, summary.coverage, provider.loaded) == (True, 6 / 40, 0)
    summary = build_index([], index, provider=provider)
    assert (summary.encoded, summary.reused, summary.coverage) == (34, 6, 1.0)
    assert build_index([], index, BuildOptions(encode="later"), provider=provider).published is False
    with pytest.raises(UsageError, match="never"):
        build_index([], index, BuildOptions(encode="never"), provider=provider)


@pytest.mark.parametrize("change", ["model", "rebuild", "reindex"])
def test_where_vectors_cannot_be_kept_the_old_generation_answers_to_the_end(index, source, change):
    build_index([source], index, provider=FakeProvider())
    seen = []
    provider = Watched(lambda texts: seen.append(coverage(index)))
    if change == "reindex":
        summary = reindex_index(index, ReindexOptions(model="other"), provider=provider)
    else:
        options = BuildOptions(model="other") if change == "model" else BuildOptions(rebuild=True)
        summary = build_index([source], index, options, provider=provider)
    assert set(seen) == {(6, 40, 40)}
    assert (summary.generation, summary.encoded, summary.coverage) == (7, 40, 1.0)


def test_a_rebuild_of_a_damaged_index_answers_at_once(index, source):
    build_index([source], index, provider=FakeProvider())
    (generation_folder(index) / "papers.sqlite").unlink()
    seen = []
    provider = Watched(lambda texts: seen.append(coverage(index)))
    build_index([source], index, BuildOptions(rebuild=True), provider=provider)
    assert seen[0] == (7, 40, 0)


def test_an_approximate_structure_is_built_at_the_end(index, source):
    factories = []

    def between(texts: list[str]) -> None:
        manifest = generations.read_manifest(index)
        factories.append((manifest.factory, manifest.notes["factory_asked"]))

    summary = build_index([source], index, BuildOptions(factory="HNSW8"), provider=Watched(between))
    assert set(factories) == {("Flat", "HNSW8")} and summary.factory == "HNSW8"
    with pytest.raises(UsageError, match="Nonsense"):
        build_index([source], index.with_name("other"), BuildOptions(factory="Nonsense"), provider=FakeProvider())


def test_a_model_that_is_missing_is_told_before_anything_is_published(index, source, tmp_path):
    build_index([source], index, BuildOptions(encode="later"), provider=FakeProvider())
    write_jsonl(source, records(COUNT + 20))

    class Missing(FakeProvider):
        def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> Any:
            raise ModelNotFound("There is no such model.", "Fetch it.")

    for folder in (index, tmp_path / "new"):
        with pytest.raises(ModelNotFound):
            build_index([source], folder, provider=Missing())
    assert coverage(index) == (1, 40, 0) and not (tmp_path / "new").exists()
    assert build_index([source], index, BuildOptions(encode="later"), provider=Missing()).papers == COUNT + 20


def test_another_process_that_publishes_ends_the_build(index, source):
    def between(texts: list[str]) -> None:
        pointer = (index / "CURRENT").read_bytes()
        if pointer.startswith(b"2 "):
            with publish_lock(index):  # as one that broke the lock of the build would
                shutil.copytree(index / "generations" / "2", index / "generations" / "9")
                (index / "CURRENT").write_bytes(pointer.replace(b"2 ", b"9 ", 1))

    with pytest.raises(IndexChanged):
        build_index([source], index, provider=Watched(between))


def test_readers_see_whole_generations_with_more_and_more_vectors(index, source):
    build_index([source], index, BuildOptions(encode="later"), provider=FakeProvider())
    stop, failures = threading.Event(), []
    seen: list[list[int]] = [[], []]

    def ask(mine: list[int]) -> None:
        try:
            while not stop.is_set():
                with Searcher(index, provider=FakeProvider()) as searcher:
                    options = SearchOptions(encode_budget=0)
                    first = searcher.query("graph attention", 8, options)
                    assert [h.paper.id for h in first.hits] == [
                        h.paper.id for h in searcher.query("graph attention", 8, options).hits]
                    assert len(first.hits) == 8
                    mine.append(searcher.reader.manifest.vectors)
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=ask, args=(mine,)) for mine in seen]
    for reader in readers:
        reader.start()

    def between(texts: list[str]) -> None:
        asked = [len(mine) for mine in seen]
        while not failures and any(len(mine) == before for mine, before in zip(seen, asked, strict=True)):
            stop.wait(0.001)

    try:
        build_index([source], index, provider=Watched(between))
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not failures
    assert all(mine == sorted(mine) for mine in seen) and len({v for mine in seen for v in mine}) > 3


def test_the_summary_is_json_as_ever(index, source):
    summary: BuildSummary = build_index([source], index, BuildOptions(encode="later"), provider=FakeProvider())
    assert json.loads(json.dumps(summary.as_dict()))["coverage"] == 0.0
