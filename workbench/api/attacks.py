"""Attacks on releases and models from Python: private studies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.api.datasets import note, warn_of_study
from workbench.api.frames import table_of
from workbench.api.places import Place, path_of
from workbench.data.table import Table
from workbench.release import attacked
from workbench.risk import attacks
from workbench.risk.attacks import MODEL, RELEASE


def attack(
    name: str, release: pd.DataFrame | Place | None = None, *, study_ledger: Place | None = None, **given: Any
) -> Mapping[str, Any]:
    """Return what an attacker gets, by the keys of ``workbench attack --json``.

    Args:
        name: the attack, such as ``singling-out``, ``linkability``, ``inference``, ``reconstruction``, ``link``.
        release: the released file; ε is read from the certificate beside it. A DataFrame promises nothing.
        study_ledger: the ledger that notes, at no cost, that private figures of the tables were shown; ``None`` for
            that of the dataset, else the user's own.
        given: what else the attack reads (``original``, ``control``, … as DataFrames or files; ``model`` as a folder),
            and its options by name (``secret="income"``, ``known=["age", "town"]``, ``attacks=500``).

    Returns:
        ``risk`` with ``low`` and ``high``; the shares ``main``, ``naive``, ``control``; the most that ``main`` can be
        on average under the ε of the release, ``allowed`` (``None`` and ``why_not`` where no bound follows); and
        ``sentences``.

    Raises:
        ParameterError: the attack or an option is not known, or something is missing.
        InputError: tables do not fit together, or the ledger cannot note it.
    """
    chosen = attacks.attack(name)
    named = {needed.name for needed in chosen.given}
    read = {key: value for key, value in ({RELEASE: release} | given).items() if key in named and value is not None}
    options = {key: value for key, value in given.items() if key not in named}
    request = chosen.asked().from_plain(options, f"the options of {name}")

    def noted(part: str, table: Table) -> None:
        note(attacked.STUDY, table, read[part], study_ledger=study_ledger)

    private = any(part not in (RELEASE, MODEL) for part in read)
    outcome = attacked.attack(chosen, request, {key: _source(value) for key, value in read.items()}, note=noted)
    if private:
        warn_of_study("an attack", hint="its figures come from private rows")
    return {**outcome.plain(), "sentences": list(outcome.words())}


def _source(value: pd.DataFrame | Place) -> Table | Path:
    return table_of(value) if isinstance(value, pd.DataFrame) else path_of(value)
