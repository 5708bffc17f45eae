"""Where and how torch computes: the device of a run, the number of its threads, the precision of its products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from workbench.deep.plan import AUTO, CPU, CUDA
from workbench.params import InputError
from workbench.signals.events import Emit, Notice

_IEEE = "ieee"


def gpus() -> int:
    """Return how many GPUs PyTorch can use here."""
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def device_of(name: str, emit: Emit) -> str:
    """Return where a plan that names ``name`` computes; say so where ``auto`` finds no GPU.

    Raises:
        InputError: the device is not there.
    """
    there = gpus()
    if name == CUDA and not there:
        raise InputError("there is no CUDA device", f"--device {name}", "use --device cpu or auto")
    if name != AUTO:
        return name
    if not there:
        emit(Notice("info", "no GPU was found; training runs on the processor"))
    return CUDA if there else CPU


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread: on networks this small a second one only waits, and beside a busy core it is slower.

    Measured on two cores that other work kept busy: 1,024 scattered images took 3.5 s in one thread and 41 to 70 s in
    two.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def computing_on(device: str) -> Iterator[None]:
    """Train on ``device``: in one thread, with products in IEEE single precision, which the clipping bounds are for.

    A GPU would take fewer digits in convolutions by default.
    """
    backends: Any = torch.backends
    products = [backends.cuda.matmul, backends.cudnn.conv, backends.mkldnn.matmul, backends.mkldnn.conv]
    before = [kind.fp32_precision for kind in products]
    for kind in products:
        kind.fp32_precision = _IEEE
    try:
        with one_thread(), nullcontext() if device == CPU else torch.cuda.device(device):
            yield
    finally:
        for kind, value in zip(products, before, strict=True):
            kind.fp32_precision = value


def finish_on(device: str) -> None:
    """Wait until everything that was started on ``device`` is done."""
    if device != CPU:
        torch.cuda.synchronize(device)
