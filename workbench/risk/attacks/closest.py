"""Distance to the closest record: people in the data are closer to the released rows than others.

Both the original and the control rows are compared with the released ones: a person near to some released row is said
to have been used, or one who is nearer to it than to all other people of both tables. Beside it is how many
released rows are nearer to an original row than to any of as many control rows: one half, if none was copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from workbench.params import Parameters, integer
from workbench.risk.attacks.base import Subject
from workbench.risk.attacks.common_columns import CommonColumns, Matrix, common_columns
from workbench.risk.attacks.membership import outcome_of, separations
from workbench.risk.attacks.neighbours import distances
from workbench.risk.attacks.outcome import Outcome, Rate
from workbench.risk.membership import Seen
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

NAME = "closest"


@dataclass(frozen=True, kw_only=True)
class Closest(Parameters):
    """Whose distances are compared."""

    attacks: int = integer(
        default=2000, at_least=20, upto=100_000, symbol="N", help="number of people to attack in each table"
    )
    seed: int = integer(default=0, at_least=0, upto=2**63 - 1, help="seed of the sample of people", advanced=True)


def run(subject: Subject, request: Closest, emit: Emit, cancel: CancelToken) -> Outcome:
    """Run the attack on a released table."""
    shared = common_columns(subject.attacked())
    rng = np.random.default_rng(request.seed)
    released, used, others = (rows[rng.permutation(len(rows))] for rows in shared.tables)
    used, others = used[: request.attacks], others[: request.attacks]
    emit(Progress(0, 3, "distances"))
    people = np.concatenate([used, others])
    away = _nearest(shared, people, released, cancel)
    emit(Progress(1, 3, "distances"))
    seen = Seen(-away, others=-_nearest(shared, people, people, cancel, itself=False))
    ways = separations(seen, len(used), subject.guarantee, request.seed)
    alike = min(len(used), len(others))
    emit(Progress(2, 3, "distances"))
    back = [_nearest(shared, released[: request.attacks], rows[:alike], cancel) for rows in (used, others)]
    nearer = float(np.sum(back[0] < back[1]) + np.sum(back[0] == back[1]) / 2)
    outcome = outcome_of(ways, subject.guarantee, attack=NAME)
    return replace(outcome, figures={**outcome.figures, "nearer": Rate.counted(nearer, len(back[0])).plain()})


def _nearest(
    shared: CommonColumns, rows: Matrix, others: Matrix, cancel: CancelToken, *, itself: bool = True
) -> Matrix:
    """Return the distance of each row to the nearest of the others, over all columns.

    Where it does not count ``itself``, ``others`` are the same rows.
    """
    found, at = np.empty(len(rows)), 0
    for part in distances(shared, list(range(len(shared.names))), rows, others, cancel):
        places = np.arange(at, at + len(part))
        if not itself:
            part[places - at, places] = np.inf
        found[places] = part.min(axis=1)
        at += len(part)
    return found
