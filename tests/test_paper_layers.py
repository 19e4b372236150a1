"""Papers in two layers: the same index as in one, whatever happened, and nothing written that did not change."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeProvider
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_papers import answers, listing, record, records, run_build, write_jsonl
from made_papers import generation_folder as folder_of

from semsearch import first_generation, intake
from semsearch.build import _Run
from semsearch.errors import AmbiguousPaper, IndexDamaged, PaperNotFound, UsageError
from semsearch.index import generations, paper_layers, staged_papers
from semsearch.index.base_papers import BasePapers
from semsearch.index.facet_columns import arrivals, dates, shared_titles
from semsearch.index.manifest import PAPERS, PAPERS_NEW
from semsearch.index.paper_layers import open_read_only
from semsearch.index.paper_table import PaperTable
from semsearch.index.paper_tallies import count_all
from semsearch.index.reader import IndexReader
from semsearch.index.staged_file import StagedFile
from semsearch.index.staged_papers import StagedPapers
from semsearch.index.where import rows_where
from semsearch.maintenance import delete, describe, restore, verify
from semsearch.reindex import reindex_index

EXPRESSIONS = (
    "length(title) % 2 AND title > (SELECT MIN(title) FROM papers)",
    "row < 10",
    "id IN (SELECT id FROM papers WHERE year IS NULL OR year > 2000) AND abstract != ''",
    "EXISTS (SELECT 1 FROM json_each(authors) WHERE value LIKE '%a%')",
)
BEGUN = 40
"""So many papers are there from the beginning."""


@pytest.fixture
def layered(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    force_layers(monkeypatch)
    return monkeypatch


def force_layers(patch: pytest.MonkeyPatch, share: float = 1e6) -> None:
    """Let every build over an index write a second layer, which is folded where it is a larger share of the first."""
    patch.setattr(paper_layers, "LEAST_BYTES", 0)
    patch.setattr(paper_layers, "MOST_SHARE", share)
    patch.setattr(intake, "_LITTLE_SHARE", 1e6)


def is_layered(index: Path) -> bool:
    return (folder_of(index) / PAPERS_NEW).exists()


def content(index: Path) -> dict[str, Any]:
    """Return all that can be read of the papers of an index, but for the times."""
    with IndexReader(index) as reader, closing(open_read_only(reader.generation.path(PAPERS))) as connection:
        table = reader.papers
        papers = [paper for _, paper in table]
        rows = range(len(papers))
        assert table.get(rows) == papers and table.ids() == [paper.id for paper in papers]
        assert [key.ljust(16, b"\0") for key in table.text_keys().tolist()] == [p.text_key for p in papers]
        assert table.check() == []
        assert replace(table.tallies, last_added=0) == replace(count_all(connection), last_added=0)
        added = sorted(set(arrivals(reader).tolist()))
        return {
            "papers": papers,
            "keys": [table.keys_of(row) for row in rows],
            "former": connection.execute("SELECT row, former_ids FROM papers ORDER BY row").fetchall(),
            "records": connection.execute(
                "SELECT source, own, occurrence, line, content, data, paper, first, run FROM records "
                "ORDER BY source, own, occurrence").fetchall(),
            "record_keys": connection.execute(
                "SELECT source, own, occurrence, key FROM records JOIN record_keys USING (record) "
                "ORDER BY 1, 2, 3, 4").fetchall(),
            "facets": list(table.facets("row, year, date, authors, venue, categories, title", "1", [])),
            "arrivals": [added.index(when) for when in arrivals(reader).tolist()],
            "dates": dates(reader).tolist(),
            "titles": shared_titles(reader),
            "sources": table.source_counts(),
            "tallies": replace(table.tallies, last_added=0),
            "outdated": table.outdated_sources(),
            "rejects": list(table.rejects()),
            "where": [sorted(rows_where(table.path, len(papers), expression)) for expression in EXPRESSIONS],
            "found": [table.rows_named(name) for name in [*table.ids(), "10.1000/3", "p3", "p7"]],
            "beginning": [named_by(table, beginning) for beginning in ("p", "p1", "p30", "zz", *table.ids()[::7])],
            "by_id": table.rows_of_ids([paper.id for paper in papers[::3]]),
            "first": sorted(table.first_sources(rows)),
        }


def named_by(table: PaperTable, beginning: str) -> Any:
    """Return what the beginning of an id names: a row, several papers, or none."""
    try:
        return table.find(beginning)
    except AmbiguousPaper as error:
        return error.message, error.candidates
    except PaperNotFound:
        return None


def told(summary: Any) -> dict[str, Any]:
    """Return what a summary says, but for what depends on when and where."""
    return {k: v for k, v in summary.as_dict().items() if k not in ("index", "seconds", "rejects_file", "generation")}


numbers = st.integers(0, 9)
made = st.builds(
    lambda number, title, doi, bare, name: record(
        number,
        **({"title": f"Title {title}"} if title is not None else {}),
        **({"doi": f"10.1000/{doi}"} if doi is not None else {}),
        **({"abstract": ""} if bare else {}),
        **({"id": name} if name is not None else {}),
    ),
    numbers,
    st.none() | st.integers(0, 3),
    st.none() | st.integers(0, 4),
    st.booleans(),
    st.none() | st.sampled_from(["p1", "shared", "", ""]),
)
build = st.tuples(st.just("build"), st.sampled_from("abc"), st.lists(made, max_size=6), st.booleans())
steps = st.lists(
    st.one_of(
        build,
        build,
        build,
        st.tuples(st.just("prune"), st.sampled_from("abc"), st.lists(made, max_size=4), st.booleans()),
        st.tuples(st.just("delete"), st.integers(0, 60)),
        st.tuples(st.just("restore"), st.booleans()),
        st.tuples(st.just("reindex")),
    ),
    min_size=2,
    max_size=7,
)


def play(home: Path, history: list[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Do to an index what a history says, and yield what is in it after each step."""
    index, folder = home / "index", home / "sources"
    shutil.rmtree(index, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    write_jsonl(folder / "0.jsonl", records(BEGUN, 100))
    run_build([folder], index)
    for action, *what in history:
        summary = None
        if action in ("build", "prune"):
            name, items, with_reject = what
            write_jsonl(folder / f"{name}.jsonl", [*items, *(["{nonsense"] if with_reject else [])])
            summary = run_build([folder], index, prune=action == "prune", confirmed=True)
        elif action == "delete":
            with IndexReader(index) as reader:
                ids = [i for row, i in enumerate(reader.papers.ids()) if row not in reader.hidden]
            delete(index, [ids[what[0] % len(ids)]])
        elif action == "restore" and what[0]:
            with IndexReader(index) as reader:
                names = list(reader.state.deletions)
            restore(index, names)
        elif action == "restore":
            summary = run_build([folder], index, restore=True)
        else:
            summary = reindex_index(index, provider=FakeProvider())
        yield {**content(index), **({"told": told(summary)} if summary else {}), "answers": answers(index)}
    assert verify(index).problems == ()


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    history=steps,
    share=st.sampled_from([1e6, 1e6, 0.6]),
    moves=st.sampled_from([0, 10_000]),
    always=st.booleans(),
)
def test_a_history_in_layers_gives_what_it_gives_in_one(tmp_path_factory, history, share, moves, always):
    """`always`: even builds that take much away write layers, which they do not by themselves."""
    home = tmp_path_factory.getbasetemp()
    whole = list(play(home, history))
    with pytest.MonkeyPatch.context() as patch:
        force_layers(patch, share)
        patch.setattr(staged_papers, "MOST_MOVES", moves)
        if always:
            patch.setattr(_Run, "_staged", lambda _, path, base, sources: StagedPapers(
                path, base and BasePapers.of(base.generation), layered=base is not None))
        two = list(play(home, history))
    for step, one, other in zip(history, whole, two, strict=True):
        for key, value in one.items():
            assert other[key] == value, (step, key)


@pytest.fixture
def grown(tmp_path: Path, layered: pytest.MonkeyPatch) -> Path:
    """Return an index in two layers: 300 papers and ten, of the others one changed and one merged with a new one."""
    index, folder = tmp_path / "index", tmp_path / "sources"
    first = [record(number, doi=f"10.1000/{number}") for number in range(300)]
    write_jsonl(folder / "a.jsonl", first)
    write_jsonl(folder / "b.jsonl", [record(500, abstract="", authors=["Ada Lovelace"])])
    run_build([folder], index)
    assert not is_layered(index)
    write_jsonl(folder / "b.jsonl", [record(500, authors=["Alan Turing"]), record(7, id="", doi="10.1000/7")])
    write_jsonl(folder / "c.jsonl", records(10, 600))
    summary = run_build([folder], index)
    assert (summary.papers, summary.added, summary.updated, summary.merged) == (311, 10, 1, 1)
    assert is_layered(index)
    return index


def test_nothing_is_written_that_did_not_change(grown, tmp_path):
    before = (folder_of(grown) / PAPERS).stat().st_ino
    write_jsonl(tmp_path / "sources" / "d.jsonl", records(10, 700))
    summary = run_build([tmp_path / "sources"], grown)
    assert (summary.papers, summary.added, summary.updated, summary.removed) == (321, 10, 0, 0)
    assert (folder_of(grown) / PAPERS).stat().st_ino == before
    with IndexReader(grown) as reader, closing(sqlite3.connect(folder_of(grown) / PAPERS_NEW)) as layer:
        assert layer.execute("SELECT COUNT(*) FROM papers").fetchone() == (22,)  # and no row of those before
        assert reader.manifest.papers == 321
    assert verify(grown).problems == ()


def test_a_small_table_is_copied_and_so_is_one_of_which_much_is_read(tmp_path, monkeypatch):
    index, folder = tmp_path / "index", tmp_path / "sources"
    write_jsonl(folder / "a.jsonl", records(100))
    run_build([folder], index)
    for least, share, items, wanted in ((1e9, 1, 1, False), (0, 0.001, 20, False), (0, 0.02, 1, True)):
        monkeypatch.setattr(paper_layers, "LEAST_BYTES", least)
        monkeypatch.setattr(intake, "_LITTLE_SHARE", share)
        monkeypatch.setattr(paper_layers, "MOST_SHARE", 10)
        write_jsonl(folder / f"{least}{share}.jsonl", records(items, 500 + items))
        run_build([folder], index)
        assert is_layered(index) is wanted, (least, share)


def test_a_layer_that_came_out_large_is_folded(grown, tmp_path, monkeypatch):
    monkeypatch.setattr(paper_layers, "MOST_SHARE", 0.01)
    before = content(grown)
    write_jsonl(tmp_path / "sources" / "d.jsonl", records(3, 700))
    run_build([tmp_path / "sources"], grown)
    assert not is_layered(grown)
    after = content(grown)
    assert after["papers"][:311] == before["papers"] and len(after["papers"]) == 314
    assert verify(grown).problems == ()


def test_a_dry_run_over_layers_says_what_a_build_does_and_changes_nothing(grown, tmp_path):
    write_jsonl(tmp_path / "sources" / "d.jsonl", [*records(10, 700), record(7, id="", doi="10.1000/7")])
    before = listing(grown)
    dry = run_build([tmp_path / "sources"], grown, dry_run=True)
    assert listing(grown) == before
    done = run_build([tmp_path / "sources"], grown)
    same = ("records", "papers", "added", "updated", "merged", "rejected", "outdated", "without_abstract", "files",
            "encoded")
    assert [getattr(dry, name) for name in same] == [getattr(done, name) for name in same]


def test_a_deletion_over_layers(grown):
    before = content(grown)
    delete(grown, ["p7", "p605"])
    reindex_index(grown, provider=FakeProvider())
    assert not is_layered(grown)
    after = content(grown)
    assert after["papers"] == [paper for paper in before["papers"] if paper.id not in ("p7", "p605")]
    assert after["tallies"].waiting == 3


@pytest.mark.parametrize("name", [PAPERS, PAPERS_NEW])
def test_damage_in_a_layer_is_named_by_verify_and_by_a_build_that_folds(grown, tmp_path, monkeypatch, name):
    path = folder_of(grown) / name
    damaged = bytearray(path.read_bytes())
    damaged[-3000:-2900] = bytes(255 - byte for byte in damaged[-3000:-2900])
    path.write_bytes(damaged)
    assert [str(path) in problem for problem in verify(grown).problems] == [True]
    write_jsonl(tmp_path / "sources" / "d.jsonl", records(10, 700))
    monkeypatch.setattr(paper_layers, "MOST_SHARE", 0.01)
    before = listing(grown / "generations")
    with pytest.raises(IndexDamaged, match=name.replace(".", r"\.")):
        run_build([tmp_path / "sources"], grown)
    assert listing(grown / "generations") == before


def test_a_layer_that_is_missing_or_does_not_belong_is_named(grown, tmp_path):
    path = folder_of(grown) / PAPERS_NEW
    whole = path.read_bytes()
    path.unlink()
    with pytest.raises(IndexDamaged, match=PAPERS_NEW):
        IndexReader(grown)
    path.write_bytes(whole[:-4096])
    with pytest.raises(IndexDamaged, match=PAPERS_NEW):
        IndexReader(grown)
    path.write_bytes(whole)
    other = tmp_path / "other"
    run_build([write_jsonl(tmp_path / "other.jsonl", records(3))], other)
    (folder_of(other) / PAPERS_NEW).write_bytes(whole)
    with pytest.raises(IndexDamaged, match="does not belong"):
        IndexReader(other)


def test_what_ends_a_build_in_the_middle_leaves_the_layers_before(grown, tmp_path, monkeypatch):
    before, files = content(grown), listing(grown / "generations")
    write_jsonl(tmp_path / "sources" / "d.jsonl", records(10, 700))
    for place, name in ((StagedPapers, "merge"), (StagedPapers, "tallies"), (BasePapers, "link"),
                        (generations, "publish")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                run_build([tmp_path / "sources"], grown)
        assert listing(grown / "generations") == files
    assert content(grown) == before
    assert run_build([tmp_path / "sources"], grown).added == 10


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_papers_are_handed_on_in_layers_while_encoding_goes_on(grown, tmp_path, monkeypatch):
    write_jsonl(tmp_path / "sources" / "d.jsonl", records(10, 700))
    monkeypatch.setattr(first_generation, "FEW_TEXTS", 1)
    run_build([tmp_path / "sources"], grown, encode="later")
    first = {name: (folder_of(grown) / name).stat().st_ino for name in (PAPERS, PAPERS_NEW)}
    assert describe(grown).coverage < 1
    summary = run_build([tmp_path / "sources"], grown)
    assert (summary.encoded, summary.coverage) == (10, 1)
    assert {name: (folder_of(grown) / name).stat().st_ino for name in (PAPERS, PAPERS_NEW)} == first
    assert verify(grown).problems == ()


def test_wrong_tallies_and_keys_are_found(grown):
    path = folder_of(grown) / PAPERS_NEW
    with closing(sqlite3.connect(path)) as connection, connection:
        stored = connection.execute("SELECT content FROM tallies").fetchone()[0]
        connection.execute("UPDATE tallies SET content = ?", [stored.replace('"outdated":0', '"outdated":1')])
        connection.execute("UPDATE papers SET text_key = zeroblob(16) WHERE row = (SELECT MAX(row) FROM papers)")
        connection.execute("INSERT INTO aliases VALUES ('x', 5000)")
    with PaperTable(path.with_name(PAPERS), 311) as table:
        problems = "; ".join(table.check())
    assert "the tallies are" in problems and "1 aliases belong to no paper" in problems
    path.unlink()
    with closing(sqlite3.connect(path.with_name(PAPERS))) as connection, connection:
        connection.execute("UPDATE text_keys SET keys = zeroblob(LENGTH(keys))")
    with PaperTable(path.with_name(PAPERS), 301) as table:
        assert table.check() == ["the text keys are not those of the papers"]


LARGE = re.compile(r"SCAN base\.(papers|aliases|facets|records|record_keys)\b(?! USING( COVERING)? INDEX "
                   r"papers_without_abstract)|MATERIALIZE|SCAN (papers|aliases|facets|records|record_keys|r|b)\b")


def plans(connection: sqlite3.Connection, statements: list[str]) -> dict[str, list[str]]:
    """Return the steps by which each statement would be carried out."""
    read = [s for s in dict.fromkeys(statements) if s.startswith(("SELECT", "INSERT", "UPDATE", "DELETE"))]
    return {s: [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {s}")] for s in read}


def costly(found: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return the steps that read a whole table of the first layer, or make a table of a view."""
    end_at_once = re.compile(r"main\.records r| WHERE 0\b|C LIMIT 1$")
    return [(statement, step) for statement, steps in found.items() for step in steps
            if LARGE.match(step) and not end_at_once.search(statement)]


@pytest.mark.parametrize("expression", [
    "rowid = 5", "oid = 5", "_rowid_ < 3", '"rowid" = 5',
    "id IN (SELECT id FROM main.papers)", "id IN (SELECT id FROM base.papers)", "row IN (SELECT row FROM gone_rows)",
])
def test_an_expression_sees_both_layers_together_or_none(grown, expression):
    with IndexReader(grown) as reader, pytest.raises(UsageError, match="cannot be used"):
        rows_where(reader.papers.path, reader.papers.papers, expression)


@pytest.mark.parametrize(("old", "new"), [("Journal of 7", "Journal of 9"), ("number 7", "number 9")])
def test_damage_does_not_go_on_into_the_second_layer(tmp_path, layered, old, new):
    """A paper that a build changes is read from a file that is taken over unread."""
    index, folder = tmp_path / "index", tmp_path / "sources"
    write_jsonl(folder / "a.jsonl", [
        record(number, doi=f"10.1000/{number}", venue=f"Journal of {number}", abstract=f"About number {number}.")
        for number in range(300)])
    run_build([folder], index)
    path = folder_of(index) / PAPERS
    content = path.read_bytes()
    assert old.encode() in content
    path.write_bytes(content.replace(old.encode(), new.encode()))
    write_jsonl(folder / "b.jsonl", [record(7, id="", doi="10.1000/7", abstract="")])
    with pytest.raises(IndexDamaged, match="not what was written"):
        run_build([folder], index)
    assert folder_of(index) / PAPERS == path  # nothing was published
    path.write_bytes(content)
    assert run_build([folder], index).merged == 1
    assert is_layered(index) and verify(index).problems == ()


def test_a_file_that_cannot_be_read_does_not_count_as_much_to_read(tmp_path, layered):
    index, folder = tmp_path / "index", tmp_path / "sources"
    write_jsonl(folder / "a.jsonl", records(300))
    run_build([folder], index)
    (folder / "settings.json").write_text('{"theme": "' + "dark" * 200_000 + '"}', "utf-8")
    write_jsonl(folder / "b.jsonl", records(3, 600))
    summary = run_build([folder], index)
    assert summary.added == 3 and list(summary.refused_files)
    assert is_layered(index)


def test_look_ups_read_no_whole_table(grown):
    with IndexReader(grown) as reader:
        table, statements = reader.papers, list[str]()
        table._connection.set_trace_callback(statements.append)
        table.get([0, 3, 310])
        table.rows_of_ids(["p1", "p605"])
        table.keys_of(3)
        for name in ("p7", "10.1000/7", "p60"):
            with suppress(AmbiguousPaper):
                table.find(name)
        table.rows_titled("Study 7")
        list(table.rows_by_facets("title = ?", ["study 7"]))
        table.titles_that_stand_in([1, 2])
        list(table.first_sources([1, 310]))
        table.count_problems()
        table.source_counts()
        table.text_keys()
        table._connection.set_trace_callback(None)
        found = plans(table._connection, statements)
    assert len(found) > 20
    assert any("gone_rows" in statement for statement in found) and costly(found) == []


def test_a_build_in_layers_reads_no_whole_table(grown, tmp_path, monkeypatch):
    statements: list[str] = []
    found: dict[str, list[str]] = {}
    connect, abandon = StagedFile._connect, StagedFile.abandon

    def traced(staged: StagedFile) -> sqlite3.Connection:
        connection = connect(staged)
        connection.set_trace_callback(statements.append)
        return connection

    def explained(staged: StagedFile) -> None:
        with suppress(sqlite3.ProgrammingError):  # it was closed before
            staged._connection.set_trace_callback(None)
            found.update(plans(staged._connection, statements))
        abandon(staged)

    monkeypatch.setattr(StagedFile, "_connect", traced)
    monkeypatch.setattr(StagedFile, "abandon", explained)
    new = [*records(5, 700), record(7, id="", doi="10.1000/7", abstract="Other."), record(12, id="", doi="10.1000/12")]
    write_jsonl(tmp_path / "sources" / "b.jsonl", new)
    summary = run_build([tmp_path / "sources"], grown)
    assert (summary.added, summary.merged, summary.outdated) == (5, 2, 1) and is_layered(grown)
    assert len(found) > 60
    assert costly(found) == []
