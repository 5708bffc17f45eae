"""Declared, validated, typed parameters: forms, command-line options and TOML derive from them."""

from workbench.params.errors import (
    BudgetRefusedError,
    CancelledError,
    CheckFailedError,
    InputError,
    ParameterError,
    WorkbenchError,
)
from workbench.params.field import Field, Parameters, boolean, choice, declared_by, integer, real, text, texts
from workbench.params.lists import records

__all__ = [
    "BudgetRefusedError",
    "CancelledError",
    "CheckFailedError",
    "Field",
    "InputError",
    "ParameterError",
    "Parameters",
    "WorkbenchError",
    "boolean",
    "choice",
    "declared_by",
    "integer",
    "real",
    "records",
    "text",
    "texts",
]
