"""RAPPOR on DataFrames: encode a column, sum the reports, map candidates, decode. Files of the commands work too."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.api.datasets import warn_of_study
from workbench.api.frames import Place, cell_text, frame_of, path_of
from workbench.api.release_input import ReleaseInput
from workbench.params import ParameterError
from workbench.params.codec import csv_bytes
from workbench.privacy.rappor.bits import BasicBits, Bits, BloomBits
from workbench.privacy.rappor.parameters import RapporParameters, cost
from workbench.rappor.candidates import map_bytes, read_map
from workbench.rappor.collection import Collection
from workbench.rappor.decode import Judged, summary
from workbench.rappor.decode import decode as decoded
from workbench.rappor.files import count_bytes, read_counts, read_parameters
from workbench.rappor.reports import read_sum
from workbench.release.part_files import refuse_replacing_inputs
from workbench.release.rappor.rappor_work import FORMATS, rappor_work
from workbench.sanitize.plan import Column, Plan
from workbench.signals import CancelToken, ignore

__all__ = ["decode", "encode", "map", "sum"]

ParametersOrFile = RapporParameters | Mapping[str, Any] | Place
"""Parameters of RAPPOR: k, h, m, p, q and f as a mapping, or the file of the commands."""


def encode(
    frame: pd.DataFrame,
    params: ParametersOrFile,
    *,
    column: str,
    client: str | None = None,
    cohort: str | None = None,
    reports: int = 1,
    basic: Sequence[Any] = (),
    answers: Place | None = None,
    rows_per_person: int = 1,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    study_ledger: Place | None = None,
) -> pd.DataFrame:
    """Return the reports of a column.

    Args:
        frame: the rows.
        params: the parameters of the collection.
        column: the column that is reported.
        client: the column that names each row's client; else each row is one.
        cohort: the column with each client's cohort, which is published; else cohorts are drawn.
        reports: most reports of a client; without ``client`` each row's number.
        basic: the public values, each with a bit of its own; without them a Bloom filter.
        answers: the private file that stores clients' permanent responses.
        rows_per_person: maximum rows per person; multiplies the charge.
        account: as for :func:`workbench.api.release`.
        ledger: as for :func:`workbench.api.release`.
        output: the file of reports (.csv), with its certificate beside it; only with a ledger.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        study_ledger: as for :func:`workbench.api.release`.

    Returns:
        One row a report: its ``cohort`` and its bits as text in ``rappor``, and ``client`` where clients are named.
        ``attrs`` hold ``epsilon_permanent``, ``epsilon_one``, and of a release what those of a release hold.

    Raises:
        InputError: a cell cannot be used, or a client reports more often than was said.
        ParameterError: a parameter is refused, or who pays is not said.
        BudgetRefusedError: the cap does not allow it; nothing was released.
    """
    parameters = _parameters(params)
    asked = Collection(column=str(column), client=client, cohort=cohort, reports=reports)
    names = [str(name) for name in frame.columns] if isinstance(frame, pd.DataFrame) else ()
    plan = Plan(
        epsilon=1.0, columns=tuple(Column(name=name, action="drop") for name in names), rows_per_person=rows_per_person
    )
    pays: dict[str, Any] = {"account": account, "ledger": ledger, "output": output, "replace": replace}
    handed = ReleaseInput.of(frame, plan, **pays, study_ledger=study_ledger)
    handed.table.require(asked.columns)
    kept = None if answers is None else path_of(answers)
    collected = path_of(params) if isinstance(params, str | os.PathLike) else None
    if kept is not None:
        refuse_replacing_inputs(kept, collected)
    to = handed.to(FORMATS, kept, collected)
    work = rappor_work(parameters, asked, handed.table.rows, basic=_texts(basic), answers=kept)
    data, stated = handed.run_work(work, to, "rappor")
    if handed.pays is None:
        warn_of_study("these reports", many=True, hint="with a ledger and output= they are charged")
    made = pd.read_csv(io.BytesIO(data), dtype={"rappor": "str", "client": "str"}, keep_default_na=False)
    bound = cost(parameters, asked.reports)
    made.attrs.update(stated, epsilon_permanent=bound.permanent, epsilon_one=bound.one)
    return made


def sum(reports: pd.DataFrame | Place, params: ParametersOrFile) -> pd.DataFrame:
    """Return for each cohort (the index) its number of ``reports`` and how many of them have each bit, 1 to k.

    Raises:
        InputError: a report is not one of these parameters.
    """
    parameters = _parameters(params)
    with _file(reports, lambda frame: frame.to_csv(index=False).encode()) as path:
        counts = read_sum(path, parameters)
    rows = pd.read_csv(io.BytesIO(count_bytes(counts)), header=None)
    rows.columns = pd.Index(["reports", *range(1, parameters.k + 1)])
    rows.index.name = "cohort"
    return rows


def map(candidates: Sequence[Any] | pd.Series[Any], params: ParametersOrFile, *, basic: bool = False) -> pd.DataFrame:
    """Return which bits each candidate sets: ``string``, then one-based numbers cohort·k + bit, as the command writes.

    Args:
        candidates: the candidate strings, each once.
        params: the parameters of the collection.
        basic: whether each candidate has a bit of its own.
    """
    parameters, strings = _parameters(params), _texts(candidates)
    bits: Bits = BasicBits(parameters, strings) if basic else BloomBits(parameters)
    made = pd.read_csv(io.BytesIO(map_bytes(strings, bits)), header=None, dtype={0: "str"}, keep_default_na=False)
    made.columns = pd.Index(["string", *range(1, made.shape[1])])
    return made


def decode(
    counts: pd.DataFrame | Place,
    candidates: pd.DataFrame | Place,
    params: ParametersOrFile,
    *,
    alpha: float = 0.05,
    correction: str = "bonferroni",
) -> pd.DataFrame:
    """Return which candidates occur, and how often.

    Args:
        counts: what :func:`sum` returns, or the file of the command.
        candidates: what :func:`map` returns, or the file of the command.
        params: the parameters of the collection.
        alpha: chance of a false discovery, or with ``fdr`` their expected share.
        correction: ``bonferroni`` or ``fdr``.

    Returns:
        One row for each string that is found, the most frequent first: ``string``, ``estimate`` (its share), ``low``
        and ``high`` (95 %), ``std_error``, ``p_value``. ``attrs`` hold ``reports``, ``candidates``, ``detected`` and
        ``unexplained``.

    Raises:
        InputError: counts or candidates are not of these parameters.
        ParameterError: alpha or correction is refused.
    """
    parameters, judged = _parameters(params), Judged(correction=correction, alpha=alpha)
    with _file(counts, lambda frame: csv_bytes(frame.to_numpy().tolist())) as path:
        read = read_counts(path, parameters)
    with _file(candidates, lambda frame: csv_bytes(frame.to_numpy().tolist())) as path:
        known = read_map(path, parameters)
    found = summary(decoded(read, known, judged.alpha, ignore, CancelToken()), judged.correction)
    keys = ("string", "estimate", "low", "high", "std_error", "p_value")
    stated = {key: found[key] for key in ("reports", "candidates", "detected", "unexplained")}
    return frame_of({key: [row[key] for row in found["strings"]] for key in keys}, **stated)


def _parameters(stated: ParametersOrFile) -> RapporParameters:
    if isinstance(stated, RapporParameters):
        return stated
    return (
        RapporParameters.from_plain(stated, "params")
        if isinstance(stated, Mapping)
        else read_parameters(path_of(stated))
    )


def _texts(values: Sequence[Any] | pd.Series[Any]) -> tuple[str, ...]:
    found = tuple(cell_text(value) for value in values)
    texts = tuple(text for text in found if text is not None)
    if len(texts) < len(found) or len(set(texts)) < len(texts):
        raise ParameterError("a candidate is missing or listed twice", "candidates", "list each candidate once")
    return texts


@contextmanager
def _file(given: pd.DataFrame | Place, written: Any) -> Iterator[Path]:
    """Yield the path of a file, or of a private temporary one with what a DataFrame holds."""
    if not isinstance(given, pd.DataFrame):
        yield path_of(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(written(given))
        yield path
