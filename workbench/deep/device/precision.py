"""Which precision the products of a step have.

``float32``: everything in IEEE single precision. ``tf32`` and ``bf16`` make the forward and the backward pass faster:
on a GPU products of 10-bit fractions, or by PyTorch's autocast bfloat16. What clipping is promised does not depend on
it, because norms and weighted sums are taken of the very numbers that those passes left, in full precision
(:mod:`workbench.deep.device.static_sum` proves it).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

FLOAT32, TF32, BF16 = PRECISIONS = ("float32", "tf32", "bf16")

_IEEE = "ieee"


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute products of single-precision numbers in IEEE single precision, on every device."""
    with _products(_IEEE):
        yield


@contextmanager
def passes_in(precision: str, device: torch.device) -> Iterator[None]:
    """Compute forward and backward passes in ``precision``, one of :data:`PRECISIONS`."""
    kind: Any = torch.autocast(device.type, torch.bfloat16, cache_enabled=False) if precision == BF16 else nullcontext()
    with _products(TF32 if precision in (TF32, BF16) else _IEEE), kind:
        yield


@contextmanager
def _products(wanted: str) -> Iterator[None]:
    """Set how single-precision numbers are multiplied; TF32 is a GPU's, and the processor stays exact."""
    backends: Any = torch.backends
    places: list[tuple[Any, str]] = [
        (backends.cuda.matmul, wanted),
        (backends.cudnn.conv, wanted),
        (backends.mkldnn.matmul, _IEEE),
        (backends.mkldnn.conv, _IEEE),
    ]
    before = [place.fp32_precision for place, _ in places]
    try:
        for place, value in places:
            place.fp32_precision = value
        yield
    finally:
        for (place, _), value in zip(places, before, strict=True):
            place.fp32_precision = value
