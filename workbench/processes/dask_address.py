"""Where a Dask scheduler is, and whether what is sent there can be read on the way."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from workbench.params import InputError, ParameterError, WorkbenchError
from workbench.params.codec import read_json
from workbench.params.errors import require

FORMS = "tcp://HOST:PORT or tls://HOST:PORT"

CONTINUE = "run it again to finish the rest"  # what errors of a cluster advise


class ClusterLostError(WorkbenchError):
    """Nobody on the cluster answers any more, or nobody does yet: another scheduler may do the rest."""


def scheduler_address(text: str) -> str:
    """Return the address of a scheduler as Dask writes it; without a scheme it is a TCP address.

    Raises:
        ParameterError: it is no such address, or Dask is not installed.
    """
    written = text if "://" in text else f"tcp://{text}"
    try:
        parts = urlsplit(written)
        port = parts.port
    except ValueError:
        port = None
    if not port or parts.scheme not in ("tcp", "tls") or not parts.hostname or written != _plain(written):
        raise ParameterError(f"{text!r} is not the address of a Dask scheduler", "scheduler", f"write {FORMS}")
    require("distributed", "a scheduler", "scheduler")
    return written


def scheduler_named(scheduler: str | None, file: str | os.PathLike[str] | None, mark: str = "") -> str | None:
    """Return the address of the scheduler that somebody named in one of two ways; ``None`` where nobody did.

    Args:
        scheduler: its address.
        file: what ``dask scheduler --scheduler-file FILE`` writes, where it is read.
        mark: ``--`` before the names of the two in messages of the command line.

    Raises:
        InputError: the file cannot be read, or is not one that a scheduler has written.
        ParameterError: both are named, the address is malformed, or Dask is not installed.
    """
    if file is None:
        return None if scheduler is None else scheduler_address(scheduler)
    if scheduler is not None:
        what = f"{mark}scheduler and {file_option(mark)} both name the scheduler"
        raise ParameterError(what, hint="give one of them")
    stated = read_json(Path(file), "scheduler file")
    address = stated.get("address") if isinstance(stated, dict) else None
    if not isinstance(address, str):
        hint = "give the file that `dask scheduler --scheduler-file FILE` wrote"
        raise InputError("this file contains no address of a Dask scheduler", str(file), hint)
    return scheduler_address(address)


def file_option(mark: str) -> str:
    """Return what the file of a scheduler is called on the command line, or in Python."""
    return "--scheduler-file" if mark else "scheduler_file"


def _plain(address: str) -> str:
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port}"


def unencrypted(addresses: Iterable[str]) -> list[str]:
    """Return those addresses whose traffic leaves this computer without encryption."""
    return [address for address in addresses if not address.startswith("tls://") and not _on_this_computer(address)]


def _on_this_computer(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    if address.startswith("inproc://") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False
