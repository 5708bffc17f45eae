"""Release a table, verify a release, and estimate statistics from it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl

from workbench.api.datasets import PRIVATE, in_python, warn_of_study, workers_from
from workbench.api.frames import Place, path_of, place_of, restored
from workbench.api.release_input import ReleaseInput, facts_of
from workbench.data.cluster_parts import LOCAL
from workbench.params import ParameterError
from workbench.privacy.entropy import KeyedEntropy, SeededEntropy
from workbench.release.bundle import write_bundle
from workbench.release.estimates import estimates_of
from workbench.release.ledger.ledger import Ledger
from workbench.release.open_release import as_declared, certified_rows
from workbench.release.release_path import prepare_rows
from workbench.release.table_formats import FORMATS
from workbench.release.table_output import certified_copy
from workbench.release.verification import verified, verify_any
from workbench.release.verify import verified_release
from workbench.sanitize.engine import draw
from workbench.sanitize.estimates.interval import Interval
from workbench.sanitize.estimates.quantiles import checked_shares
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken


def release(
    frame: pd.DataFrame,
    plan: Plan,
    *,
    join: pd.DataFrame | None = None,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    seed: int | None = None,
    study_ledger: Place | None = None,
    engine: str = LOCAL,
    scheduler: str | None = None,
    scheduler_file: Place | None = None,
) -> pd.DataFrame:
    """Return ``frame`` sanitised as ``plan`` says, the rows in random order.

    Args:
        frame: the rows. The plan names all of its columns.
        plan: what is done with each column.
        join: a second table, where the plan joins one: each row gets what it has of the same person, one of whose rows
            there is kept, chosen at random. Both tables share one account from then on.
        account: public name of the account that pays; left out of a dataset, which carries it.
        ledger: the ledger's file, or ``True`` for the user's own. The release is charged there before a row is read.
            Without it, and without an ``output`` of a dataset that carries a ledger, the result is a private study.
        output: the released file (.csv, .xlsx, .parquet, …), with its certificate beside it; only with a ledger.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        seed: makes a study repeatable; a release takes none.
        study_ledger: the ledger's file that notes, at no cost, that there was a study; by default that of the
            dataset, else the user's own.
        engine: ``dask``: the rows are checked and drawn by the workers of ``scheduler``; only for a release.
        scheduler: address of the Dask scheduler (``tcp://HOST:PORT`` or ``tls://HOST:PORT``), which receives the rows.
        scheduler_file: in its place, the file that ``dask scheduler --scheduler-file FILE`` has written.

    Returns:
        The released table: labels, order and dtypes of the columns as in ``frame``. Of a release its ``attrs`` hold
        ``output``, ``certificate``, ``release_id``, ``epsilon`` and ``delta`` (charged), ``remaining`` and ``outside``
        (what epsilon does not cover); of a study ``private``.

    Raises:
        InputError: frame and plan do not fit, or a cell cannot be used; the message names row and column.
        BudgetRefusedError: the cap does not allow it; nothing was released.
        ParameterError: the arguments contradict each other, or who pays is not said.
    """
    pays: dict[str, Any] = {"account": account, "ledger": ledger, "output": output, "replace": replace}
    on: Any = {"engine": engine, "scheduler": scheduler, "scheduler_file": scheduler_file}
    handed = ReleaseInput.of(frame, plan, join=join, **pays, seed=seed, study_ledger=study_ledger, **on)
    declared = {column.name: column for column in handed.plan.columns}
    to = handed.to(FORMATS)
    if to is None:
        if handed.workers is not None:
            what = "workers can draw only released rows"
            raise ParameterError(what, "engine", "pass ledger= and output=, or leave engine out")
        handed.note("preview")
        entropy = KeyedEntropy(secrets.token_bytes(32), b"study") if seed is None else SeededEntropy(seed)
        drawn = draw(handed.plan, handed.table, entropy)
        warn_of_study("this table")
        return restored(handed.frame, _texts(drawn.frame()), declared, private=PRIVATE)
    done = handed.released(prepare_rows(handed.plan, handed.table, to, handed.workers))
    with certified_copy(done.output, done.certificate) as file:
        released = as_declared(handed.plan, certified_rows(file, done.document, done.certificate)[1].frame)
    return restored(handed.frame, _texts(released), declared, **facts_of(done))


def verify(path: Place, certificate: Place | None = None) -> list[str]:
    """Return a sentence for each problem with a release; none where it matches its certificate or card.

    ``path`` may be the address of a table in a database, whose ``certificate`` is in the current folder or is named.
    """
    with certified_copy(path_of(path), None if certificate is None else path_of(certificate)) as file:
        return verify_any(file)


def bundle(
    path: Place, folder: Place, *, ledger: Place | bool = True, signed: bool = False, replace: bool = False
) -> Path:
    """Make a complete release into a bundle: a new folder with everything that checks it; return the folder.

    Args:
        path: the released file, or the folder of a model.
        folder: the new folder.
        ledger: the ledger that the release was charged to; ``True`` is the default one.
        signed: whether to sign it with this user's key.
        replace: whether a bundle that exists is replaced; it is refused otherwise.

    Raises:
        InputError: the folder exists or cannot be written, the ledger does not know the release, or there is no key.
        CheckFailedError: the release is not what its certificate and the ledger say.
    """
    stated = verified(path_of(path), CancelToken())
    with in_python(), Ledger.read(place_of(ledger)) as book:
        write_bundle(stated, path_of(folder), book, signed=signed, replace=replace)
    return path_of(folder)


def estimate(
    path: Place,
    *,
    certificate: Place | None = None,
    confidence: float = 0.95,
    quantiles: Sequence[float] = (),
    pairs: Sequence[tuple[str, str]] = (),
    engine: str = LOCAL,
    scheduler: str | None = None,
    scheduler_file: Place | None = None,
) -> pd.DataFrame:
    """Return what a released table says of the original: means and quantiles of numbers, shares, correlations.

    Args:
        path: the released file, its certificate beside it; or the address of a table in a database.
        certificate: where the certificate is, if elsewhere.
        confidence: of each interval.
        quantiles: of each column of numbers, between 0 and 1.
        pairs: columns whose correlation is wanted, or of names the two-way table.
        engine: ``dask``: the released rows are counted by the workers of ``scheduler``.
        scheduler: as for :func:`release`.
        scheduler_file: as for :func:`release`.

    Returns:
        One row for each estimate: ``column`` (of a pair both, with × between them), ``of`` (``mean``, ``missing``, a
        value, ``quantile 0.5``, ``correlation``), ``estimate`` (unadjusted), ``low``, ``high``, ``consistent`` (the
        likeliest value that a real table could have) and ``biased``.

    Raises:
        InputError: the release is not what its certificate says.
        ParameterError: a quantile is not between 0 and 1, or nothing is estimated for such a pair.
    """
    shares, workers = checked_shares(tuple(quantiles)), workers_from(engine, scheduler, scheduler_file)
    released = verified_release(path_of(path), None if certificate is None else path_of(certificate))
    rows: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"confidence": confidence, "quantiles": shares, "workers": workers}
    columns, together = estimates_of(released, None, pairs, **asked)
    for of in columns:
        name, found = of.found.name, of.found
        stated: dict[str, Interval] = dict(found.frequencies or {})
        stated |= {what: i for what, i in (("mean", found.mean), ("missing", found.missing)) if i is not None}
        rows += [{"column": name, "of": what, **i.to_plain(), "biased": found.biased} for what, i in stated.items()]
        rows += [_row(name, f"quantile {q.share:g}", q.estimate, q.low, q.high) for q in of.quantiles]
    for (first, second), pair in zip(pairs, together, strict=True):
        both = f"{first} × {second}"
        if pair.correlation is not None:
            c = pair.correlation
            rows.append(_row(both, "correlation", c.estimate, c.low, c.high))
        if pair.two_way is not None:
            rows += [
                {"column": both, "of": f"{a} × {b}", **i.to_plain(), "biased": pair.two_way.biased}
                for (a, b), i in pair.two_way.shares.items()
            ]
    return pd.DataFrame(rows, columns=["column", "of", "estimate", "low", "high", "consistent", "biased"])


def _row(column: str, of: str, estimate: float, low: float, high: float) -> dict[str, Any]:
    """Return an estimate where there is no unbiased one."""
    figures = {"estimate": estimate, "low": low, "high": high, "consistent": estimate}
    return {"column": column, "of": of, **figures, "biased": True}


def _texts(frame: pl.DataFrame) -> dict[str, list[str | None]]:
    return {name: frame[name].to_list() for name in frame.columns}
