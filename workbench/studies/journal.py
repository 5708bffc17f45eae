"""Finished tasks of a study that has not ended yet, so that running it again does only the rest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from workbench.params import InputError
from workbench.params.codec import parse_json

SYNC_EVERY = 1.0
"""Seconds of work that a power cut can lose; a killed process loses nothing that was appended."""

FORGET_AFTER = 30 * 86400.0
"""Seconds after which the record of a study that nobody continued is removed."""

Figures = dict[str, float]


class Journal:
    """A file of one JSON line per finished task, in the user's own folder and not beside the output.

    Its name is a hash of the study (plan, data, version), so that only the same study can continue it. It contains
    figures of private rows: only the user can read the folder and the file, and :meth:`discard` removes it as soon as
    the result is saved.

    Attributes:
        path: the file.
        done: figures of the finished tasks by the tasks' names.
    """

    def __init__(self, path: Path, stream: IO[bytes], done: dict[str, Figures]) -> None:
        self.path, self.done = path, done
        self._stream = stream
        self._synced = time.monotonic()

    @classmethod
    def open(cls, folder: Path, identity: Mapping[str, Any]) -> Self:
        """Open the journal of the study that ``identity`` describes, new or with what an earlier run finished.

        Raises:
            InputError: the folder or the file cannot be written.
        """
        text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _forget_old(folder)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise _refused(error, path) from None
        stream = os.fdopen(descriptor, "r+b")
        done, end = _read(stream.read())
        # A line that a kill or a power cut left half-written goes; the next one starts where it began.
        stream.truncate(end)
        stream.seek(end)
        return cls(path, stream, done)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, task: str, figures: Figures) -> None:
        """Keep the figures of a finished task.

        Raises:
            InputError: the file cannot be written (a full disk).
        """
        self.done[task] = figures
        try:
            self._stream.write(json.dumps([task, figures]).encode() + b"\n")
            self._stream.flush()
            if time.monotonic() - self._synced > SYNC_EVERY:
                os.fsync(self._stream.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise _refused(error, self.path) from None

    def close(self) -> None:
        """Close the file; what was appended stays."""
        # After a full disk, close tries to write and fails again: that was reported already.
        with contextlib.suppress(OSError):
            self._stream.close()

    def discard(self) -> None:
        """Remove the file: the study has ended and its result is kept elsewhere."""
        self.close()
        # Windows refuses while a second run of the same study has it open; that run removes it.
        with contextlib.suppress(PermissionError):
            self.path.unlink(missing_ok=True)


def _forget_old(folder: Path) -> None:
    for path in folder.glob("*.jsonl"):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # another run has removed it or has it open
            if time.time() - path.stat().st_mtime > FORGET_AFTER:
                path.unlink()


def _read(content: bytes) -> tuple[dict[str, Figures], int]:
    """Return the finished tasks and the length of the complete part."""
    done: dict[str, Figures] = {}
    end = 0
    for line in content.splitlines(keepends=True):
        try:
            task, figures = parse_json(line.decode(), "record")
            done[str(task)] = {str(k): float(v) for k, v in figures.items()}
        except (InputError, ValueError, TypeError, AttributeError):
            break
        if not line.endswith(b"\n"):
            done.pop(str(task))
            break
        end += len(line)
    return done, end


def _refused(error: OSError, path: Path) -> InputError:
    return InputError(
        f"the record of finished tasks cannot be written: {error.strerror or type(error).__name__}",
        str(path),
        "free some space there or set another home folder",
    )
