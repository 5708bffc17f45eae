"""The durable account of every dataset: charge first, then release.

One SQLite file holds an append-only chain of entries; each names the hash of the one before it. The present
status of a release follows from its last entry: ``reserved`` (the cost is counted, the work may be going on),
``charged`` (final, recorded before the first drawn byte goes into any file), ``settled`` (final, for a run that cost
less than it reserved), ``void`` (no drawn byte ever left the process) or ``refused``. Reserved, charged and settled
releases count against the cap, so a crash can only overcount. A training that can be interrupted stays reserved until
it ends; its steps are counted by entries as well (:mod:`workbench.release.ledger.steps`).
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.params import InputError, ParameterError
from workbench.params.remedies import DATA, LEDGER, run
from workbench.privacy.accounting.event import Cost
from workbench.privacy.accounting.renyi_filter import Filter
from workbench.release.ledger.counting import FILTER, SUM, Count, Counted, event_body, event_of_release, filter_of
from workbench.release.ledger.entries import texts
from workbench.release.ledger.exact import loss, minus, plus
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.merge import FROM, LedgerMerge
from workbench.release.ledger.processes import this_process
from workbench.release.ledger.records import (
    COUNTED,
    FIRST_RELEASE,
    MERGED,
    STEWARD,
    Account,
    Cap,
    Release,
    cap_for,
)
from workbench.release.ledger.steps import PAUSE, RESUME, LedgerSteps

_STATUS = {
    "reserve": "reserved",
    RESUME: "reserved",
    PAUSE: "reserved",
    "charge": "charged",
    "settle": "settled",
    "void": "void",
    "refuse": "refused",
}
_CERTIFY = "certify"
"""The entry that names the certificate of a release; it leaves status and cost as they are."""


class Ledger(LedgerMerge, LedgerSteps):
    """An open ledger. Use it as a context manager, or call :meth:`close`."""

    _releases: tuple[int, int, dict[str, Release]] | None = None

    # -- what happened ------------------------------------------------------------------------------------------

    def reserve(self, dataset: Identity | str, cost: Cost, *, work: str, details: dict[str, Any] | None = None) -> str:
        """Charge ``cost`` to ``dataset`` durably, before its rows are used, and return the release's id.

        Args:
            dataset: the marks of the table, or its dataset or account in this ledger.
            cost: what the work will cost at the most.
            work: what kind of work it is (``sanitize``, ``fit``, ``dpsgd``).
            details: what recovery needs to know (paths of the output); no data values.

        Raises:
            BudgetRefusedError: the cap does not allow it; the refusal is recorded, nothing is charged.
        """
        release_id = secrets.token_hex(8)
        wanted = loss(cost.epsilon, cost.delta)
        body = {"work": work, "process": this_process(), **event_body(cost), **(details or {})}
        with self._transaction():
            self.require_sound()
            dataset = self.enter(dataset)
            account = self.account(dataset)
            cap, refused = cap_for(wanted, account.standing_cap), account.refusal(cost)
            if refused is not None:
                stated = {"cap": texts(cap), "used": texts(account.used)}
                self._append("refuse", release_id, dataset, wanted, {**body, **stated})
            else:
                if cap != account.cap:
                    self._append("cap", "", dataset, cap, {"origin": FIRST_RELEASE})
                self._append("reserve", release_id, dataset, wanted, body)
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

    def give_up(self, release_id: str, taken: int, cost: tuple[Decimal, Decimal] | None) -> None:
        """End an interrupted training for good, at ``cost``; in full where that is ``None``.

        Args:
            release_id: the reserved run.
            taken: the count of its steps that ``cost`` is of.
            cost: what these steps cost, of a run of which nobody saw a figure.

        Raises:
            InputError: it goes on, or has ended.
            CheckFailedError: the ledger is not as it was written, or is an older copy.
        """
        with self._transaction():
            self.require_left(release_id, taken)
            if cost is None:
                self.charge(release_id)
            else:
                self.settle(release_id, *cost)

    def void(self, release_id: str, reason: str) -> None:
        """Record that no drawn byte of a reserved release left the process, so that it costs nothing."""
        self._follow(release_id, "void", body={"reason": reason})

    def certify(self, release_id: str, checksum: str, request: str, document: str = "") -> None:
        """Record the certificate of a finished draw before it is renamed, so that the next run can publish it.

        Args:
            release_id: the release, its cost final.
            checksum: of its certificate or card, so that no other one can pass for it.
            request: digest of what was asked for; only the same request publishes it.
            document: the certificate, where it does not lie beside the draw.
        """
        with self._transaction():
            release = self.release(release_id)
            if release is None or release.status not in ("charged", "settled"):
                raise InputError(f"the release {release_id} is not charged", str(self.path))
            cost = release.epsilon, release.delta
            self._append(_CERTIFY, release_id, release.dataset, cost, {"certificate": checksum})
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

    def set_cap(self, dataset: Identity | str, epsilon: Decimal, delta: Decimal | None = None) -> Account:
        """Set the cap of ``dataset``, and record it permanently; without ``delta`` the cap of δ stays as it is."""
        loss(epsilon, delta or Decimal(0))
        with self._transaction():
            dataset = self.enter(dataset)
            present = self.account(dataset).cap
            kept = present[1] if present else None
            self._append("cap", "", dataset, (epsilon, kept if delta is None else delta), {"origin": STEWARD})
        return self.account(dataset)

    def set_delta_cap(self, dataset: Identity | str, delta: Decimal) -> Account:
        """Set the cap of δ alone, and record it permanently; the cap of ε stays as it is.

        Raises:
            ParameterError: there is no cap of ε yet, which one of δ alone could stand beside.
        """
        with self._transaction():
            dataset = self.enter(dataset)
            standing = self.account(dataset).standing_cap
            if standing is None:
                raise ParameterError(
                    "there is no cap of epsilon yet that could stay as it is", "--delta", "give --epsilon as well"
                )
            return self.set_cap(dataset, standing[0], delta)

    def count_by(self, dataset: Identity | str, method: str) -> Account:
        """Choose how the releases of an account are counted from now on, and record it permanently.

        Args:
            dataset: the marks of the table, or its dataset or account.
            method: ``sum`` or ``renyi-filter``.

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
                body = Count(chosen, ()).stated()
            self._append("count", "", dataset, (Decimal(0), Decimal(0)), body)
        return self.account(dataset)

    def set_first_cap(self, dataset: Identity | str, cap: Cap) -> None:
        """Set the caps that are not set yet to those of ``cap``; existing ones stay as they are."""
        with self._transaction():
            account = self.account(self.enter(dataset))
            standing = account.standing_cap
            epsilon, delta = standing or (cap[0], None)
            delta = cap[1] if delta is None else delta
            if (epsilon, delta) != standing:
                self.set_cap(account.dataset, epsilon, delta)

    # -- what is known --------------------------------------------------------------------------------------------

    def account(self, dataset: str) -> Account:
        """Return the budget of the account that ``dataset`` is charged to."""
        dataset = self.account_of(dataset)
        caps = [e for e in self.entries("cap") if e.dataset == dataset]
        zero = (Decimal(0), Decimal(0))
        spent, reserved = zero, zero
        counted = [r for r in self.releases(dataset) if r.status in COUNTED]
        for release in counted:
            if release.status == "reserved":
                reserved = plus(reserved, (release.epsilon, release.delta))
            else:
                spent = plus(spent, (release.epsilon, release.delta))
        count = self._count(dataset, counted)
        if count is not None:
            final = {r.release_id for r in counted if r.status != "reserved"}
            spent, used = count.amount(r for r in count.releases if r.release_id in final), count.amount()
            reserved = minus(used[0], spent[0]), minus(used[1], spent[1])
        history = tuple({"epsilon": e.epsilon, "delta": e.delta, "time": e.time, **e.body} for e in caps)
        cap = None
        if caps:
            epsilon, delta = self._cost(caps[-1])
            cap = (epsilon, delta if caps[-1].delta else None)
        return Account(dataset, cap, spent, reserved, history, count)

    def releases(self, dataset: str | None = None) -> list[Release]:
        """Return every release (of the account of ``dataset``), in order, with its present status and cost."""
        accounts, found = self.accounts(), self._present().values()
        own = None if dataset is None else accounts.of(dataset)
        return [release for release in found if own is None or accounts.of(release.dataset) == own]

    def release(self, release_id: str) -> Release | None:
        """Return one release, or ``None``."""
        return self._present().get(release_id)

    def called(self) -> dict[str, str]:
        """Return a readable name of each account: its public name, or else the newest file released from it."""
        accounts = self.accounts()
        stated: dict[str, str] = {}
        for release in self.releases():
            output = release.body.get("output")
            if isinstance(output, str) and output and release.status in COUNTED:
                stated[accounts.of(release.dataset)] = f"released as {Path(output).name}"
        return stated | {accounts.named(name): name for name in accounts.names}

    def caps(self) -> dict[str, Decimal]:
        """Return the present ε cap of every account."""
        accounts = self.accounts()
        return {e.dataset: self._cost(e)[0] for e in self.entries("cap") if accounts.of(e.dataset) == e.dataset}

    # -- within ---------------------------------------------------------------------------------------------------

    def _present(self) -> dict[str, Release]:
        """Return every release by its id, in order; entries that were taken into account are not taken again."""
        entries, generation = self._chain.all(), self._chain.generation
        if self._releases is None or self._releases[0] != generation:
            self._releases = generation, 0, {}
        _, done, found = self._releases
        for e in entries[done:]:
            if e.kind not in _STATUS and e.kind != _CERTIFY:
                continue
            before = found.get(e.release_id)
            body = {**(before.body if before else {}), **e.body}
            if before is not None and e.kind == _CERTIFY:
                found[e.release_id] = dataclasses.replace(before, body=body)
            elif e.kind != _CERTIFY:
                first = e.body.get(FROM)  # of an entry that a merge has appended
                own_time = str(first.get("time", e.time)) if isinstance(first, dict) else e.time
                time = before.time if before else own_time
                found[e.release_id] = Release(e.release_id, e.dataset, *self._cost(e), _STATUS[e.kind], time, body)
        self._releases = generation, len(entries), found
        return found

    def _count(self, dataset: str, counted: list[Release]) -> Count | None:
        """Return how an account counts its releases; ``None`` for their plain sum."""
        chosen = [e for e in self.entries("count") if e.dataset == dataset]
        chosen_filter = filter_of(chosen[-1].body) if chosen else None
        if chosen_filter is None:
            return None
        parts = [
            Counted(r.release_id, (r.epsilon, r.delta), event_of_release(r.status, (r.epsilon, r.delta), r.body))
            for r in counted
        ]
        return Count(chosen_filter, tuple(parts))

    def _join_caps(self, lesser: Account, own: Account) -> None:
        """Set the cap of the account ``own``, which ``lesser`` has joined, to the lower of the two."""
        caps = [cap for cap in (own.standing_cap, lesser.standing_cap) if cap is not None]
        if not caps:
            return
        deltas = [delta for _, delta in caps if delta is not None]
        lower = min(epsilon for epsilon, _ in caps), min(deltas) if deltas else None
        if lower != own.cap or lesser.standing_cap is not None:
            self._append("cap", "", own.dataset, lower, {"origin": MERGED})

    def _follow(
        self,
        release_id: str,
        kind: str,
        cost: tuple[Decimal, Decimal] | None = None,
        body: dict[str, Any] | None = None,
    ) -> None:
        with self._transaction():
            self.require_not_moved()  # what is written here after a move is in no ledger that anybody counts by
            release = self.release(release_id)
            if release is None or release.status != "reserved":
                status = release.status if release else "unknown"
                raise InputError(f"the release {release_id} is {status}, not reserved", str(self.path))
            if cost is not None and (cost[0] > release.epsilon or cost[1] > release.delta):
                raise InputError(f"the release {release_id} cannot cost more than it reserved", str(self.path))
            self._append(kind, release_id, release.dataset, cost or (release.epsilon, release.delta), body or {})
