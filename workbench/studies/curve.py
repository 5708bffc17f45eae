"""Utility against ε: the same splits without privacy, on a sanitised table (corrected or not), with a private learner.

A study is private: its figures come from held-out private rows, its draws from seeded generators that no release
uses, and nothing of it can be released.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

import workbench
from workbench.learners import learner
from workbench.learners.tasks import CLASSIFICATION
from workbench.params import InputError, ParameterError, Parameters, choice, integer, parse_json, text, texts
from workbench.params.lists import levels
from workbench.processes.runner import runner
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore
from workbench.studies.held_out import HeldOut, held_out_sizes, seed_of, stratified_split
from workbench.studies.metrics import ACCURACY, AUC, BY_CHANCE, Levels, Measured, measured
from workbench.studies.regimes import Fit, Regime, StudyData, parameters, predictions, values_against
from workbench.studies.results import Point, Row, Tally

SYNC_EVERY = 1.0  # seconds of work that a power cut can lose; a killed process loses nothing that was appended

FORGET_AFTER = 30 * 86400.0  # seconds after which the record of a study that nobody continued is removed

Figures = dict[str, float]


class Journal:
    """A file of one JSON line per finished task, in the user's own folder and not beside the output.

    Its name is a hash of the study (plan, data, version), so that only the same study can continue it. It contains
    figures of private rows: only the user can read the folder and the file, and :meth:`discard` removes it as soon as
    the result is saved.

    Attributes:
        path: the file.
        done: figures of the finished tasks by the tasks' names.
    """

    def __init__(self, path: Path, stream: IO[bytes], done: dict[str, Figures]) -> None:
        self.path, self.done = path, done
        self._stream = stream
        self._synced = time.monotonic()

    @classmethod
    def open(cls, folder: Path, identity: Mapping[str, Any]) -> Self:
        """Open the journal of the study that ``identity`` describes, new or with what an earlier run finished.

        Raises:
            InputError: the folder or the file cannot be written.
        """
        text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _forget_old(folder)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise _refused(error, path) from None
        stream = os.fdopen(descriptor, "r+b")
        done, end = _read(stream.read())
        # A line that a kill or a power cut left half-written goes; the next one starts where it began.
        stream.truncate(end)
        stream.seek(end)
        return cls(path, stream, done)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, task: str, figures: Figures) -> None:
        """Keep the figures of a finished task.

        Raises:
            InputError: the file cannot be written (a full disk).
        """
        self.done[task] = figures
        try:
            self._stream.write(json.dumps([task, figures]).encode() + b"\n")
            self._stream.flush()
            if time.monotonic() - self._synced > SYNC_EVERY:
                os.fsync(self._stream.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise _refused(error, self.path) from None

    def close(self) -> None:
        """Close the file; what was appended stays."""
        # After a full disk, close tries to write and fails again: that was reported already.
        with contextlib.suppress(OSError):
            self._stream.close()

    def discard(self) -> None:
        """Remove the file: the study has ended and its result is kept elsewhere."""
        self.close()
        # Windows refuses while a second run of the same study has it open; that run removes it.
        with contextlib.suppress(PermissionError):
            self.path.unlink(missing_ok=True)


def _forget_old(folder: Path) -> None:
    for path in folder.glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # another run has removed it or has it open
            if time.time() - path.stat().st_mtime > FORGET_AFTER:
                path.unlink()


def _read(content: bytes) -> tuple[dict[str, Figures], int]:
    done: dict[str, Figures] = {}
    end = 0
    for line in content.splitlines(keepends=True):
        try:
            task, figures = parse_json(line.decode(), "record")
            done[str(task)] = {str(k): float(v) for k, v in figures.items()}
        except (InputError, ValueError, TypeError, AttributeError):
            break
        if not line.endswith(b"\n"):
            done.pop(str(task))
            break
        end += len(line)
    return done, end


def _refused(error: OSError, path: Path) -> InputError:
    return InputError(
        f"the log of finished tasks cannot be written: {error.strerror or type(error).__name__}",
        str(path),
        "free some space there or set another home folder",
    )


RAW, SANITIZED = "raw", "sanitized"
MOST_REGIMES = 7  # most lines in one picture: more cannot be distinguished


@dataclass(frozen=True, kw_only=True)
class CurvePlan(Parameters):
    """What a curve compares."""

    model: str = text(default="naive-bayes", help="the model")
    regimes: tuple[str, ...] = texts(
        default=("none", "sanitized:staircase", "private"),
        shortest=1,
        most=MOST_REGIMES,
        help="training regimes: none, sanitized:MECHANISM, corrected:MECHANISM (the sanitised rows, with a model that "
        "corrects for the mechanism), synthetic:METHOD (rows drawn from noisy counts), private (optionally with "
        "settings: private:blocks=20); MECHANISM may also be plan or auto",
    )
    epsilons: tuple[float, ...] = levels(
        default=(0.1, 0.3, 1.0, 3.0, 10.0),
        at_least=1e-4,
        symbol="ε",
        help="values of ε for a whole row, such as 0.1,1,10 or 0.1:100:13",
    )
    repeats: int = integer(default=20, at_least=1, upto=10_000, help="number of 80/20 splits to average over")
    seed: int = integer(default=0, at_least=0, upto=2**63 - 1, help="seed of the splits and the noise")
    evaluate: str = choice(
        choices=(RAW, SANITIZED), default=RAW, help="held-out rows of a sanitised regime: raw or sanitized"
    )
    settings: tuple[str, ...] = texts(
        default=(),
        flag="set",
        help="parameters of the private model, such as blocks=20,aggregate=smooth (default: the model's defaults)",
    )
    against: str | None = text(
        default=None,
        help="plot against a parameter of the private model instead of epsilon, such as blocks=5,10,20; one line per "
        "epsilon",
    )

    def __post_init__(self) -> None:
        """Check the values, the model's name, every regime and every setting."""
        super().__post_init__()
        chosen = learner(self.model)
        ways = self.ways
        if self.against:
            self._check_against()
        for way in (Regime.parse("private"), *ways):
            self.parameters(self.epsilons[0], way)
        if chosen.ordinary is None and any(way.kind != "private" for way in ways):
            raise ParameterError(
                f"there is no ordinary model of the same family as {chosen.name} to train without privacy or on "
                "sanitised or synthetic rows",
                hint="choose only the regime private",
            )
        if chosen.corrected is None and any(way.kind == "corrected" for way in ways):
            raise ParameterError(
                f"{chosen.name} cannot correct for the mechanism of a sanitised table",
                hint="leave out the regimes corrected:MECHANISM",
            )
        if self.evaluate == SANITIZED and not any(way.kind == "sanitized" for way in ways):
            raise ParameterError(
                "evaluate = sanitized needs a sanitised regime", hint="add sanitized:MECHANISM to the regimes"
            )

    def _check_against(self) -> None:
        kinds = sorted(Regime.parse(name).kind for name in self.regimes)
        if kinds not in (["private"], ["none", "private"]):
            raise ParameterError(
                f"only the private model has {self.compared[0]}; without privacy there is a single reference line",
                hint="write --regimes private or --regimes none,private",
            )
        if len(self.epsilons) > MOST_REGIMES:
            raise ParameterError(
                f"there would be {len(self.epsilons)} lines, one per epsilon", hint=f"give {MOST_REGIMES} or fewer"
            )

    @property
    def measured(self) -> Measured:
        """What is measured: it follows from what the model predicts."""
        return measured(learner(self.model).task)

    def parameters(self, epsilon: float, way: Regime) -> Parameters:
        """Return the parameters of the private model at ``epsilon``: the settings of the plan, and those of ``way``.

        Raises:
            ParameterError: a setting is not ``NAME=VALUE`` of a parameter that a study can set.
        """
        return parameters(learner(self.model), epsilon, (*self.settings, *way.settings))

    @property
    def compared(self) -> tuple[str, tuple[float, ...]]:
        """The parameter that the figures are drawn against and its values; an empty name where that is ε."""
        return values_against(learner(self.model), self.against) if self.against else ("", ())

    @property
    def ways(self) -> tuple[Regime, ...]:
        """The regimes, parsed; a private one once for each value of what is compared."""
        name, values = self.compared
        ways = []
        for way in map(Regime.parse, self.regimes):
            each = [way.with_setting(name, value) for value in values] if way.kind == "private" else []
            ways += each or [way]
        return tuple(ways)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the ways, as they are in the CSV."""
        return tuple(way.name for way in self.ways)

    def fits(self) -> tuple[Fit, ...]:
        """Return every model to train; one without privacy is used at every ε of its repeat."""
        out = []
        for way in self.ways:
            for epsilon in (None,) if way.kind == "none" else self.epsilons:
                out += [Fit(way, epsilon, repeat) for repeat in range(self.repeats)]
        return tuple(out)


@dataclass(frozen=True, eq=False)
class CurveResult:
    """A finished curve."""

    plan: CurvePlan  # what was compared
    rows: tuple[Row, ...]  # every figure; of a finished curve by regime (in the plan's order), ε, repeat and metric
    points: tuple[Point, ...]  # summaries of the repeats, by regime, ε and metric
    # By metric, the mean figure on the held-out rows of always giving the one answer that fits the training rows best
    # (the largest class, the mean), or of a model that looks at no row.
    levels: Levels
    table_rows: int  # number of rows of the table

    @property
    def left_out(self) -> dict[str, str]:
        """By the name of each metric that could not be measured, or not of every regime, a sentence that says so."""
        ways = {point.regime for point in self.points}
        found = {}
        for metric in self.plan.measured.metrics:
            measured_of = {point.regime for point in self.points if point.metric == metric.name}
            without = [way for way in self.plan.names if way in ways - measured_of]
            if without and metric.absent:
                of = "" if len(without) == len(ways) else f" No result for {', '.join(without)}."
                found[metric.name] = metric.absent + of
        return found


def identity(plan: CurvePlan, data: StudyData) -> dict[str, Any]:
    """Return what a curve's figures follow from, for :class:`Journal`: another version, plan or table is another."""
    digest = hashlib.sha256()
    for array in (data.X, data.y, data.cells):
        digest.update(repr((array.shape, str(array.dtype))).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    declared = [(*sorted(c.to_plain().items()),) for c in (*data.columns, data.target)]
    return {
        "study": "curve",
        "version": workbench.__version__,
        # Not the lists of regimes and ε nor the number of repeats: a longer list continues a shorter one.
        "plan": {
            "model": plan.model,
            "seed": plan.seed,
            "evaluate": plan.evaluate,
            "settings": sorted(plan.settings),
        },
        "metrics": [metric.name for metric in plan.measured.metrics],
        "declared": repr(declared),
        "data": digest.hexdigest(),
    }


def run_curve(
    plan: CurvePlan,
    data: StudyData,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    journal: Journal | None = None,
    on_rows: Callable[[tuple[Row, ...]], None] | None = None,
    levels: Levels | None = None,
) -> CurveResult:
    """Train and evaluate every model of ``plan``.

    Args:
        plan: what to compare.
        data: the rows.
        jobs: number of worker processes; the figures do not depend on it.
        scheduler: address of a Dask scheduler whose workers train instead; they receive the rows.
        emit: receives progress, and a warning before rows leave this computer unencrypted.
        cancel: stops at once; finished fits stay in the journal.
        journal: the finished fits of an earlier run of the same study; this run adds its own.
        on_rows: receives the rows of each fit as it ends, those of the journal first.
        levels: the values of :func:`constant_levels`, if the caller has them.

    Raises:
        InputError: the table is too small to be split.
        ParameterError: a share of ε is too small for a mechanism; ``scheduler`` is malformed.
        WorkbenchError: workers died, or the scheduler cannot be reached.
    """
    fits = plan.fits()
    for way in plan.ways:
        data.require(way, plan.epsilons)
    figures: dict[Fit, Figures] = {}
    label = f"curve: {learner(plan.model).title}"

    def take(fit: Fit, values: Figures) -> None:
        figures[fit] = values
        if on_rows is not None:
            on_rows(tuple(_rows_of(plan, fit, values)))
        emit(Progress(len(figures), len(fits), label))

    kept = {} if journal is None else journal.done
    emit(Progress(0, len(fits), label))
    for fit in fits:
        if fit.name in kept:
            take(fit, kept[fit.name])
    rest = [fit for fit in fits if fit not in figures]
    run = runner(jobs, scheduler, cancel, emit)
    # A worker builds the tables of one ε once for all repeats.
    with closing(
        run(_figures, (plan, data), rest, name=lambda fit: fit.name, group=lambda fit: (fit.regime.name, fit.epsilon))
    ) as results:
        for fit, values in results:
            if journal is not None:
                journal.append(fit.name, values)
            take(fit, values)
    rows = in_order(plan, (row for fit in fits for row in _rows_of(plan, fit, figures[fit])))
    levels = constant_levels(plan, data) if levels is None else levels
    return CurveResult(plan, rows, Tally(rows).points(), levels, len(data.y))


def _figures(shared: tuple[CurvePlan, StudyData], fit: Fit) -> Figures:
    """Do one fit; a worker process calls this."""
    plan, data = shared
    training, held_out = _split(plan, data, fit.repeat)
    said = predictions(
        fit,
        data,
        learner(plan.model),
        None if fit.epsilon is None else plan.parameters(fit.epsilon, fit.regime),
        training,
        held_out,
        seed=plan.seed,
        sanitised_truth=plan.evaluate == SANITIZED,
    )
    return plan.measured.measure(said, data.target)


def _split(plan: CurvePlan, data: StudyData, repeat: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the split that all regimes of a repeat share, so that they can be compared pair by pair."""
    return stratified_split(plan.measured.strata(data.y), _split_seed(plan, repeat))


def _split_seed(plan: CurvePlan, repeat: int) -> int:
    return seed_of(plan.seed, "split", repeat)


def _rows_of(plan: CurvePlan, fit: Fit, values: Figures) -> Iterator[Row]:
    for epsilon in plan.epsilons if fit.epsilon is None else (fit.epsilon,):
        for metric, value in values.items():
            yield Row(fit.regime.name, epsilon, fit.repeat, metric, value)


def in_order(plan: CurvePlan, rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return ``rows`` by regime (in the plan's order), ε, repeat and metric (in the order given)."""
    # Many short sorts: one long one would hold the interpreter, and with it a window, until its last comparison.
    groups: dict[tuple[int, float], list[Row]] = {}
    place = {name: i for i, name in enumerate(plan.names)}
    for row in rows:
        groups.setdefault((place[row.regime], row.epsilon), []).append(row)
    return tuple(row for key in sorted(groups) for row in sorted(groups[key], key=lambda row: row.repeat))


def constant_levels(plan: CurvePlan, data: StudyData) -> dict[str, float]:
    """Return by metric the mean figure on held-out rows of always giving the best constant answer of the training rows.

    Of a task without such an answer it is that of the model's descriptor that looks at no row. Only of the metrics that
    draw it as a level.
    """
    study = plan.measured
    drawn = [metric.name for metric in study.metrics if metric.level]
    if study.task == CLASSIFICATION:  # from the sizes of the classes alone, without looking for the rows
        return {ACCURACY: _majority(plan, data), AUC: BY_CHANCE}
    figures = []
    for repeat in range(plan.repeats):
        training, held_out = _split(plan, data, repeat)
        if study.constant is None:
            blind = learner(plan.model).blind
            assert blind is not None  # what makes columns is compared with one that looks at no row
            made = blind(data.columns, data.target)
            stated = HeldOut.ask(made, data.columns, 0, data.X[held_out], data.y[held_out])
        else:
            stated = HeldOut(data.y[held_out], np.full(len(held_out), study.constant(data.y[training])))
        figures.append(study.measure(stated, data.target))
    return {name: sum(found[name] for found in figures) / len(figures) for name in drawn}


def _majority(plan: CurvePlan, data: StudyData) -> float:
    sizes = np.unique(data.y, return_counts=True)[1]
    shares = []
    for repeat in range(plan.repeats):
        held, _ = held_out_sizes(sizes, _split_seed(plan, repeat))
        shares.append(float(held[(sizes - held).argmax()] / held.sum()))
    return sum(shares) / len(shares)
