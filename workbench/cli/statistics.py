"""``workbench statistics``: private counts, means, deviations, quantiles, pairs, regressions, ranges, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.cli.command import Context
from workbench.cli.common_options import columns_text, figure
from workbench.cli.kind_command import Asked, KindCommand
from workbench.release.kinds import kind
from workbench.release.release_path import Released
from workbench.statistics.forecast import forecast
from workbench.statistics.queries import queries_of
from workbench.statistics.request import MODE


class StatisticsCommand(KindCommand):
    """The command of statistics, however they are asked for."""

    counts = True

    def facts(self, asked: Asked, done: Released | None, context: Context) -> dict[str, Any]:
        """Return what to expect of each figure; of a release its ε under replace-one, too."""
        request = asked.request.checked(asked.plan)
        stated = forecast(queries_of(request, asked.plan, asked.epsilon, asked.rows, asked.delta))
        figures = [expected.to_plain() for expected in stated]
        if done is None:
            return {"forecast": figures}
        other = done.document["guarantee"]["replace_one"]["epsilon"]
        return {"figures": figures, "replace_one_epsilon": other}

    def lines(self, result: Mapping[str, Any]) -> list[str]:
        """Return what to expect as a table."""
        stated = result["forecast"] if "forecast" in result else result["figures"]
        rows = [[_called(f), str(f["figures"]), _expected(f), f["source"]] for f in stated]
        table = columns_text(["statistic", "figures", "95 % interval, expected", "read from"], rows, right=(1,))
        return [table, *_sizes(stated)]


def _sizes(stated: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        [
            _called(f),
            f"{100 * size['part']:.3g} %",
            f"{round(size['rows']):,}",
            f"± {figure(size['half_width'])} {f['unit']}",
        ]
        for f in stated
        for size in f["by_group_size"]
    ]
    head = ["if a group has", "of all rows", "rows", "95 % interval, expected"]
    return ["", columns_text(head, rows, right=(1, 2)), ""] if rows else []


def _called(stated: Mapping[str, Any]) -> str:
    of = f" of {stated['column']}" if stated["column"] else ""
    return f"{stated['statistic']}{of}" + (f" by {' and '.join(stated['by'])}" if stated["by"] else "")


def _expected(stated: Mapping[str, Any]) -> str:
    width = f"{figure(stated['half_width'])} {stated['unit']}"
    words = f"right if it leads by {width}" if stated["statistic"] == MODE else f"± {width}"
    return words + (" in groups of equal size" if stated["by_group_size"] else "")


COMMAND = StatisticsCommand(kind("statistics")).command()
