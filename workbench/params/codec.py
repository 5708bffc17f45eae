"""TOML and JSON of parameter sets, and CSV output. Input is data: nothing is evaluated."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from workbench.params.errors import InputError, ParameterError

_MOST_BYTES = 64 * 1024 * 1024
_MOST_DIGITS = 300  # most digits of a whole number that is read: every such number fits into a double

_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_DEEPEST = 64  # deepest nesting that is read: deeper tables would exhaust the stack of later code


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
    return parse_toml(read_text(path, what), what, str(path))


def parse_toml(text: str, what: str, where: str = "") -> dict[str, Any]:
    """Return the table of a TOML text, as :func:`read_toml` does; TOML itself refuses a key that is there twice."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the {what} is not TOML: {error}", where, "correct the line") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, brackets by the thousand
        raise _beyond_bounds(what, where) from None
    _check_depth(value, what, where)
    return value


def read_json(path: Path, what: str) -> Any:
    """Return the value in a JSON file.

    Anything that two programs could read in two ways is refused: a repeated key, NaN and infinities (also a number
    too large for a double), half a character, and tables nested deeper than any file of this program.

    Raises:
        InputError: the file cannot be read or is no JSON; the line, the key or the number is named.
    """
    return parse_json(read_text(path, what), what, str(path))


def parse_json(text: str, what: str, where: str = "") -> Any:
    """Return the value of a JSON text, as :func:`read_json` does."""

    def refuse(constant: str) -> Any:
        raise InputError(f"the {what} contains {constant[:24]}, which is not a JSON number", where)

    def number(digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else cast("float", refuse(digits))

    def whole(digits: str) -> int:
        return int(digits) if len(digits) <= _MOST_DIGITS else cast("int", refuse(digits))

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise InputError(f"the {what} has the key {twice!r} twice", where, "ask for the original")
        return made

    try:
        value = json.loads(text, parse_constant=refuse, parse_float=number, parse_int=whole, object_pairs_hook=table)
    except json.JSONDecodeError as error:
        raise InputError(f"the {what} is not JSON: {error}", where, "correct the line") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, brackets by the thousand
        raise _beyond_bounds(what, where) from None
    _check_depth(value, what, where)
    if _HALF_CHARACTER.search(text):  # a pair of them is one character
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(f"the {what} contains half of a surrogate pair", where, "ask for the original") from None
    return value


def _check_depth(value: Any, what: str, where: str) -> None:
    level: list[Any] = [[value]]
    for _ in range(_DEEPEST + 1):
        level = [x for outer in level for x in _values(outer) if isinstance(x, (dict, list))]
        if not level:
            return
    raise _beyond_bounds(what, where)


def _values(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _beyond_bounds(what: str, where: str) -> InputError:
    return InputError(
        f"the {what} has a number that is too long or is nested too deeply", where, "ask for the original"
    )


def write_toml(values: dict[str, Any], comment: str = "") -> str:
    """Return ``values`` as TOML, below ``comment``."""
    import tomli_w

    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return head + tomli_w.dumps(values)


def csv_bytes(rows: Iterable[Iterable[object]], end: str = "\n", quoting: Any = csv.QUOTE_MINIMAL) -> bytes:
    """Return rows as CSV; ``end`` is that of a line, and ``quoting`` says which cells are quoted."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=end, quoting=quoting).writerows(rows)
    return out.getvalue().encode()


def require_table(value: Any, what: str, where: str) -> dict[str, Any]:
    """Return ``value`` if it is a table of keys, or raise :class:`ParameterError`."""
    if not isinstance(value, dict):
        raise ParameterError(f"{what} is not a table of keys", where)
    return value
