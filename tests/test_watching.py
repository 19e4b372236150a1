"""Saved searches: what is news, when a search moves on, and what happens to it meanwhile."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes import FakeProvider
from made_papers import record, run_build, write_jsonl

from semsearch.errors import EmptyQuery, IndexNotFound, PaperNotFound, QueryError, UsageError
from semsearch.filters import Filter
from semsearch.index import staged_file
from semsearch.index.facet_columns import arrivals
from semsearch.index.reader import IndexReader
from semsearch.index.saved_searches import REPORTS_KEPT, Report, SavedSearch
from semsearch.index.state import read_state
from semsearch.maintenance import delete
from semsearch.ranking import Mode
from semsearch.search import Searcher
from semsearch.watching import FEED_ENTRIES, advance, choose_searches, feed_of, find_news, forget_searches, save_search

NOW = "2025-03-04T05:06:07+00:00"
BIRDS = SavedSearch("birds", "", "navigate birds", mode=Mode.DENSE)  # no title: that would find its paper first


def bird(number: int, **changes):
    """A paper whose cosine to `navigate birds` falls as its number grows."""
    return {"id": f"bird{number}", "title": "Birds navigate", "year": 2000 + number,
            "abstract": " ".join(f"other{n}" for n in range(number)), "doi": f"10.1000/{number}", **changes}


class Library:
    """An index that grows: each build happens a minute after the one before."""

    def __init__(self, folder: Path, clock: SimpleNamespace) -> None:
        self.folder, self.index, self.clock = folder, folder / "index", clock
        self.files = 0

    def add(self, *items, **options) -> None:
        self.clock.seconds += 60
        self.files += 1
        run_build([write_jsonl(self.folder / f"{self.files}.jsonl", items)], self.index, **options)

    def save(self, search: SavedSearch = BIRDS, **options) -> SavedSearch:
        return save_search(self.index, search, **options)

    def news(self, *names: str, move_on: bool = True, now: str = NOW) -> dict[str, list[str]]:
        """Return the ids of what is new by the names of searches, and move these on."""
        with Searcher(self.index, provider=FakeProvider()) as searcher:
            news = [find_news(searcher, search) for search in choose_searches(searcher.reader.state, names)]
        if move_on:
            advance(self.index, news, now)
        for found in news:
            assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
        return {found.search.name: [hit.paper.id for hit in found.hits] for found in news}

    def saved(self, name: str = "birds") -> SavedSearch:
        return read_state(self.index).searches[name]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """An index of two birds and something else."""
    clock = SimpleNamespace(seconds=1_700_000_000)
    monkeypatch.setattr(staged_file, "time", SimpleNamespace(time=lambda: clock.seconds))
    library = Library(tmp_path, clock)
    library.add(bird(1), bird(2), record(1))
    return library


def test_only_what_comes_later_is_news_and_only_once(library: Library) -> None:
    saved = library.save()
    assert saved.seen_until == 1_700_000_060
    assert library.news() == {"birds": []}
    library.add(bird(3), bird(0), record(2))
    assert library.news(move_on=False) == library.news() == {"birds": ["bird0", "bird3", "p2"]}
    assert library.news() == {"birds": []}
    library.add(bird(4))
    assert library.news("birds") == {"birds": ["bird4"]}
    assert [report.id for report in library.saved().reports] == ["bird0", "bird3", "p2", "bird4"]
    assert library.saved().last_run == NOW


def test_from_the_start_everything_is_news(library: Library) -> None:
    library.save(from_the_start=True)
    assert library.news() == {"birds": ["bird1", "bird2", "p1"]}
    assert library.news() == {"birds": []}


def test_new_papers_are_ranked_among_themselves_and_k_and_the_least_score_are_kept(library: Library) -> None:
    library.save(replace(BIRDS, k=2))
    library.save(replace(BIRDS, name="near", min_score=0.8))
    library.save(replace(BIRDS, name="two", k=2, min_score=0.5))
    library.add(*(bird(n) for n in (3, 4, 0, 5)), record(2))
    # birds and navigate are 2 of 2 + n words, each once: the cosine is the root of 2 / (2 + n)
    with Searcher(library.index, provider=FakeProvider()) as searcher:
        found = {name: find_news(searcher, search) for name, search in searcher.reader.state.searches.items()}
    assert [hit.paper.id for hit in found["birds"].hits] == ["bird0", "bird3"]
    assert [hit.score for hit in found["birds"].hits] == pytest.approx([1, (2 / 5) ** 0.5], abs=0.02)
    assert [hit.paper.id for hit in found["near"].hits] == ["bird0"]
    assert [hit.paper.id for hit in found["two"].hits] == ["bird0", "bird3"]
    assert [bool(one.notes) for one in found.values()] == [True, False, True]
    assert "more than 2 new papers came in" in found["birds"].notes[0]
    assert "more than 2 new papers" in found["two"].notes[0]


def test_a_filter_and_liked_papers_and_words_decide_too(library: Library) -> None:
    library.save(SavedSearch("late", "", "birds", filter=Filter(first_year=2005), mode=Mode.DENSE))
    library.save(SavedSearch("like", "", likes=("10.1000/1", "bird1"), mode=Mode.DENSE, k=2))
    library.save(SavedSearch("words", "", '"other7" -other9', mode=Mode.LEXICAL))
    assert library.saved("like").likes == ("bird1",)
    library.add(bird(3), bird(8), bird(12), record(2))
    news = library.news()
    assert sorted(news["late"]) == ["bird12", "bird8"]
    assert news["like"] == ["bird3", "bird8"]
    assert news["words"] == ["bird8"]


def test_deleted_papers_are_no_news(library: Library) -> None:
    library.save()
    library.add(bird(3), bird(4))
    delete(library.index, ["bird3"])
    assert library.news() == {"birds": ["bird4"]}
    library.add(bird(5))
    delete(library.index, ["bird5"])
    provider = FakeProvider()
    with Searcher(library.index, provider=provider) as searcher:
        assert find_news(searcher, library.saved()).hits == ()
    assert provider.loaded == 0


def test_a_paper_that_changes_is_no_news(library: Library) -> None:
    library.save()
    library.clock.seconds += 60
    changed = [bird(1), bird(2, title="Birds navigate by night"), record(1)]
    run_build([write_jsonl(library.folder / "1.jsonl", changed)], library.index)
    with IndexReader(library.index) as reader:
        assert reader.papers.get([reader.find("bird2")])[0].title == "Birds navigate by night"
    assert library.news() == {"birds": []}


def test_an_index_that_is_built_anew_does_not_report_a_paper_again(library: Library) -> None:
    library.save(from_the_start=True)
    assert library.news() == {"birds": ["bird1", "bird2", "p1"]}
    library.clock.seconds += 60
    run_build([library.folder / "1.jsonl", write_jsonl(library.folder / "new.jsonl", [bird(5)])], library.index,
              rebuild=True, confirmed=True)
    with IndexReader(library.index) as reader:
        assert (arrivals(reader) > library.saved().seen_until).all()
    with Searcher(library.index, provider=FakeProvider()) as searcher:
        found = find_news(searcher, library.saved())
    assert [hit.paper.id for hit in found.hits] == ["bird5"]
    assert "built anew" in found.notes[0]
    assert library.news() == {"birds": ["bird5"]}
    assert library.news() == {"birds": []}


def test_what_was_reported_does_not_crowd_out_what_was_not(library: Library) -> None:
    library.save(replace(BIRDS, k=2), from_the_start=True)
    assert library.news() == {"birds": ["bird1", "bird2"]}
    library.clock.seconds += 60
    run_build([library.folder / "1.jsonl", write_jsonl(library.folder / "new.jsonl", [bird(8)])], library.index,
              rebuild=True, confirmed=True)
    assert library.news() == {"birds": ["bird8", "p1"]}


def test_what_a_build_publishes_during_a_run_is_news_in_the_next(library: Library) -> None:
    library.save()
    library.add(bird(3))
    with Searcher(library.index, provider=FakeProvider()) as searcher:
        library.add(bird(4))
        found = find_news(searcher, library.saved())
    advance(library.index, [found], NOW)
    assert [hit.paper.id for hit in found.hits] == ["bird3"]
    assert library.news() == {"birds": ["bird4"]}


def test_papers_that_wait_for_their_vectors_stay_news(library: Library) -> None:
    library.save()
    library.save(replace(BIRDS, name="words", mode=Mode.LEXICAL))
    library.add(bird(3))
    library.add({"id": "far", "title": "Cells divide"}, encode="later")
    with Searcher(library.index, provider=FakeProvider()) as searcher:
        waiting = searcher.reader.find("far")
        news = [find_news(searcher, library.saved(name)) for name in ("birds", "words")]
        arrived = arrivals(searcher.reader)
    assert [hit.paper.id for hit in news[0].hits] == ["bird3"]  # no word of the other leads to it
    assert (news[0].seen_until, news[1].seen_until) == (arrived[waiting] - 1, arrived.max())
    advance(library.index, news, NOW)
    library.add(bird(4))
    assert library.news("birds") == {"birds": ["bird4", "far"]}
    assert library.news("birds") == {"birds": []}


def test_a_search_that_was_removed_or_replaced_meanwhile_stays_so(library: Library) -> None:
    library.save()
    library.save(replace(BIRDS, name="gone"))
    library.add(bird(3))
    with Searcher(library.index, provider=FakeProvider()) as searcher:
        news = [find_news(searcher, search) for search in choose_searches(searcher.reader.state)]
    forget_searches(library.index, ["gone"])
    replacement = library.save(replace(BIRDS, question="cells"), replacing=True, from_the_start=True)
    advance(library.index, news, NOW)
    assert read_state(library.index).searches == {"birds": replacement}


def test_runs_at_once_lose_nothing(library: Library) -> None:
    library.save()
    library.save(replace(BIRDS, name="other", question="other1"))
    library.add(*(bird(n) for n in range(3, 8)))
    together = threading.Barrier(4)
    seen: list[dict[str, list[str]]] = []

    def run(name: str) -> None:
        together.wait()
        seen.append(library.news(name))

    threads = [threading.Thread(target=run, args=(name,)) for name in ("birds", "other", "birds", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    for name in ("birds", "other"):
        assert {paper for run in seen for paper in run.get(name, [])} == {f"bird{n}" for n in range(3, 8)}
        reported = [report.id for report in library.saved(name).reports]
        assert len(reported) == len(set(reported)) == 5
    assert library.news() == {"birds": [], "other": []}


def test_a_later_run_that_is_written_first_is_not_undone(library: Library) -> None:
    library.save()
    with Searcher(library.index, provider=FakeProvider()) as searcher:
        early = find_news(searcher, library.saved())
    library.add(bird(3))
    library.news(now="2025-03-04T05:06:08+00:00")
    after = library.saved()
    advance(library.index, [early], NOW)
    assert library.saved() == after


def test_searches_survive_a_build_and_a_rebuild(library: Library) -> None:
    saved = library.save()
    library.add(bird(3))
    run_build([library.folder / "1.jsonl"], library.index, rebuild=True, confirmed=True)
    assert library.saved() == saved


def test_a_liked_paper_that_is_gone(library: Library) -> None:
    library.save(SavedSearch("one", "", likes=("bird1",), mode=Mode.DENSE))
    library.save(SavedSearch("both", "", likes=("bird1", "bird2"), mode=Mode.DENSE))
    library.save(SavedSearch("worded", "", "birds", likes=("bird1",), mode=Mode.DENSE))
    library.add(bird(3))
    delete(library.index, ["bird1"])
    with Searcher(library.index, provider=FakeProvider()) as searcher:
        state = searcher.reader.state.searches
        for name in ("both", "worded"):
            found = find_news(searcher, state[name])
            assert [hit.paper.id for hit in found.hits] == ["bird3"] and "'bird1'" in found.notes[0]
        with pytest.raises(PaperNotFound, match="one: none of the papers"):
            find_news(searcher, state["one"])


def test_the_feed_holds_what_was_reported_newest_first(library: Library) -> None:
    library.save()
    library.add(bird(3), bird(4))
    library.news()
    library.add(bird(5), bird(6))
    library.news(now="2025-03-05T00:00:00+00:00")
    delete(library.index, ["bird4"])
    with IndexReader(library.index) as reader:
        feed = feed_of(reader, [library.saved()], "News")
    assert [(entry.paper.id, entry.updated) for entry in feed.entries] == [
        ("bird5", "2025-03-05T00:00:00+00:00"), ("bird6", "2025-03-05T00:00:00+00:00"), ("bird3", NOW)]
    assert feed.updated == "2025-03-05T00:00:00+00:00" or feed.updated == library.saved().created
    assert REPORTS_KEPT >= FEED_ENTRIES


def test_the_feed_is_bounded(library: Library) -> None:
    library.add(*(bird(n) for n in range(3, FEED_ENTRIES + 20)))
    reports = tuple(Report(f"bird{n}", NOW, 1 - n / 1000) for n in range(1, FEED_ENTRIES + 20))
    with IndexReader(library.index) as reader:
        feed = feed_of(reader, [replace(BIRDS, reports=reports)], "News")
    assert [entry.paper.id for entry in feed.entries] == [f"bird{n}" for n in range(1, FEED_ENTRIES + 1)]


def test_a_name_that_is_taken_or_none_is_refused(library: Library) -> None:
    first = library.save()
    with pytest.raises(UsageError, match="already") as caught:
        library.save(replace(BIRDS, question="cells"))
    assert "--replace" in caught.value.way_out
    assert library.saved() == first
    for name in ("", " birds", "-x", "a\nb", "x" * 101):
        with pytest.raises(UsageError, match="not a name"):
            library.save(replace(BIRDS, name=name))


def test_what_makes_no_sense_is_told_when_it_is_saved(library: Library) -> None:
    for question in ("", "  ", "-only -absent"):
        with pytest.raises(EmptyQuery):
            library.save(replace(BIRDS, question=question))
    with pytest.raises(PaperNotFound):
        library.save(replace(BIRDS, likes=("nobody",)))
    with pytest.raises(UsageError):
        library.save(replace(BIRDS, filter=Filter(where="no sql at all")))
    with pytest.raises(IndexNotFound):
        save_search(library.folder / "none", BIRDS)
    with pytest.raises(IndexNotFound):
        forget_searches(library.folder / "none", ["birds"])
    assert read_state(library.index).searches == {}


def test_a_question_that_no_encoding_can_write_is_saved_without_it(library: Library) -> None:
    assert library.save(replace(BIRDS, question="birds \udcff\n navigate")).question == "birds ? navigate"


def test_an_unknown_name_lists_what_is_there(library: Library) -> None:
    with pytest.raises(QueryError, match="There is none yet"):
        forget_searches(library.index, ["birds"])
    library.save()
    library.save(replace(BIRDS, name="b2"))
    with pytest.raises(QueryError, match=r"'b3'. There: birds, b2\."):
        forget_searches(library.index, ["birds", "b3"])
    assert forget_searches(library.index, []) == []
    assert [search.name for search in forget_searches(library.index, ["b2", "b2"])] == ["b2"]
    assert list(read_state(library.index).searches) == ["birds"]
