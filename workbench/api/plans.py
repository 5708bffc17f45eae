"""A plan from declared facts, as keyword arguments."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.api.frames import cell_text
from workbench.data.schema import OWN_VALUE
from workbench.params import ParameterError
from workbench.sanitize.plan import AUTO, REFUSE, Column, Plan

Bounds = Mapping[str, tuple[Any, Any]]
Domains = Mapping[str, Sequence[Any]]


def plan(
    *,
    epsilon: float,
    bounds: Bounds | None = None,
    domains: Domains | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    mechanism: str | Mapping[str, str] = AUTO,
    missing: Iterable[str] = (),
    invalid: str = REFUSE,
    rows_per_person: int = 1,
    account: str | None = None,
) -> Plan:
    """Return a plan. All that it says of the columns must be publicly known; nothing is read from a table.

    Args:
        epsilon: privacy loss of one row's whole record.
        bounds: (lower, upper) by column of numbers or dates. Two whole numbers declare a column of whole numbers,
            anything else one of decimals; two dates one of dates.
        domains: the possible values by column of categories.
        drop: columns that are left out.
        keep: columns that are published as they are; epsilon says nothing of them.
        mechanism: the local mechanism of every column, or by column; ``auto`` is the advisor's choice.
        missing: columns in which a missing value is one more value; elsewhere it is refused.
        invalid: ``refuse`` or ``replace``: whether a cell that cannot be used is an error or a missing value.
        rows_per_person: most rows of one person; multiplies the charge.
        account: public name of the account that pays.

    Raises:
        ParameterError: a column is named twice, or a fact is not one that a plan can hold.
    """
    numbers, names, dropped, kept = dict(bounds or {}), dict(domains or {}), _names(drop), _names(keep)
    _check_once({"bounds": numbers, "domains": names, "drop": dropped, "keep": kept})
    may_miss = _names(missing)
    protected = {
        **{name: numeric(name, pair) for name, pair in numbers.items()},
        **{name: categories(name, values) for name, values in names.items()},
    }
    mechanisms = {} if isinstance(mechanism, str) else dict(mechanism)
    for name in (n for n in may_miss if n not in protected):
        raise ParameterError(
            "no bounds or domain are given for it, and missing names it", f"column {name}", "declare it"
        )
    for name in (n for n in mechanisms if n not in protected):
        raise ParameterError("no bounds or domain are given for it, and it has a mechanism", f"column {name}")
    columns = []
    for name, facts in protected.items():
        chosen = mechanism if isinstance(mechanism, str) else mechanisms.get(name, AUTO)
        told: dict[str, Any] = {"missing": OWN_VALUE} if name in may_miss else {}
        columns.append(Column(name=name, action="protect", mechanism=chosen, **facts, **told))
    columns += [Column(name=name, action="drop") for name in dropped]
    columns += [Column(name=name, action="keep") for name in kept]
    return Plan(
        epsilon=epsilon, columns=tuple(columns), invalid=invalid, rows_per_person=rows_per_person, account=account
    )


def numeric(name: str, pair: Any) -> dict[str, Any]:
    """Return the facts of a column of numbers or dates with these bounds.

    Raises:
        ParameterError: they are no two numbers or dates.
    """
    try:
        lower, upper = pair
    except (TypeError, ValueError):
        raise ParameterError("its bounds are no pair", f"column {name}", "give (lower, upper)") from None
    if all(isinstance(end, datetime.date) for end in (lower, upper)):
        return {"kind": "date", "lower": float(lower.toordinal()), "upper": float(upper.toordinal())}
    whole = all(isinstance(end, int) and not isinstance(end, bool) for end in (lower, upper))
    return {"kind": "integer" if whole else "real", "lower": lower, "upper": upper}


def categories(name: str, values: Any) -> dict[str, Any]:
    """Return the facts of a column of categories with these values.

    Raises:
        ParameterError: they are no list of plain values, or two of them are one in a file.
    """
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ParameterError("its domain is no list", f"column {name}", "give a list of values")
    try:
        texts = [cell_text(value) for value in values]
    except TypeError:
        raise ParameterError(
            "its domain holds something else than numbers, text, truth values and dates", f"column {name}"
        ) from None
    named = [text for text in texts if text is not None]
    if len(named) < len(texts):
        raise ParameterError(
            "its domain holds a missing value", f"column {name}", "leave it out; name the column in missing"
        )
    return {"kind": "category", "domain": tuple(named)}


def _names(given: Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _check_once(given: Mapping[str, Iterable[str]]) -> None:
    seen: dict[str, str] = {}
    for argument, names in given.items():
        for name in names:
            if name in seen:
                raise ParameterError(
                    f"it is named in {seen[name]} and in {argument}", f"column {name}", "name it in one of them"
                )
            seen[name] = argument
