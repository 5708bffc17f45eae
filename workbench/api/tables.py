"""A table released, verified, and estimated from."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.api.frames import frame_of, table_of
from workbench.api.study_warning import PRIVATE, warn_of_study
from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy, KeyedEntropy, SeededEntropy
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.study_note import note_study
from workbench.release.table.before_release import check_values, destination, prepared_release
from workbench.release.table.open_release import read_release
from workbench.release.table.release_table import release_prepared
from workbench.release.table.verified import verified_release
from workbench.release.verify_any import verify_any
from workbench.sanitize.engine import draw
from workbench.sanitize.estimates.column import estimate_column
from workbench.sanitize.estimates.interval import Interval
from workbench.sanitize.estimates.pair import estimate_pair
from workbench.sanitize.estimates.quantiles import checked_shares, estimate_quantiles
from workbench.sanitize.forecast import outside_guarantee
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore

Place = str | os.PathLike[str]


def release(
    frame: pd.DataFrame,
    plan: Plan,
    *,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    seed: int | None = None,
    study_ledger: Place | None = None,
) -> pd.DataFrame:
    """Return ``frame`` sanitised as ``plan`` says, the rows in random order.

    Args:
        frame: the rows. The plan names all of its columns.
        plan: what is done with each column.
        ledger: the ledger's file, or ``True`` for the user's own. The release is charged there before a row is read.
            Without it the result is a private study.
        output: the released file (.csv, .tsv or .parquet), with its certificate beside it; only with ``ledger``.
        seed: makes a study repeatable; not with ``ledger``.
        study_ledger: the ledger's file that notes, at no cost, that there was a study; ``None`` for the user's own.

    Returns:
        The released table. Of a release its ``attrs`` hold ``output``, ``certificate``, ``release_id``, ``epsilon``
        (charged), ``remaining`` and ``outside`` (what epsilon does not cover); of a study ``private``.

    Raises:
        InputError: frame and plan do not fit, or a cell cannot be used; the message names row and column.
        BudgetRefusedError: the cap does not allow it; nothing was released.
        ParameterError: the arguments contradict each other.
    """
    table = table_of(frame)
    if not asked_for(ledger):
        if output is not None:
            raise ParameterError("what is written is released, and a release is charged", "output", "give a ledger=")
        note_study(table, "preview", study_path(study_ledger))
        drawn = draw(plan, table, study_entropy(seed))
        warn_of_study("this table", "with ledger= and output= it is charged and may leave")
        cells = drawn.frame()
        return frame_of(typed(plan, {n: cells[n].to_list() for n in cells.columns}), private=PRIVATE)
    if seed is not None:
        raise ParameterError("a release draws fresh randomness", "seed", "leave it out")
    if output is None:
        raise ParameterError("a release is a file with its certificate", "output", "give output= a name")
    prepared = prepared_release(plan, table, destination(Path(output)))
    check_values(prepared, CancelToken())
    with Ledger.open(place_of(ledger)) as opened:
        done = release_prepared(prepared, opened)
    cells = read_release(done.output).table.frame
    return frame_of(
        typed(plan, {n: cells[n].to_list() for n in cells.columns}),
        output=str(done.output),
        certificate=str(done.certificate),
        release_id=done.release_id,
        epsilon=float(done.epsilon_charged),
        remaining=float(done.epsilon_remaining),
        outside=list(outside_guarantee(plan)),
    )


def verify(path: Place) -> list[str]:
    """Return a sentence for every fault of a release; none where it is what its certificate or card says."""
    return verify_any(Path(path))


def bundle(path: Place, folder: Place, *, ledger: Place | bool = True, signed: bool = False) -> Path:
    """Make a release that stands into a bundle: a new folder with everything that checks it; return the folder.

    Args:
        path: the released file, or the folder of a model.
        folder: the new folder.
        ledger: the ledger that the release was charged to; ``True`` is the default one.
        signed: whether to sign it with this user's key.

    Raises:
        InputError: the folder exists or cannot be written, the ledger does not know the release, or there is no key.
        CheckFailedError: the release is not what its certificate and the ledger say.
    """
    from workbench.release.bundle.write_bundle import write_bundle
    from workbench.release.documents.verified_release import verified

    told = verified(Path(path), CancelToken())
    with Ledger.read(place_of(ledger)) as opened:
        write_bundle(told, Path(folder), opened, signed=signed)
    return Path(folder)


def estimate(
    path: Place,
    *,
    confidence: float = 0.95,
    quantiles: Sequence[float] = (),
    pairs: Sequence[tuple[str, str]] = (),
) -> pd.DataFrame:
    """Return what a released table tells of the original: means and quantiles of numbers, shares, correlations.

    Args:
        path: the released file, its certificate beside it.
        confidence: of each interval.
        quantiles: of each column of numbers, between 0 and 1.
        pairs: columns whose correlation is wanted, or of names the two-way table.

    Returns:
        One row for each estimate: ``column`` (of a pair both, with × between them), ``of`` (``mean``, ``missing``, a
        value, ``quantile 0.5``, ``correlation``), ``estimate`` (unadjusted), ``low``, ``high``, ``consistent`` (the
        likeliest value that a real table could have) and ``biased``.

    Raises:
        InputError: the release is not what its certificate says.
        ParameterError: a quantile is not between 0 and 1, or nothing is estimated for such a pair.
    """
    shares = checked_shares(tuple(quantiles))
    released = verified_release(Path(path), None, ignore, CancelToken())
    rows: list[dict[str, Any]] = []
    for name in released.protected:
        column = released.column(name)
        counts = np.bincount(released.cells(name), minlength=column.randomiser.outputs)
        found = estimate_column(column, counts, confidence)
        told: dict[str, Interval] = dict(found.frequencies or {})
        for what, interval in (("mean", found.mean), ("missing", found.missing)):
            if interval is not None:
                told[what] = interval
        rows += [{"column": name, "of": of, **i.to_plain(), "biased": found.biased} for of, i in told.items()]
        if shares and column.grid.cells.numeric:
            cells, randomiser = column.grid.cells, column.randomiser
            for q in estimate_quantiles(name, cells, randomiser, counts, shares, confidence):
                rows.append(_row(name, f"quantile {q.share:g}", q.estimate, q.low, q.high))
    for first, second in pairs:
        answers = released.cells(first), released.cells(second)
        pair = estimate_pair(released.column(first), released.column(second), answers, confidence)
        both = f"{first} × {second}"
        if pair.correlation is not None:
            c = pair.correlation
            rows.append(_row(both, "correlation", c.estimate, c.low, c.high))
        if pair.two_way is not None:
            table = pair.two_way
            rows += [
                {"column": both, "of": f"{a} × {b}", **i.to_plain(), "biased": table.biased}
                for (a, b), i in table.shares.items()
            ]
    return pd.DataFrame(rows, columns=["column", "of", "estimate", "low", "high", "consistent", "biased"])


def _row(column: str, of: str, estimate: float, low: float, high: float) -> dict[str, Any]:
    """Return an estimate that no unbiased one exists of."""
    figures = {"estimate": estimate, "low": low, "high": high, "consistent": estimate}
    return {"column": column, "of": of, **figures, "biased": True}


def asked_for(ledger: Place | bool | None) -> bool:
    """Return whether a ledger was given."""
    return ledger is not None and ledger is not False


def place_of(ledger: Place | bool | None) -> Path | None:
    """Return the ledger's file; ``None`` for the user's own."""
    return None if ledger is True or not asked_for(ledger) else Path(ledger)  # type: ignore[arg-type]


def study_path(study_ledger: Place | None) -> Path | None:
    """Return the file of the ledger that notes a study; ``None`` for the user's own."""
    return None if study_ledger is None else Path(study_ledger)


def study_entropy(seed: int | None) -> Entropy:
    """Return randomness that nothing can be released from."""
    return KeyedEntropy(secrets.token_bytes(32), b"study") if seed is None else SeededEntropy(seed)


def typed(plan: Plan, cells: dict[str, list[str | None]]) -> dict[str, Any]:
    """Give protected numbers and dates their types, as declared; text stays text."""
    kinds = {c.name: c.kind for c in plan.columns if c.action == "protect"}
    made: dict[str, Any] = {}
    for name, values in cells.items():
        kind = kinds.get(name)
        if kind == "integer" and None not in values:
            made[name] = [int(v) for v in values if v is not None]
        elif kind in ("integer", "real"):
            made[name] = [_number(v) for v in values]
        elif kind == "date":
            made[name] = pd.to_datetime(pd.Series(values, dtype="object"))
        else:
            made[name] = values
    return made


def _number(text: str | None) -> float:
    """Return the number that a released cell holds; NaN where it is missing."""
    return float("nan") if text is None else float(text)
