"""``workbench budget compose`` and ``solve``: many releases together, and one figure of a run from the others."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

from workbench.cli.tables import columns_text
from workbench.params import InputError, ParameterError, Parameters, choice, integer, real
from workbench.params.codec import parse_json
from workbench.privacy.accounting.accountant import ACCOUNTANTS, LEAST_NOISE, MOST_NOISE
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.event import exact
from workbench.privacy.accounting.event_text import events_of
from workbench.privacy.accounting.neighbours import RELATION, replace_one
from workbench.privacy.accounting.solve import solve
from workbench.privacy.accounting.totals import TITLES, compose_totals

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
    accountant: str = choice(choices=ACCOUNTANTS, default="pld", help="pld, rdp, or the published rdp-classic")


def solved(asked: SolveBudget) -> dict[str, Any]:
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


def solved_text(result: Mapping[str, Any]) -> str:
    """Return the run in one line, the figure that was found first."""
    stated = {
        "epsilon": f"epsilon at most {round_up(result['epsilon'], 4)}",
        "noise": f"noise multiplier {round_up(result['noise_multiplier'], 5)}",
        "epochs": f"{result['epochs']} epochs",
        "batch": f"batches of {result['batch']} rows",
    }
    first = stated.pop(result["solved"])
    return f"{first}, with {', '.join(stated.values())} at delta = {result['delta']:g} ({result['accountant']})"


def composed(options: argparse.Namespace) -> dict[str, Any]:
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


def composed_text(result: Mapping[str, Any]) -> str:
    """Return a table of accounts, the best one marked."""
    rows = []
    for method, epsilon in result["totals"].items():
        mark = "← best" if method == result["best"] else ""
        stated = result["refused"][method] if epsilon is None else str(_shown(epsilon))
        rows.append((method, stated if epsilon is not None else "–", mark or (stated if epsilon is None else "")))
    head = f"all events together at delta = {result['delta']:g}, neighbours: {result['relation']}"
    other = result["replace_one"]
    return "\n".join(
        [
            head,
            "",
            columns_text(("account", "epsilon at most", ""), rows, right=(1,)),
            "",
            f"best: {TITLES[result['best']]}; replacing one row: epsilon {round_up(other['epsilon'], 4)}, "
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
