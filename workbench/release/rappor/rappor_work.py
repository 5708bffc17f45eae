"""RAPPOR reports, each client's of its own, and what `verify` recomputes: ε from the parameters, and the reports.

The reports are the answers: there is nothing else that they could be made of again.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data.table import Table
from workbench.params import InputError, ParameterError, parse_json
from workbench.privacy.accounting.event import PureDp
from workbench.privacy.rappor.bits import BasicBits, Bits, BloomBits, Kept, PermanentAnswers
from workbench.privacy.rappor.parameters import RapporParameters, cost, epsilons
from workbench.rappor.collection import Collected, Collection, CollectionOptions, clients_of, collected
from workbench.rappor.files import parameter_text, read_parameters
from workbench.rappor.reports import most_reports, read_sum, report_bytes
from workbench.release.atomic import write_output
from workbench.release.certificate import require_format
from workbench.release.kinds import Repeated
from workbench.release.verify import rerun
from workbench.sanitize.plan import Plan
from workbench.signals import CancelToken, Emit
from workbench.work.ask import Ask
from workbench.work.work import Work, WorkOutput

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
                    raise InputError("a client is listed twice", str(path), "get the original file").on_line(number)
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
        "parameters": {name: getattr(answers.parameters, name) for name in answers.parameters.declared()},
        "key": answers.key.hex(),
    }
    lines = (
        f"{key.hex()},{kept.value.hex()},{kept.cohort},{kept.answer.hex()}\n" for key, kept in answers.kept.items()
    )
    write_output(path, f"{json.dumps(head)}\n{''.join(lines)}".encode(), private=True)


def _head(line: bytes, path: Path, parameters: RapporParameters, column: str) -> PermanentAnswers:
    strange = InputError("this is not a file of kept answers", str(path), "give the one that an earlier run wrote")
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
        raise InputError(what, str(path), "choose another file")
    return PermanentAnswers(parameters, column, key)


def _entry(line: bytes, path: Path, number: int, parameters: RapporParameters) -> tuple[bytes, Kept]:
    strange = InputError("this is not a kept answer", str(path), "get the original file").on_line(number)
    try:
        client, value, cohort, answer = line.decode("ascii").rstrip("\r\n").split(",")
        key, kept = bytes.fromhex(client), Kept(bytes.fromhex(value), int(cohort), bytes.fromhex(answer))
    except (UnicodeDecodeError, ValueError):
        raise strange from None
    sound = len(key) == len(kept.value) == 16 and len(kept.answer) == parameters.row_bytes
    if not sound or not 0 <= kept.cohort < parameters.m:
        raise strange
    return key, kept


KIND = "rappor"
FORMATS = {".csv": "csv"}
LABEL = "RAPPOR reports"
_LONGEST_LINE = 48


def rappor_work(
    parameters: RapporParameters,
    asked: Collection,
    rows: int,
    *,
    basic: Sequence[str] = (),
    answers: Path | None = None,
) -> Work:
    """Return the release of the reports of a column of so many rows; reads none of them.

    Each of the ``basic`` values has a bit of its own; without them there is a Bloom filter. Clients' permanent
    ``answers`` are kept in that file.

    Raises:
        ParameterError: the cost is infinite, or the parameters do not fit the variant.
    """
    charged = cost(parameters, asked.reports).decimal()
    bits: Bits = BasicBits(parameters, basic) if basic else BloomBits(parameters)
    if answers is not None and asked.client is None:
        raise ParameterError("answers can be kept only for named clients", hint="give their column: --client COL")

    def ask_clients(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> Collected:
        if answers is not None and not ask.coins.releasable:
            what = "kept answers may be used by a later release, which needs fresh randomness"
            raise ParameterError(what, "seed", "leave the seed out, or the file of kept answers")
        clients = clients_of(table, asked, parameters)
        memory = None if answers is None else load_answers(answers, parameters, asked.column)
        coins = ask.local(LABEL, cost(parameters, asked.reports).decimal())
        made = collected(clients, bits, memory, coins, emit, cancel)
        cancel.check()
        if answers is not None and memory is not None:
            # Before the reports leave: an answer that was seen and forgotten would be drawn anew.
            save_answers(answers, memory)
        return made

    def files(made: Collected, cancel: CancelToken) -> WorkOutput:
        data = report_bytes(made.clients, made.cohorts, made.reports, parameters)
        return WorkOutput(data, {"reports": len(made.reports)})

    return Work(
        kind=KIND,
        columns=asked.columns,
        events=(PureDp(charged, LABEL),),
        request=stated(parameters, asked, basic, kept=answers is not None),
        room=rows * (asked.reports if asked.client is None else 1) * (parameters.k + _LONGEST_LINE) + (1 << 16),
        ask=ask_clients,
        files=files,
        check=lambda table, cancel: _check(table, asked, bits, cancel),
    )


def asked_work(
    plan: Plan, asked: CollectionOptions, epsilon: Decimal, delta: Decimal, rows: int, file_format: str
) -> Work:
    """Return the release of what a person asked for, whose cost is that of the parameters; reads no row."""
    found = asked.collection([column.name for column in plan.columns])
    answers = None if asked.answers is None else Path(asked.answers)
    return rappor_work(read_parameters(Path(asked.params)), found, rows, basic=asked.candidates(), answers=answers)


def repeated(asked: Mapping[str, Any], plan: Plan) -> Repeated:
    """Return the request of a certificate, to be asked for once more; kept answers stay where they are."""
    values = {name: asked[name] for name in Collection.declared() if name in asked}
    files = {"params.csv": parameter_text(RapporParameters(**asked["parameters"]))}
    files |= {"candidates.txt": "".join(f"{value}\n" for value in asked["basic"])} if asked["basic"] else {}
    return {
        "params": "@params.csv",
        **values,
        **({"basic": "@candidates.txt"} if asked["basic"] else {}),
    }, files


def _check(table: Table, asked: Collection, bits: Bits, cancel: CancelToken) -> None:
    """Refuse what :func:`rappor_work` could not collect, before anything is reserved.

    Raises:
        InputError: a client contradicts itself or what was declared.
        ParameterError: a value is not one of the public ones.
    """
    cancel.check()
    clients = clients_of(table, asked, bits.parameters)
    if isinstance(bits, BasicBits):
        bits.of(clients.values, np.zeros(len(clients.values), dtype=np.int64))


def stated(parameters: RapporParameters, asked: Collection, basic: Sequence[str], *, kept: bool) -> dict[str, Any]:
    """Return what was asked for, as the certificate says it."""
    return {
        **asked.to_plain(),
        "parameters": {name: getattr(parameters, name) for name in parameters.declared()},
        "basic": list(basic),
        "kept_answers": kept,
        **epsilons(parameters, asked.reports),
    }


# -- verification ------------------------------------------------------------------------------------------------------

_BESIDE = {"parameters", "basic", "kept_answers", "epsilon_one", "epsilon_permanent"}


def recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for every fault of RAPPOR reports whose bytes and guarantee were checked.

    Raises:
        WorkbenchError: the request is malformed, or the file does not hold such reports.
    """
    require_format(document, output, FORMATS)
    asked, parameters, basic = _asked(document["request"])
    work = rappor_work(parameters, asked, document["rows"], basic=basic)
    kept = document["request"].get("kept_answers")
    if kept is True:
        work = dataclasses.replace(work, request={**work.request, "kept_answers": kept})
    wrong = list(rerun(document, work, output, cancel))
    yield from wrong
    if wrong:
        return
    counts = read_sum(output, parameters, cancel=cancel)
    expected = document["rows"] * (asked.reports if asked.client is None else 1)
    if counts.total != expected or document["method"] != {"reports": counts.total}:
        yield f"the file has {counts.total} reports, its certificate gives {expected}"
        return
    most = most_reports(output, cancel)
    if most > asked.reports:  # of named clients only the file says how many each has, and ε hangs on it
        yield f"a client has {most} reports in the file, and the certificate says at most {asked.reports}"


def _asked(request: dict[str, Any]) -> tuple[Collection, RapporParameters, tuple[str, ...]]:
    values, basic = request.get("parameters"), request.get("basic")
    if not isinstance(values, dict) or not isinstance(basic, list) or not all(isinstance(b, str) for b in basic):
        raise ParameterError("the certificate's request is malformed", "request")
    plain = {key: value for key, value in request.items() if key not in _BESIDE}
    return Collection.from_plain(plain, "request"), RapporParameters.from_plain(values, "request"), tuple(basic)
