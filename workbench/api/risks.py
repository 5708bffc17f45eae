"""Attacks on releases and models, and re-identification risk of a DataFrame: private studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from workbench.api.datasets import note, warn_of_study
from workbench.api.frames import Place, Shown, path_of, table_of
from workbench.api.generalized import hierarchies_of
from workbench.data.columns.missing import codes_of
from workbench.data.table import Table
from workbench.release import attack_inputs
from workbench.release.described_release import with_codes_unless_released
from workbench.risk import attacks
from workbench.risk.attacks import MODEL, RELEASE
from workbench.risk.generalise.problem import Asked
from workbench.risk.measures import RiskOptions, Subject, measured, measures_of
from workbench.risk.measures.unique_measures import scores
from workbench.sanitize.plan import Plan


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
        note(attack_inputs.STUDY, table, read[part], study_ledger=study_ledger)

    private = any(part not in (RELEASE, MODEL) for part in read)
    sources = {key: table_of(one) if isinstance(one, pd.DataFrame) else path_of(one) for key, one in read.items()}
    outcome = attack_inputs.run_attack(chosen, request, sources, note=noted)
    if private:
        warn_of_study("an attack", hint="its figures come from private rows")
    return {**outcome.plain(), "sentences": list(outcome.words())}


class Figures(Shown, dict[str, Any]):
    """The figures of a table, with the keys that ``workbench risk --json`` prints; in a notebook a table of them.

    Attributes:
        rows: of each row, with the index of the DataFrame: ``class_size``, ``risk`` (the prosecutor's) and, from
            :func:`risk`, ``score`` (SUDA).
    """

    rows: pd.DataFrame

    def __init__(self, figures: Mapping[str, Any], rows: pd.DataFrame, lines: list[dict[str, Any]]) -> None:
        """Take the figures, those of each row, and the same in words."""
        super().__init__(figures)
        self.rows, self._lines = rows, lines

    def facts_shown(self) -> tuple[str, Mapping[str, Any], list[dict[str, Any]]]:
        """Return the chief figures, and all of them in words."""
        facts = {key: self[key] for key in ("rows", "k", "unique", "l_distinct", "t") if key in self}
        return "risk, private – not for release", facts, self._lines


def risk(
    frame: pd.DataFrame,
    quasi: Iterable[str],
    sensitive: Iterable[str] = (),
    *,
    plan: Plan | None = None,
    sample_fraction: float | None = None,
    population: pd.DataFrame | None = None,
    hierarchies: Place | Mapping[str, Any] | None = None,
    study_ledger: Place | None = None,
    **asked: Any,
) -> Figures:
    """Return who could be found in ``frame``, and what makes rows unique.

    Args:
        frame: the rows.
        quasi: quasi-identifiers: the columns that an outsider may know about a person.
        sensitive: columns that an outsider must not learn about a person.
        plan: says how the rows are read: codes that it declares are missing.
        sample_fraction: share of the population that the frame has; without it the frame is the whole population.
        population: the rows of the population, in place of ``sample_fraction``.
        hierarchies: of sensitive columns, as :func:`generalize` takes them: values are then as far from one another as
            the level that joins them is high.
        study_ledger: the ledger's file that notes, at no cost, that private figures of these rows were shown; ``None``
            for the dataset's or the user's own.
        asked: the other options of ``workbench risk``: ``threshold``, ``recursive``, ``distance``, ``largest``.

    Returns:
        The figures by the keys of ``workbench risk --json``; ``.rows`` has those of each row.

    Raises:
        InputError: a column does not exist, or the population does not contain the rows.
        ParameterError: an option is out of range.
    """
    asked["sample_fraction"] = sample_fraction
    subject = _noted(frame, plan, quasi, sensitive, population, hierarchies, study_ledger, **asked)
    found = _figures(subject, frame, anonymity=False)
    found.rows["score"] = scores(subject).rows
    warn_of_study("the risk of rows", hint="its figures come from private rows")
    return found


def anonymity(
    frame: pd.DataFrame,
    quasi: Iterable[str],
    sensitive: Iterable[str],
    *,
    plan: Plan | None = None,
    hierarchies: Place | Mapping[str, Any] | None = None,
    study_ledger: Place | None = None,
    **asked: Any,
) -> Figures:
    """Return k, ℓ, t and the risk to be found of ``frame``; arguments, keys and errors as for :func:`risk`."""
    subject = _noted(frame, plan, quasi, sensitive, None, hierarchies, study_ledger, **asked)
    found = _figures(subject, frame, anonymity=True)
    warn_of_study("the anonymity of rows", hint="its figures come from private rows")
    return found


def _noted(
    frame: pd.DataFrame,
    plan: Plan | None,
    quasi: Iterable[str],
    sensitive: Iterable[str],
    population: pd.DataFrame | None,
    hierarchies: Place | Mapping[str, Any] | None,
    study_ledger: Place | None,
    **asked: Any,
) -> Subject:
    codes = codes_of(() if plan is None else plan.columns)
    table = with_codes_unless_released(table_of(frame), codes)
    people = None if population is None else with_codes_unless_released(table_of(population, "population"), codes)
    options = RiskOptions(quasi=_names(quasi), sensitive=_names(sensitive), **asked)
    levels = hierarchies_of(table, Asked((), options.sensitive), hierarchies)
    subject = Subject(table, options, people, levels)
    note("risk", table, frame, study_ledger=study_ledger)
    if people is not None:
        note("risk", people, population, study_ledger=study_ledger)
    return subject


def _names(columns: Iterable[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(str(name) for name in columns)


def _figures(subject: Subject, frame: pd.DataFrame, *, anonymity: bool) -> Figures:
    found = measured(subject, anonymity=anonymity)
    sizes = subject.classes.of_rows
    rows = pd.DataFrame({"class_size": sizes, "risk": 1 / sizes}, index=frame.index)
    lines = [
        {"measure": measure.title, "figure": line.title, "value": line.value}
        for measure in measures_of(subject, anonymity=anonymity)
        for line in measure.lines(found)
    ]
    return Figures(found, rows, lines)
