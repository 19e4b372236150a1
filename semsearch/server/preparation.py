"""Encoders in the form that answers soonest, made by another process while a server answers."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable

from semsearch.encoding import CanBeStopped, Encoder, EncoderIdentity, EncoderRequest
from semsearch.export_process import start
from semsearch.provider import EncoderProvider, LocalModels, runs_on_cpu


class Preparation:
    """Has encoders exported that a server had to load as they are; it can take them in the better form then.

    An index that was built with `--encode later` is the usual case: no process has had time for it yet.
    """

    def __init__(self, provider: EncoderProvider, done: Callable[[str], object]) -> None:
        """Take who hears, by its fingerprint and in another thread, of each encoder that is there now."""
        self._provider, self._done = provider, done
        self._begun: set[str] = set()
        self._one_at_a_time = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def consider(self, encoder: Encoder, request: EncoderRequest) -> None:
        """Begin to export an encoder that was just loaded, where it can be and was not; come back at once."""
        fingerprint = encoder.identity.fingerprint
        if (isinstance(encoder, CanBeStopped)  # it is in that form
                or fingerprint in self._begun or not isinstance(self._provider, LocalModels)
                or request.trust_remote_code or not runs_on_cpu(request.device)):
            return
        from semsearch.exported.export import can_export, is_prepared

        if can_export(encoder) and not is_prepared(fingerprint):
            self._begun.add(fingerprint)
            threading.Thread(target=self._run, args=(encoder.identity,), name="semsearch-prepare", daemon=True).start()

    def close(self) -> None:
        """End what is under way; the next server begins it anew."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.terminate()

    def _run(self, identity: EncoderIdentity) -> None:
        with self._one_at_a_time:
            if self._is_closed:
                return
            try:
                self._process = start(identity)
            except OSError:  # no memory, say: answers come as they did
                return
            if self._is_closed:
                self._process.terminate()
            if self._process.wait() == 0:
                self._done(identity.fingerprint)
