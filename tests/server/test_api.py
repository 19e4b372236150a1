"""The HTTP API: the same answers as the commands, and errors that say what to do."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakes import FakeProvider
from made_papers import record, records, run_build, write_jsonl

from semsearch.maintenance import delete
from semsearch.ranking import Mode, SearchOptions
from semsearch.search import Searcher
from semsearch.server import answers
from semsearch.server.desk import MOST_WAITING
from semsearch.server.guard import MOST_BODY_BYTES
from semsearch.server.parameters import MOST_HITS

QUESTION = "graph attention for a robot"


def test_the_list_gives_the_coverage_of_each_index(client):
    answer = client.get("/api/indexes").json()
    assert answer["total"] == 2 and not any(index["encoded_when_idle"] for index in answer["indexes"])
    bare, whole = answer["indexes"]
    assert (bare["name"], bare["papers"], bare["vectors"], bare["coverage"]) == ("bare", 60, 0, 0.0)
    assert (whole["name"], whole["papers"], whole["vectors"], whole["coverage"]) == ("whole", 60, 60, 1.0)
    assert whole["state"] == "ok" and not whole["building"]


def test_what_a_question_paid_for_counts(client):
    answer = client.get("/api/indexes/bare/query", params={"q": QUESTION, "encode_budget": 7}).json()
    assert answer["coverage"] == 7 / 60
    assert sum(hit["signals"].get("encoded_on_demand", False) for hit in answer["hits"]) == 7
    assert "53 of 60 papers are not encoded yet" in answer["notes"][0]
    index = client.get("/api/indexes/bare").json()
    assert (index["vectors"], index["coverage"], index["waiting_vectors"]) == (7, 7 / 60, 7)


def test_deleted_papers_count_for_nothing(client, home):
    delete(home / "bare", ["p1", "p2"])
    bare = client.get("/api/indexes/bare").json()
    assert (bare["papers"], bare["vectors"]) == (58, 0)


@pytest.mark.parametrize("params, options", [
    ({}, SearchOptions()),
    ({"mode": "lexical", "limit": 3}, SearchOptions(mode=Mode.LEXICAL)),
    ({"mode": "dense", "weight": 0.3, "highlight": "true"}, SearchOptions(mode=Mode.DENSE, highlight=True)),
    ({"diversity": 0.4}, SearchOptions(diversity=0.4)),
])
def test_hits_are_those_of_the_searcher(client, home, params, options):
    answer = client.get("/api/indexes/whole/query", params={"q": QUESTION, **params}).json()
    with Searcher(home / "whole", provider=FakeProvider()) as searcher:
        truth = searcher.query(QUESTION, answer["limit"], options)
    assert answer["hits"] == [json.loads(json.dumps(hit.as_dict())) for hit in truth.hits]
    assert answer["hits"] and answer["total"] == 60
    posted = client.post("/api/indexes/whole/query", json={"q": QUESTION, **params})
    assert posted.json()["hits"] == answer["hits"]


def test_related_papers(client, home):
    answer = client.get("/api/indexes/whole/related", params={"id": ["p3", "p4"], "unlike": "p5", "limit": 5}).json()
    with Searcher(home / "whole", provider=FakeProvider()) as searcher:
        truth = searcher.related(["p3", "p4"], 5, unlike=["p5"])
    assert [hit["id"] for hit in answer["hits"]] == [hit.paper.id for hit in truth.hits]
    text = record(9)["abstract"]
    by_text = client.post("/api/indexes/whole/related", json={"text": [text], "limit": 1}).json()
    assert by_text["hits"][0]["id"] != "p9"  # its own abstract is left out


def test_related_on_a_paper_without_a_vector_encodes_it(client):
    answer = client.get("/api/indexes/bare/related", params={"id": "p3", "encode_budget": 0}).json()
    assert answer["coverage"] == 1 / 60


def test_pages_of_hits_are_pieces_of_one_list(client):
    whole = client.get("/api/indexes/whole/query", params={"q": QUESTION, "limit": 30}).json()["hits"]
    pages = [client.get("/api/indexes/whole/query", params={"q": QUESTION, "limit": 10, "offset": offset}).json()
             for offset in (0, 10, 20)]
    assert [hit for page in pages for hit in page["hits"]] == whole
    assert [page["offset"] for page in pages] == [0, 10, 20]
    beyond = client.get("/api/indexes/whole/query", params={"q": QUESTION, "limit": 10, "offset": 100}).json()
    assert beyond["hits"] == []
    too_deep = client.get("/api/indexes/whole/query", params={"q": QUESTION, "limit": MOST_HITS, "offset": 1})
    assert too_deep.status_code == 400 and "reach beyond" in too_deep.json()["error"]["message"]


def test_filters(home, client_of):
    dated = [record(n, year=2000 + n % 4, authors=[f"Ann Author{n % 3}"], venue="ICML" if n % 2 else "ACL")
             for n in range(40)]
    run_build([write_jsonl(home.parent / "dated.jsonl", dated)], home / "dated")
    client = client_of()

    def ids(**params):
        answer = client.get("/api/indexes/dated/query", params={"q": QUESTION, "limit": 40, **params}).json()
        return {hit["id"] for hit in answer["hits"]}

    assert ids(year="2001..2002") == {f"p{n}" for n in range(40) if n % 4 in (1, 2)}
    assert ids(author=["Author0", "Author1"], venue="icml") == {f"p{n}" for n in range(40) if n % 3 < 2 and n % 2}
    assert ids(newer_than="2002") == {f"p{n}" for n in range(40) if n % 4 == 3}
    assert ids(ids=["p1", "p2"]) == {"p1", "p2"}
    assert ids(as_of="2000") == {f"p{n}" for n in range(40) if n % 4 == 0}


def test_one_value_will_do_where_several_may_be_given(client):
    one = client.post("/api/indexes/whole/related", json={"id": "p3", "text": "A graph.", "limit": 2}).json()
    several = client.post("/api/indexes/whole/related", json={"id": ["p3"], "text": ["A graph."], "limit": 2}).json()
    assert one["hits"] == several["hits"] and len(one["hits"]) == 2
    assert client.post("/api/indexes/whole/query", json={"q": "graph", "year": 2020}).json()["hits"] == []
    assert client.get("/api/indexes/whole/query", params={"q": "graph", "year": "2018-2020"}).json()["hits"] == []


def test_a_paper_is_found_by_an_id_with_slashes(home, client_of):
    run_build([write_jsonl(home.parent / "doi.jsonl", [record(1, doi="10.1000/a/b?c")])], home / "doi")
    client = client_of()
    paper = client.get("/api/indexes/doi/papers/10.1000/a/b%3Fc").json()
    assert (paper["id"], paper["doi"]) == ("p1", "10.1000/a/b?c")
    assert client.get("/api/indexes/doi/papers/p1").json() == paper


@pytest.mark.parametrize("path, params, status, kind, says", [
    ("nothing/query", {"q": "a"}, 404, "IndexNotFound", "no index named 'nothing'"),
    ("../query", {"q": "a"}, 404, "HTTPError", "Not Found"),
    ("..%2Fhome%2Fwhole/query", {"q": "a"}, 404, "HTTPError", "Not Found"),
    ("whole/query", {"q": " "}, 400, "EmptyQuery", ""),
    ("whole/query", {}, 422, "InvalidRequest", "q: Field required"),
    ("whole/query", {"q": "a", "limit": 0}, 422, "InvalidRequest", "limit: Input should be greater"),
    ("whole/query", {"q": "a", "k": 5}, 422, "InvalidRequest", "k: Extra inputs are not permitted"),
    ("whole/query", {"q": "a", "where": "1=1"}, 422, "InvalidRequest", "where: Extra inputs"),
    ("whole/query", {"q": "a", "year": "soon"}, 400, "UsageError", "'soon' is no range of years"),
    ("whole/query", {"q": "a", "author": "??"}, 400, "UsageError", "'??' holds no word"),
    ("whole/query", {"q": "a", "as_of": "soon"}, 400, "UsageError", "'soon' is no date"),
    ("whole/related", {"id": "p999"}, 404, "PaperNotFound", "p999"),
    ("whole/related", {}, 400, "EmptyQuery", ""),
    ("whole/papers/p999", {}, 404, "PaperNotFound", "p999"),
])
def test_errors_are_told_as_data(client, path, params, status, kind, says):
    answer = client.get(f"/api/indexes/{path}", params=params)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["type"] == kind and says in error["message"] and error["way_out"]


def test_odd_text_is_harmless(client):
    for odd in ("\0", "'; DROP TABLE papers", "𝔊raph \u202e", "(((", "a" * 50_000):
        assert client.post("/api/indexes/whole/query", json={"q": f"graph {odd}"}).status_code == 200
    for refused in (b"{", b'{"q": "\\ud800"}', b'{"q": 5}', b"[]", json.dumps({"q": "a" * 200_000}).encode()):
        answer = client.post("/api/indexes/whole/query", content=refused)
        assert answer.status_code == 422 and "Content-Type: application/json" in answer.json()["error"]["way_out"]
    broken = client.post("/api/indexes/whole/query", content=b'{"q": "a",}',
                         headers={"Content-Type": "application/json"})
    assert re.search(r"body: no JSON: .+ at character \d+\.", broken.json()["error"]["message"])
    many = client.post("/api/indexes/whole/query", json={"q": "a", **{f"x{n}" * 500: n for n in range(1000)}})
    assert many.json()["error"]["message"].endswith("and 995 more.") and len(many.content) < 10_000


def test_a_damaged_index_says_so_and_harms_no_other(client, home):
    manifest = next((home / "bare").glob("generations/*/manifest.json"))
    manifest.write_text("{}")
    assert client.get("/api/indexes/whole/query", params={"q": QUESTION}).status_code == 200
    (home / "bare" / "CURRENT").touch()  # opened anew
    bare = client.get("/api/indexes").json()["indexes"][0]
    assert "damaged" in bare["state"] and bare["coverage"] is None
    answer = client.get("/api/indexes/bare/query", params={"q": QUESTION})
    assert answer.status_code == 500 and answer.json()["error"]["type"] == "IndexDamaged"


def test_what_is_published_and_deleted_meanwhile_is_seen(client, home):
    assert client.get("/api/indexes/whole/query", params={"q": "Study 100"}).json()["generation"] == 1
    run_build([write_jsonl(home.parent / "more.jsonl", records(1, 100))], home / "whole")
    answer = client.get("/api/indexes/whole/query", params={"q": "Study 100", "limit": 1}).json()
    assert (answer["generation"], answer["total"]) == (2, 61)
    assert answer["hits"][0]["id"] == "p100"
    delete(home / "whole", ["p100"])
    answer = client.get("/api/indexes/whole/query", params={"q": "Study 100", "limit": 60}).json()
    assert "p100" not in {hit["id"] for hit in answer["hits"]} and answer["total"] == 60
    run_build([home.parent / "papers.jsonl"], home / "new")
    assert client.get("/api/indexes/new/query", params={"q": QUESTION}).json()["total"] == 60


def test_an_encoder_is_loaded_once_for_all_indexes_and_generations(home, client_of):
    run_build([home.parent / "papers.jsonl"], home / "second")
    provider = FakeProvider()
    client = client_of(provider)
    for name in ("whole", "second", "bare"):
        assert client.get(f"/api/indexes/{name}/query", params={"q": QUESTION}).status_code == 200
    run_build([write_jsonl(home.parent / "more.jsonl", records(1, 100))], home / "whole")
    assert client.get("/api/indexes/whole/query", params={"q": QUESTION}).json()["generation"] == 2
    assert provider.loaded == 1


def test_many_at_once_get_their_own_answers(client):
    questions = [f"{records(1, number)[0]['title']}" for number in range(40)]

    def ids(question):
        hits = client.get("/api/indexes/whole/query", params={"q": question, "limit": 3}).json()["hits"]
        return [hit["id"] for hit in hits]

    one_by_one = [ids(question) for question in questions]
    assert len({found[0] for found in one_by_one}) > 30
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ids, questions)) == one_by_one


def test_who_comes_when_too_many_wait_is_told(client):
    desk = client.app.state.service.desk
    begun, held = threading.Event(), threading.Event()

    def hold():
        begun.set()
        return held.wait(60)

    first = desk.look(hold)
    assert begun.wait(60)
    try:
        waiting = [desk.look(lambda: "done") for _ in range(MOST_WAITING)]
        answer = client.get("/api/indexes/whole/query", params={"q": QUESTION})
        assert answer.status_code == 503 and answer.json()["error"]["type"] == "Overloaded"
    finally:
        held.set()
    assert first.result(60) and waiting[-1].result(60) == "done"
    assert client.get("/api/indexes/whole/query", params={"q": QUESTION}).status_code == 200


def test_a_page_from_elsewhere_cannot_reach_it_by_a_name_of_its_own(client_of):
    client = client_of(hosts=("localhost", "127.0.0.1", "::1"))
    for host in ("localhost:8765", "127.0.0.1", "[::1]:8765", "LOCALHOST"):
        assert client.get("/health", headers={"Host": host}).json()["status"] == "ok"
    for host in ("evil.example", "", "localhost.evil.example:8765", "[::1", "evil.example@localhost.evil"):
        answer = client.get("/health", headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "UnknownHost")


@pytest.mark.parametrize("headers", [
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"},
    {"Origin": "null"},
])
def test_pages_of_other_sites_may_not_ask(client_of, home, headers):
    client = client_of(hosts=("localhost",))
    headers = {"Host": "localhost", **headers}
    answer = client.get("/api/indexes/bare/query", params={"q": QUESTION}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "CrossSite")
    assert client.get("/", headers=headers).status_code == 200  # a link to the page may be followed
    own = {"Host": "localhost", "Origin": "http://localhost:8765", "Sec-Fetch-Site": "same-origin"}
    assert client.get("/api/indexes/bare", headers=own).json()["vectors"] == 0


def test_bodies_have_a_length_and_a_limit(client):
    answer = client.post("/api/indexes/whole/query", content=b"x" * (MOST_BODY_BYTES + 1))
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "TooLarge")
    answer = client.post("/api/indexes/whole/query", content=iter([b"x"]))
    assert (answer.status_code, answer.json()["error"]["type"]) == (411, "LengthRequired")


def test_a_fault_of_ours_is_told_without_its_inside(client_of, monkeypatch):
    client = client_of()
    monkeypatch.setattr(Searcher, "query", lambda *arguments: 1 / 0)
    client._transport.raise_server_exceptions = False
    answer = client.get("/api/indexes/whole/query", params={"q": QUESTION})
    assert answer.status_code == 500 and answer.json()["error"]["type"] == "InternalError"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"] and "test_api" not in answer.text


def test_paths_of_this_machine_are_not_told(client, home):
    for path in ("/api/indexes", "/api/indexes/whole", "/api/indexes/nothing", "/api/indexes/nothing/query?q=a"):
        assert str(home.parent) not in client.get(path).text


def test_answers_are_as_they_are_described(client):
    for path, model in (("/api/indexes", answers.Indexes), ("/api/indexes/bare", answers.IndexInfo),
                        ("/api/indexes/whole/query?highlight=true&q=graph", answers.Answer),
                        ("/api/indexes/bare/related?id=p1", answers.Answer),
                        ("/api/indexes/whole/papers/p1", answers.Paper), ("/health", answers.Health),
                        ("/api/indexes/nothing", answers.Error), ("/nothing", answers.Error)):
        model.model_validate(client.get(path).json(), strict=False)
    paths = client.get("/api/openapi.json").json()["paths"]
    for path, verbs in paths.items():
        for verb in verbs.values():
            assert {"200", "404", "422", "503"} <= verb["responses"].keys(), path
            assert verb["responses"]["422"]["content"]["application/json"]["schema"]["$ref"].endswith("/Error")
            assert verb["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
    names = [verb["operationId"] for verbs in paths.values() for verb in verbs.values()]
    assert sorted(names) == ["health", "list_indexes", "query", "query_posted", "related", "related_posted",
                             "show_index", "show_paper"]


def test_health_version_and_what_can_be_asked(client):
    assert client.get("/health").json()["status"] == "ok"
    assert client.head("/health").status_code == 200
    assert client.put("/api/indexes/whole/query").status_code == 405
    assert "GET" in client.delete("/api/indexes").headers["Allow"]
    described = client.get("/api/openapi.json").json()
    assert "/api/indexes/{name}/query" in described["paths"]
    names = {each["name"] for each in described["paths"]["/api/indexes/{name}/query"]["get"]["parameters"]}
    assert {"name", "q", "limit", "offset", "mode", "year", "encode_budget"} <= names


def test_answers_may_load_nothing_from_elsewhere(client):
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy
    assert client.get("/api/indexes").headers["X-Content-Type-Options"] == "nosniff"
