"""Rows as the trained layers read them: through the network's frozen part, whose features are kept for the next run."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.feature_cache import BLOCK, FeatureCache
from workbench.deep.networks import Network
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress, ignore

PREPARING = "Computing features"


def prepared_rows(
    architecture: Network,
    inputs: NDArray[np.float32],
    device: str = "cpu",
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    keep: bool = True,
) -> Tensor:
    """Return what the trained layers of ``architecture`` read, (n, width).

    Args:
        architecture: the network.
        inputs: rows (n, width) of a table, or images (n, c, h, w).
        device: where to compute, and where the result is.
        emit: receives the progress.
        cancel: looked at before each block of rows.
        keep: whether features may be read from and kept on disk.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    if not architecture.frozen:
        return architecture.prepared(torch.from_numpy(inputs).to(device))
    first = _made(architecture, inputs[:1], device)
    cache = FeatureCache(inputs, architecture.frozen, first.shape[1]) if keep else None
    features = np.empty((len(inputs), first.shape[1]), np.float32)
    for start in range(0, len(inputs), BLOCK):
        if cancel is not None:
            cancel.check()
        emit(Progress(start, len(inputs), PREPARING))
        block = inputs[start : start + BLOCK]

        def make(rows: NDArray[np.float32] = block) -> NDArray[np.float32]:
            return _made(architecture, rows, device)

        features[start : start + BLOCK] = make() if cache is None else cache.block(start, make)
    emit(Progress(len(inputs), len(inputs), PREPARING))
    return torch.from_numpy(features).to(device)


def _made(architecture: Network, rows: NDArray[np.float32], device: str) -> NDArray[np.float32]:
    with torch.no_grad():
        found: NDArray[np.float32] = architecture.prepared(torch.from_numpy(rows).to(device)).cpu().numpy()
    return found
