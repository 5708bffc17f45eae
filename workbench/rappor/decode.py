"""RAPPOR decoding: corrected counts, LASSO to select candidates, then least squares.

Erlingsson, Pihur & Korolova 2014, sec. 4. The counts are first made unbiased estimates of the bits that the true
values set: t = (c − p*·N)/(q* − p*). A candidate of frequency β adds β to its bits of every cohort. What no candidate
explains is taken to set bits evenly, each with probability r = 1 − (1 − 1/k)^h, so that the model for the bits' shares
is y − r = Σ β·(x − r): the frequencies need not sum to 1, and one minus their sum is the unexplained share.

The LASSO (positive, its strength chosen by cross-validation over parts of the bits) only selects. Weighted least
squares on the selected candidates give estimates and standard errors; the weights are the binomial variances of the
counts, which are known, and where the residuals are larger than these explain, standard errors grow by as much. Then
each candidate that was left out is tested by itself beside the selected ones, and taken in if it passes Bonferroni's
correction. p-values are one-sided, as no frequency is negative, and corrected over all candidates of the map, not over
the selected ones alone.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import InputError, ParameterError, Parameters, choice, real
from workbench.params.codec import csv_bytes
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.candidates import CandidateMap
from workbench.rappor.files import Counts
from workbench.signals import Progress
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore

Floats = NDArray[np.float64]

SCREENED = 2_000
"""Most candidates that the LASSO is given: of more, those whose own bits are farthest above what is even."""

_FOLDS, _STRENGTHS, _LEAST_STRENGTH = 5, 40, 1e-3
_SEED = 20_140_903  # of the folds alone: which bits are held out together. They are the same for the same counts.


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


ALPHA = 0.05
_CONFIDENCE_Z = 1.959963984540054
_ROUNDS, _TAKEN_IN = 5, 50
_AT_ONCE = 4096
_RANK = 1e-9


@dataclass(frozen=True, eq=False)
class Decoded:
    """What was found, for every candidate of the map."""

    strings: tuple[str, ...]
    estimate: Floats  # (n,) frequencies as parts of 1; unbiased, so that they may be negative
    std_error: Floats  # (n,) their standard errors
    p_value: Floats  # (n,) of the hypothesis that the string never occurs
    # (n,) whether the string is in the final least squares; the others were tested one at a time.
    fitted: NDArray[np.bool_]
    bonferroni: NDArray[np.bool_]  # (n,) significant where one false discovery among all candidates has a chance of α
    # (n,) significant where a share α of the discoveries is expected to be false (Benjamini & Hochberg 1995).
    fdr: NDArray[np.bool_]
    # Share of the reports whose strings are no candidates, from least squares on all candidates; where there are too
    # many for that, whose strings are none of those that `fdr` finds.
    unexplained: float
    unexplained_error: float  # its standard error
    r_squared: float  # share of the variance of the corrected counts that the fit explains
    excess: float  # how many times larger residuals are than the counts' noise; 1 where they are not
    reports: int
    alpha: float  # of both corrections

    def significant(self, correction: str) -> NDArray[np.bool_]:
        """Return which candidates are significant under ``bonferroni`` or ``fdr``."""
        return self.bonferroni if correction == "bonferroni" else self.fdr

    def interval(self) -> tuple[Floats, Floats]:
        """Return the ends of the 95 % intervals, each for its own string, within [0, 1]."""
        half = _CONFIDENCE_Z * self.std_error
        return np.clip(self.estimate - half, 0, 1), np.clip(self.estimate + half, 0, 1)

    def order(self) -> NDArray[np.int64]:
        """Return the places of the fitted candidates, the most frequent first."""
        kept = np.flatnonzero(self.fitted)
        return kept[np.argsort(-self.estimate[kept], kind="stable")]


@dataclass(frozen=True, eq=False)
class _Model:
    """The regression of bits on candidates."""

    design: Any  # (rows, n) sparse, by columns
    target: Floats  # (rows,) estimated share of each bit
    weight: Floats  # (rows,) one over its standard deviation
    even: float  # r


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares on the candidates ``kept``."""

    kept: NDArray[np.int64]
    beta: Floats
    covariance: Floats
    basis: Floats
    residual: Floats
    excess: float
    freedom: int


def corrected(counts: Counts, parameters: RapporParameters) -> Floats:
    """Return (m, k) unbiased numbers of clients whose value sets each bit: (c − p*·N)/(q* − p*)."""
    spread = parameters.q_star - parameters.p_star
    found: Floats = (counts.ones - parameters.p_star * counts.reports[:, None]) / spread
    return found


def decode(
    counts: Counts,
    candidates: CandidateMap,
    alpha: float = ALPHA,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> Decoded:
    """Return the frequencies of ``candidates``, a map with the collection's parameters; α is that of both corrections.

    Raises:
        ParameterError: α is not between 0 and 1.
        InputError: the counts do not belong to the map's parameters, or two candidates set the same bits everywhere.
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha = {alpha} is not between 0 and 1", hint="use a level such as 0.05")
    parameters = candidates.parameters
    if counts.ones.shape != (parameters.m, parameters.k):
        raise InputError(f"the counts are of {counts.ones.shape[0]} cohorts and {counts.ones.shape[1]} bits")
    require_distinct(candidates)
    model = _model(counts, candidates)
    emit(Progress(0, 3, "choosing candidates"))
    kept = selected(model.design, model.target, model.weight, model.even, emit, cancel)
    emit(Progress(1, 3, "least squares"))
    fit = _least_squares(model, kept)
    estimate, error, tail = _all(model, fit, cancel)
    for _ in range(_ROUNDS):
        cancel.check()
        missed = np.setdiff1d(np.flatnonzero(tail * len(tail) < alpha), fit.kept)
        room = len(model.target) // 2 - len(fit.kept)
        if not missed.size or room < 1:
            break
        first = missed[np.argsort(tail[missed], kind="stable")][: min(_TAKEN_IN, room)]
        fit = _least_squares(model, np.union1d(fit.kept, first))
        estimate, error, tail = _all(model, fit, cancel)
    emit(Progress(3, 3, "reports decoded"))
    fitted = np.zeros(len(tail), dtype=bool)
    fitted[fit.kept] = True
    fdr = _benjamini_hochberg(tail, alpha)
    whole = _least_squares(model, _explaining(model, fdr))
    weighted = model.weight * (model.target - np.average(model.target, weights=model.weight**2))
    return Decoded(
        strings=candidates.strings,
        estimate=estimate,
        std_error=error,
        p_value=tail,
        fitted=fitted,
        bonferroni=tail * len(tail) < alpha,
        fdr=fdr,
        unexplained=float(1 - whole.beta.sum()),
        unexplained_error=float(np.sqrt(max(whole.covariance.sum(), 0.0))),
        r_squared=float(1 - np.sum(fit.residual**2) / max(float(np.sum(weighted**2)), 1e-300)),
        excess=fit.excess,
        reports=counts.total,
        alpha=alpha,
    )


def require_distinct(candidates: CandidateMap) -> None:
    """Refuse candidates that no report could distinguish.

    Raises:
        InputError: two of them set the same bits in every cohort.
    """
    _, first, which = np.unique(candidates.bits, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(candidates.strings):
        return
    which = np.asarray(which).reshape(-1)
    twin = int(np.flatnonzero(first[which] != np.arange(len(which)))[0])
    one, other = candidates.strings[int(first[which[twin]])], candidates.strings[twin]
    what = f"the candidates {one[:40]!r} and {other[:40]!r} set the same bits in every cohort"
    raise InputError(what, hint="leave one of them out, or collect with more bits or cohorts")


def even_share(parameters: RapporParameters) -> float:
    """Return r, the chance that a string without a candidate sets a given bit; 0 where every value has its own bit."""
    if parameters.m == 1 and parameters.h == 1:
        return 0.0
    return float(1 - (1 - 1 / parameters.k) ** parameters.h)


def _model(counts: Counts, candidates: CandidateMap) -> _Model:
    parameters = candidates.parameters
    there = counts.reports > 0
    rows = np.repeat(there, parameters.k)
    n = np.repeat(counts.reports, parameters.k)[rows].astype(np.float64)
    ones = counts.ones.reshape(-1)[rows]
    share = (ones + 0.5) / (n + 1)  # never 0 or 1: a weight stays finite
    spread = abs(parameters.q_star - parameters.p_star)
    deviation = np.sqrt(share * (1 - share) / n) / spread
    target = corrected(counts, parameters).reshape(-1)[rows] / n
    design = candidates.design()
    if not rows.all():
        design = design[np.flatnonzero(rows), :].tocsc()
    return _Model(design, target, 1 / deviation, even_share(parameters))


def _least_squares(model: _Model, kept: NDArray[np.int64]) -> _Fit:
    """Return weighted least squares on ``kept``, without those that others already make up."""
    from scipy.linalg import qr, solve_triangular

    rows = len(model.target)
    observed = model.weight * (model.target - model.even)
    dense = (model.design[:, kept].toarray() - model.even) * model.weight[:, None]
    basis, upper = np.linalg.qr(dense)
    order, size = np.arange(kept.size), np.abs(np.diag(upper))
    if kept.size > rows or (size.size and size.min() <= _RANK * size.max()):
        basis, upper, order = qr(dense, mode="economic", pivoting=True)
        size = np.abs(np.diag(upper))
    rank = int(np.sum(size > _RANK * size.max(initial=0.0)))
    basis, upper, kept = basis[:, :rank], upper[:rank, :rank], kept[order[:rank]]
    beta = solve_triangular(upper, basis.T @ observed)
    inverse = solve_triangular(upper, np.eye(rank))
    residual = observed - basis @ (basis.T @ observed)
    freedom = rows - rank
    excess = max(1.0, float(np.sqrt(np.sum(residual**2) / freedom))) if freedom > 0 else 1.0
    return _Fit(kept, beta, inverse @ inverse.T * excess**2, basis, residual, excess, freedom)


def _explaining(model: _Model, found: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the candidates whose sum is the explained share.

    What was selected because its noise was positive would make the sum too large: so all of them, if bits suffice.
    """
    rows, count = model.design.shape
    return np.arange(count) if 3 * count <= rows or model.even == 0 else np.flatnonzero(found)


def _all(model: _Model, fit: _Fit, cancel: CancelToken) -> tuple[Floats, Floats, Floats]:
    """Return estimate, standard error and p-value of every candidate; those not in the fit one at a time beside it."""
    from scipy.stats import norm
    from scipy.stats import t as student

    count = model.design.shape[1]
    estimate, error = np.zeros(count), np.full(count, np.inf)
    w = model.weight
    pulled = (w * fit.residual).sum() * model.even
    across = (fit.basis * w[:, None]).T
    even_across = model.even * across.sum(axis=1)
    squared = w**2
    even_squared = model.even**2 * squared.sum()
    for start in range(0, count, _AT_ONCE):
        cancel.check()
        part = model.design[:, start : start + _AT_ONCE]
        gradient = part.T @ (w * fit.residual) - pulled
        own = (1 - 2 * model.even) * (part.T @ squared) + even_squared
        shared = (part.T @ across.T).T - even_across[:, None]
        left = own - np.sum(shared**2, axis=0)
        free = left > _RANK * own
        stop = start + len(gradient)
        estimate[start:stop][free] = gradient[free] / left[free]
        error[start:stop][free] = fit.excess / np.sqrt(left[free])
    estimate[fit.kept] = fit.beta
    error[fit.kept] = np.sqrt(np.diag(fit.covariance))
    score = estimate / error
    # Where the excess over the known noise was estimated, Student's distribution allows for that.
    tail = student.sf(score, fit.freedom) if fit.excess > 1 and fit.freedom > 0 else norm.sf(score)
    return estimate, error, np.asarray(tail, dtype=np.float64)


def _benjamini_hochberg(p_values: Floats, alpha: float) -> NDArray[np.bool_]:
    count = len(p_values)
    order = np.sort(p_values)
    passed = np.flatnonzero(order <= alpha * np.arange(1, count + 1) / count)
    found: NDArray[np.bool_] = p_values <= order[passed[-1]] if passed.size else np.zeros(count, dtype=bool)
    return found


HEADER = ("string", "estimate", "std_error", "p_value", "significant")


@dataclass(frozen=True, kw_only=True)
class Judged(Parameters):
    """What counts as found."""

    correction: str = choice(
        choices=("bonferroni", "fdr"),
        titles={"bonferroni": "Bonferroni", "fdr": "Benjamini and Hochberg"},
        default="bonferroni",
        symbol="NAME",
        help="bonferroni, or fdr (Benjamini and Hochberg)",
    )
    alpha: float = real(
        default=ALPHA,
        above=0,
        below=1,
        symbol="α",
        help="significance level: probability of any false discovery, or expected share of them (fdr)",
    )


def result_bytes(decoded: Decoded, correction: str) -> bytes:
    """Return the results as CSV; ``significant`` is ``true`` or ``false`` under ``correction``."""
    significant = decoded.significant(correction)
    rows = (
        (
            decoded.strings[at],
            f"{decoded.estimate[at]:.10g}",
            f"{decoded.std_error[at]:.6g}",
            f"{decoded.p_value[at]:.6g}",
            "true" if significant[at] else "false",
        )
        for at in decoded.order().tolist()
    )
    return csv_bytes([HEADER, *rows])


def summary(decoded: Decoded, correction: str) -> dict[str, Any]:
    """Return what was found as JSON holds it."""
    significant = decoded.significant(correction)
    low, high = decoded.interval()
    kept = decoded.order()
    return {
        "reports": decoded.reports,
        "candidates": len(decoded.strings),
        "correction": correction,
        "alpha": decoded.alpha,
        "detected": int(significant.sum()),
        "strings": [
            {
                "string": decoded.strings[at],
                "estimate": float(decoded.estimate[at]),
                "low": float(low[at]),
                "high": float(high[at]),
                "std_error": float(decoded.std_error[at]),
                "p_value": float(decoded.p_value[at]),
            }
            for at in kept.tolist()
            if significant[at]
        ],
        "explained": float(decoded.estimate[kept].sum()),
        "unexplained": decoded.unexplained,
        "unexplained_std_error": decoded.unexplained_error,
        "r_squared": decoded.r_squared,
    }


_POWER = 0.8  # chance of finding a string of the smallest detectable frequency


def standard_error(parameters: RapporParameters, reports: int) -> float:
    """Return the standard error of the frequency of one rare string, from ``reports`` reports of as many clients.

    A string has h bits in each of m cohorts of N/m reports. Each corrected bit has the variance
    π(1 − π)·m/(N·(q* − p*)²), with π the share of reports that have it, so that their mean over m·h bits has
    π(1 − π)/(N·h·(q* − p*)²). Other strings beside it make it larger, as least squares distinguishes them.
    """
    if not reports >= 1:
        raise ParameterError("there are no reports", hint="give at least 1")
    spread = parameters.q_star - parameters.p_star
    share = parameters.p_star + spread * even_share(parameters)
    return math.sqrt(share * (1 - share) / (reports * parameters.h)) / abs(spread)


def smallest_detectable(parameters: RapporParameters, reports: int, candidates: int) -> float:
    """Return the frequency at which a string is found four times of five by Bonferroni's correction.

    It is a frequency above 1 where nothing can be found. Each client gives one report, and at least 1 candidate is
    tested.
    """
    normal = NormalDist()
    deviations = normal.inv_cdf(_POWER) - normal.inv_cdf(ALPHA / candidates)
    return deviations * standard_error(parameters, reports)
