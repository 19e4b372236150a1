"""Where encoders come from, and whether one is the encoder that made an index."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from semsearch.encoding import Encoder, EncoderIdentity, EncoderRequest
from semsearch.errors import ModelMismatch, ModelNotFound


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


class LocalModels:
    """Encoders made from models on this machine, or fetched once."""

    def identify(self, request: EncoderRequest, *, allow_download: bool = True) -> EncoderIdentity:
        """Return the identity of a model, found offline first."""
        from semsearch.models import identify, resolve_model

        local = resolve_model(request.model, request.revision, allow_download=allow_download)
        return identify(local, request.max_tokens)

    def load(self, request: EncoderRequest) -> Encoder:
        """Load a model, found offline first."""
        from semsearch.encoder import load_encoder

        return load_encoder(request)


def request_for(identity: EncoderIdentity, device: str = "auto", trust_remote_code: bool = False) -> EncoderRequest:
    """Return the request that loads the encoder of an index again."""
    return EncoderRequest(identity.model, identity.revision, identity.max_tokens, device, trust_remote_code)


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


def _checked(encoder: Encoder, request: EncoderRequest, identity: EncoderIdentity) -> Encoder:
    if encoder.identity.fingerprint == identity.fingerprint:
        return encoder
    raise ModelMismatch(
        f"The model found as {request.model!r} is not the one that made this index (fingerprint "
        f"{encoder.identity.fingerprint[:12]} where {identity.fingerprint[:12]} is expected): its weights, tokenizer "
        "or settings differ, and its vectors would not fit.",
        f"Encode the whole index with it: semsearch reindex NAME --model {request.model}   Or say where the model is "
        "that made the index: semsearch query --model FOLDER")
