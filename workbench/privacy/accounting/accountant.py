"""ε of Poisson-subsampled Gaussian sums, by each accountant of a list; and its inverses (noise, steps).

Every figure here is an upper bound of the exact ε, also in floating point: possible rounding errors are
added, and discretisation is pessimistic. ``dp_accounting`` does the arithmetic and is imported when first needed,
because it takes two seconds.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import BudgetRefusedError, ParameterError
from workbench.params.amounts import left, paid
from workbench.params.field import named
from workbench.privacy.accounting.compose import last_that
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.signals.cancel import check_here

FEW = 10  # up to so many times the library composes as it likes: its power is a small number

MOST_CONVOLVED = 2**21  # longest transform: it and what is read from it take about a second

_TAIL = 1e-15  # the library's own truncation, counted as an infinite loss


def composed_with_itself(distribution: Any, times: int, most: int = MOST_CONVOLVED) -> Any | None:
    """Return ``distribution`` composed ``times`` times, as its own ``self_compose`` does.

    Args:
        distribution: a ``PrivacyLossDistribution`` of dp-accounting.
        times: at least 1.
        most: cells of the longest transform.

    Returns:
        The composition; ``None`` where it would take more cells.
    """
    if times <= FEW:
        return distribution.self_compose(times)
    from workbench.privacy.accounting.dp_library import privacy_loss_distribution as library

    parts = [distribution._pmf_remove] if distribution._symmetric else [distribution._pmf_remove, distribution._pmf_add]
    dense = [part.to_dense_pmf() for part in parts]
    if any(_cells(part._probs, times) > most for part in dense):
        return None
    return library.PrivacyLossDistribution(*(part.self_compose(times, _TAIL) for part in dense))


def _cells(chances: Any, times: int) -> int:
    from workbench.privacy.accounting.dp_library import common

    lower, upper = common.compute_self_convolve_bounds(chances, times, _TAIL)
    return max(int(upper) - int(lower) + 1, len(chances))


LEAST_NOISE, MOST_NOISE = 0.01, 1e6  # noise multipliers that the accountants accept

MOST_BANDS = 64  # steps of a run that may share noise

MOST_STEPS = 10**9  # steps of a run that the accountants accept

FINE, COARSE = 2**-13, 2**-11
"""Width of a cell of the privacy loss grid, relative to the RDP bound on ε: for figures, and for live curves.

At N = 60,000, batch 64, σ = 1, 15 epochs, ``FINE`` makes cells of 6.1e-5 and ε comes out 8e-5 above its limit.
"""

_MOST_PLD_EPSILON = 10_000.0  # above this ε the RDP bound is as good as any

MOST_CELLS = 2**17  # cells of the grid of one step's privacy loss

_LONGER = 16  # so many times the cells of one step the whole run may have

INTEGER_ORDERS = np.array([*range(2, 64), 128, 256, 512, 1024], dtype=np.float64)
"""Rényi orders at which a subsampled step has a closed form."""

_RDP_ROUNDING = 1e-14
"""Added to each step's Rényi divergence: above the error of its log-sum in double precision at every order."""

_FFT_ROUNDING = 1e-15
"""Subtracted from δ for each step: the Fourier transform of one step is raised to the number of steps."""


Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Loss:
    """An upper bound on ε at a given δ."""

    epsilon: float  # the bound
    order: float | None = None  # the Rényi order α that gave it; `None` for a privacy loss distribution
    discretisation: float | None = None  # width of a cell of that distribution's grid; `None` for RDP


@dataclass(frozen=True, slots=True)
class Grid:
    """How finely an accountant of privacy loss distributions cuts them."""

    resolution: float = FINE  # width of a cell relative to the RDP bound, `FINE` or `COARSE`
    cell: float | None = None  # that width itself, for runs that share the distribution of their step
    cells: int = MOST_CELLS  # most cells of one step's distribution; each takes about 15 µs


@dataclass(frozen=True, kw_only=True)
class Accountant:
    """A way to bound ε of a DP-SGD run from above."""

    name: str  # the word in plans, on cards and on the command line
    title: str  # its name in the literature
    short: str  # the same where there is little room
    bound: Callable[[PoissonGaussian, float, Grid], Loss]  # bounds ε of a checked run of at least one step at a δ
    quick: Callable[[PoissonGaussian, float], Loss]  # the same in a millisecond, at least as high
    at_once: str  # the name of an accountant that takes milliseconds and is never below this one; its own, if it is one
    # Ε at each Rényi order from (orders, divergence, δ); `None` where there are no orders.
    at_orders: Callable[[Doubles, Doubles, float], Doubles] | None = None
    curve_bytes: int = 1_000_000  # memory of the curve of ε beside a run


_MOST_EPSILON = 1e12  # what is not below it says nothing, and its powers leave the range of a double


def steps_of(rows: int, batch: int, epochs: int) -> int:
    """Return the number of steps, epochs·⌈rows/batch⌉."""
    return epochs * -(-rows // batch)


def event_of(
    rows: int, batch: int, epochs: int, noise_multiplier: float, label: str = "", bands: int = 1
) -> PoissonGaussian:
    """Return the event of a DP-SGD run: steps = epochs·⌈rows/batch⌉ at sample rate bands·batch/rows of a part.

    Raises:
        ParameterError: a number is not positive, or the batch is larger than the table, or than a part of it.
    """
    for name, value in (("rows", rows), ("batch", batch), ("epochs", epochs)):
        if isinstance(value, bool) or not 1 <= value <= 10**12:
            raise ParameterError(f"{name} = {value} is not a whole number of at least 1", hint=f"give {name} ≥ 1")
    if batch > rows:
        raise ParameterError(
            f"a batch of {batch:,} rows is larger than the table of {rows:,}", hint="use a smaller batch"
        )
    most = rows // batch
    if bands > most:
        raise ParameterError(
            f"{rows:,} rows cannot be divided into {bands} parts of at least {batch:,} rows each",
            hint=f"give bands of at most {most}, or a smaller batch",
            field="bands",
        )
    return PoissonGaussian(bands * batch / rows, noise_multiplier, steps_of(rows, batch, epochs), label, bands)


def loss(event: PoissonGaussian, delta: float, accountant: str = "pld", grid: Grid | None = None) -> Loss:
    """Return an upper bound on ε of ``event`` at ``delta``, zero-out neighbours.

    ``pld`` falls back to an improved RDP bound if that is lower (each step costs almost nothing) or if δ is
    close to rounding errors; both are valid.

    Args:
        event: the run; zero steps cost nothing.
        delta: δ in (0, 1).
        accountant: the name of one of :data:`ACCOUNTANTS`.
        grid: of its distributions; the finest if not given.

    Raises:
        ParameterError: an argument is out of range.
        CancelledError: the work is :func:`interruptible <workbench.signals.cancel.interruptible>`, and was cancelled.
    """
    chosen = accountant_named(accountant)
    _check(event, delta)
    check_here()
    if event.steps == 0:
        return Loss(0.0)
    return chosen.bound(replace(event.independent(), label=""), delta, grid or Grid())


def loss_of_rows(event: PoissonGaussian, delta: float, rows: int) -> float:
    """Return a bound on ε of ``event`` at ``delta`` for tables of which ``rows`` rows are emptied or filled, in turn.

    What is (ε₁, δ₁)-private for the first and (ε₂, δ₂)-private for the second is (ε₁+ε₂, δ₁+e^ε₁·δ₂)-private for both,
    and so on. Each summand of δ here is the same, and the ε of each row is the Rényi bound (Canonne, Kamath & Steinke
    2020, Proposition 12) at what is left for its δ. It may be infinite.
    """
    orders, divergence = renyi(event)
    spent = 0.0
    for _ in range(rows):
        log_delta = math.log(delta / rows) - spent
        bounds = divergence + np.log1p(-1 / orders) - (log_delta + np.log(orders)) / (orders - 1)
        spent += max(0.0, float(bounds.min()))
        if not spent < _MOST_EPSILON:
            return math.inf
    return spent


def noise_for(event: PoissonGaussian, delta: float, epsilon: float, accountant: str = "pld") -> float:
    """Return a noise multiplier with which ``event`` costs at most ``epsilon``, within 0.05 % of the least.

    The event's own multiplier is ignored. Found by bisection on the accountant's values; the end returned was checked.

    Raises:
        ParameterError: an argument is out of range, or no multiplier up to :data:`MOST_NOISE` suffices.
    """
    if not 0 < epsilon <= 1e6:
        raise ParameterError(f"epsilon = {epsilon} is not between 0 and 1e6", hint="give an ε such as 3")
    event = replace(event, noise_multiplier=MOST_NOISE, label="")
    accountant_named(accountant)
    _check(event, delta)
    return _noise_for(event.independent(), delta, epsilon, accountant)


@lru_cache(maxsize=64)
def _noise_for(event: PoissonGaussian, delta: float, epsilon: float, accountant: str) -> float:
    """Search for the noise once: a run asks for it when it is shown, before it is charged and at its start."""
    chosen = accountant_named(accountant)

    def holds(sigma: float, resolution: float = FINE) -> bool:
        return loss(replace(event, noise_multiplier=sigma), delta, accountant, Grid(resolution)).epsilon <= epsilon

    def quickly(sigma: float) -> bool:
        return chosen.quick(replace(event, noise_multiplier=sigma), delta).epsilon <= epsilon

    def nearly(sigma: float) -> bool:
        return holds(sigma, COARSE)

    slow = chosen.at_once != chosen.name
    if not (quickly if slow else holds)(MOST_NOISE):
        raise ParameterError(
            f"no noise reaches epsilon = {epsilon:g} at delta = {delta:g} in {event.steps} steps",
            hint="use a larger ε or δ, or fewer epochs",
        )
    if not slow:
        return _least(holds, LEAST_NOISE, MOST_NOISE, 1 + 5e-4)
    # From milliseconds to a second: integer orders of RDP, a coarse grid, a fine one.
    sigma = _least(quickly, LEAST_NOISE, MOST_NOISE, 1.02)
    sigma = _least(nearly, *_around(nearly, sigma, 1.25), 1.002)
    return _least(holds, *_around(holds, sigma, 1.002), 1 + 5e-4)


def most_steps(event: PoissonGaussian, delta: float, cap: float, accountant: str = "pld") -> int:
    """Return the largest number of steps up to ``event.steps`` whose ε is at most ``cap``; 0 if the first is above.

    Raises:
        ParameterError: an argument is out of range.
    """
    if not 0 <= cap < math.inf:
        raise ParameterError(f"cap = {cap} is not a number of at least 0", hint="give a cap such as 3")

    def holds(steps: int) -> bool:
        return loss(replace(event, steps=steps), delta, accountant).epsilon <= cap

    return event.steps if holds(event.steps) else last_that(holds, 0, event.steps)


def within(event: PoissonGaussian, delta: float, cap: float, accountant: str = "pld") -> PoissonGaussian:
    """Return ``event`` cut to the steps that a cap allows.

    Raises:
        BudgetRefusedError: not one step fits.
    """
    steps = most_steps(event, delta, cap, accountant)
    if steps == 0:
        first = loss(replace(event, steps=1), delta, accountant).epsilon
        raise BudgetRefusedError(
            f"the first step alone costs epsilon = {paid(first)}, above the cap of {left(cap)}",
            hint="use more noise or raise the cap",
        )
    return replace(event, steps=steps)


def renyi(event: PoissonGaussian) -> tuple[Doubles, Doubles]:
    """Return (orders α, Rényi divergence of all steps at each), Mironov, Talwar & Zhang 2019, Section 3.3.

    Orders are dp-accounting's defaults; an order whose series does not converge has divergence ∞.
    """
    event = event.independent()
    orders, one = renyi_of_one(event.sample_rate, event.noise_multiplier)
    return orders, event.steps * one


def _check(event: PoissonGaussian, delta: float) -> None:
    if not 0 < event.sample_rate <= 1:
        raise ParameterError(f"sample rate = {event.sample_rate} is not above 0 and at most 1")
    if not LEAST_NOISE <= event.noise_multiplier <= MOST_NOISE:
        raise ParameterError(
            f"noise multiplier = {event.noise_multiplier} is not between {LEAST_NOISE:g} and {MOST_NOISE:g}",
            hint="give a σ such as 1",
        )
    if isinstance(event.steps, bool) or not 0 <= event.steps <= MOST_STEPS:
        raise ParameterError(f"{event.steps} steps is not a whole number up to 1e9", hint="use fewer epochs")
    if isinstance(event.bands, bool) or not 1 <= event.bands <= MOST_STEPS:
        raise ParameterError(f"bands = {event.bands} is not a whole number of at least 1", hint="give 1")
    if not 0 < delta < 1:
        raise ParameterError(f"delta = {delta} is not between 0 and 1", hint="give a δ such as 1e-5")


def _around(holds: Callable[[float], bool], start: float, ratio: float) -> tuple[float, float]:
    """Return (low, high) of the given ``ratio``: ``holds`` at ``high``, and not at ``low`` unless that is the least."""
    low = high = start
    while not holds(high):
        low, high = high, high * ratio
    while low == high or (low > LEAST_NOISE and holds(low)):
        low, high = max(LEAST_NOISE, low / ratio), low
    return low, high


def _least(holds: Callable[[float], bool], low: float, high: float, ratio: float) -> float:
    """Return a number for which ``holds`` is true, within ``ratio`` of the least, by bisection on the logarithm."""
    while high > ratio * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _quiet(record: logging.LogRecord) -> bool:
    """Silence the library's warning about an order that it leaves out: leaving one out can only raise the bound."""
    return not str(record.msg).startswith("_compute_log_a_frac failed")


@lru_cache(maxsize=64)
def renyi_of_one(rate: float, sigma: float) -> tuple[Doubles, Doubles]:
    """Return (the library's orders, the Rényi divergence of one step at each), never below it."""
    from workbench.privacy.accounting.dp_library import dp_accounting, rdp

    logging.getLogger("absl").addFilter(_quiet)  # adding the same filter again does nothing
    accountant = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_SPECIAL)
    accountant.compose(dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma)))
    orders = np.asarray(accountant.orders, dtype=np.float64)
    return orders, np.maximum(accountant.rdp, 0.0) + _RDP_ROUNDING


def classic_at(orders: Doubles, divergence: Doubles, delta: float) -> Doubles:
    """Return ε_rdp(α) + ln(1/δ)/(α−1) at each order (Mironov 2017, Proposition 3)."""
    return divergence + math.log(1 / delta) / (orders - 1)


def converted(orders: Doubles, divergence: Doubles, delta: float) -> Doubles:
    """Return ε at each order: divergence + ln(1/δ)/(α−1) + ln(1 − 1/α) − ln(α)/(α−1) (Canonne et al. 2020)."""
    return divergence + np.log1p(-1 / orders) - math.log(delta) / (orders - 1) - np.log(orders) / (orders - 1)


def improved_at(orders: Doubles, divergence: Doubles, delta: float) -> Doubles:
    """Return ε at each order by Canonne, Kamath & Steinke 2020, Proposition 12."""
    return np.maximum(converted(orders, divergence, delta), 0.0)


def _classic(orders: Doubles, divergence: Doubles, delta: float) -> Loss:
    epsilons = classic_at(orders, divergence, delta)
    best = int(np.argmin(epsilons))
    return Loss(float(epsilons[best]), float(orders[best]))


def _improved(orders: Doubles, divergence: Doubles, delta: float) -> Loss:
    """Return the RDP bound by Canonne, Kamath & Steinke 2020, Proposition 12."""
    from workbench.privacy.accounting.dp_library import rdp

    epsilon, order = rdp.compute_epsilon(orders, divergence, delta)
    return Loss(float(epsilon), float(order))


def quick_loss(event: PoissonGaussian, delta: float) -> Loss:
    """Return the RDP bound over integer orders alone, which have a closed form."""
    return _improved(*renyi_of_run(event), delta)


def renyi_of_run(event: PoissonGaussian) -> tuple[Doubles, Doubles]:
    """Return (integer orders α, Rényi divergence of all steps at each), in a millisecond."""
    event = event.independent()
    return INTEGER_ORDERS, event.steps * renyi_of_integers(event.sample_rate, event.noise_multiplier)


@lru_cache(maxsize=64)
def renyi_of_integers(rate: float, sigma: float) -> Doubles:
    """Return ln(Σₖ C(α,k)·(1−q)^(α−k)·q^k·e^((k²−k)/2σ²))/(α−1) at each integer order (Mironov et al. 2019, eq. 3)."""
    from scipy.special import gammaln, logsumexp, xlog1py

    alpha, k = INTEGER_ORDERS[:, None], np.arange(INTEGER_ORDERS[-1] + 1)
    rest = np.maximum(alpha - k, 0.0)
    log_binomial = gammaln(alpha + 1) - gammaln(k + 1) - gammaln(rest + 1)
    with np.errstate(divide="ignore"):  # q = 1 leaves the last term alone: ln 0 = −∞ drops the others
        terms = log_binomial + xlog1py(rest, -rate) + k * math.log(rate) + (k * k - k) / (2 * sigma**2)
    moments: Doubles = logsumexp(np.where(k <= alpha, terms, -np.inf), axis=1)
    return np.maximum(moments / (INTEGER_ORDERS - 1), 0.0) + _RDP_ROUNDING


@lru_cache(maxsize=256)
def _pld(event: PoissonGaussian, delta: float, grid: Grid) -> Loss:
    """Return the PLD bound (Doroshenko et al. 2022), or an RDP bound.

    The latter where it is less, δ is too near rounding, or the grid would have too many cells.

    The grid grows with the loss, so that time and memory stay the same from ε = 0.001 to 10,000.
    """
    rounding = max(1e-12, _FFT_ROUNDING * event.steps)
    bound = quick_loss(event, delta)
    if not 0 < bound.epsilon <= _MOST_PLD_EPSILON or delta < 10 * rounding:
        return _improved(*renyi(event), delta)
    cell, cells = grid.cell, grid.cells
    if cell is not None:
        epsilon = _composed(event, cell, delta - rounding, cells)
        return Loss(epsilon, discretisation=cell) if epsilon <= bound.epsilon else bound
    # One step's loss reaches about ln(1 + q·(e^r − 1)), r = 1/(2σ²) + 10/σ: it has to fit on the grid as well.
    reach = 0.5 / event.noise_multiplier**2 + 10 / event.noise_multiplier
    least_cell = max(0.0, math.log(event.sample_rate) + reach, event.sample_rate * reach) / cells
    best, epsilon = bound, bound.epsilon
    for _ in range(3):
        aimed = epsilon
        # A power of two, so that runs of similar length share the distribution of their step.
        cell = 2.0 ** math.floor(math.log2(max(grid.resolution * aimed, least_cell)))
        epsilon = _composed(event, cell, delta - rounding, cells)
        if epsilon <= best.epsilon:
            best = Loss(epsilon, discretisation=cell)
        if cell <= least_cell or not 0 < epsilon < aimed / 4:
            break  # otherwise RDP was far above the true ε, and the grid too coarse
    return best


def _composed(event: PoissonGaussian, cell: float, delta: float, cells: int) -> float:
    one = pld_of_one(event.sample_rate, event.noise_multiplier, cell)
    check_here()
    composed = composed_with_itself(one, event.steps, _LONGER * cells)
    check_here()
    if composed is None:
        return math.inf
    with np.errstate(over="ignore"):  # a quotient that overflows is an ε of infinity, and not used
        return float(composed.get_epsilon_for_delta(delta))


@lru_cache(maxsize=8)
def pld_of_one(rate: float, sigma: float, cell: float) -> Any:
    """Return the privacy loss distribution of one step, on the grid of ``cell``."""
    from workbench.privacy.accounting.dp_library import dp_accounting, privacy_loss_distribution

    return privacy_loss_distribution.from_gaussian_mechanism(
        sigma,
        sampling_prob=rate,
        value_discretization_interval=cell,
        neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_SPECIAL,
    )


PLD = Accountant(
    name="pld",
    title="privacy loss distributions (Doroshenko et al. 2022)",
    short="PLD (tightest)",
    bound=_pld,
    quick=quick_loss,
    at_once="rdp",
    curve_bytes=9_000_000,  # their grids
)
RDP = Accountant(
    name="rdp",
    title="Rényi, improved conversion (Canonne, Kamath & Steinke 2020)",
    short="Rényi, improved",
    bound=lambda event, delta, grid: _improved(*renyi(event), delta),
    quick=quick_loss,
    at_once="rdp",
    at_orders=improved_at,
)
RDP_CLASSIC = Accountant(
    name="rdp-classic",
    title="Rényi, published conversion (Mironov 2017)",
    short="Rényi, published",
    bound=lambda event, delta, grid: _classic(*renyi(event), delta),
    quick=lambda event, delta: _classic(*renyi_of_run(event), delta),
    at_once="rdp-classic",
    at_orders=classic_at,
)

ACCOUNTANTS: tuple[Accountant, ...] = (PLD, RDP, RDP_CLASSIC)
"""Those of training runs, the tightest first; of mixed releases: :mod:`workbench.privacy.accounting.totals`."""


def accountant_names() -> tuple[str, ...]:
    """Return the names of :data:`ACCOUNTANTS`."""
    return tuple(accountant.name for accountant in ACCOUNTANTS)


def accountant_titles() -> dict[str, str]:
    """Return the titles of :data:`ACCOUNTANTS` by name."""
    return {accountant.name: accountant.title for accountant in ACCOUNTANTS}


def accountant_named(name: str) -> Accountant:
    """Return the accountant called ``name``.

    Raises:
        ParameterError: there is none.
    """
    return named(ACCOUNTANTS, name, "accountant")
