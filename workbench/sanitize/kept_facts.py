"""The errors of mechanisms, kept on disk for the next program: public facts of (mechanism, cells, ε), never a table.

A file is trusted with a forecast and with the advisor's choice, and with nothing else: whatever mechanism is chosen,
its table is built, and its ε computed and compared with the share, in the process that draws from it. So a file that
somebody altered can at worst advise the wrong mechanism. One that is damaged, of another version of the code, or
impossible (more ε than the share) counts as absent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import workbench
from workbench.params import WorkbenchError
from workbench.params.codec import parse_json
from workbench.paths import user_cache
from workbench.privacy import local
from workbench.privacy.local.error_profile import ErrorFacts
from workbench.privacy.local.mechanism_table import EPSILON_SERVED
from workbench.privacy.local.mechanisms import Mechanism

LIMIT = 20_000
"""Most files, of some 400 bytes; half of them, the oldest, are removed where there are more."""

_LONGEST = 4096
_NAMES = tuple(field.name for field in dataclasses.fields(ErrorFacts))
_MAY_BE_NONE = "statistic_variance"


def kept_facts(mechanism: Mechanism, key: str, *, most: float) -> ErrorFacts | None:
    """Return what is kept of ``mechanism``, or ``None``.

    Args:
        mechanism: whose facts.
        key: its cells and share, as text.
        most: ε of the share: facts with more are refused.
    """
    path = _path(mechanism, key)
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            data = stream.read(_LONGEST)
        stated, _, body = data.partition(b"\n")
        plain = parse_json(body.decode("utf-8"), "kept facts")
    except (OSError, ValueError, WorkbenchError):
        return None
    if stated != _digest(body) or not isinstance(plain, dict) or set(plain) != set(_NAMES):
        return None
    figures = [value for name, value in plain.items() if value is not None or name != _MAY_BE_NONE]
    if not all(type(value) is float and math.isfinite(value) and value >= 0 for value in figures):
        return None
    facts = ErrorFacts(**plain)
    return facts if facts.exact_epsilon <= min(most, EPSILON_SERVED) and facts.relations_kept <= 1 else None


def keep_facts(mechanism: Mechanism, key: str, facts: ErrorFacts) -> None:
    """Keep ``facts``, whole or not at all; a disk that cannot be written is no error: they are computed each time."""
    path = _path(mechanism, key)
    if path is None:
        return
    plain = {name: None if value is None else float(value) for name, value in dataclasses.asdict(facts).items()}
    body = json.dumps(plain).encode()
    with contextlib.suppress(OSError):
        _make_room(path.parent)
        handle, temporary = tempfile.mkstemp(dir=path.parent)  # the owner's alone
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_digest(body) + b"\n" + body)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def folder() -> Path:
    """Return where the facts are kept."""
    return user_cache("mechanisms")


def _path(mechanism: Mechanism, key: str) -> Path | None:
    """Return the file of a key; ``None`` for a mechanism of somebody else, whose code may change unseen."""
    if not mechanism.recipe.__module__.startswith(f"{workbench.__name__}."):
        return None
    return folder() / hashlib.sha256(f"{_version()} {mechanism.name} {key}".encode()).hexdigest()


@cache
def _version() -> str:
    """Return a digest that changes with the code that computes the facts."""
    seen = hashlib.sha256(f"{workbench.__version__} {np.__version__}".encode())
    for path in sorted(Path(local.__file__).parent.rglob("*.py")):
        seen.update(path.read_bytes())
    return seen.hexdigest()


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


@cache
def _make_room(place: Path) -> None:
    """Make the folder; where it holds too many files, remove the older half. Once a process is enough."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    files = list(place.iterdir())
    if len(files) > LIMIT:
        for path in sorted(files, key=lambda file: file.stat().st_mtime)[: len(files) // 2]:
            path.unlink(missing_ok=True)
