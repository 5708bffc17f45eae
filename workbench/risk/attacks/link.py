"""Record linkage: the attacker looks known people up in the release by their known values.

A person is found where exactly one released row has her values in the chosen columns; then everything else in that row
is said to be hers. Where her other values are known too, they show how often that is true. Without a control set this
counts unique matches, right or wrong: whether she is found depends on the release and her own values alone, so that
the bound of :mod:`workbench.risk.attacks.bound` holds with the replace-one figures where a control set is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import Parameters, texts
from workbench.risk.attacks.base import Subject
from workbench.risk.attacks.common_columns import Matrix, common_columns, require
from workbench.risk.attacks.outcome import Outcome, Rate, bounded, percent
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit


@dataclass(frozen=True, kw_only=True)
class Link(Parameters):
    """How people are looked up."""

    on: tuple[str, ...] = texts(shortest=1, title="look up by", help="the columns to look people up by")


def run(subject: Subject, request: Link, emit: Emit, cancel: CancelToken) -> Outcome:
    """Run the attack on a released table."""
    release, known, *control = tables = subject.attacked("known")
    require(tables, request.on)
    shared = common_columns([release, known])
    asked = common_columns(tables, request.on)
    found = _rows(asked.tables[0], asked.tables[1])
    main = Rate.counted(int((found >= 0).sum()), known.rows)
    base = None
    if control:
        base = Rate.counted(int((_rows(asked.tables[0], asked.tables[2]) >= 0).sum()), control[0].rows)
    others = [name for name in shared.names if name not in request.on]
    confirmed = None
    notes: tuple[str, ...] = ()
    if others and main.count:
        places, here = shared.places(others), found >= 0
        rows, people = shared.tables[0][found[here]][:, places], shared.tables[1][here][:, places]
        confirmed = float(((rows == people) | (np.isnan(rows) & np.isnan(people))).all(axis=1).mean())
        notes = (f"For {percent(confirmed)} of the people found, every other known value of the row matches.",)
    stated = f"{percent(main.value)} of the people that the attacker knows match exactly one released row"
    return Outcome(
        attack="link",
        main=main,
        naive=Rate.known(1 / release.rows),
        control=base,
        guarantee=subject.guarantee,
        allowed=bounded(subject.guarantee, base),
        figures={"reidentified_fraction": main.value, "on": list(request.on), "confirmed": confirmed},
        notes=notes,
        main_sentence=f"{stated} ({percent(main.low)} to {percent(main.high)}).",
    )


def _rows(released: Matrix, people: Matrix) -> NDArray[np.int64]:
    """Return the only row with the values of each person; -1 where there is none, or several."""
    stacked = np.nan_to_num(np.concatenate([released, people]), nan=-np.inf)
    of = np.unique(stacked, axis=0, return_inverse=True)[1].ravel()
    theirs = of[len(released) :]
    counts = np.bincount(of[: len(released)], minlength=int(of.max(initial=0)) + 1)
    last = np.zeros(len(counts), dtype=np.int64)
    last[of[: len(released)]] = np.arange(len(released))
    return np.where(counts[theirs] == 1, last[theirs], -1)
