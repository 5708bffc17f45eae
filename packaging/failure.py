"""What goes wrong in a set-up, as one sentence for the person at the keyboard."""

from __future__ import annotations

import errno
import re
import shutil
import sys
from pathlib import Path

NETWORK = re.compile(
    r"NewConnectionError|ConnectionError|ConnectTimeout|ReadTimeout|Temporary failure in name resolution|"
    r"getaddrinfo failed|Name or service not known|nodename nor servname|Network is unreachable|Connection refused|"
    r"connection broken|Max retries exceeded|ProxyError|IncompleteRead|RemoteDisconnected|Connection reset|"
    r"SSLError|CERTIFICATE_VERIFY_FAILED|Tunnel connection failed|timed out",
    re.IGNORECASE,
)
DISK = re.compile(
    r"No space left on device|Errno 28\b|WinError 112|not enough space|Disk quota exceeded", re.IGNORECASE
)
WITHOUT_BUILD = re.compile(r"No matching distribution found for (?P<requirement>\S+)")
LAST_ERROR = re.compile(r"^(?:ERROR|error|Error|E): (?P<text>.+)$", re.MULTILINE)


class SetupError(Exception):
    """A set-up cannot go on.

    Attributes:
        what: the thing that is wrong, without a final full stop.
        where: the place; empty where it is plain.
        hint: what to do about it.
    """

    def __init__(self, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(what, where, hint)
        self.what, self.where, self.hint = what, where, hint

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        hint = f"; {self.hint}" if self.hint else ""
        return " ".join(f"{self.what}{place}{hint}".split())


def in_words(count: int) -> str:
    """Return ``count`` bytes in words, such as ``2.3 GiB`` or ``70 MiB``."""
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count // 2**20} MiB"


def from_os(error: OSError, folder: Path) -> SetupError:
    """Return what an error of the operating system means for a set-up in ``folder``."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or DISK.search(str(error)):
        return disk_full(folder)
    reason = error.strerror or type(error).__name__
    return SetupError(
        "the environment cannot be written",
        f"{error.filename or folder}: {reason}",
        "give yourself write access to that folder, or clone the workbench where you have it",
    )


def disk_full(folder: Path, needed: int | None = None) -> SetupError:
    """Return the error for a disk that is too full to hold the environment."""
    free = shutil.disk_usage(next(p for p in (folder, *folder.parents) if p.exists())).free
    wanted = f" of about {in_words(needed)} needed" if needed else ""
    return SetupError(
        "there is no space left on the disk for the environment",
        f"{folder}: {in_words(free)} free{wanted}",
        "free some space and run this again; it goes on from where it stopped",
    )


def from_output(program: str, output: str, log: Path) -> SetupError:
    """Return what the printed ``output`` of a failed ``program`` means.

    Args:
        program: the name that the message gives it.
        output: everything that it printed.
        log: where that output can be read.
    """
    # The disk first: pip reports a download cut short by a full disk as a broken connection, too.
    if DISK.search(output):
        return disk_full(log.parent)
    if NETWORK.search(output):
        return SetupError(
            f"{program} got no answer from the package index",
            f"details in {log}",
            "check the network (and HTTPS_PROXY behind a proxy) and run this again; it goes on from where it stopped",
        )
    without = WITHOUT_BUILD.search(output)
    if without:
        version = ".".join(str(part) for part in sys.version_info[:2])
        return SetupError(
            f"the package index has no {without['requirement']} for this computer",
            f"Python {version} on {sys.platform}; details in {log}",
            "use a 64-bit Python 3.11 to 3.14 on Linux (glibc 2.34 or newer), Windows or Apple silicon",
        )
    said = [match["text"] for match in LAST_ERROR.finditer(output)] or output.split("\n")
    last = next((line.strip() for line in reversed(said) if line.strip()), "it said nothing")
    return SetupError(f"{program} failed: {last}", f"details in {log}", "mend that and run this again")


def without_venv() -> SetupError:
    """Return the error for a Python that cannot make environments (Debian ships that apart)."""
    version = ".".join(str(part) for part in sys.version_info[:2])
    return SetupError(
        "this Python cannot make environments: its module venv or ensurepip is missing",
        sys.executable,
        f"install it (Debian and Ubuntu: sudo apt-get install python{version}-venv) and run this again",
    )
