"""Permanent answers on disk: readable by their owner alone, complete or not there at all."""

from __future__ import annotations

import json
from pathlib import Path

from workbench.params import InputError, ParameterError
from workbench.params.codec import parse_json
from workbench.privacy.rappor.memory import Kept, PermanentAnswers
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.release.atomic import PartFile, write_error

_FORMAT = "privacy-workbench-rappor-answers"
_VERSION = 1


def load_answers(path: Path, parameters: RapporParameters, column: str) -> PermanentAnswers:
    """Return the answers kept in ``path``; none where there is no such file yet.

    Raises:
        InputError: it cannot be read, or is of another question or of other parameters; the line is named.
    """
    try:
        with path.open("rb") as stream:
            found = _head(stream.readline(), path, parameters, column)
            for number, line in enumerate(stream, 2):
                key, kept = _entry(line, path, number, parameters)
                if key in found.kept:
                    raise InputError("a client is listed twice", str(path), "ask for the original").on_line(number)
                found.kept[key] = kept
    except FileNotFoundError:
        return PermanentAnswers(parameters, column)
    except OSError as error:
        raise InputError(f"the kept answers cannot be read: {error.strerror}", str(path)) from None
    return found


def save_answers(path: Path, answers: PermanentAnswers) -> None:
    """Write ``answers`` to ``path``, durably, for its owner's eyes alone.

    Raises:
        InputError: it cannot be written.
    """
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "column": answers.column,
        "parameters": _plain(answers.parameters),
        "key": answers.key.hex(),
    }
    with PartFile(path, private=True) as part:
        try:
            part.stream.write(json.dumps(head).encode() + b"\n")
            part.stream.writelines(
                b"%b,%b,%d,%b\n"
                % (key.hex().encode(), kept.value.hex().encode(), kept.cohort, kept.answer.hex().encode())
                for key, kept in answers.kept.items()
            )
            part.publish()
        except OSError as error:
            raise write_error(error, path) from None


def _plain(parameters: RapporParameters) -> dict[str, float]:
    return {name: getattr(parameters, name) for name in parameters.declared()}


def _head(line: bytes, path: Path, parameters: RapporParameters, column: str) -> PermanentAnswers:
    strange = InputError("this is not a file of kept answers", str(path), "name the one that an earlier run has made")
    try:
        head = parse_json(line.decode(), "first line", str(path))
        if head["format"] != _FORMAT or head["version"] != _VERSION:
            raise strange
        key, stated = bytes.fromhex(head["key"]), (head["column"], RapporParameters(**head["parameters"]))
    except (UnicodeDecodeError, KeyError, TypeError, ValueError, InputError, ParameterError):
        raise strange from None
    if len(key) != 32:
        raise strange
    if stated != (column, parameters):
        what = "these answers were kept for another column or other parameters"
        raise InputError(what, str(path), "name another file")
    return PermanentAnswers(parameters, column, key)


def _entry(line: bytes, path: Path, number: int, parameters: RapporParameters) -> tuple[bytes, Kept]:
    strange = InputError("this is not a kept answer", str(path), "ask for the original").on_line(number)
    try:
        client, value, cohort, answer = line.decode("ascii").rstrip("\r\n").split(",")
        key, kept = bytes.fromhex(client), Kept(bytes.fromhex(value), int(cohort), bytes.fromhex(answer))
    except (UnicodeDecodeError, ValueError):
        raise strange from None
    sound = len(key) == len(kept.value) == 16 and len(kept.answer) == parameters.row_bytes
    if not sound or not 0 <= kept.cohort < parameters.m:
        raise strange
    return key, kept
