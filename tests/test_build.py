"""Building: what is read again, encoded again, published, kept and refused, counted by hand."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeEncoder, FakeProvider
from hypothesis import given, settings
from hypothesis import strategies as st
from made_papers import (
    answers,
    generation_folder,
    listing,
    papers_in,
    record,
    records,
    run_build,
    text_of,
    works_in,
    write_jsonl,
)

from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncoderIdentity, EncoderRequest
from semsearch.errors import (
    EncodingFailed,
    IndexDamaged,
    InputError,
    ModelMismatch,
    NothingToIndex,
    RecordRejected,
    SourceNotFound,
    UnknownFormat,
    UsageError,
)
from semsearch.index.generations import index_names, read_pointer
from semsearch.index.reader import IndexReader
from semsearch.index.state import read_state
from semsearch.maintenance import delete, describe, restore, verify
from semsearch.paper import paragraph_id
from semsearch.search import Searcher

PARAGRAPH = (
    "We study how migrating birds find their way at night by the stars and by the magnetic field of the earth. "
    "Our results show that both are needed."
)
OTHER_PARAGRAPH = (
    "A theorem about sparse graphs is proved with elementary means, and its bound is shown to be the best possible."
)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "indexes" / "papers"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "papers.jsonl", records(5))


def sound(index: Path) -> None:
    assert verify(index).problems == ()


class TestFirstBuild:
    def test_every_record_becomes_a_paper_with_the_vector_of_its_text(self, index, corpus, fake_provider):
        summary = run_build([corpus], index, fake_provider)
        assert (summary.records, summary.papers, summary.added, summary.encoded) == (5, 5, 5, 5)
        assert (summary.updated, summary.unchanged, summary.removed, summary.merged, summary.rejected) == (
            0,
            0,
            0,
            0,
            0,
        )
        assert (summary.generation, summary.published, summary.coverage, summary.reused) == (1, True, 1.0, 0)
        assert sorted(fake_provider.encoded) == sorted(text_of(record(n)) for n in range(5))
        assert list(papers_in(index)) == [f"p{n}" for n in range(5)]
        with IndexReader(index) as reader:
            expected = FakeEncoder(EncoderRequest()).encode_documents([text_of(record(n)) for n in range(5)])
            assert (
                reader.vectors.vectors_at(reader.vectors.positions_of(reader.vectors.rows)) == expected.vectors
            ).all()
            assert reader.vectors.token_counts.tolist() == expected.token_counts.tolist()
        sound(index)

    def test_equal_texts_are_encoded_once(self, index, tmp_path, fake_provider):
        twins = [record(0), {**record(0), "id": "twin"}, record(1)]
        summary = run_build([write_jsonl(tmp_path / "a.jsonl", twins)], index, fake_provider)
        assert (summary.papers, summary.encoded, len(fake_provider.encoded)) == (3, 2, 2)

    def test_truncated_papers_are_counted_by_file(self, index, tmp_path, fake_provider):
        long = record(1, abstract="word " * 300)
        a, b = write_jsonl(tmp_path / "a.jsonl", [record(0), long]), write_jsonl(tmp_path / "b.jsonl", [record(2)])
        summary = run_build([a, b], index, fake_provider)
        words = 300 + len(long["title"].split())
        assert (summary.truncated, summary.longest_tokens, summary.max_tokens) == (1, words, 256)
        assert summary.truncated_in == {str(a): 1}
        assert describe(index).truncated == 1

    def test_papers_without_abstract_are_counted(self, index, tmp_path):
        titles = [record(0), record(1, abstract=""), {"id": "only", "title": "A title and nothing else at all"}]
        summary = run_build([write_jsonl(tmp_path / "a.jsonl", titles)], index)
        assert (summary.papers, summary.without_abstract) == (3, 2)

    def test_a_name_that_is_no_name_is_refused(self, tmp_path, corpus):
        for name in (".hidden", "a:b", "a*"):
            with pytest.raises(UsageError, match="cannot be named"):
                run_build([corpus], tmp_path / name)
            assert not (tmp_path / name).exists()

    def test_no_source_named_and_none_remembered(self, index):
        with pytest.raises(UsageError, match="No source is named"):
            run_build([], index)
        assert not index.exists()

    def test_a_missing_source_leaves_no_folder(self, index, tmp_path):
        with pytest.raises(SourceNotFound):
            run_build([tmp_path / "nothing.jsonl"], index)
        assert not index.exists()
        assert index_names(index.parent) == []


class TestIncremental:
    def test_an_unchanged_run_loads_no_model_and_publishes_nothing(self, index, corpus, fake_provider):
        run_build([corpus], index)
        before = listing(index)
        for sources in ([corpus], []):
            summary = run_build(sources, index, fake_provider)
            assert (fake_provider.loaded, summary.published, summary.generation) == (0, False, 1)
            assert (summary.papers, summary.unchanged, summary.encoded, summary.reused) == (5, 5, 0, 5)
            assert summary.records == 5
        assert listing(index).keys() == before.keys()
        assert {k: v for k, v in listing(index).items() if k != "build.lock"} == {
            k: v for k, v in before.items() if k != "build.lock"
        }

    def test_only_an_added_paper_is_encoded(self, index, corpus, fake_provider):
        run_build([corpus], index)
        write_jsonl(corpus, records(6))
        summary = run_build([], index, fake_provider)
        assert fake_provider.encoded == [text_of(record(5))]
        assert (summary.added, summary.updated, summary.unchanged, summary.encoded, summary.reused) == (1, 0, 5, 1, 5)
        assert (summary.generation, summary.papers) == (2, 6)
        sound(index)

    def test_a_changed_abstract_is_encoded_and_keeps_the_id_and_the_row(self, index, corpus, fake_provider):
        run_build([corpus], index)
        changed = record(2, abstract="Something else was found about neural graphs and their kernels.")
        write_jsonl(corpus, [record(0), record(1), changed, record(3), record(4)])
        summary = run_build([corpus], index, fake_provider)
        assert fake_provider.encoded == [text_of(changed)]
        assert (summary.added, summary.updated, summary.unchanged, summary.papers) == (0, 1, 4, 5)
        assert list(papers_in(index)) == [f"p{n}" for n in range(5)]
        assert papers_in(index)["p2"].abstract == changed["abstract"]
        sound(index)

    def test_changed_metadata_updates_without_encoding(self, index, corpus, fake_provider):
        run_build([corpus], index)
        inode = os.stat(generation_folder(index) / "vectors.npy").st_ino
        write_jsonl(corpus, [record(0, venue="ACL", year=2020), *records(4, start=1)])
        summary = run_build([corpus], index, fake_provider)
        assert (fake_provider.loaded, summary.updated, summary.encoded, summary.reused) == (0, 1, 0, 5)
        assert (papers_in(index)["p0"].venue, papers_in(index)["p0"].year) == ("ACL", 2020)
        assert os.stat(generation_folder(index) / "vectors.npy").st_ino == inode
        sound(index)

    def test_records_in_another_order_change_nothing(self, index, corpus, fake_provider):
        run_build([corpus], index)
        write_jsonl(corpus, reversed(records(5)))
        summary = run_build([corpus], index, fake_provider)
        assert (fake_provider.loaded, summary.added, summary.updated, summary.unchanged) == (0, 0, 0, 5)
        assert list(papers_in(index)) == [f"p{n}" for n in range(5)]

    def test_a_second_source_adds_and_both_are_remembered(self, index, corpus, tmp_path):
        run_build([corpus], index)
        second = write_jsonl(tmp_path / "more.jsonl", records(2, start=10))
        assert run_build([second], index).papers == 7
        assert [s.path for s in read_state(index).sources] == [str(corpus), str(second)]
        write_jsonl(corpus, records(6))
        write_jsonl(second, records(3, start=10))
        summary = run_build([], index)
        assert (summary.added, summary.papers, summary.records) == (2, 9, 9)

    def test_a_paper_gone_from_its_source_stays_without_prune(self, index, corpus):
        run_build([corpus], index)
        write_jsonl(corpus, records(4))
        summary = run_build([corpus], index)
        assert (summary.papers, summary.removed) == (5, 0)

    def test_an_edited_paragraph_is_a_new_paper(self, index, tmp_path, fake_provider):
        source = tmp_path / "list.txt"
        source.write_text(f"{PARAGRAPH}\n\n{OTHER_PARAGRAPH}\n")
        run_build([source], index)
        assert list(papers_in(index)) == [paragraph_id(PARAGRAPH), paragraph_id(OTHER_PARAGRAPH)]
        edited = PARAGRAPH.replace("night", "day")
        source.write_text(f"{edited}\n\n{OTHER_PARAGRAPH}\n")
        summary = run_build([source], index, fake_provider)
        assert (summary.added, summary.updated, summary.papers, summary.encoded) == (1, 0, 3, 1)
        assert fake_provider.encoded == [edited]
        assert run_build([source], index, prune=True, confirmed=True).removed == 1
        assert set(papers_in(index)) == {paragraph_id(edited), paragraph_id(OTHER_PARAGRAPH)}

    def test_a_paragraph_in_two_lists_is_one_paper(self, index, tmp_path):
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text(f"{PARAGRAPH}\n\n{OTHER_PARAGRAPH if name == 'a.txt' else PARAGRAPH}\n")
        summary = run_build([tmp_path / "a.txt", tmp_path / "b.txt"], index)
        assert (summary.records, summary.papers, summary.merged) == (4, 2, 2)

    def test_a_record_without_any_identifier_in_two_files_is_one_paper(self, index, tmp_path):
        item = {"title": "Whales sing in the deep sea", "abstract": "Their songs are long."}
        summary = run_build(
            [write_jsonl(tmp_path / "a.jsonl", [item]), write_jsonl(tmp_path / "b.jsonl", [item])], index
        )
        assert (summary.records, summary.papers, summary.merged) == (2, 1, 1)

    def test_an_unreadable_file_in_a_folder_is_no_reason_to_publish_again(self, index, tmp_path):
        folder = tmp_path / "folder"
        write_jsonl(folder / "a.jsonl", records(3))
        (folder / "b.dat").write_bytes(bytes(range(256)))
        first = run_build([folder], index)
        again = run_build([], index)
        assert (first.published, again.published) == (True, False)
        assert list(first.refused_files) == list(again.refused_files) == [str(folder / "b.dat")]

    @pytest.mark.skipif(sys.platform != "linux", reason="this system has no file names that are not Unicode")
    def test_a_file_name_that_is_no_text_is_refused_by_name(self, index, tmp_path):
        folder = tmp_path / "folder"
        good = write_jsonl(folder / "a.jsonl", records(3))
        odd = Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.jsonl"))
        odd.write_bytes(write_jsonl(tmp_path / "b.jsonl", records(2, start=5)).read_bytes())
        with pytest.raises(InputError, match="caf"):
            run_build([odd], index)
        assert not index.exists()
        summary = run_build([folder], index)
        assert (summary.papers, [c.name for c in summary.files], len(summary.refused_files)) == (3, [str(good)], 1)
        "".join([*summary.refused_files, *summary.refused_files.values()]).encode("utf-8")
        assert run_build([], index).published is False

    def test_the_format_that_was_said_is_remembered(self, index, tmp_path):
        source = write_jsonl(tmp_path / "odd.txt", records(3))
        run_build([source], index, from_format="jsonl")
        write_jsonl(source, records(4))
        assert run_build([], index).papers == 4

    def test_a_source_named_with_a_tilde_is_remembered_where_it_is(self, index, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        write_jsonl(tmp_path / "mine.jsonl", records(2))
        run_build(["~/mine.jsonl"], index)
        assert [s.path for s in read_state(index).sources] == [str(tmp_path / "mine.jsonl")]

    def test_when_all_remembered_sources_are_gone_it_says_so(self, index, corpus):
        run_build([corpus], index)
        corpus.unlink()
        with pytest.raises(SourceNotFound, match="remembered"):
            run_build([], index)
        assert len(papers_in(index)) == 5

    def test_standard_input_replaces_what_it_said_before(self, index, monkeypatch):
        def give(items: Iterable[Mapping[str, Any]]) -> None:
            content = "".join(json.dumps(i) + "\n" for i in items).encode()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

        give(records(3))
        assert run_build(["-"], index).papers == 3
        assert read_state(index).sources == ()
        give([record(0), record(1, venue="ACL"), record(3)])
        summary = run_build(["-"], index)
        assert (summary.added, summary.updated, summary.papers) == (1, 1, 4)
        give([record(0), record(1, venue="ACL"), record(3)])
        assert run_build(["-"], index, prune=True).removed == 1
        assert list(papers_in(index)) == ["p0", "p1", "p3"]

    def test_an_encoder_that_gives_no_number_ends_the_run_and_the_generation_before_stays(self, index, corpus):
        class NotANumber(FakeEncoder):
            def encode_documents(self, texts):
                encoded = super().encode_documents(texts)
                encoded.vectors[0] = float("nan")
                return encoded

        class Provider(FakeProvider):
            def load(self, request):
                return NotANumber(request)

        run_build([corpus], index)
        before = answers(index)
        write_jsonl(corpus, records(6))
        with pytest.raises(EncodingFailed):
            run_build([corpus], index, Provider())
        assert answers(index) == before
        assert run_build([corpus], index).papers == 6


class TestPrune:
    def test_it_removes_what_the_named_source_lost(self, index, corpus, fake_provider):
        run_build([corpus], index)
        write_jsonl(corpus, records(4))
        summary = run_build([corpus], index, fake_provider, prune=True)
        assert (summary.removed, summary.papers, fake_provider.loaded) == (1, 4, 0)
        assert list(papers_in(index)) == ["p0", "p1", "p2", "p3"]
        sound(index)

    def test_it_removes_what_an_earlier_run_without_it_had_kept(self, index, corpus):
        run_build([corpus], index)
        write_jsonl(corpus, records(4))
        run_build([corpus], index)
        summary = run_build([], index, prune=True)
        assert (summary.removed, summary.papers) == (1, 4)
        assert run_build([], index, prune=True).published is False

    def test_the_records_of_a_file_are_those_that_stand_in_it(self, index, corpus):
        run_build([corpus], index)
        write_jsonl(corpus, records(4))
        assert run_build([corpus], index).records == 4

    @pytest.mark.parametrize("kept, asks", [(6, False), (5, True)])
    def test_over_a_quarter_needs_confirmation(self, index, tmp_path, kept, asks):
        corpus = write_jsonl(tmp_path / "a.jsonl", records(8))
        run_build([corpus], index)
        write_jsonl(corpus, records(kept))
        before = answers(index)
        if asks:
            with pytest.raises(UsageError, match="would remove 3 of 8 papers"):
                run_build([corpus], index, prune=True)
            assert answers(index) == before
        summary = run_build([corpus], index, prune=True, confirmed=asks)
        assert (summary.removed, summary.papers) == (8 - kept, kept)

    def test_a_paper_that_another_source_holds_stays(self, index, tmp_path):
        a, b = write_jsonl(tmp_path / "a.jsonl", records(5)), write_jsonl(tmp_path / "b.jsonl", records(2, start=4))
        assert run_build([a, b], index).papers == 6
        write_jsonl(a, records(4))
        summary = run_build([a], index, prune=True)
        assert (summary.removed, summary.papers) == (0, 6)
        write_jsonl(b, [record(5)])
        assert run_build([a, b], index, prune=True).removed == 1
        assert set(papers_in(index)) == {"p0", "p1", "p2", "p3", "p5"}
        sound(index)

    def test_papers_of_sources_that_were_not_named_stay(self, index, tmp_path):
        a, b = write_jsonl(tmp_path / "a.jsonl", records(4)), write_jsonl(tmp_path / "b.jsonl", records(4, start=10))
        run_build([a, b], index)
        write_jsonl(a, records(3))
        write_jsonl(b, records(3, start=10))
        assert run_build([a], index, prune=True).removed == 1
        assert set(papers_in(index)) == {"p0", "p1", "p2", "p10", "p11", "p12", "p13"}

    def test_a_file_that_vanished_from_a_named_folder_takes_its_papers_along(self, index, tmp_path):
        folder = tmp_path / "folder"
        write_jsonl(folder / "a.jsonl", records(6))
        gone = write_jsonl(folder / "b.jsonl", records(2, start=10))
        run_build([folder], index)
        gone.unlink()
        assert run_build([folder], index).papers == 8
        summary = run_build([], index, prune=True)
        assert (summary.removed, summary.papers) == (2, 6)
        assert [c.name for c in describe(index).sources] == [str(folder / "a.jsonl")]

    def test_a_remembered_file_that_vanished_keeps_its_papers(self, index, tmp_path):
        a, b = write_jsonl(tmp_path / "a.jsonl", records(4)), write_jsonl(tmp_path / "b.jsonl", [record(10)])
        run_build([a, b], index)
        b.unlink()
        assert run_build([], index, prune=True).papers == 5

    def test_a_file_that_can_no_longer_be_read_keeps_its_papers(self, index, tmp_path):
        folder = tmp_path / "folder"
        write_jsonl(folder / "a.jsonl", records(6))
        spoilt = write_jsonl(folder / "b.jsonl", [record(10)])
        run_build([folder], index)
        spoilt.write_bytes(b"%PDF-1.4 " + bytes(range(256)))
        summary = run_build([folder], index, prune=True)
        assert (summary.removed, summary.papers, list(summary.refused_files)) == (0, 7, [str(spoilt)])


class TestRejects:
    def test_they_are_counted_listed_and_left_out(self, index, tmp_path):
        mixed = [record(0), "not json", {"id": "empty"}, record(1), "[1, 2]", {"id": "n", "title": 5}]
        source = write_jsonl(tmp_path / "a.jsonl", mixed)
        summary = run_build([source], index)
        assert (summary.records, summary.papers, summary.rejected) == (6, 2, 4)
        assert sorted(summary.reject_reasons.values()) == [1, 1, 1, 1]
        lines = [json.loads(line) for line in Path(summary.rejects_file or "").read_text("utf-8").splitlines()]
        assert [(line["file"], line["line"]) for line in lines] == [(str(source), n) for n in (2, 3, 5, 6)]

    def test_they_are_written_where_the_user_says_even_when_all_are_rejected(self, index, tmp_path):
        source = write_jsonl(tmp_path / "a.jsonl", ["{not json", '{"title": "cut'])
        rejects = tmp_path / "rejects.jsonl"
        with pytest.raises(NothingToIndex, match="All 2 records were rejected"):
            run_build([source], index, from_format="jsonl", rejects_file=rejects)
        assert len(rejects.read_text().splitlines()) == 2
        assert not index.exists()

    def test_a_record_that_was_mended_is_no_longer_rejected(self, index, tmp_path):
        source = write_jsonl(tmp_path / "a.jsonl", [record(0), "not json"])
        assert run_build([source], index).rejected == 1
        write_jsonl(source, records(2))
        summary = run_build([source], index)
        assert (summary.rejected, summary.papers) == (0, 2)

    def test_an_unchanged_run_still_reports_them(self, index, tmp_path):
        source = write_jsonl(tmp_path / "a.jsonl", [record(0), "not json"])
        run_build([source], index)
        summary = run_build([source], index)
        assert (summary.published, summary.rejected, summary.records) == (False, 1, 2)

    def test_strict_stops_at_the_first_and_leaves_no_folder(self, index, tmp_path):
        source = write_jsonl(tmp_path / "a.jsonl", [record(0), "not json", record(1)])
        with pytest.raises(RecordRejected, match="line 2"):
            run_build([source], index, strict=True)
        assert not index.exists()

    def test_strict_leaves_the_generation_before(self, index, corpus):
        run_build([corpus], index)
        before = answers(index)
        write_jsonl(corpus, [*records(6), "not json"])
        with pytest.raises(RecordRejected):
            run_build([corpus], index, strict=True)
        assert (answers(index), read_pointer(index).generation) == (before, 1)

    def test_values_that_no_encoding_can_write_are_no_obstacle(self, index, tmp_path):
        odd = [
            '{"id": "a", "title": ["x", {"y": "\\ud800"}]}',
            '{"id": "\\ud800b", "title": "T \\udfff of it"}',
            '{"id": "c", "title": "Fine", "url": "\\ud800", "authors": ["\\ud801 X"], "doi": "\\ud800"}',
        ]
        source = write_jsonl(tmp_path / "a.jsonl", [record(0), *odd])
        summary = run_build([source], index)
        assert (summary.records, summary.rejected) == (4, 1)
        assert len(Path(summary.rejects_file or "").read_text("utf-8").splitlines()) == 1

    def test_an_empty_file_and_an_unknown_format_are_said_apart(self, index, tmp_path):
        (tmp_path / "empty.jsonl").write_text("")
        with pytest.raises((NothingToIndex, UnknownFormat)):
            run_build([tmp_path / "empty.jsonl"], index)
        (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
        with pytest.raises(UnknownFormat):
            run_build([tmp_path / "a.pdf"], index)
        assert not index.exists()

    def test_a_run_in_which_all_are_rejected_leaves_an_index_as_it_was(self, index, corpus, tmp_path):
        run_build([corpus], index)
        before = answers(index)
        bad = write_jsonl(tmp_path / "bad.jsonl", [{"id": "x"}])
        with pytest.raises(NothingToIndex):
            run_build([bad], index, from_format="jsonl")
        assert answers(index) == before
        assert [s.path for s in read_state(index).sources] == [str(corpus)]


class TestDryRun:
    def test_of_a_new_index_it_makes_nothing(self, index, corpus, fake_provider, tmp_path):
        before = listing(tmp_path)
        summary = run_build([corpus], index, fake_provider, dry_run=True)
        assert (summary.generation, summary.published, summary.papers, summary.added, summary.encoded) == (
            None,
            False,
            5,
            5,
            5,
        )
        assert (listing(tmp_path), fake_provider.loaded, index.parent.exists()) == (before, 0, False)

    def test_of_an_index_it_tells_what_a_run_would_do(self, index, corpus, fake_provider, tmp_path):
        run_build([corpus], index)
        write_jsonl(
            corpus, [record(0, abstract="Another abstract about whales and their songs."), *records(5, start=2)]
        )
        before = listing(tmp_path)
        told = run_build([corpus], index, fake_provider, dry_run=True, prune=True)
        assert (listing(tmp_path), fake_provider.loaded) == (before, 0)
        done = run_build([corpus], index, prune=True)
        for name in (
            "records",
            "papers",
            "added",
            "updated",
            "removed",
            "unchanged",
            "merged",
            "rejected",
            "encoded",
            "without_abstract",
        ):
            assert getattr(told, name) == getattr(done, name), name
        assert (done.added, done.updated, done.removed, done.encoded) == (2, 1, 1, 3)

    def test_it_refuses_what_a_run_would_refuse(self, index, corpus, tmp_path):
        run_build([corpus], index)
        write_jsonl(corpus, records(2))
        before = listing(tmp_path)
        with pytest.raises(UsageError, match="would remove 3 of 5"):
            run_build([corpus], index, dry_run=True, prune=True)
        assert listing(tmp_path) == before


class TestModel:
    def test_it_is_kept_unless_another_is_named(self, index, corpus):
        run_build([corpus], index, model="chosen")
        write_jsonl(corpus, records(6))
        provider = FakeProvider()
        assert run_build([corpus], index, provider).encoded == 1
        assert [e.identity.model for e in provider.encoders] == ["chosen"]

    def test_a_rebuild_keeps_it_too(self, index, corpus):
        run_build([corpus], index, model="chosen", max_tokens=77, factory="HNSW4")
        summary = run_build([corpus], index, rebuild=True)
        info = describe(index)
        assert (info.model, info.max_tokens, summary.factory) == ("chosen", 77, "HNSW4")

    def test_another_one_encodes_everything_again(self, index, corpus, fake_provider):
        run_build([corpus], index, model="first")
        summary = run_build([], index, fake_provider, model="second")
        assert (summary.encoded, summary.reused, summary.updated, summary.generation) == (5, 0, 0, 2)
        assert describe(index).model == "second"
        assert run_build([], index, fake_provider, model="second").published is False
        sound(index)

    def test_another_limit_encodes_everything_again(self, index, corpus):
        run_build([corpus], index, model="first")
        assert run_build([], index, max_tokens=8).encoded == 5
        info = describe(index)
        assert (info.model, info.max_tokens, info.truncated) == ("first", 8, 5)

    def test_another_model_under_the_same_name_is_refused_with_the_way_out(self, index, corpus):
        class Swapped(FakeProvider):
            """Has other weights under every name."""

            def identify(self, request, **options):
                return self._swap(super().identify(request, **options))

            def load(self, request):
                encoder = super().load(request)
                encoder.identity = self._swap(encoder.identity)
                return encoder

            @staticmethod
            def _swap(identity: EncoderIdentity) -> EncoderIdentity:
                return EncoderIdentity(
                    identity.model, None, identity.dimension, identity.max_tokens, "float32", "f" * 64
                )

        run_build([corpus], index, model="mine")
        before, swapped = answers(index), Swapped()
        assert run_build([corpus], index, swapped).published is False
        write_jsonl(corpus, records(6))
        with pytest.raises(ModelMismatch) as caught:
            run_build([corpus], index, swapped)
        assert "mine" in caught.value.message and "semsearch reindex" in caught.value.way_out
        assert "--model mine" in caught.value.way_out
        with Searcher(index, provider=swapped) as searcher, pytest.raises(ModelMismatch):
            searcher.query("graph")
        with Searcher(index, provider=swapped) as searcher:
            assert len(searcher.related(["p0"], 3).hits) == 3
        assert (swapped.encoded, answers(index)) == ([], before)
        summary = run_build([corpus], index, swapped, model="mine")
        assert (summary.encoded, summary.papers) == (6, 6)

    def test_an_unknown_factory_is_refused_before_anything_is_encoded(self, index, corpus, fake_provider):
        for factory in ("Flatt", "IVF500,Flat"):
            with pytest.raises(UsageError, match=factory):
                run_build([corpus], index, fake_provider, factory=factory)
        assert fake_provider.encoded == []

    def test_the_factory_is_kept(self, index, corpus):
        assert run_build([corpus], index, factory="HNSW4").factory == "HNSW4"
        write_jsonl(corpus, records(7))
        assert run_build([corpus], index).factory == "HNSW4"
        assert run_build([corpus], index, factory="HNSW4").published is False
        assert run_build([corpus], index, factory="Flat").factory == "Flat"
        assert not (generation_folder(index) / "index.faiss").exists()


class TestIdentity:
    def test_records_of_one_id_with_agreeing_titles_merge(self, index, tmp_path):
        a = write_jsonl(tmp_path / "a.jsonl", [record(0), record(1)])
        b = write_jsonl(tmp_path / "b.jsonl", [record(0, abstract="", venue="ACL", year=2021)])
        summary = run_build([a, b], index)
        assert (summary.records, summary.papers, summary.merged, summary.renamed) == (3, 2, 1, 0)
        paper = papers_in(index)["p0"]
        assert (paper.abstract, paper.venue, paper.year) == (record(0)["abstract"], "ACL", 2021)

    def test_another_work_under_the_same_id_gets_a_suffix(self, index, tmp_path):
        other = record(0, title="Whales", abstract="Songs of the deep sea are long.")
        summary = run_build([write_jsonl(tmp_path / "a.jsonl", [record(0), other])], index)
        assert (summary.papers, summary.merged, summary.renamed) == (2, 0, 1)
        ids = sorted(papers_in(index))
        assert ids[0] == "p0" and ids[1].startswith("p0~") and len(ids[1]) == 7
        assert papers_in(index)["p0"].title == record(0)["title"]

    def test_ids_stay_when_sources_are_added_and_changed(self, index, tmp_path):
        first = write_jsonl(tmp_path / "a.jsonl", [record(0), record(0, title="Whales", abstract="Songs.")])
        run_build([first], index)
        before = {p.title: i for i, p in papers_in(index).items()}
        write_jsonl(first, [record(0, title="Whales", abstract="Songs."), record(0)])
        more = write_jsonl(tmp_path / "0.jsonl", [record(0, title="Bees", abstract="Their dance.")])
        run_build([more, first], index)
        after = {p.title: i for i, p in papers_in(index).items()}
        assert {title: after[title] for title in before} == before
        assert len(set(after.values())) == 3

    def test_a_change_that_ends_an_agreement_makes_two_papers_again(self, index, tmp_path):
        doi = {"doi": "10.1000/xyz"}
        a = write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "title": "Whales sing", **doi}])
        b = write_jsonl(tmp_path / "b.csv", [])
        b.write_text("id,title,abstract,doi\nb,Whales sing,They sing long songs in the deep sea.,10.1000/xyz\n")
        assert run_build([a, b], index).papers == 1
        merged = next(iter(papers_in(index).values()))
        assert (merged.id, merged.abstract) == ("b", "They sing long songs in the deep sea.")
        write_jsonl(a, [{"id": "a", "title": "Bees dance for food", **doi}])
        summary = run_build([a], index)
        found = papers_in(index)
        assert summary.papers == 2
        assert {i: p.title for i, p in found.items()} == {"b": "Whales sing", "a": "Bees dance for food"}
        write_jsonl(a, [{"id": "a", "title": "Whales sing", **doi}])
        summary = run_build([a], index)
        assert (summary.papers, summary.removed) == (1, 1)
        sound(index)

    def test_a_merged_paper_loses_what_only_the_dropped_record_said(self, index, tmp_path):
        a = write_jsonl(tmp_path / "a.jsonl", [record(0), *records(5, start=1)])
        b = write_jsonl(tmp_path / "b.jsonl", [record(0, venue="ACL"), record(6)])
        run_build([a, b], index)
        assert papers_in(index)["p0"].venue == "ACL"
        write_jsonl(b, [record(6)])
        summary = run_build([b], index, prune=True)
        assert (papers_in(index)["p0"].venue, summary.papers, summary.removed) == ("", 7, 0)
        assert sum(c.merged for c in describe(index).sources) == 0


TITLES = ("Whales sing in the deep sea", "Bees dance", "Whales sing in the deep sea at night and by day for long")
one_record = st.fixed_dictionaries(
    {
        "title": st.sampled_from(TITLES),
        "abstract": st.sampled_from(["", "Their songs are long.", "They dance for food."]),
    },
    optional={
        "id": st.sampled_from("abc"),
        "doi": st.sampled_from(["10.1000/x", "10.1000/y"]),
        "arxiv": st.sampled_from(["2101.00001", "2101.00002"]),
        "year": st.sampled_from([2020, 2021]),
        "authors": st.sampled_from([["Ada Lovelace"], ["Grace Hopper"]]),
        "venue": st.sampled_from(["ACL", "ICLR"]),
    },
)


class TestOrderOfArrival:
    @settings(max_examples=30, deadline=None)
    @given(items=st.lists(one_record, min_size=1, max_size=7), data=st.data())
    def test_the_works_do_not_depend_on_the_order_of_records(self, tmp_path_factory, items, data):
        folder = tmp_path_factory.mktemp("order")
        source = write_jsonl(folder / "a.jsonl", items)
        shuffled = write_jsonl(folder / "b.jsonl", data.draw(st.permutations(items)))
        summary = run_build([source], folder / "one")
        other = run_build([shuffled], folder / "two")
        assert works_in(folder / "one") == works_in(folder / "two")
        assert (summary.papers, summary.merged) == (other.papers, other.merged)
        if not summary.renamed and not other.renamed:
            assert papers_in(folder / "one") == papers_in(folder / "two")

    @settings(max_examples=30, deadline=None)
    @given(items=st.lists(one_record, min_size=2, max_size=7), data=st.data())
    def test_the_works_do_not_depend_on_what_came_first(self, tmp_path_factory, items, data):
        """Two files in two runs, or at once, or after detours, make the same works; ids once given stay."""
        folder = tmp_path_factory.mktemp("arrival")
        cut = data.draw(st.integers(1, len(items) - 1))
        a, b = write_jsonl(folder / "a.jsonl", items[:cut]), write_jsonl(folder / "b.jsonl", items[cut:])
        run_build([a, b], folder / "once")
        run_build([b], folder / "twice")
        run_build([a], folder / "twice")
        assert works_in(folder / "twice") == works_in(folder / "once")
        sound(folder / "twice")
        changed = data.draw(st.lists(one_record, min_size=1, max_size=3))
        write_jsonl(a, changed)
        run_build([a], folder / "twice", prune=True, confirmed=True)
        run_build([a, b], folder / "changed")
        assert works_in(folder / "twice") == works_in(folder / "changed")
        sound(folder / "twice")
        write_jsonl(a, items[:cut])
        run_build([a], folder / "twice", prune=True, confirmed=True)
        assert works_in(folder / "twice") == works_in(folder / "once")
        sound(folder / "twice")


class TestDeletion:
    def test_it_is_seen_at_once_and_later_builds_do_not_bring_it_back(self, index, corpus, fake_provider):
        run_build([corpus], index)
        assert delete(index, ["p1"]) == [("p1", record(1)["title"])]
        assert "p1" not in papers_in(index)
        summary = run_build([corpus], index, fake_provider)
        assert (summary.papers, summary.removed, summary.deleted, fake_provider.loaded) == (4, 1, 1, 0)
        write_jsonl(corpus, [record(1, venue="ACL"), *records(6, start=2)])
        summary = run_build([corpus], index)
        assert "p1" not in papers_in(index) and summary.papers == 4 + 3
        assert run_build([], index).published is False
        sound(index)

    def test_it_holds_in_a_rebuild_and_from_another_source(self, index, corpus, tmp_path):
        run_build([corpus], index)
        delete(index, ["p1"])
        other = write_jsonl(tmp_path / "other.jsonl", [record(1), record(9)])
        run_build([other], index)
        assert set(papers_in(index)) == {"p0", "p2", "p3", "p4", "p9"}
        run_build([corpus, other], index, rebuild=True)
        assert set(papers_in(index)) == {"p0", "p2", "p3", "p4", "p9"}

    def test_of_one_work_it_does_not_hide_another_that_takes_the_id(self, index, tmp_path):
        source = write_jsonl(tmp_path / "a.jsonl", [record(0), record(0, title="Whales", abstract="Songs."), record(1)])
        run_build([source], index)
        delete(index, ["p0"])
        run_build([source], index, rebuild=True)
        assert [p.title for p in papers_in(index).values()] == ["Whales", record(1)["title"]]
        assert "p0" not in papers_in(index)
        run_build([source], index)
        assert len(papers_in(index)) == 2
        restore(index, ["p0"])
        run_build([], index)
        assert papers_in(index)["p0"].title == record(0)["title"]

    def test_it_can_be_taken_back_before_the_row_went(self, index, corpus, fake_provider):
        run_build([corpus], index)
        before = answers(index)
        delete(index, ["p1"])
        assert restore(index, ["p1"]) == [("p1", record(1)["title"], True)]
        assert answers(index) == before
        assert run_build([], index, fake_provider).published is False

    def test_it_can_be_taken_back_after_the_row_went(self, index, corpus, fake_provider):
        run_build([corpus], index)
        delete(index, ["p1"])
        run_build([], index)
        assert restore(index, ["p1"]) == [("p1", record(1)["title"], False)]
        summary = run_build([], index, fake_provider)
        assert (summary.added, summary.papers, summary.encoded) == (1, 5, 1)
        assert set(papers_in(index)) == {f"p{n}" for n in range(5)}
        sound(index)

    @pytest.mark.parametrize("compacted", [False, True])
    def test_restore_forgets_all_deletions(self, index, corpus, compacted):
        run_build([corpus], index)
        delete(index, ["p1", "p2"])
        if compacted:
            run_build([], index)
        summary = run_build([], index, restore=True)
        assert (summary.papers, read_state(index).deletions) == (5, {})
        assert set(papers_in(index)) == {f"p{n}" for n in range(5)}
        assert run_build([], index).published is False

    def test_a_deleted_paper_that_its_source_lost_is_gone_for_good(self, index, corpus):
        run_build([corpus], index)
        delete(index, ["p4"])
        write_jsonl(corpus, records(4))
        run_build([], index, prune=True)
        restore(index, ["p4"])
        assert run_build([], index).papers == 4


class TestDamagedState:
    def test_a_build_refuses_and_a_rebuild_goes_on(self, index, corpus):
        run_build([corpus], index)
        (index / "state.json").write_text("{}")
        with pytest.raises(IndexDamaged, match=r"state\.json"):
            run_build([corpus], index)
        assert run_build([corpus], index, rebuild=True).papers == 5
        assert [s.path for s in read_state(index).sources] == [str(corpus)]


def test_build_takes_plain_strings(index, corpus):
    assert build_index([str(corpus)], str(index), BuildOptions(), provider=FakeProvider()).papers == 5
