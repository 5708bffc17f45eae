"""The system libraries that Qt needs on Linux: looked for, installed where that is possible, else named."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from console import Progress, say, stream

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


def command(packages: list[str]) -> str:
    """Return the line that a person who is not root types to install ``packages``."""
    return f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {' '.join(packages)}"


def advice(lacking: Mapping[str, str]) -> str:
    """Return how to get the libraries that are lacking, as one sentence."""
    if shutil.which("apt-get"):
        return f"Qt needs system libraries that are missing here; install them with: {command(list(lacking.values()))}"
    return (
        f"Qt needs system libraries that are missing here; install {', '.join(lacking)} with this system's package "
        f"manager (on Debian and Ubuntu: {command(list(lacking.values()))})"
    )


def ensure(libraries: Mapping[str, str], log: Path) -> dict[str, str]:
    """Install what is missing of ``libraries`` where this is Debian or Ubuntu and we are root.

    Args:
        libraries: library → Debian package.
        log: the file for what apt prints.

    Returns:
        What is still missing.
    """
    lacking = missing(libraries)
    if not lacking or not shutil.which("apt-get") or os.geteuid() != 0:
        return lacking
    say(f"Installing Qt's system libraries with apt: {' '.join(lacking.values())}")
    quietly = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    wait = ("-o", "DPkg::Lock::Timeout=120")
    for arguments in (
        ["apt-get", *wait, "update"],
        ["apt-get", *wait, "install", "-y", "--no-install-recommends", *lacking.values()],
    ):
        # An update that reached only some sources may still do, so the second command judges.
        stream(arguments, log=log, env=quietly, cwd=log.parent, progress=Progress(" ".join(arguments[3:4])))
    return missing(libraries)
