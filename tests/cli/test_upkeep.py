"""semsearch reindex, verify, delete, remove, export and doctor."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import BIRDS, CELLS, COSINE_BIRDS, CommandLine
from fakes import FakeEncoder

from semsearch.cli.app import App, main
from semsearch.encoding import EncoderRequest
from semsearch.exported.readiness import MISSING, READY, REFUSED, Readiness


def flip_a_bit(path: Path, place: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_reindex_with_another_limit_encodes_anew(built: CommandLine) -> None:
    report = built.ok("reindex", "papers", "--max-tokens", "3")
    assert report.startswith("papers: generation 2, 3 papers (3 unchanged), 3 encoded, 0 reused, Flat, in ")
    assert built.json("info", "--json")[0]["max_tokens"] == 3


def test_reindex_of_all_goes_on_where_one_fails(built: CommandLine) -> None:
    built.ok("build", "papers.jsonl", "-i", "alpha")
    built.ok("build", "papers.jsonl", "-i", "zeta")
    (built.home / "alpha" / "CURRENT").write_text("nonsense")
    result = built("reindex", "--all", "--max-tokens", "3")
    assert result.exit_code == 1
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == [
        "alpha: failed; nothing was changed", "papers: generation 2", "zeta: generation 2"]
    assert "Error: alpha: The index is damaged: " in result.stderr


def test_reindex_as_json(built: CommandLine) -> None:
    [summary] = built.json("reindex", "papers", "--json", "--model", "other")
    assert (summary["index"], summary["generation"], summary["encoded"]) == ("papers", 2, 3)
    result = built("reindex", "none", "papers", "--json")
    failed, done = (json.loads(line) for line in result.stdout.splitlines())
    assert result.exit_code == 1 and done["index"] == "papers" and failed["index"] == "none"
    assert failed["error"].startswith("No index named 'none' in indexes.")


def test_reindex_and_verify_want_names_or_all(built: CommandLine) -> None:
    assert "Which index? Name it, or say --all." in built.fails("reindex", status=2)
    assert "and not both" in built.fails("reindex", "papers", "--all", status=2)
    assert "and not both" in built.fails("verify", "papers", "--all", status=2)


def test_verify_of_a_sound_index(built: CommandLine) -> None:
    report = built.ok("verify")
    assert report.startswith("papers: generation 1, ") and report.endswith(" files checked, sound\n")
    [document] = built.json("verify", "papers", "--json")
    assert (document["index"], document["generation"]) == ("papers", 1)
    assert (document["problems"], document["sound"]) == ([], True)


def test_verify_names_each_problem(built: CommandLine) -> None:
    vectors = built.home / "papers" / "generations" / "1" / "vectors.npy"
    flip_a_bit(vectors)
    result = built("verify", "--all")
    assert result.exit_code == 1
    assert "files checked, 1 problem\n" in result.stdout and f"{vectors.relative_to(built.folder)} " in result.stdout
    assert "semsearch build --rebuild\n" in result.stdout
    assert json.loads(built("verify", "--json").stdout)["sound"] is False


def test_verify_of_nothing(cli: CommandLine) -> None:
    assert "No index named 'papers'" in cli.fails("verify")


def test_verify_goes_on_where_one_is_not_there(built: CommandLine) -> None:
    result = built("verify", "none", "papers")
    assert result.exit_code == 1 and "Error: none: No index named 'none'" in result.stderr
    assert result.stdout.startswith("papers: generation 1, ") and result.stdout.endswith("sound\n")


def test_delete_and_restore(built: CommandLine) -> None:
    result = built("delete", "10.1000/birds", "songs2")
    assert result.stdout == "Deleted birds1  Birds navigate\nDeleted songs2  Birds sing\n"
    assert built.ok("query", "birds", "--format", "ids", "-k", "1") == "cells3\n"
    assert built.ok("delete", "--restore", "birds1") == "Restored birds1  Birds navigate\n"
    assert built.ok("query", "birds", "--format", "ids", "-k", "2") == "birds1\ncells3\n"


def test_delete_as_json(built: CommandLine) -> None:
    assert built.json("delete", "birds1", "--json") == [{"id": "birds1", "title": "Birds navigate", "deleted": True}]
    built.ok("reindex", "papers")  # now its row is gone
    assert built.json("delete", "birds1", "--restore", "--json") == [
        {"id": "birds1", "title": "Birds navigate", "deleted": False, "at_once": False}]


def test_delete_takes_all_or_none(built: CommandLine) -> None:
    assert "No paper has the id or alias 'zzz'." in built.fails("delete", "birds1", "zzz")
    assert built.json("info", "--json")[0]["papers"] == 3
    assert "No deleted paper is called 'birds1'." in built.fails("delete", "--restore", "birds1")


@pytest.mark.parametrize("answer, left", [("y\n", 2), ("n\n", 3), ("", 3)])
def test_delete_asks_a_terminal(built: CommandLine, monkeypatch: pytest.MonkeyPatch, answer: str, left: int) -> None:
    monkeypatch.setattr("semsearch.cli.delete.stdin_is_terminal", lambda: True)
    result = built("delete", "birds1", input=answer)
    assert "  birds1  Birds navigate\nDelete this paper? [y/N]: " in result.stderr
    assert built.json("info", "--json")[0]["papers"] == left
    if left == 3:
        assert result.exit_code == 2 and "Error: Nothing was deleted.\nAnswer y, or add --yes" in result.stderr
    assert "Delete" not in built("delete", "cells3", "--yes").stderr


def test_remove_asks_first(built: CommandLine) -> None:
    refused = built("remove", "papers", input="n\n")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Remove the index papers (indexes/papers) with 3 papers? [y/N]: " in refused.stderr
    assert "Error: Nothing was removed." in refused.stderr and (built.home / "papers").is_dir()
    assert built.ok("remove", "papers", input="y\n") == "Removed indexes/papers\n"
    assert not (built.home / "papers").exists() and (built.folder / "papers.jsonl").exists()


def test_remove_as_json_and_of_a_damaged_index(built: CommandLine) -> None:
    (built.home / "papers" / "CURRENT").write_text("nonsense")
    assert built.json("remove", "papers", "--yes", "--json") == [
        {"index": "papers", "folder": "indexes/papers", "removed": True}]


def test_remove_refuses_what_is_no_index(built: CommandLine) -> None:
    (built.home / "photos").mkdir()
    assert "indexes/photos is not an index" in built.fails("remove", "photos", "--yes", status=2)
    assert "No index named 'none'" in built.fails("remove", "none", "--yes")
    assert "is not the name of an index" in built.fails("remove", "../indexes", "--yes", status=2)


def test_export_can_be_built_again(built: CommandLine) -> None:
    assert built.ok("export", "-o", "all.jsonl") == ""
    [summary] = built.json("build", "all.jsonl", "-i", "copy", "--json")
    assert (summary["papers"], summary["rejected"]) == (3, 0)
    assert built.ok("export", "-i", "copy") == built.ok("export") == (built.folder / "all.jsonl").read_text()


def test_export_leaves_deleted_papers_out(built: CommandLine) -> None:
    built.ok("delete", "songs2")
    assert built.ok("export", "--format", "ids") == "birds1\ncells3\n"
    assert built.ok("export", "--format", "csv").count("\n") == 3


def test_export_of_vectors_is_what_the_encoder_made(built: CommandLine) -> None:
    built.ok("delete", "songs2")
    result = built("export", "--vectors", "v.npy")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "v.npy: 2 vectors; v.ids.txt: the id of each row.\n"
    assert (built.folder / "v.ids.txt").read_text() == "birds1\ncells3\n"
    texts = [f"{paper['title']} {paper['abstract']}" for paper in (BIRDS, CELLS)]
    vectors = np.load(built.folder / "v.npy")
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, FakeEncoder(EncoderRequest()).encode_documents(texts).vectors)
    assert (vectors @ FakeEncoder(EncoderRequest()).encode_queries(["birds"])[0])[0] == pytest.approx(COSINE_BIRDS)


def test_export_of_both(built: CommandLine) -> None:
    built.ok("export", "--vectors", "v.npy", "--format", "ris", "-o", "all.ris", "-q")
    assert (built.folder / "all.ris").read_text().count("ER  - ") == 3 and (built.folder / "v.npy").exists()
    assert "'v.txt' is named otherwise" in built.fails("export", "--vectors", "v.txt", status=2)
    assert "No index named 'none'" in built.fails("export", "-i", "none")


def test_doctor_finds_all_that_is_needed(built: CommandLine) -> None:
    [found] = built.json("doctor", "--json")
    assert found["works"] is True
    assert found["packages"]["numpy"] == np.__version__ and all(found["packages"].values())
    assert found["model"]["name"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert len(found["model"]["fingerprint"]) == 64
    assert [(index["name"], index["state"]) for index in found["indexes"]] == [("papers", "ok")]
    assert "cpu" in found["devices"] and found["free_bytes"] > 0
    assert found["environment"]["HF_HUB_OFFLINE"] == "1"


def test_doctor_wants_nothing_that_another_system_needs(built: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.cli.diagnosis.metadata.requires", lambda name: [
        "click>=8", "nowhere>=1; sys_platform == 'beos'", f'numpy; sys_platform == "{sys.platform}"'])
    [found] = built.json("doctor", "--json")
    assert {"click", "numpy"} <= found["packages"].keys() and "nowhere" not in found["packages"]


def test_doctor_tells_whether_answers_are_quick(built: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"a" * 64: Readiness(REFUSED, "its vectors differ")}
    monkeypatch.setattr("semsearch.exported.readiness.readiness_of", lambda of: states.get(of, Readiness(MISSING)))
    monkeypatch.setattr("semsearch.provider.runs_on_cpu", lambda device: True)
    [found] = built.json("doctor", "--json")
    default, other = found["quick_answers"].items()
    assert default == ("sentence-transformers/all-MiniLM-L6-v2",
                       {"state": "not made yet", "reason": "", "way_out": "made by the first build or question"})
    assert other[1]["way_out"] == 'made by: semsearch query "..."'
    states[found["model"]["fingerprint"]] = Readiness(REFUSED, "its vectors differ")
    text = " ".join(built.ok("doctor").split())
    assert ("quick answers sentence-transformers/all-MiniLM-L6-v2: refused; its vectors differ; each question loads "
            "the whole model" in text)
    states[found["model"]["fingerprint"]] = Readiness(READY)
    assert "quick answers sentence-transformers/all-MiniLM-L6-v2: ready " in " ".join(built.ok("doctor").split())
    monkeypatch.setattr("semsearch.provider.runs_on_cpu", lambda device: False)  # a GPU takes the model as it is
    assert "quick answers" not in built.ok("doctor")


def test_doctor_says_what_to_do(built: CommandLine) -> None:
    (built.home / "papers" / "CURRENT").write_text("nonsense")
    text = " ".join(built.ok("doctor").split())
    assert "What to do - The index papers is damaged: indexes/papers/CURRENT does not name a generation" in text


def test_doctor_names_an_index_that_cannot_be_asked(built: CommandLine) -> None:
    result = CliRunner().invoke(main, ["doctor", "--json"], obj=App())  # with the real model's fingerprint
    [line] = json.loads(result.stdout)["todo"]
    assert line.startswith("The index papers cannot be asked in words: the model "
                           "sentence-transformers/all-MiniLM-L6-v2 that is here is not the one that made it.")


def test_doctor_fails_where_the_main_job_cannot_work(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.encoding.DEFAULT_MODEL", "nobody/nothing")
    result = cli("doctor", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["works"]) == (1, False)
    assert any(line.startswith("The model nobody/nothing is not on this machine") for line in found["todo"])
    monkeypatch.delenv("HF_HUB_OFFLINE")
    result = cli("doctor")
    assert result.exit_code == 0 and "the first build fetches it" in " ".join(result.stdout.split())
