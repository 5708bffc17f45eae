"""Statistics as a central release: the request becomes queries, their noisy answers become the released file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from workbench.data.table import Table
from workbench.params.codec import write_toml
from workbench.privacy.accounting.event import exact
from workbench.privacy.central.share import GAUSSIAN, LAPLACE, Budget
from workbench.release.kinds import Repeated
from workbench.sanitize.plan import Plan
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.statistics.asked import Asked, Request
from workbench.statistics.figures import figures
from workbench.statistics.queries import CHOICE, DRAWN, RULES, Query, queries_of
from workbench.statistics.release_file import encode
from workbench.work.ask import Ask
from workbench.work.work import Made, Work

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

REPORT_NOISY_MAX = "report-noisy-max (permute-and-flip) for most frequent values"
"""How a most frequent value is drawn."""

QUANTILES_DRAWN = "the exponential mechanism for quantiles"
"""How quantiles are drawn, where they are not read from a histogram."""

_ROOM_OF_A_FIGURE = 200
_NO_DELTA = Decimal(0)


def statistics_work(
    request: Request, plan: Plan, epsilon: float | Decimal, rows: int, kind: str, delta: Decimal = _NO_DELTA
) -> Work:
    """Return the release of ``request``, for the door; reads no row.

    Args:
        request: what is asked for.
        plan: declares the columns.
        epsilon: of one row, for everything that is asked.
        rows: the number of rows as the plan reads them, which is public.
        kind: format of the file: ``csv`` or ``json``.
        delta: δ of one row; where it is above 0, noise is discrete Gaussian.

    Raises:
        ParameterError: the request does not fit the plan, or ε is too small for it.
    """
    queries = queries_of(request.checked(plan), plan, epsilon, rows, delta)
    return work_of(request, queries, kind, Budget(exact(epsilon), delta) if delta else None)


def work_of(request: Request, queries: Sequence[Query], kind: str, budget: Budget | None = None) -> Work:
    """Return the release of a request's ``queries``; verification makes its files again, by former rules, too."""

    def asked(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> Answers:
        answers: Answers = {}
        for done, query in enumerate(queries):
            cancel.check()
            emit(Progress(done, len(queries), query.label))
            answers[query.label] = query.noisy(ask, query.answer(table))
        return answers

    def files(answers: Answers, cancel: CancelToken) -> Made:
        return Made(encode(figures(queries, answers, cancel), kind), _method(queries, answers))

    return Work(
        kind=KIND,
        columns=columns_of(request),
        events=tuple(q.event for q in queries),
        request=request.to_plain(),
        room=_room(queries),
        ask=asked,
        files=files,
        budget=budget,
    )


def asked_work(plan: Plan, asked: Asked, epsilon: Decimal, delta: Decimal, rows: int, file_format: str) -> Work:
    """Return the release of what a person asked for; reads no row."""
    return statistics_work(asked.checked(plan), plan, epsilon, rows, file_format, delta)


def repeated(asked: Mapping[str, Any], plan: Plan) -> Repeated:
    """Return the request of a certificate, to be asked for once more."""
    return {"request": "@request.toml"}, {"request.toml": write_toml(dict(asked))}


def columns_of(request: Request) -> tuple[str, ...]:
    """Return the columns that a request reads, each once."""
    named = (name for a in request.figures for name in (*(() if a.column is None else (a.column,)), *(a.by or ())))
    return tuple(dict.fromkeys(named))


FORMER_INTERVALS = (
    "Each interval covers the statistic of these very rows, as the plan reads them (numbers clamped to their bounds, "
    "quantiles on the public grid), in 95 % of releases: it allows for the noise, and says nothing of a larger "
    "population that the rows may be a sample of. Each holds by itself, not all of them at once. A figure that the "
    "noise has made impossible, such as a count below 0, is moved to the nearest possible one: to add counts up, take "
    "the noisy answers in the certificate."
)
"""The same in certificates of the former rules."""


def _method(queries: Sequence[Query], answers: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Return what a certificate says of the queries: everything that the figures are made of."""
    return {
        **({"intervals": FORMER_INTERVALS} if queries[0].former else {"intervals": INTERVALS, "rules": RULES}),
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
    return {"label": query.label, "form": query.form, "numbers": query.length, "sensitivity": query.size}


def _room(queries: Sequence[Query]) -> int:
    longest = 1
    for query in queries:
        parts = [*query.groups.by, *(() if query.bins is None else (query.bins,))]
        names = sum(2 * len(f"{b.column.name}{max(b.grid.labels, key=len)}".encode()) * 2 for b in parts)
        longest = max(longest, names + 2 * len(query.label.encode()))
    return sum(q.length for q in queries) * 3 * (_ROOM_OF_A_FIGURE + 2 * longest) + (1 << 16)
