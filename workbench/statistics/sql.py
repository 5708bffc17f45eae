"""SQL ``SELECT`` statements as requests for statistics; queries without a public bound are refused with the reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workbench.params import ParameterError, WorkbenchError
from workbench.params.errors import how_to_install
from workbench.statistics.request import (
    CORRELATION,
    COUNT,
    COVARIANCE,
    MEAN,
    MODE,
    PERIODS,
    PLACES,
    QUANTILES,
    STD,
    SUM,
    TOP,
    VARIANCE,
    Statistic,
)

if TYPE_CHECKING:
    from sqlglot import exp

_OF_COLUMN = {"Avg": MEAN, "Sum": SUM, "Variance": VARIANCE, "VariancePop": VARIANCE, "Mode": MODE, "Count": COUNT}
_OF_COLUMN |= dict.fromkeys(("Stddev", "StddevPop", "StddevSamp"), STD)
_QUANTILES = ("PercentileCont", "PercentileDisc", "Quantile", "ApproxQuantile")
_OF_PAIRS = {"Corr": CORRELATION, "CovarPop": COVARIANCE, "CovarSamp": COVARIANCE}
_NAMES = (
    "COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE(column, 0.9), MODE, CORR(a, b), COVAR_POP(a, b) or "
    "APPROX_TOP_K(column, 3)"
)

_CLAUSES = {
    "with_": "columns of a WITH are not declared",
    "joins": "in a JOIN one person may occur in any number of rows, so the effect of one person has no limit",
    "where": "a condition is not a declared group; GROUP BY the column to get the figure for each of its values",
    "having": "all declared groups are released; filter the released file afterwards",
    "qualify": "all declared groups are released",
    "distinct": "the number of distinct values may depend on a single row",
    "limit": "the groups are declared, and all of them are released",
    "order": "the file has every declared group; sort it afterwards at no cost",
    "windows": "a window depends on neighbouring rows",
}
"""Why a clause is refused, by its name in the parsed query."""


_BEGINS = re.compile(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:select|with)\b", re.IGNORECASE | re.DOTALL)


def is_query(text: str) -> bool:
    """Return whether a text begins as a query does, not as a wish or the name of a file."""
    return _BEGINS.match(text) is not None


def asked_in_sql(query: str) -> tuple[Statistic, ...]:
    """Return the statistics that a ``SELECT`` of aggregates asks for, of all rows or by columns.

    The name of the table is not looked at: there is one. Variances and covariances are those of these very rows
    (divided by n). ``DATE_TRUNC('month', born)`` makes groups of months, under its name in the query, too.

    Raises:
        ParameterError: it is no such query, or asks for something that no public bound limits.
        WorkbenchError: the parser is not installed.
    """
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError:
        raise WorkbenchError("queries need the library sqlglot", hint=how_to_install("sqlglot")) from None
    try:
        statements = sqlglot.parse(query)
    except RecursionError:
        raise _refused("the query cannot be read: it is nested too deeply", "leave out parentheses") from None
    except sqlglot.errors.SqlglotError as error:
        said = str(error).split(". Line")[0].splitlines()[0].split(" for <class")[0]
        raise _refused(
            f"the query cannot be read: {said}", 'write a query such as "SELECT AVG(age) FROM people"'
        ) from None
    tree = statements[0] if len(statements) == 1 else None
    if not isinstance(tree, exp.Select):
        raise _refused("this is not a single SELECT of aggregates of one table")
    for clause, why in _CLAUSES.items():
        if tree.args.get(clause):
            raise _refused(f"{clause.strip('_').removesuffix('s').upper()} cannot be released: {why}")
    group = tree.args.get("group")
    _require_only(tree, "expressions", "from", "from_", "group")
    if group is not None:
        _require_only(group, "expressions")
    source = tree.args.get("from_") or tree.args.get("from")
    if source is not None and not isinstance(source.this, exp.Table):
        raise _refused("a subquery cannot be released: the effect of one row has no limit")
    if source is not None:
        _require_only(source.this, "this", "alias", "db", "catalog")
        if not isinstance(source.this.this, exp.Identifier):
            raise _refused(f"{source.this.sql()} is not a table name", "name the table, or leave FROM out")
    called = {one.alias: one.this for one in tree.expressions if isinstance(one, exp.Alias)}
    by = tuple(_group(called.get(one.name, one)) for one in (group.expressions if group is not None else ()))
    asked: dict[tuple[str, str | None, str | None], dict[str, Any]] = {}
    for selected in tree.expressions:
        whole = selected.unalias()
        if isinstance(whole, exp.Column | exp.DateTrunc) and _group(whole) in by:
            continue
        keys = _statistic(whole)
        former = asked.setdefault((keys["statistic"], keys["column"], keys.get("other")), keys)
        if "at" in keys:
            former["at"] = tuple(sorted({*former["at"], *keys["at"]}))
        if keys["statistic"] == TOP and keys["places"] != former["places"]:
            # The longer list begins with the shorter one.
            former["places"] = max(former["places"] or PLACES, keys["places"] or PLACES)
    if not asked:
        raise _refused("the query has no aggregate", f"use {_NAMES}")
    if (COUNT, None, None) in asked and not by:
        raise _refused("COUNT(*) is known: the number of rows is public", "add GROUP BY, or leave it out")
    return tuple(Statistic(**keys, by=by or None) for keys in asked.values())


def _group(named: exp.Expression) -> str:
    """Return what a ``GROUP BY`` names: a column, or a period of one of dates."""
    from sqlglot import exp

    if not isinstance(named, exp.DateTrunc):
        return _column(named)
    _require_only(named, "this", "unit")
    period = named.text("unit").lower()
    if period not in PERIODS:
        raise _refused(f"{named.sql()} is not a declared group", f"name one of {', '.join(PERIODS)}")
    return f"{_column(named.this)}:{period}"


def _require_only(part: exp.Expression, *known: str) -> None:
    """Refuse what is stated of a part of the query besides what is understood: else it would be left out unseen."""
    if any(value and name not in known for name, value in part.args.items()):
        raise _refused("only SELECT, FROM and GROUP BY columns can be released")


def _statistic(whole: exp.Expression) -> dict[str, Any]:
    """Return the statistic that a selected expression asks for."""
    from sqlglot import exp

    stated, name = whole.sql(), type(whole).__name__
    if isinstance(whole, exp.WithinGroup):  # PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY pay)
        return _within_group(whole)
    if isinstance(whole, exp.Median):
        return {"statistic": QUANTILES, "column": _column(whole.this), "at": (0.5,)}
    if name in _QUANTILES and whole.args.get("quantile") is not None:
        _require_only(whole, "this", "quantile")
        return {"statistic": QUANTILES, "column": _column(whole.this), "at": (_number(whole.args["quantile"]),)}
    if isinstance(whole, exp.Min | exp.Max):
        hint = f"ask for QUANTILE({whole.this.sql()}, {'0.01' if isinstance(whole, exp.Min) else '0.99'})"
        raise _refused(f"{stated} cannot be released: it is the value of a single person", hint)
    if name in _OF_PAIRS:
        return {"statistic": _OF_PAIRS[name], "column": _column(whole.this), "other": _column(whole.expression)}
    if isinstance(whole, exp.ApproxTopK):
        _require_only(whole, "this", "expression")
        places = whole.args.get("expression")
        return {"statistic": TOP, "column": _column(whole.this), "places": None if places is None else _whole(places)}
    if isinstance(whole.this, exp.Distinct):
        raise _refused(f"{stated} cannot be released: {_CLAUSES['distinct']}", "request a histogram")
    if whole.args.get("expressions"):
        raise _refused(f"{stated} is not an aggregate that can be released", "name one column in it")
    if isinstance(whole, exp.Count) and (whole.this is None or isinstance(whole.this, exp.Star)):
        return {"statistic": COUNT, "column": None}
    if name in _OF_COLUMN:
        return {"statistic": _OF_COLUMN[name], "column": _column(whole.this)}
    if isinstance(whole, exp.Column | exp.Star):
        raise _refused(f"{stated} selects the rows themselves, which a query does not release", "use sanitize")
    raise _refused(f"{stated} is not an aggregate that can be released", f"use {_NAMES}")


def _within_group(whole: exp.Expression) -> dict[str, Any]:
    """Return the statistic of ``FUNCTION(…) WITHIN GROUP (ORDER BY column)``."""
    from sqlglot import exp

    ordered, function = whole.expression.expressions, whole.this
    if isinstance(function, exp.Mode) and function.this is None and len(ordered) == 1:
        return {"statistic": MODE, "column": _column(ordered[0].this)}
    if not isinstance(function, exp.PercentileCont | exp.PercentileDisc) or len(ordered) != 1:
        raise _refused(f"{whole.sql()} is not an aggregate that can be released", f"use {_NAMES}")
    share = _number(function.this)
    if ordered[0].args.get("desc"):
        hint = f"write ORDER BY {ordered[0].this.sql()}, and {float(f'{1 - share:.12g}'):g} for {share:g}"
        raise _refused("quantiles are counted from the smallest value upwards", hint)
    return {"statistic": QUANTILES, "column": _column(ordered[0].this), "at": (share,)}


def _column(named: exp.Expression) -> str:
    from sqlglot import exp

    if not isinstance(named, exp.Column):
        raise _refused(f"{named.sql()} is an expression and has no declared bounds", "name a column")
    return str(named.name)


def _number(stated: exp.Expression) -> float:
    try:
        return float(stated.sql().strip("'"))
    except ValueError:
        raise _refused(f"{stated.sql()} is not a quantile level", "write a number between 0 and 1") from None


def _whole(stated: exp.Expression) -> int:
    if not stated.sql().isdigit():
        raise _refused(f"{stated.sql()} is not a number of values", "write a whole number such as 3")
    return int(stated.sql())


def _refused(what: str, hint: str = "") -> ParameterError:
    return ParameterError(what, hint=hint, field="sql")
