"""TOML and JSON in and out of parameter sets. What is read is data: nothing is evaluated."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from workbench.params.errors import InputError, ParameterError

_MOST_BYTES = 64 * 1024 * 1024


def read_text(path: Path, what: str) -> str:
    """Return the text of a UTF-8 file of at most 64 MiB.

    Raises:
        InputError: the file is missing, a folder, unreadable, too large or no UTF-8 text; ``what`` names it.
    """
    try:
        if path.is_dir():
            raise InputError(f"the {what} is a folder", str(path), "name the file in it")
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"the {what} is larger than 64 MiB", str(path))
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"the {what} does not exist", str(path), "check the name") from None
    except UnicodeDecodeError:
        raise InputError(f"the {what} is not UTF-8 text", str(path), "save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"the {what} cannot be read: {error.strerror}", str(path)) from None


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return the table in a TOML file.

    Raises:
        InputError: the file cannot be read or is no TOML; the line is named.
    """
    try:
        return tomllib.loads(read_text(path, what))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the {what} is not TOML: {error}", str(path), "mend the line") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, brackets by the thousand
        raise InputError(f"the {what} holds a number too long or is nested too deeply", str(path)) from None


def read_json(path: Path, what: str) -> Any:
    """Return the value in a JSON file; NaN and infinities, which JSON has not, are refused.

    Raises:
        InputError: the file cannot be read or is no JSON; the line is named.
    """
    return parse_json(read_text(path, what), what, str(path))


def parse_json(text: str, what: str, where: str = "") -> Any:
    """Return the value of a JSON text, as :func:`read_json` does."""

    def refuse(constant: str) -> Any:
        raise InputError(f"the {what} holds {constant}, which is not JSON", where)

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise InputError(f"the {what} is not JSON: {error}", where, "mend the line") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, brackets by the thousand
        raise InputError(f"the {what} holds a number too long or is nested too deeply", where) from None


def write_toml(values: dict[str, Any], comment: str = "") -> str:
    """Return ``values`` as TOML, below ``comment``."""
    import tomli_w

    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return head + tomli_w.dumps(values)


def require_table(value: Any, what: str, where: str) -> dict[str, Any]:
    """Return ``value`` if it is a table of keys, or raise :class:`ParameterError`."""
    if not isinstance(value, dict):
        raise ParameterError(f"{what} is not a table of keys", where)
    return value
