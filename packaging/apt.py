"""System packages on Debian and Ubuntu."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from console import Progress, say, stream

WAIT = ("-o", "DPkg::Lock::Timeout=120")  # another apt may be at work: a fresh machine updates itself


def is_here() -> bool:
    """Return whether this system installs packages with apt."""
    return sys.platform.startswith("linux") and shutil.which("apt-get") is not None


def may_install() -> bool:
    """Return whether we may install packages: apt is here and we are root."""
    return is_here() and os.geteuid() == 0


def command(packages: Sequence[str]) -> str:
    """Return the line that a person types to install ``packages``."""
    return f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {' '.join(packages)}"


def install(packages: Sequence[str], log: Path) -> None:
    """Try to install ``packages``; the caller looks at what is there afterwards.

    Args:
        packages: their Debian names.
        log: the file for what apt prints.
    """
    say(f"Installing with apt: {' '.join(packages)}")
    quietly = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # An update that reached only some of its sources may still do, so its status is not looked at.
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        progress = Progress(f"apt-get {arguments[0]}")
        stream(["apt-get", *WAIT, *arguments], log=log, env=quietly, cwd=log.parent, progress=progress)
