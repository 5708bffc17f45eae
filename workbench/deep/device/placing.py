"""Which device a run computes on, and where its rows lie."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.device.chunk_rows import stay_on
from workbench.deep.device.precision import FLOAT32
from workbench.deep.device_names import AUTO, CPU, CUDA, require_device
from workbench.deep.networks import Network
from workbench.deep.plan import PLAIN_STEPS, DpSgdPlan
from workbench.deep.preparation import prepared_rows
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Notice

_FLOAT, _INDEX = 4, 8
SENT = "the rows do not fit into the free memory of {}: they stay in main memory, and each chunk is sent there"


def gpus() -> int:
    """Return how many GPUs PyTorch can use here."""
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def device_of(plan: DpSgdPlan, emit: Emit) -> str:
    """Return where to compute; say so where ``auto`` finds no GPU.

    Raises:
        InputError: the device is not there, or has not the steps or the precision of the plan.
    """
    there = gpus()
    require_device(plan.device, there)
    if plan.device == AUTO and not there:
        emit(Notice("info", "no GPU was found; training runs on the processor"))
    device = (CUDA if there else CPU) if plan.device == AUTO else plan.device
    if device == CPU and plan.gpu_steps != PLAIN_STEPS and plan.precision == FLOAT32:
        raise InputError(
            "the processor replays no steps", f"--gpu-steps {plan.gpu_steps}", "leave it out, or use a GPU"
        )
    if device == CPU and plan.precision != FLOAT32:
        raise InputError(
            f"the processor computes in {FLOAT32}", f"--precision {plan.precision}", "leave it out, or use a GPU"
        )
    return device


def computing_on(device: str) -> AbstractContextManager[object]:
    """Make ``device`` the present one of this thread, for libraries that ask which it is."""
    return nullcontext() if device == CPU else torch.cuda.device(device)


def finish_on(device: str) -> None:
    """Wait until everything that was started on ``device`` is done."""
    if device != CPU:
        torch.cuda.synchronize(device)


def placed(
    architecture: Network,
    width: int,
    rows: NDArray[np.float32],
    classes: NDArray[np.int64],
    device: str,
    *,
    resident: bool,
    emit: Emit,
    cancel: CancelToken,
) -> tuple[Tensor, Tensor]:
    """Return what the trained layers read (n, …) and the classes (n,), on ``device`` or in main memory.

    Args:
        architecture: the network.
        width: numbers of a row, or :class:`Pixels`, as the network is built for.
        rows: as they were read.
        classes: their codes.
        device: where to compute.
        resident: whether they must be on the device, even if it will not hold them.
        emit: hears the progress, and where the rows are if not on the device.
        cancel: looked at before each block of rows.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    size = len(rows) * (_FLOAT * architecture.prepared_width(width) + _INDEX)
    place = device if resident or stay_on(torch.device(device), size) else CPU
    if place != device:
        emit(Notice("info", SENT.format(device)))
    inputs = prepared_rows(architecture, rows, device, emit=emit, cancel=cancel, kept_on=place)
    return inputs, torch.from_numpy(classes).to(place)
