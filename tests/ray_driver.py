"""The command line over fake encoders that tell what they do: in `CALLS` lies a file for each call, `PID-NUMBER`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fakes import FakeEncoder, FakeProvider

from semsearch.cli.app import App, main
from semsearch.encoding import EncodedTexts, EncoderRequest
from semsearch.errors import ModelNotFound


class TellingEncoder(FakeEncoder):
    """Writes a file when it begins, and takes its time."""

    def __init__(self, request: EncoderRequest, calls: Path) -> None:
        super().__init__(request)
        self._calls, self._number = calls, 0

    def encode_documents(self, texts: Sequence[str]) -> EncodedTexts:
        (self._calls / f"{os.getpid()}-{self._number}").write_text(str(len(texts)))
        self._number += 1
        time.sleep(0.4)
        return super().encode_documents(texts)


class TellingProvider(FakeProvider):
    def __init__(self, calls: Path) -> None:
        super().__init__()
        self._calls = calls

    def load(self, request: EncoderRequest) -> FakeEncoder:
        if request.model == "absent":
            raise ModelNotFound("The model 'absent' is not on this machine.", "Fetch it.")
        return TellingEncoder(request, self._calls)


if __name__ == "__main__":
    main(sys.argv[2:], obj=App(TellingProvider(Path(sys.argv[1]))))
