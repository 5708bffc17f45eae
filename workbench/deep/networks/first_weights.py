"""The public first weights of convolutional networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.deep.networks.network import INITIAL_SEED

if TYPE_CHECKING:
    from torch import nn


def with_first_weights(module: nn.Sequential) -> nn.Sequential:
    """Return ``module``, made on the device ``meta``, with storage and first weights.

    Weights are uniform in ±√(6/(fan in + fan out)) (Glorot & Bengio 2010), biases 0. The global generator stays as it
    was.
    """
    import torch

    module = module.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(INITIAL_SEED)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.zero_()
                continue
            area = parameter[0, 0].numel()
            bound = (6 / ((parameter.shape[0] + parameter.shape[1]) * area)) ** 0.5
            parameter.uniform_(-bound, bound, generator=generator)
    return module
