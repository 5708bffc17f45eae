"""Compute the calculator's figures in jobs: quick bounds while a slider moves, the tightest ones when it rests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.jobs import CancelToken, Emit
from workbench.signals.cancel import interruptible

if TYPE_CHECKING:  # these load numpy, which the first paint does not wait for
    from workbench.privacy.accounting.run_curves import HeatMap, RunCurve, TrainingRun

EXACT_POINTS = 9
AXES = ("order", "rows", "batch", "sigma", "epochs", "delta")


@dataclass(frozen=True)
class QuickFigures:
    """What is known of a run within a moment: Rényi bounds by accountant, lines by axis, the chosen order."""

    run: TrainingRun
    steps: int
    epsilons: dict[str, float]
    order: float
    curves: dict[str, list[RunCurve]]
    heat: HeatMap


@dataclass(frozen=True)
class ExactFigures:
    """What takes seconds: ε by every accountant, or the tightest line for one axis."""

    run: TrainingRun
    epsilons: dict[str, float]
    curve: RunCurve | None


def quick_figures(run: TrainingRun, emit: Emit, cancel: CancelToken) -> QuickFigures:
    """Compute what takes no more than a moment; runs in a worker."""
    from workbench.privacy.accounting import accountant
    from workbench.privacy.accounting.run_curves import curve, heat_map, orders_curve

    by_orders = [a.name for a in accountant.ACCOUNTANTS if a.at_orders is not None]
    at_once = [a.name for a in accountant.ACCOUNTANTS if a.at_once == a.name]
    found = [orders_curve(run, name, quick=True) for name in by_orders]
    curves, order = {"order": [line for line, _ in found]}, found[-1][1]
    for axis in AXES[1:]:
        cancel.check()
        curves[axis] = [curve(run, axis, name, cancel, quick=True) for name in at_once]
    epsilons = {name: run.epsilon(name, quick=True) for name in at_once}
    steps = accountant.steps_of(run.rows, run.batch, run.epochs)
    return QuickFigures(run, steps, epsilons, order, curves, heat_map(run, cancel))


def exact_figures(run: TrainingRun, axis: str | None, emit: Emit, cancel: CancelToken) -> ExactFigures:
    """Compute ε by the tightest accountant, or its line for one axis; runs in a worker."""
    from workbench.privacy.accounting.accountant import accountant_names
    from workbench.privacy.accounting.run_curves import curve

    tightest, *others = accountant_names()
    with interruptible(cancel):
        if axis is None:
            return ExactFigures(run, {name: run.epsilon(name) for name in (*others, tightest)}, None)
        return ExactFigures(run, {}, curve(run, axis, tightest, cancel, points=EXACT_POINTS))


def save_figures(run: TrainingRun, path: Path, picture: bytes | None, emit: Emit, cancel: CancelToken) -> Path:
    """Save the picture, or all curves as CSV where there is none; runs in a worker."""
    from workbench.privacy.accounting.run_curves import csv_lines
    from workbench.release.atomic import write_output

    with interruptible(cancel):
        data = picture or "".join(f"{line}\n" for line in csv_lines(run, cancel)).encode()
    write_output(path, data)
    return path
