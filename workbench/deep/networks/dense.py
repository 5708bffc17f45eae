"""Fully connected networks: logistic regression, and a small one with two hidden layers."""

from __future__ import annotations

from workbench.deep.networks.network import Network

LOGISTIC = Network(
    "logistic",
    "Logistic regression, DP-SGD",
    "It weighs every column once for each class.",
    hidden=(),
    short="Logistic, DP-SGD",
)

MLP = Network(
    "mlp",
    "Two hidden layers of 64",
    "It learns combinations of columns, in two layers of 64 units.",
    hidden=(64, 64),
    short="Network, DP-SGD",
)
