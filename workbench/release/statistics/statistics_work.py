"""Statistics: a request becomes queries, and their noisy answers the file, which `verify` makes of them again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.data.table import Table
from workbench.params import ParameterError, write_toml
from workbench.privacy.accounting.event import exact
from workbench.privacy.central.share import GAUSSIAN, LAPLACE, Budget
from workbench.release.certificate import require_format, stated_budget
from workbench.release.kinds import Repeated
from workbench.sanitize.plan import Plan
from workbench.signals import CancelToken, Emit, Progress
from workbench.statistics.figures import figures
from workbench.statistics.queries import CHOICE, DRAWN, FORMER_RULES, RULES, Counted, Query, counted, queries_of
from workbench.statistics.ranges import Ranges
from workbench.statistics.release_file import FORMATS, decode, defused_records, encode, written
from workbench.statistics.request import REGRESSION, Request, StatisticsOptions
from workbench.work.ask import Ask
from workbench.work.work import Work, WorkOutput

KIND = "statistics"
Answers = dict[str, list[int]]

INTERVALS = (
    "Each interval covers the statistic of these very rows, as the plan reads them (numbers clamped to their bounds; a "
    "quantile is the least value that at least that part of the rows with a value does not exceed), in 95 % of "
    "releases: it allows for the noise, and says nothing of a larger "
    "population that the rows may be a sample of. Each holds by itself, not all of them at once. A figure that the "
    "noise has made impossible, such as a count below 0, is moved to the nearest possible one: to add counts up, take "
    "the noisy answers in the certificate. Shares are of all rows, also those of a group."
)
"""What the intervals cover, for certificates and for the screen."""

OF_REGRESSIONS = (
    "The intervals of a regression allow for both: for the noise, and for these rows being a sample of a population, "
    "with errors that have one variance everywhere. A coefficient that the noise hides is not determined, and counts "
    "among the 95 % that are right: where few are determined, more of these are wrong."
)
"""What is added where a regression is asked for."""

REPORT_NOISY_MAX = "report-noisy-max (permute-and-flip) for most frequent values"  # how a most frequent value is drawn

QUANTILES_DRAWN = "the exponential mechanism for quantiles"
"""How quantiles are drawn, where they are not read from a histogram."""

_ROOM_OF_A_FIGURE = 200
_SLACK = 1 << 10
_LAST_DIGITS, _LAST_BITS = 1e-6, 1e-12
"""Relative to an interval's length: half-widths hang on sines and exponentials, whose last bits differ between
processors. And relative to the figure itself."""

_NO_DELTA = Decimal(0)


def statistics_work(
    request: Request, plan: Plan, epsilon: float | Decimal, rows: int, kind: str, delta: Decimal = _NO_DELTA
) -> Work:
    """Return the release of ``request`` at (ε, δ) of one row, for everything that is asked; reads no row.

    The number of ``rows``, as the plan reads them, is public. Where δ is above 0, noise is discrete Gaussian.

    Raises:
        ParameterError: the request does not fit the plan, or ε is too small for it.
    """
    queries = queries_of(request.checked(plan), plan, epsilon, rows, delta)
    return work_of(request, queries, kind, plan, Budget(exact(epsilon), delta) if delta else None)


def work_of(request: Request, queries: Sequence[Query], kind: str, plan: Plan, budget: Budget | None = None) -> Work:
    """Return the release of a request's ``queries``; verification makes its files again, by former rules, too."""
    columns = tuple(dict.fromkeys(b.column.name for query in queries for b in query.columns))
    reader = Counted(queries, columns)

    def asked(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> Answers:
        exact = reader.exact() if reader.whole else counted(queries, table, cancel)
        answers: Answers = {}
        for done, query in enumerate(queries):
            cancel.check()
            emit(Progress(done, len(queries), query.label))
            answers[query.label] = query.noisy(ask, exact[query.label])
        return answers

    def files(answers: Answers, cancel: CancelToken) -> WorkOutput:
        return WorkOutput(
            encode(figures(queries, answers, cancel), kind, defuse=plan.defuses_formulas), _method(queries, answers)
        )

    return Work(
        kind=KIND,
        columns=columns,
        events=tuple(q.event for q in queries),
        request=request.to_plain(),
        room=_room(queries),
        ask=asked,
        files=files,
        budget=budget,
        reader=reader,
        answers=lambda method: _answers(method.get("answers"), queries),
    )


def asked_work(
    plan: Plan, asked: StatisticsOptions, epsilon: Decimal, delta: Decimal, rows: int, file_format: str
) -> Work:
    """Return the release of what a person asked for; reads no row."""
    return statistics_work(asked.checked(plan), plan, epsilon, rows, file_format, delta)


def repeated(asked: Mapping[str, Any], plan: Plan) -> Repeated:
    """Return the request of a certificate, to be asked for once more."""
    return {"request": "@request.toml"}, {"request.toml": write_toml(dict(asked))}


FORMER_INTERVALS = (
    "Each interval covers the statistic of these very rows, as the plan reads them (numbers clamped to their bounds, "
    "quantiles on the public grid), in 95 % of releases: it allows for the noise, and says nothing of a larger "
    "population that the rows may be a sample of. Each holds by itself, not all of them at once. A figure that the "
    "noise has made impossible, such as a count below 0, is moved to the nearest possible one: to add counts up, take "
    "the noisy answers in the certificate."
)
"""The same in certificates of the former rules."""


def _method(queries: Sequence[Query], answers: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    lines = any(ask.statistic == REGRESSION for query in queries for ask in query.asks)
    intervals = f"{INTERVALS} {OF_REGRESSIONS}" if lines else INTERVALS
    return {
        **(
            {"intervals": FORMER_INTERVALS}
            if queries[0].former
            else {"intervals": intervals, "rules": queries[0].rules}
        ),
        "noise": _noise_text(queries),
        "queries": [described(q) for q in queries],
        # One text each: thousands of lines of one number would hide the rest of the certificate.
        "answers": {label: " ".join(map(str, values)) for label, values in answers.items()},
    }


def _noise_text(queries: Sequence[Query]) -> str:
    noise = GAUSSIAN if queries[0].paid.gaussian else LAPLACE
    forms = {query.form for query in queries}
    words = {noise: forms != {CHOICE}, REPORT_NOISY_MAX: CHOICE in forms, QUANTILES_DRAWN: DRAWN in forms}
    return " and ".join(word for word, used in words.items() if used)


def described(query: Query) -> dict[str, Any]:
    """Return the public facts of a query."""
    levels = {"levels": len(query.own.sizes)} if isinstance(query.own, Ranges) else {}
    return {"label": query.label, "form": query.form, "numbers": query.length, "sensitivity": query.size, **levels}


def _room(queries: Sequence[Query]) -> int:
    longest = 1
    for query in queries:
        names = sum(2 * len(f"{b.column.name}{max(b.grid.labels, key=len)}".encode()) * 2 for b in query.columns)
        longest = max(longest, names + 2 * len(query.label.encode()))
    return sum(q.extent for q in queries) * 3 * (_ROOM_OF_A_FIGURE + 2 * longest) + (1 << 16)


# -- verification ------------------------------------------------------------------------------------------------------


def recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for every fault of released statistics that the general checks cannot see.

    Raises:
        WorkbenchError: request, answers or file are not what statistics have.
    """
    from workbench.release.verify import rerun  # a release reruns nothing, and starts without

    require_format(document, output, FORMATS)
    request = Request.from_plain(document["request"], "the request in the certificate").checked(plan)
    budget, kind = stated_budget(document), document["output"]["format"]
    rules = document["method"].get("rules", FORMER_RULES)
    if isinstance(rules, bool) or rules not in range(FORMER_RULES, RULES + 1):
        yield "the certificate uses rules that this version of the program does not know"
        return
    queries = queries_of(request, plan, budget.epsilon, document["rows"], budget.delta, rules=rules)
    work = work_of(request, queries, kind, plan)
    yield from rerun(document, work, output, cancel, lambda made: _unlike(made, output, kind, plan))


def _unlike(made: bytes, output: Path, kind: str, plan: Plan) -> Iterator[str]:
    # Last digits may differ between processors: a record of 20 bytes or more has three numbers of 25 at most.
    most = 5 * len(made) + _SLACK
    if output.stat().st_size > most:
        yield f"the file has {output.stat().st_size} bytes, its figures take at most {most}"
        return
    data = output.read_bytes()
    if data == made:
        return
    expected = decode(made, kind, str(output))
    found = decode(data, kind, str(output), len(expected))
    if written(found, kind) != data:
        yield "the file does not have the form of released statistics"
    ways = [found]
    if plan.defuses_formulas and kind == "csv":  # former versions wrote names and values as they are
        ways.append(defused_records(found))
    if len(found) != len(expected) or not any(
        all(itertools.starmap(_alike, zip(way, expected, strict=True))) for way in ways
    ):
        yield "the file's figures do not follow from the noisy answers in the certificate"


def _answers(stated: Any, queries: Sequence[Query]) -> Answers:
    from workbench.learners.queries import checked_whole_numbers

    if not isinstance(stated, dict) or not all(isinstance(text, str) for text in stated.values()):
        raise ParameterError("the certificate has no noisy answers", "method")
    try:
        numbers = {label: [int(word) for word in text.split()] for label, text in stated.items()}
    except ValueError:
        raise ParameterError("the noisy answers are not whole numbers", "method") from None
    return {k: list(v) for k, v in checked_whole_numbers(numbers, {q.label: q.length for q in queries}).items()}


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    low, high = other["low"], other["high"]
    length = 0.0 if isinstance(low, str) or isinstance(high, str) else abs(high - low)
    return one.keys() == other.keys() and all(_same(one[key], other[key], length) for key in one)


def _same(one: Any, other: Any, length: float) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and bool(one == other)
    return math.isclose(one, other, rel_tol=_LAST_BITS, abs_tol=_LAST_DIGITS * length + 1e-9)
