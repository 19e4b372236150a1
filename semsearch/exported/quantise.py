"""A graph -> the same with 8-bit integers in its matrix products.

Each column of weights has its own scale, the activations of each text have theirs. Texts go one at a time: in a batch
the range of one text's activations would decide how exact its neighbours are.
"""

from __future__ import annotations

import logging
from pathlib import Path


def quantise(graph: Path, target: Path) -> None:
    """Write a graph with 8-bit integers for the weights of all its matrix products.

    They use 7 of the 8 bits, so that processors without instructions for this add up without overflow, and all compute
    the same.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    root, quiet = logging.getLogger(), logging.NullHandler()
    root.addHandler(quiet)  # else its advice goes to stderr
    try:
        quantize_dynamic(str(graph), str(target), per_channel=True, reduce_range=True, weight_type=QuantType.QInt8,
                         op_types_to_quantize=["MatMul"], extra_options={"MatMulConstBOnly": True})
    finally:
        root.removeHandler(quiet)
