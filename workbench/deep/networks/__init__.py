"""The networks by name: each is a file with a :class:`Network`, and a line in :data:`NETWORKS`."""

from __future__ import annotations

from workbench.deep.networks.logistic import LOGISTIC
from workbench.deep.networks.mlp import MLP
from workbench.deep.networks.mnist_cnn import MNIST_CNN
from workbench.deep.networks.network import Network
from workbench.deep.networks.scatter_cnn import SCATTER_CNN
from workbench.deep.networks.scatter_linear import SCATTER_LINEAR
from workbench.deep.networks.scatter_upright import SCATTER_UPRIGHT
from workbench.params import ParameterError
from workbench.params.field import did_you_mean

__all__ = ["LATER", "NETWORKS", "Network", "network"]

NETWORKS: tuple[Network, ...] = (LOGISTIC, MLP, MNIST_CNN, SCATTER_CNN, SCATTER_LINEAR, SCATTER_UPRIGHT)
LATER = ("cifar-cnn", "vgg16-head")
"""Names of networks that are not in this version."""


def network(name: str) -> Network:
    """Return the network called ``name``.

    Raises:
        ParameterError: there is none.
    """
    for known in NETWORKS:
        if known.name == name:
            return known
    names = [known.name for known in NETWORKS]
    mend = f"use one of {', '.join(names)}"
    if name in LATER or ":" in name:
        raise ParameterError(f"the network {name!r} is not in this version", mend=mend)
    raise ParameterError(f"the network {name!r} is not known{did_you_mean(name, names)}", mend=mend)
