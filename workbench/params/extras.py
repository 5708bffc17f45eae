"""Libraries that come with an extra of the workbench: whether one is missing, and how to get it."""

from __future__ import annotations

import importlib.util
import sys

from workbench.params.errors import ParameterError

EXTRAS = {
    "torch": ("PyTorch", "deep"),
    "numba": ("Numba", "deep"),
    "xgboost": ("XGBoost", "boost"),
    "distributed": ("Dask", "dist"),
    "dask": ("Dask", "dist"),
    "pandas": ("pandas", "api"),
    "fastexcel": ("fastexcel", "formats"),
    "pyreadstat": ("pyreadstat", "formats"),
}
"""Module → its usual name, and the extra that brings it."""


def is_missing(module: str) -> bool:
    """Return whether ``module`` is not installed; does not load it."""
    return importlib.util.find_spec(module) is None


def how_to_install(module: str) -> str:
    """Return how to get ``module``, one of :data:`EXTRAS`, as a clause without a final full stop."""
    command = f'pip install "privacy-workbench[{EXTRAS[module][1]}]"'
    if getattr(sys, "frozen", False):
        return f"it is not part of this bundle: beside it, with Python, {command} (see READ-ME.txt)"
    return f"in a terminal: {command}"


def require(module: str, what: str, where: str = "") -> None:
    """Raise :class:`ParameterError` where ``module`` is not installed.

    Args:
        module: one of :data:`EXTRAS`.
        what: needs it, as the beginning of a sentence.
        where: the parameter that asks for it.
    """
    if is_missing(module):
        title = EXTRAS[module][0]
        raise ParameterError(f"{what} needs {title}, which is not installed", where, how_to_install(module))


def absent(error: ModuleNotFoundError) -> ParameterError | None:
    """Return what to say to a person of an import that failed, where an extra would bring the module."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    return ParameterError(f"this needs {EXTRAS[module][0]}, which is not installed", hint=how_to_install(module))
