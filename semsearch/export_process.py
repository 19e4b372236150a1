"""`python -m semsearch.export_process IDENTITY`: exports an encoder in a process of its own.

For who goes on answering meanwhile. IDENTITY is that of the encoder, in JSON. The exit status is 0 where the exported
form is there at the end, and 1 where the encoder cannot be had in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict

from semsearch.encoding import EncoderIdentity
from semsearch.errors import SemsearchError
from semsearch.exported.session import load_exported
from semsearch.progress import Silent
from semsearch.provider import LocalModels, load_matching, request_for


def start(identity: EncoderIdentity) -> subprocess.Popen[bytes]:
    """Start a process that exports an encoder, without a word; Ctrl-C on the terminal does not reach it.

    It finds modules where this one does, and not in the folder that happens to be the current one.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen([sys.executable, "-P", "-m", "semsearch.export_process", json.dumps(asdict(identity))],
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def prepare(identity: EncoderIdentity) -> bool:
    """Export the encoder of this identity, unless that was done, or refused, before; return whether it is there."""
    provider = LocalModels()
    with suppress(SemsearchError):
        load_matching(provider, request_for(identity, "cpu"), identity)
        provider.prepare_quick(Silent())
    return load_exported(identity) is not None


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"  # those who ask come first
    if hasattr(os, "nice"):
        os.nice(19)
    sys.exit(not prepare(EncoderIdentity(**json.loads(sys.argv[1]))))
