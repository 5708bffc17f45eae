"""``workbench audit``: what the outputs of a mechanism, or of the private step, prove about its ε by themselves."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.cli import audit_dpsgd
from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.mechanism import CellOptions
from workbench.cli.tables import figure
from workbench.params import Parameters, integer
from workbench.privacy.audit import DEFAULT_SAMPLES
from workbench.privacy.audit_mechanism import audit_mechanism
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.privacy.local import mechanisms
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms import Mechanism, mechanism
from workbench.privacy.local.mechanisms.base import LocalParameters

SHARE = 0.95


@dataclass(frozen=True, kw_only=True)
class AuditOptions(Parameters):
    """How many outputs are drawn, and from which source."""

    samples: int = integer(
        default=DEFAULT_SAMPLES, at_least=1_000, upto=50_000_000, help="outputs drawn for each of two inputs"
    )
    seed: int | None = integer(
        default=None, at_least=0, upto=2**63 - 1, help="draw from a seeded generator instead of the system's entropy"
    )


def _configure(parser: argparse.ArgumentParser) -> None:
    names = [m.name for m in mechanisms.MECHANISMS]
    stated = f"one of {', '.join(names)}; or {audit_dpsgd.NAME}, the step that trains networks"
    parser.add_argument("name", metavar="MECHANISM", help=stated)
    for declared in (LocalParameters, AuditOptions, CellOptions, audit_dpsgd.StepOptions):
        add_options(parser, declared)


def _cells(options: CellOptions, chosen: Mechanism) -> Cells:
    """Return the requested cells; by default a range of numbers, or two values."""
    if any(v is not None for v in (options.lower, options.upper, options.cells, options.domain)):
        return options.made()
    return Cells(size=2) if chosen.two_values else Cells.line(-1.0, 1.0, 101)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    asked = read_options(options, AuditOptions)
    claim = read_options(options, LocalParameters).epsilon
    if options.name == audit_dpsgd.NAME:
        return audit_dpsgd.run(options, context, claim, asked.seed)
    chosen = mechanism(options.name)
    cells = _cells(read_options(options, CellOptions), chosen)
    entropy = OsEntropy() if asked.seed is None else SeededEntropy(asked.seed)
    found = audit_mechanism(chosen, cells, claim, samples=asked.samples, entropy=entropy, cancel=context.cancel)
    bound, caught = found.bound, found.caught
    return {
        "ok": not found.refuted,
        "mechanism": chosen.name,
        "epsilon": claim,
        "epsilon_lower": bound.epsilon,
        "confidence": bound.confidence,
        "verdict": "refuted" if found.refuted else "not refuted",
        "power": {"share": SHARE, "epsilon": None if math.isinf(caught) else caught},
        "event": bound.event,
        "counts": list(bound.counts),
        "samples": asked.samples,
        "cells": cells.total,
    }


def _text(result: Mapping[str, Any]) -> str:
    if result["mechanism"] == audit_dpsgd.NAME:
        return audit_dpsgd.text(result)
    claim, caught = figure(result["epsilon"]), result["power"]["epsilon"]
    counts = result["counts"]
    odds = f"{1 - result['confidence']:.0e}"
    if result["ok"]:
        verdict = f"not refuted: its outputs do not contradict epsilon = {claim}"
    else:
        verdict = f"REFUTED: its epsilon is above {claim} (wrong with probability at most {odds})"
    stated = (
        f"had its true epsilon been {figure(caught)} or more, this audit would have found it in at least "
        f"{result['power']['share']:.0%} of runs"
        if caught is not None
        else f"no epsilon above {claim} could have been found with so few outputs: draw more with --samples"
    )
    return "\n".join(
        [
            f"{result['mechanism']} at epsilon = {claim} on {result['cells']} cells: {verdict}",
            f"  lower bound on epsilon  {figure(result['epsilon_lower'])}"
            f"  (above the true one with probability at most {odds})",
            f"  event                   {result['event']}: {counts[0]:,} against {counts[1]:,} times",
            f"  power                   {stated}",
        ]
    )


COMMAND = Command(
    name="audit",
    help="a lower bound on a mechanism's epsilon from its outputs alone, and what the audit could have detected",
    example="workbench audit staircase --epsilon 1",
    configure=_configure,
    run=_run,
    text=_text,
)
