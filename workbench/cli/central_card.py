"""The card of a central mechanism, for ``workbench mechanism``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.cli.tables import columns_text, figure
from workbench.params import ParameterError, Parameters, real, texts
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.neighbours import RELATION
from workbench.privacy.central.mechanisms import Asked, CentralMechanism


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


def central_card(mechanism: CentralMechanism, epsilon: float, options: CentralOptions) -> dict[str, Any]:
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


def central_text(result: Mapping[str, Any]) -> str:
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
