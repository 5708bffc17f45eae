"""Balanced sampling of a binary target, so that a model trained on the drawn rows matches the probabilities.

A logistic regression is where Σ (its chance − whether the row has the name)·x over the rows is 0, for every column x.
Names drawn row by row keep that in expectation; of a few hundred rows, the model that is learned from them is as far
off as one from a few hundred rows. So they are drawn together, each row's with its chance and the sums nearly those of
the chances: balanced sampling by the cube method (Deville & Tillé 2004, "Efficient balanced sampling: the cube method",
Biometrika 91), rows taken in turn as in Chauvet & Tillé 2006, "A fast algorithm for balanced sampling".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.entropy import Entropy, permutation
from workbench.signals.cancel import NEVER, CancelToken
from workbench.synth.cliques import Doubles
from workbench.synth.row_sampler import uniforms

_SURE = 1e-9  # a chance so near 0 or 1 is one


def balanced(chances: Doubles, seen: Doubles, entropy: Entropy, cancel: CancelToken = NEVER) -> NDArray[np.bool_]:
    """Return which rows are drawn (n,), each with its chance (n,), so that Σ seen (n, q) is nearly what is expected.

    Among q + 1 undecided rows some chances can move up and others down with no sum changed: as far as one of them is 0
    or 1, up or down by a coin with which none moves on average. The last q rows are drawn with their number alone kept.
    """
    out, window = np.clip(chances, 0.0, 1.0), seen.shape[1] + 1
    waiting = permutation(len(out), entropy)
    waiting = waiting[(out[waiting] > _SURE) & (out[waiting] < 1 - _SURE)]
    coins = uniforms(len(out) + 1, entropy)
    for coin in coins[:-1]:
        cancel.check()
        if len(waiting) < window:
            break
        here = waiting[:window]
        way = np.linalg.svd(seen[here].T, full_matrices=True)[2][-1]
        way[np.abs(way) < _SURE] = 0.0
        moves = way != 0
        own, along = out[here][moves], way[moves]
        ends = np.stack([(1 - own) / along, -own / along])
        up, down = ends.max(axis=0).min(), -ends.min(axis=0).max()
        moved = own + (up if coin * (up + down) < down else -down) * along
        moved[moved < _SURE], moved[moved > 1 - _SURE] = 0.0, 1.0
        out[here[moves]] = moved
        open_ = (out[here] > 0) & (out[here] < 1)
        waiting = np.concatenate([here[open_], waiting[window:]])
    ends = np.floor(np.cumsum(out[waiting]) + coins[-1])
    out[waiting] = np.diff(ends, prepend=0.0)
    return np.asarray(out > 0.5)
