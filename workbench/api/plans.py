"""A plan from declared facts, as keyword arguments, and how it is shown in a notebook."""

from __future__ import annotations

import dataclasses
import datetime
import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Self

import pandas as pd

from workbench.api.datasets import mark_of
from workbench.api.frames import Place, Shown, cell_text, columns_beside, frame_of, names_of, path_of, short
from workbench.data.columns.values_file import FoundValue, found_attributes, person_limit
from workbench.data.person_join import Join
from workbench.data.schema import OWN_VALUE, RELEASED, Attribute
from workbench.params import ParameterError
from workbench.params.field import IntegerField, did_you_mean, plain_scalar
from workbench.privacy.accounting.event import exact
from workbench.release.delta_limit import require_small_delta
from workbench.release.values_work import released_values
from workbench.sanitize import plan as sanitize_plan
from workbench.sanitize.budget_split import target_weight
from workbench.sanitize.forecast import forecast
from workbench.sanitize.intended_use import IntendedUse, PlanQuestions, parse_uses
from workbench.sanitize.plan import AUTO, REFUSE, REPLACE, Column
from workbench.sanitize.wishes import Wish
from workbench.studies.kind_comparison import compare_kinds
from workbench.studies.solve import Wanted

Bounds = Mapping[str, tuple[Any, Any]]
Domains = Mapping[str, Sequence[Any]]
NUMERIC, NAMED = ("integer", "real", "date"), ("category", "boolean")
_ROWS = IntegerField(help="number of rows", at_least=1, upto=10**12)
_MOST_SHOWN = 6


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Shown, sanitize_plan.Plan):
    """What is released from a table, and for which ε of one row's whole record.

    Attributes:
        follows: columns whose kind nobody stated: it follows the dtype of the DataFrame that the plan is used with.
    """

    follows: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    def forecast(self, rows: int | None = None) -> pd.DataFrame:
        """Return what the plan costs and does to each column; reads no data and spends nothing.

        Args:
            rows: how many rows there are, for the error of a mean.

        Returns:
            One row a column: ``column``, ``mechanism``, ``epsilon`` (its share), ``exact_epsilon``,
            ``expected_absolute_error`` (of one value; of names the chance of a change), ``constant_error`` (of one
            fixed value in every row), ``advised``, and with ``rows`` ``mean_error``. ``attrs`` hold ``epsilon_total``
            (what is charged), ``outside`` (what ε does not cover), and with ``rows`` the ``advised`` way to release
            and its ``reason``.
        """
        made = forecast(self)
        count = None if rows is None else int(_ROWS.check(rows, "rows"))
        keys = ("mechanism", "epsilon", "exact_epsilon", "expected_absolute_error", "constant_error", "advised")
        stated: dict[str, list[Any]] = {"column": [c.name for c in made.columns]}
        stated |= {key: [c.to_plain()[key] for c in made.columns] for key in keys}
        attrs: dict[str, Any] = {"epsilon_total": float(made.epsilon_total), "outside": list(made.outside)}
        if count is not None:
            stated["mean_error"] = [c.mean_error(count) for c in made.columns]
            ways = compare_kinds(self, count, made).to_plain()
            attrs |= {"advised": ways["advised"], "reason": ways["reason"]}
        return frame_of(stated, **attrs)

    def facts_shown(self) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
        """Return the heading, the settings and the columns, as they are shown."""
        settings: dict[str, Any] = {"ε": self.epsilon}
        settings |= {"rows per person": self.rows_per_person} if self.rows_per_person > 1 else {}
        settings |= {"person": self.unit} if self.unit is not None else {}
        settings |= {"joined on": self.joined_on} if self.joined_on is not None else {}
        settings |= {"account": self.account} if self.account is not None else {}
        for action in ("protect", "drop", "keep"):
            names = [c.name for c in self.columns if c.action == action]
            settings |= {action: _stated(names)} if names else {}
        return "Plan", settings, [self._row(c) for c in self.columns]

    def _row(self, column: Column) -> dict[str, Any]:
        plain = column.to_plain()
        values = [short(plain.get("lower", "?")), short(plain.get("upper", "?"))] if column.numeric else []
        shown = " … ".join(values) if values else ", ".join((column.domain or ())[:_MOST_SHOWN])
        more = len(column.domain or ()) - _MOST_SHOWN
        return {
            "column": column.name,
            "action": column.action,
            "kind": (column.kind or "") + (" (or as the DataFrame has it)" if column.name in self.follows else ""),
            "bounds or values": shown + (f" and {more} more" if more > 0 else ""),
            "mechanism": column.mechanism if column.action == "protect" else "",
            "role": column.role or "",
        }


def load_plan(path: Place) -> Plan:
    """Return the plan in the file ``path``, text or a ``Path``.

    Raises:
        InputError: the file cannot be read, or public facts are still marked ``"?"``.
        ParameterError: a key or a value is refused; the message names it and the place.
    """
    return _as_shown(sanitize_plan.load_plan(path_of(path)))


def plan(
    frame: pd.DataFrame | None = None,
    *,
    epsilon: float,
    bounds: Bounds | None = None,
    domains: Domains | None = None,
    kinds: Mapping[str, str] | None = None,
    target: str | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    mechanism: str | Mapping[str, str] = AUTO,
    missing: Iterable[str] = (),
    missing_codes: Mapping[str, Iterable[Any]] | None = None,
    invalid: str = REFUSE,
    rows_per_person: int | None = None,
    unit: str | None = None,
    join: pd.DataFrame | None = None,
    on: str | None = None,
    account: str | None = None,
    recipient: str | None = None,
    need: Iterable[str] | None = None,
    ask: Iterable[str] = (),
    want: Iterable[str] = (),
    values: Place | None = None,
) -> Plan:
    """Return a plan. All that it says of the columns must be publicly known; no value is read from a table.

    Args:
        frame: the table, of which names and dtypes of the columns are taken, and the account of a dataset. A dtype
            counts as publicly known, as the names do: it is part of the schema. pandas makes a column of whole numbers
            ``float64`` where one is missing; say ``kinds={"age": "integer"}`` for it.
        epsilon: privacy loss of one row's whole record.
        bounds: (lower, upper) by column of numbers or dates (dates, timestamps or text such as ``1990-12-31``).
        domains: the possible values by column of categories.
        kinds: ``integer``, ``real``, ``date``, ``category`` or ``boolean`` by column. Of a column with bounds it
            otherwise follows the dtype of ``frame``, or of the DataFrame that the plan is used with: a column of
            decimals is real whatever its bounds are. Of text two whole bounds declare whole numbers. A column of
            dtype bool needs neither bounds nor a domain.
        target: the column to predict: synthetic rows and models need it most, so classes get more of ε.
        drop: columns that are left out.
        keep: columns that are published as they are; epsilon says nothing of them.
        mechanism: the local mechanism of every column, or by column; ``auto`` is the advisor's choice.
        missing: columns in which a missing value is one more value; elsewhere it is refused.
        missing_codes: what the table holds where a value is missing, by column, such as ``{"age": [-9, 99]}``.
        invalid: ``refuse`` or ``replace``: whether a cell that cannot be used is an error or a missing value.
        rows_per_person: maximum rows per person; multiplies the charge. By default 1, or what ``values`` has found.
        unit: the column that identifies a person: of each, ``rows_per_person`` rows are read, chosen at random, and the
            others are emptied. It is left out, and invalid values are replaced.
        join: a second table about the same persons, which is joined on ``unit``: its columns are planned as those of
            ``frame`` are; one of a name that ``frame`` has, too, ends in ``_2``.
        on: the column of ``join`` that identifies a person; by default it is called as ``unit`` is.
        account: public name of the account that pays.
        recipient: who gets the release: ``anyone`` (ε up to 1), ``named`` (up to 3) or ``us`` (up to 10).
        need: the columns of ``frame`` that they need; the others are left out.
        ask: how they will use it: ``averages``, ``pairs``, ``model:COLUMN``, ``rows``, ``figures``.
        want: figures and how near to the truth they must be, such as ``mean(age) ± 2``.
        values: the file of a release of values, of which bounds, domains and rows of a person are taken that are not
            declared here.

    Raises:
        InputError: ``values`` is no such release.
        ParameterError: a column is named twice, not in the frame or not declared, or a fact is not one that a plan
            can hold.
    """
    mark, joining = mark_of(frame), None
    if join is not None:
        if unit is None or frame is None:
            what = "a join needs the person column of the first table"
            raise ParameterError(what, "join", "pass the first table, and unit= the column that identifies a person")
        joining = Join(on=on or unit)
        if joining.on not in map(str, join.columns):
            near = did_you_mean(joining.on, [str(name) for name in join.columns])
            raise ParameterError(f"the second table has no column {joining.on!r}{near}", "on", "name its person column")
        frame = columns_beside(frame, join, joining.on)
    questions = _questions(recipient, ask, want, target) if recipient or ask or want or need is not None else None
    target = questions.target if questions is not None else target
    wanted = None if need is None else _needed(need, target, frame)
    found = [] if values is None else released_values(path_of(values))[0]
    whose = person_limit(found)
    if whose is not None and unit in (None, whose[0]):
        unit, rows_per_person = whose[0], rows_per_person or whose[1]
    dropped = _left_out(_names(drop), wanted, unit, frame)
    facts = _Facts.of(frame, bounds, domains, kinds, dropped, _names(keep), wanted, found)
    columns = _columns(facts, target, epsilon, _names(missing), _codes(missing_codes), mechanism, questions)
    if questions is not None:
        questions.require_offered(epsilon)
        for wish in questions.wishes:
            wish.checked({c.name: c.kind for c in columns if c.action != "drop"})
    return Plan(
        epsilon=epsilon,
        questions=None if questions is None else questions.asked,
        columns=columns,
        invalid=invalid if unit is None else REPLACE,
        unit=unit,
        join=joining,
        rows_per_person=1 if rows_per_person is None else rows_per_person,
        account=mark.account if account is None and mark is not None else account,
        follows=tuple(n for n in facts.pairs if n not in facts.kinds) if frame is None else (),
    )


def _codes(stated: Mapping[str, Iterable[Any]] | None) -> dict[str, tuple[str, ...]]:
    return {name: tuple(map(str, codes)) for name, codes in (stated or {}).items()}


def _left_out(
    dropped: list[str], wanted: Collection[str] | None, unit: str | None, frame: pd.DataFrame | None
) -> list[str]:
    """Return the columns that are not released: those named, of a frame all that are not wanted, and the person's."""
    if wanted is not None:
        named = dropped if frame is None else [str(name) for name in frame.columns]
        dropped = [name for name in named if name not in wanted]
    return dropped if unit is None or unit in dropped else [*dropped, unit]


def _columns(
    facts: _Facts,
    target: str | None,
    epsilon: float,
    may_miss: list[str],
    codes: Mapping[str, tuple[str, ...]],
    mechanism: str | Mapping[str, str],
    questions: IntendedUse | None,
) -> tuple[Column, ...]:
    """Return the columns of the plan, each with what is declared of it and what is chosen for it.

    Raises:
        ParameterError: a choice is of a column that is not declared.
    """
    mechanisms = {} if isinstance(mechanism, str) else dict(mechanism)
    named = facts.named()
    stated_of = {"missing": may_miss, "missing_codes": codes, "mechanism": mechanisms, "kinds": facts.kinds}
    _check_declared(stated_of, facts.protected)
    if target is not None and target not in facts.protected:
        near = did_you_mean(target, named)
        raise ParameterError(f"the target {target!r} is not declared{near}", "target", "declare its bounds or domain")
    columns = []
    for name in named:
        if name not in facts.protected:
            columns.append(Column(name=name, action="drop" if name in facts.dropped else "keep"))
            continue
        stated = facts.column(name)
        stated |= {"missing": OWN_VALUE} if name in may_miss else {}
        stated |= {"missing_codes": codes[name]} if name in codes else {}
        if name == target:
            weight = {} if name in facts.pairs else {"weight": target_weight(epsilon, len(facts.protected) - 1)}
            stated |= {"role": "target", **weight}
        stated |= {"purpose": questions.purpose} if questions is not None else {}
        chosen = mechanism if isinstance(mechanism, str) else mechanisms.get(name, AUTO)
        columns.append(Column(name=name, action="protect", mechanism=chosen, **stated))
    return tuple(columns)


def _found(found: list[FoundValue], frame: pd.DataFrame | None, stated: Collection[str]) -> dict[str, Attribute]:
    """Return what a release of values has found of columns of ``frame``, or of any, of which nothing is stated."""
    named = [str(name) for name in frame.columns] if frame is not None else [line.column for line in found]
    dtypes = {} if frame is None else _dtypes(frame)
    kinds = {name: kind_of(dtypes.get(name), (0, 1)) for name in named if name not in stated}
    return {attribute.name: attribute for attribute in found_attributes(found, kinds)}


def _dtypes(frame: pd.DataFrame) -> dict[str, Any]:
    return dict(zip(names_of(frame), frame.dtypes, strict=True))


@dataclasses.dataclass(frozen=True)
class _Facts:
    """What is declared of columns, each of which is named once.

    Attributes:
        dtypes: of the columns of the frame; ``None`` where there is none.
        found: what a release of values has found of those of which nothing else is stated.
    """

    dtypes: dict[str, Any] | None
    pairs: dict[str, Any]
    values: dict[str, Any]
    kinds: dict[str, str]
    dropped: list[str]
    kept: list[str]
    found: dict[str, Attribute]

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame | None,
        bounds: Bounds | None,
        domains: Domains | None,
        kinds: Mapping[str, str] | None,
        dropped: list[str],
        kept: list[str],
        wanted: Collection[str] | None,
        released: list[FoundValue],
    ) -> Self:
        pairs, values = _by_column(bounds, "bounds"), _by_column(domains, "domains")
        found = _found(released, frame, {*pairs, *values, *dropped, *kept})
        pairs |= {name: (a.lower, a.upper) for name, a in found.items() if a.numeric}
        values |= {name: a.domain for name, a in found.items() if not a.numeric}
        pairs, values = ({n: v for n, v in given.items() if wanted is None or n in wanted} for given in (pairs, values))
        _check_once({"bounds": pairs, "domains": values, "drop": dropped, "keep": kept})
        stated = _by_column(kinds, "kinds")
        dtypes = None if frame is None else _dtypes(frame)
        for name, dtype in (dtypes or {}).items():
            if pd.api.types.is_bool_dtype(dtype) and name not in {*pairs, *values, *dropped, *kept}:
                stated.setdefault(name, "boolean")
        return cls(dtypes, pairs, values, stated, dropped, kept, found)

    @property
    def _flags(self) -> list[str]:
        return [n for n, kind in self.kinds.items() if kind == "boolean" and n not in self.values]

    @property
    def protected(self) -> set[str]:
        return {*self.pairs, *self.values, *self._flags}

    def named(self) -> list[str]:
        """Return the columns in the order of the frame, which must have each of them and no other."""
        flags = (n for n in self._flags if n not in self.pairs)
        named = [*self.pairs, *self.values, *flags, *self.dropped, *self.kept]
        if self.dtypes is not None:
            _check_names(list(self.dtypes), named)
            named.sort(key=list(self.dtypes).index)
        return named

    def column(self, name: str) -> dict[str, Any]:
        if name in self.pairs:
            kind = self.kinds.get(name) or kind_of((self.dtypes or {}).get(name), self.pairs[name])
            facts = numeric(name, self.pairs[name], kind)
        else:
            facts = categories(name, self.values[name]) if name in self.values else {}
            facts["kind"] = _one_of(self.kinds.get(name, "category"), NAMED, name)
        if name in self.found:
            facts |= {"missing": OWN_VALUE, "bounds_origin": RELEASED, "other": self.found[name].other}
        return facts


def _questions(who: str | None, ask: Iterable[str], want: Iterable[str], target: str | None) -> IntendedUse:
    usual = PlanQuestions()
    asks, named = parse_uses(_names(ask)) if ask else (usual.asks, None)
    if named is not None and target not in (None, named):
        raise ParameterError(f"the target is {target!r}, but ask names {named!r}", hint="change one of the two")
    stated = PlanQuestions(recipient=who or usual.recipient, asks=asks, wishes=tuple(_names(want)))
    wishes = tuple(map(Wish.parse, stated.wishes))
    return IntendedUse(recipient=stated.recipient, asks=stated.asks, target=named or target, wishes=wishes)


def _needed(need: Iterable[str], target: str | None, frame: pd.DataFrame | None) -> list[str]:
    wanted = [*_names(need), *([target] if target else [])]
    present = wanted if frame is None else [str(name) for name in frame.columns]
    for name in (n for n in wanted if n not in present):
        raise ParameterError(f"there is no such column{did_you_mean(name, present)}", f"column {name}")
    return wanted


def for_frame(plan: sanitize_plan.Plan, frame: pd.DataFrame) -> sanitize_plan.Plan:
    """Return ``plan`` with the kinds that nobody stated as the dtypes of ``frame`` have them."""
    if not isinstance(plan, Plan) or not isinstance(frame, pd.DataFrame):
        return plan
    dtypes = _dtypes(frame)
    columns = []
    for column in plan.columns:
        kind = None
        if column.name in plan.follows and column.kind in ("integer", "real"):
            kind = kind_of(dtypes.get(column.name), (column.lower, column.upper))
        columns.append(column if kind in (None, column.kind) else dataclasses.replace(column, kind=kind))
    known = {field.name: getattr(plan, field.name) for field in dataclasses.fields(sanitize_plan.Plan)}
    return sanitize_plan.Plan(**{**known, "columns": tuple(columns)})


def kind_of(dtype: Any, pair: Any) -> str | None:
    """Return the kind of a column with bounds that follows from its dtype; ``None`` where it does not follow."""
    if dtype is None:
        return None
    if pd.api.types.is_float_dtype(dtype):
        return "real"
    if pd.api.types.is_integer_dtype(dtype):
        whole = all(isinstance(end, numbers.Real) and float(end).is_integer() for end in pair)
        return "integer" if whole else "real"
    return "date" if pd.api.types.is_datetime64_any_dtype(dtype) else None


def numeric(name: str, pair: Any, kind: str | None = None) -> dict[str, Any]:
    """Return the facts of a column of numbers or dates with these bounds.

    Args:
        name: the column.
        pair: (lower, upper).
        kind: ``integer``, ``real`` or ``date``; else two dates declare dates, and two whole numbers whole numbers.

    Raises:
        ParameterError: they are not two numbers or dates.
    """
    try:
        lower, upper = pair
    except (TypeError, ValueError):
        raise ParameterError("its bounds are not a pair", f"column {name}", "use (lower, upper)") from None
    ends = [_day(end, name, wanted=kind == "date") for end in (lower, upper)]
    if all(end is not None for end in ends):
        if kind not in (None, "date"):
            raise ParameterError(
                f"its bounds are dates, its kind is {kind}", f"column {name}", 'set the kind to "date"'
            )
        return {"kind": "date", "lower": ends[0], "upper": ends[1]}
    lower, upper = plain_scalar(lower), plain_scalar(upper)
    if kind is None:
        whole = all(isinstance(end, int) and not isinstance(end, bool) for end in (lower, upper))
        kind = "integer" if whole else "real"
    return {"kind": _one_of(kind, NUMERIC, name), "lower": lower, "upper": upper}


def categories(name: str, values: Any) -> dict[str, Any]:
    """Return the facts of a column of categories with these values.

    Raises:
        ParameterError: they are not a list of plain values, or two of them are one in a file.
    """
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ParameterError("its domain is not a list", f"column {name}", "use a list of values")
    try:
        texts = [cell_text(value) for value in values]
    except TypeError:
        raise ParameterError(
            "its domain has values that are not numbers, text, booleans or dates", f"column {name}"
        ) from None
    named = [text for text in texts if text is not None]
    if len(named) < len(texts):
        raise ParameterError(
            "its domain has a missing value", f"column {name}", "remove it and name the column in missing="
        )
    return {"kind": "category", "domain": tuple(named)}


def solve(
    data_or_plan: pd.DataFrame | sanitize_plan.Plan,
    want: Iterable[str],
    *,
    plan: sanitize_plan.Plan | None = None,
    rows: int | None = None,
    way: str | None = None,
    epsilon: float | None = None,
    epsilon_max: float | None = None,
    equal: bool = False,
    delta: float | None = None,
) -> dict[str, Any]:
    """Return the least ε, and its split, that gives the errors wished for; no value is read and nothing is spent.

    Args:
        data_or_plan: a DataFrame, of which only the number of rows is used, or a plan.
        want: wishes such as ``mean(age)<=2``, ``share(sex=f) ± 3 %`` or ``mean(age by sex) ± 2, weight 3``: the ± that
            95 of 100 releases stay within.
        plan: declares the columns of a DataFrame.
        rows: how many rows there are, where a plan is given.
        way: ``statistics``, ``synthetic`` or ``rows``; by default statistics, or where these have not all the figures,
            the cheaper of the others.
        epsilon: spend this, not the least: every error is the same part of its margin divided by its weight.
        epsilon_max: the most that may be spent.
        equal: with ``epsilon``, of figures without margins: each error is the same part of all that it could be.
        delta: δ of one row, below 1/rows. By default there is none.

    Returns:
        ``way``, ``epsilon`` (``None`` where a wish is impossible), ``split`` (ε by figure or column; ρ where ``unit``
        says so), ``errors`` (± by figure), ``impossible`` (each with ``want``, ``reason`` and the ε it ``needs``
        alone), ``left_out``; ``figures`` for :func:`statistics`, and the ``plan`` with the answer, for :func:`release`
        and :func:`synthesize`.

    Raises:
        ParameterError: a wish is none, or is of a column that is not declared; or rows or a plan are missing.
    """
    declared, count = (plan, rows) if isinstance(data_or_plan, pd.DataFrame) else (data_or_plan, rows)
    if not isinstance(declared, sanitize_plan.Plan) or (plan is not None and declared is not plan):
        raise ParameterError("one plan declares the columns", "plan", "pass a DataFrame and plan=, or a plan")
    if isinstance(data_or_plan, pd.DataFrame):
        declared = for_frame(declared, data_or_plan)
        count = len(data_or_plan) if rows is None else rows
    wanted = Wanted(
        want=tuple(_names(want)),
        rows=count,
        way=way,
        delta=delta,
        epsilon=epsilon,
        epsilon_max=epsilon_max,
        equal=equal,
    )
    if wanted.rows is None:
        raise ParameterError("a plan does not have the number of rows", "rows", "pass rows=")
    if delta is not None:
        require_small_delta(exact(delta), wanted.rows)
    found = wanted.solution(declared, wanted.rows)
    figures = None if found.request is None else [each.to_plain() for each in found.request.figures]
    return {**found.to_plain(), "figures": figures, "plan": None if found.plan is None else _as_shown(found.plan)}


def _as_shown(plain: sanitize_plan.Plan) -> Plan:
    return Plan(**{field.name: getattr(plain, field.name) for field in dataclasses.fields(sanitize_plan.Plan)})


def _day(end: Any, name: str, *, wanted: bool) -> float | None:
    """Return the day number of a bound that is a date; ``None`` of a number."""
    if isinstance(end, datetime.date):
        return float(end.toordinal())
    if getattr(getattr(end, "dtype", None), "kind", "") == "M":
        return float(pd.Timestamp(end).toordinal())
    if not isinstance(end, str) and not wanted:
        return None
    try:
        return float(datetime.date.fromisoformat(end).toordinal())
    except (TypeError, ValueError):
        raise ParameterError("a bound is not a date", f"column {name}", "write it as 1990-12-31") from None


def _one_of(kind: str, kinds: tuple[str, ...], name: str) -> str:
    if kind not in kinds:
        given = "bounds" if kinds is NUMERIC else "a domain"
        raise ParameterError(
            f"a column with {given} cannot have the kind {kind!r}", f"column {name}", f"state one of {', '.join(kinds)}"
        )
    return kind


def _by_column(given: Any, argument: str) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(f"{argument} is not a dict keyed by column name", argument, "use {NAME: …}")
    return {str(name): facts for name, facts in (given or {}).items()}


def _names(given: Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else [str(name) for name in given]


def _check_once(given: Mapping[str, Iterable[str]]) -> None:
    seen: dict[str, str] = {}
    for argument, names in given.items():
        for name in names:
            if name in seen:
                raise ParameterError(
                    f"it is named in {seen[name]} and in {argument}", f"column {name}", "name it in one of them"
                )
            seen[name] = argument


def _stated(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


def _check_names(present: list[str], named: list[str]) -> None:
    """Raise :class:`ParameterError` unless the columns of the frame are those that are named."""
    for name in (n for n in named if n not in present):
        raise ParameterError(f"there is no such column{did_you_mean(name, present)}", f"column {name}")
    if undeclared := [name for name in present if name not in named]:
        several, stated = len(undeclared) > 1, _stated(undeclared)
        raise ParameterError(
            f"nothing is declared for {'these columns' if several else 'this column'}",
            f"{'columns' if several else 'column'} {stated}",
            f"name {'them' if several else 'it'} in bounds=, domains=, drop= or keep=",
        )


def _check_declared(given: Mapping[str, Iterable[str]], declared: Iterable[str]) -> None:
    """Raise :class:`ParameterError` for a column that has a setting and no declared facts."""
    words = {
        "missing": "missing= names it",
        "missing_codes": "it has codes of missing values",
        "mechanism": "it has a mechanism",
        "kinds": "it has a kind",
    }
    for argument, names in given.items():
        for name in (n for n in names if n not in declared):
            raise ParameterError(f"it has no bounds or domain, but {words[argument]}", f"column {name}", "declare it")
