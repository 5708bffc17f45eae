"""Inputs of attacks, for window, command line and Python: the guarantee in a certificate, and the tables.

The ledger notes each table of people before a figure is computed from it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.data.columns.missing import with_codes
from workbench.data.databases.address import address_of
from workbench.data.images.image_reader import is_image_set
from workbench.data.table import Table
from workbench.data.table_reader import SAMPLE_PREFIX, ReadOptions, read_table
from workbench.params import InputError, ParameterError, Parameters, WorkbenchError, counted
from workbench.release.atomic import sha256_of, write_output
from workbench.release.certificate import CARD_FORMAT, SUFFIX, certificate_path
from workbench.release.described_release import GENERALISED, DescribedRelease, is_release, release_at
from workbench.release.ledger.study_note import note_study
from workbench.release.open_release import certified_rows, plan_of, without_apostrophes
from workbench.release.part_files import require_new
from workbench.release.statements import without_choice
from workbench.release.table_formats import FORMATS, released_table, suffix_of
from workbench.risk.attacks.base import MODEL, RELEASE, Attack, Subject
from workbench.risk.attacks.bound import NOTHING, Guarantee
from workbench.risk.attacks.outcome import Outcome
from workbench.sanitize.plan import Plan
from workbench.sanitize.writing import PLAIN
from workbench.signals import NEVER, CancelToken, Emit, ignore

if TYPE_CHECKING:
    from workbench.release.model.open_model import OpenModel


STUDY = "attack"

Note = Callable[[str, Table], None]
"""(name of what is given, its rows): notes in a ledger that figures of them are going to be shown."""

NO_EPSILON = "It was released without ε: nothing bounds what an attacker learns."
CHANGED = "The file is not the one that its certificate was written for, so the certificate's ε does not apply to it."


def guarantee_of(path: Path) -> Guarantee:
    """Return what the certificate beside a released file, or the card in a model's folder, promises about a person."""
    if not path.is_dir() and not os.path.isfile(certificate_path(path)):
        return NOTHING
    try:
        described = release_at(path)
    except WorkbenchError as error:
        return Guarantee(why_not=f"Its certificate cannot be used: {error}.")
    return guarantee_in(described.document, described.release)


def guarantee_in(document: Mapping[str, Any], release: Path) -> Guarantee:
    """Return what a certificate or card promises about a person, all of whose rows count."""
    claimed = document.get("guarantee", {})
    if "epsilon" not in claimed:
        return Guarantee(why_not=NO_EPSILON)
    replaced = claimed["replace_one"]
    left_out = without_choice(document.get("outside_guarantee", ()))
    why = f"Part of it is not covered by ε: {left_out[0]}" if left_out else ""
    if document["format"] != CARD_FORMAT and sha256_of(release) != document["output"]["sha256"]:
        why = CHANGED
    return Guarantee(
        float(claimed["epsilon"]), float(claimed["delta"]), (float(replaced["epsilon"]), float(replaced["delta"])), why
    )


def read_released(path: Path, cancel: CancelToken = NEVER) -> Table:
    """Return a released table; one with a certificate is read as that says, any other one as a guess says.

    Raises:
        InputError: it cannot be read.
    """
    kind = suffix_of(path)
    if kind is None or not os.path.isfile(certificate_path(path)):
        return read_table(path, cancel=cancel)
    plan = plan_beside(path)
    if plan is None:
        return released_table(path, FORMATS[kind], (), cancel, PLAIN)
    return without_apostrophes(plan, released_table(path, FORMATS[kind], (), cancel, plan.writing or PLAIN))


def plan_beside(path: Path) -> Plan | None:
    """Return the plan in the certificate beside ``path``, if there is one."""
    try:
        found = release_at(path)
        return plan_of(found.document, found.path) if "plan" in found.document else None
    except WorkbenchError:
        return None  # guarantee_of says what is wrong with the certificate


def run_attack(
    chosen: Attack,
    request: Parameters,
    given: Mapping[str, Path | Table],
    *,
    ledger: Path | None = None,
    options: ReadOptions | None = None,
    note: Note | None = None,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> Outcome:
    """Read what an attack needs, run it, and note in the ledger that it is shown.

    ``given`` has paths, or tables in memory, by the names of the attack's own ``given``; ``options`` say how tables of
    people are read; ``note`` notes one in place of ``ledger``, which is the user's own where none is named.

    Raises:
        ParameterError: something that it needs is not given.
        InputError: a file cannot be read, tables do not fit together, or the ledger cannot note it.
    """
    for needed in chosen.given:
        if needed.required and needed.name not in given:
            raise ParameterError(f"{chosen.name} needs {needed.help}", hint="give it", field=needed.name)
    guarantee, release, model = NOTHING, None, None
    released = given.get(RELEASE)
    if isinstance(released, Path):
        guarantee, release = guarantee_of(released), read_released(released, cancel=cancel)
    elif released is not None:
        release = released
    if isinstance(folder := given.get(MODEL), Path):
        from workbench.release.model.open_model import open_model  # a network loads torch

        guarantee, model = guarantee_of(folder), open_model(folder)
    tables = {
        needed.name: _people(given[needed.name], model, options, emit, cancel)
        for needed in chosen.given
        if needed.name not in (RELEASE, MODEL) and needed.name in given
    }
    control, original = tables.get("control"), tables.get("original")
    if control is not None and original is not None and control.frame.equals(original.frame):
        what = "the control set is the original itself"
        raise InputError(what, control.source, "give rows of people who were not released", field="control")
    plan = plan_beside(released) if isinstance(released, Path) else None
    people = tables if plan is None else {name: with_codes(table, plan.columns) for name, table in tables.items()}
    outcome = chosen.run(Subject(guarantee, release, model, people), request, emit, cancel)
    # Noted before it is returned, and not before it is known: an attack that fails shows nothing.
    noted = note or (lambda name, table: note_study(table, STUDY, ledger, emit))
    if release is not None and not is_release(release):
        noted(RELEASE, release)
    for name, table in tables.items():
        noted(name, table)
    return outcome


def hold_out(table: Table, percent: int, kept: Path, held: Path, generator: np.random.Generator) -> None:
    """Divide rows at random into two new files: those to release or to train on, and ``percent`` of them held out.

    Raises:
        InputError: a file cannot be written, that of ``held`` exists, or one of the parts would have no rows.
    """
    require_new(held, replace=False)
    out = table.rows * percent // 100
    if not 0 < out < table.rows:
        raise InputError(
            f"{counted(table.rows, 'row')}: too few to hold {percent} % of them out", hint="use a larger table"
        )
    order = generator.permutation(table.rows)
    for path, rows in ((held, order[:out]), (kept, order[out:])):
        write_output(path, table.frame[np.sort(rows).tolist()].write_csv().encode())


def _people(
    source: Path | Table, model: OpenModel | None, options: ReadOptions | None, emit: Emit, cancel: CancelToken
) -> Table:
    """Return the table of a path, or the images, where a model was trained on images."""
    if not isinstance(source, Path):
        return source
    if model is not None and is_image_set(source):
        from workbench.release.model.image_predictions import images_to_predict  # loads torch

        return images_to_predict(model, [str(source)], emit=emit, cancel=cancel)
    return read_table(source, options, cancel=cancel)


def path_or_name(text: str) -> Path | Table:
    """Return what a person named: a path, or a sample table or one of a database."""
    return read_table(text) if text.startswith(SAMPLE_PREFIX) or address_of(text) is not None else Path(text)


ROWS = "table"  # the kind of described releases of noisy rows, one for each row of the original

ROWS_OF_PEOPLE = ("synthetic",)  # kinds of central releases whose file holds rows like those of the original


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """Rows that an outsider has, with what their certificate says; without one there is neither plan nor document."""

    table: Table
    plan: Plan | None = None
    document: Mapping[str, Any] | None = None


def described_release(path: Path) -> DescribedRelease | None:
    """Return the release at a file, certificate, model's folder or bundle; ``None`` of a table without a certificate.

    Raises:
        InputError: the certificate cannot be read.
        CheckFailedError: it was changed after it was written.
    """
    known = path.is_dir() or path.name.endswith(SUFFIX) or os.path.exists(certificate_path(path))
    return release_at(path) if known else None


def has_rows(found: DescribedRelease | None) -> bool:
    """Return whether a release has rows like those of the original."""
    return found is None or found.kind in (ROWS, GENERALISED) or found.document.get("kind") in ROWS_OF_PEOPLE


def rows_of_release(path: str | Path, reading: ReadOptions, cancel: CancelToken = NEVER) -> ReleasedRows:
    """Return the rows of a release by its certificate, or of any other table.

    Raises:
        InputError: it is no table, or not the one that its certificate was written for.
    """
    found = described_release(Path(path))
    if not has_rows(found):
        assert found is not None
        kind = found.document.get("kind")
        what = "a model has no rows of people" if kind is None else f"a release of {kind} has no rows of people"
        raise InputError(what, str(path), "give noisy or synthetic rows")
    if found is None:
        return ReleasedRows(read_table(str(path), reading, cancel=cancel))
    if found.kind == GENERALISED:
        return ReleasedRows(read_released(found.release, cancel=cancel), None, found.document)
    plan, table = certified_rows(found.release, found.document, found.path, cancel)
    return ReleasedRows(table, plan, found.document)
