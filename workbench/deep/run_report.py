"""Progress reports of a training run, and the private table of its metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from workbench.deep.clipping import StepSums
from workbench.deep.memory import PHASES, MemoryForecast, MemoryWatch, curve_bytes
from workbench.deep.plan import Schedule
from workbench.privacy.accounting.event import Cost
from workbench.signals.events import Budget, Emit, Memory, Metric, PhaseMemory, Progress, Spread

REPORTS = 200  # most rows of the metrics table, evenly over the run

MEASURED = 10 * REPORTS  # about how many steps compute loss and accuracy: more would only cost time

NORM_EDGES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Edges of the histogram of gradient norms, in units of the clipping norm."""

_ALWAYS, _BETWEEN = 200, 0.05
"""The first steps are all reported; later ones at this distance in seconds, which looks to the eye like always."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the metrics table; loss and accuracy are means over the rows drawn since the last, and private.

    ``None`` where every batch since the last record was empty.
    """

    step: int
    epoch: float
    loss: float | None
    accuracy: float | None
    epsilon: float
    memory_bytes: int


@dataclass(eq=False)
class RunReport:
    """Reports the progress of a run, and keeps its metrics."""

    schedule: Schedule  # of the run
    whole: Cost
    emit: Emit  # receives it
    watch: MemoryWatch  # measures its memory
    forecast: MemoryForecast  # what was predicted of its memory before it began
    corrected: MemoryForecast  # the same with what a step on made-up rows took, and then the first step of the run
    first_step: int | None = None  # the measured peak when the first step was done; `None` before that
    clip: float = 0.0  # the clipping norm of the step; the schedule's if not given
    _records: list[Record] = field(default_factory=list)
    _rows: int = 0
    _loss: float = 0.0
    _correct: int = 0
    _stated: float = 0.0
    _steps: int = 0
    _norms: list[Tensor] = field(default_factory=list)

    def on_norms(self, squares: Tensor) -> None:
        """Take the squared norms (b, K) of the rows of a step, layer by layer; private."""
        self._norms.append(squares.sum(1).sqrt() / (self.clip or self.schedule.clip))

    @property
    def records(self) -> tuple[Record, ...]:
        """The rows of the metrics table so far."""
        return tuple(self._records)

    def resume(self, former: Sequence[Record]) -> None:
        """Begin with what an earlier part of the run has recorded."""
        self._records = list(former)

    @property
    def predicted(self) -> int:
        """The peak that is to be expected, as far as is known by now."""
        if self.first_step is None:
            return self.corrected.peak
        return max(self.first_step, self.corrected.between_steps + self.corrected.in_a_step)

    def enter(self, phase: str) -> None:
        """Take note of the next phase of a step; it is measured, and reported, no more often than an eye can follow."""
        due = time.monotonic() - self._stated >= _BETWEEN
        self.watch.enter(phase, look=due or self._steps < _ALWAYS)
        if due:
            self._stated = time.monotonic()
            self._report_memory()

    def after(self, step: int, sums: StepSums, epsilon: float) -> None:
        """Take note of a step."""
        self._steps += 1
        if self.first_step is None:
            self.watch.look()
            self.first_step = self.watch.peak
            to_come = curve_bytes(self.schedule.accountant, self.watch.device)
            self.corrected = self.corrected.after_first_step(self.watch.now, to_come)
        self._rows += sums.rows
        self._loss += sums.loss
        self._correct += sums.correct
        steps = self.schedule.steps
        # Evenly spaced: step t is reported when t·REPORTS/steps passes a whole number, and so is the last.
        due = step * REPORTS // steps > (step - 1) * REPORTS // steps or step == steps
        now = time.monotonic()
        if due or step <= _ALWAYS or now - self._stated >= _BETWEEN:
            self._stated = now
            self._notify(step, epsilon)
        if due:
            self._record(step, epsilon)

    def _notify(self, step: int, epsilon: float) -> None:
        steps = self.schedule.steps
        self.watch.look()
        self.emit(Progress(step, steps, "training steps"))
        cap = self.schedule.cap or self.whole.epsilon
        self.emit(Budget(epsilon, float(self.whole.delta), float(cap), step, steps))
        self._report_memory()

    def _report_memory(self) -> None:
        watch, expected = self.watch, self.corrected.phases()
        now, peak, predicted = (watch.before + size for size in (watch.now, watch.peak, self.predicted))
        self.emit(
            Memory(
                now,
                peak,
                predicted,
                device=watch.device,
                before=watch.before,
                phases=tuple(PhaseMemory(name, expected[name], watch.peaks[name]) for name in PHASES),
                phase=watch.phase,
                forecast=self.forecast.peak,
                first_step=self.first_step,
            )
        )

    def _record(self, step: int, epsilon: float) -> None:
        loss = accuracy = None
        if self._rows:
            loss, accuracy = self._loss / self._rows, self._correct / self._rows
            self.emit(Metric("loss", step, loss))
            self.emit(Metric("accuracy", step, accuracy))
        if self._norms:
            ratios = torch.cat(self._norms).double().cpu()
            ratios = ratios[ratios > 0]  # an empty row has no gradient
            bins = torch.bucketize(ratios, torch.tensor(NORM_EDGES, dtype=torch.float64))
            counts = torch.bincount(bins, minlength=len(NORM_EDGES) + 1)
            self.emit(Spread("norms", step, NORM_EDGES, tuple(counts.tolist())))
            self._norms = []
        self._records.append(Record(step, self.schedule.epoch(step), loss, accuracy, epsilon, self.watch.now))
        self._rows, self._loss, self._correct = 0, 0.0, 0

    def finish(self, step: int, epsilon_at: Callable[[int], float]) -> tuple[Record, ...]:
        """Return the records up to ``step``, the last one, with ε from the finished curve."""
        if step and (not self._records or self._records[-1].step < step):
            self._record(step, 0.0)
        whole = float(self.whole.epsilon)
        return tuple(
            Record(r.step, r.epoch, r.loss, r.accuracy, min(whole, epsilon_at(r.step)), r.memory_bytes)
            for r in self._records
        )
