"""Budget calculators, which read no data: each has its inputs as parameters and returns plain values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.params import ParameterError, Parameters, choice, integer, real, text
from workbench.params.codec import parse_json, parse_toml, read_text
from workbench.privacy.accounting.accountant import (
    LEAST_NOISE,
    MOST_BANDS,
    MOST_NOISE,
    accountant_named,
    accountant_names,
    event_of,
    loss,
    noise_for,
)
from workbench.privacy.accounting.closed_form_costs import (
    MOST_REPORTS,
    laplace,
    randomised_response,
    shuffled,
    staircase,
)
from workbench.privacy.accounting.compose import last_that
from workbench.privacy.accounting.event import RELATION, PoissonGaussian, exact, group, replace_one
from workbench.privacy.accounting.event_text import events_of
from workbench.privacy.accounting.gaussian import analytic_sigma, classic_sigma, gaussian_delta
from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior
from workbench.privacy.accounting.run_curves import TrainingRun
from workbench.privacy.accounting.totals import compose_totals

MOST_EPOCHS = 10**6
CLOSE = 0.005  # epochs and batch are found to this part of themselves


@dataclass(frozen=True, slots=True)
class Run:
    """The four figures of one DP-SGD run; ``epsilon`` is an upper bound on what the other three cost."""

    epsilon: float
    sigma: float
    epochs: int
    batch: int


def solve(
    *,
    rows: int,
    delta: float,
    epsilon: float | None = None,
    sigma: float | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    accountant: str = "pld",
    bands: int = 1,
) -> Run:
    """Return the run in which the one figure that is ``None`` is found: the least ε or σ, the most epochs or rows.

    σ is within 0.05 % of the least. Epochs and batch are found by bisection to 0.5 %, and what is returned was checked:
    as the number of steps is rounded up, ε does not rise with every single row of a batch.

    Raises:
        ParameterError: not exactly one is ``None``, a number is out of range, or nothing fits ε.
    """
    found: dict[str, Any] = {"epsilon": epsilon, "sigma": sigma, "epochs": epochs, "batch": batch}
    missing = [name for name, value in found.items() if value is None]
    if len(missing) != 1:
        raise ParameterError(
            f"{len(missing)} of epsilon, sigma, epochs and batch are not given",
            hint="give three of them; the fourth is computed",
        )
    if epsilon is not None and not 0 < epsilon <= 1e6:
        raise ParameterError(f"epsilon = {epsilon} is not between 0 and 1e6", hint="give an ε such as 3")
    (wanted,) = missing

    def event() -> PoissonGaussian:
        return event_of(rows, found["batch"], found["epochs"], found["sigma"], bands=bands)

    def cost(number: int, by: str) -> float:
        found[wanted] = number
        return loss(event(), delta, by).epsilon

    if wanted == "sigma":
        found["sigma"] = 1.0
        found["sigma"] = noise_for(event(), delta, found["epsilon"], accountant)
    elif wanted != "epsilon":
        # Each of the parts that steps of one band are drawn from holds a batch.
        most, unit = (MOST_EPOCHS, "epoch") if wanted == "epochs" else (rows // bands, "row")
        found[wanted] = _most(cost, found["epsilon"], accountant, most, unit)
    return Run(**{**found, "epsilon": loss(event(), delta, accountant).epsilon})


def _most(costs: Callable[[int, str], float], epsilon: float, accountant: str, most: int, unit: str) -> int:
    """Return the largest number found, up to ``most``, whose cost is at most ε."""

    def holds(number: int, by: str = accountant) -> bool:
        return costs(number, by) <= epsilon

    low, high = 0, most + 1
    at_once = accountant_named(accountant).at_once
    if at_once != accountant and holds(1, at_once):
        low = last_that(lambda n: holds(n, at_once), 1, most + 1)
    elif not holds(1):
        raise ParameterError(f"even one {unit} costs more than this epsilon", hint="use more noise or a larger ε")
    low = step = max(low, 1)
    while low + step < high:
        if holds(low + step):
            low, step = low + step, 2 * step
        else:
            high = low + step
    return last_that(holds, low, high, CLOSE)


_LIKELY = 0.95
_ROWS = {"at_least": 1, "upto": 10**12, "help": "rows in the table (public)"}
_BATCH = {"at_least": 1, "upto": 10**12, "help": "expected rows per batch"}
_NOISE = {"at_least": LEAST_NOISE, "upto": MOST_NOISE, "symbol": "σ", "help": "noise σ divided by the clipping norm"}
_EPOCHS = {"at_least": 1, "upto": 10**9, "help": "expected passes over the table"}
_BANDS: dict[str, Any] = {
    "default": 1,
    "at_least": 1,
    "upto": MOST_BANDS,
    "help": "how many steps have correlated noise, which later steps partly cancel; helps small batches at larger ε",
}
_DELTA = {"below": 1, "symbol": "δ", "help": "chance that the guarantee fails"}
_EPSILON = {"upto": 1e6, "symbol": "ε"}
_OF_NOISE = {"at_least": 1e-6, "upto": 700, "symbol": "ε"}
_ACCOUNTANT: dict[str, Any] = {
    "choices": accountant_names,
    "default": "pld",
    "help": "pld, rdp, or the published rdp-classic",
}


@dataclass(frozen=True, kw_only=True)
class DpSgdBudget(Parameters):
    """A DP-SGD run as its accountant sees it."""

    rows: int = integer(**_ROWS)
    batch: int = integer(**_BATCH)
    noise: float = real(**_NOISE)
    epochs: int = integer(**_EPOCHS)
    delta: float = real(above=0, **_DELTA)
    bands: int = integer(**_BANDS)
    accountant: str = choice(**_ACCOUNTANT)

    def run(self) -> TrainingRun:
        """Return it as what its curves are drawn of."""
        return TrainingRun(self.rows, self.batch, self.noise, self.epochs, self.delta, self.bands)


@dataclass(frozen=True, kw_only=True)
class GaussianBudget(Parameters):
    """A Gaussian release of a vector."""

    epsilon: float = real(above=0, **_EPSILON, help="privacy loss")
    delta: float = real(above=0, **_DELTA)
    sensitivity: float = real(above=0, upto=1e9, symbol="Δ", help="L2 sensitivity of the whole vector")


@dataclass(frozen=True, kw_only=True)
class BeliefBudget(Parameters):
    """What someone believes before a release."""

    epsilon: float = real(at_least=0, **_EPSILON, help="privacy loss, as the certificate or ledger states it")
    prior: float = real(at_least=0, upto=1, symbol="p", help="prior probability, before the release")


@dataclass(frozen=True, kw_only=True)
class SolveBudget(Parameters):
    """A DP-SGD run of which one figure is open."""

    rows: int = integer(**_ROWS)
    delta: float = real(above=0, **_DELTA)
    epsilon: float | None = real(default=None, above=0, **_EPSILON, help="privacy loss of the run")
    noise: float | None = real(default=None, **_NOISE)
    epochs: int | None = integer(default=None, **_EPOCHS)
    batch: int | None = integer(default=None, **_BATCH)
    bands: int = integer(**_BANDS)
    accountant: str = choice(**_ACCOUNTANT)


@dataclass(frozen=True, kw_only=True)
class NoiseBudget(Parameters):
    """Noise that is added to one number."""

    epsilon: float = real(**_OF_NOISE, help="privacy loss")
    sensitivity: float = real(above=0, upto=1e9, default=1.0, symbol="Δ", help="most that one row changes the number")


@dataclass(frozen=True, kw_only=True)
class ResponseBudget(Parameters):
    """Randomised response."""

    epsilon: float = real(**_OF_NOISE, help="privacy loss of one answer")
    values: int = integer(at_least=2, upto=10**9, default=2, help="how many answers there are")
    rows: int = integer(at_least=1, upto=10**12, default=1000, help="how many people answer")


@dataclass(frozen=True, kw_only=True)
class ShuffleBudget(Parameters):
    """Local reports that reach the analyst in random order, without names."""

    epsilon: float = real(at_least=1e-6, upto=700, symbol="ε₀", help="privacy loss of one local report")
    rows: int = integer(at_least=1, upto=MOST_REPORTS, help="how many reports are shuffled")
    delta: float = real(above=0, **_DELTA)


@dataclass(frozen=True, kw_only=True)
class GroupBudget(Parameters):
    """What a release guarantees to somebody with several rows."""

    epsilon: float = real(at_least=0, **_EPSILON, help="privacy loss of one row")
    delta: float = real(at_least=0, below=1, default=0.0, symbol="δ", help="chance that the guarantee of one row fails")
    rows: int = integer(at_least=1, upto=10**6, help="rows per person")


@dataclass(frozen=True, kw_only=True)
class ComposeBudget(Parameters):
    """A list of events in a file."""

    delta: str | None = text(default=None, symbol="δ", help="delta of the total (default: the one in the file, else 0)")


def dpsgd(asked: DpSgdBudget) -> dict[str, Any]:
    """Return what a run costs."""
    event = event_of(asked.rows, asked.batch, asked.epochs, asked.noise, bands=asked.bands)
    bound = loss(event, asked.delta, asked.accountant)
    return {
        "epsilon": bound.epsilon,
        "order": bound.order,
        "steps": event.steps,
        "sample_rate": event.sample_rate,
        "bands": event.bands,
        "delta": asked.delta,
        "noise_multiplier": asked.noise,
        "accountant": asked.accountant,
        "discretisation": bound.discretisation,
        **_neighbours(bound.epsilon, asked.delta),
    }


def _neighbours(epsilon: float, delta: float) -> dict[str, Any]:
    """Return the relation of a loss, and the loss under the other one."""
    other = replace_one(epsilon, delta)
    return {"relation": RELATION, "replace_one": {"epsilon": other[0], "delta": other[1]}}


def _gaussian(asked: GaussianBudget) -> dict[str, Any]:
    textbook = classic_sigma(asked.epsilon, asked.delta, asked.sensitivity)
    return {
        **asdict(asked),
        "sigma": analytic_sigma(asked.epsilon, asked.delta, asked.sensitivity),
        "textbook_sigma": textbook,
        "textbook_delta": gaussian_delta(asked.epsilon, textbook, asked.sensitivity),
    }


def _belief(asked: BeliefBudget) -> dict[str, Any]:
    found = {}
    for local in (True, False):
        belief = posterior(replace_one(asked.epsilon, 0.0, local=local)[0], asked.prior)
        found[local] = {"low": belief.low, "high": belief.high}
    return {**asdict(asked), **found[True], "replace_one": found[False], "note": DELTA_NOTE}


def _solved(asked: SolveBudget) -> dict[str, Any]:
    given = asdict(asked)
    found = solve(**{"sigma" if name == "noise" else name: value for name, value in given.items()})
    return {
        "solved": next(name for name in ("epsilon", "noise", "epochs", "batch") if given[name] is None),
        "epsilon": found.epsilon,
        "noise_multiplier": found.sigma,
        "epochs": found.epochs,
        "batch": found.batch,
        **{name: given[name] for name in ("rows", "delta", "bands", "accountant")},
        "relation": RELATION,
    }


def _laplace(asked: NoiseBudget) -> dict[str, Any]:
    scale = laplace(asked.epsilon, asked.sensitivity)
    return {
        **asdict(asked),
        "scale": scale,
        "expected_absolute_error": scale,
        "variance": 2 * scale * scale,
        "within_95": -scale * math.log1p(-_LIKELY),
    }


def _staircase(asked: NoiseBudget) -> dict[str, Any]:
    names = ("gamma_absolute", "expected_absolute_error", "gamma_variance", "variance")
    found, other = staircase(asked.epsilon, asked.sensitivity), _laplace(asked)
    return {
        **asdict(asked),
        **dict(zip(names, found, strict=True)),
        "laplace_absolute_error": other["expected_absolute_error"],
        "laplace_variance": other["variance"],
    }


def _response(asked: ResponseBudget) -> dict[str, Any]:
    truth, other, variance = randomised_response(asked.epsilon, asked.values)
    return {**asdict(asked), "truth": truth, "other": other, "share_sd": (variance / asked.rows) ** 0.5}


def _shuffle(asked: ShuffleBudget) -> dict[str, Any]:
    found = shuffled(asked.epsilon, asked.rows, asked.delta)
    return {
        "epsilon": found.epsilon,
        "epsilon_local": asked.epsilon,
        "delta": asked.delta,
        "rows": asked.rows,
        "exact": found.exact,
        "closed_form": found.closed,
        "relation": "replace-one",
        "trust": "someone other than the analyst shuffles the reports and removes every name",
    }


def _group(asked: GroupBudget) -> dict[str, Any]:
    epsilon, delta = group(asked.epsilon, asked.delta, asked.rows)
    if delta >= 1:
        raise ParameterError(
            f"the delta of {asked.rows:,} rows is 1 or more, which guarantees nothing",
            "--delta",
            "give a smaller delta, a smaller epsilon or fewer rows",
        )
    row = {"epsilon_row": asked.epsilon, "delta_row": asked.delta}
    return {"epsilon": epsilon, "delta": delta, "rows": asked.rows, **row, "relation": RELATION}


def composed(path: Path, given: str | None) -> dict[str, Any]:
    """Return the total of the events in a file, TOML or JSON, by every account.

    Raises:
        InputError: the file cannot be read.
        ParameterError: a key or a value is refused.
    """
    parse = parse_json if path.suffix.lower() == ".json" else parse_toml
    document = parse(read_text(path, "list of events"), "list of events", str(path))
    if not isinstance(document, dict):
        raise ParameterError("the file is not a table of keys", str(path), "begin with [[event]]")
    unknown = sorted(set(document) - {"delta", "event"})
    if unknown:
        raise ParameterError(f"{unknown[0]!r} is not a key of a list of events", str(path), "remove it")
    stated = given if given is not None else document.get("delta", 0)
    try:
        number = Decimal("NaN" if isinstance(stated, bool) else str(stated))
        delta = exact(number) if number.is_finite() else None
    except ArithmeticError:
        delta = None
    if delta is None or not 0 <= delta < 1:
        raise ParameterError("delta is not a number of at least 0 and below 1", "--delta", "give a δ such as 1e-5")
    found = compose_totals(events_of(document.get("event"), str(path)), delta)
    best = found.best
    assert best.epsilon is not None
    return {
        "totals": {t.method: t.epsilon for t in found.totals},
        "refused": {t.method: t.why_not for t in found.totals if t.epsilon is None},
        "orders": {t.method: t.order for t in found.totals if t.order is not None},
        "best": best.method,
        "epsilon": best.epsilon,
        "delta": float(delta),
        **_neighbours(best.epsilon, float(delta)),
    }


@dataclass(frozen=True)
class Question:
    """A question."""

    help: str
    parameters: type[Parameters]
    answer: Callable[[Any], dict[str, Any]]


QUESTIONS: dict[str, Question] = {
    "dpsgd": Question("cost of a DP-SGD run before it starts", DpSgdBudget, dpsgd),
    "gaussian": Question("noise of a Gaussian release", GaussianBudget, _gaussian),
    "belief": Question("how much a belief can change", BeliefBudget, _belief),
    "solve": Question("any one of epsilon, noise, epochs and batch from the others", SolveBudget, _solved),
    "laplace": Question("error of Laplace noise", NoiseBudget, _laplace),
    "staircase": Question("error of staircase noise, compared with Laplace's", NoiseBudget, _staircase),
    "randomised-response": Question("error of randomised response", ResponseBudget, _response),
    "shuffle": Question("privacy amplification by shuffling local reports", ShuffleBudget, _shuffle),
    "group": Question("group privacy: the guarantee of a person with several rows", GroupBudget, _group),
}
