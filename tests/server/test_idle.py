"""Encoding while nobody asks: what comes first, where vectors go, who is not kept out."""

from __future__ import annotations

import threading
import time
from collections import namedtuple

import numpy as np
import pytest
from fakes import FakeEncoder, FakeProvider
from made_papers import generation_folder, record, records, run_build, text_of, write_jsonl

from semsearch import folding
from semsearch.build import BuildOptions, build_index
from semsearch.encoding import EncodingStopped
from semsearch.errors import DiskFull, IndexBusy, ModelNotFound
from semsearch.index.locks import build_lock
from semsearch.index.reader import IndexReader
from semsearch.index.vector_log import FOLDER, VectorLogWriter, read_logs
from semsearch.index.wanted_texts import append_wanted
from semsearch.maintenance import delete, verify
from semsearch.search import Searcher
from semsearch.server import idle
from semsearch.server.idle import IdleEncoding
from semsearch.server.shelf import Shelf

COUNT = 60


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def encoding(home):
    """An idle encoding over the home, with what it said and its provider."""
    provider, notes, clock = FakeProvider(), [], Clock()
    shelf = Shelf(home, provider)
    made = IdleEncoding(shelf, notes.append, clock)
    made.provider, made.notes, made.clock, made.shelf = provider, notes, clock, shelf
    yield made
    made.close()
    shelf.close()


def run(encoding, most=10_000):
    """Take steps until there is nothing more to do, waiting for what is published."""
    for count in range(most):
        if not encoding.step():
            encoding.close()
            if not encoding.step():
                return count
    return most


def coverage(home, name="bare"):
    with IndexReader(home / name) as reader:
        return reader.manifest.vectors


def test_all_is_encoded_and_published(home, encoding):
    run(encoding)
    assert coverage(home) == COUNT
    assert verify(home / "bare").problems == ()
    assert sorted(encoding.provider.encoded) == sorted(text_of(each) for each in records(COUNT))
    assert not list((home / "bare" / FOLDER).glob("*/*.log"))
    with Searcher(home / "bare", provider=FakeProvider()) as bare, Searcher(home / "whole",
                                                                          provider=FakeProvider()) as whole:
        assert bare.query("graph attention", 20) == whole.query("graph attention", 20)


def test_a_step_is_short(encoding, monkeypatch):
    """Texts take 2 ms each here: so about ten fit into a step."""
    sizes = []
    plain = FakeProvider.load

    def load(self, request):
        encoder = plain(self, request)
        encode = encoder.encode_documents

        def slowly(texts):
            sizes.append(len(texts))
            encoding.clock.now += 0.002 * len(texts)
            return encode(texts)

        encoder.encode_documents = slowly
        return encoder

    monkeypatch.setattr(FakeProvider, "load", load)
    run(encoding)
    assert sizes[:4] == [1, 2, 4, 8] and max(sizes) <= 10 and sum(sizes) == COUNT


@pytest.fixture
def stoppable(monkeypatch):
    """Makes encoders stoppable, each encoding told beforehand to what is put into this list; gives what was made."""
    made, before = [], []

    class Stoppable:
        def __init__(self, encoder):
            self._encoder, self.identity, self.device, self.is_stopped = encoder, encoder.identity, "cpu", False

        def stop(self):
            self.is_stopped = True

        def encode_documents(self, texts):
            for tell in before:
                tell(texts)
            if self.is_stopped:
                raise EncodingStopped
            return self._encoder.encode_documents(texts)

        def encode_queries(self, texts):
            return self._encoder.encode_queries(texts)

    def stoppable(self):
        made.append(Stoppable(self))
        return made[-1]

    monkeypatch.setattr(FakeEncoder, "stoppable", stoppable, raising=False)
    made_and_before = namedtuple("Made", "made before")
    return made_and_before(made, before)


def test_where_it_can_be_stopped_a_step_is_longer(encoding, stoppable):
    sizes = []

    def slowly(texts):
        sizes.append(len(texts))
        encoding.clock.now += 0.01 * len(texts)

    stoppable.before.append(slowly)
    run(encoding)
    assert sizes[:4] == [1, 2, 4, 8] and 8 <= max(sizes) <= 10 and sum(sizes) == COUNT


def test_a_step_that_a_question_stops_keeps_nothing_and_its_texts_come_next(home, encoding, stoppable):
    stops, given = iter([False, True, True, False]), []

    def ask(texts):
        given.append(list(texts))
        if next(stops, False):
            encoding.interrupt()

    stoppable.before.append(ask)
    assert encoding.step() and len(encoding.provider.encoded) == 1
    assert encoding.step() and encoding.step()
    assert len(encoding.provider.encoded) == 1
    assert given[1] == given[2] and len(given[1]) == 2
    assert encoding.step() and encoding.provider.encoded[1:] == given[1] == given[3]
    run(encoding)
    assert sorted(encoding.provider.encoded) == sorted(text_of(each) for each in records(COUNT))
    assert coverage(home) == COUNT and encoding.notes == []
    encoding.interrupt()  # nothing is encoded: nothing to stop
    assert [each.is_stopped for each in stoppable.made[:4]] == [False, True, True, False]


def test_a_step_does_not_begin_where_somebody_waits(encoding, stoppable):
    assert encoding.step(lambda: True) and encoding.provider.encoded == []
    assert encoding.step(lambda: False) and len(encoding.provider.encoded) == 1


def test_what_was_asked_about_comes_first_then_the_newest(home, encoding):
    dated = [record(n, year=1990 + n) for n in range(20)]
    run_build([write_jsonl(home.parent / "dated.jsonl", dated)], home / "dated", encode="later")
    encoding.shelf.ask("dated")
    with IndexReader(home / "dated") as reader:
        keys = [paper.text_key for paper in reader.papers.get([3, 5])]
        append_wanted(reader.folder / FOLDER / reader.manifest.encoder.fingerprint, keys)
    while len(encoding.provider.encoded) < 20:
        assert encoding.step()
    numbers = [int(text.split()[1]) for text in encoding.provider.encoded[:20]]
    assert numbers == [3, 5, *(n for n in range(19, -1, -1) if n not in (3, 5))]


def test_the_index_that_was_asked_last_comes_first(home, encoding):
    run_build([write_jsonl(home.parent / "z.jsonl", records(5, 500))], home / "zebra", encode="later")
    encoding.shelf.ask("zebra")
    encoding.step()
    assert encoding.provider.encoded[0].startswith("Study 50")


def test_deleted_papers_are_left_alone(home, encoding):
    delete(home / "bare", ["p1", "p2"])
    run(encoding)
    assert len(encoding.provider.encoded) == COUNT - 2
    assert encoding.shelf.open("bare").describe()["coverage"] == 1.0


def test_one_text_of_two_papers_is_encoded_once(home, encoding):
    twins = [record(1, id="a"), record(1, id="b"), record(2)]
    run_build([write_jsonl(home.parent / "twins.jsonl", twins)], home / "twins", encode="later")
    encoding.shelf.ask("twins")
    while encoding.shelf.open("twins").describe()["coverage"] < 1:
        assert encoding.step()
    assert len(encoding.provider.encoded) == 2
    run(encoding)
    assert coverage(home, "twins") == 3
    assert encoding.provider.encoded.count(text_of(record(1))) == 2  # once for each index that has it


def test_while_a_build_is_at_work_this_is_not(home, encoding):
    with build_lock(home / "bare", "build"):
        assert not encoding.step()
        encoding.clock.now += 60
        assert not encoding.step()
        assert encoding.provider.encoded == []
    encoding.clock.now += 60
    assert encoding.step()


def test_a_build_is_not_kept_out_and_takes_what_was_encoded(home, encoding):
    for _ in range(5):
        encoding.step()
    done = len(encoding.provider.encoded)
    assert 0 < done < COUNT
    provider = FakeProvider()
    summary = build_index([home.parent / "papers.jsonl"], home / "bare", BuildOptions(), provider=provider)
    assert (summary.encoded, summary.coverage) == (COUNT - done, 1.0)


def test_a_build_that_begins_while_a_generation_is_published_waits_for_it(home, encoding, monkeypatch):
    in_the_middle, go_on = threading.Event(), threading.Event()
    plain = folding.publish_generation

    def publish(*arguments, **options):
        in_the_middle.set()
        assert go_on.wait(60)
        return plain(*arguments, **options)

    monkeypatch.setattr(folding, "publish_generation", publish)
    while not encoding.is_folding:
        encoding.step()
    assert in_the_middle.wait(60)
    summaries = []
    build = threading.Thread(target=lambda: summaries.append(
        build_index([home.parent / "papers.jsonl"], home / "bare", BuildOptions(), provider=FakeProvider())))
    build.start()
    time.sleep(0.2)
    assert build.is_alive() and not encoding.step()
    go_on.set()
    build.join(60)
    encoding.close()
    assert (summaries[0].encoded, summaries[0].coverage) == (0, 1.0)


def test_generations_come_at_growing_intervals(home, encoding, monkeypatch):
    monkeypatch.setattr(idle, "PUBLISH_TEXTS", 10)
    covered = [0]
    for _ in range(1000):
        encoding.step()
        encoding.close()
        now = coverage(home)
        if now != covered[-1]:
            covered.append(now)
        if now == COUNT:
            break
    grown = np.diff(covered)
    assert covered[-1] == COUNT and len(covered) > 3
    assert all(more >= max(10, 0.25 * before) for before, more in zip(covered[:-2], grown[:-1], strict=True))


def test_vectors_are_in_the_log_as_soon_as_they_are_there(home, encoding):
    encoding.step()
    with IndexReader(home / "bare") as reader:
        logged = read_logs(reader.folder / FOLDER / reader.manifest.encoder.fingerprint, 64)
        assert sum(len(each) for each in logged) == len(encoding.provider.encoded) > 0


def test_a_model_that_is_not_there_is_told_once_until_the_index_changes(home, encoding, monkeypatch):
    def absent(self, request):
        raise ModelNotFound("The model is not on this machine.", "Fetch it.")

    told = "The index 'bare' is not encoded any further while nobody asks: The model is not on this machine."
    with monkeypatch.context() as without:
        without.setattr(FakeProvider, "load", absent)
        run(encoding)
        run(encoding)
        assert encoding.notes == [told] and not encoding.is_for("bare")
        delete(home / "bare", ["p1"])
        assert encoding.is_for("bare")
        run(encoding)
        assert encoding.notes == [told] * 2
    assert run(encoding) == 0
    run_build([write_jsonl(home.parent / "more.jsonl", records(1, 100))], home / "bare", encode="later")
    run(encoding)
    assert coverage(home) == COUNT


def test_a_full_disk_ends_it(home, encoding, monkeypatch):
    def full(self, keys, encoded):
        raise DiskFull("No room.")

    monkeypatch.setattr(VectorLogWriter, "append", full)
    run(encoding)
    assert len(encoding.provider.encoded) == 1
    assert len(encoding.notes) == 1 and "cannot be written to" in encoding.notes[0]


@pytest.mark.parametrize("error, says", [(PermissionError(13, "Permission denied", "x"), "Permission denied"),
                                         (ZeroDivisionError(), "see the error above"),
                                         (DiskFull("No room."), "No room")])
def test_a_generation_that_cannot_be_published_is_told_and_not_tried_again(home, encoding, monkeypatch, caplog, error,
                                                                           says):
    calls = []

    def fail(folder):
        calls.append(folder)
        raise error

    monkeypatch.setattr(idle, "fold_logged_vectors", fail)
    run(encoding)
    run(encoding)
    assert len(calls) == 1 and len(encoding.notes) == 1 and says in encoding.notes[0]
    assert ("could not be published" in caplog.text) == isinstance(error, ZeroDivisionError)


def test_a_publish_that_a_build_prevented_is_tried_again(home, encoding, monkeypatch):
    plain, refused = idle.fold_logged_vectors, []

    def fold(folder):
        if len(refused) < 3:
            refused.append(folder)
            raise IndexBusy("Another process is writing.")
        return plain(folder)

    monkeypatch.setattr(idle, "fold_logged_vectors", fold)
    for _ in range(COUNT + 10):
        encoding.step()
        encoding.close()
    assert len(refused) == 3 and coverage(home) == COUNT and encoding.notes == []


def test_what_others_left_in_the_log_is_published(home, encoding):
    with Searcher(home / "bare", provider=FakeProvider()) as searcher:
        searcher.vectors.encode(np.arange(COUNT))
    run(encoding)
    assert encoding.provider.encoded == [] and coverage(home) == COUNT


def test_an_index_whose_first_build_is_at_work_gets_its_turn_later(home, encoding):
    seen = []

    class Watching(FakeProvider):
        def identify(self, request, *, allow_download=True):
            seen.append(sorted(path.name for path in (home / "new").iterdir()))
            encoding.clock.now += 60
            encoding.step()
            return super().identify(request, allow_download=allow_download)

    run(encoding)
    build_index([home.parent / "papers.jsonl"], home / "new", BuildOptions(encode="later"), provider=Watching())
    assert seen and encoding.notes == []
    encoding.clock.now += 60
    run(encoding)
    assert coverage(home, "new") == COUNT


def test_what_others_encode_meanwhile_is_not_encoded_again_nor_are_steps_longer_for_it(home, encoding, monkeypatch):
    monkeypatch.setattr(idle, "_MOST_TEXTS", 8)
    encoding.step()
    other = FakeProvider()
    with Searcher(home / "bare", provider=other) as searcher:
        searcher.vectors.encode(np.arange(COUNT // 2, COUNT))
    run(encoding)
    assert len(encoding.provider.encoded) + len(other.encoded) == COUNT
    assert coverage(home) == COUNT and not list((home / "bare" / FOLDER).glob("*/*.log"))


def test_of_two_servers_one_encodes(home, encoding):
    encoding.step()
    shelf, provider = Shelf(home, FakeProvider()), FakeProvider()
    second = IdleEncoding(shelf, encoding.notes.append, Clock())
    assert not second.step() and provider.encoded == []
    done = shelf.open("bare").describe()["vectors"]
    assert done == len(encoding.provider.encoded) > 0  # but it sees what the first did
    encoding.close()
    assert second.step()
    assert shelf.open("bare").describe()["vectors"] > done
    second.close()
    shelf.close()


def test_a_folder_that_cannot_be_written_to_is_told(home, encoding):
    (home / "bare" / "idle.lock").mkdir()
    assert not encoding.step()
    assert len(encoding.notes) == 1 and "Is a directory" in encoding.notes[0]


def test_one_index_is_not_encoded_while_another_is_built(home, encoding):
    with build_lock(home / "whole", "build"):
        assert not encoding.step()
    assert encoding.provider.encoded == []


def test_old_generations_go(home, encoding, monkeypatch):
    monkeypatch.setattr(idle, "PUBLISH_TEXTS", 10)
    run(encoding)
    encoding.step()
    assert [path.name for path in (home / "bare" / "generations").iterdir()] == [generation_folder(home / "bare").name]


def test_what_was_encoded_is_on_the_disk_after_a_while(encoding, monkeypatch):
    synced = []
    monkeypatch.setattr(idle, "_MOST_TEXTS", 1)
    monkeypatch.setattr(VectorLogWriter, "checkpoint", lambda self: synced.append(encoding.clock.now))
    for second in range(40):
        encoding.clock.now = float(second)
        encoding.step()
    assert synced == [15.0, 30.0]


def test_steps_are_as_short_for_a_slow_model_that_comes_after_a_fast_one(home, encoding, monkeypatch):
    run_build([home.parent / "papers.jsonl"], home / "slow", encode="later", model="slow")
    sizes = {"slow": [], "fake": []}
    plain = FakeProvider.load

    def load(self, request):
        encoder = plain(self, request)
        encode, name = encoder.encode_documents, "slow" if request.model == "slow" else "fake"

        def timed(texts):
            sizes[name].append(len(texts))
            encoding.clock.now += len(texts) * (0.2 if name == "slow" else 0.0001)
            return encode(texts)

        encoder.encode_documents = timed
        return encoder

    monkeypatch.setattr(FakeProvider, "load", load)
    run(encoding)
    assert max(sizes["fake"]) > 8 and set(sizes["slow"]) == {1}


def test_a_removed_index_does_not_come_back(home):
    from semsearch.maintenance import remove_index

    with Searcher(home / "bare", provider=FakeProvider()) as searcher:
        searcher.encoder()
        searcher.vectors.lacking()
        assert searcher.reader.lexical  # opened
        remove_index(home / "bare")
        assert not searcher.vectors.encode(np.arange(3))
    assert not (home / "bare").exists()


def test_an_index_that_is_removed_meanwhile_is_forgotten(home, encoding):
    from semsearch.maintenance import remove_index

    encoding.step()
    remove_index(home / "bare")
    assert run(encoding) == 0
    run_build([home.parent / "papers.jsonl"], home / "bare", encode="later")
    encoding.shelf.open("bare")
    remove_index(home / "bare")  # before it was looked at
    assert run(encoding) == 0
    assert encoding.notes == []


def test_an_index_that_is_removed_within_a_step_is_forgotten(home, encoding, monkeypatch):
    from semsearch.maintenance import remove_index

    plain = idle._queue

    def queue(index):
        remove_index(home / "bare")
        return plain(index)

    monkeypatch.setattr(idle, "_queue", queue)
    for _ in range(3):
        encoding.step()
    assert encoding.notes == [] and not (home / "bare").exists()
