"""Which encoder to give many documents to: the exported one where there is or can be one, else the one as loaded."""

from __future__ import annotations

from typing import Final

from semsearch.encoding import INT8, Encoder, EncoderIdentity, EncoderRequest
from semsearch.progress import Progress
from semsearch.provider import EncoderProvider, QuickProvider, load_matching, request_for

WORTH_EXPORTING: Final = 64
"""Texts: encoding so many as exported saves about what the export takes, and the next questions and builds gain too."""


def load_for_documents(provider: EncoderProvider, request: EncoderRequest, identity: EncoderIdentity, texts: int,
                       progress: Progress) -> Encoder:
    """Return the encoder with this identity's fingerprint that is fastest for so many documents.

    On a CPU that is the exported one; where the cache has none and the documents are many, it is made. Its vectors are
    those of the original, to a cosine of 0.9999 at least, which was checked when it was made.

    Raises:
        ModelNotFound, ModelMismatch: as `load_matching` does.
    """
    if not isinstance(provider, QuickProvider):
        return load_matching(provider, request, identity)
    from semsearch.exported.documents import load_document_encoder

    known = request_for(identity, request.device, request.trust_remote_code)
    exported = _exported(provider, known, identity)
    if exported is not None:
        return exported
    encoder = load_matching(provider, request, identity)
    if identity.precision == INT8:  # exported on the way, wherever it had to be loaded for
        return load_document_encoder(identity) or encoder
    if texts < WORTH_EXPORTING or encoder.device != "cpu" or request.trust_remote_code:
        return encoder
    _export(encoder, progress)
    return _exported(provider, known, identity) or encoder


def _exported(provider: QuickProvider, request: EncoderRequest, identity: EncoderIdentity) -> Encoder | None:
    from semsearch.exported.documents import load_document_encoder
    from semsearch.exported.session import ExportedEncoder

    if not isinstance(provider.load_quick(request, identity), ExportedEncoder):
        return None
    return load_document_encoder(identity)


def _export(encoder: Encoder, progress: Progress) -> None:
    """Export an encoder unless that was done or refused before; a failure is no error, Ctrl-C ends the work."""
    from semsearch.exported.export import NotExportable, can_export, export, is_prepared

    if not can_export(encoder) or is_prepared(encoder.identity.fingerprint):
        return
    try:
        with progress.task("Preparing the model", None, "step"):
            export(encoder)
    except NotExportable:
        return  # remembered, and told by `doctor`; it is encoded as it is
    except Exception as error:  # a library may meet anything here, and there is another way to encode
        progress.note(f"The model could not be prepared for many abstracts ({type(error).__name__}: {error}); they are "
                      "encoded without.")
