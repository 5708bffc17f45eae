"""Reconstruction: recovers each person's secret bit from many counts (Dinur & Nissim 2003).

The attacker knows some columns of everybody and the released counts of people who meet a condition on these *and* have
the bit. A linear programme looks for shares x in [0, 1] of the bit that agree with the counts best (least sum of
absolute differences, which forgives noise); a share above one half says "has it". Counts come from released statistics
(histograms of the secret by groups, sums of a secret of 0 and 1), or are counted in released rows: conditions on up to
three known columns within a part of the people who lie beside one another in the order of what is known.

**The bound.** Whether a person's bit is found depends on the release, and on what is known of everybody. The control
set is used one by one: a person of it takes the place of one on the attacker's list, whose row stays in the release.
Her bit is then found with the chance p of somebody whose row was not used, and :mod:`workbench.risk.attacks.bound`
gives the most with the replace-one figures. A bit that was thrown by a fair coin has p = 1/2, whatever is released of
others (``chance``): the bound then holds with the zero-out figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, declared_by, integer, text, texts
from workbench.risk.attacks.base import CHANCE, SEED, Subject
from workbench.risk.attacks.common_columns import CommonColumns, Matrix, common_columns, require
from workbench.risk.attacks.inference import columns_of
from workbench.risk.attacks.outcome import Outcome, Rate, bounded
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.statistics.release_file import FIELDS

Bits = NDArray[np.bool_]

_MOST_PEOPLE = 2_000
_STRANGERS = 60  # people of the control set who are tried, each by a programme of its own


@dataclass(frozen=True, kw_only=True)
class Reconstruction(Parameters):
    """How a secret bit is reconstructed."""

    secret: str | None = text(
        default=None,
        longest=1000,
        title="secret column",
        empty="the last column",
        help="the column with the secret (default: the last one)",
    )
    value: str | None = text(
        default=None,
        longest=1000,
        title="value of the bit",
        empty="chosen automatically",
        help="its value to reconstruct as a bit (default: the last of two, the most frequent of more)",
    )
    known: tuple[str, ...] | None = texts(
        default=None,
        shortest=1,
        title="known columns",
        empty="all others",
        help="columns that the attacker knows about everyone (default: all others)",
    )
    attacks: int = integer(
        default=200,
        at_least=10,
        upto=_MOST_PEOPLE,
        title="people",
        help="number of people to reconstruct, with released rows",
    )
    counts: int = integer(
        default=1000, at_least=10, upto=20_000, title="counts", help="number of counts to use, with released rows"
    )
    chance: float | None = declared_by(CHANCE, default=None)
    seed: int = declared_by(SEED, default=0)


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of people who meet a condition and have the bit."""

    people: Bits  # which people meet each condition, shape (counts, people)
    counts: Matrix  # the released counts, (counts,)
    strangers: Bits  # which people of the control set meet each condition; shape (counts, strangers)


def solved(people: Bits, counts: Matrix) -> Matrix:
    """Return the shares in [0, 1] whose sums over the people of each count are nearest to it (L1), shape (people,).

    People who meet the same conditions are alike to the attacker and share one unknown.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    kinds, of, sizes = np.unique(people, axis=1, return_inverse=True, return_counts=True)
    met = sparse.csr_matrix(kinds.astype(float))
    queries, unknown = kinds.shape
    slack = sparse.identity(queries, format="csr")
    found = linprog(
        np.concatenate([np.zeros(unknown), np.ones(queries)]),
        A_ub=sparse.vstack([sparse.hstack([met, -slack]), sparse.hstack([-met, -slack])], format="csr"),
        b_ub=np.concatenate([counts, -counts]),
        bounds=[*((0, int(size)) for size in sizes), *((0, None) for _ in range(queries))],
        method="highs",
    )
    if found.x is None:
        raise InputError("the linear programme could not be solved", "reconstruction", "use fewer people or counts")
    shares: Matrix = (found.x[:unknown] / sizes)[of.ravel()]
    return shares


def run(subject: Subject, request: Reconstruction, emit: Emit, cancel: CancelToken) -> Outcome:
    """Run the attack on released rows or statistics."""
    release, original, *control = subject.attacked()
    rng = np.random.default_rng(request.seed)
    figures = tuple(release.names) == FIELDS
    rows = [] if figures else [release]
    tables = [*rows, original, *control]
    require(tables, request.known, request.secret)
    shared = common_columns(tables)
    secret, known = columns_of(shared.names, request.secret, request.known)
    bit = _bit(shared, shared.place(secret), request.value, original)
    strangers = shared.tables[-1] if control else np.zeros((0, len(shared.names)))
    people = shared.tables[len(rows)]
    if figures:
        asked = _of_statistics(release, shared, people, strangers, secret, bit)
        chosen, others = np.arange(len(people)), np.arange(len(strangers))
    else:
        asked, chosen, others = _of_rows(shared, known, shared.place(secret), bit, request, rng)
    truth = people[chosen, shared.place(secret)] == bit
    cancel.check()
    emit(Progress(0, 1 + min(len(others), _STRANGERS), "linear programmes"))
    right = (solved(asked.people, asked.counts) > 0.5) == truth
    base = None
    if len(others):
        tried = rng.permutation(len(others))[:_STRANGERS]
        hits = 0
        for done, i in enumerate(tried):
            cancel.check()
            emit(Progress(1 + done, 1 + len(tried), "linear programmes"))
            place, listed = int(rng.integers(len(chosen))), asked.people.copy()
            listed[:, place] = asked.strangers[:, i]
            guess = solved(listed, asked.counts)[place] > 0.5
            hits += int(guess == (strangers[others[i], shared.place(secret)] == bit))
        base = Rate.counted(hits, len(tried))
    chance = None if request.chance is None else Rate.known(request.chance)
    share = float(truth.mean())
    return Outcome(
        attack="reconstruction",
        main=Rate.counted(int(right.sum()), len(right)),
        naive=Rate.known(max(share, 1 - share)),
        control=base,
        guarantee=subject.guarantee,
        allowed=bounded(subject.guarantee, base, chance),
        base=chance,
        figures={"attacks": len(right), "counts": len(asked.counts), "secret": secret, "known": known},
    )


def _bit(shared: CommonColumns, place: int, value: str | None, original: Table) -> float:
    """Return the value of the secret column that is the bit."""
    words = shared.words[place]
    if value is not None:
        try:
            return float(words.index(value) if words else float(value))
        except ValueError:
            what = f"the column {shared.names[place]!r} has no value {value!r}"
            raise ParameterError(what, original.source, "choose a value that occurs", field="value") from None
    cells = np.concatenate([t[:, place] for t in shared.tables])
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    if not len(values):
        raise InputError(f"the column {shared.names[place]!r} is empty", original.source, "name another secret")
    if len(values) == 1:  # a guess is always right, and so is an attack
        what = f"the column {shared.names[place]!r} has only one released value"
        raise InputError(what, original.source, "name another secret")
    return float(values[-1 if len(values) == 2 else counts.argmax()])


def _of_statistics(
    release: Table, shared: CommonColumns, people: Matrix, strangers: Matrix, secret: str, bit: float
) -> Counted:
    """Return the counts that released statistics have of the bit."""
    place = shared.place(secret)
    everybody = np.concatenate([people, strangers])[:, place]
    both = np.unique(everybody[~np.isnan(everybody)])
    kept: list[tuple[Bits, Bits, float]] = []
    for row in release.frame.filter(pl.col("column") == secret).iter_rows(named=True):
        value = _value(row, shared, place, both)
        if value != bit and not (len(both) == 2 and value in both):
            continue
        met, others = (_in_group(row["group"] or "", shared, values) for values in (people, strangers))
        count = float(row["estimate"])
        # Of two values, those who have the other one are the rest of the group, whose size the attacker knows.
        kept.append((met, others, count if value == bit else float(met.sum()) - count))
    if not kept:
        what = f"no histogram or sum of {secret!r} is released"
        raise InputError(what, release.source, "name another secret, or its value with --value")
    return Counted(
        np.array([met for met, _, _ in kept]),
        np.array([count for _, _, count in kept]),
        np.array([met for _, met, _ in kept]).reshape(len(kept), len(strangers)),
    )


def _value(row: Mapping[str, Any], shared: CommonColumns, place: int, both: Matrix) -> float:
    """Return the value of the secret that a figure counts; NaN where it counts something else."""
    words, value = shared.words[place], row["value"] or ""
    if row["statistic"] == "sum" and not words and set(both) == {0.0, 1.0}:
        return 1.0
    if row["statistic"] != "histogram":
        return float("nan")
    return _number(value) if not words else float(words.index(value)) if value in words else float("nan")


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return float("nan")


def _in_group(group: str, shared: CommonColumns, rows: Matrix) -> Bits:
    """Return which rows are in a group as statistics name it: ``City=Graz, Age=20 to 29``; everybody for no name."""
    met = np.ones(len(rows), dtype=bool)
    for part in filter(None, group.split(", ")):
        name, _, value = part.partition("=")
        place = shared.place(name) if name in shared.names else -1
        if place < 0:
            raise InputError(
                f"the original has no column {name!r}", "statistics", "use the table that they were computed from"
            )
        cells, words = rows[:, place], shared.words[place]
        if words:
            met &= cells == (words.index(value) if value in words else -1)
        else:
            ends = [_number(end) for end in value.split(" to ")]
            met &= (cells >= ends[0]) & (cells <= ends[-1])
    return met


def _of_rows(
    shared: CommonColumns,
    known: Sequence[str],
    secret: int,
    bit: float,
    request: Reconstruction,
    rng: np.random.Generator,
) -> tuple[Counted, NDArray[np.int64], NDArray[np.int64]]:
    """Count in released rows; return the counts and which people, and which of the control set, they are about."""
    released, people = shared.tables[:2]
    strangers = shared.tables[2] if len(shared.tables) > 2 else np.zeros((0, people.shape[1]))
    places = shared.places(known)
    # People beside one another in the order of what is known: a condition on known columns, for all three tables.
    order = rng.permutation(len(places))
    stacked = np.nan_to_num(np.concatenate([released, people, strangers])[:, places], nan=-np.inf)
    rank = np.unique(stacked[:, order], axis=0, return_inverse=True)[1].ravel()
    of_released, of_people, of_strangers = np.split(rank, np.cumsum([len(released), len(people)]))
    # Cut among released people and others alike, so that it does not depend on who of two was released.
    ranks = np.sort(np.concatenate([of_people, of_strangers]))
    some = min(round(request.attacks * len(ranks) / len(people)), len(ranks))
    start = int(rng.integers(len(ranks) - some + 1))
    ends = ranks[start], ranks[start + some - 1]
    within = [np.flatnonzero((r >= ends[0]) & (r <= ends[1])) for r in (of_released, of_people, of_strangers)]
    parts = [values[i] for values, i in zip((released, people, strangers), within, strict=True)]
    if len(parts[1]) > _MOST_PEOPLE:
        # Not how many: an attack that fails shows no figure of the rows.
        what = f"more than {_MOST_PEOPLE:,} people have the same known values"
        raise InputError(what, "reconstruction", "add known columns")
    has = parts[0][:, secret] == bit
    scale = len(people) / max(len(released), 1)
    met: list[list[Bits]] = [[], []]
    counts = []
    source = np.concatenate(parts)  # of all, so that one who was released and one who was not can change places
    for _ in range(request.counts):
        columns = rng.choice(places, size=int(rng.integers(1, min(3, len(places)) + 1)), replace=False)
        row, above = source[rng.integers(len(source))], rng.random(len(columns)) < 0.5
        now = [np.ones(len(part), dtype=bool) for part in parts]
        for j, up in zip(columns, above, strict=True):
            for chosen, part in zip(now, parts, strict=True):
                chosen &= _meets(part[:, j], row[j], up=bool(up), number=bool(shared.numeric[j]))
        counts.append(scale * float((now[0] & has).sum()))
        met[0].append(now[1])
        met[1].append(now[2])
    return Counted(np.array(met[0]), np.array(counts), np.array(met[1])), within[1], within[2]


def _meets(cells: Matrix, value: float, *, up: bool, number: bool) -> Bits:
    found: Bits = np.isnan(cells)
    if not np.isnan(value):
        found = cells == value if not number else cells >= value if up else cells <= value
    return found
