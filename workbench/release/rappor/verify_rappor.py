"""What only RAPPOR reports can show of a release: ε from the parameters, and a file that holds such reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.params import ParameterError
from workbench.privacy.accounting.event import PureDp
from workbench.privacy.rappor.account import cost
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.collection import Collection
from workbench.rappor.reports import read_sum
from workbench.release.certificate import queries_of, require_format
from workbench.release.rappor.rappor_work import FORMATS, LABEL, made_bits, stated
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken

_BESIDE = {"parameters", "basic", "kept_answers", "epsilon_one", "epsilon_permanent"}


def recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for every fault of RAPPOR reports whose bytes and guarantee were checked.

    Raises:
        WorkbenchError: the request is malformed, or the file does not hold such reports.
    """
    require_format(document, output, FORMATS)
    asked, parameters, basic = _asked(document["request"])
    made_bits(parameters, basic)
    kept = document["request"].get("kept_answers")
    if type(kept) is not bool or document["request"] != stated(parameters, asked, basic, kept=kept):
        yield "the certificate's request is not what its parameters give"
        return
    if document["columns"] != list(asked.columns):
        yield "the certificate names other columns than its request reads"
    if queries_of(document) != (PureDp(cost(parameters, asked.reports).decimal(), LABEL),):
        yield "the certificate's epsilon is not that of its parameters and number of reports"
    counts = read_sum(output, parameters, cancel=cancel)
    expected = document["rows"] * (asked.reports if asked.client is None else 1)
    if counts.total != expected or document["method"] != {"reports": counts.total}:
        yield f"the file has {counts.total} reports, its certificate gives {expected}"


def _asked(request: dict[str, Any]) -> tuple[Collection, RapporParameters, tuple[str, ...]]:
    values, basic = request.get("parameters"), request.get("basic")
    if not isinstance(values, dict) or not isinstance(basic, list) or not all(isinstance(b, str) for b in basic):
        raise ParameterError("the certificate's request is malformed", "request")
    plain = {key: value for key, value in request.items() if key not in _BESIDE}
    return Collection.from_plain(plain, "request"), RapporParameters.from_plain(values, "request"), tuple(basic)
