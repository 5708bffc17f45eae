"""Ends a release at every step it takes, one after the other, under a watcher that reads what anybody could read."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import COUNTED
from workbench.signals.cancel import WHOLE
from workbench.signals.events import Event, Metric

DOOR = (
    *(
        "release_path.py",
        "rows_work.py",
        "spilled_rows.py",
        "reservation.py",
        "part_files.py",
        "recover.py",
        "atomic.py",
    ),
    *(os.path.join("model", name) for name in ("release_learner.py", "release_network.py")),
)
"""The files of the release package whose calls and returns are steps, and so are the system's calls they make."""

PACKAGE = os.path.join("workbench", "release", "")
LEDGER = ("reserve", "charge", "settle", "certify", "publishing", "void", "forget_finished")
"""The methods of the ledger whose calls and returns are steps, too."""

Release = Callable[[Path, Path, Callable[[Event], None]], object]
"""Makes one release: into which folder, charged to which ledger, telling its events to whom."""


class PlannedError(BaseException):
    """What ends a release at a step; no handler of ordinary errors expects it."""


def drawn_bytes(folder: Path) -> int:
    """Return how many bytes of a draw stand in ``folder`` for its owner or anybody else; reserved space is blank."""
    seen = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.endswith(".certificate.json"):
            seen += len(path.read_bytes().strip(b"\0"))
    return seen


@dataclass
class Walk:
    """One release that ends at its step number ``at``; ``kill`` ends the whole process there.

    A place in the code that is passed again is a further step only with ``every_time``.

    Attributes:
        steps: steps taken.
        seen: bytes that the watcher read, or private figures that a person was shown.
        ended: whether the step was reached.
    """

    folder: Path
    at: int
    error: BaseException | None = None
    kill: bool = False
    watch_all: bool = False
    every_time: bool = False
    places: set[tuple[object, ...]] = field(default_factory=set)
    steps: int = 0
    seen: int = 0
    ended: bool = False
    where: str = ""

    def on_event(self, event: Event) -> None:
        """Take note of what a person is shown."""
        if isinstance(event, Metric) and not event.public:
            self.seen += 1

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        """Count a step, look, and end the release where it is its turn: before a call, or as it returns."""
        code = frame.f_code
        _, found, file = code.co_filename.rpartition(PACKAGE)
        door = file in DOOR or (file.startswith("ledger") and code.co_name in LEDGER)
        if not found or not door or event == "c_return":
            return
        if event == "c_call" and getattr(arg, "__module__", None) not in ("posix", "nt", "_io", "sqlite3"):
            return
        place = (file, frame.f_lineno, code.co_name, event, getattr(arg, "__name__", ""))
        if not self.every_time and place in self.places and not self.ended:
            return
        self.places.add(place)
        self.steps += 1
        if self.ended or self.watch_all or self.steps == self.at:
            self._look()
        if self.steps == self.at and not self.ended:
            self.ended = True
            self.where = f"{file}:{code.co_name}:{event}:{getattr(arg, '__name__', '')}"
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise self.error or PlannedError

    def _look(self) -> None:
        profile = sys.getprofile()
        sys.setprofile(None)
        try:
            self.seen = max(self.seen, drawn_bytes(self.folder))
        finally:
            sys.setprofile(profile)


def walk(release: Release, folder: Path, ledger: Path, at: int, **how: Any) -> Walk:
    """Make one release that ends at step ``at``, and return what was seen of it."""
    made = Walk(folder, at, **how)
    sys.setprofile(made)
    try:
        release(folder, ledger, made.on_event)
    except BaseException:
        if not made.ended:
            raise
    finally:
        sys.setprofile(None)
        # A profiler that raises where a generator yields skips what the generator would close; a real error cannot.
        with contextlib.suppress(RuntimeError):
            while True:
                WHOLE.release()
    made.seen = max(made.seen, drawn_bytes(folder))
    return made


def counted(ledger: Path) -> bool:
    """Return whether a release counts against the cap."""
    if not ledger.exists():
        return False
    with Ledger.open(ledger) as opened:
        assert opened.verify() == []
        return any(r.status in COUNTED for r in opened.releases())
