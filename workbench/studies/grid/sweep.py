"""Train every combination of a sweep on 80/20 splits, on several processes or the workers of a scheduler.

A sweep is private: its accuracies come from held-out private rows, its draws from seeded generators that no release
uses, and nothing of it can be released.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import workbench
from workbench.deep.features import Features, TrainingData
from workbench.deep.plan import AUTO, CPU, CUDA, DpSgdPlan, Schedule
from workbench.learners.tasks import EMPTY
from workbench.params import InputError
from workbench.privacy.accounting.concentrated import renyi_total
from workbench.privacy.accounting.event_alternatives import PoissonStep, SimpleEvent
from workbench.privacy.accounting.private_selection import Selection, best_of
from workbench.privacy.entropy import SeededEntropy
from workbench.processes.runner import runner
from workbench.signals import NEVER, CancelToken, Emit, Notice, Progress, ignore
from workbench.studies.grid.files import FIGURES, FinishedRun, GridSpec, RunsFile, row_of, run_name
from workbench.studies.held_out import seed_of, stratified_split
from workbench.work.noise import Study


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """Rows as a network takes them."""

    features: Features  # the public map that made them
    inputs: NDArray[np.float32]  # (n, width)
    targets: NDArray[np.int64]  # class codes (n,), −1 of an empty row
    rows_per_person: int = 1  # maximum rows per person

    @classmethod
    def of(cls, data: TrainingData, rows_per_person: int = 1) -> LoadedRows:
        """Read all rows of ``data``."""
        return cls(data.features, *data.load(), rows_per_person)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.targets)

    def load(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return inputs and classes."""
        return self.inputs, self.targets

    def part(self, rows: NDArray[np.int64]) -> LoadedRows:
        """Return those rows."""
        return replace(self, inputs=self.inputs[rows], targets=self.targets[rows])


@dataclass(frozen=True)
class _Task:
    setting: DpSgdPlan
    calibrated: DpSgdPlan
    schedule: Schedule
    repeat: int

    @property
    def stated(self) -> str:
        return f"{self.setting.network}, repeat {self.repeat}"


def kind_of_devices(spec: GridSpec) -> str:
    """Return what the settings of ``spec`` that name no device are trained on: ``cpu`` or ``cuda``."""
    from workbench.deep.devices import gpus

    return CUDA if any(setting.device == AUTO for setting in spec.settings) and gpus() else CPU


def study_name(spec: GridSpec, data: LoadedRows, kind: str = CPU) -> str:
    """Return eight digits that differ for other rows, declarations, seed, version or kind of device.

    A GPU rounds differently, and may make noise of its own from the same seed.
    """
    digest = hashlib.sha256()
    for array in (data.inputs, data.targets):
        digest.update(repr((array.shape, str(array.dtype))).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    declared = [repr(a) for a in (*data.features.attributes, data.features.target)]
    digest.update(repr((workbench.__version__, spec.file.seed, declared, data.rows_per_person)).encode())
    if kind != CPU:
        digest.update(kind.encode())
    return digest.hexdigest()[:8]


def run_grid(
    spec: GridSpec,
    data: LoadedRows,
    output: Path,
    *,
    schedules: Sequence[Schedule] = (),
    jobs: int = 1,
    scheduler: str | None = None,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> tuple[FinishedRun, ...]:
    """Run what of ``spec`` is not yet in ``output``; each run is a line of it as soon as it ends.

    Args:
        spec: the sweep.
        data: the rows; every network sees four fifths of them.
        output: the CSV. Where it holds runs of the same study they are kept, and not done again.
        schedules: the values of :func:`schedules_of`, if the caller has them.
        jobs: worker processes; the figures do not depend on how many.
        scheduler: address of a Dask scheduler whose workers train instead; they receive the rows. They are taken to
            have the same kind of device as this computer.
        emit: receives progress, and a warning before rows leave this computer unencrypted.
        cancel: stops at once; finished runs stay in the file.

    Returns:
        The runs of ``spec``, in its order.

    Raises:
        InputError: the table is too small to be split, or ``output`` is not the CSV of this study.
        BudgetRefusedError: a setting has a cap below one step's cost.
    """
    # Figures of a GPU are not those of the processor, so neither goes on with a file of the other.
    study = study_name(spec, data, kind_of_devices(spec))
    schedules = schedules or schedules_of(spec, data, cancel)
    tasks = [
        _Task(setting, _calibrated(setting, schedule), schedule, repeat)
        for setting, schedule in zip(spec.settings, schedules, strict=True)
        for repeat in range(spec.file.repeats)
    ]
    names = {task: run_name(study, task.setting, task.repeat) for task in tasks}
    spent = lru_cache(maxsize=256)(lambda schedule, steps: float(schedule.cost(steps).epsilon))
    with RunsFile(output, study) as book:
        rest = [task for task in tasks if names[task] not in book.done]
        ended = len(tasks) - len(rest)
        if ended:
            emit(Notice("info", f"{ended} of {len(tasks)} runs are in {output.name} already and are kept"))
        emit(Progress(ended, len(tasks), "runs"))
        run = runner(jobs, scheduler, cancel, emit)
        ended_runs = run(_one, (data, spec.file.seed), rest, name=lambda task: task.stated, group=lambda task: task)
        with closing(ended_runs) as results:
            for task, found in results:
                name = names[task]
                figures = {**found, "epsilon_spent": spent(task.schedule, int(found["steps"]))}
                book.append(row_of(name, task.setting, task.repeat, figures))
                book.done[name] = FinishedRun(name, task.setting.to_plain(), task.repeat, figures)
                ended += 1
                emit(Progress(ended, len(tasks), "runs"))
        return tuple(book.done[names[task]] for task in tasks)


def schedules_of(spec: GridSpec, data: LoadedRows, cancel: CancelToken = NEVER) -> tuple[Schedule, ...]:
    """Return what every setting means for the rows that its networks see: four fifths of ``data``.

    Settings that differ in what costs nothing, such as the learning rate, share the search for their noise.

    Raises:
        InputError: the table is too small to be split.
        BudgetRefusedError: a setting has a cap below one step's cost.
    """
    rows = len(_split(data, spec.file.seed, 0)[0])
    found: dict[tuple[Any, ...], Schedule] = {}
    out = []
    for setting in spec.settings:
        cancel.check()
        key = tuple(getattr(setting, n) for n in ("epsilon", "noise", "delta", "batch", "epochs", "accountant"))
        if key not in found:
            found[key] = setting.schedule(rows, data.rows_per_person)
        event = replace(found[key].event, label=f"DP-SGD {setting.network}")
        out.append(replace(found[key], clip=setting.clip, event=event))
    return tuple(out)


def _calibrated(setting: DpSgdPlan, schedule: Schedule) -> DpSgdPlan:
    """Return ``setting`` with the noise that was found for it, so that no worker searches for it again.

    Its accountant only draws a curve that nobody looks at: what a run cost follows from ``schedule``.
    """
    if schedule.steps < schedule.steps_asked:
        return setting  # a cap ends it
    return replace(setting, noise=schedule.event.noise_multiplier, epsilon=None, accountant="rdp")


def _split(data: LoadedRows, seed: int, repeat: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the split that all settings of a repeat share, so that they can be compared pair by pair."""
    return stratified_split(data.targets, seed_of(seed, "split", repeat))


def _one(shared: tuple[LoadedRows, int], task: _Task) -> dict[str, float]:
    """Do one run; a worker process calls this."""
    from workbench.deep.model import TrainedModel
    from workbench.deep.trainer import train

    data, seed = shared
    training, held_out = _split(data, seed, task.repeat)
    own = (seed, repr(sorted(task.setting.to_plain().items())), task.repeat)
    done = train(
        task.calibrated,
        data.part(training),
        Study(np.random.default_rng(seed_of("noise", *own)), SeededEntropy(seed_of("coins", *own))),
        rows_per_person=data.rows_per_person,
    )
    tested = data.part(held_out)
    known = tested.targets[tested.targets != EMPTY]
    if not len(known):
        raise InputError("no held-out row has a class", hint="use a table with more rows that have a class")
    learned = data.targets[training]
    largest = np.bincount(learned[learned != EMPTY], minlength=1).argmax()
    figures = (
        TrainedModel.of(done).accuracy(tested),
        float(np.mean(known == largest)),
        math.nan,  # the caller knows
        done.schedule.event.noise_multiplier,
        done.steps,
        round(done.seconds, 3),
        done.peak_memory_bytes,
    )
    return dict(zip(FIGURES, map(float, figures), strict=True))


CAVEAT = (
    "Choosing settings by these figures reveals something about the rows: a model with the best settings has "
    "the ε of its own run only if the settings were chosen on public data."
)


@dataclass(frozen=True)
class Publishing:
    """ε of publishing the best of k settings, each run once on as many rows as in the sweep; zero-out neighbours."""

    settings: int  # k
    delta: float  # δ of the figures: the largest of any setting
    largest: float  # ε of the dearest run alone, for a person with all her rows
    plain_sum: float  # the sum of all runs' ε, for a person with all her rows; its δ is the sum of theirs
    # All runs at `delta` by Rényi divergence, every run may then be shown; `None` where a person may have several rows,
    # of which no divergence is known.
    composed: float | None
    # A random number of tries, k expected, of which the best alone is shown; `None` there as well.
    selected: Selection | None


def publishing(schedules: Sequence[Schedule]) -> Publishing:
    """Return what publishing the best of the runs of ``schedules`` would cost."""
    delta = max(schedule.delta for schedule in schedules)
    costs = [float(schedule.cost().epsilon) for schedule in schedules]
    if any(schedule.rows_per_person > 1 for schedule in schedules):
        return Publishing(len(schedules), delta, max(costs), sum(costs), None, None)
    leaves: dict[SimpleEvent, int] = {}
    for schedule in schedules:
        event = schedule.event.independent()
        step = PoissonStep(event.sample_rate, event.noise_multiplier, rows=1)
        leaves[step] = leaves.get(step, 0) + event.steps
    composed = renyi_total(leaves, delta, classic=False)
    assert composed is not None  # known of every single row
    selected = best_of([schedule.event for schedule in schedules], delta, len(schedules))
    return Publishing(len(schedules), delta, max(costs), sum(costs), composed[0], selected)


def publishing_words(found: Publishing) -> tuple[str, ...]:
    """Return it in sentences; the last one says what choosing by a sweep gives away."""
    k, sum_of_all = found.settings, f"their plain sum is {found.plain_sum:.4g}"
    if k == 1:
        return (CAVEAT,)
    if found.composed is None or found.selected is None:
        return (f"Publishing the best of these {k} settings costs as much as all runs together: {sum_of_all}.", CAVEAT)
    chosen = found.selected
    return (
        f"Publishing the best of these {k} settings: if all runs are shown, the cost is ε = "
        f"{found.composed:.4g} at δ = {found.delta:g} ({sum_of_all}).",
        f"Or draw a secret number of tries from the {chosen.number} distribution with mean {k}, draw one "
        "setting at random for each try (with replacement), and show only the best try, found on public rows: ε "
        f"= {chosen.epsilon:.4g} at δ = {found.delta:g} (Papernot & Steinke 2022).",
        CAVEAT,
    )
