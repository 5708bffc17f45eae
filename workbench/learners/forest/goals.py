"""What the leaves of a tree say of the target: classes, or numbers as rows that are partly high and partly low.

Both are treated alike. A row's target is

* one *kind* of a short public list, by which the splits are judged: its class, or the part of the bounds in which its
  number lies;
* *weights*, whole numbers that a leaf adds up: 1 for its class, or K parted between "low" and "high" by where the
  number lies between the bounds. A leaf's counts of classes, or the count and sum of its numbers (low + high, and
  high − low), have the L1 sensitivity of one row's weights: 1 or K. Asked as a count and a sum about the centre, the
  same two figures would cost twice that.

*The loss* of a leaf is the least that one prediction for all its rows can lose: for classes the number of rows of
other classes, for numbers the sum of the distances, each counted up to 0.3 of the range, over the largest. A row loses
between 0 and UNIT whatever is predicted. One more row therefore never makes the least loss smaller, nor larger by more
than UNIT: exactly, because everything is a whole number. Squares would be less clear at the same noise: most of a
square's range is kept for errors that hardly occur.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import checked_classes, checked_numbers
from workbench.learners.sums import on_grid
from workbench.learners.tasks import EMPTY

UNIT = 1 << 8
"""Whole numbers of the loss of one row; sums are exact in doubles up to 2^45 rows."""

_HALF = 1 << 10
_KINDS = 32
_FARTHEST = 0.3
_SPREAD_OF_CLASSES, _SPREAD_OF_NUMBERS = 0.05, 0.02
_SAMPLING_OF_CLASSES, _SAMPLING_OF_NUMBERS = 0.25, 0.05


class Goal:
    """The public facts about a target, and how it is read.

    Attributes:
        parts: how many whole numbers a leaf holds: one a class, or low and high.
        weight: K, the sum of one row's weights.
        kinds: how many kinds of targets there are.
        losses: what a row of each kind loses by each prediction, (kinds, predictions), in [0, UNIT].
        spread: usual variance of a part's share between a node and its parent.
        sampling: usual variance of one row's weights about the shares of its node.
    """

    def __init__(self, target: Attribute) -> None:
        self._target = target
        if target.numeric:
            self.parts, self.weight, self.kinds = 2, 2 * _HALF, _KINDS
            distance = np.abs(np.subtract.outer(np.arange(_KINDS), np.arange(_KINDS)))
            farthest = _FARTHEST * (_KINDS - 1)
            self.losses = np.floor(UNIT * np.minimum(distance, farthest) / farthest)
            self.spread, self.sampling = _SPREAD_OF_NUMBERS, _SAMPLING_OF_NUMBERS
        else:
            self.parts = self.kinds = len(target.values())
            self.weight = 1
            self.losses = UNIT * (1.0 - np.eye(self.kinds))
            self.spread, self.sampling = _SPREAD_OF_CLASSES, _SAMPLING_OF_CLASSES

    def read(self, y: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """Return which rows have a target (n,), and of these the kinds (m,) and the weights (m, parts).

        Raises:
            InputError: a value that the target's declaration does not allow; the message names the row.
        """
        if not self._target.numeric:
            classes = checked_classes(y, self._target)
            here = classes != EMPTY
            return here, classes[here], np.eye(self.parts, dtype=np.int64)[classes[here]]
        numbers = checked_numbers(y, self._target)
        here = ~np.isnan(numbers)
        high = on_grid(numbers[here], *self._target.bounds(), _HALF) + _HALF
        return here, high * _KINDS // (self.weight + 1), np.column_stack([self.weight - high, high])
