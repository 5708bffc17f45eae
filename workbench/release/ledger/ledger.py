"""The durable account of every dataset: charge first, then release.

One SQLite file holds an append-only chain of entries; each names the hash of the one before it. The present
status of a release follows from its last entry: ``reserved`` (the cost is counted, the work may be going on),
``charged`` (final, recorded before the first drawn byte goes into any file), ``settled`` (final, for a run that cost
less than it reserved), ``void`` (no drawn byte ever left the process) or ``refused``. Reserved, charged and settled
releases count against the cap, so a crash can only overcount.

A training that can be interrupted stays reserved until it ends. How many of its steps count as taken is kept here, not
in the checkpoint: of that somebody may keep an older copy. Each claim of steps, each pause and each part that goes on
is an entry of the chain, made under the checks of a charge. So a count that was altered, an older copy of the ledger
and one that was moved away are noticed before another step is taken or given back.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from workbench.params import InputError, ParameterError
from workbench.params.remedies import DATA, LEDGER, run
from workbench.privacy.accounting.event import Cost
from workbench.privacy.accounting.renyi_filter import Filter
from workbench.release.ledger.composition import FILTER, SUM, FilterCount, event_body, filter_of
from workbench.release.ledger.entry import Amount, loss
from workbench.release.ledger.entry_chain import amount_texts
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.location import still_runs, this_process
from workbench.release.ledger.merge import LedgerMerge
from workbench.release.ledger.records import (
    CERTIFY,
    CLAIM,
    FIRST_RELEASE,
    PAUSE,
    RESUME,
    STEWARD,
    Account,
    Cap,
    Release,
    cap_for,
    require_unit,
)

RUN = "run"  # key of a reservation: what names the part of a run that may claim steps; empty while it is paused

_going: set[str] = set()  # the parts of runs that go on in this process


def is_running(release: Release) -> bool:
    """Return whether a process may still be at an unfinished run."""
    process, run = release.body.get("process", {}), release.body.get(RUN)
    if run == "":
        return False
    return run in _going if process == this_process() else still_runs(process)


def begin_part(run: str) -> None:
    """Record that this process is continuing a run."""
    _going.add(run)


def end_part(run: str) -> None:
    """Record that this process no longer continues it."""
    _going.discard(run)


class Ledger(LedgerMerge):
    """An open ledger. Use it as a context manager, or call :meth:`close`."""

    # -- releases -------------------------------------------------------------------------------------------------

    def reserve(self, dataset: Identity | str, cost: Cost, *, work: str, details: dict[str, Any] | None = None) -> str:
        """Charge ``cost`` to ``dataset`` durably, before its rows are used, and return the release's id.

        Args:
            dataset: the marks of the table, or its dataset or account in this ledger.
            cost: what the work will cost at the most.
            work: what kind of work it is (``sanitize``, ``fit``, ``dpsgd``).
            details: what recovery needs to know (paths of the output); no data values. Datasets that it names under
                :data:`TABLES` share the account from then on: what was spent of any of them counts against all.

        Raises:
            BudgetRefusedError: the cap does not allow it; the refusal is recorded, nothing is charged.
            ParameterError: as :func:`~workbench.release.ledger.records.require_unit`.
        """
        release_id = secrets.token_hex(8)
        wanted = loss(cost.epsilon, cost.delta)
        body = {"work": work, "process": this_process(), **event_body(cost), **(details or {})}
        release = Release(release_id, "", *wanted, "reserved", "", body)
        with self._transaction():
            self.require_sound()
            dataset = self.enter(dataset)
            account = self.account(dataset, *release.tables)
            require_unit(release, self.counted(dataset, *release.tables))
            cap, refused = cap_for(wanted, account.standing_cap), account.refusal(cost)
            if refused is not None:
                stated = {"cap": amount_texts(cap), "used": amount_texts(account.used)}
                self._append("refuse", dataset, {**body, **stated}, wanted, release_id)
            else:
                dataset = self.share(dataset, *release.tables)
                if cap != self.account(dataset).cap:
                    self._append("cap", dataset, {"origin": FIRST_RELEASE}, cap)
                self._append("reserve", dataset, body, wanted, release_id)
        if refused is not None:
            raise refused
        return release_id

    def charge(self, release_id: str) -> None:
        """Make the cost of a reserved release final. Call it before the first drawn byte goes into any file.

        Raises:
            InputError: the release is not reserved (any more); then nothing of it may be written.
        """
        self._follow(release_id, "charge")

    def settle(self, release_id: str, epsilon: Decimal, delta: Decimal) -> None:
        """Make a lower cost final, of a run that stopped for a reason independent of the data. As :meth:`charge`."""
        self._follow(release_id, "settle", loss(epsilon, delta))

    def give_up(self, release_id: str, taken: int, cost: Amount | None) -> None:
        """End an interrupted training for good, at the ``cost`` of ``taken`` steps; in full where that is ``None``.

        Raises:
            InputError: it goes on, or has gone on since ``taken`` of its steps counted, or has ended.
            CheckFailedError: the ledger was altered or damaged, or is an older copy.
        """
        with self._transaction():
            self.require_sound()
            if is_running(self._reserved(release_id)) or self.steps_taken(release_id) != taken:
                raise InputError("this training is still running", release_id, "pause it first, or let it end")
            if cost is None:
                self.charge(release_id)
            else:
                self.settle(release_id, *cost)

    def void(self, release_id: str, reason: str) -> None:
        """Record that no drawn byte of a reserved release left the process, so that it costs nothing."""
        self._follow(release_id, "void", body={"reason": reason})

    def certify(self, release_id: str, checksum: str, request: str, document: str = "") -> None:
        """Record the certificate of a finished draw before it is renamed, so that the next run can publish it.

        Only a run with the same ``request``, the digest of what was asked for, publishes it; ``document`` is the
        certificate, where it is not beside the draw.

        Raises:
            InputError: it is not charged, or is finished: a second draw would be published at one charge.
        """
        with self._transaction():
            release = self.release(release_id)
            if release is None or release.status not in ("charged", "settled"):
                raise InputError(f"the release {release_id} is not charged", str(self.path))
            if "certificate" in release.body:
                raise InputError("the release is finished: another run ended it", release_id, "check its output")
            self._append(CERTIFY, release.dataset, {"certificate": checksum}, release.cost, release_id)
            self._db.execute("INSERT INTO finished VALUES (?, ?, ?)", (release_id, request, document))

    @contextmanager
    def publishing(self, release_id: str) -> Iterator[None]:
        """Lock the ledger while a finished draw is renamed, so that only one process does it.

        If the block ends well the draw waits no longer.
        """
        with self._transaction():
            yield
            self._db.execute("DELETE FROM finished WHERE release_id = ?", (release_id,))

    def forget_finished(self, release_id: str) -> None:
        """Record that a finished draw will never be published; it stays charged."""
        with self.publishing(release_id):
            pass

    def finished(self) -> dict[str, tuple[str, str]]:
        """Return (request, document) of every finished draw that is not renamed yet, by release."""
        return {str(r): (str(q), str(d)) for r, q, d in self._rows("SELECT * FROM finished")}

    # -- steps of a training --------------------------------------------------------------------------------------

    def claim_steps(self, release_id: str, steps: int, most: int, run: str) -> None:
        """Count ``steps`` more as taken by the part ``run`` of a training, durably.

        Raises:
            InputError: there would be more than ``most``, or the run has ended or is another's.
            CheckFailedError: the ledger may not charge.
        """
        with self._transaction():
            release = self._own(release_id, run)
            if not 0 < steps <= most - self.steps_taken(release_id):
                raise InputError(f"the training has taken all of its {most:,} steps", release_id)
            self._append(CLAIM, release.dataset, {"steps": steps}, release_id=release_id)

    def pause_steps(self, release_id: str, given_back: int, run: str) -> None:
        """Count ``given_back`` fewer, none of which was taken; the part ``run`` has ended and claims no more.

        Raises:
            InputError: the run has ended, or is another's.
            CheckFailedError: the ledger may not charge.
        """
        with self._transaction():
            release = self._own(release_id, run)
            if not 0 <= given_back <= self.steps_taken(release_id):
                raise InputError("a training cannot give back more steps than it claimed", release_id)
            body = {"given_back": given_back, RUN: ""}
            self._append(PAUSE, release.dataset, body, release.cost, release_id)

    def resume(self, release_id: str, details: dict[str, Any]) -> None:
        """Record that this process goes on with an interrupted training; it costs what was reserved, and no more.

        The name of the part, which is random, makes the entry another one in each copy of the ledger, also where two
        go on at the same moment: a merge counts both.

        Raises:
            InputError: the release is not reserved (any more), or somebody is at it.
            CheckFailedError: the ledger may not charge.
        """
        with self._transaction():
            self.require_sound()
            release = self._reserved(release_id)
            if is_running(release):
                raise InputError("this training is still running", release_id, "wait for it, or pause it first")
            body = {RUN: secrets.token_hex(8), "process": this_process(), **details}
            self._append(RESUME, release.dataset, body, release.cost, release_id)

    # -- caps -----------------------------------------------------------------------------------------------------

    def set_cap(self, dataset: Identity | str, epsilon: Decimal | None, delta: Decimal | None = None) -> Account:
        """Set the cap of ``dataset``, and record it permanently; of ε and δ, the one that is ``None`` stays as it is.

        Raises:
            ParameterError: there is no cap of ε yet, that one of δ alone could be beside.
        """
        with self._transaction():
            account = self.account(self.enter(dataset))
            if epsilon is None:
                if account.standing_cap is None:
                    raise ParameterError("no cap of epsilon is set yet", "--delta", "give --epsilon as well")
                epsilon = account.standing_cap[0]
            if delta is None and account.cap is not None:
                delta = account.cap[1]
            loss(epsilon, delta or Decimal(0))
            self._append("cap", account.dataset, {"origin": STEWARD}, (epsilon, delta))
        return self.account(account.dataset)

    def set_first_cap(self, dataset: Identity | str, cap: Cap) -> None:
        """Set the caps that are not set yet to those of ``cap``; existing ones stay as they are."""
        with self._transaction():
            account = self.account(self.enter(dataset))
            epsilon, delta = account.standing_cap or (cap[0], None)
            delta = cap[1] if delta is None else delta
            if (epsilon, delta) != account.standing_cap:
                self.set_cap(account.dataset, epsilon, delta)

    def count_by(self, dataset: Identity | str, method: str) -> Account:
        """Choose, and record, how releases of an account are counted from now on: ``sum`` or ``renyi-filter``.

        Raises:
            ParameterError: there is no such method, or no cap of ε and δ that a filter could be made for.
        """
        if method not in (SUM, FILTER):
            raise ParameterError(f"the count {method!r} is not known", hint=f"choose {SUM} or {FILTER}")
        with self._transaction():
            dataset = self.enter(dataset)
            account = self.account(dataset)
            body: dict[str, Any] = {"method": SUM}
            if method == FILTER:
                cap = account.standing_cap
                if cap is None:
                    raise ParameterError(
                        "this account has no cap yet",
                        "ledger count",
                        run("set one with", "ledger", "cap", DATA, "--epsilon", "TOTAL", "--delta", "TOTAL", LEDGER),
                    )
                # The first order stays: an order that follows from what was released would prove nothing.
                former = [found for e in self.entries("count") if e.dataset == dataset and (found := filter_of(e.body))]
                chosen = former[0] if former else Filter.for_cap(cap[0], cap[1] or Decimal(0))
                body = FilterCount(chosen, ()).stated()
            self._append("count", dataset, body)
        return self.account(dataset)

    # -- within ---------------------------------------------------------------------------------------------------

    def _follow(
        self,
        release_id: str,
        kind: str,
        cost: Amount | None = None,
        body: dict[str, Any] | None = None,
    ) -> None:
        with self._transaction():
            self.require_not_moved()  # what is written here after a move is in no ledger that anybody counts by
            release = self._reserved(release_id, "release")
            if cost is not None and (cost[0] > release.epsilon or cost[1] > release.delta):
                raise InputError(f"the release {release_id} cannot cost more than it reserved", str(self.path))
            self._append(kind, release.dataset, body or {}, cost or release.cost, release_id)

    def _own(self, release_id: str, run: str) -> Release:
        self.require_sound()
        release = self._reserved(release_id)
        if not run or release.body.get(RUN) != run or release.body.get("process") != this_process():
            raise InputError("this training was taken over by another run", release_id)
        return release

    def _reserved(self, release_id: str, what: str = "training") -> Release:
        release = self.release(release_id)
        if release is None or release.status != "reserved":
            status = release.status if release else "unknown"
            raise InputError(f"the {what} {release_id} is {status}, not reserved", str(self.path))
        return release
