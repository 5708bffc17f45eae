"""Logistic regression as a network."""

from __future__ import annotations

from workbench.deep.networks.network import Network

LOGISTIC = Network(
    "logistic",
    "Logistic regression, DP-SGD",
    "It weighs every column once for each class.",
    hidden=(),
    short="Logistic, DP-SGD",
)
