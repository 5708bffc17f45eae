"""Inputs of the trained layers: rows after the network's frozen part, whose features are cached for the next run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep import image_kernel, table_kernel
from workbench.deep.book_keeping import BookKeepingClippedSum, known_layers
from workbench.deep.clipping import BoundEngine, ClippedSum, PerRowClippedSum, nothing
from workbench.deep.feature_cache import BLOCK, FeatureCache
from workbench.deep.frozen_weights import frozen
from workbench.deep.mixing_layers import (
    require_rows_for_themselves,
    require_separate_rows,
    without_chance,
    without_zeros,
)
from workbench.deep.networks import Network
from workbench.deep.plan import FLAT, LEAST_SINGLE, MOST_SINGLE
from workbench.params import ParameterError
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Progress, ignore

PREPARING = "Computing features"


def prepared_rows(
    architecture: Network,
    inputs: NDArray[np.float32],
    device: str = "cpu",
    *,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    keep: bool = True,
) -> Tensor:
    """Return what the trained layers of ``architecture`` read, (n, width).

    ``inputs`` are rows (n, width) of a table, or images (n, c, h, w). With ``keep`` features may be on disk.
    """
    if not architecture.frozen:
        return architecture.prepared(torch.from_numpy(inputs).to(device))
    first = _made(architecture, inputs[:1], device)
    cache = FeatureCache(inputs, architecture.frozen, first.shape[1]) if keep else None
    features = np.empty((len(inputs), first.shape[1]), np.float32)
    for start in range(0, len(inputs), BLOCK):
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


_ROWS_TRIED = 3
_AGREE = 1e-3  # how far an engine may be from the plain one on generated rows, relative to the size of the sum


def engine_for(
    network: nn.Module,
    clip: float,
    physical_batch: int,
    watch: Callable[[], None] = nothing,
    rule: str = FLAT,
    example: Tensor | None = None,
) -> ClippedSum:
    """Return an engine for ``network``.

    Args:
        network: any module from rows (b, …) to logits (b, k).
        clip: the clipping norm C.
        physical_batch: most rows in memory at once.
        watch: called at the peak of memory use.
        rule: how rows are clipped.
        example: generated rows, at least three, for a network that nobody has tested: an engine that does not give
            on them what the plain one gives is not used, and a network that mixes rows, or keeps anything of those
            that passed it, is refused. Both are tried in the mode in which the network is: it must train in it.

    Raises:
        ParameterError: the network mixes rows, keeps something of them, has sparse gradients, or no parameters.
    """
    require_separate_rows(network)
    _require_dense_gradients(network)
    if not any(True for _ in network.parameters()):
        raise ParameterError("the network has no parameters to train", hint="give a network with layers that learn")
    with nullcontext() if example is None else without_zeros(network):
        if example is not None:
            require_rows_for_themselves(network, example[:_ROWS_TRIED])
        for made in _candidates(network, clip):
            engine = made(network, clip, physical_batch, watch, rule)
            if example is None or isinstance(engine, PerRowClippedSum) or _agrees(engine, network, clip, rule, example):
                return engine
    raise AssertionError("the plain engine trains every network")


def _require_dense_gradients(network: nn.Module) -> None:
    for name, layer in network.named_modules():
        if isinstance(layer, nn.Embedding | nn.EmbeddingBag) and layer.sparse:
            raise ParameterError(
                f"the layer {name or type(layer).__name__} ({type(layer).__name__}) has sparse gradients, which have "
                "no norm per row",
                hint="use sparse=False: the result is the same",
            )


def _candidates(network: nn.Module, clip: float) -> list[Callable[..., BoundEngine]]:
    """Return the engines whose conditions ``network`` meets, the fastest first."""
    found: list[Callable[..., BoundEngine]] = []
    single = all(p.dtype == torch.float32 for p in network.parameters()) and LEAST_SINGLE <= clip <= MOST_SINGLE
    on_cpu = all(p.device.type == "cpu" for p in network.parameters())
    compiled = single and on_cpu and not frozen(network)  # their loops take each layer to learn
    if compiled and table_kernel.is_logistic(network):
        found.append(table_kernel.LogisticClippedSum)
    if compiled and table_kernel.fits(network):
        found.append(table_kernel.TableClippedSum)
    if compiled and image_kernel.fits(network):
        found.append(image_kernel.ImageClippedSum)
    if single and known_layers(network):
        found.append(BookKeepingClippedSum)
    return [*found, PerRowClippedSum]


def _agrees(engine: BoundEngine, network: nn.Module, clip: float, rule: str, example: Tensor) -> bool:
    """Return whether ``engine`` gives on generated rows what the plain engine gives."""
    rows = example[:_ROWS_TRIED]
    targets = torch.arange(len(rows), device=rows.device) % 2
    try:
        with without_chance(network):  # dropout would make the two differ
            bound = engine.clipping.of(len(rows)).bound
            plain = PerRowClippedSum(network, bound, len(rows), rule=rule)(rows, targets).total
            fast = engine(rows, targets).total.double()
    except (RuntimeError, AssertionError, TypeError):
        return False  # a layer that this engine cannot pass: the plain one says what is wrong, if anything is
    return float((fast - plain).norm()) <= _AGREE * max(float(plain.norm()), 1e-12)
