"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import shutil
import sys
from typing import TextIO

from workbench.params.errors import one_line
from workbench.privacy.accounting.compose import round_up
from workbench.signals.events import Budget, Event, Notice, Progress, Terminal

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
