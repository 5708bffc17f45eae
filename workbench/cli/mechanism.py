"""``workbench mechanism``: exact facts about one mechanism."""

from __future__ import annotations

import argparse
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.tables import columns_text, figure
from workbench.params import ParameterError, Parameters, integer, real, texts
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.neighbours import RELATION
from workbench.privacy.central import mechanisms as central_mechanisms
from workbench.privacy.central.mechanisms import Asked, CentralMechanism
from workbench.privacy.local import frequency, mechanisms
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.error_profile import duchi_sd, error_profile
from workbench.privacy.local.frequency import OracleKind, variance
from workbench.privacy.local.limits import MOST_CELLS
from workbench.privacy.local.mechanisms import mechanism
from workbench.privacy.local.mechanisms.base import LocalParameters
from workbench.release.atomic import write_output

_DEFAULT_CELLS = 101
_FARTHEST = 1e150
"""Largest bound: the squares of errors are still doubles."""


@dataclass(frozen=True, kw_only=True)
class CellOptions(Parameters):
    """The cells that a mechanism is applied to: numbers with bounds, or a domain of names."""

    lower: float | None = real(
        default=None, at_least=-_FARTHEST, upto=_FARTHEST, help="lower bound of the cells' numbers"
    )
    upper: float | None = real(
        default=None, at_least=-_FARTHEST, upto=_FARTHEST, help="upper bound of the cells' numbers"
    )
    cells: int | None = integer(
        default=None,
        at_least=2,
        upto=MOST_CELLS,
        help=f"number of cells from lower to upper (default {_DEFAULT_CELLS})",
    )
    domain: tuple[str, ...] | None = texts(default=None, shortest=2, help="names instead of numbers: a,b,c")

    def made(self) -> Cells:
        """Return the cells, or raise :class:`ParameterError` where the options contradict each other."""
        if self.domain is not None:
            if any(v is not None for v in (self.lower, self.upper, self.cells)):
                raise ParameterError("--domain and --lower, --upper, --cells exclude each other", hint="give one kind")
            return Cells(size=len(self.domain))
        if self.lower is None or self.upper is None:
            raise ParameterError("the cells are not given", hint="give --lower, --upper and --cells, or --domain a,b,c")
        made = Cells.line(self.lower, self.upper, self.cells or _DEFAULT_CELLS)
        if made.values is None or not np.all(np.diff(made.values) > 0):
            raise ParameterError(
                f"{made.size} cells between {self.lower:g} and {self.upper:g} are too fine for a double",
                hint="ask for fewer cells, or a wider range",
            )
        return made


@dataclass(frozen=True, kw_only=True)
class CentralOptions(Parameters):
    """What a central mechanism is asked for, beside ε."""

    delta: float | None = real(
        default=None, above=0, below=1, symbol="δ", help="of a central Gaussian mechanism: chance that it fails"
    )
    sensitivity: float | None = real(
        default=None, above=0, upto=1e9, symbol="Δ", help="of a central mechanism: how far one row moves the answer"
    )
    scores: tuple[str, ...] | None = texts(
        default=None, shortest=2, help="of a central choice: the scores, such as 3,2,0"
    )

    @property
    def given(self) -> bool:
        """Whether any of them is given, so that a central mechanism is meant."""
        return self != CentralOptions()


def _central_card(mechanism: CentralMechanism, epsilon: float, options: CentralOptions) -> dict[str, Any]:
    """Return the card of ``mechanism`` as plain values."""
    try:
        scores = tuple(float(s) for s in options.scores or ())
    except ValueError:
        scores = (math.nan,)
    if not all(math.isfinite(s) for s in scores):
        raise ParameterError("a score is not a number", "--scores", "give scores such as 3,2,0")
    card = mechanism.card(Asked(epsilon, options.delta or 0.0, options.sensitivity or 1.0, scores))
    return {
        "mechanism": card.mechanism,
        "central": True,
        "title": mechanism.title,
        "summary": mechanism.summary,
        "epsilon": card.epsilon,
        "exact_epsilon": card.loss if math.isfinite(card.loss) else None,
        "delta": card.delta,
        "scale": card.scale,
        "expected_absolute_error": card.absolute,
        "variance": card.variance,
        "tails": [{"above": t, "chance": chance} for t, chance in card.tails],
        "density": [
            {"output": x, "table": p, "neighbour": q}
            for x, p, q in zip(card.outputs, card.densities, card.neighbours, strict=True)
        ],
        "drawn_by": card.drawn_by,
        "relation": RELATION,
    }


def _central_text(result: Mapping[str, Any]) -> str:
    """Return the card as a person reads it."""
    choice = result["variance"] is None
    lines = [f"{result['title']} at epsilon = {figure(result['epsilon'])}: {result['summary']}"]
    if result["exact_epsilon"] is not None:
        lines.append(f"  largest privacy loss of one output  {round_up(result['exact_epsilon'] * (1 - 1e-12), 6)}")
    else:
        lines.append(f"  exact delta at this epsilon         {result['delta']:.6g}")
    if not choice:
        lines.append(f"  scale of the noise                  {figure(result['scale'])}")
        lines.append(f"  variance                            {figure(result['variance'])}")
        lines.append(f"  expected absolute error             {figure(result['expected_absolute_error'])}")
    else:
        lines.append(f"  expected score below the best one   {figure(result['expected_absolute_error'])}")
        rows = [(f"{d['output']:g}", figure(d["table"]), figure(d["neighbour"])) for d in result["density"]]
        lines += ["", columns_text(("choice", "probability", "worst neighbour"), rows, right=(0, 1, 2)), ""]
    tail = "; ".join(f"{figure(t['above'])} ({t['chance']:.2g})" for t in result["tails"])
    lines.append(f"  error above (with a chance of at most): {tail}")
    drawn = f"drawn by {result['drawn_by']}" if result["drawn_by"] else "shown for comparison only"
    lines.append(f"  {drawn}")
    return "\n".join(lines)


def _configure(parser: argparse.ArgumentParser) -> None:
    local = [*(m.name for m in mechanisms.MECHANISMS), *(o.name for o in frequency.ORACLES)]
    names = [*local, *(m.name for m in central_mechanisms.CENTRAL_MECHANISMS if m.name not in local)]
    parser.add_argument("name", metavar="NAME", help="one of " + ", ".join(names))
    add_options(parser, LocalParameters)
    add_options(parser, CellOptions)
    add_options(parser, CentralOptions)
    own = {name: m.parameters for m in mechanisms.MECHANISMS for name in m.parameters.declared() if name != "epsilon"}
    for name, parameters in own.items():
        add_options(parser, parameters, name)
    parser.add_argument("--table", type=Path, metavar="FILE.npy", help="save the m × k table of float64 probabilities")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    listed, asked = central_mechanisms.CENTRAL_MECHANISMS, CentralOptions()
    central = next((m for m in listed if m.name == options.name), None)
    if central is not None:
        asked = read_options(options, CentralOptions)
    if central is not None and (asked.given or options.name not in [m.name for m in mechanisms.MECHANISMS]):
        if options.table is not None:
            raise ParameterError(f"{central.name} has no table of cells", "--table", "leave it out")
        return _central_card(central, read_options(options, LocalParameters).epsilon, asked)
    oracle = next((o for o in frequency.ORACLES if o.name == options.name), None)
    if oracle is not None:
        return _of_oracle(oracle, options)
    chosen = mechanism(options.name)
    cells = read_options(options, CellOptions).made()
    epsilon = read_options(options, LocalParameters).epsilon
    own = {
        name: value
        for name in chosen.parameters.declared()
        if (value := getattr(options, f"{chosen.parameters.__name__}.{name}", None)) is not None
    }
    randomiser = chosen.build(cells, epsilon, **own)
    known = error_profile(randomiser, cells)
    if options.table is not None:
        _save(options.table, randomiser.probabilities())
    return {
        "mechanism": chosen.name,
        "epsilon": epsilon,
        "exact_epsilon": known.exact_epsilon,
        "cells": cells.total,
        "variance_max": known.variance_max,
        "variance_mean": known.variance_mean,
        "mse_uniform": known.mse_uniform,
        "bias_max": known.bias_max,
        "expected_absolute_error": known.expected_absolute_error,
        "constant_error": known.constant_error,
        "statistic_sd": known.facts.statistic_sd,
        "duchi_sd": None if cells.values is None else duchi_sd(epsilon) * float(np.ptp(cells.values)) / 2,
        "digest": randomiser.digest(),
    }


def _of_oracle(kind: OracleKind, options: argparse.Namespace) -> dict[str, Any]:
    """Return the facts of a frequency oracle: of the unbiased estimate of one frequency, from one record."""
    cells = read_options(options, CellOptions).made()
    if options.table is not None:
        raise ParameterError(
            f"a report of {kind.name} is {kind.report.format(k=cells.total)}, which no table of cells can hold",
            "--table",
            "leave --table out",
        )
    epsilon = read_options(options, LocalParameters).epsilon
    made = kind.build(cells.total, epsilon)
    rare, sure = variance(made, 0.0), variance(made, 1.0)
    even = variance(made, 1 / cells.total)
    return {
        "mechanism": kind.name,
        "epsilon": epsilon,
        "exact_epsilon": made.exact_epsilon,
        "cells": cells.total,
        "variance_max": max(rare, sure),
        "variance_mean": even,
        "mse_uniform": even,
        "bias_max": 0.0,
        "statistic_sd": even**0.5,
        "variance_rare": rare,
        "support_own": made.own,
        "support_other": made.other,
        "report": kind.report.format(k=cells.total),
    }


def _oracle_text(result: Mapping[str, Any]) -> str:
    return "\n".join(
        [
            f"{result['mechanism']} at epsilon = {figure(result['epsilon'])} over {result['cells']} values: "
            f"each report is {result['report']}",
            f"  exact epsilon of the integers sampled  {result['exact_epsilon']:.12f}",
            f"  a report supports its row's value      {figure(result['support_own'])} of the time, any other value "
            f"{figure(result['support_other'])}",
            f"  frequency of one value, from one record: variance {figure(result['variance_rare'])} where it is rare, "
            f"{figure(result['variance_max'])} at most",
            "  For n rows divide the variance by n. It collects frequencies and fills no column of a released table.",
        ]
    )


def _save(path: Path, table: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    buffer = io.BytesIO()
    np.save(buffer, table, allow_pickle=False)
    write_output(path, buffer.getvalue())


def _text(result: Mapping[str, Any]) -> str:
    if "central" in result:
        return _central_text(result)
    if "report" in result:
        return _oracle_text(result)
    return "\n".join(
        [
            f"{result['mechanism']} at epsilon = {figure(result['epsilon'])} on {result['cells']} cells",
            f"  exact epsilon of the integers sampled  {result['exact_epsilon']:.12f}",
            f"  expected absolute error                {figure(result['expected_absolute_error'])}"
            f"   (a constant answer: {figure(result['constant_error'])})",
            f"  mean square error                      {figure(result['mse_uniform'])}",
            f"  variance, largest and mean             {figure(result['variance_max'])}, "
            f"{figure(result['variance_mean'])}",
            f"  largest bias                           {figure(result['bias_max'])}",
            f"  unbiased statistic of one record, ±    {_statistic(result)}",
        ]
    )


def _statistic(result: Mapping[str, Any]) -> str:
    """Return the noise of the unbiased mean (of names: share), beside that of the best mechanism for a mean alone."""
    own = "none exists" if result["statistic_sd"] is None else figure(result["statistic_sd"])
    return own if result["duchi_sd"] is None else f"{own}   (Duchi's, for means alone: {figure(result['duchi_sd'])})"


COMMAND = Command(
    name="mechanism",
    help="exact facts about one mechanism: its true epsilon, bias and error",
    example="workbench mechanism staircase --epsilon 1 --lower 0 --upper 120 --cells 121",
    configure=_configure,
    run=_run,
    text=_text,
)
