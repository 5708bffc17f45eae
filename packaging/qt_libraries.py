"""The system libraries that Qt needs on Linux: looked for, installed where that is possible, else named."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import apt

# What Qt loads to draw without a screen, and in addition for a window on X; library → Debian package.
OFFSCREEN = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
}
WINDOW = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
}


def loads(library: str) -> bool:
    """Return whether the system's loader finds ``library``."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def missing(libraries: Mapping[str, str], loads: Callable[[str], bool] = loads) -> dict[str, str]:
    """Return those of ``libraries`` that this system lacks; none outside Linux, where the wheels bring them."""
    if not sys.platform.startswith("linux"):
        return {}
    return {library: package for library, package in libraries.items() if not loads(library)}


def advice(lacking: Mapping[str, str]) -> str:
    """Return how to get the libraries that are lacking, as one sentence."""
    line = apt.command(list(lacking.values()))
    if apt.is_here():
        return f"Qt needs system libraries that are missing here; install them with: {line}"
    return (
        f"Qt needs system libraries that are missing here; install {', '.join(lacking)} with this system's package "
        f"manager (on Debian and Ubuntu: {line})"
    )


def ensure(libraries: Mapping[str, str], log: Path) -> dict[str, str]:
    """Install what is missing of ``libraries`` where we may.

    Args:
        libraries: library → Debian package.
        log: the file for what apt prints.

    Returns:
        What is still missing.
    """
    lacking = missing(libraries)
    if lacking and apt.may_install():
        apt.install(list(lacking.values()), log)
        lacking = missing(libraries)
    return lacking
