"""Ledger: every release of every dataset, caps and what remains, and which private figures were shown.

The chain can be verified and exported, and the cap set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QRectF, QSize
from PySide6.QtWidgets import QSizePolicy, QStackedWidget

from workbench import learners
from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.ledger.cap_card import CapCard
from workbench.gui.pages.ledger.tasks import (
    LedgerView,
    accept_copy,
    export_ledger,
    how_counted,
    ledger_view,
    verify_chain,
)
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import day, tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import Card, button, caption, label, look, panel, row, say, segments, show_if
from workbench.gui.widgets.chart import Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Key, Point, Scale
from workbench.gui.widgets.dialogs import ask_where_to_save, confirm
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.explain import Asked, Explainable, explain_button
from workbench.gui.widgets.formatting import at_least, at_most, cap_beside, count, entered, in_full, moment, together
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable, TableFilter
from workbench.gui.widgets.way_bar import ROWS as NOISY
from workbench.gui.widgets.way_bar import inside
from workbench.jobs import Job
from workbench.render.fonts import scaled

if TYPE_CHECKING:
    from workbench.release.ledger.records import Account, Release
    from workbench.release.ledger.shown_figures import ShownFigures


# -- what was spent over time -----------------------------------------------------------------------------------------


HEIGHT = 96
STYLE_NAMES = ("private", "sanitized", "third", "fourth", "fifth")


@dataclass(frozen=True)
class Spending:
    """The releases of one account: (time, ε) of each that counts, and when one was refused."""

    name: str
    charges: tuple[tuple[datetime, float], ...]
    cap: float | None
    refused: tuple[datetime, ...] = ()

    @property
    def total(self) -> float:
        return sum(epsilon for _, epsilon in self.charges)


class Timeline(Chart):
    """Spent ε over time: a line per account, the cap if there is one account, and a cross per refusal."""

    margins = QMarginsF(44, 20, 12, 22)
    usual, least = QSize(480, HEIGHT), QSize(200, HEIGHT)
    letters = 11

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name, tr("Spending over time"))
        self._lines: tuple[Spending, ...] = ()

    @property
    def lines(self) -> tuple[Spending, ...]:
        return self._lines

    def show_lines(self, lines: Sequence[Spending]) -> None:
        """Draw ``lines``, of which the first few have colours of their own."""
        self._lines = tuple(line for line in lines if line.charges or line.refused)
        words = [_words(line) for line in self._lines]
        self.setAccessibleDescription("; ".join(words))
        self.setToolTip("\n".join([*words, tr("A cross is a refused release.")] if words else []))
        self._drawing = _drawing(self._lines) if self._lines else None
        self.update()


def _words(line: Spending) -> str:
    said = {"name": line.name, "releases": count(len(line.charges), "release"), "spent": at_most(line.total)}
    if line.cap is None:
        return tr("{name}: {releases}, ε = {spent}", **said)
    return tr("{name}: {releases}, ε = {spent} of {cap}", cap=at_least(line.cap), **said)


def _drawing(lines: Sequence[Spending]) -> Drawing:
    """Return the steps of each account, a cap that is the only one, and the refusals."""
    times = [t for line in lines for t, _ in line.charges] + [t for line in lines for t in line.refused]
    first, last = min(times), max(times)
    span = max((last - first).total_seconds(), 1.0)
    only = lines[0].cap if len(lines) == 1 else None
    most = max([line.total for line in lines] + ([only] if only is not None else [])) or 1.0

    def seconds(time: datetime) -> float:
        return (time - first).total_seconds()

    across, key = Scale(-0.02 * span, 1.02 * span), []
    marks = [] if only is None else [_cap(only)]
    for at, line in enumerate(lines):
        ink, dash = STYLE_NAMES[at % len(STYLE_NAMES)], mark.DASHES[at % len(mark.DASHES)]
        key.append(Key(line.name, ink, "line", dash=dash))
        marks.append(mark.line(_steps(line, across, seconds), ink, dash=dash))
        marks.append(_crosses([(seconds(time), 0.08 * most) for time in line.refused]))
    end = day(last.date()) if span > 86_400 else f"{last:%H:%M}"
    return Drawing(
        marks,
        x=across,
        y=Scale(0, 1.08 * most),
        left=((most, f"ε {tr_number(most, '.3g')}"), (0, "0")),
        below=(Below(across.low, f"{day(first.date())} {first:%H:%M}"), Below(across.high, end)),
        key=key if len(lines) > 1 else (),
    )


def _cap(cap: float) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        mark.line(((on.x.low, cap), (on.x.high, cap)), "danger", 1, "dashed")(on)
        words = tr("cap ε = {cap}", cap=at_least(cap))
        on.write(QRectF(on.box.left() + 4, on.up(cap) - 15, on.box.width() - 4, 14), words, "danger")

    return paint


def _crosses(points: Sequence[Point]) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        for point in points:
            on.sign("cross", on.at(*point), "danger")

    return paint


def _steps(line: Spending, across: Scale, seconds: Callable[[datetime], float]) -> list[Point]:
    points, spent = [(across.low, 0.0)], 0.0
    for time, epsilon in line.charges:
        points.append((seconds(time), spent))
        spent += epsilon
        points.append((seconds(time), spent))
    return [*points, (across.high, spent)]


# -- the page ---------------------------------------------------------------------------------------------------------


CAPS, FIGURES = "caps", "figures"

COLUMNS = (
    Column(tr_later("First shown (UTC)"), width=150, whole=True),
    Column(tr_later("Dataset"), width=190),
    Column(tr_later("Private figures"), width=350),
)

ABOUT = tr_later(
    "Studies of the rows, a draw of them, or a training that was watched. They cost nothing; but "
    "settings that are chosen by them reveal more of the rows than ε says, and the card of a "
    "model that is trained later says that they were shown."
)


def _when(time: str) -> Cell:
    return Cell(moment(time), tip=time, exact=time, key=time)


class CapsAndFigures(Card):
    """The caps, or which private figures were shown; without any of these the caps alone."""

    def __init__(self, session: Session, caps: LinesTable) -> None:
        super().__init__()
        accessible = tr("Which private figures were shown, the newest first")
        self._figures = LinesTable(session, "ledger_figures", accessible, COLUMNS)
        self._stack = QStackedWidget()
        self._views = {CAPS: caps, FIGURES: self._figures}
        self._caption = label(tr("CAPS"), "caption")
        titles = (
            (CAPS, tr("Caps"), tr("Cap and what remains, per dataset")),
            (FIGURES, tr("Private figures shown"), tr(ABOUT)),
        )
        self._segments = segments(self, "ledger_show_", titles, self.show_view)
        for view in self._views.values():
            self._stack.addWidget(view)
        self.body.add(row(self._caption, *self._segments.values(), None), (self._stack, 1))
        self.show_figures((), ())

    def show_view(self, key: str) -> None:
        self._segments[key].setChecked(True)
        self._stack.setCurrentWidget(self._views[key])

    def show_figures(self, figures: Sequence[ShownFigures], datasets: Sequence[Cell]) -> None:
        """List what was shown, with the cell of the dataset of each, in order; without any there is no choice."""
        lines = [
            (
                _when(one.time),
                dataset,
                Cell(words, tip=f"{words}. {tr(ABOUT)}"),
            )
            for one, dataset, words in zip(figures, datasets, [tr_sentence(f.words) for f in figures], strict=True)
        ]
        self._figures.lines.show_lines(lines[::-1])
        self._caption.setVisible(not figures)
        show_if(bool(figures), *self._segments.values())
        if not figures or not any(segment.isChecked() for segment in self._segments.values()):
            self.show_view(CAPS)


NAME = 5  # digits of a dataset's name in the ledger that are shown

STATUS = {"charged": "text", "settled": "text", "reserved": "warn", "void": "muted", "refused": "danger"}
SIGNS = {
    "reserved": tr_later("… reserved"),
    "void": tr_later("void"),
    "refused": tr_later("✕ refused"),
    "charged": tr_later("✓ charged"),
    "settled": tr_later("✓ settled"),
}
RELEASES = (
    Column(tr_later("Time (UTC)"), width=168, whole=True),
    Column(tr_later("Dataset"), width=126),
    Column(tr_later("Work"), width=92),
    Column("ε", width=60, right=True),
    Column("δ", width=48, right=True),
    Column(tr_later("Status"), width=98, whole=True),
    Column(tr_later("File"), width=108),
)
ACCOUNTS = (
    Column(tr_later("Dataset"), width=168),
    Column(tr_later("Cap ε"), width=60, right=True),
    Column(tr_later("ε spent"), width=60, right=True),
    Column(tr_later("ε reserved"), width=60, right=True),
    Column(tr_later("ε remains"), width=60, right=True),
    Column(tr_later("Cap δ"), width=60, right=True),
    Column(tr_later("δ remains"), width=60, right=True),
    Column(tr_later("Releases"), width=60, right=True),
)

LIST, TIME = "list", "time"
VIEWS = (
    (LIST, tr_later("List"), tr_later("Every release, the newest first")),
    (TIME, tr_later("Over time"), tr_later("What every dataset has spent over time")),
)
HIGH = 800  # points of a page that has room for both


class LedgerPage(PageFrame):
    """The account of every dataset; a rename or a copy is the same dataset."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("ledger"))
        self._view: LedgerView | None = None
        export = button(tr("Export…"), "ledger_export", tip=tr("Write every entry of the chain as JSON"))
        export.clicked.connect(self._export)
        self.header.addWidget(export)
        self._releases = LinesTable(session, "ledger_releases", tr("Every release, the newest first"), RELEASES)
        self._releases.least_lines = 2
        self._accounts = LinesTable(session, "ledger_caps", tr("Cap and what remains, per dataset"), ACCOUNTS)
        self._arrange()
        tip = tr("Recompute the hash chain of every entry")
        self._check = self.set_primary(tr("Verify"), "ledger_verify", self._verify, tip)
        session.account_changed.connect(self.refresh)
        session.table_changed.connect(self._account.refresh)
        self._account.refresh()

    def _arrange(self) -> None:
        nothing, leads = tr("Nothing released yet"), {"ways": tr("Release →")}
        why = tr("Each release is listed here with what it cost; the first of a dataset sets its cap.")
        self._nothing = EmptyState(self.session, "ledger_nothing", nothing, why, **leads)
        Explainable(self._releases, self.session, self._asked)
        Explainable(self._accounts, self.session, self._asked_account)
        ask = explain_button(self.session, "ledger_explain", self._asked)
        self._accept = button(
            tr("Go on with this copy…"), "ledger_accept", tip=tr("Record that entries are missing, and go on")
        )
        self._accept.clicked.connect(self._accept_copy)
        self._filter = TableFilter(self._releases, "lines")
        self._releases.shown_changed.connect(self._show_spending)
        titles = ((key, tr(text), tr(tip)) for key, text, tip in VIEWS)
        self._views = segments(self, "ledger_view_", titles, lambda _key: self._lay_out())
        self._views[LIST].setChecked(True)
        head = panel(row(caption(tr("RELEASES"), ask), *self._views.values(), None, self._filter))
        head.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._timeline = Timeline(self.session, "ledger_timeline")
        releases = Card(head, (self._timeline, 1), (self._nothing, 2), (self._releases, 2))
        self._caps = CapsAndFigures(self.session, self._accounts)
        self._account = CapCard(self.session, self.jobs)
        self._older_words = label("", "danger", wrap=True, name="ledger_older")
        self._older = Card(self._older_words, self._accept)
        self._older.hide()
        self._stated = label("", "muted", wrap=True, name="ledger_told", hidden=True)
        self.foot.insertWidget(0, self._stated, 1)  # in place of the note: nothing above it moves
        self.body.add(self._older, (releases, 2), (self._caps, 1), self._account)

    def _lay_out(self) -> None:
        """Show releases as a list and over time; on a low page one of the two, which would else be too low to read."""
        some = self._view is not None and bool(self._view.releases)
        high = self.height() >= scaled(HIGH)
        over_time = self._views[TIME].isChecked()
        show_if(some and not high, *self._views.values())
        self._filter.setVisible(some)
        self._releases.setVisible(some and (high or not over_time))
        self._timeline.setVisible(some and (high or over_time))

    def resized(self) -> None:
        self._lay_out()
        if self._view is not None:
            self._leave_out(self._view)

    def _asked(self) -> Asked | None:
        """Return the charge of the chosen release, else of the newest, as a question about what it means."""
        releases = self._view.releases if self._view is not None else ()
        at = max(self._releases.currentIndex().row(), 0)
        return Asked(releases[at].epsilon, releases[at].delta) if at < len(releases) else None

    def _asked_account(self) -> Asked | None:
        """Return the cap of the chosen dataset, or what was spent of one without a cap."""
        accounts = self._view.accounts if self._view is not None else ()
        at = max(self._accounts.currentIndex().row(), 0)
        if at >= len(accounts):
            return None
        return Asked((accounts[at].standing_cap or accounts[at].spent)[0])

    def shown(self) -> None:
        """Read the ledger anew whenever the page is shown: other programs write into it, too."""
        self.refresh()

    # -- what is shown --------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        self._account.refresh()
        if self.isVisible():
            job = Job(tr("Reading the ledger"), ledger_view)
            self.jobs.start(job, key="ledger", stoppable=False, on_result=self._show, on_failure=self._not_read)

    def retranslate(self) -> None:
        self._say_checked("")

    def _say_checked(self, text: str, kind: str = "") -> None:
        """Show what the verification found in place of the note, or the note."""
        look(self._stated, kind)
        say(self._stated, text)
        self._note.setVisible(not text)

    def _not_read(self, error: BaseException) -> None:
        self._say_checked("")
        self.session.report(error)

    def _show(self, view: LedgerView) -> None:
        if view != self._view:
            self._say_checked("")  # what was verified is not what is there now
        self._view = view
        present, names = self.session.account.dataset, self._names(view)
        self._nothing.setVisible(not view.releases)
        self.highlight(self._check if view.releases else self._nothing.way)
        self._lay_out()
        known = ((line, line.release_id in view.released) for line in view.releases)
        self._releases.lines.show_lines([_release_cells(line, names, released=has) for line, has in known])
        cells = [_stated(a, view.groups.get(a.dataset, 0), _dataset(a.dataset, present, names)) for a in view.accounts]
        released = [Cell(tr_number(view.counted.get(a.dataset, 0), ",")) for a in view.accounts]
        accounts = zip(view.accounts, cells, released, strict=True)
        self._accounts.lines.show_lines([(cell, *_budget_cells(a), counted) for a, cell, counted in accounts])
        self._leave_out(view)
        self._caps.setVisible(bool(view.accounts or view.figures))  # headings above nothing say nothing
        self._caps.show_figures(view.figures, [_dataset(f.dataset, present, names) for f in view.figures])
        self._older.setVisible(bool(view.older))
        self._older_words.setText(tr_sentence(view.older))
        self._account.show_accounts(view.accounts, _titles(view, names))
        counted = sum(view.counted.values())
        rest = len(view.releases) - counted
        releases = count(counted, "release")
        self.set_note(
            tr_n(
                "{releases}, and {n} that does not count (void or refused) in {path}",
                "{releases}, and {n} that do not count (void or refused) in {path}",
                rest,
                releases=releases,
                path=view.path,
            )
            if rest
            else tr("{releases} in {path}", releases=releases, path=view.path)
        )

    def _leave_out(self, view: LedgerView) -> None:
        """Leave out δ where there is none, and the dataset where all releases are of one and their work is cut."""
        delta = any(a.standing_cap is not None and a.standing_cap[1] is not None for a in view.accounts)
        delta = delta or any(line.delta for line in view.releases)
        for table, columns in ((self._releases, RELEASES), (self._accounts, ACCOUNTS)):
            out = [at for at, column in enumerate(columns) if "δ" in column.title and not delta]
            table.leave_out(out)
            if table is self._releases and len({line.dataset for line in view.releases}) == 1:
                table.leave_out([*out, 1] if table.least_width > table.width() > 0 else out)

    def _show_spending(self) -> None:
        view = self._view
        if view is not None:
            shown = [view.releases[row] for row in sorted(self._releases.in_sight())]
            self._timeline.show_lines(_spending(view, shown, self._names(view)))

    def _names(self, view: LedgerView) -> dict[str, tuple[str, str]]:
        outputs: dict[str, dict[str, None]] = {}
        for line in view.releases:
            if (output := line.body.get("output")) and line.release_id in view.released:
                outputs.setdefault(line.dataset, {})[Path(output).name] = None
        opened, present = self.session.open_data, self.session.account.dataset
        known = {a.dataset: view.called.get(a.dataset, "") for a in view.accounts}
        if opened is not None and present:
            known[present] = self.session.account.name or opened.title
        released = {
            dataset: tr("released as {files}", files=together(list(files))) for dataset, files in outputs.items()
        }
        return {each: (known.get(each, ""), released.get(each, "")) for each in {*known, *released}}

    # -- what it does ---------------------------------------------------------------------------------------------

    def _verify(self) -> None:
        self.jobs.start(Job(tr("Verifying the ledger"), verify_chain), key="verify_ledger", on_result=self._show_faults)

    def _show_faults(self, faults: list[str]) -> None:
        checked = tr("Checked at {time} UTC.", time=format(datetime.now(UTC), "%H:%M:%S"))
        if faults:
            problem = tr("The ledger was altered or damaged: {faults}.", faults="; ".join(map(tr_sentence, faults[:3])))
            self._say_checked(f"✕ {problem} {checked}", "danger")
            self.session.notify("error", problem)
        else:
            self._say_checked(f"✓ {tr('Every entry is as it was written, and none is missing.')} {checked}", "accent")
            self.session.notify("info", tr("The ledger is whole: every entry is as it was written."))

    def _export(self) -> None:
        path = ask_where_to_save(self, tr("Export the ledger"), "ledger.json", tr("JSON (*.json)"))
        if path:
            job = Job(tr("Exporting the ledger"), partial(export_ledger, Path(path)))
            self.jobs.start(
                job, on_result=lambda done: self.session.notify("info", tr("Exported to {file}.", file=done))
            )

    def _accept_copy(self) -> None:
        view = self._view
        if view is None or not view.older:
            return
        text = tr(
            "{older}\n\nReleases that were charged in the missing entries are not counted here, although "
            "they are out. Look for the newest copy first. If it is lost, the ledger can go on from this "
            "one: it records that entries are missing, for good.",
            older=tr_sentence(view.older),
        )
        if confirm(self, tr("Go on with an older ledger?"), text, tr("Go on with this copy")):
            accept_copy(self.session, self.jobs, self.refresh)


def _spending(view: LedgerView, releases: Sequence[Release], names: Mapping[str, tuple[str, str]]) -> list[Spending]:
    """Return what each account has spent by ``releases`` (the newest first), for the picture."""
    caps = {a.dataset: a.standing_cap[0] for a in view.accounts if a.standing_cap is not None}
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
        title, _released = names.get(dataset, ("", ""))
        cap = caps.get(dataset)
        name = f"{title} {dataset[:NAME]}".lstrip()
        steps, crosses = tuple(charges.get(dataset, ())), tuple(refused.get(dataset, ()))
        found.append(Spending(name, steps, None if cap is None else float(cap), crosses))
    return found


def _titles(view: LedgerView, names: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return what a person calls each account, with enough of its id to distinguish two of the same name."""
    stated = {a.dataset: names.get(a.dataset, ("", "")) for a in view.accounts}
    return {dataset: f"{title} {dataset[:NAME]}".lstrip() for dataset, (title, _released) in stated.items()}


def _stated(account: Account, group: int, cell: Cell) -> Cell:
    """Return the cell of a dataset with how its account is counted, and that ``group`` tables share it."""
    stated, how = [], how_counted(account)
    if group:
        stated.append(
            tr_n(
                "{n} table about the same people shares this account.",
                "{n} tables about the same people share this account.",
                group,
            )
        )
    if how:
        stated.append(tr("Its releases are counted by {how}, not by their sum.", how=how))
    mark = f" · {tr('group of {group}', group=group)}" if group else ""
    return cell._replace(text=f"{cell.text}{mark}", tip="\n".join([cell.tip, *stated]))


def _budget_cells(account: Account) -> tuple[Cell, ...]:
    """Return cap of ε, spent, reserved and remaining, then cap and remaining of δ."""
    (cap, delta_cap), none = account.standing_cap or (None, None), Cell("–", "muted")
    (spent, _), (reserved, _) = account.spent, account.reserved
    left, delta_left = account.remaining, account.delta_remaining
    going_on = tr("Work that is going on: {exactly}", exactly=in_full(reserved))
    return (
        Cell(tr("none yet")) if cap is None else Cell(cap_beside(cap, left), "text", in_full(cap), entered(cap)),
        _paid(spent),
        _paid(reserved, "warn" if reserved else "muted", going_on),
        none if left is None else Cell(at_least(left), "text", in_full(left), entered(left)),
        none if delta_cap is None else Cell(entered(delta_cap)),
        none if delta_left is None else Cell(entered(delta_left)),
    )


def _called(work: str) -> str:
    """Return what a person calls a piece of work of the ledger; its own word where this version does not know it."""
    models = {f"fit {entry.name}": entry.title for entry in learners.LEARNERS} | {"dpsgd": "DP-SGD"}
    return tr_sentence(models[work]) if work in models else inside(NOISY if work == "sanitize" else work)


def _dataset(dataset: str, present: str, names: Mapping[str, tuple[str, str]]) -> Cell:
    title, released = names.get(dataset, ("", ""))
    beside = tr("{title} (open now)", title=title) if dataset == present else title
    tip = "\n".join(part for part in (title, released, dataset) if part)
    return Cell(f"{beside}  {dataset[:NAME]}".lstrip(), "text", tip)


def _dataset_of_line(dataset: str, names: Mapping[str, tuple[str, str]]) -> Cell:
    """Return a dataset by its name, beside which its fingerprint begins only where another one is called the same."""
    cell, title = _dataset(dataset, "", names), names.get(dataset, ("", ""))[0]
    alone = title and [other for other, _released in names.values()].count(title) == 1
    return cell._replace(text=title) if alone else cell


def _paid(epsilon: Decimal, look_of: str = "text", tip: str = "") -> Cell:
    return Cell(at_most(epsilon), look_of, tip or in_full(epsilon), entered(epsilon))


def _release_cells(line: Release, names: Mapping[str, tuple[str, str]], *, released: bool) -> tuple[Cell, ...]:
    dataset, output = _dataset_of_line(line.dataset, names), line.body.get("output", "")
    status = Cell(tr(SIGNS.get(line.status, line.status)), STATUS.get(line.status, "text"), line.status)
    if line.status in ("charged", "settled") and not released:
        status = Cell(
            tr("✓ charged, nothing released"),
            "warn",
            tr("No model is known for it: stopped or failed after private figures were shown"),
        )
    file = Path(output).name if output else ""
    return (
        _when(line.time),
        dataset,
        Cell(_called(line.body.get("work", ""))),
        _paid(line.epsilon),
        Cell(entered(line.delta), "text" if line.delta else "muted"),
        status,
        Cell(file or "–", "text" if file else "muted", output),
    )
