"""``workbench sql``: statistics requested by a ``SELECT`` of aggregates."""

from __future__ import annotations

import argparse
from typing import Any

from workbench.cli.command import Context
from workbench.cli.statistics import StatisticsCommand
from workbench.release.kinds import kind
from workbench.statistics.request import StatisticsOptions
from workbench.statistics.sql import asked_in_sql, is_query


class _Sql(StatisticsCommand):
    name = 'sql "SELECT sex, AVG(age), COUNT(*) FROM people GROUP BY sex"'

    def configure(self, parser: argparse.ArgumentParser) -> None:
        stated = (
            "a SELECT of COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE(column, 0.9), MODE, CORR(a, b), "
            "COVAR_POP(a, b) or APPROX_TOP_K(column, 3), of all rows or GROUP BY columns and "
            "DATE_TRUNC('month', column); queries without declared bounds are refused with the reason"
        )
        parser.add_argument("query", metavar="SELECT", help=stated)
        super().configure(parser)

    def add_request(self, parser: argparse.ArgumentParser) -> None:
        """Add nothing: the query asks."""

    def run(self, options: argparse.Namespace, context: Context) -> dict[str, Any]:
        """Release, or forecast; the table may come first, as in every other command."""
        if options.data is not None and is_query(options.data) and not is_query(options.query):
            options.query, options.data = options.data, options.query
        return super().run(options, context)

    def request(self, options: argparse.Namespace) -> StatisticsOptions:
        return StatisticsOptions(figure=asked_in_sql(options.query))


COMMAND = _Sql(kind("statistics")).command()
