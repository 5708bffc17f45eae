"""The charge of one training: reserved before its rows are read; at the end final, settled at less, or void."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from workbench.params import InputError
from workbench.privacy.accounting.event import Cost
from workbench.release.exposure import void_unless_charged
from workbench.release.ledger.counting import event_body, steps_body
from workbench.release.ledger.ledger import Ledger
from workbench.signals.events import Emit


class Reservation:
    """The :class:`~workbench.release.model.model.Charger` of a release: its call is the one durable reservation."""

    def __init__(self, ledger: Ledger, dataset: str, work: str, details: dict[str, Any], resumes: str = "") -> None:
        """Prepare it; nothing is reserved yet.

        Args:
            ledger: the account.
            dataset: who pays.
            work: the kind of work.
            details: what the ledger's record of it says besides.
            resumes: the release that goes on, which is reserved already; empty for one that begins.
        """
        self._ledger, self._dataset, self._work, self._details = ledger, dataset, work, details
        self._resumes = resumes
        self._reserved: tuple[Cost, str] | None = None
        self._settled: tuple[Decimal, Decimal] | None = None

    def __call__(self, cost: Cost) -> None:
        """Reserve ``cost`` durably, unless that was done before the run was interrupted.

        Raises:
            BudgetRefusedError: the cap forbids it.
            InputError: what goes on is not what was reserved.
        """
        if self._reserved is not None:
            raise AssertionError("one release is charged once")
        if self._resumes:
            self._require_same(cost)
            self._ledger.resume(self._resumes, self._details)
            self._reserved = cost, self._resumes
            return
        details = {**self._details, **steps_body(cost)}
        self._reserved = cost, self._ledger.reserve(self._dataset, cost, work=self._work, details=details)

    def _require_same(self, cost: Cost) -> None:
        """Raise :class:`InputError` unless ``cost`` is of the very event that was reserved."""
        found = self._ledger.release(self._resumes)
        if found is None or self._ledger.account_of(found.dataset) != self._ledger.account_of(self._dataset):
            raise InputError("the interrupted run was charged to another table", self._resumes)
        stated = {**event_body(cost), **steps_body(cost)}
        reserved = {key: found.body.get(key) for key in stated}
        if (cost.epsilon, cost.delta, stated) != (found.epsilon, found.delta, reserved):
            raise InputError(
                "the run would not be the one that was charged: noise, steps or cost differ",
                self._resumes,
                "use the version of the workbench that began it",
            )

    def settle(self, cost: Cost) -> None:
        """Record what the work really cost when it ends early for a reason decided without data."""
        self._settled = cost.epsilon, cost.delta

    def made(self) -> tuple[Cost, str]:
        """Return what was reserved and the name of the release."""
        if self._reserved is None:
            raise AssertionError("the work never charged for what it read")
        return self._reserved

    def make_final(self, settled: tuple[Decimal, Decimal] | None) -> None:
        """Charge for good: what was reserved, or the smaller (ε, δ) that was settled."""
        _, release_id = self.made()
        if settled is not None:
            self._ledger.settle(release_id, *settled)
        else:
            self._ledger.charge(release_id)

    def abandon(self, error: BaseException, *, keep: bool, watched: bool, emit: Emit) -> None:
        """Record the end of a run that wrote nothing: void, unless steps of it count or its figures were seen.

        Args:
            error: what ended it.
            keep: whether it stays charged: at what was settled, if that was.
            watched: whether a person saw figures of the run: then it stays charged in full, whatever ended it, for
                most faults can be brought about by who watches.
            emit: receives a warning where the ledger cannot be told.
        """
        if self._reserved is None:
            return
        release_id = self._reserved[1]
        if not keep:
            void_unless_charged(self._ledger, release_id, error, emit)
            return
        found = self._ledger.release(release_id)
        if found is not None and found.status == "reserved":
            self.make_final(None if watched else self._settled)
