"""The networks by name: each is a :class:`Network` in a file here, and a line in :data:`NETWORKS`."""

from __future__ import annotations

from workbench.deep.networks.convolutional import CIFAR_CNN, MNIST_CNN, SCATTER_CNN
from workbench.deep.networks.network import LOGISTIC, MLP, Network
from workbench.deep.networks.scattered import SCATTER_LINEAR, SCATTER_UPRIGHT
from workbench.deep.networks.vgg16_head import VGG16_HEAD
from workbench.params import ParameterError
from workbench.params.field import named

__all__ = ["NETWORKS", "TRUSTED", "Network", "network", "networks_reading"]

NETWORKS: tuple[Network, ...] = (
    LOGISTIC,
    MLP,
    MNIST_CNN,
    CIFAR_CNN,
    SCATTER_LINEAR,
    SCATTER_UPRIGHT,
    SCATTER_CNN,
    VGG16_HEAD,
)
TRUSTED: dict[str, Network] = {}
"""Networks that are code of the user, by ``package.module:factory``; :mod:`workbench.deep.user_network` adds them."""


def network(name: str) -> Network:
    """Return the network called ``name``.

    Raises:
        ParameterError: there is none, or it is code that nobody has trusted.
    """
    for known in (*NETWORKS, *TRUSTED.values()):
        if known.name == name:
            return known
    if ":" in name:
        raise ParameterError(
            f"the network {name!r} is code, which runs only where you trust it",
            hint="add --trust-code if it is yours or you have read it",
        )
    return named(NETWORKS, name, "network")


def networks_reading(inputs: int, classes: int) -> tuple[Network, ...]:
    """Return the networks of the list that read rows of so many numbers, or images where ``inputs`` says their shape.

    A few of them learn filters of images, which a table of a few columns has none of.
    """

    def reads(known: Network) -> bool:
        try:
            known.widths(known.prepared_width(inputs) and inputs, classes)
        except ParameterError:
            return False
        return True

    return tuple(known for known in NETWORKS if reads(known))
