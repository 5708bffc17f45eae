"""The charge of one release: reserved before its rows are read; at the end final, settled at less, or void.

A run that ends early costs nothing before the first drawn byte is written, and the full cost afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.params import CancelledError, InputError, WorkbenchError, paid
from workbench.privacy.accounting.event import Cost
from workbench.release.atomic import write_error
from workbench.release.ledger.composition import event_body, steps_body
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import Release
from workbench.signals import Emit, Notice


class Reservation:
    """The charge of one release: its call is the one durable reservation."""

    def __init__(self, ledger: Ledger, dataset: str, work: str, details: dict[str, Any], resumes: str = "") -> None:
        self._ledger, self._dataset, self._work, self._details = ledger, dataset, work, details
        self._resumes = resumes
        self._reserved: tuple[Cost, str] | None = None
        self._final = False
        self._settled: tuple[Decimal, Decimal] | None = None

    def __call__(self, cost: Cost) -> None:
        """Reserve ``cost`` durably, unless it was reserved or charged before the run was interrupted.

        Raises:
            BudgetRefusedError: the cap forbids it.
            InputError: what goes on is not what was reserved.
            CheckFailedError: the ledger was altered or damaged, or is an older copy.
        """
        if self._reserved is not None:
            raise AssertionError("one release is charged once")
        if self._resumes:
            self._final = self._require_same(cost).status == "charged"
            if self._final:  # an older copy of the ledger may not know that the release is finished
                self._ledger.require_sound()
            else:
                self._ledger.resume(self._resumes, self._details)
            self._reserved = cost, self._resumes
            return
        details = {**self._details, **steps_body(cost)}
        self._reserved = cost, self._ledger.reserve(self._dataset, cost, work=self._work, details=details)

    def _require_same(self, cost: Cost) -> Release:
        """Return the release that goes on; raise :class:`InputError` unless ``cost`` is of the very event of it."""
        found = self._ledger.release(self._resumes)
        if found is not None and "certificate" in found.body:
            raise InputError("the release is finished: another run ended it", self._resumes, "check its output")
        if found is None or self._ledger.account_of(found.dataset) != self._ledger.account_of(self._dataset):
            raise InputError("the interrupted run was charged to another table", self._resumes)
        stated = {**event_body(cost), **steps_body(cost)}
        reserved = {key: found.body.get(key) for key in stated}
        if (cost.epsilon, cost.delta, stated) != (found.epsilon, found.delta, reserved):
            raise InputError(
                "the run would not be the one that was charged: noise, steps or cost differ",
                self._resumes,
                "use the version of the workbench that started it",
            )
        return found

    def settle(self, cost: Cost) -> None:
        """Record what the work really cost when it ends early for a reason decided without data."""
        self._settled = cost.epsilon, cost.delta

    def made(self) -> tuple[Cost, str]:
        """Return what was reserved and the name of the release."""
        if self._reserved is None:
            raise AssertionError("the work never charged for what it read")
        return self._reserved

    def make_final(self, settled: tuple[Decimal, Decimal] | None = None) -> None:
        """Charge for good: what was reserved, or the smaller (ε, δ) that was settled."""
        _, release_id = self.made()
        if self._final:
            return
        if settled is not None:
            self._ledger.settle(release_id, *settled)
        else:
            self._ledger.charge(release_id)

    def abandon(self, error: BaseException, emit: Emit, *, keep: bool = False, watched: bool = False) -> None:
        """Record the end of a run that wrote nothing: void, unless steps of it count or its figures were seen.

        If it is to be kept, it stays charged at what was settled, if that was; if a person ``watched`` figures of the
        run, in full, whatever ended it, for most faults can be brought about by who watches.
        """
        if self._reserved is None:
            return
        release_id = self._reserved[1]
        if not keep:
            _void_unless_charged(self._ledger, release_id, error, emit)
            return
        found = self._ledger.release(release_id)
        if found is not None and found.status == "reserved":
            self.make_final(None if watched else self._settled)


def _void_unless_charged(ledger: Ledger, release_id: str, error: BaseException, emit: Emit) -> None:
    """Record that a run ended before its charge was final; if the ledger cannot be written, the reservation counts."""
    try:
        found = ledger.release(release_id)
        if found is not None and found.status == "reserved":
            ledger.void(release_id, type(error).__name__)
    except WorkbenchError as problem:
        emit(Notice("warning", f"the charge remains reserved until another run settles it: {problem}"))


@contextmanager
def standing_charge(cost: Cost, target: Path, *, goes_on: bool = False) -> Iterator[None]:
    """Add to any error of the block that the charge stays, because drawn values were being written.

    Where what is drawn is kept, it says that another run ``goes_on`` with it.

    Raises:
        CancelledError: the block was cancelled.
        InputError: the output could not be written.
    """
    epsilon = paid(cost.epsilon)
    stated = f"epsilon = {epsilon} stays charged, because drawn values were being written"
    if goes_on:
        stated = f"epsilon = {epsilon} stays charged; the same command continues it, and nothing more is charged"
    try:
        yield
    except CancelledError:
        raise CancelledError(f"cancelled without a release; {stated}") from None
    except OSError as error:
        problem = write_error(error, target)
        problem.outcome = stated
        raise problem from None
    except WorkbenchError as problem:  # a cluster that is gone, or a disk that is full
        problem.outcome = stated
        raise
