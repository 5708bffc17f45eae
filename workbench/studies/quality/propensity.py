"""How well a model separates released rows from original ones: pMSE and its ratio.

J. Snoke, G. Raab, B. Nowok, C. Dibben, A. Slavkovic: "General and specific utility measures for synthetic data",
J. R. Stat. Soc. A 181 (2018) 663–688. N₁ original and N₂ released rows are stacked, and a logistic regression with k
parameters predicts which is which. With c = N₂/N, pMSE = Σ (p̂ᵢ − c)²/N is 0 where it cannot and c(1 − c) where it
always can. Rows that were drawn from the right model of the original have the expected value (k − 1)(1 − c)²c/N; the
ratio is pMSE over that. Other rows of the same population differ from the original by chance, too, and reach a ratio of
1/(1 − c): 2 for as many rows.

The model has every column, and every product of two where there are not too many; numbers are standardised, names are
indicators of the commonest values, and so is a missing number.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import NEVER, CancelToken
from workbench.studies.association import Variable
from workbench.studies.quality.score import Found, Score
from workbench.studies.quality.tables import Compared, Rows

MOST_ROWS = 20_000
MOST_PARAMETERS = 200
ROWS_A_PARAMETER = 20
MOST_NAMES = 12
_STEPS = 30
_FLAT = 1e-9  # of the largest eigenvalue: directions below it do not vary

_RIDGE = 1e-8  # holds coefficients finite where the rows can be distinguished for sure

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Separation:
    """How well rows were distinguished."""

    pmse: float  # the mean square of p̂ − c
    expected: float  # its expected value for rows drawn from the right model
    most: float  # its value where every row is recognised for sure
    parameters: int
    products: bool

    @property
    def ratio(self) -> float:
        """PMSE over its expected value."""
        return self.pmse / self.expected if self.expected else math.nan


def separated(one: Rows, other: Rows, cancel: CancelToken = NEVER) -> Separation:
    """Fit the model to two tables."""
    one, other = _spaced(one), _spaced(other)
    blocks = [_block(a, b) for a, b in zip(one.columns, other.columns, strict=True)]
    rows, c = one.count + other.count, other.count / (one.count + other.count)
    width = sum(block.shape[1] for block in blocks)
    joint = sum(a.shape[1] * b.shape[1] for a, b in itertools.combinations(blocks, 2))
    products = 1 + width + joint <= min(MOST_PARAMETERS, rows // ROWS_A_PARAMETER)
    if products:
        pairs = list(itertools.combinations(blocks, 2))
        blocks += [(a[:, :, None] * b[:, None, :]).reshape(rows, -1) for a, b in pairs]
    design = _independent(np.column_stack([np.ones(rows), *blocks]))
    released = np.arange(rows) >= one.count
    p = _fitted(design, released, cancel)
    k = design.shape[1]
    return Separation(
        pmse=float(np.mean((p - c) ** 2)),
        expected=(k - 1) * (1 - c) ** 2 * c / rows,
        most=c * (1 - c),
        parameters=k,
        products=products,
    )


def _spaced(rows: Rows) -> Rows:
    if rows.count <= MOST_ROWS:
        return rows
    return rows.only(np.linspace(0, rows.count - 1, MOST_ROWS).round().astype(np.int64))


def _block(one: Variable, other: Variable) -> Matrix:
    """Return a column of both tables, stacked, as columns of the model; none where it does not vary."""
    values = np.concatenate([one.values, other.values])
    if one.numeric:
        missing = np.isnan(values)
        present = values[~missing]
        if not len(present):
            return np.zeros((len(values), 0))
        spread = float(present.std()) or 1.0
        z = np.where(missing, 0.0, (values - present.mean()) / spread)
        return np.column_stack([z, missing.astype(np.float64)]) if missing.any() else z[:, None]
    seen, counts = np.unique(values, return_counts=True)
    common = seen[np.argsort(-counts, kind="stable")[:MOST_NAMES]]
    kept = common if len(common) < len(seen) else common[1:]  # what is left is covered by the constant
    flags: Matrix = (values[:, None] == kept[None, :]).astype(np.float64)
    return flags


def _independent(design: Matrix) -> Matrix:
    """Return an orthogonal basis of the columns of a design: a model of them has as many parameters."""
    lengths = np.sqrt((design**2).mean(axis=0))
    scaled = design[:, lengths > 0] / lengths[lengths > 0]
    sizes, directions = np.linalg.eigh(scaled.T @ scaled / len(design))
    kept = sizes > _FLAT * sizes[-1]
    basis: Matrix = scaled @ (directions[:, kept] / np.sqrt(sizes[kept]))
    return basis


def _fitted(design: Matrix, released: NDArray[np.bool_], cancel: CancelToken) -> Matrix:
    """Return the fitted probabilities of a logistic regression by Newton's method, halved where a step overshoots."""
    n, k = design.shape
    weights, ridge = np.zeros(k), _RIDGE * n

    def loss(b: Matrix) -> float:
        eta = design @ b
        return float(np.logaddexp(0, eta).sum() - eta[released].sum() + ridge * (b @ b) / 2)

    now = loss(weights)
    for _ in range(_STEPS):
        cancel.check()
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -40, 40)))
        slope = design.T @ (p - released) + ridge * weights
        curve = (design * (p * (1 - p))[:, None]).T @ design + ridge * np.eye(k)
        step = np.linalg.solve(curve, slope)
        size, then = 1.0, loss(weights - step)
        while then > now and size > 1e-6:
            size /= 2
            then = loss(weights - size * step)
        weights = weights - size * step
        done, now = now - then < 1e-9 * n, then
        if done:
            break
    return 1 / (1 + np.exp(-np.clip(design @ weights, -40, 40)))


def _found(compared: Compared, cancel: CancelToken) -> Found:
    found: list[Separation] = []

    def score(one: Rows, other: Rows) -> float:
        found.append(separated(one, other, cancel))
        return 1 - found[-1].pmse / found[-1].most

    value, like, reached = compared.each(score)
    facts = {
        "pmse": found[0].pmse,
        "ratio": found[0].ratio,
        "ratio_held_out": found[2].ratio,
        "parameters": float(found[0].parameters),
    }
    return Found(value, like, reached, facts=facts)


SCORE = Score(
    name="pmse",
    title="Hard to distinguish",
    help="1 where a model cannot distinguish released rows from original ones, 0 where it always can (pMSE, Snoke "
    "et al. 2018)",
    found=_found,
)
