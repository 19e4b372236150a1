"""semsearch build, where there is much to encode: it answers first."""

from __future__ import annotations

import json

import pytest
from command_line import CommandLine
from fakes import FakeEncoder, FakeProvider
from made_papers import records, write_jsonl

from semsearch import encoding_on, first_generation
from semsearch.encoding import EncoderRequest

READY = 'Ready to ask: semsearch query "..."  (words now, meaning as encoding goes on)\n'


@pytest.fixture
def many(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line in a folder with papers.jsonl, whose twelve papers are many here."""
    monkeypatch.setattr(first_generation, "FEW_TEXTS", 10)
    monkeypatch.setattr(encoding_on, "_WINDOW_TEXTS", (4, 4))
    monkeypatch.setattr(encoding_on, "PUBLISH_TEXTS", 4)
    monkeypatch.setattr(encoding_on, "PUBLISH_SECONDS", 0.0)
    write_jsonl(cli.folder / "papers.jsonl", records(12))
    return cli


class Interrupted(FakeProvider):
    """Encoders that are interrupted in their second piece of work."""

    def load(self, request: EncoderRequest) -> FakeEncoder:
        encoder = super().load(request)
        plain = encoder.encode_documents

        def encode(texts):
            if encoder.encoded:
                raise KeyboardInterrupt
            return plain(texts)

        encoder.encode_documents = encode
        return encoder


def test_it_says_when_it_can_be_asked_and_reports_once_at_the_end(many: CommandLine) -> None:
    result = many("build", "papers.jsonl")
    assert result.exit_code == 0 and READY in result.stderr
    assert result.stdout.splitlines()[1] == "Index papers, generation 4: 12 papers (12 added)"
    assert result.stdout.splitlines()[2].startswith("Encoded 12 texts, in ")
    [summary] = many.json("build", "papers.jsonl", "--json", "-i", "other")
    assert (summary["generation"], summary["encoded"], summary["coverage"]) == (4, 12, 1.0)
    assert many("build", "papers.jsonl", "-q", "-i", "third").stderr == ""


def test_later_says_how_to_go_on(many: CommandLine) -> None:
    result = many("build", "papers.jsonl", "--encode", "later")
    assert (result.exit_code, many.provider.loaded) == (0, 0)
    assert ("0 of 12 papers are encoded; the others are found by their words, and encoded when a question needs them.\n"
            "  To encode them all: semsearch build\n") in result.stdout
    assert "\nvectors     0 (0% of the papers)\n            go on encoding with: semsearch build\n" in \
        many.ok("info")
    [listed] = many.json("list", "--json")
    assert (listed["state"], listed["coverage"]) == ("0% encoded", 0.0)
    assert many.json("build", "--encode", "later", "--json")[0]["coverage"] == 0.0
    assert len(many.json("query", "graph attention", "--mode", "lexical", "--json")) > 3
    report = many.ok("build")
    assert "Encoded 12 texts, in " in report and "are encoded; the others" not in report
    assert many.json("list", "--json")[0]["state"] == "ok"


def test_a_stop_says_that_it_answers_and_how_to_go_on(many: CommandLine) -> None:
    stopped = CommandLine(many.folder, Interrupted())
    error = stopped.fails("build", "papers.jsonl", status=130)
    assert error.endswith('The index answers: semsearch query "..."  4 of 12 papers are encoded; go on with: '
                          "semsearch build\n\n"
                          "Stopped. What was encoded so far is kept; run the same command again to go on.\n")
    assert many.json("list", "--json")[0]["state"] == "33% encoded"
    [summary] = many.json("build", "--json")
    assert (summary["encoded"], summary["reused"], summary["coverage"]) == (8, 4, 1.0)
    assert json.loads(many.ok("verify", "--json"))["sound"]


def test_reindex_goes_on(many: CommandLine) -> None:
    CommandLine(many.folder, Interrupted())("build", "papers.jsonl")
    result = many("reindex", "papers")
    assert result.exit_code == 0 and "12 papers (12 unchanged), 8 encoded, 4 reused" in result.stdout
    assert many.json("list", "--json")[0]["coverage"] == 1.0


def test_a_wrong_moment_is_a_wrong_use(many: CommandLine) -> None:
    assert "'never' is not one of 'now', 'later'" in many.fails("build", "papers.jsonl", "--encode", "never", status=2)
