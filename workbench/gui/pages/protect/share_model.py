"""One row per attribute: what is done with it, by which mechanism, for which share of ε, and how far off it will be."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from workbench.gui.pages.protect.share_edits import fits, split, with_action, with_lock, with_share
from workbench.gui.pages.protect.tasks import Outlook
from workbench.gui.session.blocking import needed_first
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA, of_all
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence, typed
from workbench.gui.widgets.explain import Asked, of_one_row
from workbench.gui.widgets.formatting import at_most, count, entered, listed
from workbench.gui.widgets.table_model import Cell, Column, PlanModel
from workbench.params import ParameterError

NAME, ACTION, MECHANISM, SHARE, LOCK, ERROR = range(6)
ERROR_HELP = tr_later(
    "How far a released value is off on average, if every value is equally likely; for means and "
    "counts, ±: in 95 of 100 releases the figure over the rows of this table is within that "
    "margin. It follows from the mechanism alone"
)
ACTIONS = {"protect": tr_later("protect"), "drop": tr_later("drop"), "keep": tr_later("keep")}
LOCKED, FREED = tr_later("lock the share of {columns}"), tr_later("free the share of {columns}")
EDITS = {
    "protect": tr_later("protect {columns}"),
    "drop": tr_later("drop {columns}"),
    "keep": tr_later("keep {columns}"),
}
AUTO = "auto"
NOTHING = "–"
KEPT = tr_later("Published as it is: no ε covers it, and the certificate will say so. Protect or drop it, if you can.")
USELESS = tr_later("Mostly noise: writing the same value in every row would be about as close, at no privacy cost.")
NOISE = tr_later("Even over all rows a mean or a count would be mostly noise.")
BARE = tr_later("Nearly every value leaves as it is: the mechanism hides almost nothing at this share.")
TARGET_NEEDS = tr_later(
    "The target starts with more than the others: a model needs its classes most. Split evenly undoes that"
)


class ShareModel(PlanModel):
    """The draft's columns with their shares and outlooks."""

    def __init__(self, session: Session) -> None:
        columns = (
            Column(tr("Attribute"), self._name, tr("The column of the table"), width=130, grows=0.2),
            Column(
                tr("Action"),
                self._action,
                tr("protect: each value through a mechanism. drop: the column is left out. keep: published as it is"),
                width=88,
                choices=tuple(ACTIONS),
                edit=self._act,
            ),
            Column(
                tr("Mechanism"),
                self._mechanism,
                tr("How a value is made uncertain; ★ is the advisor's choice, the best for what the column is for"),
                width=240,
                grows=0.1,
                choices=lambda at: [words for words, _ in self.choices_at(at)],
                edit=self._choose,
            ),
            Column(
                tr("Share of ε"),
                self._share,
                tr("What the column takes of the plan's ε; a share that is typed is locked"),
                width=92,
                right=True,
                field="share_editor",
                spoken=tr("Share of ε"),
                edit=self._give,
            ),
            Column(
                tr("Lock"),
                self._locked,
                tr("A locked share stays when others are moved; the free ones share what is left"),
                width=56,
                grows=0.1,
                tick=self._lock,
            ),
            # A figure that is cut reads as another one, a name does not.
            Column(tr("Expected error"), self._error, tr(ERROR_HELP), width=164, right=True),
        )
        super().__init__(session, columns)
        self._outlooks: dict[str, Outlook] = {}
        self._split: dict[str, Decimal] = {}
        self.problem = ""
        self._rows = 0
        self.follow_plan()

    # -- what the rows are ----------------------------------------------------------------------------------------

    def height(self) -> int:
        """Return the number of attributes."""
        return self._rows

    def order(self) -> list[int]:
        """Return the rows as they are shown unsorted: what is released comes first."""
        return [at for at in needed_first(self.session.plan) if at < self._rows]

    def needs_at(self, at: int) -> bool:
        """Whether an attribute is open or wrong, kept, read off the rows, mostly noise, faded or hardly hidden."""
        column = self.column_at(at)
        taken = column.protected and column.bounds_origin == "data"
        return bool(column.problems()) or column.action == "keep" or taken or _warned(self.outlook_at(at))

    def shares(self) -> dict[str, Decimal]:
        """Return the shares as they are; empty where the locked ones do not fit into ε."""
        return self._split

    def asked_at(self, at: int) -> Asked | None:
        """Return the share of an attribute as a question about what it means, ``None`` where it has none."""
        name = self.column_at(at).name if 0 <= at < self.rowCount() else ""
        return of_one_row(self.session, self._split[name], name) if name in self._split else None

    def outlook_at(self, at: int) -> Outlook | None:
        """Return the newest outlook of an attribute; :meth:`current` says whether it is up to date."""
        column = self.column_at(at)
        return self._outlooks.get(column.name) if column.protected and not column.problems() else None

    def current(self, at: int) -> bool:
        """Whether the outlook of an attribute is about its present share and mechanism."""
        outlook, column = self.outlook_at(at), self.column_at(at)
        return outlook is not None and outlook.column == column and outlook.share == self._split.get(column.name)

    def outdated(self) -> tuple[tuple[DraftColumn, Decimal], ...]:
        """Return the columns, each with its share, whose outlook is to be computed: of hundreds an edit touches few."""
        return tuple(
            (column, self._split[column.name])
            for at, column in enumerate(self.session.plan.columns)
            if column.name in self._split and not column.problems() and not self.current(at)
        )

    def choices_at(self, at: int) -> tuple[tuple[str, str], ...]:
        """Return (words, name in a plan) of every mechanism that can be chosen for an attribute."""
        outlook, column = self.outlook_at(at), self.column_at(at)
        if outlook is None:
            usual = tr("auto"), AUTO
            return (usual,) if column.mechanism == AUTO else (usual, (column.mechanism,) * 2)
        made = [(tr("advisor's choice ★  {error}", error=outlook.relevant(outlook.candidates[0])), AUTO)]
        made += [(f"{tr_sentence(c.title)}  {outlook.relevant(c)}", c.name) for c in outlook.candidates]
        return tuple(made)

    def follow_plan(self) -> None:
        """Take the plan as it is now."""
        plan = self.session.plan
        try:
            self._split, self.problem = split(plan), ""
        except ParameterError as error:
            self._split, self.problem = {}, str(error)
        if len(plan.columns) != self._rows:
            self.beginResetModel()
            self._rows = len(plan.columns)
            self.endResetModel()
        self.refresh()

    def forget(self) -> None:
        """Forget the outlooks: they belong to another table, which :meth:`follow_plan` then shows."""
        self._outlooks.clear()

    def take_outlooks(self, outlooks: tuple[Outlook, ...]) -> None:
        """Show what a job has computed."""
        self._outlooks |= {o.column.name: o for o in outlooks}
        self.refresh()

    def useless(self) -> list[Outlook]:
        """Return the outlooks of the columns that are mostly noise at their share."""
        shown = [self.outlook_at(at) for at in range(self._rows)]
        return [outlook for outlook in shown if outlook is not None and outlook.useless]

    # -- edits ----------------------------------------------------------------------------------------------------

    def _lock(self, at: int, locked: bool) -> None:
        columns = [c for c in self.edited_with(at) if c.protected and (c.epsilon is not None) != locked]
        plan = self.session.plan
        for column in columns:
            plan = with_lock(plan, column.name, locked)
        self.session.edit(tr(LOCKED if locked else FREED, columns=of_all(columns)), plan)

    def _act(self, at: int, action: str) -> None:
        session, columns = self.session, self.edited_with(at)
        profiles = session.opened.profiles if session.opened else {}
        kinds = {name: profile.kind for name, profile in profiles.items()}
        session.edit(tr(EDITS[action], columns=of_all(columns)), with_action(session.plan, columns, action, kinds))

    def _give(self, at: int, text: str) -> None:
        columns, plan = [c for c in self.edited_with(at) if c.protected], self.session.plan
        share = _number(text, columns[0].name)
        for column in columns:
            plan = with_share(plan, column.name, share, lock=True)
        self.session.edit(tr("give {columns} {share} of ε", columns=of_all(columns), share=entered(share)), plan)

    def _choose(self, at: int, text: str) -> None:
        mechanism = next((name for words, name in self.choices_at(at) if words == text), None)
        if mechanism is None:
            return
        columns = [c for c in self.edited_with(at) if c.protected]
        fitting = [c for c in columns if fits(c, mechanism)]
        made = self.session.plan.with_columns({c.name: {"mechanism": mechanism} for c in fitting})
        self.session.edit(tr("choose the mechanism of {columns}", columns=of_all(fitting)), made)
        others = [c.name for c in columns if c not in fitting]
        if others:
            self.session.notify(
                "info",
                tr(
                    "Chosen for {fitting}; it does not fit {others}.",
                    fitting=count(len(fitting), "column"),
                    others=listed(others),
                ),
            )

    # -- cells ----------------------------------------------------------------------------------------------------

    def _name(self, at: int) -> Cell:
        column = self.column_at(at)
        cell = Cell(column.name, tip=column.name, key=column.name.casefold())
        if not column.protected:
            return cell._replace(look="muted", tip=tr(KEPT) if column.action == "keep" else column.name)
        if column.bounds_origin == "data":
            return cell._replace(text=f"{column.name}  ⚠", look="warn", tip=tr(FROM_DATA))
        return cell

    def _action(self, at: int) -> Cell:
        action = self.column_at(at).action
        cell = Cell(tr(ACTIONS[action]), key=action, value=action)
        if action == "keep":
            return cell._replace(text=tr("keep ⚠"), look="warn", tip=tr(KEPT))
        return cell if action == "protect" else cell._replace(look="muted")

    def _mechanism(self, at: int) -> Cell:
        column, outlook = self.column_at(at), self.outlook_at(at)
        if not column.protected:
            return _unprotected(column, tr("published as it is"))
        value = next((words for words, name in self.choices_at(at) if name == column.mechanism), "")
        if outlook is None:
            return Cell(NOTHING if column.problems() else "…", value=value)
        title = tr_sentence(outlook.used.title)
        return Cell(f"{title}  ★" if outlook.advised else title, key=title.casefold(), value=value)

    def _share(self, at: int) -> Cell:
        column = self.column_at(at)
        if not column.protected:
            return _unprotected(column, NOTHING)
        share, tip = self._split.get(column.name, column.epsilon), ""
        if share is None:
            return Cell(NOTHING, value="")
        if column.name in self._split:
            more = [tr(TARGET_NEEDS)] if column.role == "target" and column.weight > 1 else []
            tip = ". ".join([tr("{share} exactly", share=entered(share)), *more])
        key = self._split.get(column.name)
        return Cell(at_most(share), tip=tip, key=key, value=entered(Decimal(f"{share:.6g}")))

    def _locked(self, at: int) -> Cell:
        column = self.column_at(at)
        if not column.protected:
            return _unprotected(column, "")
        locked = column.epsilon is not None
        return Cell(tr("locked") if locked else "", "muted", key=not locked, ticked=locked)

    def _error(self, at: int) -> Cell:
        column, outlook = self.column_at(at), self.outlook_at(at)
        if not column.protected:
            return _unprotected(column, tr("not protected"), "warn")
        if column.problems():
            return Cell(tr("not declared yet"), "warn")
        if outlook is None:
            return Cell("…", "muted")
        cell = Cell(outlook.relevant(outlook.used), "" if self.current(at) else "muted", key=outlook.noise)
        if not _warned(outlook):
            return cell
        tip = outlook.faded_words
        if outlook.useless:
            tip = tr(NOISE) if outlook.for_statistics else tr(USELESS)
        elif outlook.bare:
            tip = tr(BARE)
        return cell._replace(text=f"{cell.text} ⚠", look="warn", tip=tip)


def _warned(outlook: Outlook | None) -> bool:
    return outlook is not None and (outlook.useless or outlook.bare or outlook.faded)


def _unprotected(column: DraftColumn, kept: str, look: str = "muted") -> Cell:
    """Return the cell of a column that is kept, with a word about it, or dropped."""
    if column.action == "keep":
        return Cell(kept, look, tr(KEPT))
    return Cell(NOTHING if kept else "", "muted")


def _number(text: str, name: str) -> Decimal:
    try:
        share = Decimal(typed(text))
    except InvalidOperation:
        share = Decimal("NaN")
    if not share.is_finite() or len(share.normalize().as_tuple().digits) > 15:
        raise ParameterError(
            tr("{text} is not a share", text=repr(text.strip())), f"column {name}", tr("write a number such as 0.3")
        )
    return share
