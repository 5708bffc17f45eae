"""The fast engine for one linear layer and two classes: the clipped gradient of a row in closed form.

Let d be the difference of the logits, and m = −1, 1 or 0 for class 0, class 1 and an empty row. The gradients of the
two logits are c and −c with c = m/(1 + e), e = exp(m·d), and the norm of the row's gradient is |c|·r with
r² = 2(‖x‖² + 1). So the clipped one has c = m/max(1 + e, r/C), and that of the automatic rule m·C/(r + 0.01(1 + e)).
That needs a dozen operations on vectors as long as the batch, of which each takes about what it takes to start it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from workbench.deep.clipping import nothing
from workbench.deep.factors import AUTOMATIC, STABILITY, heard
from workbench.deep.table_engine import SIGNS, Block, Difference, Floats, TableEngine, measured_of_two


def fits(network: nn.Module) -> bool:
    """Return whether ``network`` is one linear layer with bias for two classes."""
    if type(network) is not nn.Sequential or len(network) != 1:
        return False
    layer = network[0]
    return type(layer) is nn.Linear and layer.bias is not None and layer.out_features == 2


class Room:
    """Working memory for a number of rows.

    Attributes:
        entering: the rows (b, d).
        signs: m (b,).
        odds: d, then 1 + e (b,).
        norms: r² (b,), then what the odds are compared with.
        ones: (b,).
    """

    def __init__(self, rows: int, entering: Floats, vectors: Floats) -> None:
        """Take the first ``rows`` rows of the memory."""
        self.entering = Block(entering[:rows])
        self.signs, self.odds, self.norms, self.ones = vectors[:, :rows]


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
        self._layer = Difference(self._linear[0], self._places)
        self._held: tuple[Floats, Floats] | None = None
        self._rooms: dict[int, Room] = {}

    def _find(self) -> None:
        self._layer.find()

    def _room(self, rows: int) -> Room:
        """Return the working memory, which is one for all numbers of rows."""
        room = self._rooms.get(rows)
        if room is None:
            if self._held is None or len(self._held[0]) < rows:
                self._rooms.clear()
                entering = np.empty((rows, self._widths[0]), dtype=np.float32)
                self._held = (entering, np.ones((4, rows), dtype=np.float32))
            room = self._rooms[rows] = Room(rows, *self._held)
        return room

    def _chunk(self, rows: NDArray[np.int64], *, measure: bool) -> tuple[int, float, int]:
        room, layer = self._room(len(rows)), self._layer
        block, signs, odds, norms = room.entering, room.signs, room.odds, room.norms
        self._x.take(rows, 0, out=block.array, mode="clip")
        SIGNS.take(self._y.take(rows), out=signs, mode="wrap")
        layer.look()
        block.times(layer.across, odds)
        odds += layer.shift
        odds *= signs
        told = measured_of_two(odds, signs) if measure else (0, 0.0, 0)
        np.exp(odds, out=odds)
        odds += 1
        self._watch()
        np.vecdot(block.array, block.array, out=norms)
        norms += 1
        clipping = self.clipping.of(len(rows))
        hear = heard()
        if hear is not None:
            hear(torch.from_numpy(2 * norms * (signs / odds) ** 2).unsqueeze(1))
        norms *= 2 / clipping.bound**2
        np.sqrt(norms, out=norms)
        if self._automatic:
            odds *= STABILITY / clipping.bound
            norms += odds
        else:
            np.maximum(norms, odds, out=norms)
        np.divide(signs, norms, out=signs)
        layer.sum_up(block, signs, room.ones)
        if not self._finite():
            # 0·∞ is not a number: rows without a finite gradient are set to zero.
            left = ~(np.isfinite(block.array).all(1) & np.isfinite(signs))
            block.array[left] = signs[left] = 0
            layer.sum_up(block, signs, room.ones)
        return told
