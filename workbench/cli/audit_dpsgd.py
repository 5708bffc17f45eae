"""``workbench audit dpsgd``: canaries in the private step prove a lower bound on ε, and how much noise there is."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.cli.command import Context, read_options
from workbench.cli.tables import figure
from workbench.params import Parameters, integer, real

ALPHA = 1e-6
NAME = "dpsgd"


@dataclass(frozen=True, kw_only=True)
class StepOptions(Parameters):
    """The private step that is audited, with noise calibrated to ε."""

    clip: float = real(default=1.0, above=0, upto=1e6, symbol="C", help="of dpsgd: the clipping norm")
    share: float = real(default=1.0, above=0, upto=1, help="of dpsgd: the share of the rows that a step uses")
    epochs: int = integer(default=1, at_least=1, upto=1000, help="of dpsgd: how often each row is used, on average")
    delta: float = real(
        default=1e-10,
        above=0,
        below=1e-4,
        symbol="δ",
        help="of dpsgd: chance that the guarantee fails; with more than about 1e-10 nothing can be proved",
    )
    canaries: int = integer(default=20_000, at_least=500, upto=10**7, help="of dpsgd: how many canaries are hidden")


def run(options: argparse.Namespace, context: Context, epsilon: float, seed: int | None) -> dict[str, Any]:
    """Audit the step."""
    import numpy as np

    from workbench.deep.canaries import IN_ONE_RUN, audit_step
    from workbench.deep.plan import DpSgdPlan
    from workbench.privacy.entropy import SeededEntropy
    from workbench.work.noise import Study

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


def text(result: Mapping[str, Any]) -> str:
    """Return the verdict for a person."""
    odds, noise = f"{1 - result['confidence']:.0e}", result["noise"]
    claim = f"epsilon = {figure(result['epsilon'])} at delta = {result['delta']:.0e}"
    if result["ok"]:
        verdict = f"not refuted: nothing that was seen contradicts {claim}"
    else:
        verdict = f"REFUTED: it does not have {claim} (wrong with probability at most {odds})"
    stated = f"{noise['measured']:.3f} of what was planned, between {noise['lower']:.3f} and {noise['upper']:.3f}"
    steps = "1 step" if result["steps"] == 1 else f"{result['steps']} steps"
    return "\n".join(
        [
            f"DP-SGD step at clipping norm {figure(result['clip'])}, {steps}: {verdict}",
            f"  lower bound on epsilon  {figure(result['epsilon_lower'])}"
            f"  (above the true one with probability at most {odds})",
            f"  canaries                {result['right']:,} of {result['guesses']:,} guesses right,"
            f" among {result['canaries']:,}",
            f"  noise                   {stated}",
        ]
    )
