"""Where encoders come from, and whether one is the encoder that made an index."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from semsearch.encoding import INT8, Encoder, EncoderIdentity, EncoderRequest
from semsearch.errors import ModelMismatch, ModelNotFound
from semsearch.progress import Progress

_NVIDIA_DRIVER: Final = Path("/proc/driver/nvidia/version")


class EncoderProvider(Protocol):
    """Finds and loads encoders."""

    def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> EncoderIdentity:
        """Return the identity of the encoder that is asked for, without loading it.

        Raises:
            ModelNotFound: it is not on this machine, and may not or cannot be fetched.
        """
        ...

    def load(self, request: EncoderRequest) -> Encoder:
        """Return the encoder that is asked for."""
        ...


@runtime_checkable
class QuickProvider(Protocol):
    """An `EncoderProvider` that keeps encoders in a form that starts at once, for processes that answer and end."""

    def load_quick(self, request: EncoderRequest, identity: EncoderIdentity) -> Encoder | None:
        """Return the encoder of this identity in that form; None where there is none, or the request forbids it."""
        ...

    def prepare_quick(self, progress: Progress) -> None:
        """Make that form of the encoder that was loaded last, where there is none; a failure is no error."""
        ...


class LocalModels:
    """Encoders made from models on this machine, or fetched once."""

    def __init__(self) -> None:
        """Remember that nothing was loaded yet."""
        self._loaded: tuple[EncoderRequest, Encoder] | None = None

    def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> EncoderIdentity:
        """Return the identity of a model, found offline first."""
        from semsearch.models import identify, resolve_model

        local = resolve_model(request.model, request.revision, allow_download=allow_download)
        return identify(local, request.max_tokens, request.precision)

    def load(self, request: EncoderRequest) -> Encoder:
        """Load a model, found offline first."""
        if request.precision == INT8:
            from semsearch.exported.quantised import load_quantised

            return load_quantised(request)
        from semsearch.encoder import load_encoder

        encoder = load_encoder(request)
        self._loaded = request, encoder
        return encoder

    def load_quick(self, request: EncoderRequest, identity: EncoderIdentity) -> Encoder | None:
        """Return the exported encoder of an index from the user's cache; it looks at no file of the model.

        None where the request names another model, trusts foreign code, or is for another device than the CPU.
        """
        if request.trust_remote_code or not runs_on_cpu(request.device):
            return None
        if (request.model, request.revision, request.max_tokens) != (
                identity.model, identity.revision, identity.max_tokens):
            return None
        from semsearch.exported.session import load_exported

        return load_exported(identity)

    def prepare_quick(self, progress: Progress) -> None:
        """Export the encoder that was loaded last, unless that was done, or refused, before.

        It takes seconds; whatever ends it early, the user too, is noted at most.
        """
        if self._loaded is None:
            return
        from semsearch.exported.export import NotExportable, can_export, export, is_prepared

        request, encoder = self._loaded
        if (request.trust_remote_code or not runs_on_cpu("auto") or not can_export(encoder)
                or is_prepared(encoder.identity.fingerprint)):
            return
        try:
            with progress.task("Preparing quick answers", None, "step"):
                if encoder.device != "cpu":
                    from semsearch.encoder import load_encoder

                    encoder = load_encoder(replace(request, device="cpu"))
                export(encoder)
        except NotExportable:
            return  # remembered, and told by `doctor`: nobody asked for it
        except KeyboardInterrupt:
            progress.note("Quick answers were not prepared; the next run does that.")
        except Exception as error:  # all is done that was asked for; what a library meets here must not undo it
            progress.note(f"Quick answers could not be prepared ({type(error).__name__}: {error}).")


def request_for(identity: EncoderIdentity, device: str = "auto", trust_remote_code: bool = False) -> EncoderRequest:
    """Return the request that loads the encoder of an index again."""
    return EncoderRequest(identity.model, identity.revision, identity.max_tokens, device, trust_remote_code,
                          identity.precision)


def load_matching(provider: EncoderProvider, request: EncoderRequest, identity: EncoderIdentity) -> Encoder:
    """Load the encoder that has this identity's fingerprint.

    The fingerprint decides, not the place: the same weights under another revision, in a folder or in a package will
    do. Only when nothing on this machine has it, the revision that made the index is fetched.

    Raises:
        ModelNotFound: it is not to be had.
        ModelMismatch: what is found under that name gives other vectors.
    """
    for candidate in dict.fromkeys((request, replace(request, revision=None))):
        with suppress(ModelNotFound):
            if provider.identify(candidate, allow_download=False).fingerprint == identity.fingerprint:
                return _checked(provider.load(candidate), candidate, identity)
    return _checked(provider.load(request), request, identity)


def load_for_questions(provider: EncoderProvider, request: EncoderRequest, identity: EncoderIdentity) -> Encoder:
    """Load the encoder that has this identity's fingerprint in the form that starts soonest.

    Raises:
        ModelNotFound, ModelMismatch: as `load_matching` does.
    """
    quick = provider.load_quick(request, identity) if isinstance(provider, QuickProvider) else None
    return quick if quick is not None else load_matching(provider, request, identity)


def prepare_quick_answers(provider: EncoderProvider, progress: Progress) -> None:
    """See to it that later processes need not load again what this one loaded; call it when all else is done.

    Never raises for what goes wrong on the way, Ctrl-C included.
    """
    if isinstance(provider, QuickProvider):
        provider.prepare_quick(progress)


def runs_on_cpu(device: str) -> bool:
    """Return whether an encoder for this device would run on the CPU, told without importing torch."""
    if device != "auto":
        return device == "cpu"
    return sys.platform == "darwin" or not _NVIDIA_DRIVER.exists() or "+cpu" in _version_of_torch()


def _version_of_torch() -> str:
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return "+cpu"


def _checked(encoder: Encoder, request: EncoderRequest, identity: EncoderIdentity) -> Encoder:
    if encoder.identity.fingerprint == identity.fingerprint:
        return encoder
    raise ModelMismatch(
        f"The model found as {request.model!r} is not the one that made this index (fingerprint "
        f"{encoder.identity.fingerprint[:12]} where {identity.fingerprint[:12]} is expected): its weights, tokenizer "
        "or settings differ, and its vectors would not fit.",
        f"Encode the whole index with it: semsearch reindex NAME --model {request.model}   Or say where the model is "
        "that made the index: semsearch query --model FOLDER")
