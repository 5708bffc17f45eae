"""A small fully connected network."""

from __future__ import annotations

from workbench.deep.networks.network import Network

MLP = Network(
    "mlp",
    "Two hidden layers of 64",
    "It learns combinations of columns, in two layers of 64 units.",
    hidden=(64, 64),
    short="Network, DP-SGD",
)
