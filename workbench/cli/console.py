"""Runs a command as a job on the console: progress, Ctrl+C, and a log of bugs without data values."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from workbench.data.databases.address import PASSWORDS, Address
from workbench.jobs import Job, run_to_end
from workbench.jobs.log import log_trace
from workbench.params import CancelledError, one_line
from workbench.privacy.accounting.compose import round_up
from workbench.signals.cancel import WHOLE, CancelToken
from workbench.signals.events import Budget, Cancelled, Emit, Event, Failed, Finished, Notice, Progress, Terminal

LONGEST_BAR = 40


class ProgressBar:
    """A listener that draws one line and takes it away at the end; notices stay above it.

    On a pipe or in a file it writes only the notices, one a line: whoever reads those wants no bar and no escape codes.
    """

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._full, self._empty = ("▓", "░") if _can_write(self._stream, "▓░ε") else ("#", ".")
        self._budget = ""
        self._shown = ""

    def __call__(self, event: Event) -> None:
        """Show ``event``."""
        match event:
            case Progress() if self._live:
                self._show(self._line(event))
            case Budget(epsilon=epsilon, cap=cap):
                self._budget = f"{'ε' if self._full == '▓' else 'epsilon'} {round_up(epsilon, 3)}" + (
                    f" of {cap:g}" if cap else ""
                )
            case Notice(level=level, text=text):
                self._show("")
                self._stream.write(f"{'warning' if level == 'warning' else 'note'}: {one_line(text)}\n")
                self._stream.flush()
            case _ if isinstance(event, Terminal):
                self._show("")

    def _line(self, progress: Progress) -> str:
        label = one_line(progress.label or self._title)
        share = min(max(progress.done / progress.total, 0.0), 1.0) if progress.total > 0 else 0.0
        left = "" if progress.seconds_left is None else f"{clock(progress.seconds_left)} left"
        words = [f"{label} {progress.done:.0f}/{progress.total:.0f}", left, self._budget]
        width = shutil.get_terminal_size().columns - 1
        cells = min(LONGEST_BAR, width - sum(len(w) + 2 for w in words if w))
        bar = ""
        if cells >= 5:
            full = round(share * cells)
            bar = self._full * full + self._empty * (cells - full)
        return "  ".join(w for w in (words[0], bar, *words[1:]) if w)[:width]

    def _show(self, line: str) -> None:
        if not self._live or line == self._shown:
            return
        # Blanks over the rest of the former line: not every terminal knows the escape code that erases.
        self._stream.write("\r" + line.ljust(len(self._shown)) + ("" if line else "\r"))
        self._stream.flush()
        self._shown = line


def clock(seconds: float) -> str:
    """Return ``seconds`` as m:ss, or h:mm:ss from an hour on."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True


Work = Callable[[Emit, CancelToken], dict[str, Any]]

GRACE = 0.5  # seconds after a Cancel in which the work has to end by itself before the program ends without it

_LOOK = 0.05  # seconds between two looks whether a Cancel was requested
_NAMING = 5.0  # seconds for files that are just given their names
_SETTLING = 0.3  # seconds for what a cut-off run leaves to be settled; the next run makes up for the rest


def ask_for_password(address: Address) -> str:
    """Ask the person at the terminal for the password of a database; what is typed is not shown."""
    with _echo_kept():
        return getpass.getpass(f"Password for {address.place}: ")


@contextlib.contextmanager
def _echo_kept() -> Iterator[None]:
    """Let the terminal show again what is typed, also where Ctrl+C ends the program while it asks."""
    try:
        import termios
    except ImportError:  # Windows, where nothing is switched off
        yield
        return
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    _AT_END.append(lambda: termios.tcsetattr(stdin, termios.TCSADRAIN, before))
    try:
        yield
    finally:
        _AT_END.pop()()


_AT_END: list[Callable[[], None]] = []


def run_on_console(work: Work, title: str, settle: Callable[[], str] = str) -> dict[str, Any] | None:
    """Run ``work`` and return its result, or ``None`` after a bug, which is logged and reported in one sentence.

    Args:
        work: what to do.
        title: its name.
        settle: what is done before the program ends without the work, because a Cancel met one long call; returns
            what is to be said of it.

    Raises:
        WorkbenchError: the work ended in an error a person can correct, or was cancelled.
    """
    if sys.stdin.isatty() and sys.stderr.isatty():
        PASSWORDS.ask = ask_for_password
    match run_to_end(Job(title, _cut_off(work, title, settle)), ProgressBar(title)):
        case Finished(result):
            answer: dict[str, Any] = result
            return answer
        case Cancelled(what):
            raise CancelledError(what or f"{title} was cancelled")
        case Failed(error, bug=False):
            raise error
        case Failed(error, trace=trace):
            report_bug(error, trace, title)
    return None


def _cut_off(work: Work, title: str, settle: Callable[[], str]) -> Work:
    """Return ``work``, which a Cancel ends with the whole program if it does not end by itself soon.

    Between two looks at the token there may be one call that takes long: a decomposition, a linear programme, an
    import. Every release is made so that its process may be killed at any moment; what such a run leaves is settled
    here, as far as there is time for it, and by the next run otherwise.
    """

    def watched(emit: Emit, cancel: CancelToken) -> dict[str, Any]:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_LOOK):
                if cancel.cancelled and not ended.wait(GRACE):
                    if not WHOLE.acquire(blocking=False):
                        if WHOLE.acquire(timeout=_NAMING):
                            WHOLE.release()
                        continue  # what was written has its name: the work has another moment to end by itself
                    _end(title, settle)

        watcher = threading.Thread(target=watch, name=f"cut off {title}", daemon=True)
        watcher.start()
        try:
            return work(emit, cancel)
        finally:
            ended.set()
            watcher.join()

    return watched


def _end(title: str, settle: Callable[[], str]) -> None:
    import psutil

    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            child.kill()
    stated: list[str] = []
    settling = threading.Thread(target=lambda: stated.append(settle()), name="settle what is left", daemon=True)
    settling.start()
    settling.join(_SETTLING)
    for restore in _AT_END:
        restore()
    with contextlib.suppress(OSError):
        print("; ".join([f"error: {title} was cancelled", *filter(None, stated)]), file=sys.stderr, flush=True)
    os._exit(CancelledError.exit_code)


def report_bug(error: BaseException, trace: str, title: str) -> None:
    """Log the trace of a bug, which contains no data values, and report it in one sentence."""
    log = log_trace(title, trace)
    kept = f"its trace, without data values, is in {log}" if log else "its trace could not be written"
    print(f"error: a bug in the program ({type(error).__name__} in {title}); {kept}", file=sys.stderr)
