"""``workbench budget``: what releases cost, one or many together, and what that means; touches no data."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.tables import columns_text, figure
from workbench.params import InputError, ParameterError, Parameters, choice, integer, real
from workbench.params.codec import parse_json
from workbench.privacy.accounting import totals
from workbench.privacy.accounting.accountant import LEAST_NOISE, MOST_NOISE, accountant_names, event_of, loss
from workbench.privacy.accounting.calculators import (
    MOST_REPORTS,
    laplace,
    laplace_within,
    randomised_response,
    shuffled,
    staircase,
)
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.event import exact
from workbench.privacy.accounting.event_text import events_of
from workbench.privacy.accounting.gaussian import analytic_sigma, classic_sigma, gaussian_delta
from workbench.privacy.accounting.neighbours import RELATION, group, replace_one
from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior
from workbench.privacy.accounting.run_curves import TrainingRun, csv_lines
from workbench.privacy.accounting.solve import solve
from workbench.privacy.accounting.totals import compose_totals
from workbench.release.atomic import write_output


@dataclass(frozen=True, kw_only=True)
class DpSgdBudget(Parameters):
    """A DP-SGD run as its accountant sees it."""

    rows: int = integer(at_least=1, upto=10**12, help="rows of the table, public")
    batch: int = integer(at_least=1, upto=10**12, help="expected rows of a batch")
    noise: float = real(at_least=LEAST_NOISE, upto=MOST_NOISE, symbol="σ", help="noise over clipping norm")
    epochs: int = integer(at_least=1, upto=10**9, help="expected passes over the table")
    delta: float = real(above=0, below=1, symbol="δ", help="chance that the guarantee fails")
    accountant: str = choice(choices=accountant_names, default="pld", help="pld, rdp, or the published rdp-classic")


@dataclass(frozen=True, kw_only=True)
class GaussianBudget(Parameters):
    """A Gaussian release of a vector."""

    epsilon: float = real(above=0, upto=1e6, symbol="ε", help="privacy loss")
    delta: float = real(above=0, below=1, symbol="δ", help="chance that the guarantee fails")
    sensitivity: float = real(above=0, upto=1e9, symbol="Δ", help="L2 sensitivity of the whole vector")


@dataclass(frozen=True, kw_only=True)
class BeliefBudget(Parameters):
    """What someone believes before a release."""

    epsilon: float = real(at_least=0, upto=1e6, symbol="ε", help="privacy loss of the release")
    prior: float = real(at_least=0, upto=1, symbol="p", help="belief before the release, a probability")


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join([*_ACTIONS, "compose"]))
    for name, (stated, parameters, _, _) in _ACTIONS.items():
        sub = actions.add_parser(name, help=stated)
        add_options(sub, parameters)
        if name == "dpsgd":
            sub.add_argument("--curves", type=Path, metavar="CSV", help="write epsilon against every figure of the run")
    stated = "total of a list of events by every account, the best one marked"
    compose = actions.add_parser("compose", help=stated)
    compose.add_argument("file", type=Path, metavar="FILE", help="a list of events, TOML or JSON")
    compose.add_argument("--delta", metavar="δ", help="delta of the whole (default: the one in the file, else 0)")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.action == "compose":
        return {"of": "compose", **_composed(options)}
    _, parameters, compute, _ = _ACTIONS[options.action]
    asked = read_options(options, parameters)
    result = {"of": options.action, **compute(asked)}
    if isinstance(asked, DpSgdBudget) and options.curves is not None:
        run = TrainingRun(asked.rows, asked.batch, asked.noise, asked.epochs, asked.delta)
        lines = list(csv_lines(run, context.cancel))
        write_output(options.curves, "".join(f"{line}\n" for line in lines).encode())
        result["curves"] = str(options.curves)
    return result


def _text(result: Mapping[str, Any]) -> str:
    return _composed_text(result) if result["of"] == "compose" else _ACTIONS[result["of"]][3](result)


def _dpsgd(asked: DpSgdBudget) -> dict[str, Any]:
    event = event_of(asked.rows, asked.batch, asked.epochs, asked.noise)
    bound = loss(event, asked.delta, asked.accountant)
    other = replace_one(bound.epsilon, asked.delta)
    return {
        "epsilon": bound.epsilon,
        "order": bound.order,
        "steps": event.steps,
        "sample_rate": event.sample_rate,
        "delta": asked.delta,
        "noise_multiplier": asked.noise,
        "accountant": asked.accountant,
        "discretisation": bound.discretisation,
        "relation": RELATION,
        "replace_one": {"epsilon": other[0], "delta": other[1]},
    }


def _dpsgd_text(result: Mapping[str, Any]) -> str:
    by = f"order {result['order']:g}" if result["order"] else f"loss grid {result['discretisation'] or 0:.2g}"
    other = result["replace_one"]
    return "\n".join(
        [
            f"epsilon at most {round_up(result['epsilon'], 4)} at delta = {result['delta']:g} "
            f"({result['accountant']}, {by})",
            f"{result['steps']} steps, each row in a batch with probability {figure(result['sample_rate'])}",
            f"neighbours: {result['relation']}; replacing one row: epsilon {round_up(other['epsilon'], 4)}, "
            f"delta {figure(other['delta'])}",
        ]
    )


def _gaussian(asked: GaussianBudget) -> dict[str, Any]:
    textbook = classic_sigma(asked.epsilon, asked.delta, asked.sensitivity)
    return {
        "sigma": analytic_sigma(asked.epsilon, asked.delta, asked.sensitivity),
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "sensitivity": asked.sensitivity,
        "textbook_sigma": textbook,
        "textbook_delta": gaussian_delta(asked.epsilon, textbook, asked.sensitivity),
    }


def _gaussian_text(result: Mapping[str, Any]) -> str:
    private = result["textbook_delta"] <= result["delta"]
    verdict = "is larger than needed" if private else f"is too small: its delta is {result['textbook_delta']:.3g}"
    return (
        f"sigma = {round_up(result['sigma'], 6)} (analytic Gaussian, Balle & Wang 2018)\n"
        f"the textbook's {figure(result['textbook_sigma'])} {verdict}"
    )


def _belief(asked: BeliefBudget) -> dict[str, Any]:
    belief = posterior(asked.epsilon, asked.prior)
    return {
        "low": belief.low,
        "high": belief.high,
        "epsilon": asked.epsilon,
        "prior": asked.prior,
        "note": DELTA_NOTE,
    }


def _belief_text(result: Mapping[str, Any]) -> str:
    return (
        f"someone who gave it {result['prior']:.4g} before can come to at most {result['high']:.4g} "
        f"and at least {result['low']:.4g}\n{result['note']}"
    )


_LARGEST_FILE = 4 << 20


@dataclass(frozen=True, kw_only=True)
class SolveBudget(Parameters):
    """A DP-SGD run of which one figure is open."""

    rows: int = integer(at_least=1, upto=10**12, help="rows of the table, public")
    delta: float = real(above=0, below=1, symbol="δ", help="chance that the guarantee fails")
    epsilon: float | None = real(default=None, above=0, upto=1e6, symbol="ε", help="privacy loss of the run")
    noise: float | None = real(
        default=None, at_least=LEAST_NOISE, upto=MOST_NOISE, symbol="σ", help="noise over clipping norm"
    )
    epochs: int | None = integer(default=None, at_least=1, upto=10**9, help="expected passes over the table")
    batch: int | None = integer(default=None, at_least=1, upto=10**12, help="expected rows of a batch")
    accountant: str = choice(choices=accountant_names, default="pld", help="pld, rdp, or the published rdp-classic")


def _solved(asked: SolveBudget) -> dict[str, Any]:
    """Return the run with its open figure found."""
    given = {"epsilon": asked.epsilon, "noise": asked.noise, "epochs": asked.epochs, "batch": asked.batch}
    found = solve(
        rows=asked.rows,
        delta=asked.delta,
        epsilon=asked.epsilon,
        sigma=asked.noise,
        epochs=asked.epochs,
        batch=asked.batch,
        accountant=asked.accountant,
    )
    return {
        "solved": next(name for name, value in given.items() if value is None),
        "epsilon": found.epsilon,
        "noise_multiplier": found.sigma,
        "epochs": found.epochs,
        "batch": found.batch,
        "rows": asked.rows,
        "delta": asked.delta,
        "accountant": asked.accountant,
        "relation": RELATION,
    }


def _solved_text(result: Mapping[str, Any]) -> str:
    """Return the run in one line, the figure that was found first."""
    stated = {
        "epsilon": f"epsilon at most {round_up(result['epsilon'], 4)}",
        "noise": f"noise multiplier {round_up(result['noise_multiplier'], 5)}",
        "epochs": f"{result['epochs']} epochs",
        "batch": f"batches of {result['batch']} rows",
    }
    first = stated.pop(result["solved"])
    return f"{first}, with {', '.join(stated.values())} at delta = {result['delta']:g} ({result['accountant']})"


def _composed(options: argparse.Namespace) -> dict[str, Any]:
    """Return the total of the events in a file by every account."""
    document = _document(options.file)
    if not isinstance(document, dict):
        raise ParameterError("the file is not a table of keys", str(options.file), "begin with [[event]]")
    unknown = sorted(set(document) - {"delta", "event"})
    if unknown:
        raise ParameterError(f"{unknown[0]!r} is not a key of a list of events", str(options.file), "remove it")
    delta = options.delta if options.delta is not None else document.get("delta", 0)
    try:
        number = Decimal(str(delta)) if not isinstance(delta, bool) else Decimal("NaN")
        delta = exact(number) if number.is_finite() else None
    except ArithmeticError:
        delta = None
    if delta is None or not 0 <= delta < 1:
        raise ParameterError("delta is not a number of at least 0 and below 1", "--delta", "give a δ such as 1e-5")
    found = compose_totals(events_of(document.get("event"), str(options.file)), delta)
    best = found.best
    assert best.epsilon is not None
    other = replace_one(best.epsilon, float(delta))
    return {
        "totals": {t.method: t.epsilon for t in found.totals},
        "refused": {t.method: t.why_not for t in found.totals if t.epsilon is None},
        "orders": {t.method: t.order for t in found.totals if t.order is not None},
        "best": best.method,
        "epsilon": best.epsilon,
        "delta": float(delta),
        "relation": RELATION,
        "replace_one": {"epsilon": other[0], "delta": other[1]},
    }


def _composed_text(result: Mapping[str, Any]) -> str:
    """Return a table of accounts, the best one marked."""
    rows = []
    for method, epsilon in result["totals"].items():
        mark = "← best" if method == result["best"] else ""
        stated = result["refused"][method] if epsilon is None else str(_shown(epsilon))
        rows.append((method, stated if epsilon is not None else "–", mark or (stated if epsilon is None else "")))
    head = f"all events together at delta = {result['delta']:g}, neighbours: {result['relation']}"
    other = result["replace_one"]
    titles = {accountant.name: accountant.title for accountant in totals.MIXED_ACCOUNTANTS}
    return "\n".join(
        [
            head,
            "",
            columns_text(("account", "epsilon at most", ""), rows, right=(1,)),
            "",
            f"best: {titles[result['best']]}; replacing one row: epsilon {round_up(other['epsilon'], 4)}, "
            f"delta {other['delta']:.3g}",
            "These totals hold for releases that were fixed beforehand.",
        ]
    )


def _shown(epsilon: float) -> Decimal:
    """Return ε rounded up; a sum that a person wrote in decimals keeps its digits."""
    return Decimal(repr(epsilon)).quantize(Decimal("0.0001"), rounding=ROUND_CEILING)


def _document(path: Path) -> Any:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError("a list of events of more than 4 MiB is not read", str(path), "use times = N")
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", str(path), "name a list of events (TOML or JSON)") from None
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", str(path)) from None
    try:
        text = data.decode("utf-8")
        if path.suffix.lower() == ".json":
            return parse_json(text, str(path))
        return tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        raise InputError("the file is not valid TOML", str(path), "write [[event]] with kind = …") from None


Action = tuple[str, type[Parameters], Callable[[Any], dict[str, Any]], Callable[[Any], str]]
"""What it is for, its parameters, what it computes, and that as text."""

_LIKELY = 0.95


@dataclass(frozen=True, kw_only=True)
class NoiseBudget(Parameters):
    """Noise that is added to one number."""

    epsilon: float = real(at_least=1e-6, upto=700, symbol="ε", help="privacy loss")
    sensitivity: float = real(above=0, upto=1e9, default=1.0, symbol="Δ", help="how far one row moves the number")


@dataclass(frozen=True, kw_only=True)
class ResponseBudget(Parameters):
    """Randomised response."""

    epsilon: float = real(at_least=1e-6, upto=700, symbol="ε", help="privacy loss of one answer")
    values: int = integer(at_least=2, upto=10**9, default=2, help="how many answers there are")
    rows: int = integer(at_least=1, upto=10**12, default=1000, help="how many people answer")


@dataclass(frozen=True, kw_only=True)
class ShuffleBudget(Parameters):
    """Local reports that reach the analyst in random order, without names."""

    epsilon: float = real(at_least=1e-6, upto=700, symbol="ε₀", help="privacy loss of one local report")
    rows: int = integer(at_least=1, upto=MOST_REPORTS, help="how many reports are shuffled")
    delta: float = real(above=0, below=1, symbol="δ", help="chance that the guarantee fails")


@dataclass(frozen=True, kw_only=True)
class GroupBudget(Parameters):
    """What a release guarantees to somebody with several rows."""

    epsilon: float = real(at_least=0, upto=1e6, symbol="ε", help="privacy loss of one row")
    delta: float = real(at_least=0, below=1, default=0.0, symbol="δ", help="chance that the guarantee of one row fails")
    rows: int = integer(at_least=1, upto=10**6, help="rows of one person")


def _laplace(asked: NoiseBudget) -> dict[str, Any]:
    noise = laplace(asked.epsilon, asked.sensitivity)
    return {
        "epsilon": asked.epsilon,
        "sensitivity": asked.sensitivity,
        "scale": noise.scale,
        "expected_absolute_error": noise.absolute,
        "variance": noise.variance,
        "within_95": laplace_within(asked.epsilon, asked.sensitivity, _LIKELY),
    }


def _laplace_text(result: Any) -> str:
    return (
        f"scale b = {round_up(result['scale'], 6)}; expected absolute error "
        f"{figure(result['expected_absolute_error'])}, variance {figure(result['variance'])}\n"
        f"95 % of the noise is within ± {figure(result['within_95'])}"
    )


def _staircase(asked: NoiseBudget) -> dict[str, Any]:
    found, other = staircase(asked.epsilon, asked.sensitivity), laplace(asked.epsilon, asked.sensitivity)
    return {
        "epsilon": asked.epsilon,
        "sensitivity": asked.sensitivity,
        "gamma_absolute": found.gamma_absolute,
        "expected_absolute_error": found.absolute,
        "gamma_variance": found.gamma_variance,
        "variance": found.variance,
        "laplace_absolute_error": other.absolute,
        "laplace_variance": other.variance,
    }


def _staircase_text(result: Any) -> str:
    return (
        f"least expected absolute error {figure(result['expected_absolute_error'])} at gamma = "
        f"{figure(result['gamma_absolute'])} (Laplace: {figure(result['laplace_absolute_error'])})\n"
        f"least variance {figure(result['variance'])} at gamma = {figure(result['gamma_variance'])} "
        f"(Laplace: {figure(result['laplace_variance'])})"
    )


def _response(asked: ResponseBudget) -> dict[str, Any]:
    found = randomised_response(asked.epsilon, asked.values)
    return {
        "epsilon": asked.epsilon,
        "values": asked.values,
        "rows": asked.rows,
        "truth": found.truth,
        "other": found.other,
        "share_sd": (found.variance_rare / asked.rows) ** 0.5,
    }


def _response_text(result: Any) -> str:
    return (
        f"the true answer with probability {figure(result['truth'])}, each other one with {figure(result['other'])}\n"
        f"of {result['rows']} people, the share of a rare answer is estimated to ± {figure(result['share_sd'])} "
        "(one standard deviation)"
    )


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
        "trust": "somebody other than the analyst shuffles the reports and removes every name",
    }


def _shuffle_text(result: Any) -> str:
    closed = result["closed_form"]
    stated = "does not hold for so few reports" if closed is None else f"would give {round_up(closed, 4)}"
    return (
        f"epsilon at most {round_up(result['epsilon'], 6)} at delta = {result['delta']:g} for the shuffled reports "
        f"(Feldman, McMillan & Talwar 2021; the closed form {stated})\n"
        f"neighbours: replace-one. It holds only if {result['trust']}."
    )


def _group(asked: GroupBudget) -> dict[str, Any]:
    epsilon, delta = group(asked.epsilon, asked.delta, asked.rows)
    if delta >= 1:
        raise ParameterError(
            f"the delta of {asked.rows} rows is 1 or more, which guarantees nothing",
            "--delta",
            "give a smaller delta, a smaller epsilon or fewer rows",
        )
    return {
        "epsilon": epsilon,
        "delta": delta,
        "rows": asked.rows,
        "epsilon_row": asked.epsilon,
        "delta_row": asked.delta,
        "relation": RELATION,
    }


def _group_text(result: Any) -> str:
    return (
        f"a person with {result['rows']} rows: epsilon {figure(result['epsilon'])}, delta {figure(result['delta'])}\n"
        "Where a mechanism is known, `budget compose` with rows_per_person may show a smaller cost."
    )


_CALCULATORS: dict[str, Action] = {
    "laplace": ("error of Laplace noise", NoiseBudget, _laplace, _laplace_text),
    "staircase": ("error of staircase noise, beside Laplace's", NoiseBudget, _staircase, _staircase_text),
    "randomised-response": ("error of randomised response", ResponseBudget, _response, _response_text),
    "shuffle": ("what shuffling local reports adds", ShuffleBudget, _shuffle, _shuffle_text),
    "group": ("what a person with several rows is guaranteed", GroupBudget, _group, _group_text),
}

_ACTIONS: dict[str, Action] = {
    "dpsgd": ("cost of a DP-SGD run before it starts", DpSgdBudget, _dpsgd, _dpsgd_text),
    "gaussian": ("noise of a Gaussian release", GaussianBudget, _gaussian, _gaussian_text),
    "belief": ("how far a belief can move", BeliefBudget, _belief, _belief_text),
    "solve": ("any one of epsilon, noise, epochs and batch from the others", SolveBudget, _solved, _solved_text),
    **_CALCULATORS,
}

COMMAND = Command(
    name="budget",
    help="what a release would cost, and what its epsilon means; touches no data",
    example="workbench budget dpsgd --rows 60000 --batch 64 --noise 1 --epochs 15 --delta 1e-5",
    configure=_configure,
    run=_run,
    text=_text,
)
