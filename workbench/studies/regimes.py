"""The ways of training that a study compares: no privacy, a released table of some kind, a private learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.grid import Grid, matrix
from workbench.data.table import Table
from workbench.learners import Learner
from workbench.learners.public_tables import PublicTable
from workbench.learners.tasks import CLASSIFICATION, has_target, target_of, task
from workbench.params import InputError, IntegerField, ParameterError, Parameters, RealField, did_you_mean
from workbench.privacy.accounting.event import exact
from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.local.mechanisms import GRR, mechanism
from workbench.sanitize.calibrated_columns import ProtectedColumn, protected_columns
from workbench.sanitize.plan import AUTO, Column, Plan
from workbench.studies.held_out import HeldOut, seed_of
from workbench.synth import MARGINALS, Synthesiser, synthesiser
from workbench.synth.base import Setting
from workbench.synth.columns import coded_cells
from workbench.synth.resources import require_bounded
from workbench.synth.setting import method_for, setting_for
from workbench.synth.synthesis import cost_of_synthesis, require_payable, synthesised
from workbench.work.noise import Study

_NOT_SET = ("epsilon", "delta", "ask")  # parameters that a study gives itself, or that only a release has

JOINED = "+"  # between several settings of one regime: `private:blocks=20+aggregate=smooth`


def parameters(model: Learner, epsilon: float, settings: Sequence[str]) -> Parameters:
    """Return the parameters of the private model at ``epsilon``.

    ``settings`` are ``NAME=VALUE`` each; a name that comes twice is refused.

    Raises:
        ParameterError: a setting is not ``NAME=VALUE`` of a parameter that a study can set, or its value is refused.
    """
    declared = _declared(model)
    given: dict[str, Any] = {"epsilon": epsilon}
    for setting in settings:
        name, value = _parted(model, setting)
        if name in given:
            raise ParameterError(f"{name} is set twice", hint="set it once")
        given[name] = declared[name].parse(value, name)
    return model.parameters(**given)


def values_against(model: Learner, against: str) -> tuple[str, tuple[float, ...]]:
    """Return the parameter that ``NAME=V1,V2,…`` names and its values, ascending.

    Raises:
        ParameterError: it does not name a number of the model, or not two different values of it above 0 or more.
    """
    name, text = _parted(model, against)
    field = _declared(model)[name]
    if not isinstance(field, IntegerField | RealField):
        raise ParameterError(
            f"{name} is not a number, so nothing can be plotted against it",
            hint="compare values with private:NAME=VALUE",
        )
    values = sorted({field.parse(part.strip(), f"a value of {name}") for part in text.split(",")})
    if len(values) < 2 or values[0] <= 0:
        raise ParameterError(f"a plot against {name} needs at least two values above 0", hint=f"write {name}=5,10,20")
    return name, tuple(values)


def _declared(model: Learner) -> dict[str, Any]:
    return {name: field for name, field in model.parameters.declared().items() if name not in _NOT_SET}


def _parted(model: Learner, setting: str) -> tuple[str, str]:
    declared = _declared(model)
    name, equals, value = setting.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or name not in declared:
        raise ParameterError(
            f"the setting {setting!r} is not NAME=VALUE of a parameter of {model.name}{did_you_mean(name, declared)}",
            hint=f"choose one of {', '.join(declared)}" if declared else "leave it out",
        )
    return name, value.strip()


def setting_of(columns: Sequence[Column], rows: int, epsilon: float, method: Synthesiser | None = None) -> Setting:
    """Return the public facts of a synthesis of ``rows`` rows; the last column is the target."""
    facts = [column.facts() for column in columns]
    return setting_for(facts, len(columns) - 1, rows, exact(epsilon), method=method)


def method_of(columns: Sequence[Column], name: str, rows: int, epsilon: float) -> Synthesiser:
    """Return the method of that name, or the one that is forecast best."""
    return method_for(name, [column.facts() for column in columns], len(columns) - 1, rows, exact(epsilon))


def synthetic_cells(
    columns: Sequence[Column], cells: NDArray[np.uint32], method: Synthesiser, epsilon: float, seed: int
) -> NDArray[np.uint32]:
    """Return as many synthetic rows as there are rows, as cells of the public grids.

    Args:
        columns: the columns, the target last.
        cells: (n, d) cells of the rows.
        method: the way.
        epsilon: ε of one row's whole record.
        seed: of noise and sampling.

    Returns:
        (n, d) cells.
    """
    setting = setting_of(columns, len(cells), epsilon, method)
    noise, drawn = np.random.SeedSequence(seed).spawn(2)
    entropy = SeededEntropy(drawn)
    made = synthesised(
        method,
        setting,
        coded_cells(setting.columns, cells),
        len(cells),
        Study(np.random.Generator(np.random.PCG64(noise)), entropy).ask(cost_of_synthesis(method, setting)),
    )
    return np.column_stack([column.draw(made.codes[:, j], entropy) for j, column in enumerate(setting.columns)])


Kind = Literal["none", "sanitized", "corrected", "synthetic", "private"]
ON_A_TABLE = ("sanitized", "corrected")  # the kinds that train on a sanitised table, and so name its mechanism

PLANNED = "plan"  # in place of a mechanism: each column goes through the mechanism that the plan names for it


@dataclass(frozen=True, slots=True)
class Regime:
    """One way of training."""

    name: str  # as the person wrote it, and as it is in the CSV
    # `none` (no privacy), `sanitized` (an ordinary model on a sanitised table), `corrected` (on the same rows, a model
    # that knows the public tables they went through), `private`.
    kind: Kind
    # The local mechanism of a sanitised table; `auto` for the advisor's choice, `plan` for the plan's.
    mechanism: str = ""
    settings: tuple[str, ...] = ()  # parameters that this private model has other than the study's, `NAME=VALUE` each

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the regime of that name: none, sanitized:MECHANISM, corrected:MECHANISM, synthetic:METHOD or private.

        A private one may have settings of its own, ``private:NAME=VALUE``, several joined by ``+``.

        Raises:
            ParameterError: there is no such regime, mechanism or method.
        """
        kind, colon, mechanism_name = name.partition(":")
        if kind == "synthetic":
            if not mechanism_name:
                raise ParameterError(f"the regime {name!r} has no method", hint=f"write synthetic:{MARGINALS.name}")
            return cls(name, "synthetic", AUTO if mechanism_name == AUTO else synthesiser(mechanism_name).name)
        if kind in ON_A_TABLE:
            if not mechanism_name:
                raise ParameterError(f"the regime {name!r} has no mechanism", hint=f"write {kind}:staircase")
            if mechanism_name not in (AUTO, PLANNED):
                mechanism(mechanism_name)
            return cls(name, "sanitized" if kind == "sanitized" else "corrected", mechanism_name)
        if kind == "private" and mechanism_name:
            return cls(name, "private", settings=tuple(mechanism_name.split(JOINED)))
        if colon or kind not in ("none", "private"):
            near = did_you_mean(kind, ("none", *ON_A_TABLE, "synthetic", "private"))
            raise ParameterError(
                f"the regime {name!r} is not known{near}",
                hint="choose none, sanitized:MECHANISM, corrected:MECHANISM, synthetic:METHOD or private",
            )
        return cls(name, "none" if kind == "none" else "private")

    def with_setting(self, name: str, value: float) -> Regime:
        """Return this private regime with one more setting."""
        setting = f"{name}={value:.12g}"
        return Regime(
            f"{self.name}{JOINED if self.settings else ':'}{setting}", self.kind, settings=(*self.settings, setting)
        )

    @property
    def on_a_table(self) -> bool:
        """Whether it trains on a sanitised table."""
        return self.kind in ON_A_TABLE


@dataclass(frozen=True, eq=False)
class StudyData:
    """A table as the tasks of a study read it; everything in it is private."""

    columns: tuple[Column, ...]  # the attributes of X, in order
    target: Column  # the attribute of y
    # (n, d) numbers, and codes of categories; NaN or one code beyond the domain where a value is missing.
    X: NDArray[np.float64]
    y: NDArray[Any]  # (n,) what is to be predicted: class codes, or numbers within their bounds
    cells: NDArray[np.uint32]  # (n, d + 1) public grid cells of each attribute and, last, of the target

    @classmethod
    def read(cls, table: Table, bounds: Plan, target: str, to_predict: str = CLASSIFICATION) -> Self:
        """Take the columns that ``bounds`` declares and does not drop, of the rows that have something to predict.

        Args:
            table: the rows.
            bounds: declares bounds and domains of the columns.
            target: the column to predict.
            to_predict: the name of the task.

        Raises:
            InputError: a column is not in the table, or a value cannot be used; the message names row and column.
            ParameterError: the target is not declared, or not as the task needs it; a bound or domain is not declared.
        """
        goal_of = task(to_predict)
        goal_of.check(bounds.column(target))
        columns = tuple(
            # A row with nothing to predict can neither train nor be asked about: missing targets are refused, or left
            # out where invalid values are replaced.
            replace(
                c,
                action="protect",
                mechanism=c.mechanism if c.action == "protect" else AUTO,
                epsilon=None,
                weight=weight,
                missing="refuse" if c.name == target else c.missing,
            )
            for c, weight in zip(bounds.columns, _weights(bounds), strict=True)
            if c.action != "drop" or c.name == target
        )
        attributes = tuple(c for c in columns if c.name != target)
        if not attributes:
            raise ParameterError("the plan has no column to learn from", hint="keep at least one column")
        table.require([c.name for c in columns])
        table = bounds.rows_of(table, SeededEntropy(0))
        (goal,) = (c for c in columns if c.name == target)
        cells = np.column_stack([c.grid().encode(table).astype(np.uint32) for c in (*attributes, goal)])
        y = target_of(table, goal)
        known = has_target(y)  # empty rows, where invalid values are replaced
        if not known.any():
            raise InputError(f"no row has a {goal_of.noun}", f"column {target}", "choose another target")
        return cls(attributes, goal, matrix(table, attributes)[known], y[known], cells[known])

    @cached_property
    def _grids(self) -> tuple[Grid, ...]:
        return tuple(column.grid() for column in (*self.columns, self.target))

    def plan(self, regime: Regime, epsilon: float) -> Plan:
        """Return the plan that sanitises the whole row for ``epsilon``.

        Each column goes through the regime's mechanism where it fits its kind and through grr elsewhere; ε is
        divided over attributes and target in the proportions of the plan that declared them, fixed shares included.
        """
        return _plan((*self.columns, self.target), regime.mechanism, epsilon)

    def sanitised(self, regime: Regime, epsilon: float, seed: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return one seeded draw of the whole table, as (X, y) on the public grid."""
        return self.values(self.sanitised_cells(regime, epsilon, seed))

    def synthetic(
        self, regime: Regime, epsilon: float, seed: int, training: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return seeded synthetic rows made of the training rows, as many as these, as (X, y) on the public grid."""
        columns = *self.columns, self.target
        method = method_of(columns, regime.mechanism, len(training), epsilon)
        return self.values(synthetic_cells(columns, self.cells[training], method, epsilon, seed))

    def require(self, regime: Regime, epsilons: Sequence[float]) -> None:
        """Refuse, before any work, released rows that cannot be made.

        Raises:
            ParameterError: a share of ε is too small, or tables are too large for synthetic rows.
        """
        if regime.on_a_table:
            for epsilon in epsilons:
                self.plan(regime, epsilon)
        if regime.kind != "synthetic":
            return
        columns, rows = (*self.columns, self.target), len(self.y)
        method = method_of(columns, regime.mechanism, rows, epsilons[0])
        setting = setting_of(columns, rows, epsilons[0], method)
        require_bounded(setting, method)
        require_payable(method, setting)

    def values(self, cells: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return (n, d + 1) cells as (X, y)."""
        drawn = np.empty(cells.shape)
        for j, grid in enumerate(self._grids):
            of = cells[:, j]
            drawn[:, j] = grid.numbers_of(of.astype(np.uint32)) if grid.attribute.numeric else of
        return drawn[:, :-1], drawn[:, -1].astype(self.y.dtype)

    def sanitised_cells(self, regime: Regime, epsilon: float, seed: int) -> NDArray[np.int64]:
        """Return the same draw as cells, (n, d + 1)."""
        entropy = SeededEntropy(seed)
        protected = _calibrated((*self.columns, self.target), regime.mechanism, epsilon)
        drawn = [column.randomiser.sample(self.cells[:, j], entropy) for j, column in enumerate(protected)]
        return np.column_stack(drawn).astype(np.int64)

    def public_tables(self, regime: Regime, epsilon: float) -> tuple[PublicTable, ...]:
        """Return the public table that each attribute went through, and last the target."""
        return _public_tables((*self.columns, self.target), regime.mechanism, epsilon)


# One: fits come grouped by ε, and a column of 4,096 cells needs 256 MB.
@lru_cache(maxsize=1)
def _calibrated(columns: tuple[Column, ...], chosen: str, epsilon: float) -> tuple[ProtectedColumn, ...]:
    return protected_columns(_plan(columns, chosen, epsilon))


@lru_cache(maxsize=1)
def _public_tables(columns: tuple[Column, ...], chosen: str, epsilon: float) -> tuple[PublicTable, ...]:
    protected = _calibrated(columns, chosen, epsilon)
    return tuple(PublicTable(p.column.facts(), p.grid.cells, p.randomiser) for p in protected)


def _plan(columns: tuple[Column, ...], chosen: str, epsilon: float) -> Plan:
    return Plan(epsilon=epsilon, columns=tuple(replace(c, mechanism=_fitting(c, chosen)) for c in columns))


def _fitting(column: Column, chosen: str) -> str:
    if chosen == PLANNED:
        return column.mechanism
    if chosen != AUTO and mechanism(chosen).refusal(column.grid().cells):
        return GRR.name
    return chosen


def _weights(bounds: Plan) -> list[float]:
    """Return each column's part of ε; a column published as it is gets the mean of the protected ones'."""
    parts: Mapping[str, float] = {name: float(share) for name, share in bounds.shares().items()}
    usual = sum(parts.values()) / len(parts) if parts else 1.0
    return [parts.get(c.name, usual) for c in bounds.columns]


@dataclass(frozen=True, slots=True)
class Fit:
    """One model to train and to be asked about held-out rows."""

    regime: Regime  # the way of training
    epsilon: float | None  # ε of a whole row; `None` without privacy
    repeat: int  # number of the split

    @property
    def name(self) -> str:
        """The fit's name in journals and errors."""
        at = "" if self.epsilon is None else f" at epsilon {self.epsilon:.12g}"
        return f"{self.regime.name}{at}, repeat {self.repeat}"


def predictions(
    fit: Fit,
    data: StudyData,
    model: Learner,
    parameters: Parameters | None,
    training: NDArray[np.int64],
    held_out: NDArray[np.int64],
    *,
    seed: int,
    sanitised_truth: bool,
) -> HeldOut:
    """Train as ``fit`` says and return what the model says about the held-out rows.

    Args:
        fit: the regime, ε and repeat.
        data: the rows.
        model: the learner; the regimes without it train its ordinary model.
        parameters: of the private model at this ε; ``None`` without privacy.
        training: indices of the training rows.
        held_out: indices of the other rows.
        seed: the study's seed; every fit has draws of its own, which no release ever uses.
        sanitised_truth: whether the held-out rows of a sanitised regime are the sanitised ones; a corrected model is
            one of the rows as they are, and is asked about those.
    """
    estimator, X, y = trained(fit, data, model, parameters, training, seed=seed)
    asked, truth = (X, y) if sanitised_truth and fit.regime.kind != "corrected" else (data.X, data.y)
    classes = len(data.target.values()) if model.task == CLASSIFICATION else 0
    return HeldOut.ask(estimator, data.columns, classes, asked[held_out], truth[held_out])


def trained(
    fit: Fit, data: StudyData, model: Learner, parameters: Parameters | None, training: NDArray[np.int64], *, seed: int
) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Return the model that ``fit`` trains, and (X, y) of all rows as it read them; arguments as above."""
    # The corrected model learns from the very rows of the sanitised regime: what differs is what it makes of them.
    rows_of = f"sanitized:{fit.regime.mechanism}" if fit.regime.kind == "corrected" else fit.regime.name
    drawn = seed_of(seed, rows_of, fit.epsilon, fit.repeat)
    X: NDArray[Any] = data.X
    y = data.y
    estimator: Any
    if fit.regime.kind == "private":
        assert parameters is not None
        noise = Study(np.random.Generator(np.random.PCG64(drawn)))
        estimator = model.private(data.columns, data.target, parameters, noise)
    elif fit.regime.kind == "corrected":
        assert fit.epsilon is not None
        assert model.corrected is not None  # the curve's plan has asked
        model.require(data.columns, data.target)
        *tables, of_target = data.public_tables(fit.regime, fit.epsilon)
        answers = data.sanitised_cells(fit.regime, fit.epsilon, drawn)
        estimator, X, y = model.corrected(tables, of_target), answers[:, :-1], answers[:, -1]
    else:
        model.require(data.columns, data.target)
        assert model.ordinary is not None  # the curve's plan has asked
        estimator = model.ordinary(data.columns, data.target)
        if fit.epsilon is not None and fit.regime.kind == "sanitized":
            X, y = data.sanitised(fit.regime, fit.epsilon, drawn)
    if fit.regime.kind == "synthetic":
        assert fit.epsilon is not None
        # Made of the training rows alone: the held-out ones are nowhere in it.
        estimator.fit(*data.synthetic(fit.regime, fit.epsilon, drawn, training))
    else:
        estimator.fit(X[training], y[training])
    return estimator, X, y
