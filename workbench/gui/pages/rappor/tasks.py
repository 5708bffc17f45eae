"""What the RAPPOR page starts: a simulation, and the decoding of what was released. All but the latter is private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.gui.pages.release_tasks import certified
from workbench.gui.session.session import OpenTable
from workbench.gui.style.language import tr, tr_sentence
from workbench.jobs import CancelToken, Emit
from workbench.privacy.rappor.parameters import RapporParameters

if TYPE_CHECKING:
    from workbench.rappor.decode import Decoded
    from workbench.rappor.files import Counts

SHOWN = 60  # most candidates in the picture of bars

EXTRA = 50  # candidates beside those of a column that nobody has

LEAST_ROC = 1_000


@dataclass(frozen=True)
class Bar:
    """One candidate: its true share where that is looked at, the decoded one, and detected, missed, false or absent."""

    string: str
    true: float | None
    estimate: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True, eq=False)
class Shown:
    """What the pictures are made of; of a release nothing is known to be missed, false or absent."""

    title: str
    private: bool
    bars: tuple[Bar, ...]  # the candidates, most frequent first or in their own order
    more: int  # candidates that are not among the bars
    heat: NDArray[np.float64]  # (cohorts, bits) share of a cohort's reports with each bit
    # (reports, false alarms, hits) of each number of reports.
    roc: tuple[tuple[int, NDArray[np.float64], NDArray[np.float64]], ...]
    detected: int
    missed: int | None
    false: int | None
    unexplained: tuple[float, float]  # ends of the 95 % interval of the share that no candidate explains
    reports: int


def simulated(
    opened: OpenTable | None,
    column: str | None,
    made_up: str,
    parameters: RapporParameters,
    reports: int,
    emit: Emit,
    cancel: CancelToken,
) -> Shown:
    """Simulate reports of ``column``, or of the preset ``made_up`` where it is ``None``, and fewer for the ROC."""
    from workbench.rappor.simulate import observed, preset, roc, score, simulate, with_extra
    from workbench.release.ledger.study_note import note_study

    if column is None:
        known = preset(made_up)
        distribution, title = known.distribution, tr_sentence(known.title)
        candidates = with_extra(distribution, known.extra)
    else:
        assert opened is not None
        distribution = observed(opened.table.column(column).to_list(), column)
        candidates, title = with_extra(distribution, EXTRA), tr("column {name}", name=column)
        note_study(opened.table, "rappor", emit=emit)
    values = distribution.values
    called = {name: tr("absent {number}", number=at) for at, name in enumerate(candidates[len(values) :], 1)}
    if column is None:
        called |= {f"v{at}": tr("value {number}", number=at) for at in range(1, len(values) + 1)}
    made = simulate(parameters, distribution, reports, candidates, emit=emit, cancel=cancel)
    curves = []
    if (made.truth == 0).any():
        fewer = [n for n in (reports // 10, reports // 100) if n >= LEAST_ROC]
        # More reports bring rarer strings; every line is about the strings of the fewest, or more would look worse.
        least = min(1 / (fewer or [reports])[-1], float(made.truth.max()) / 2)
        curves.append((reports, *roc(made, least)))
        for n in fewer:
            drawn = simulate(parameters, distribution, n, candidates, emit=emit, cancel=cancel)
            curves.append((n, *roc(drawn, least)))
    found = score(made, "bonferroni")
    return Shown(
        title=title,
        private=column is not None,
        **_decoded(made.decoded, made.truth, called),
        heat=_heat(made.counts),
        roc=tuple(curves),
        detected=found.detected,
        missed=found.missed,
        false=found.false,
    )


def decoded(path: Path, emit: Emit, cancel: CancelToken) -> Shown:
    """Return what released reports say of the public values of their column: it follows from the release alone.

    Raises:
        InputError: the file or its certificate cannot be read, or they do not belong together.
        ParameterError: the column has no public values.
    """
    from workbench.privacy.rappor.bits import BloomBits
    from workbench.rappor.candidates import candidate_map
    from workbench.rappor.decode import decode
    from workbench.rappor.reports import read_sum

    document, plan = certified(path)
    request = document["request"]
    parameters = RapporParameters(**request["parameters"])
    values = tuple(plan.column(request["column"]).grid().labels)
    counts = read_sum(path, parameters, emit, cancel)
    found = decode(counts, candidate_map(values, BloomBits(parameters)), emit=emit, cancel=cancel)
    return Shown(
        title=tr("released reports of {column}", column=request["column"]),
        private=False,
        **_decoded(found, None, {}),
        heat=_heat(counts),
        roc=(),
        detected=int(found.bonferroni.sum()),
        missed=None,
        false=None,
    )


def _heat(counts: Counts) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = counts.ones / np.maximum(counts.reports, 1)[:, None]
    return shares


def _decoded(decoded: Decoded, truth: NDArray[np.float64] | None, called: Mapping[str, str]) -> dict[str, Any]:
    """Return bars, what they leave out, reports and the unexplained share; made-up values are ``called`` in words."""
    low, high = decoded.interval()
    size = decoded.estimate if truth is None else np.maximum(truth, decoded.estimate * decoded.bonferroni)
    kept = np.argsort(-size, kind="stable")[:SHOWN]
    there = [decoded.strings[at] for at in range(len(size)) if truth is None or truth[at] > 0]
    if all(string.isdecimal() and len(string) < 16 for string in there):  # numbers keep their own order
        numbers = [decoded.strings[at] for at in kept.tolist()]
        kept = kept[np.argsort([int(n) if n.isdecimal() else 1 << 60 for n in numbers], kind="stable")]
    bars = []
    for at in kept.tolist():
        sure, true = bool(decoded.bonferroni[at]), None if truth is None else float(truth[at])
        occurs = true is None or true > 0
        verdict = ("detected" if occurs else "false") if sure else ("missed" if occurs else "absent")
        ends = float(low[at]), float(high[at])
        name = called.get(decoded.strings[at], decoded.strings[at])
        bars.append(Bar(name, true, max(float(decoded.estimate[at]), 0.0), *ends, verdict))
    half = 1.96 * decoded.unexplained_error
    unexplained = tuple(min(max(decoded.unexplained + side, 0.0), 1.0) for side in (-half, half))
    return {
        "bars": tuple(bars),
        "more": len(decoded.strings) - len(bars),
        "unexplained": unexplained,
        "reports": decoded.reports,
    }
