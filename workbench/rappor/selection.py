"""Which candidates enter least squares: a positive LASSO whose strength is chosen by cross-validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

Floats = NDArray[np.float64]

SCREENED = 2_000
"""Most candidates that the LASSO is given: of more, those whose own bits are farthest above what is even."""

_FOLDS, _STRENGTHS, _LEAST_STRENGTH = 5, 40, 1e-3
_SEED = 20_140_903
"""Of the folds alone: which bits are held out together. They are the same for the same counts."""


def selected(
    design: Any, target: Floats, weight: Floats, even: float, emit: Emit, cancel: CancelToken
) -> NDArray[np.int64]:
    """Return the places of the candidates that the LASSO keeps, at most half as many as there are bits.

    Where every candidate has a bit of its own (basic RAPPOR), there is nothing to choose and all are kept.

    Args:
        design: (rows, n) sparse matrix of zeros and ones, by columns.
        target: (rows,) estimated share of each bit.
        weight: (rows,) one over its standard deviation.
        even: share of the bits that a string without a candidate sets.
        emit: receives progress.
        cancel: looked at between the strengths of each fold.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    rows, count = design.shape
    if count <= rows and design.nnz == count and int(design.sum(axis=1).max()) <= 1:
        return np.arange(count)
    screened = _screened(design, target, weight, even)
    cancel.check()
    inside = (design[:, screened].toarray() - even) * weight[:, None]
    observed = weight * (target - even)
    fold = np.random.Generator(np.random.PCG64(_SEED)).permutation(rows) % _FOLDS
    parts = [inside[fold == held] for held in range(_FOLDS)]
    pulls = [part.T @ observed[fold == held] for held, part in enumerate(parts)]
    grams = []
    for part in parts:
        cancel.check()
        grams.append(part.T @ part)
    gram, pull = np.sum(grams, axis=0), np.sum(pulls, axis=0)
    most = float(pull.max(initial=0.0)) / rows
    if most <= 0:
        return np.zeros(0, dtype=np.int64)
    strengths = most * np.logspace(0, np.log10(_LEAST_STRENGTH), _STRENGTHS)
    loss = np.zeros((_FOLDS, _STRENGTHS))
    for held, part in enumerate(parts):
        cancel.check()
        emit(Progress(held / (_FOLDS + 1), 3, "cross-validation"))
        train = inside[fold != held]
        path = _path(train, observed[fold != held], gram - grams[held], pull - pulls[held], strengths)
        loss[held] = np.mean((observed[fold == held][:, None] - part @ path) ** 2, axis=0)
    beta = _path(inside, observed, gram, pull, strengths[: _best(loss) + 1])[:, -1]
    order = np.argsort(-beta, kind="stable")[: rows // 2]
    kept: NDArray[np.int64] = np.sort(screened[order[beta[order] > 0]])
    return kept


def _best(loss: Floats) -> int:
    """Return the strongest strength whose loss is within one standard error of the least one (Breiman et al. 1984).

    The least loss itself keeps many candidates whose coefficients are noise; least squares would then overstate them.
    """
    mean = loss.mean(axis=0)
    least = int(np.argmin(mean))
    error = float(np.std(loss[:, least], ddof=1)) / np.sqrt(len(loss))
    return int(np.flatnonzero(mean <= mean[least] + error)[0])


def _screened(design: Any, target: Floats, weight: Floats, even: float) -> NDArray[np.int64]:
    """Return the candidates whose bits are set most often above chance, in standard errors: at most ``SCREENED``."""
    count = design.shape[1]
    if count <= SCREENED:
        return np.arange(count)
    precision = weight**2
    score = (design.T @ (precision * (target - even))) / np.sqrt(design.T @ precision)
    return np.sort(np.argpartition(-score, SCREENED)[:SCREENED])


def _path(inside: Floats, observed: Floats, gram: Floats, pull: Floats, strengths: Floats) -> Floats:
    """Return (candidates, strengths) coefficients, each column started from the one before."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lasso_path

    with warnings.catch_warnings():
        # A path that has not converged to the last digit still orders the candidates, which is all it is for.
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, path, _ = lasso_path(
            inside, observed, alphas=strengths, precompute=gram, Xy=pull, positive=True, max_iter=1_000, tol=1e-3
        )
    return np.asarray(path, dtype=np.float64)
