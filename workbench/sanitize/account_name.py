"""The public name of a budget account, as a plan states it and certificates repeat it."""

from __future__ import annotations

from workbench.params import ParameterError

LONGEST_NAME = 80


def checked_name(name: str) -> str:
    """Return the public name of an account, or raise :class:`ParameterError` if it is not allowed."""
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise ParameterError(
            f"an account name has 1 to {LONGEST_NAME} printable characters, with no space at either end",
            hint="give another name",
        )
    return name
