"""``workbench mechanism``: exact properties of one mechanism."""

from __future__ import annotations

import argparse
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.cli.command import Command, Context, add_options, given_options, read_options
from workbench.cli.common_options import columns_text, figure, filled
from workbench.params import ParameterError
from workbench.params.field import named
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.central import mechanisms as central_mechanisms
from workbench.privacy.explain.mechanism_facts import (
    CellOptions,
    CentralOptions,
    central_facts,
    local_facts,
    oracle_facts,
)
from workbench.privacy.local import frequency, mechanisms
from workbench.privacy.local.mechanisms import mechanism
from workbench.privacy.local.mechanisms.base import LocalParameters
from workbench.release.atomic import write_output


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="one of " + ", ".join(m.name for m in _known()))
    for shared in (LocalParameters, CellOptions, CentralOptions):
        add_options(parser, shared)
    own = {name: m.parameters for m in mechanisms.MECHANISMS for name in m.parameters.declared() if name != "epsilon"}
    for name, parameters in own.items():
        add_options(parser, parameters, name)
    parser.add_argument("--table", type=Path, metavar="FILE.npy", help="save the m × k table of float64 probabilities")


def _known() -> list[Any]:
    """Return everything that has facts: mechanisms, frequency oracles, and central mechanisms of other names."""
    local: list[Any] = [*mechanisms.MECHANISMS, *frequency.ORACLES]
    names = {m.name for m in local}
    return [*local, *(m for m in central_mechanisms.CENTRAL_MECHANISMS if m.name not in names)]


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    named(_known(), options.name, "mechanism")
    epsilon, local = read_options(options, LocalParameters).epsilon, {m.name for m in mechanisms.MECHANISMS}
    central = next((m for m in central_mechanisms.CENTRAL_MECHANISMS if m.name == options.name), None)
    asked = CentralOptions() if central is None else read_options(options, CentralOptions)
    if central is not None and (asked.given or options.name not in local):
        if options.table is not None:
            raise ParameterError(f"{central.name} has no table of cells", "--table", "leave it out")
        return central_facts(central, asked.asked(epsilon))
    oracle = next((o for o in frequency.ORACLES if o.name == options.name), None)
    chosen = mechanism(options.name) if oracle is None else None
    cells = read_options(options, CellOptions).made()
    if chosen is None:
        assert oracle is not None
        if options.table is not None:
            report = f"a report of {oracle.name} is {oracle.report.format(k=cells.total)}"
            raise ParameterError(f"{report}, which does not fit a table of cells", "--table", "leave --table out")
        return oracle_facts(oracle, cells, epsilon)
    given = {"epsilon": epsilon, **given_options(options, chosen.parameters)}
    randomiser = chosen.build(cells, **given)
    if options.table is not None:
        buffer = io.BytesIO()
        np.save(buffer, randomiser.probabilities(), allow_pickle=False)
        write_output(options.table, buffer.getvalue())
    return local_facts(chosen.name, randomiser, cells, epsilon)


_LOCAL = """\
{mechanism} at epsilon = {epsilon:figure} on {cells:n cell}
  exact epsilon of the integers sampled  {exact_epsilon:.12f}
  expected absolute error                {expected_absolute_error:figure}   (a constant answer: {constant_error:figure})
  mean square error                      {mse_uniform:figure}
  variance, largest and mean             {variance_max:figure}, {variance_mean:figure}
  largest bias                           {bias_max:figure}
  unbiased statistic of one record, ±    {statistic}"""

_ORACLE = """\
{mechanism} at epsilon = {epsilon:figure} over {cells:n value}: each report is {report}
  exact epsilon of the integers sampled  {exact_epsilon:.12f}
  a report supports its row's value      {support_own:figure} of the time, any other value {support_other:figure}
  frequency of one value, from one record: variance {variance_rare:figure} if it is rare,
  {variance_max:figure} at most
  For n rows divide the variance by n. It estimates frequencies and cannot fill a column of a released table."""

_NOISE = """\
  scale of the noise                  {scale:figure}
  variance                            {variance:figure}
  expected absolute error             {expected_absolute_error:figure}"""


def _text(result: Mapping[str, Any]) -> str:
    if "central" in result:
        return _central_text(result)
    if "report" in result:
        return filled(_ORACLE, result)
    # The noise of the unbiased mean (of names: share), beside that of the best mechanism for a mean alone.
    own = "none exists" if result["statistic_sd"] is None else figure(result["statistic_sd"])
    best = "" if result["duchi_sd"] is None else f"   (Duchi's, for means alone: {figure(result['duchi_sd'])})"
    return filled(_LOCAL, {**result, "statistic": own + best})


def _central_text(result: Mapping[str, Any]) -> str:
    lines = [f"{result['title']} at epsilon = {figure(result['epsilon'])}: {result['summary']}"]
    if result["exact_epsilon"] is not None:
        lines.append(f"  largest privacy loss of one output  {round_up(result['exact_epsilon'] * (1 - 1e-12), 6)}")
    else:
        lines.append(f"  exact delta at this epsilon         {result['delta']:.6g}")
    if result["variance"] is not None:
        lines.append(filled(_NOISE, result))
    else:
        lines.append(f"  expected score below the best one   {figure(result['expected_absolute_error'])}")
        rows = [(f"{d['output']:g}", figure(d["table"]), figure(d["neighbour"])) for d in result["density"]]
        lines += ["", columns_text(("choice", "probability", "worst neighbour"), rows, right=(0, 1, 2)), ""]
    tail = "; ".join(f"{figure(t['above'])} ({t['chance']:.2g})" for t in result["tails"])
    drawn = f"drawn by {result['drawn_by']}" if result["drawn_by"] else "shown for comparison only"
    return "\n".join([*lines, f"  error above (with probability at most): {tail}", f"  {drawn}"])


COMMAND = Command(
    "workbench mechanism staircase --epsilon 1 --lower 0 --upper 120 --cells 121", _configure, _run, _text
)
