"""The report on a table or a release: who could be found, what attacks got, what ε allows and does not cover. Private.

The ledger notes the table before a figure is computed from it. Which measures and attacks there are follows from their
lists; an attack that cannot be made on this release is in the report with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

from workbench.data.columns.missing import Coded, codes_of
from workbench.data.schema import QUASI, SENSITIVE
from workbench.data.table import Table
from workbench.data.table_reader import ReadOptions
from workbench.params import InputError, ParameterError, Parameters, integer, real, text, texts
from workbench.release.attack_inputs import (
    ReleasedRows,
    described_release,
    guarantee_of,
    has_rows,
    rows_of_release,
    run_attack,
)
from workbench.release.certificate import is_model
from workbench.release.described_release import note_unless_released, with_codes_unless_released
from workbench.release.ledger.study_note import note_study
from workbench.risk.attacks import ATTACKS, MODEL, RELEASE, Attack
from workbench.risk.attacks.bound import NOTHING, Guarantee
from workbench.risk.attacks.outcome import Outcome
from workbench.risk.measures import RiskOptions, Subject, measured
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore
from workbench.studies.quality.study import Quality, QualityRequest, quality

LARGEST_SET = 4  # most attributes in a set that is searched for special uniques: a report is made by one click


@dataclass(frozen=True, kw_only=True)
class ReportRequest(Parameters):
    """What a report is about."""

    quasi: tuple[str, ...] | None = texts(
        default=None,
        shortest=1,
        symbol="A,B",
        help="quasi-identifiers: the columns that an outsider may know about a person (default: those of the plan)",
    )
    sensitive: str | None = text(
        default=None, symbol="C", help="the column that an outsider must not learn about a person (default: the plan's)"
    )
    sample_fraction: float | None = real(
        default=None, at_least=1e-12, upto=1.0, symbol="F", help="share of the population that is in the table"
    )
    attacks: int = integer(
        default=1000, at_least=20, upto=100_000, symbol="N", help="maximum number of people per attack"
    )
    seed: int = integer(default=0, at_least=0, upto=2**63 - 1, symbol="N", help="seed of the attackers' random choices")


class Planned(Coded, Protocol):
    """A column as a plan or a draft says it is read, and how sensitive it is."""

    @property
    def role(self) -> str | None:
        """What an outsider may know of it."""


@dataclass(frozen=True)
class Tried:
    """One attack; without an outcome ``why_not`` says, as a sentence, why it could not be made."""

    attack: Attack
    outcome: Outcome | None
    why_not: str = ""


@dataclass(frozen=True, eq=False)
class RiskReport:
    """What a report says. Private."""

    source: str
    release: str  # the released file or folder; empty of a table alone
    request: ReportRequest  # what was asked, with the columns that were used
    rows: int
    risk: Mapping[str, Any]
    # The same of the released rows; `None` where there are none with all of these columns.
    released_risk: Mapping[str, Any] | None = None
    tried: tuple[Tried, ...] = ()
    quality: Quality | None = None  # how good the released rows are; `None` where there are none
    guarantee: Guarantee = NOTHING
    document: Mapping[str, Any] | None = None  # its certificate or card; `None` where it has none
    control: int = 0

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the certificate says that its ε does not cover."""
        stated = self.document or {}
        return tuple(stated.get("outside_guarantee", stated.get("outside", ())))

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "source": self.source,
            "release": self.release or None,
            "rows": self.rows,
            "control": self.control,
            "quasi": list(self.request.quasi or ()),
            "sensitive": self.request.sensitive,
            "risk": dict(self.risk),
            "released_risk": None if self.released_risk is None else dict(self.released_risk),
            "attacks": [t.outcome.plain() for t in self.tried if t.outcome is not None],
            "not_tried": {t.attack.name: t.why_not for t in self.tried if t.outcome is None},
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "not_covered": list(self.not_covered),
            "quality": None if self.quality is None else self.quality.to_plain(),
        }


def risk_report(
    original: Table,
    released: Path | None = None,
    control: Table | None = None,
    *,
    columns: Sequence[Planned] | None = None,
    request: ReportRequest | None = None,
    ledger: Path | None = None,
    account: str | None = None,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> RiskReport:
    """Note in the ledger that private figures are shown, then measure the table and attack what was released of it.

    ``control`` holds rows of other people, who were not released; both are read as the plan of these ``columns`` says,
    without them as that of the release. Without a ledger it is the user's own.

    Raises:
        ParameterError: no quasi-identifier is named, or a column does not exist.
        InputError: a file cannot be read, or the ledger cannot note it.
        CancelledError: ``cancel`` was set.
    """
    place, document, rows = _released(released, cancel)
    if columns is None:
        columns = rows.plan.columns if rows is not None and rows.plan is not None else ()
    codes = codes_of(columns)
    original = with_codes_unless_released(original, codes)
    control = control and with_codes_unless_released(control, codes)
    request = _completed(request or ReportRequest(), columns)
    assert request.quasi is not None
    options = RiskOptions(
        quasi=request.quasi,
        sensitive=(request.sensitive,) if request.sensitive is not None else (),
        sample_fraction=request.sample_fraction,
        largest=min(LARGEST_SET, len(request.quasi)),
    )
    subject = Subject(original, options, cancel=cancel)
    note_study(original, "risk", ledger, emit, account=account)
    emit(Progress(0, _STEPS, "who could be found in the table"))
    risk = measured(subject)
    if place is None:
        return RiskReport(original.source, "", request, original.rows, risk)
    if rows is not None:
        for study in ("risk", "attack", "quality"):
            note_unless_released(rows.table, study, ledger, emit)
    emit(Progress(1, _STEPS, "who could be found in the release"))
    beside = _Beside(original, control, request, ledger, account, emit, cancel)
    return RiskReport(
        source=original.source,
        release=str(place),
        request=request,
        rows=original.rows,
        risk=risk,
        released_risk=_released_risk(rows, options, cancel),
        tried=tuple(beside.tried(place)),
        quality=None if rows is None else beside.quality(rows),
        guarantee=guarantee_of(place),
        document=document,
        control=0 if control is None else control.rows,
    )


_STEPS = 4


def _released(
    released: Path | None, cancel: CancelToken
) -> tuple[Path | None, Mapping[str, Any] | None, ReleasedRows | None]:
    if released is None:
        return None, None, None
    found = described_release(released)
    rows = rows_of_release(released, ReadOptions(), cancel) if has_rows(found) else None
    return (released, None, rows) if found is None else (found.release, found.document, rows)


def _completed(request: ReportRequest, columns: Sequence[Planned]) -> ReportRequest:
    quasi = request.quasi or tuple(c.name for c in columns if c.role == QUASI)
    if not quasi:
        raise ParameterError("no quasi-identifier is given", "--quasi", "give the columns that an outsider may know")
    sensitive = request.sensitive or next((c.name for c in columns if c.role == SENSITIVE), None)
    return replace(request, quasi=quasi, sensitive=sensitive)


def _released_risk(rows: ReleasedRows | None, options: RiskOptions, cancel: CancelToken) -> Mapping[str, Any] | None:
    if rows is None or not {*options.quasi, *options.sensitive} <= set(rows.table.names):
        return None
    return measured(Subject(rows.table, options, cancel=cancel))


def _asked(known: Attack, request: ReportRequest) -> Parameters:
    """Return what is chosen of an attack: the report's columns and numbers, where it has such parameters.

    No attack is on more people than by default: one that is on few needs long for each.
    """
    declared = known.asked().declared()
    usual: dict[str, Any] = {field.name: field.default for field in fields(known.asked())}
    stated = {
        "known": request.quasi,
        "on": request.quasi,
        "secret": request.sensitive,
        "attacks": min(request.attacks, usual.get("attacks", request.attacks)),
        "seed": request.seed,
    }
    return known.asked()(**{name: value for name, value in stated.items() if name in declared and value is not None})


@dataclass(frozen=True, eq=False)
class _Beside:
    """A release beside the rows that it was made of: attacks and quality, each noted in the ledger."""

    original: Table
    control: Table | None
    request: ReportRequest
    ledger: Path | None
    account: str | None
    emit: Emit
    cancel: CancelToken

    def note(self, study: str, table: Table) -> None:
        """Note that figures of a table are shown; a control set belongs to no account."""
        account = None if table is self.control else self.account
        note_study(table, study, self.ledger, self.emit, account=account)

    def note_attack(self, name: str, table: Table) -> None:
        """Note a table that is attacked; the release was noted where it was read."""
        if name != RELEASE:
            self.note("attack", table)

    def tried(self, place: Path) -> Iterator[Tried]:
        self.emit(Progress(2, _STEPS, "attacks on the release"))
        what = MODEL if is_model(place) else RELEASE
        has: dict[str, Path | Table] = {what: place} | dict.fromkeys(("original", "known", "members"), self.original)
        if self.control is not None:
            has |= {"control": self.control, "nonmembers": self.control}
        request = self.request if what == RELEASE else replace(self.request, sensitive=None)
        for known in ATTACKS:
            if what not in {needed.name for needed in known.given}:
                continue
            self.cancel.check()
            lacking = [needed.help for needed in known.given if needed.required and needed.name not in has]
            if lacking:
                yield Tried(known, None, f"It needs {lacking[0]}.")
                continue
            given = {needed.name: has[needed.name] for needed in known.given if needed.name in has}
            try:
                found = run_attack(
                    known,
                    _asked(known, request),
                    given,
                    note=self.note_attack,
                    emit=self.emit,
                    cancel=self.cancel,
                )
                yield Tried(known, found)
            except (InputError, ParameterError) as error:  # this attack cannot be made here: the report says why
                yield Tried(known, None, f"{error.what[:1].upper()}{error.what[1:]}.")

    def quality(self, rows: ReleasedRows) -> Quality:
        self.emit(Progress(3, _STEPS, "how good the released rows are"))
        self.note("quality", self.original)
        if self.control is not None:
            self.note("quality", self.control)
        target = self.request.sensitive if self.request.sensitive in rows.table.names else None
        asked = QualityRequest(target=target, seed=self.request.seed)
        return quality(self.original, rows.table, self.control, plan=rows.plan, request=asked, cancel=self.cancel)
