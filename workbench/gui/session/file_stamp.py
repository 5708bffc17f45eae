"""What tells one version of a file from another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stamp:
    """A file's identity, size and time of change, as the system tells them."""

    inode: int
    size: int
    changed: int
