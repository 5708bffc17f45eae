"""What a test leaves behind, and where that was started: threads, processes, timers, windows, files.

Only births are recorded, as file and line of the program or of a test; what is still there at the end of a test is
then named by the place of its birth. A recorded birth costs microseconds, the look at the end about a millisecond.
"""

import functools
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil
import shiboken6
from PySide6.QtCore import QEvent, QThread, QTimer
from PySide6.QtWidgets import QApplication, QWidget

ROOT = Path(__file__).resolve().parents[2]
TOP = f"{ROOT}{os.sep}"
OURS = (f"{TOP}workbench{os.sep}", f"{TOP}tests{os.sep}")
DEPTH = 3
"""Places of a stack that are named, the innermost first."""

CACHES = ("torchinductor_",)
"""What libraries keep in the temporary folder from one run to the next."""

GRACE = 60.0
"""Seconds within which what was told to stop must have stopped, on a machine that is busy with other things too."""


def where() -> str:
    """Return the innermost places of the program and its tests on the stack of this thread."""
    frame = sys._getframe(1)
    places: list[str] = []
    while frame is not None and len(places) < DEPTH:
        name = frame.f_code.co_filename
        if name.startswith(OURS) and name != __file__:
            places.append(f"{name[len(TOP) :]}:{frame.f_lineno}")
        frame = frame.f_back  # type: ignore[assignment]
    return " < ".join(places) or "outside the program"


class Births:
    """Remembers where things were started. One per process, as what it listens at cannot be unlistened."""

    def __init__(self) -> None:
        self.threads: dict[int, str] = {}
        self.timers: dict[int, str] = {}
        self.shown: dict[int, str] = {}
        self.processes: dict[int, str] = {}
        self.files: dict[str, str] = {}
        self.folders: tuple[str, ...] = ()
        self.qthreads: list[tuple[weakref.ref[QThread], str]] = []
        self.shots: list[Shot] = []
        after(threading.Thread, "start", lambda t: self.threads.__setitem__(id(t), where()))
        after(QTimer, "start", lambda t: self.timers.__setitem__(id(t), where()))
        after(QWidget, "show", lambda w: self.shown.__setitem__(id(w), where()))
        after(QThread, "start", lambda t: self.qthreads.append((weakref.ref(t), where())))
        after(subprocess.Popen, "__init__", lambda p: self.processes.__setitem__(p.pid, where()))
        after(BaseProcess, "start", lambda p: self.processes.__setitem__(p.pid or 0, where()))
        self._listen_to_single_shots()
        sys.addaudithook(self._opened)

    def begin(self, folders: Iterable[Path]) -> None:
        """Forget the past; files are recorded below ``folders``."""
        for memory in (self.threads, self.timers, self.shown, self.processes, self.files):
            memory.clear()
        self.qthreads.clear()
        self.shots.clear()
        self.folders = tuple(str(folder) for folder in folders)

    def _opened(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and self.folders:
            path = arguments[0]
            if isinstance(path, bytes):
                path = os.fsdecode(path)
            if isinstance(path, str) and path.startswith(self.folders):
                self.files[path] = where()
        elif event == "os.mkdir" and self.folders and os.fsdecode(arguments[0]).startswith(self.folders):
            self.files[os.fsdecode(arguments[0])] = where()

    def _listen_to_single_shots(self) -> None:
        original = QTimer.singleShot
        shots = self.shots

        def single_shot(*arguments: Any) -> None:
            shot = Shot(arguments[-2] if len(arguments) > 2 else None, where())
            shots.append(shot)

            def fire(slot: Callable[[], object] = arguments[-1]) -> None:
                shot.waiting = False
                slot()

            original(*arguments[:-1], fire)

        QTimer.singleShot = staticmethod(single_shot)  # type: ignore[method-assign]


class Shot:
    """A call that a single-shot timer is to make; it waits no longer once it fires or its receiver is gone."""

    def __init__(self, receiver: object, place: str) -> None:
        self.waiting, self.place = True, place
        self._receiver = receiver

    @property
    def left(self) -> bool:
        """Whether it may still fire."""
        return self.waiting and (self._receiver is None or shiboken6.isValid(self._receiver))


def after(owner: type, name: str, record: Callable[[Any], object]) -> None:
    """Let ``record`` see the object whenever its method ``name`` was called."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def called(self: Any, *arguments: Any, **keywords: Any) -> Any:
        result = original(self, *arguments, **keywords)
        record(self)
        return result

    setattr(owner, name, called)


BIRTHS = Births()


class Leaks:
    """One look at what is there before a test, and at what more there is after it."""

    def __init__(self, app: QApplication, temporary: Path, others: Iterable[Path] = ()) -> None:
        """Take stock.

        Args:
            app: the application.
            temporary: the folder that nothing may be left in.
            others: folders in which no file may be left open or half-written.
        """
        self._app, self._temporary, self._others = app, temporary, tuple(others)
        self._threads = set(threading.enumerate())
        self._children = children()
        self._files = set(temporary.iterdir())
        BIRTHS.begin((temporary, *self._others))

    def found(self, grace: float = GRACE) -> list[str]:
        """Return a line for everything that is left, with the place where it was started."""
        self._app.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self._app.processEvents()
        deadline = time.monotonic() + grace
        while (left := self._workers()) and time.monotonic() < deadline:
            time.sleep(0.01)
        return [*left, *self._of_qt(), *self._in_files()]

    def _workers(self) -> list[str]:
        born = BIRTHS
        left = [
            f"thread {t.name!r}, started at {born.threads.get(id(t), 'an unknown place')}"
            for t in threading.enumerate()
            if t not in self._threads and not isinstance(t, threading._DummyThread)
        ]
        left += [
            f"process {pid}, started at {born.processes.get(pid, 'an unknown place')}"
            for pid in children() - self._children
            if alive(pid)
        ]
        return left

    def _of_qt(self) -> list[str]:
        born = BIRTHS
        roots = [self._app, *self._app.topLevelWidgets()]
        left = [
            f"timer of {t.parent().objectName() or type(t.parent()).__name__}, "
            f"started at {born.timers.get(id(t), 'an unknown place')}"
            for t in {t for root in roots for t in root.findChildren(QTimer)}
            if t.isActive()
        ]
        left += [
            f"window {w.objectName() or type(w).__name__}, shown at {born.shown.get(id(w), 'an unknown place')}"
            for w in self._app.topLevelWidgets()
            if w.isVisible()
        ]
        for reference, place in born.qthreads:
            thread = reference()
            if thread is not None and shiboken6.isValid(thread) and thread.isRunning():
                left.append(f"QThread {thread.objectName() or type(thread).__name__}, started at {place}")
        return left + [f"single shot, started at {s.place}" for s in born.shots if s.left]

    def _in_files(self) -> list[str]:
        born = BIRTHS.files
        left = [
            f"file {path}, made at {born.get(str(path), 'an unknown place')}"
            for path in set(self._temporary.iterdir()) - self._files
            if not path.name.startswith(CACHES)
        ]
        for folder in self._others:
            left += [
                f"half-written {path}, made at {born.get(str(path), 'an unknown place')}"
                for path in folder.rglob("*.part")
            ]
        left += [
            f"open file {path}, opened at {born.get(path, 'an unknown place')}"
            for path in open_files()
            if path.startswith(BIRTHS.folders)
        ]
        return left


def children() -> set[int]:
    """Return the processes that this one has started and not yet buried, without Python's own helpers."""
    helpers = {resource_tracker._resource_tracker._pid, forkserver._forkserver._forkserver_pid}  # type: ignore[attr-defined]
    tasks = Path("/proc/self/task")
    if tasks.is_dir():
        return {int(pid) for task in tasks.iterdir() for pid in children_of(task).split()} - helpers
    return {p.pid for p in psutil.Process().children()} - helpers


def children_of(task: Path) -> str:
    """Return the processes that one thread has started, or nothing where the thread has ended since it was listed.

    What it had started then belongs to another thread of this process, or is listed at the next look.
    """
    try:
        return task.joinpath("children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    """Return whether a child still runs; one that has ended and is not yet waited for does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def open_files() -> list[str]:
    """Return the paths of the files that this process holds open, where the system tells cheaply."""
    folder, paths = Path("/proc/self/fd"), []
    if folder.is_dir():
        for entry in os.scandir(folder):
            try:
                paths.append(os.readlink(entry.path))
            except OSError:  # the descriptor of this very listing
                continue
    return paths
