"""Quality of released rows, and the report on a table or a release: private studies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from workbench.api.datasets import PRIVATE, mark_of, note, warn_of_study
from workbench.api.frames import Place, frame_of, path_of, table_of
from workbench.data.table_reader import ReadOptions
from workbench.release.attack_inputs import ReleasedRows, rows_of_release
from workbench.release.described_release import is_release
from workbench.release.documents.risk_document import risk_document, summary_sentences
from workbench.release.documents.written_document import check_document_path, write_document
from workbench.release.risk_report import ReportRequest, risk_report
from workbench.sanitize.plan import Plan
from workbench.studies.quality.study import QualityRequest
from workbench.studies.quality.study import quality as scored

COLUMNS = ("score", "title", "value", "held_out", "share")


def quality(
    released: pd.DataFrame | Place,
    original: pd.DataFrame,
    *,
    control: pd.DataFrame | None = None,
    target: str | None = None,
    seed: int = 0,
    study_ledger: Place | None = None,
) -> pd.DataFrame:
    """Return how good released rows are, one row for each score, 1 at best.

    Args:
        released: a DataFrame, or the path of a released table, whose certificate says what its columns are.
        original: the rows that it was made of.
        control: rows of the same population that were not released; without it a half of the original is used.
        target: a column: also what a model of it learns from the released rows.
        seed: of the choice of that half.
        study_ledger: the ledger's file that notes, at no cost, that private figures of these rows were shown; ``None``
            for the user's own.

    Returns:
        The columns ``score``, ``title``, ``value``, ``held_out`` (what held-out real rows reach) and ``share`` (what as
        many of these rows reach, as a share of that). ``attrs`` hold ``overall`` (as sdmetrics has it), ``columns``,
        ``pairs``, ``scores`` (with pMSE, its ratio and other figures), ``left_out`` and ``private``.

    Raises:
        InputError: the tables cannot be compared, or the ledger cannot note it.
    """
    if isinstance(released, pd.DataFrame):
        rows = ReleasedRows(table_of(released, "released"))
    else:
        rows = rows_of_release(path_of(released), ReadOptions())
    tables = [table_of(frame) for frame in (original, control) if frame is not None]
    for table, frame in zip(tables, (original, control), strict=False):
        note("quality", table, frame, study_ledger=study_ledger)
    if not is_release(rows.table):
        note("quality", rows.table, released, original, study_ledger=study_ledger)
    request = QualityRequest(target=target, seed=seed)
    found = scored(tables[0], rows.table, tables[1] if len(tables) > 1 else None, plan=rows.plan, request=request)
    warn_of_study("a comparison with the original", hint="its figures come from private rows")
    plain = found.to_plain()
    lines = [(score.name, score.title, one.value, one.reached, one.share) for score, one in found.found]
    made = frame_of({name: [line[i] for line in lines] for i, name in enumerate(COLUMNS)}, private=PRIVATE)
    made.attrs |= {name: plain[name] for name in ("overall", "columns", "pairs", "scores", "left_out")}
    return made


def report(
    original: pd.DataFrame,
    output: Place,
    *,
    released: Place | None = None,
    control: pd.DataFrame | None = None,
    plan: Plan | None = None,
    study_ledger: Place | None = None,
    **asked: Any,
) -> dict[str, Any]:
    """Write the report on a table, or on what was released of it, and return its figures. Private.

    Args:
        original: the rows.
        output: the report, .pdf or .html.
        released: a released file or a model's folder: attacks are then made on it.
        control: rows of other people, who were not released.
        plan: says how rows are read, codes that it declares are missing, and the roles of columns; without it that of
            the release does.
        study_ledger: as for :func:`quality`.
        asked: ``quasi`` (column names), ``sensitive``, ``sample_fraction``, ``attacks``, ``seed``, as on the command
            line.

    Raises:
        InputError: a file cannot be read or written, or the ledger cannot note it.
        ParameterError: no quasi-identifiers are given, or a column does not exist.
    """
    place = path_of(output)
    check_document_path(place)
    mark = mark_of(original)
    ledger = None if study_ledger is None else path_of(study_ledger)
    if ledger is None and mark is not None and mark.ledger not in (None, True):
        ledger = Path(str(mark.ledger))
    if "quasi" in asked:
        asked["quasi"] = tuple(asked["quasi"])
    found = risk_report(
        table_of(original),
        None if released is None else path_of(released),
        None if control is None else table_of(control),
        columns=None if plan is None else plan.columns,
        request=ReportRequest(**asked),
        ledger=ledger,
        account=None if mark is None or mark.ledger is None or study_ledger is not None else mark.account,
    )
    write_document(risk_document(found), place)
    warn_of_study("a report on what an outsider could learn", hint="its figures come from private rows")
    return {"private": PRIVATE, "sentences": list(summary_sentences(found)), **found.to_plain()}
