"""What only statistics can show of a release: queries from the request, figures from the noisy answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.learners.queries import checked_whole_numbers
from workbench.params import ParameterError
from workbench.release.certificate import queries_of as charged
from workbench.release.certificate import require_format, stated_budget
from workbench.release.statistics.statistics_work import described, work_of
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.statistics.asked import Request
from workbench.statistics.queries import FORMER_RULES, RULES, Query, queries_of
from workbench.statistics.release_file import FORMATS, decode, written

_SLACK = 1 << 10
_LAST_DIGITS, _LAST_BITS = 1e-6, 1e-12
"""Relative to an interval's length: half-widths hang on sines and exponentials, whose last bits differ between
processors. And relative to the figure itself."""


def recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for every fault of released statistics that the general checks cannot see.

    Raises:
        WorkbenchError: request, answers or file are not what statistics have.
    """
    require_format(document, output, FORMATS)
    request = Request.from_plain(document["request"], "the request in the certificate").checked(plan)
    budget, method, kind = stated_budget(document), document["method"], document["output"]["format"]
    rules = method.get("rules", FORMER_RULES)
    if rules not in (RULES, FORMER_RULES) or isinstance(rules, bool):
        yield "the certificate is of rules that this version of the program does not know"
        return
    queries = queries_of(request, plan, budget.epsilon, document["rows"], budget.delta, rules=rules)
    work = work_of(request, queries, kind)
    if document["columns"] != list(work.columns):
        yield "the certificate names other columns than its request reads"
    if work.events != charged(document):
        yield "the certificate has other queries than its request makes"
        return
    if method.get("queries") != [described(q) for q in queries]:
        yield "the certificate describes its queries otherwise than its request makes them"
        return
    cancel.check()
    made = work.files(_answers(method.get("answers"), queries), cancel)
    if method != made.method:
        yield "the certificate says otherwise how the figures were made than statistics are"
        return
    # Last digits may differ between processors: a record of 20 bytes or more has three numbers of 25 at most.
    most = 5 * len(made.whole) + _SLACK
    if output.stat().st_size > most:
        yield f"the file has {output.stat().st_size} bytes, its figures take at most {most}"
        return
    cancel.check()
    data = output.read_bytes()
    if data == made.whole:
        return
    expected = decode(made.whole, kind, str(output))
    found = decode(data, kind, str(output), len(expected))
    if written(found, kind) != data:
        yield "the file is not written as released statistics are"
    if len(found) != len(expected) or not all(itertools.starmap(_alike, zip(found, expected, strict=True))):
        yield "the file's figures do not follow from the noisy answers in the certificate"


def _answers(stated: Any, queries: tuple[Query, ...]) -> dict[str, list[int]]:
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
