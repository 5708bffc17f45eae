"""Linkability: joins two files about the same people through the release (Giomi et al. 2023).

One attacker knows some columns of a person, another one knows others. Both look for the released rows that are nearest
to what they know. If one row is among the nearest of both, the two files are linked. The naive attacker links the files
of two different people in the same way. Whether a person is linked depends on the release and her own values alone, so
that the bound of :mod:`workbench.risk.attacks.bound` holds with the replace-one figures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.params import ParameterError, Parameters, declared_by, integer, text, texts
from workbench.risk.attacks.base import PEOPLE, SEED, Subject
from workbench.risk.attacks.common_columns import Matrix, common_columns, require
from workbench.risk.attacks.neighbours import distances, near
from workbench.risk.attacks.outcome import Outcome, Rate, bounded
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit


@dataclass(frozen=True, kw_only=True)
class Linkability(Parameters):
    """How linkability is attacked."""

    known: tuple[str, ...] | None = texts(
        default=None,
        shortest=1,
        title="first file",
        empty="every second column",
        help="columns of the first file (default: every second column)",
    )
    others: tuple[str, ...] | None = texts(
        default=None,
        shortest=1,
        title="second file",
        empty="the other columns",
        help="columns of the second file (default: the remaining columns)",
    )
    secret: str | None = text(
        default=None, longest=1000, title="secret column", empty="no column", help="a column that neither file has"
    )
    attacks: int = declared_by(PEOPLE, default=2000)
    neighbours: int = integer(
        default=1, at_least=1, upto=100, title="nearest rows", help="number of nearest rows to compare"
    )
    seed: int = declared_by(SEED, default=0)


def run(subject: Subject, request: Linkability, emit: Emit, cancel: CancelToken) -> Outcome:
    """Run the attack on a released table."""
    tables = subject.attacked()
    shared = common_columns(tables)
    require(tables, request.known, request.others, request.secret)
    first, second = _files(tuple(name for name in shared.names if name != request.secret), request)
    rng = np.random.default_rng(request.seed)

    def linked(people: Matrix, others: Matrix) -> Rate:
        sides = zip(
            distances(shared, shared.places(first), people, shared.tables[0], cancel),
            distances(shared, shared.places(second), others, shared.tables[0], cancel),
            strict=True,
        )
        hits = 0
        for one, other in sides:
            hits += int((near(one, request.neighbours) & near(other, request.neighbours)).any(axis=1).sum())
        return Rate.counted(hits, len(people))

    def chosen(people: Matrix) -> Matrix:
        return people[rng.permutation(len(people))[: request.attacks]]

    emit(Progress(0, 3, "files"))
    people = chosen(shared.tables[1])
    main = linked(people, people)
    emit(Progress(1, 3, "files"))
    naive = linked(people, np.roll(people, 1, axis=0))
    emit(Progress(2, 3, "files"))
    strangers = chosen(shared.tables[2]) if len(tables) > 2 else None
    base = None if strangers is None else linked(strangers, strangers)
    return Outcome(
        attack="linkability",
        main=main,
        naive=naive,
        control=base,
        guarantee=subject.guarantee,
        allowed=bounded(subject.guarantee, base),
        figures={"attacks": main.of, "known": list(first), "others": list(second)},
    )


def _files(names: tuple[str, ...], request: Linkability) -> tuple[list[str], list[str]]:
    """Return the columns of both files."""
    first = list(request.known or [n for n in names[::2] if n not in (request.others or ())])
    second = list(request.others or [n for n in names if n not in first])
    both = [name for name in first if name in second]
    if both:
        what = f"the column {both[0]!r} is in both files"
        raise ParameterError(what, hint="give each file different columns", field="others")
    if not first or not second:
        raise ParameterError("one of the two files has no column", hint="list the columns of both", field="others")
    return first, second
