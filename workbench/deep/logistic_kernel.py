"""The fast engine for one linear layer and two classes: the clipped gradient of a row in closed form, in one loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from workbench.deep.clipping import nothing
from workbench.deep.factors import AUTOMATIC, STABILITY, norms_listener
from workbench.deep.table_engine import Floats, TableEngine, measured_of_two
from workbench.deep.table_loops import logistic


def fits(network: nn.Module) -> bool:
    """Return whether ``network`` is one linear layer with bias for two classes."""
    if type(network) is not nn.Sequential or len(network) != 1:
        return False
    layer = network[0]
    return type(layer) is nn.Linear and layer.bias is not None and layer.out_features == 2


class LogisticClippedSum(TableEngine):
    """Clipped sums of a network for which :func:`fits` holds, on the processor, in single precision."""

    def __init__(
        self,
        network: nn.Module,
        clip: float,
        physical_batch: int,
        watch: Callable[[], None] = nothing,
        rule: str = "flat",
    ) -> None:
        """Bind the engine to a network; the arguments are those of the other engines."""
        super().__init__(network, clip, physical_batch, watch, rule)
        self._automatic = rule == AUTOMATIC
        layer = self._linear[0]
        self._of_weight, self._of_bias = self._places.of(layer.weight).numpy(), self._places.of(layer.bias).numpy()
        self._room: tuple[Floats, Floats] = (np.empty(0, np.float32), np.empty(0, np.float32))

    def _find(self) -> None:
        layer = self._linear[0]
        self._weight, self._bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()

    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> tuple[int, float, int]:
        odds, squares = self._room
        if len(odds) < len(rows):
            odds, squares = self._room = (np.empty(len(rows), np.float32), np.empty(len(rows), np.float32))
        bound = self.clipping.of(len(rows)).bound
        logistic(
            self._x, self._y, rows, self._weight, self._bias, self._automatic, bound, STABILITY,
            odds, squares, self._of_weight, self._of_bias,
        )  # fmt: skip
        self._watch()
        on_norms = norms_listener()
        if on_norms is not None:
            on_norms(torch.from_numpy(squares[: len(rows), np.newaxis]))
        return measured_of_two(odds[: len(rows)], self._y.take(rows)) if measure else (0, 0.0, 0)
