"""One row per attribute: what is done with it, by which mechanism, for which share of ε, and how far off it will be."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from workbench.gui.pages.protect.tasks import Candidate, Outlook
from workbench.gui.session.blocking import needed_first
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import FROM_DATA, of_all, protect_changes
from workbench.gui.session.session import Session
from workbench.gui.style.language import capital, tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets.explain import Asked, of_one_row
from workbench.gui.widgets.formatting import at_least, at_most, count, entered, listed
from workbench.gui.widgets.table_model import Cell, Column, PlanModel
from workbench.params import ParameterError
from workbench.privacy.local.mechanisms import mechanism
from workbench.sanitize.budget_split import shares

OTHER_WAY = tr_later("release synthetic rows or a private model")  # where noisy rows are of little use

OF_ROWS = tr_later("one value {one}, {statistic} over the {rows}")
OF_CLAMPED = tr_later("one value {one}, {statistic} over the {rows} (of clamped values)")
TWO_ANSWERS = tr_later(
    "Every released value is one of the two bounds: the mean can be estimated from them, nothing else."
)
TWO_OR_MISSING = tr_later(
    "Every released value is one of the two bounds, or missing: the mean can be estimated from them, and how many are "
    "missing, nothing else."
)


def why(column: DraftColumn, outlook: Outlook | None, share: Decimal | None) -> str:
    """Return what is done with a column, by which mechanism, and how far off it will be."""
    if column.action == "drop":
        return tr("Dropped: nothing of it is released, and it takes no ε.")
    if column.action == "keep":
        return tr("Kept as it is.")
    if column.problems():
        return tr("{problem}: go back to Data.", problem=capital(tr_sentence(column.problems()[0].text)))
    if outlook is None or share is None:
        return "…"
    used, best = outlook.used, outlook.candidates[0]
    both = _both_errors(outlook, used)
    title = capital(tr_sentence(used.title))
    said = {"title": title, "share": at_most(share), "errors": both}
    if outlook.advised:
        aim = tr("the least noise in statistics") if outlook.for_statistics else tr("the least error")
        alone = len(outlook.candidates) == 1
        fit = tr("the only mechanism that fits") if alone else tr("{aim} of those that fit", aim=aim)
        stated = tr("{title} ★ at a share of {share}: {errors}; {fit}.", fit=fit, **said)
    else:
        stated = tr(
            "{title}, chosen by you, at a share of {share}: {errors}. The {advised} ★ is recommended: {best}.",
            advised=tr_sentence(best.title),
            best=outlook.relevant(best),
            **said,
        )
    if outlook.two_answers:
        return f"{stated} {tr(TWO_OR_MISSING if outlook.may_miss else TWO_ANSWERS)}"
    return stated


def _both_errors(outlook: Outlook, used: Candidate) -> str:
    """Return the error of one value and that of a statistic over the table's rows."""
    one, statistic = outlook.in_words(used.error), outlook.statistic_in_words(used.statistic)
    if used.statistic is None:
        return tr("one value {one}, {statistic}", one=one, statistic=statistic)
    words = OF_CLAMPED if outlook.column.numeric else OF_ROWS
    return tr(words, one=one, statistic=statistic, rows=count(outlook.rows, "row"))


def warning(column: DraftColumn, outlook: Outlook | None, *, high: bool) -> str:
    """Return the warning about a column with its ways out, or nothing; ``high`` says that ε is high already."""
    if column.action == "keep":
        return tr(KEPT)
    relations = f"{outlook.faded_words} " if outlook is not None and outlook.faded else ""
    if outlook is not None and outlook.useless and outlook.for_statistics:
        noise = tr("Even over all {rows} a mean or a count is mostly noise.", rows=count(outlook.rows, "row"))
        return f"{noise} {_ways(outlook, high=high)}"
    if outlook is not None and outlook.useless:
        noise = tr(
            "Writing “{answer}” in every row would be {closeness}, at no privacy cost: at this share, {name} is mostly "
            "noise.",
            answer=outlook.constant,
            closeness=outlook.useless_words,
            name=column.name,
        )
        return f"{noise} {relations}{_ways(outlook, high=high)}"
    if outlook is not None and outlook.bare:
        return tr(
            "At this share nearly every value is published unchanged: anyone who sees the release can be almost "
            "sure of a person's {name}. Give it less ε, or ask whether it has to be published.",
            name=column.name,
        )
    if outlook is not None and relations:
        taken = f" {tr(FROM_DATA)}" if column.bounds_origin == "data" else ""
        return f"{relations}{_ways(outlook, high=high)}{taken}"
    if column.protected and column.bounds_origin == "data":
        return tr(FROM_DATA)
    if outlook is not None and outlook.capped is not None:
        return tr(
            "A share above {most} uses the table for {most}: the rest is wasted.",
            most=tr_number(outlook.capped, "g"),
        )
    return ""


def _ways(outlook: Outlook, *, high: bool) -> str:
    """Return the ways out of a column that is mostly noise or faded; more ε is none where ε is high already."""
    helps = outlook.statistics_help and not outlook.for_statistics
    statistics = [tr("choose “means and counts” below")] if helps else []
    more = [] if high else [tr("raise ε")]
    steps = [tr("round it to fewer steps")] if outlook.for_statistics and outlook.column.numeric else []
    return f"{_either([tr('Drop columns'), *statistics, *steps, *more, tr(OTHER_WAY)])}."


def note(useless: Sequence[Outlook], epsilon: Decimal, *, high: bool) -> str:
    """Return the one warning about a plan as a whole: what is mostly noise, how weak ε is, and the ways out of both."""
    names = listed([outlook.column.name for outlook in useless])
    helped = any(o.statistics_help and not o.for_statistics for o in useless)
    statistics = [tr("choose “means and counts” for what you need the average of")] if helped else []
    ways = _either([tr("drop columns"), *statistics, *([] if high else [tr("raise ε")]), tr(OTHER_WAY)])
    weak = tr("At ε = {epsilon} the guarantee says little about any one row", epsilon=at_most(epsilon))
    if high and useless:
        return tr("⚠ {weak}, and {names} would still be mostly noise: {ways}.", weak=weak, names=names, ways=ways)
    if useless:
        return f"{tr('⚠ Mostly noise at this ε: {names}.', names=names)} {capital(ways)}."
    return f"⚠ {weak}." if high else ""


def _either(ways: Sequence[str]) -> str:
    return tr("{ways}, or {last}", ways=", ".join(ways[:-1]), last=ways[-1])


# -- the words --------------------------------------------------------------------------------------------------------


LEAST = Decimal("1e-6")  # the least share a table can be built for


def split(draft: DraftPlan) -> dict[str, Decimal]:
    """Return the share of each protected column, whether or not its public facts are declared yet.

    Raises:
        ParameterError: the locked shares exceed ε, or leave too little for the others.
    """
    return shares(draft.epsilon, draft.protected) if draft.protected else {}


def with_share(draft: DraftPlan, name: str, share: Decimal, *, lock: bool) -> DraftPlan:
    """Return the draft in which ``name`` has ``share`` and the other free columns split the rest as before.

    With ``lock`` the share is written into the plan, exactly; else it follows further moves of the others.

    Raises:
        ParameterError: no other column is free, or the share does not fit into ε.
    """
    free = [c for c in draft.protected if c.epsilon is None and c.name != name]
    if not free:
        raise ParameterError(*_nothing_free(draft, name))
    room = draft.epsilon - sum((c.epsilon for c in draft.protected if c.epsilon and c.name != name), Decimal(0))
    most = room - LEAST * len(free)
    if not LEAST <= share <= most:
        raise ParameterError(
            tr(
                "a share of {share} does not fit: the other columns leave {most}",
                share=entered(share),
                most=at_least(max(most, Decimal(0))),
            ),
            f"column {name}",
            tr("write less, raise ε, or free a lock"),
        )
    made = draft.with_column(name, epsilon=share if lock else None)
    if not lock:
        made = _weighted(made, name, float(share / room))
    split(made)  # refuses what would starve a column
    return made


def with_lock(draft: DraftPlan, name: str, locked: bool) -> DraftPlan:
    """Return the draft in which the share of ``name`` is locked or free; no share moves by it, but for its tail.

    Freed and locked again, a share of 0.3 is 0.3: what the weights make of it beyond nine digits is cut.

    Raises:
        ParameterError: it is the last free column.
    """
    present = split(draft)[name]
    if locked:
        if not any(c.epsilon is None and c.name != name for c in draft.protected):
            raise ParameterError(*_nothing_free(draft, name))
        return draft.with_column(name, epsilon=Decimal(f"{present:.9g}"))
    if any(c.epsilon is None for c in draft.protected):
        return with_share(draft, name, present, lock=False)
    return draft.with_column(name, epsilon=None, weight=1.0)


def with_action(session: Session, columns: Sequence[DraftColumn], action: str) -> DraftPlan:
    """Return the plan with another action for columns; their locks go, and one column stays free."""
    made: dict[str, dict[str, Any]] = {}
    for column in (c for c in columns if c.action != action):
        protected = action == "protect"
        changes = protect_changes(column, session.kind_of(column.name)) if protected else {"action": action}
        made[column.name] = {**changes, "epsilon": None}
    return settled(session.plan.with_columns(made))


def fits(column: DraftColumn, mechanism: str) -> bool:
    """Return whether a column can go through a mechanism; what is wrong with it anyhow does not count."""
    before = {problem.text for problem in column.problems()}
    return {problem.text for problem in dataclasses.replace(column, mechanism=mechanism).problems()} <= before


def settled(draft: DraftPlan) -> DraftPlan:
    """Return the draft with the largest locked share freed where all are locked: it takes what the others leave."""
    if not draft.protected or any(c.epsilon is None for c in draft.protected):
        return draft
    largest = max(draft.protected, key=lambda c: c.epsilon or Decimal(0))
    return draft.with_column(largest.name, epsilon=None, weight=1.0)


def evenly(draft: DraftPlan) -> DraftPlan:
    """Return the draft with every lock freed and all weights equal."""
    moved = [c.name for c in draft.columns if (c.epsilon, c.weight) != (None, 1.0)]
    return draft.with_columns({name: {"epsilon": None, "weight": 1.0} for name in moved})


def _weighted(draft: DraftPlan, name: str, part: float) -> DraftPlan:
    """Return the draft in which ``name`` takes ``part`` of what locks leave; weights keep a mean of 1."""
    free = [c for c in draft.protected if c.epsilon is None]
    others = sum(c.weight for c in free if c.name != name)

    def weight(column: DraftColumn) -> float:
        return part * len(free) if column.name == name else column.weight / others * (1 - part) * len(free)

    return draft.with_columns({c.name: {"weight": weight(c)} for c in free})


def _nothing_free(draft: DraftPlan, name: str) -> tuple[str, str, str]:
    if len(draft.protected) == 1:
        return tr("the only protected column takes all of ε"), f"column {name}", tr("change ε itself")
    return tr("one share stays free, so that the sum is exactly ε"), f"column {name}", tr("free another lock first")


# -- the table --------------------------------------------------------------------------------------------------------


NAME, ACTION, MECHANISM, SHARE, LOCK, ERROR = range(6)
ERROR_HELP = tr_later(
    "How far a released value is off on average, if every value is equally likely; for means and counts, ±: in 95 of "
    "100 releases the figure over the rows of this table is within that margin. It follows from the mechanism alone"
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
                tr("The column's share of the plan's ε; a share that is typed is locked"),
                width=92,
                right=True,
                field="share_editor",
                spoken=tr("Share of ε"),
                edit=self._give,
            ),
            Column(
                tr("Lock"),
                self._locked,
                tr("A locked share stays the same when others are moved; the free ones divide the rest"),
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
        self.follow_plan()

    # -- what the rows are ----------------------------------------------------------------------------------------

    def order(self) -> list[int]:
        return needed_first(self.session.plan) if self.height() else []

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
        outlook, column = self.outlook_at(at), self.column_at(at)
        if outlook is None:
            named = [] if column.mechanism == AUTO else [column.mechanism]
            return (tr("auto"), AUTO), *((tr_sentence(mechanism(name).title), name) for name in named)
        made = [(tr("advisor's choice ★  {error}", error=outlook.relevant(outlook.candidates[0])), AUTO)]
        made += [(f"{tr_sentence(c.title)}  {outlook.relevant(c)}", c.name) for c in outlook.candidates]
        return tuple(made)

    def follow_plan(self) -> None:
        plan = self.session.plan
        try:
            self._split, self.problem = split(plan), ""
        except ParameterError as error:
            self._split, self.problem = {}, str(error)
        self.refresh()

    def start_over(self) -> None:
        self._outlooks.clear()
        super().start_over()

    def take_outlooks(self, outlooks: tuple[Outlook, ...]) -> None:
        self._outlooks |= {o.column.name: o for o in outlooks}
        self.refresh()

    def useless(self) -> list[Outlook]:
        shown = [self.outlook_at(at) for at in range(self.height())]
        return [outlook for outlook in shown if outlook is not None and outlook.useless]

    # -- edits ----------------------------------------------------------------------------------------------------

    def _lock(self, at: int, locked: bool) -> None:
        columns = [c for c in self.edited_with(at) if c.protected and (c.epsilon is not None) != locked]
        plan = self.session.plan
        for column in columns:
            plan = with_lock(plan, column.name, locked)
        self.session.edit(tr(LOCKED if locked else FREED, columns=of_all(columns)), plan)

    def _act(self, at: int, action: str) -> None:
        columns = self.edited_with(at)
        self.session.edit(tr(EDITS[action], columns=of_all(columns)), with_action(self.session, columns, action))

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
            chosen = {"fitting": count(len(fitting), "column"), "others": listed(others)}
            self.session.notify("info", tr("Chosen for {fitting}; it does not fit {others}.", **chosen))

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
            tip = tr("Nearly every value is published unchanged: the mechanism hides almost nothing at this share.")
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
