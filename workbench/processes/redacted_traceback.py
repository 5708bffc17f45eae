"""The trace of a bug for the log: where it happened, without any of the values involved."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import PurePath

ROOTS = ("site-packages", "dist-packages", "lib", "Lib")


def trace_of(error: BaseException) -> str:
    """Return one line for each exception of the chain and for each of its frames, newest last.

    A line is the exception's type, or file, line number and function. The text of an exception, source lines and
    local variables may hold values of a row, so none of them appear; a file is named from its package on, so
    the user's folder is not named either. A bug in a worker process brings its own lines in ``trace``.
    """
    lines: list[str] = []
    for link in chain(error):
        for frame, line_number in traceback.walk_tb(link.__traceback__):
            code = frame.f_code
            lines.append(f"  {_public_path(code.co_filename)}:{line_number} {code.co_name}")
        lines.append(type(link).__qualname__)
        remote = getattr(link, "trace", None)
        if isinstance(remote, str):
            lines.append(remote)
    return "\n".join(lines)


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions that led to ``error``, the first cause first."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    yield from reversed(links)


def _public_path(filename: str) -> str:
    """Return ``filename`` from its package on."""
    parts = PurePath(filename).parts
    if "workbench" in parts[:-1]:
        return "/".join(parts[_last(parts, "workbench") :])
    for root in ROOTS:
        if root in parts[:-1]:
            return "/".join(parts[_last(parts, root) + 1 :])
    return PurePath(filename).name


def _last(parts: tuple[str, ...], name: str) -> int:
    return len(parts) - 1 - parts[::-1].index(name)
