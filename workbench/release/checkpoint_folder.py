"""The checkpoint of a training run: a folder that only its owner can read, outside the folders of outputs.

It holds ``checkpoint.json`` and the safetensors file that it names, by which the run goes on after a pause or a crash.
What is in them is as private as the metrics of a run. The steps are counted in the ledger, not here, so that an
older copy of the folder gives no step back (:mod:`workbench.deep.checkpoint` says why that is what keeps ε true). For
the same reason nothing here decides what a run costs or may go on with: what was asked for, the marks of its table, its
noise and whether it was watched are read in the ledger.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from workbench.params import InputError, WorkbenchError, read_json
from workbench.paths import user_data
from workbench.release.atomic import PartFile, sync_folder, write_error
from workbench.release.ledger.composition import steps_of_release
from workbench.release.ledger.entry import is_name, is_whole
from workbench.release.ledger.ledger import RUN, Ledger, begin_part, end_part, is_running
from workbench.release.ledger.records import Release
from workbench.release.part_files import PRIVATE
from workbench.signals.cancel import WHOLE

if TYPE_CHECKING:
    from workbench.deep.checkpoint import RunState

STATE, FORMAT = "checkpoint.json", 1
_TENSORS = ".safetensors"
_MOST_BYTES = 2**31

RESUMABLE = "resumable"
"""Key of a reservation by a run that keeps checkpoints: it is never void once a step of it was counted."""

JUDGED = "judged"
"""Key of the reservation of a run that shows nothing but its accuracy on public rows: how often, evenly."""


def runs_folder() -> Path:
    """Return the folder of the checkpoints: among the program's own files, so that none is published by mistake."""
    return user_data() / PRIVATE / "runs"


@dataclass(frozen=True)
class RunFacts:
    """What a checkpoint says of its run besides the state; private, as it is in the checkpoint's folder."""

    release_id: str
    request: str
    content: str  # the ledger's keyed mark of the table
    steps: int  # of the whole run
    stated: dict[str, Any]  # what was asked for as plain values, so that a window can offer to go on


class CheckpointFolder:
    """One run's :class:`~workbench.deep.checkpoint.Keeper`.

    Attributes:
        facts: what the checkpoint says of the run; without a release until its cost is reserved.
        state: the state to go on from; ``None`` for a run that begins.
        paused: whether the state of the steps that were taken is kept, so that the run can go on.
        judged: how often it shows its accuracy on public rows, where it shows nothing else.
    """

    def __init__(self, ledger: Ledger, facts: RunFacts, folder: Path | None, state: RunState | None = None) -> None:
        self._ledger, self.facts, self._folder, self.state = ledger, facts, folder, state
        self._tensors = ""
        self._run = secrets.token_hex(8)
        self.judged: int | None = None
        self.paused = state is not None

    @classmethod
    def begin(cls, ledger: Ledger, request: str, content: str, stated: dict[str, Any], folder: Path | None) -> Self:
        """Return a run that begins; its checkpoint goes into ``folder``, or among the program's own files."""
        if folder is not None and os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError("the folder of the checkpoint exists already", str(folder), "choose a new one")
        _clear_ended(ledger)
        return cls(ledger, RunFacts("", request, content, 0, stated), folder)

    @classmethod
    def resume(cls, ledger: Ledger, folder: Path, request: str, content: str) -> Self:
        """Return the run whose checkpoint is in ``folder``.

        Raises:
            InputError: there is none, it is damaged, it is of another request, table or ledger, or its run has ended.
        """
        from workbench.deep.checkpoint import RunState

        facts, raw = _read(folder)
        where = str(folder)
        release = ledger.release(facts.release_id)
        if release is None:
            raise InputError("this ledger has no record of the checkpoint's run", where, "give its ledger")
        if release.status != "reserved":
            raise InputError(f"the run of this checkpoint has ended: it is {release.status}", where, "start a new run")
        if steps_of_release(release.body) is None:
            raise InputError("the run of this checkpoint was started by an earlier version", where, "start a new run")
        if not facts.content == content == release.body.get("content"):
            raise InputError("the checkpoint belongs to another table", where, "give the table that it started with")
        if not facts.request == request == release.body.get("request"):
            raise InputError(
                "the checkpoint belongs to a run with other settings", where, "repeat the command that started it"
            )
        state = RunState.of(_tensors_of(folder, raw), raw["state"], where)
        return cls(ledger, facts, folder, state)

    @property
    def folder(self) -> Path:
        """Where the checkpoint is."""
        return self._folder or runs_folder() / self.facts.release_id

    @property
    def counted(self) -> int:
        """Steps that count as taken."""
        return self._ledger.steps_taken(self.facts.release_id) if self.facts.release_id else 0

    def details(self) -> dict[str, Any]:
        """Return what the ledger's record of the run says of its checkpoint."""
        stated: dict[str, Any] = {RESUMABLE: True, RUN: self._run}
        stated |= {"request": self.facts.request, "content": self.facts.content}
        if self.judged is not None:
            stated[JUDGED] = self.judged
        return stated if self._folder is None else {**stated, "checkpoint": str(self._folder.absolute())}

    def reserved(self, release_id: str, steps: int) -> None:
        """Take note of what the ledger calls the run, of its steps, and that they are being taken."""
        self.facts = replace(self.facts, release_id=release_id, steps=steps)
        begin_part(self._run)

    def leave(self) -> None:
        """Record that this process takes no more steps of the run."""
        end_part(self._run)

    def claim(self, steps: int) -> None:
        """Count ``steps`` more as taken, before the first of them is.

        Raises:
            InputError: the ledger cannot be written, or the run has no so many steps left.
        """
        self._ledger.claim_steps(self.facts.release_id, steps, self.facts.steps, self._run)
        self.paused = False

    def give_back(self, steps: int) -> None:
        """Count ``steps`` fewer: none of them was taken. From here on another part can go on without a loss."""
        self._ledger.pause_steps(self.facts.release_id, steps, self._run)
        self.paused = True

    def save(self, state: RunState) -> None:
        """Keep ``state`` durably in place of the former one.

        Raises:
            InputError: it cannot be written.
        """
        with WHOLE:
            self._save(state)

    def _save(self, state: RunState) -> None:
        folder = self.folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(folder, 0o700)
            self._tensors = f"step-{state.step}{_TENSORS}"
            _write(folder / self._tensors, state.tensors())
            raw = {
                "format": FORMAT,
                "release_id": self.facts.release_id,
                "request": self.facts.request,
                "content": self.facts.content,
                "steps": self.facts.steps,
                "stated": self.facts.stated,
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "tensors": self._tensors,
                "state": state.facts(),
            }
            # The rename of this file is the moment at which the new state is the one that counts.
            _write(folder / STATE, (json.dumps(raw, indent=1) + "\n").encode())
            for stale in folder.glob(f"step-*{_TENSORS}"):
                if stale.name != self._tensors:
                    stale.unlink(missing_ok=True)
        except OSError as error:
            raise write_error(error, folder) from None

    def remove(self) -> None:
        """Remove the checkpoint of a run that has ended."""
        if self.facts.release_id:
            remove_checkpoint(self.folder)


@dataclass(frozen=True)
class PausedRun:
    """A run that can go on."""

    folder: Path
    facts: RunFacts
    release: Release
    steps: int
    taken: int  # steps that count as taken
    shown: bool  # whether figures of it may have been shown, by the ledger's word
    time: datetime


def paused_runs(ledger: Ledger, content: str) -> tuple[PausedRun, ...]:
    """Return the runs on a table among the program's own files that can go on, newest first; changes nothing."""
    found = []
    for path in runs_folder().glob(f"*/{STATE}"):
        with contextlib.suppress(WorkbenchError):  # a damaged one is nothing to go on from
            run = run_at(ledger, path.parent)
            if run is not None and run.facts.content == content:
                found.append(run)
    return tuple(sorted(found, key=lambda run: (run.time, run.folder), reverse=True))


def run_at(ledger: Ledger, folder: Path) -> PausedRun | None:
    """Return the run whose checkpoint is in ``folder``; ``None`` if it has ended or still goes on.

    Raises:
        InputError: there is no checkpoint, or it is damaged.
    """
    facts, raw = _read(folder)
    release = ledger.release(facts.release_id)
    if release is None or release.status != "reserved" or is_running(release):
        return None
    taken, run = ledger.steps_taken(facts.release_id), steps_of_release(release.body)
    steps = facts.steps if run is None else run[0].steps
    time = datetime.fromisoformat(raw["time"])
    return PausedRun(folder, facts, release, steps, taken, was_shown(release, taken), time)


def was_shown(release: Release, taken: int) -> bool:
    """Return whether a figure of an unfinished run may have been shown, when ``taken`` of its steps count."""
    if not release.body.get("watched") or not taken:
        return False
    judged, run = release.body.get(JUDGED), steps_of_release(release.body)
    return not isinstance(judged, int) or run is None or taken * judged >= run[0].steps


def _clear_ended(ledger: Ledger) -> None:
    """Remove the checkpoints of runs that this ledger knows to have ended, and that were killed before they did so."""
    for path in runs_folder().glob(f"*/{STATE}"):
        release = ledger.release(path.parent.name)
        if release is not None and release.status != "reserved":
            remove_checkpoint(path.parent)


def remove_checkpoint(folder: Path) -> None:
    """Remove a checkpoint, and nothing else that is beside it."""
    if not (folder / STATE).is_file() and not any(folder.glob(f"step-*{_TENSORS}")):
        return
    for path in (folder / STATE, *folder.glob(f"step-*{_TENSORS}")):
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # something else is there
        folder.rmdir()


def has_checkpoint(release: Release) -> bool:
    """Return whether an unfinished run has a checkpoint to go on from."""
    return bool(release.body.get(RESUMABLE)) and (checkpoint_of(release) / STATE).is_file()


def checkpoint_of(release: Release) -> Path:
    """Return the folder of a run's checkpoint."""
    given = release.body.get("checkpoint")
    return Path(given) if given else runs_folder() / release.release_id


def release_of(folder: Path) -> str:
    """Return the ledger's name of the run whose checkpoint is in ``folder``.

    Raises:
        InputError: there is none.
    """
    return _read(folder)[0].release_id


def _write(path: Path, data: bytes) -> None:
    with PartFile(path, private=True) as part:
        part.stream.write(data)
        part.publish()
    sync_folder(path.parent)


def _read(folder: Path) -> tuple[RunFacts, dict[str, Any]]:
    path = folder / STATE
    if not path.is_file():
        raise InputError("there is no checkpoint in this folder", str(folder), "give the folder that the run printed")
    raw = read_json(path, "checkpoint")
    try:
        if raw["format"] != FORMAT:
            raise InputError(f"the checkpoint has format {raw['format']}", str(folder), "use the version that made it")
        time = datetime.fromisoformat(raw["time"])
        texts = [raw[key] for key in ("release_id", "request", "content")]
        stated = raw["told"] if "stated" not in raw else raw["stated"]  # former versions wrote `told`
        counts = is_whole(raw["steps"]) and is_whole(raw["state"]["step"])
        if not (counts and is_name(texts[0]) and all(isinstance(text, str) for text in texts) and time.tzinfo):
            raise ValueError
        return RunFacts(texts[0], texts[1], texts[2], raw["steps"], dict(stated)), raw
    except (KeyError, TypeError, ValueError):
        raise InputError("the checkpoint is damaged", str(folder), "restore an intact copy") from None


def _tensors_of(folder: Path, raw: dict[str, Any]) -> bytes:
    path = folder / Path(str(raw.get("tensors", ""))).name
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError("the checkpoint is larger than 2 GiB", str(path))
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the checkpoint cannot be read: {error.strerror}", str(path)) from None
