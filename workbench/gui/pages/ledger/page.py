"""Ledger: every release of every dataset, caps and what remains; the chain verified, exported; the cap set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from workbench import learners
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.ledger import PAGE
from workbench.gui.pages.ledger.tasks import (
    AccountLine,
    LedgerLine,
    LedgerView,
    export_ledger,
    read_ledger,
    set_cap,
    verify_chain,
)
from workbench.gui.pages.ledger.timeline import Spending, Timeline
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, button, caption, label, look, named, row
from workbench.gui.widgets.delta_cap import DeltaCap
from workbench.gui.widgets.dialogs import ask_where_to_save, confirm
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.explain import Asked, Explainable, explain_button
from workbench.gui.widgets.formatting import at_least, at_most, count, entered, in_full
from workbench.gui.widgets.lines_table import Cell, LinesTable
from workbench.privacy.accounting.posterior import posterior

LOW, HIGH = Decimal("1e-6"), Decimal("1e6")
SLIDER = Decimal("0.01"), Decimal(100)
"""What the slider offers; the field takes every cap that the ledger does."""

NAME = 6
"""Digits of a dataset's name in the ledger that are shown."""

STATUS = {"charged": "text", "settled": "text", "reserved": "warn", "void": "muted", "refused": "danger"}
SIGNS = {
    "reserved": "… reserved",
    "void": "void",
    "refused": "✕ refused",
    "charged": "✓ charged",
    "settled": "✓ settled",
}
WORK = {"sanitize": "table", "dpsgd": "DP-SGD"}
"""What a person calls a piece of work that is no learner; the ledger's own word is in the tip."""

NOTHING_RELEASED = "✓ charged, nothing released"


class LedgerPage(PageFrame):
    """The account of every dataset; a rename or a copy is the same dataset."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        self._view: LedgerView | None = None
        self._shown: list[LedgerLine] = []
        self._titles: dict[str, str] = {}  # of the tables that were open since the program began
        export = button("Export…", "ledger_export", tip="Write every entry of the chain as JSON")
        export.clicked.connect(self._export)
        self.header.addWidget(export)
        self._releases = LinesTable(
            session,
            "ledger_releases",
            "Every release, the newest first",
            ("Time (UTC)", "Dataset", "Work", "ε", "δ", "Status", "File"),
            right=(3, 4),
        )
        self._releases.set_widths((168, 116, 92, 60, 48, 98, 108))
        self._accounts = LinesTable(
            session,
            "ledger_caps",
            "Cap and what remains, per dataset",
            ("Dataset", "Cap ε", "Spent", "Reserved", "Remains", "Cap δ", "δ remains", "Releases"),
            right=(1, 2, 3, 4, 5, 6, 7),
        )
        self._accounts.set_widths((168, 66, 66, 86, 78, 62, 88, 78))
        self._arrange()
        self.set_primary("Verify", "ledger_verify", self._verify, "Recompute the hash chain of every entry")
        session.account_changed.connect(self.refresh)
        session.table_changed.connect(self._show_cap)
        self._show_cap()

    def _arrange(self) -> None:
        self._empty = label("Nothing was released yet: the first release of a dataset sets its cap.", "muted")
        self._empty.setObjectName("ledger_empty")
        Explainable(self._releases, self.session, self._asked)
        Explainable(self._accounts, self.session, self._asked_account)
        ask = explain_button(self.session, "ledger_explain", self._asked)
        releases = Card()
        self._filter = named(QLineEdit(), "ledger_filter", "Show only releases with this word")
        self._filter.setPlaceholderText("Filter")
        self._filter.setClearButtonEnabled(True)
        self._filter.setFixedWidth(160)
        self._filter.textChanged.connect(self._show_releases)
        head = QWidget()
        head.setLayout(row(caption("RELEASES", ask), None, self._filter))
        self._timeline = Timeline(self.session, "ledger_timeline")
        releases.body.addWidget(head)
        releases.body.addWidget(self._timeline)
        releases.body.addWidget(self._empty)
        releases.body.addWidget(self._releases, 1)
        caps = Card(label("CAPS", "caption"))
        caps.body.addWidget(self._accounts, 1)
        self._cap_title = label("", "muted", wrap=True, name="ledger_cap_title")
        self._cap = PrivacyEntry(
            "ledger_cap",
            LOW,
            HIGH,
            Decimal(1),
            symbol="ε",
            help_text="ε of all releases of this dataset together",
            slider_low=SLIDER[0],
            slider_high=SLIDER[1],
            ends=("stricter", "looser"),
        )
        self._delta = DeltaCap(
            "ledger_delta", "δ of all releases of this dataset together; only training with DP-SGD needs it"
        )
        self._set = button("Set the cap…", "ledger_set_cap", tip="The ledger records every change of a cap for good")
        self._set.clicked.connect(self._set_cap)
        line = row(spacing=12)
        line.addWidget(self._cap, 1)
        line.addWidget(label("δ", "muted"))
        line.addWidget(self._delta)
        line.addWidget(self._set)
        self._cap_line = QWidget()
        self._cap_line.setLayout(line)
        cap = Card(label("CAP OF THE TABLE THAT IS OPEN", "caption"), self._cap_title, self._cap_line)
        self._told = label("", "muted", wrap=True, name="ledger_told")
        self._told.hide()
        for part, stretch in ((releases, 3), (caps, 2), (cap, 0), (self._told, 0)):
            self.body.addWidget(part, stretch)

    def _asked(self) -> Asked | None:
        """Return the charge of the chosen release, else of the newest, as a question about what it means."""
        releases = self._shown
        at = max(self._releases.currentIndex().row(), 0)
        return Asked(releases[at].epsilon, releases[at].delta) if at < len(releases) else None

    def _asked_account(self) -> Asked | None:
        """Return the cap of the chosen dataset, or what was spent of one without a cap."""
        accounts = self._view.accounts if self._view is not None else ()
        at = max(self._accounts.currentIndex().row(), 0)
        if at >= len(accounts):
            return None
        cap = accounts[at].cap
        return Asked(cap if cap is not None else accounts[at].spent)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Read the ledger anew whenever the page is shown: other programs write into it, too."""
        super().showEvent(event)
        self.refresh()

    # -- what is shown --------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read the ledger and show it."""
        self._show_cap()
        if self.isVisible():
            read_ledger(self.jobs, self._show, self._not_read)

    def _not_read(self, error: BaseException) -> None:
        self._told.hide()
        self.session.report(error)

    def _show(self, view: LedgerView) -> None:
        if view != self._view:
            self._told.hide()  # what was verified is not what stands there now
        self._view = view
        opened, present = self.session.opened, self.session.account.dataset
        if opened is not None and present:
            self._titles[present] = opened.title
        names = _names(view, self._titles)
        self._empty.setVisible(not view.releases)
        for part in (self._releases, self._timeline, self._filter):
            part.setVisible(bool(view.releases))
        self._show_releases()
        self._accounts.lines.show_lines(
            [
                (
                    _told(a, _dataset(a.dataset, present, names)),
                    _left(a.cap, "text") if a.cap is not None else Cell("none yet"),
                    _paid(a.spent),
                    _paid(a.reserved, "warn" if a.reserved else "muted", "Work that is going on: "),
                    _left(a.remaining, "text") if a.remaining is not None else Cell("–", "muted"),
                    Cell("–", "muted") if a.delta_cap is None else Cell(entered(a.delta_cap)),
                    Cell("–", "muted") if a.delta_remaining is None else Cell(entered(a.delta_remaining)),
                    Cell(str(a.releases)),
                )
                for a in view.accounts
            ]
        )
        counted = sum(a.releases for a in view.accounts)
        rest = len(view.releases) - counted
        void = f", and {rest:,} that {'does' if rest == 1 else 'do'} not count (void or refused)" if rest else ""
        self.set_note(f"{count(counted, 'release')}{void} in {view.path}")

    def _show_releases(self) -> None:
        """Show the releases in which the filter's word stands, and what they have spent."""
        view = self._view
        if view is None:
            return
        present, word = self.session.account.dataset, self._filter.text().strip().casefold()
        names = _names(view, self._titles)
        cells = [(line, _release_cells(line, present, names)) for line in view.releases]
        kept = [(line, shown) for line, shown in cells if word in " ".join(c.text for c in shown).casefold()]
        self._shown = [line for line, _ in kept]
        self._releases.lines.show_lines([shown for _, shown in kept])
        self._timeline.show_lines(_spending(view, self._shown, names))

    def _show_cap(self) -> None:
        opened, account = self.session.opened, self.session.account
        usable = opened is not None and bool(account.dataset)
        self._cap_line.setVisible(usable)
        tip = ""
        if opened is None:
            self._cap_title.setText("Open a table to set the cap of its dataset.")
        elif account.problem:
            self._cap_title.setText(account.problem)
        elif account.cap is None:
            self._cap_title.setText(f"{opened.title} has no cap yet; without one its first release sets it.")
        else:
            remaining = max(account.remaining or Decimal(0), Decimal(0))
            self._cap_title.setText(
                f"{opened.title}: cap ε = {at_least(account.cap)}, of which {at_least(remaining)} remain."
            )
            tip = f"Cap: {in_full(account.cap)}. Remaining: {in_full(remaining)}."
            if account.delta_remaining is not None and account.delta_cap is not None:
                left = at_least(max(account.delta_remaining, Decimal(0)))
                told = f" Cap δ = {at_least(account.delta_cap)}, of which {left} remain."
                self._cap_title.setText(self._cap_title.text() + told)
            if not self._cap.field.hasFocus():
                self._cap.set_value(min(max(account.cap, LOW), HIGH))
        self._delta.show_present(account.delta_cap)
        self._cap_title.setToolTip(tip)

    # -- what it does ---------------------------------------------------------------------------------------------

    def _verify(self) -> None:
        verify_chain(self.jobs, self._show_faults)

    def _show_faults(self, faults: list[str]) -> None:
        self._told.show()
        checked = f"Checked at {datetime.now(UTC):%H:%M:%S} UTC."
        if faults:
            look(self._told, "danger")
            problem = f"The ledger is not as it was written: {'; '.join(faults[:3])}."
            self._told.setText(f"✕ {problem} {checked}")
            self.session.tell("error", problem)
        else:
            look(self._told, "accent")
            self._told.setText(f"✓ Every entry is as it was written, and none is missing. {checked}")
            self.session.tell("info", "The ledger's hash chain is whole.")

    def _export(self) -> None:
        path = ask_where_to_save(self, "Export the ledger", "ledger.json", "JSON (*.json)")
        if path:
            export_ledger(self.jobs, Path(path), lambda done: self.session.tell("info", f"Exported to {done}."))

    def _set_cap(self) -> None:
        opened, account, cap = self.session.opened, self.session.account, self._cap.value()
        if opened is None or not account.dataset or self._cap.problem() or self._delta.problem():
            return
        former = f"from ε = {entered(account.cap)} to" if account.cap is not None else "to"
        delta = self._delta.value()
        delta = None if delta == account.delta_cap else delta
        told = f"ε = {entered(cap)}" + ("" if delta is None else f" and that of δ to {entered(delta)}")
        sure = f"{100 * posterior(float(cap), 0.1).high:.3g} %"
        text = (
            f"This sets the cap of {opened.title} {former} {told}. The ledger records it for good.\n\nWhen all of it "
            f"is spent, someone who was 10 % sure of a fact about a row could be at most {sure} sure."
        )
        if confirm(self, "Set the cap?", text, f"Set the cap to ε = {entered(cap)}"):
            set_cap(self.session, self.jobs, account.dataset, cap, delta)


def _spending(view: LedgerView, releases: Sequence[LedgerLine], names: Mapping[str, tuple[str, str]]) -> list[Spending]:
    """Return what each account has spent by ``releases`` (the newest first), for the picture."""
    caps = {a.dataset: a.cap for a in view.accounts}
    charges: dict[str, list[tuple[datetime, float]]] = {}
    refused: dict[str, list[datetime]] = {}
    for line in reversed(releases):
        try:
            time = datetime.fromisoformat(line.time)
        except ValueError:
            continue  # a damaged entry; Verify names it
        if line.status in ("charged", "settled", "reserved"):
            charges.setdefault(line.dataset, []).append((time, float(line.epsilon)))
        elif line.status == "refused":
            refused.setdefault(line.dataset, []).append(time)
    found = []
    for dataset in dict.fromkeys([*charges, *refused]):
        title, released = names.get(dataset, ("", ""))
        cap = caps.get(dataset)
        name = f"{title or released} {dataset[:NAME]}".lstrip()
        steps, crosses = tuple(charges.get(dataset, ())), tuple(refused.get(dataset, ()))
        found.append(Spending(name, steps, None if cap is None else float(cap), crosses))
    return found


def _told(account: AccountLine, cell: Cell) -> Cell:
    """Return the name of an account with what is special about it."""
    told = []
    if account.group:
        told.append(f"{account.group} tables about the same people share this account.")
    if account.count:
        told.append(f"Its releases are counted by {account.count}, not by their sum.")
    mark = f" · group of {account.group}" if account.group else ""
    return cell._replace(text=f"{cell.text}{mark}", tip="\n".join([cell.tip, *told]))


def _names(view: LedgerView, titles: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return of each dataset what it is called and what it was released as; the ledger's own name tells nobody.

    It is called by the public name of its account, else by the table that was open.
    """
    outputs: dict[str, dict[str, None]] = {}
    for line in view.releases:
        if line.output and line.released:
            outputs.setdefault(line.dataset, {})[Path(line.output).name] = None
    found = {}
    public = {line.dataset: line.name for line in view.accounts if line.name}
    for dataset in {*outputs, *titles, *public}:
        told = f"released as {', '.join(outputs[dataset])}" if dataset in outputs else ""
        found[dataset] = (public.get(dataset) or titles.get(dataset, ""), told)
    return found


def _called(work: str) -> str:
    """Return what a person calls a piece of work of the ledger; its own word where this version does not know it."""
    fits = {f"fit {entry.name}": entry.title for entry in learners.LEARNERS}
    return {**WORK, **fits}.get(work, work)


def _dataset(dataset: str, present: str, names: Mapping[str, tuple[str, str]]) -> Cell:
    title, released = names.get(dataset, ("", ""))
    same = dataset == present
    beside = f"{title} (open now)" if same else title or released
    tip = "\n".join(part for part in (title, released, dataset) if part)
    return Cell(f"{beside}  {dataset[:NAME]}".lstrip(), "text", tip)


def _paid(epsilon: Decimal, look_of: str = "text", told: str = "") -> Cell:
    return Cell(at_most(epsilon), look_of, f"{told}{in_full(epsilon)}", entered(epsilon))


def _left(epsilon: Decimal, look_of: str) -> Cell:
    return Cell(at_least(epsilon), look_of, in_full(epsilon), entered(epsilon))


def _release_cells(line: LedgerLine, present: str, names: Mapping[str, tuple[str, str]]) -> tuple[Cell, ...]:
    title, released = names.get(line.dataset, ("", ""))
    dataset = _dataset(line.dataset, present, names)
    status = Cell(SIGNS.get(line.status, line.status), STATUS.get(line.status, "text"), line.status)
    if line.status in ("charged", "settled") and not line.released:
        status = Cell(
            NOTHING_RELEASED,
            "warn",
            "No model is known of it: stopped or failed after private figures were shown",
        )
    file = Path(line.output).name if line.output else ""
    return (
        Cell(line.time[:16].replace("T", " "), tip=line.time),
        dataset._replace(text=f"{title or released}  {line.dataset[:NAME]}".lstrip()),
        Cell(_called(line.work), tip=line.work),
        _paid(line.epsilon),
        Cell(entered(line.delta), "text" if line.delta else "muted"),
        status,
        Cell(file or "–", "text" if file else "muted", line.output),
    )
