"""A table made k-anonymous and the like, which is not differential privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.api.datasets import PRIVATE, in_python, note, opened, payment_for, warn_of_study
from workbench.api.frames import Place, frame_of, path_of, table_of
from workbench.data.table import Table
from workbench.params import ParameterError, did_you_mean
from workbench.release.generalised.generalised_file import Publication, publish, require_mapping, write_mapping
from workbench.release.ledger.study_note import note_study
from workbench.release.release_path import destination
from workbench.risk.generalise.failures import failures
from workbench.risk.generalise.generalised import Generalised, Method, accuracy, generalise
from workbench.risk.generalise.models import MODELS, PrivacyModel, models_of
from workbench.risk.generalise.problem import Asked
from workbench.risk.hierarchies import Hierarchy, read_hierarchy
from workbench.risk.hierarchies.builders import made, read_hierarchies, way_of


def generalize(
    frame: pd.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    hierarchies: Place | Mapping[str, Any] | None = None,
    keep: Sequence[str] = (),
    target: str | None = None,
    suppression: float = 0.0,
    method: str = "optimal",
    loss: str = "granularity",
    population: pd.DataFrame | None = None,
    ledger: Place | bool | None = None,
    account: str | None = None,
    output: Place | None = None,
    replace: bool = False,
    mapping: Place | None = None,
    study_ledger: Place | None = None,
    **models: Any,
) -> pd.DataFrame:
    """Return ``frame`` generalised, the rows in random order. No ε bounds what it reveals, and none is charged.

    Args:
        frame: the rows.
        quasi: the columns that an outsider may know. Columns that are named nowhere are left out.
        sensitive: columns that ℓ, t and β are about.
        hierarchies: a folder with NAME.csv for each column; or by column a DataFrame without meaning in its header
            (values first, a column per level), a file, or words such as ``"intervals:widths=5,10,20"``. A column that
            has none gets one by what its values look like.
        keep: columns that are published as they are.
        target: column for a classifier to predict.
        suppression: the largest share of rows that may be left out.
        method: ``optimal``, ``greedy``, ``local`` or ``cells``.
        loss: what is minimised, such as ``granularity`` or ``discernibility``.
        population: the people that the rows are a part of, for ``k_map`` and ``presence_upto``.
        ledger: the ledger's file, or ``True`` for the user's own: it notes durably that the table is published.
            Without it and without an ``output`` the result is a private study.
        account: public name of the account that the rows belong to; left out of a dataset, which carries it.
        output: the file (.csv, .xlsx, .parquet, …), with its certificate beside it.
        replace: whether an ``output`` that exists is replaced.
        mapping: a folder, for what each value became: a file per column. Private.
        study_ledger: the ledger that notes a study; by default that of the dataset, else the user's own.
        models: what every class must satisfy: ``k=5``, ``l=2``, ``t=0.2``, ``entropy_l``, ``recursive_c``, ``beta``,
            ``k_map``, ``presence_upto``, ``average_risk`` and their further parameters.

    Returns:
        The generalised table as text. Its ``attrs`` hold ``levels``, ``suppressed``, ``loss``, ``losses``, ``k`` and
        ``failures`` (what is certain all the same, what noisy rows with ε = 1 would allow and what an attacker gets
        from them, in sentences), with a ``target`` ``accuracy`` (shares of rows that a classifier predicts rightly),
        and ``mapping``, ``output``, ``certificate`` or ``private``.

    Raises:
        InputError: no generalisation is allowed, or a value has no line in its hierarchy.
        ParameterError: the arguments contradict each other, or a model is not known.
    """
    chosen = _models(models)
    pays = payment_for(frame, account=account, ledger=ledger, output=output)
    table = table_of(frame)
    how = Method(method=method, loss=loss, suppression=suppression)
    asked = Asked(tuple(map(str, quasi)), tuple(map(str, sensitive)), target)
    levels = hierarchies_of(table, asked, hierarchies)
    people = None if population is None else table_of(population, "population")
    with in_python():
        to = None if pays is None else destination(pays.output, pays.ledger, replace=replace)
    folder = None if mapping is None else path_of(mapping)
    if folder is not None:
        given = hierarchies.values() if isinstance(hierarchies, Mapping) else [hierarchies]
        files = [path_of(one) for one in given if isinstance(one, str | Path)]
        require_mapping(folder, asked.quasi, *files, *(() if pays is None else (pays.output, pays.ledger)))
    if pays is None:
        note("generalise", table, frame, study_ledger=study_ledger)
    else:
        note_study(table, "generalise", pays.ledger, account=pays.account)
    if people is not None:
        note("generalise", people, population, study_ledger=study_ledger if pays is None else pays.ledger)
    found = generalise(table, asked, levels, chosen, how, people)
    if pays is None or to is None:
        warn_of_study("this generalised table", hint="with a ledger and output= it can be published")
        return _frame(found, keep, **_mapped(folder, found), private=PRIVATE)
    publication = Publication(path=to.path, format=to.format, replace=replace, keep=tuple(keep), account=pays.account)
    with opened(pays) as book:
        done = publish(found, publication, book)
    stated = {**_mapped(folder, found), "output": str(done.output), "certificate": str(done.certificate)}
    return _frame(found, keep, **stated, release_id=done.document["release_id"], statement=done.document["statement"])


def _mapped(folder: Path | None, found: Generalised) -> dict[str, str]:
    return {} if folder is None else {"mapping": write_mapping(folder, found)}


def _frame(found: Generalised, keep: Sequence[str], **stated: Any) -> pd.DataFrame:
    rows = found.frame(keep).sample(fraction=1, shuffle=True)  # the file has an order of its own
    facts = {
        "levels": found.levels,
        "suppressed": found.outcome.suppressed,
        "loss": found.losses[found.method.loss],
        "losses": found.losses,
        "k": found.k,
        **({} if (score := accuracy(found)) is None else {"accuracy": vars(score)}),
        "failures": [" ".join(one.sentences) for one in failures(found)],
    }
    return frame_of({name: rows[name].to_list() for name in rows.columns}, **facts, **stated)


def _models(given: Mapping[str, Any]) -> tuple[PrivacyModel, ...]:
    known = [name for model in MODELS for name in model.declared()]
    unknown = [name for name in given if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise ParameterError(
            f"{unknown[0]!r} is not a parameter of a privacy model{near}", hint=f"the parameters are {', '.join(known)}"
        )
    return models_of(given)


def hierarchies_of(table: Table, asked: Asked, given: Place | Mapping[str, Any] | None) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns, given as :func:`generalize` takes them; those that it lacks are made."""
    if given is not None and not isinstance(given, Mapping):
        return read_hierarchies(path_of(given), asked.quasi, asked.sensitive)
    stated = dict(given or {})
    found = {name: _hierarchy(table, name, stated[name]) for name in stated}
    return found | {name: made(table, name) for name in asked.quasi if name not in found}


def _hierarchy(table: Table, name: str, given: Any) -> Hierarchy:
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, pd.DataFrame):
        columns = table_of(given, f"the hierarchy of {name}").frame
        return Hierarchy(tuple(tuple(columns[level].fill_null("").to_list()) for level in columns.columns))
    if isinstance(given, str) and not given.endswith(".csv"):
        return made(table, name, way_of(f"{name}={given}")[1])
    return read_hierarchy(path_of(given))
