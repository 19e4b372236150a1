"""Where encoders come from, and whether one is the encoder that made an index."""

from __future__ import annotations

from typing import Protocol

from semsearch.encoding import Encoder, EncoderIdentity, EncoderRequest
from semsearch.errors import ModelMismatch


class EncoderProvider(Protocol):
    """Finds and loads encoders."""

    def identify(self, request: EncoderRequest) -> EncoderIdentity:
        """Return the identity of the encoder that is asked for, without loading it."""
        ...

    def load(self, request: EncoderRequest) -> Encoder:
        """Return the encoder that is asked for."""
        ...


class LocalModels:
    """Encoders made from models on this machine, or fetched once."""

    def identify(self, request: EncoderRequest) -> EncoderIdentity:
        """Return the identity of a model, found offline first."""
        from semsearch.models import identify, resolve_model

        return identify(resolve_model(request.model, request.revision), request.max_tokens)

    def load(self, request: EncoderRequest) -> Encoder:
        """Load a model, found offline first."""
        from semsearch.encoder import load_encoder

        return load_encoder(request)


def request_for(identity: EncoderIdentity, device: str = "auto", trust_remote_code: bool = False) -> EncoderRequest:
    """Return the request that loads the encoder of an index again."""
    return EncoderRequest(identity.model, identity.revision, identity.max_tokens, device, trust_remote_code)


def load_matching(provider: EncoderProvider, request: EncoderRequest, identity: EncoderIdentity) -> Encoder:
    """Load an encoder and check that it is the one that is expected.

    Raises:
        ModelMismatch: the model found under that name gives other vectors.
    """
    encoder = provider.load(request)
    if encoder.identity.fingerprint != identity.fingerprint:
        raise ModelMismatch(
            f"The model found as {request.model!r} is not the one that made this index (fingerprint "
            f"{encoder.identity.fingerprint[:12]} where {identity.fingerprint[:12]} is expected): its weights, tokenizer "
            "or settings differ, and its vectors would not fit.",
            "Encode the whole index with it: semsearch reindex NAME --model "
            f"{request.model}   Or give back the model that made the index.")
    return encoder
