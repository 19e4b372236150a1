"""What holds for all readers of XML and JSON documents: streaming, recovery, encodings, damage."""

from __future__ import annotations

import io
import json
import random
import re
import time

import pytest

from semsearch.readers import Located, Rejected, find_format
from semsearch.readers.json_elements import NOT_JSON
from semsearch.readers.xml_records import NOT_CLOSED, NOT_XML
from tests.readers.document_samples import JSON_SAMPLES, SAMPLES, XML_SAMPLES, Sample, count, papers, read_all, rejects

every = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
every_xml = pytest.mark.parametrize("sample", XML_SAMPLES, ids=lambda sample: sample.name)
every_json = pytest.mark.parametrize("sample", JSON_SAMPLES, ids=lambda sample: sample.name)

FRAGMENTS = [
    b'"',
    b"'",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\n",
    b"\r",
    b",",
    b":",
    b"\\",
    b"\\u12",
    b"<",
    b">",
    b"&",
    b"&amp;",
    b"&nosuch;",
    b"&#0;",
    b"&#x110000;",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<i>",
    b"</i>",
    b"</record>",
    b"<record>",
    b"</PubmedArticle>",
    b"<article>",
    b"</entry>",
    b"<paper",
    b"<?xml",
    b"<!DOCTYPE x [",
    b"null",
    b"1e999",
    b"NaN",
    b"9" * 5000,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"<a>" * 3000,
    b'"title":',
    b"\xef\xbb\xbf",
    b"\xff\xfe",
]
ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "cp1252", "gb18030", "koi8-r"]


@every
def test_every_record_is_read_with_its_line(sample: Sample) -> None:
    data = sample.document(range(1, 41), indent=1)
    items = read_all(sample.module, data)
    assert all(isinstance(item, Located) for item in items)
    assert [item.paper.title.rstrip(".") for item in items if isinstance(item, Located)] == [
        f"Graph number {n} & others" if sample.name == "pubmed-xml" else f"Graph number {n}" for n in range(1, 41)
    ]
    abstracts = [item.paper.abstract for item in items if isinstance(item, Located)]
    label = "METHODS: " if sample.name == "pubmed-xml" else ""
    assert abstracts == [f"{label}We drew {n} graphs." for n in range(1, 41)]
    records = [sample.record(n) for n in range(1, 41)]
    starts = (
        [data.index(record) for record in records]
        if sample.around
        else [place.start() + 2 for place in re.finditer(r"\n \{", data)]
    )
    assert [item.line for item in items] == [data.count("\n", 0, start) + 1 for start in starts]


@every
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_counter_agrees_whatever_the_blocks(sample: Sample, block: int) -> None:
    assert count(sample.module, sample.document(range(1, 30)).encode(), block) == 29
    assert count(sample.module, sample.document(range(1, 30), indent=2).encode(), block) == 29


@every
def test_found_by_content(sample: Sample) -> None:
    for name in ("export.txt", "export.xml", "export.json", "export"):
        assert find_format(name, sample.document(range(1, 5)).encode()[:65536]).name == sample.name


@every
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings(sample: Sample, encoding: str) -> None:
    text = sample.document(range(1, 4)).replace("Graph", "Größe 图").replace("encoding='UTF-8'", "")
    found = papers(sample.module, text.encode("utf-8-sig" if sample.around else "utf-8"))
    assert papers(sample.module, text.encode(encoding)) == found
    assert found[0].title.startswith("Größe 图 number 1")


@every
def test_stray_bytes_are_decoded_record_by_record(sample: Sample) -> None:
    good = sample.document(range(1, 4)).encode()
    data = good.replace(b"Graph number 2", b"Gr\xf6\xdfe number 2").replace(
        b"Graph number 3", "Größe number 3".encode()
    )
    reading = sample.module.read(io.BytesIO(data), "x")
    titles = [item.paper.title.rstrip(".").removesuffix(" & others") for item in reading]
    assert titles == ["Graph number 1", "Größe number 2", "Größe number 3"]
    assert reading.encoding == "mixed"


@every
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends(sample: Sample, end: str) -> None:
    data = sample.document(range(1, 6), indent=1)
    assert read_all(sample.module, data.replace("\n", end)) == read_all(sample.module, data)


@every
def test_a_record_longer_than_a_block(sample: Sample) -> None:
    data = (
        sample.document(range(1, 4))
        .replace("We drew 2 graphs.", "We drew graphs. " * 60_000)
        .replace("We drew $2$ graphs.", "We drew graphs. " * 60_000)
        .replace(
            '"graphs.": [3], "2": [2]',
            '"graphs.": [3], "2": [2], ' + ", ".join(f'"word{i}": [{i}]' for i in range(4, 70_000)),
        )
    )
    found = papers(sample.module, data)
    assert len(found) == 3
    assert len(found[1].abstract) > 500_000


@every_xml
def test_a_record_that_is_not_closed_costs_itself_only(sample: Sample) -> None:
    first, second, third = (sample.record(n) for n in (1, 2, 3))
    data = sample.around.format(records="\n".join((first, second[: len(second) // 2], third)))
    items = read_all(sample.module, data)
    assert [type(item) for item in items] == [Located, Rejected, Located]
    assert isinstance(items[1], Rejected)
    assert items[1].reason == NOT_CLOSED
    assert items[1].line == data[: data.index(second[: len(second) // 2])].count("\n") + 1


@every_xml
def test_a_record_that_is_not_well_formed_costs_itself_only(sample: Sample) -> None:
    data = sample.document(range(1, 4)).replace("Graph number 2", "Graph <wrong>number</other> 2")
    items = read_all(sample.module, data)
    assert [type(item) for item in items] == [Located, Rejected, Located]
    assert isinstance(items[1], Rejected)
    assert items[1].reason == NOT_XML


@every_xml
def test_what_people_forget_to_escape(sample: Sample) -> None:
    data = sample.document(range(1, 4)).replace(
        "Graph number 2", "R&D where p < 0.05, caf&eacute; <i>and so on &#0;\x0b&#x1F600;"
    )
    assert "R&D where p < 0.05, café and so on 😀" in papers(sample.module, data)[1].title


@every_xml
def test_entities_are_never_expanded_and_nothing_is_fetched(sample: Sample) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    data = bomb + sample.document(range(1, 3)).replace("Graph number 2", "Graph &b; &f;")
    assert papers(sample.module, data)[1].title.startswith("Graph &b; &f;")


@every_xml
def test_several_documents_and_pieces_of_one(sample: Sample) -> None:
    two = sample.document(range(1, 3)) + sample.document(range(3, 5))
    assert len(papers(sample.module, two)) == 4
    assert len(papers(sample.module, f"<pre>\n{sample.document(range(1, 3))}</pre>")) == 2
    assert len(papers(sample.module, "\n".join(sample.record(n) for n in (1, 2, 3)))) == 3


@pytest.mark.parametrize("sample", [s for s in XML_SAMPLES if s.name != "acl-xml"], ids=lambda sample: sample.name)
def test_prefixed_records(sample: Sample) -> None:
    text = sample.document(range(1, 3))
    record = sample.record(1)
    prefixed = re.sub(r"<(/?)(?=[A-Za-z])(?!arxiv:)", r"<\1x:", record)
    assert papers(sample.module, text.replace(record, prefixed))[0] == papers(sample.module, text)[0]


@every_json
def test_layouts_of_a_json_document(sample: Sample) -> None:
    records = [sample.record(n) for n in (1, 2, 3)]
    expected = papers(sample.module, json.dumps(records))
    layouts = [
        {"results": records},
        {"meta": {"count": 3}, "items": records},
        {"status": "ok", "message": {"total": 3, "items": records}},
        {"total": 3, "data": records, "next": None},
        {"papers": records},
        {"ICLR 2024": records},
        {"name": "list", "works": records},
        [records[:1], records[1:]],
    ]
    for layout in layouts:
        for indent in (None, 2):
            data = json.dumps(layout, indent=indent)
            assert papers(sample.module, data) == expected
            assert count(sample.module, data.encode()) == 3
    pages = "\n".join(json.dumps({"results": [record]}) for record in records)
    assert papers(sample.module, pages) == expected
    assert papers(sample.module, "\n".join(json.dumps(record, indent=1) for record in records)) == expected
    keyed = papers(sample.module, json.dumps({f"k{n}": record for n, record in enumerate(records)}))
    assert [paper.title for paper in keyed] == [paper.title for paper in expected]
    assert papers(sample.module, json.dumps(records[0])) == expected[:1]
    assert papers(sample.module, json.dumps({"message-type": "work", "message": records[0]})) == expected[:1]


@every_json
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ('Graph number 2"', 'Graph "number" 2"'),
        ('Graph number 2"', "Graph number 2"),
        ('"Graph number 2"', "Graph number 2"),
        ("Graph number 2", "Graph \\number 2"),
        ('Graph number 2"', 'Graph number 2"}'),
        ('Graph number 2"', 'Graph number 2" "x"'),
    ],
)
def test_a_broken_element_costs_itself_only(sample: Sample, good: str, bad: str, indent: int | None) -> None:
    data = sample.document(range(1, 6), indent).replace(good, bad, 1)
    if bad.startswith("Graph \\n"):
        data = data.replace("\\n", "\\q")
    items = read_all(sample.module, data)
    titles = [item.paper.title for item in items if isinstance(item, Located)]
    assert titles[:1] + titles[-3:] == [f"Graph number {n}" for n in (1, 3, 4, 5)]
    reasons = [item.reason for item in items if isinstance(item, Rejected)]
    assert reasons and set(reasons) <= {NOT_JSON, "neither title nor abstract", "JSON, but no object"}


@every_json
def test_a_cut_document(sample: Sample) -> None:
    data = sample.document(range(1, 6), indent=1)
    cut = data[: data.index("Graph number 5")]
    items = read_all(sample.module, cut)
    assert [type(item) for item in items] == [Located] * 4 + [Rejected]


@every_json
def test_elements_that_are_no_objects(sample: Sample) -> None:
    data = sample.document(range(1, 3))[:-1] + ', null, 5, "text", {}, true]'
    assert [reason for _, reason in rejects(sample.module, data)] == [
        *["JSON, but no object"] * 3,
        "neither title nor abstract",
        "JSON, but no object",
    ]


def mutated(data: bytes, chance: random.Random) -> bytes:
    kind = chance.randrange(6)
    start = chance.randint(0, len(data))
    if kind == 0:
        changed = bytearray(data)
        for _ in range(chance.randint(1, 8)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    if kind == 1:
        return data[: max(1, start)]
    if kind == 2:
        return data[:start] + data[start + chance.randint(0, 300) :] or b" "
    if kind == 3:
        return data[:start] + data[start : start + chance.randint(1, 600)] * 3 + data[start:]
    if kind == 4:
        return data[:start] + chance.choice(FRAGMENTS) + data[start:]
    return data.decode("utf-8", "replace").encode(chance.choice(ENCODINGS), "replace")


@every
def test_damage(sample: Sample) -> None:
    slowest = 20.0
    for seed in range(1000):
        chance = random.Random(seed)
        data = sample.document(range(1, chance.randint(2, 8)), chance.choice([None, 1])).encode()
        for _ in range(chance.randint(1, 4)):
            data = mutated(data, chance)
        begun = time.monotonic()
        for item in sample.module.read(io.BytesIO(data), "damaged"):
            assert item.line >= 1
            if isinstance(item, Located):
                assert item.paper.id and (item.paper.title or item.paper.abstract)
            else:
                assert item.reason and len(item.value) <= 200
        count(sample.module, data)
        sample.module.FORMAT.looks_like("x", data[:65536])
        assert time.monotonic() - begun < slowest, seed


@pytest.mark.parametrize(
    "piece",
    [
        '{"title": "',
        '[{"title": "a',
        '{"a":',
        "[[[[",
        '{"title":"a"},',
        '"\\"',
        '{"title": "a" "b"}, ',
        "<record>",
        "<record><![CDATA[",
        "<record><!--",
        "<record>&",
        "<a:b ",
        "<PubmedArticle>",
        "&lt;PubmedArticle",
        "<entry><title>x</title>",
        "</",
        '{"title" ',
        "]",
        "}",
    ],
)
@every
def test_time_is_linear(sample: Sample, piece: str) -> None:
    begun = time.monotonic()
    read_all(sample.module, piece * (100_000 // len(piece)))
    assert time.monotonic() - begun < 20
