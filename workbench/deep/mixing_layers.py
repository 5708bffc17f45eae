"""Layers that mix rows are refused: one row would change what the others contribute, and clipping would not see it."""

from __future__ import annotations

import torch
from torch import nn

from workbench.params import ParameterError

MIXING = (nn.modules.batchnorm._BatchNorm,)
_GROUPS = 32
_TOLERANCE = 1e-4


def require_separate_rows(network: nn.Module) -> None:
    """Raise :class:`ParameterError` if a layer of ``network`` computes with several rows at once."""
    for name, layer in network.named_modules():
        tracks = isinstance(layer, nn.modules.instancenorm._InstanceNorm) and layer.track_running_stats
        if isinstance(layer, MIXING) or tracks:
            raise ParameterError(
                f"the layer {name or type(layer).__name__} ({type(layer).__name__}) mixes the rows of a batch",
                mend="replace it by GroupNorm, as workbench.deep.mixing_layers.converted does",
            )


def converted(network: nn.Module) -> nn.Module:
    """Return ``network`` with every BatchNorm replaced by a GroupNorm of the same channels, in place where it can."""
    if isinstance(network, MIXING):
        channels = network.num_features
        groups = next(g for g in range(min(_GROUPS, channels), 0, -1) if channels % g == 0)
        return nn.GroupNorm(groups, channels, eps=network.eps, affine=network.affine)
    for name, child in list(network.named_children()):
        setattr(network, name, converted(child))
    return network


def mixes(network: nn.Module, inputs: torch.Tensor) -> bool:
    """Return whether the output of a row changes with the other rows of ``inputs`` (generated, two rows or more)."""
    before = network.training
    network.eval()
    try:
        with torch.no_grad():
            together, alone = network(inputs), network(inputs[:1])
    finally:
        network.train(before)
    return not torch.allclose(together[:1], alone, rtol=_TOLERANCE, atol=_TOLERANCE)
