"""Where a Dask scheduler is, and whether what is sent there can be read on the way."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from workbench.params import ParameterError
from workbench.params.extras import require

FORMS = "tcp://HOST:PORT or tls://HOST:PORT"

CONTINUE = "run again to do the rest"
"""What errors of a cluster advise."""


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
