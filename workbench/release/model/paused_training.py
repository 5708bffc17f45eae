"""A training that was interrupted: what it is, and the end of one that nobody goes on with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.schema import Attribute
from workbench.params import InputError, ParameterError
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.kept_run import PausedRun, paused_runs, release_of, remove, run_at

if TYPE_CHECKING:
    from workbench.data.table import Table
    from workbench.deep.features import Features
    from workbench.deep.plan import DpSgdPlan


@dataclass(frozen=True)
class PausedTraining:
    """A run of DP-SGD that can go on; everything that :func:`release_training` asks for is known.

    Attributes:
        folder: of the checkpoint.
        plan: what was being done.
        features: the public map from rows to inputs.
        output: the folder of the model.
        rows_per_person: maximum rows per person.
        replace_invalid: whether the plan that declares the columns replaces invalid values.
        outside: sentences on what ε does not cover.
        account: the public name of the account that pays.
        quiet: whether no private figure is shown.
        tested: whether it is measured on public test rows, which it needs again.
        shown: whether one was, so that it costs as much to give it up as to go on.
        steps: of the whole run.
        taken: steps that count as taken.
        epsilon: what is reserved for it.
        delta: the same.
        spent: ε of the steps taken: what giving it up costs where nothing was shown.
        spent_delta: the same of δ.
    """

    folder: Path
    plan: DpSgdPlan
    features: Features
    output: Path
    rows_per_person: int
    replace_invalid: bool
    outside: tuple[str, ...]
    account: str | None
    quiet: bool
    tested: bool
    shown: bool
    steps: int
    taken: int
    epsilon: Decimal
    delta: Decimal
    spent: Decimal
    spent_delta: Decimal


def paused_trainings(ledger: Ledger, table: Table) -> tuple[PausedTraining, ...]:
    """Return the interrupted runs on ``table`` that can go on, newest first."""
    return tuple(_of(run) for run in paused_runs(ledger, ledger.identify(table).content))


def give_up(ledger: Ledger, folder: Path) -> Decimal:
    """End an interrupted run for good, remove its checkpoint, and return the ε that it cost.

    A quiet run costs the steps that it took: whoever stops it has seen no private figure. Any other one stays charged
    in full, for stopping on what one saw is selection.

    Raises:
        InputError: there is no checkpoint, or its run has ended.
    """
    release_id = release_of(folder)
    run = run_at(ledger, folder)
    if run is None:
        raise InputError("the run of this checkpoint has ended", str(folder), "remove the folder")
    training = _of(run)
    if training.shown:
        ledger.charge(release_id)
    else:
        ledger.settle(release_id, training.spent, training.spent_delta)
    remove(folder)
    ledger.forget_steps(release_id)
    return training.epsilon if training.shown else training.spent


def _of(run: PausedRun) -> PausedTraining:
    from workbench.deep.model import features_of
    from workbench.deep.plan import DpSgdPlan

    told, where = run.facts.told, str(run.folder)
    try:
        inputs = [Attribute.from_plain(plain, where=where) for plain in told["inputs"]]
        plan = DpSgdPlan.from_plain(told["plan"])
        features = features_of(inputs[:-1], inputs[-1], told, where)
        # With its noise as a number: to find it for a target again would take seconds.
        same = replace(plan, noise=float(told["noise"]), epsilon=None)
        spent = same.schedule(int(told["rows"]), int(told["rows_per_person"])).cost(run.taken)
        return PausedTraining(
            folder=run.folder,
            plan=plan,
            features=features,
            output=Path(told["output"]),
            rows_per_person=int(told["rows_per_person"]),
            replace_invalid=bool(told["replace_invalid"]),
            outside=tuple(map(str, told["outside"])),
            account=_text(told["account"]),
            quiet=bool(told["quiet"]),
            tested=bool(told["public_test"]),
            shown=run.shown,
            steps=run.facts.steps,
            taken=run.taken,
            epsilon=run.release.epsilon,
            delta=run.release.delta,
            spent=min(spent.epsilon, run.release.epsilon),
            spent_delta=min(spent.delta, run.release.delta),
        )
    except (KeyError, TypeError, ParameterError):
        raise InputError("the checkpoint is damaged", where, "put back a whole copy") from None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
