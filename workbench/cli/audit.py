"""``workbench audit``: lower bounds on the ε of a mechanism, or of the private step, from its outputs alone."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import figure, filled
from workbench.deep.plan import DpSgdPlan
from workbench.params import Parameters, integer, real
from workbench.privacy.audit import DEFAULT_SAMPLES, audit_mechanism
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.privacy.explain.mechanism_facts import CellOptions
from workbench.privacy.local import mechanisms
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms import Mechanism, mechanism
from workbench.privacy.local.mechanisms.base import LocalParameters
from workbench.work.noise import Study

SHARE = 0.95


@dataclass(frozen=True, kw_only=True)
class AuditOptions(Parameters):
    """How many outputs are drawn, and from which source."""

    samples: int = integer(
        default=DEFAULT_SAMPLES, at_least=1_000, upto=50_000_000, help="number of outputs drawn for each of two inputs"
    )
    seed: int | None = integer(
        default=None, at_least=0, upto=2**63 - 1, help="use a seeded generator instead of system entropy"
    )


ALPHA = 1e-6
NAME = "dpsgd"


@dataclass(frozen=True, kw_only=True)
class StepOptions(Parameters):
    """The private step that is audited, with noise calibrated to ε."""

    clip: float = real(default=1.0, above=0, upto=1e6, symbol="C", help="dpsgd: the clipping norm")
    share: float = real(default=1.0, above=0, upto=1, help="dpsgd: share of the rows in a batch (sampling rate)")
    epochs: int = integer(
        default=1, at_least=1, upto=1000, help="dpsgd: average number of passes over the rows (epochs)"
    )
    delta: float = real(
        default=1e-10,
        above=0,
        below=1e-4,
        symbol="δ",
        help="dpsgd: chance that the guarantee fails; above about 1e-10 nothing can be proved",
    )
    canaries: int = integer(default=20_000, at_least=500, upto=10**7, help="dpsgd: number of canaries")


def _audit_step_run(options: argparse.Namespace, context: Context, epsilon: float, seed: int | None) -> dict[str, Any]:
    from workbench.deep.canaries import IN_ONE_RUN, audit_step

    asked = read_options(options, StepOptions)
    plan = DpSgdPlan(
        network="logistic",
        epsilon=epsilon,
        delta=asked.delta,
        batch=max(1, round(asked.share * IN_ONE_RUN)),
        epochs=asked.epochs,
        lr=1.0,
        clip=asked.clip,
    )
    noise = None if seed is None else Study(np.random.default_rng(seed + 1), SeededEntropy(seed))
    found = audit_step(
        plan, canaries=asked.canaries, alpha=ALPHA, noise=noise, emit=context.emit, cancel=context.cancel
    )
    return {
        "ok": not found.refuted,
        "mechanism": NAME,
        "epsilon": found.claim,
        "delta": found.delta,
        "epsilon_lower": found.epsilon_lower,
        "confidence": found.confidence,
        "verdict": "refuted" if found.refuted else "not refuted",
        "canaries": found.canaries,
        "guesses": found.guesses,
        "right": found.right,
        "noise": {"measured": found.noise, "lower": found.noise_low, "upper": found.noise_high},
        "steps": plan.schedule(IN_ONE_RUN).steps,
        "clip": asked.clip,
    }


def _configure(parser: argparse.ArgumentParser) -> None:
    names = [m.name for m in mechanisms.MECHANISMS]
    stated = f"one of {', '.join(names)}; or {NAME}, the training step of networks"
    parser.add_argument("name", metavar="MECHANISM", help=stated)
    for declared in (LocalParameters, AuditOptions, CellOptions, StepOptions):
        add_options(parser, declared)


def _cells(options: CellOptions, chosen: Mechanism) -> Cells:
    if any(v is not None for v in (options.lower, options.upper, options.cells, options.domain)):
        return options.made()
    return Cells(size=2) if chosen.two_values else Cells.line(-1.0, 1.0, min(101, chosen.most_cells or 101))


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    asked = read_options(options, AuditOptions)
    claim = read_options(options, LocalParameters).epsilon
    if options.name == NAME:
        return _audit_step_run(options, context, claim, asked.seed)
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


_STEP = """\
DP-SGD step at clipping norm {clip:figure}, {steps:n step}: {stated}
  lower bound on epsilon  {epsilon_lower:figure}  (exceeds the true epsilon with probability at most {odds})
  canaries                {right:,} of {guesses:,} guesses right, among {canaries:,}
  noise                   {share}"""

_MECHANISM = """\
{mechanism} at epsilon = {claim} on {cells:n cell}: {stated}
  lower bound on epsilon  {epsilon_lower:figure}  (exceeds the true epsilon with probability at most {odds})
  event                   {event}: {counts[0]:,} against {counts[1]:,} times
  power                   {able}"""


def _text(result: Mapping[str, Any]) -> str:
    odds, claim = f"{1 - result['confidence']:.0e}", figure(result["epsilon"])
    if result["mechanism"] == NAME:
        at = f"epsilon = {claim} at delta = {result['delta']:.0e}"
        good, bad = f"the outputs do not contradict {at}", f"it does not have {at}"
    else:
        good, bad = f"its outputs do not contradict epsilon = {claim}", f"its epsilon is above {claim}"
    stated = f"not refuted: {good}" if result["ok"] else f"REFUTED: {bad} (wrong with probability at most {odds})"
    if result["mechanism"] == NAME:
        words = "{measured:.3f} of what was planned, between {lower:.3f} and {upper:.3f}"
        more = {"share": filled(words, result["noise"])}
        return filled(_STEP, {**result, "odds": odds, "stated": stated, **more})
    caught, share = result["power"]["epsilon"], f"{result['power']['share']:.0%}"
    able = f"so few outputs cannot detect any epsilon above {claim}: draw more with --samples"
    if caught is not None:
        found = f"this audit would have found it in at least {share} of runs"
        able = f"had its true epsilon been {figure(caught)} or more, {found}"
    return filled(_MECHANISM, {**result, "odds": odds, "claim": claim, "stated": stated, "able": able})


COMMAND = Command("workbench audit staircase --epsilon 1", _configure, _run, _text)
