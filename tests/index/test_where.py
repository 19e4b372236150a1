"""SQL of the user's chooses papers, reads nothing else and does not take for ever."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from dated_papers import MADE, open_table

from semsearch.errors import IndexDamaged, UsageError
from semsearch.filters import Filter
from semsearch.index import where
from semsearch.index.paper_filter import allowed_rows
from semsearch.index.paper_table import PaperTable


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaperTable]:
    with open_table(tmp_path_factory.mktemp("made"), *MADE) as opened:
        assert opened.papers == len(MADE)
        yield opened


@pytest.mark.parametrize(
    "expression",
    [
        "year > 2019",
        "venue = 'ACL' OR abstract LIKE '%nothing%'",
        "EXISTS (SELECT 1 FROM json_each(authors) WHERE value LIKE '%Smith%')",
        "year = (SELECT MAX(year) FROM papers) -- the newest",
        "row < 10 /* first ten */",
        "lower(title) IN ('paper 3', 'paper 4')",
        "id GLOB 'p[12]?' AND title_stands_in = 0",
        "length(date) = 10 AND strftime('%m', date) = '06'",
        "1",
        "NULL",
        "title = '(SELECT; WITH' OR /* ) */ \"id\" = 'p1' -- )",
        "id IN (SELECT id FROM papers LIMIT 3) AND year IN (SELECT MAX(year) FROM papers UNION SELECT 2020)",
        "('a' || 'b') = 'ab' AND NOT (year < (2020))",
    ],
)
def test_an_expression_chooses_what_sqlite_says(table, expression):
    plain = sqlite3.connect(table.path)
    wanted = [row for (row,) in plain.execute(f"SELECT row FROM papers WHERE (\n{expression}\n) ORDER BY row")]
    plain.close()
    assert allowed_rows(table, Filter(where=expression)).mask.nonzero()[0].tolist() == wanted


ATTACKS = [
    "1); DROP TABLE papers; --",
    "1) UNION SELECT 99999 WHERE (1",
    "1) UNION SELECT -1 WHERE (1",
    "1) UNION SELECT title FROM papers WHERE (1",
    "(SELECT sql FROM sqlite_master) != ''",
    "(SELECT 1 FROM sqlite_schema)",
    "(SELECT COUNT(*) FROM records)",
    "(SELECT key FROM aliases)",
    "(SELECT path FROM sources) != ''",
    "text_key != x''",
    "former_ids = ''",
    "(SELECT 1 FROM pragma_database_list)",
    "(SELECT file FROM pragma_database_list) != ''",
    "load_extension('/tmp/x')",
    "zeroblob(1000000000) IS NULL",
    "randomblob(1000000000) IS NULL",
    "length(printf('%1000000000d', 1)) > 1",
    "length(format('%.*c', 900000000, 'x')) > 1",
    "length(replace(hex(zeroblob(100000)), '0', 'aaaaaaaaaa')) > 1",
    "length(hex(abstract)) > 1",
    "readfile('/etc/passwd') != ''",
    "writefile('/tmp/x', 'y')",
    "fts3_tokenizer('x') IS NULL",
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n) > 1",
    "(WITH RECURSIVE n(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM n) SELECT MAX(length(s)) FROM n) > 1",
    "ATTACH 'x' AS y",
    "PRAGMA writable_schema = 1",
    "1) ; PRAGMA user_version = 9; --",
    "nothing = 1",
    "year >",
    "",
    "(",
    ")",
    "1; 2",
    "?",
    ":name",
    "'unfinished",
    "/* unfinished",
    "year = 1\0",
    "title = '\udcff'",
    "1" + " + 1" * 2000,
    "'" + "x" * 200_000 + "' = title",
    "title LIKE '" + "%a" * 600 + "b'",
    "(SELECT sum(1) FROM papers a JOIN nothing b)",
    "randomly(1)",
    "(SELECT v FROM (SELECT title || title AS v FROM papers)) = ''",
    "EXISTS (SELECT title AS v FROM papers WHERE (SELECT v || v AS w FROM papers WHERE w = '') = '')",
    "(WITH a AS (SELECT 1) SELECT * FROM a)",
    "year IN (SELECT year FROM papers UNION SELECT (SELECT 1))",
]


@pytest.mark.parametrize("expression", ATTACKS, ids=range(len(ATTACKS)))
def test_an_expression_reads_papers_and_nothing_else(table, tmp_path, monkeypatch, expression):
    monkeypatch.chdir(tmp_path)
    before = table.path.read_bytes()
    with pytest.raises(UsageError) as caught:
        allowed_rows(table, Filter(where=expression))
    assert caught.value.message.startswith("The expression cannot be used (")
    assert len(caught.value.message) < 500
    assert "row, id, title, abstract, authors, year, date, venue" in caught.value.way_out
    assert table.path.read_bytes() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "expression",
    [
        "(SELECT COUNT(*) FROM papers a, papers b, papers c, papers d, papers e) > 1",
        "EXISTS (SELECT 1 FROM papers a, papers b, papers c, papers d WHERE a.title || b.title || c.title = d.title)",
    ],
)
def test_an_expression_that_takes_for_ever_is_stopped(table, monkeypatch, expression):
    monkeypatch.setattr(where, "_SECONDS", 0.05)
    with pytest.raises(UsageError, match="takes more than 0 s"):
        allowed_rows(table, Filter(where=expression))
    assert allowed_rows(table, Filter(where="row = 1")).count == 1


def test_values_that_grow_are_stopped_by_their_length(table):
    long = "||".join(["v"] * 290)
    with pytest.raises(UsageError, match="too big"):
        allowed_rows(table, Filter(where=f"EXISTS (SELECT {'||'.join(['abstract'] * 300)} AS v WHERE {long} = '')"))


def test_the_message_quotes_sqlite(table):
    with pytest.raises(UsageError, match=r"no such column: yeer\): yeer > 3"):
        allowed_rows(table, Filter(where="yeer   > 3"))
    with pytest.raises(UsageError, match=r"access to papers\.text_key is prohibited"):
        allowed_rows(table, Filter(where="text_key IS NULL"))


def test_an_interrupt_is_no_timeout(table, monkeypatch):
    def interrupt(deadline: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(where._Deadline, "__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        allowed_rows(table, Filter(where="(SELECT COUNT(*) FROM papers a, papers b, papers c) > 1"))


def test_a_damaged_table_is_no_mistake_of_the_user(tmp_path):
    with open_table(tmp_path, *MADE[:200]) as one:
        content = bytearray((tmp_path / "papers.sqlite").read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        damaged = tmp_path / "damaged.sqlite"
        damaged.write_bytes(content)
        monkey = PaperTable(damaged, 200)
        for wanted in (Filter(where="abstract != ''"), Filter(authors=("smith",)), Filter(first_year=2020)):
            with pytest.raises(IndexDamaged, match=r"damaged\.sqlite"):
                allowed_rows(monkey, wanted)
        monkey.close()
        assert allowed_rows(one, Filter(where="abstract != ''")).count == 200
