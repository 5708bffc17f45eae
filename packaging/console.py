"""Lines to the person at the keyboard, and other programs run with their progress shown."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

HEARTBEAT = 15.0  # seconds between signs of life where there is no terminal to redraw
FETCHES = re.compile(
    r"^\s*(?:Collecting|Downloading|Processing|Using cached) (?P<what>\S+)(?P<size> \([\d.]+ [MG]B\))?"
)
INSTALLS = re.compile(r"^Installing collected packages: (?P<names>.+)$")


def say(line: str) -> None:
    """Print one line at once."""
    print(line, flush=True)


class Progress:
    """What a long program is at: one redrawn line in a terminal, a line now and then elsewhere."""

    def __init__(self, task: str) -> None:
        self.task, self.detail, self.fetched = task, "", 0
        self.began = self.stated = time.monotonic()
        self.width = 0
        if not sys.stdout.isatty():
            say(f"  {task}")

    def read(self, line: str) -> None:
        """Take in a line that the program printed."""
        fetches, installs = FETCHES.match(line), INSTALLS.match(line)
        if installs:
            self.detail = f"{len(installs['names'].split(','))} packages, this takes longest"
        elif fetches:
            self.fetched += line.lstrip().startswith("Collecting")
            name = fetches["what"].rsplit("/", 1)[-1]
            self.detail = f"{name}{fetches['size'] or ''}, {self.fetched} packages so far"
        elif "Retrying (" in line:
            self.detail = "no answer from the package index, trying again"

    def show(self) -> None:
        """Show the present state, in a terminal at every call."""
        now = time.monotonic()
        line = f"  {self.task} {now - self.began:4.0f} s  {self.detail}"
        if sys.stdout.isatty():
            line = line[: os.get_terminal_size(sys.stdout.fileno()).columns - 1]
            sys.stdout.write("\r" + line.ljust(self.width))
            sys.stdout.flush()
            self.width = len(line)
        elif now - self.stated > HEARTBEAT:
            self.stated = now
            say(line)

    def end(self) -> None:
        """Leave the line."""
        if sys.stdout.isatty():
            sys.stdout.write("\r" + " " * self.width + "\r")
            sys.stdout.flush()


def stream(
    arguments: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path,
    progress: Progress,
    lock: int | None = None,
) -> tuple[int, str]:
    """Run a program to its end; return its exit status and what it printed, which also goes to the end of ``log``.

    Args:
        arguments: the program and its arguments.
        log: the file that takes everything printed.
        env: its variables.
        cwd: its folder.
        progress: told of every line.
        lock: a locked descriptor that the program shall hold, too, so that it stays locked should only we be killed.
    """
    shared = (lock,) if lock is not None and os.name != "nt" else ()
    process = subprocess.Popen(
        [str(a) for a in arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=dict(env),
        cwd=cwd,
        pass_fds=shared,
    )
    if process.stdout is None:
        raise RuntimeError("the program's output was asked for as a pipe")
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=pump, args=(process.stdout, lines), name="reader")
    reader.start()
    printed: list[str] = []
    try:
        with log.open("a", encoding="utf-8") as file:
            ended = False
            while not ended:
                try:
                    line = lines.get(timeout=0.5)
                except queue.Empty:
                    line = ""
                ended = line is None
                if line:
                    printed.append(line)
                    file.write(line)
                    progress.read(line)
                progress.show()
        status = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        reader.join()
        process.stdout.close()
        progress.end()
    return status, "".join(printed)


def call(arguments: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path, patience: float = 3.0) -> int:
    """Run a program on our own input and output; return its exit status, negative where a signal ended it.

    An interruption is left to the program, which has its own way to stop; one that does not stop is ended.

    Args:
        arguments: the program and its arguments.
        env: its variables.
        cwd: its folder.
        patience: seconds that it is given to stop by itself after an interruption, and thrice that when asked to.
    """
    process = subprocess.Popen([str(a) for a in arguments], env=dict(env), cwd=cwd)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # Ctrl+C in a terminal has reached the program, too; a signal to this process alone has not.
        for ask, seconds in ((None, patience), (process.terminate, 3 * patience), (process.kill, 10.0)):
            if ask:
                ask()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
                break
        raise


def pump(source: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    """Put every line of ``source`` on ``lines``, then None."""
    for line in source:
        lines.put(line)
    lines.put(None)
