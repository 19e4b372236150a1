"""Encoders in 8-bit integers: faster, a little less exact, with a fingerprint of their own."""

from __future__ import annotations

from dataclasses import replace

from semsearch.encoding import FLOAT32, INT8, EncoderRequest
from semsearch.errors import ModelUnusable, UsageError
from semsearch.exported.session import ExportedEncoder, load_exported
from semsearch.models import identify, resolve_model


def load_quantised(request: EncoderRequest) -> ExportedEncoder:
    """Return the encoder of a request for int8, from the cache, or made of the model and put there.

    Raises:
        UsageError: the request names a device other than the CPU, or trusts foreign code.
        ModelUnusable: the model does not stand it, or the cache cannot be written.
    """
    if request.device not in ("auto", "cpu") or request.trust_remote_code:
        what = "foreign code" if request.trust_remote_code else f"the device {request.device}"
        raise UsageError(f"int8 runs on the CPU, from an exported form of the model: {what} takes no part.",
                         "Leave --precision away.")
    identity = identify(resolve_model(request.model, request.revision), request.max_tokens, INT8)
    known = load_exported(identity)
    if known is not None:
        return known
    from semsearch.encoder import load_encoder
    from semsearch.exported.export import NotExportable, export

    try:
        export(load_encoder(replace(request, precision=FLOAT32, device="cpu")), identity)
    except (NotExportable, OSError) as error:
        raise ModelUnusable(f"The model {identity.model} cannot be had in int8: {error}.",
                            "Leave --precision away.") from error
    made = load_exported(identity)
    if made is None:
        raise ModelUnusable(f"The model {identity.model} cannot be had in int8: onnxruntime cannot run it here.",
                            "Leave --precision away.")
    return made
