"""All parameters of a network as one vector, so that noise and update are one operation each."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Places:
    """Where each parameter lies in a flat vector, in the module's order.

    Attributes:
        total: a vector (P,) in single precision, to be written into.
    """

    def __init__(self, network: nn.Module) -> None:
        parameters = list(network.parameters())
        self.total = torch.zeros(sum(p.numel() for p in parameters))
        self._views: dict[int, Tensor] = {}
        start = 0
        for p in parameters:
            self._views[id(p)] = self.total[start : start + p.numel()].view(p.shape)
            start += p.numel()

    def of(self, parameter: Tensor) -> Tensor:
        """Return the part of the vector that belongs to ``parameter``, in its shape."""
        return self._views[id(parameter)]


def flattened(network: nn.Module) -> Tensor:
    """Make the parameters of ``network`` views of one vector (P,), which is returned."""
    parameters = list(network.parameters())
    flat = torch.cat([p.detach().flatten() for p in parameters])
    start = 0
    for p in parameters:
        p.data = flat[start : start + p.numel()].view(p.shape)
        start += p.numel()
    return flat
