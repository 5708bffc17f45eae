"""A generalised table as a file with a certificate that promises nothing.

No ε is charged, because no mechanism bounds what the table reveals. It is published in the same way as a release: the
ledger notes it durably before a byte is written, and the certificate gets its name before the file does. Certificates
of later releases of these rows say that it is out (``choosing.BESIDE``).

What each value became is private: files of its own, one per quasi-identifier.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from workbench.data.rows_in_parts import cells_of
from workbench.data.schema import QUASI, SENSITIVE
from workbench.params import InputError, ParameterError, WorkbenchError
from workbench.privacy.entropy import OsEntropy, permutation
from workbench.release.atomic import PART, write_error, write_output
from workbench.release.certificate import (
    GENERALISED_FORMAT,
    certificate_bytes,
    certificate_path,
    output_facts,
    read_document,
    with_checksum,
)
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.study_note import known_by
from workbench.release.part_files import DrawFile, refuse_replacing_inputs
from workbench.release.recover import place_of, rename_pair, require_new_pair
from workbench.release.statements import PROMISES_NOTHING, kept_columns
from workbench.release.table_formats import ReleasedText, table_format
from workbench.risk.generalise.generalised import Generalised
from workbench.risk.generalise.models import Closeness
from workbench.risk.hierarchies import file_name
from workbench.risk.hierarchies.hierarchy import ANY, semicolons
from workbench.sanitize.writing import PLAIN
from workbench.signals import NEVER, WHOLE, CancelToken, Emit, Progress, ignore

RANDOM, AS_READ = "random", "as read"


@dataclass(frozen=True, kw_only=True)
class Publication:
    """How a generalised table is published."""

    path: Path
    format: str
    replace: bool = False
    keep: tuple[str, ...] = ()  # columns that are published as they are, besides the sensitive ones
    keep_order: bool = False
    account: str | None = None  # the public name of the account that the table is said to belong to


@dataclass(frozen=True)
class Published:
    """A generalised table that was published."""

    output: Path
    certificate: Path
    document: dict[str, Any]


def publish(
    made: Generalised, to: Publication, ledger: Ledger, emit: Emit = ignore, cancel: CancelToken = NEVER
) -> Published:
    """Write a generalised table and its certificate; the ledger notes first that it is published.

    Raises:
        InputError: the output exists or cannot be written, or the ledger cannot be.
        ParameterError: a column that is to be kept is a quasi-identifier.
        CancelledError: ``cancel`` was set; nothing was published.
    """
    made.table.require_certain()
    both = [name for name in to.keep if name in made.asked.quasi]
    if both:
        raise ParameterError(f"the column {both[0]} is a quasi-identifier", "keep", "leave it out of one of the two")
    _clear_half_named(to.path, ledger)
    require_new_pair(to.path, replace=to.replace, charged=False)
    rows = made.published_rows
    if not to.keep_order:
        rows = rows[permutation(len(rows), OsEntropy())]
    frame = made.frame(to.keep, rows)
    data = _bytes(frame, to.format)
    output = output_facts(to.path.name, to.format, hashlib.sha256(data).hexdigest(), len(data))
    document = with_checksum(
        {**_facts(made, to, frame), "output": output},
        time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        release_id=secrets.token_hex(8),
    )
    certificate = certificate_bytes(document)
    emit(Progress(0, 1, "writing"))
    with DrawFile(to.path, len(data) + len(certificate), ending=PART, replace=to.replace) as part:
        cancel.check()
        ledger.note_generalised(known_by(made.table, ledger, to.account), document["checksum"], place_of(to.path))
        try:
            part.write(data)
            part.finish()
            with WHOLE:
                rename_pair(part, document["release_id"], certificate)
        except OSError as error:
            problem = write_error(error, to.path)
            problem.outcome = "the ledger has noted a generalised table that was not written"
            raise problem from None
    emit(Progress(1, 1, "certified"))
    return Published(to.path, certificate_path(to.path), document)


def require_mapping(folder: Path, quasi: Iterable[str], *used: str | Path | None) -> None:
    """Refuse a folder whose files could not be written, or would replace one of ``used``.

    A folder among ``used`` means its file of each quasi-identifier.

    Raises:
        InputError: ``folder`` is a file.
        ParameterError: a file of the mapping is one of ``used``.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError("the folder for the mapping is a file", str(folder), "give a folder")
    for name in map(file_name, quasi):
        refuse_replacing_inputs(
            folder / name, *(Path(one) / name if one and Path(one).is_dir() else one for one in used)
        )


def write_mapping(folder: Path, made: Generalised) -> str:
    """Write what the values became, and return the folder.

    Raises:
        InputError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in made.asked.quasi:
        write_output(folder / file_name(name), semicolons(made.mapping(name)).encode())
    return str(folder)


def _clear_half_named(target: Path, ledger: Ledger) -> None:
    """Remove the certificate of a run that was killed before its file got its name."""
    beside = certificate_path(target)
    if os.path.lexists(target) or not beside.is_file():
        return
    try:
        document = read_document(beside, GENERALISED_FORMAT)
    except WorkbenchError:
        return  # somebody else's: it stays, and the output is refused
    if ledger.published_generalised(document["checksum"]):
        beside.unlink()


def _bytes(frame: pl.DataFrame, form: str) -> bytes:
    text = ReleasedText(lambda start, stop: frame[start:stop], frame.height, {})
    return b"".join(table_format(form).write(text, PLAIN))


def _facts(made: Generalised, to: Publication, frame: pl.DataFrame) -> dict[str, Any]:
    """Return what the certificate says, except for the file.

    Nothing in it says more than the file and the number of rows, which is public: no loss, and of the hierarchies
    only the labels that are published and which of them each level above joins.
    """
    sensitive = {of.name: of for of in made.problem.sensitive}
    near = next((model for model in made.models if isinstance(model, Closeness)), None)
    columns = []
    for name in frame.columns:
        if name in made.asked.quasi:
            height = made.problem.hierarchies[made.asked.quasi.index(name)].height
            level = {"level": made.levels[name]} if made.full_domain else {}
            columns.append(
                {
                    "name": name,
                    "role": QUASI,
                    **level,
                    "height": height,
                    "labels": hide_unpublished(made.vocabulary(name)),
                }
            )
            continue
        role = SENSITIVE if name in made.asked.sensitive else "kept"
        of, found = sensitive.get(name), set(cells_of(frame, name).fill_null("").to_list())
        own = None if of is None else of.hierarchy
        far = {} if of is None or near is None else {"distance": near.distance_of(of)}
        chains = [] if own is None else [list(chain) for chain in zip(*own.levels, strict=True) if chain[0] in found]
        columns.append(
            {"name": name, "role": role, **far, **({"labels": hide_unpublished(sorted(chains))} if chains else {})}
        )
    return {
        "format": GENERALISED_FORMAT,
        "statement": PROMISES_NOTHING,
        "rows": frame.height,
        "suppressed": made.outcome.suppressed,
        "k": made.k,
        **({} if made.table.decimal is None else {"decimal": made.table.decimal}),
        "models": [{"model": model.name, **model.to_plain()} for model in made.models],
        "method": made.method.method,
        "suppression": made.method.suppression,
        "order": AS_READ if to.keep_order else RANDOM,
        "columns": columns,
        "outside": kept_columns(columns),
    }


def hide_unpublished(chains: list[list[str]]) -> list[list[str]]:
    """Return published labels, each followed by those above it, those that are not published by a number.

    A label above, such as ``Ann - Zoe``, may name a value of a row that was left out.
    """
    shown = {ANY: ANY} | {chain[0]: chain[0] for chain in chains}
    numbers = (name for name in map(str, itertools.count(1)) if name not in shown)
    veil = {label: next(numbers) for label in dict.fromkeys(itertools.chain(*chains)) if label not in shown}
    said = shown | veil
    return [[said[label] for label in chain] for chain in chains]
