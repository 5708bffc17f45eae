"""How many steps of an unfinished training count as taken, so that no checkpoint gives any of them back.

The count is kept here and not in the checkpoint: of that somebody may keep an older copy. Each claim of steps, each
pause and each part that goes on is an entry of the chain, made under the checks of a charge. So a count that was
altered, an older copy of the ledger and one that was moved away are noticed before another step is taken or given back.
"""

from __future__ import annotations

import secrets
from typing import Any

from workbench.params import InputError
from workbench.release.ledger.custody import LedgerCustody
from workbench.release.ledger.processes import still_runs, this_process
from workbench.release.ledger.records import CLAIM, PAUSE, RESUME, Release

RUN = "run"
"""Key of a reservation: what names the part of a run that may claim steps; empty while it is paused."""

_going: set[str] = set()
"""The parts of runs that go on in this process."""


def goes_on(release: Release) -> bool:
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


class LedgerSteps(LedgerCustody):
    """The part of a ledger that counts steps."""

    def steps_taken(self, release_id: str) -> int:
        """Return how many steps of a release were taken, or may have been."""
        claimed = sum(e.body.get("steps", 0) for e in self.entries(CLAIM) if e.release_id == release_id)
        given_back = sum(e.body.get("given_back", 0) for e in self.entries(PAUSE) if e.release_id == release_id)
        return max(0, int(claimed - given_back))

    def claim_steps(self, release_id: str, steps: int, most: int, run: str) -> None:
        """Count ``steps`` more as taken, durably.

        Args:
            release_id: the reserved run.
            steps: how many.
            most: those of the whole run.
            run: the part of it that claims them.

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
            if goes_on(release):
                raise InputError("this training is still going on", release_id, "wait for it, or pause it first")
            body = {RUN: secrets.token_hex(8), "process": this_process(), **details}
            self._append(RESUME, release.dataset, body, release.cost, release_id)

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
