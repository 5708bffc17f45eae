"""The budget gauge: cap, spent, reserved, this plan, what is left; in numbers and as a bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Context, Decimal

from workbench.gui.session.account_view import AccountView, ReleasedStep
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_n, tr_sentence
from workbench.gui.widgets.bar import Bar, Part
from workbench.gui.widgets.basic import Card, Fact, Facts, button, label, panel, row
from workbench.gui.widgets.explain import Asked, Explainable, ask, noisy_rows, of_plan, percent
from workbench.gui.widgets.formatting import (
    at_least,
    at_most,
    cap_beside,
    entered,
    in_full,
    left_of_budget,
    only_left,
    together,
)
from workbench.gui.widgets.way_bar import MODEL, ROWS, inside
from workbench.privacy.accounting.posterior import posterior
from workbench.sanitize.intended_use import MODEL as A_MODEL
from workbench.sanitize.intended_use import WAYS, IntendedUse, recipient

HIGH = Decimal(5)  # an ε above which the gauge warns: a suspicion of 10 % can then grow to more than 94 %


class BudgetGauge(Card):
    """Follows the account and the plan of the session."""

    def __init__(self, session: Session) -> None:
        super().__init__(spacing=6)
        self.setObjectName("gauge_budget")
        self.setAccessibleName(tr("Privacy budget"))
        self._session = session
        self._figure = label("–", "figure", name="budget_figure")
        self._meaning = label("", "muted", wrap=True, name="budget_meaning")
        self._bar = Bar(session, "budget_bar")
        self._facts = Facts()
        self._warning = label("", "warn", wrap=True, name="budget_warning")
        self._explain = button(tr("What does this ε mean?"), "explain_plan", "link", tip=tr(_EXPLAIN_TIP))
        self._explain.clicked.connect(lambda: ask(session, of_plan(session)))
        Explainable(self, session, lambda: of_plan(session) if session.opened is not None else None)
        head = panel(row(self._figure, self._meaning, None))
        self.body.add(label(tr("BUDGET"), "caption"), head, self._bar, self._facts, self._warning, self._explain)
        for signal in (session.table_changed, session.plan_changed, session.account_changed, session.released_changed):
            signal.connect(self.refresh)
        session.paused_changed.connect(self.refresh)
        session.way_changed.connect(self.refresh)  # of a high ε it says what that allows of it
        self.refresh()

    def retranslate(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        session, account = self._session, self._session.account
        self._explain.setVisible(session.opened is not None)
        self._warning.hide()
        if session.open_data is None:
            self._show_nothing()
            return
        released = released_words([step for step in session.released if step.plan == session.plan])
        # What is released is in what was spent: it is not to be paid again.
        cost = None if released else session.plan.cost()
        stated = released if released else f"ε {at_most(cost)}" if cost is not None else tr("not ready")
        # What a network costs is shown where it is planned.
        facts = [Fact("plan", tr("this plan"), stated, "accent", in_full(cost))] if session.images is None else []
        self._explain.setText(tr("What ε = {epsilon} means", epsilon=at_most(of_plan(session).epsilon)))
        if account.problem:
            self._show_problem(account)
        elif account.cap is None:
            facts += self._show_first(cost)
        else:
            facts += self._show_account(account, account.cap, cost)
        self._facts.show_lines([*facts, *_delta_of(account)])
        if cost is not None and cost > HIGH:  # one sentence, as the explanation is below it
            self._warn(high_words(Asked(cost, local=noisy_rows(session))))
        elif cost is not None and (words := offered_words(session.questions, session.plan.epsilon)):
            self._warn(words)

    def _show_nothing(self) -> None:
        self._show_figure("–")
        self._meaning.setText(tr("no table yet"))
        self._bar.show_parts(())
        self._facts.show_lines(())

    def _show_problem(self, account: AccountView) -> None:
        self._show_figure("?")
        self._meaning.setText(tr("not certain who pays") if account.in_doubt else tr("ledger not read"))
        self._bar.show_parts(())
        self._warn(
            tr("This may be a known table: see Release, Settings.")
            if account.in_doubt
            else tr_sentence(account.problem)
        )

    def _show_first(self, cost: Decimal | None) -> list[Fact]:
        """Show a dataset that nothing was released of: its first release sets the cap."""
        self._show_figure(f"ε {at_most(cost)}" if cost is not None else "–", in_full(cost))
        self._meaning.setText(tr("of this plan") if self._session.images is None else tr("nothing released yet"))
        self._bar.show_parts((Part(1.0, "accent", hatched=True),) if cost is not None else ())
        return [Fact("cap", tr("cap"), tr("the first release sets it"), "muted"), Fact("spent", tr("spent"), "ε 0")]

    def _show_account(self, account: AccountView, cap: Decimal, cost: Decimal | None) -> list[Fact]:
        remaining = cap - account.spent - account.reserved
        after = remaining - (cost or Decimal(0))
        self._show_figure(left_of_budget(remaining), in_full(max(remaining, Decimal(0))))
        self._meaning.setText(tr("left"))
        going = account.releases - account.going
        name = tr_n("spent, {n} release", "spent, {n} releases", going) if going else tr("spent")
        facts = [
            Fact("cap", tr("cap"), f"ε {cap_beside(cap, remaining)}", tip=in_full(cap)),
            Fact("spent", name, f"ε {at_most(account.spent)}", tip=in_full(account.spent)),
        ]
        if account.reserved:
            tip = in_full(account.reserved)
            paused = account.reserved <= sum(run.epsilon for run in self._session.paused)
            words = tr("reserved for a paused run") if paused else tr("reserved, running")
            facts.append(Fact("reserved", words, f"ε {at_most(account.reserved)}", tip=tip))
        if cost is not None and after >= 0:
            facts.append(Fact("left", tr("left after this plan"), left_of_budget(after), tip=in_full(after)))
        elif cost is not None and not account.reserved:
            facts.append(Fact("left", tr("short for this plan"), f"ε {at_most(-after)}", "danger", in_full(-after)))
        whole = float(cap) or 1.0
        fits = after >= 0
        self._bar.show_parts(
            (
                Part(float(account.spent) / whole, "muted"),
                Part(float(account.reserved) / whole, "muted", hatched=True),
                Part(
                    min(float(cost or 0), max(float(remaining), 0.0)) / whole,
                    "accent" if fits else "danger",
                    hatched=True,
                ),
            )
        )
        if not fits and not account.reserved:  # who follows a run is not to read that something else is refused
            needs, left = at_most(cost or Decimal(0)), only_left(remaining)
            self._warn(tr("This plan needs ε = {needs}, but {left}: it would be refused.", needs=needs, left=left))
        return facts

    def _show_figure(self, text: str, tip: str = "") -> None:
        """Show the large figure and what is behind it; never the one with the tooltip of another."""
        self._figure.setText(text)
        self._figure.setToolTip(tip)

    def _warn(self, text: str) -> None:
        former = [] if self._warning.isHidden() else [self._warning.text()]
        self._warning.setText("\n".join([*former, f"⚠ {text}"]))
        self._warning.show()


_EXPLAIN_TIP = tr_later("What somebody who suspects a thing about one person can come to believe after the release")


def _delta_of(account: AccountView) -> Iterator[Fact]:
    """Return the line of δ once something was charged or capped in it: tables and counts have none."""
    left = account.delta_remaining
    if account.problem or left is None or account.delta_cap is None:
        return
    spent, reserved = entered(account.delta_spent), entered(account.delta_reserved)
    tip = (
        tr("δ spent {spent}, reserved {reserved}", spent=spent, reserved=reserved)
        if account.delta_reserved
        else tr("δ spent {spent}", spent=spent)
    )
    stated = tr("{left} of {cap}", left=at_least(max(left, Decimal(0))), cap=at_least(account.delta_cap))
    yield Fact("delta", tr("δ left"), stated, tip=tip)


def released_words(steps: Sequence[ReleasedStep]) -> str:
    """Return what was released by one plan: the table, a model, synthetic rows or figures; empty where nothing was."""
    stated = [inside(MODEL if s.model else s.central) for s in steps]
    if "" in stated:
        return tr("table released")
    kinds = list(dict.fromkeys(stated))
    return tr("{kinds} released", kinds=together(kinds)) if kinds else ""


def first_words(account: AccountView, epsilon: Decimal, delta: Decimal = Decimal(0), second: str = "") -> str:
    """Return what a release does to the caps that nobody has set yet, as further sentences; else nothing.

    ``second`` is, in words, what a second release would be of that this one leaves out.
    """
    first, of_delta = account.cap is None, bool(delta) and account.delta_cap is None
    if not first and not of_delta:
        return ""
    cap = f"δ = {entered(delta)}"
    if first:
        own = f"ε = {entered(epsilon)}"
        cap = tr("{epsilon} and {delta}", epsilon=own, delta=cap) if of_delta else own
    said = tr(
        "It also sets the cap to {cap}, or to more that you enter below; all releases and models of this table share "
        "it, and it can be raised later.",
        cap=cap,
    )
    if second and first:
        twice = entered(Context(prec=2, rounding=ROUND_CEILING).plus(2 * epsilon).normalize())
        room = tr("To release {second} as well, enter {twice}: it costs as much.", second=second, twice=twice)
        said = f"{said} {room}"
    return f" {said}"


DELTA_WORDS = tr_later("δ is the chance that the guarantee fails; the ledger is charged with it, too.")


def high_words(asked: Asked) -> str:
    """Return what a high ε allows, in words."""
    return tr(
        "ε = {epsilon} is high: a suspicion of 10 % can grow to {belief}.",
        epsilon=at_most(asked.epsilon),
        belief=percent(posterior(asked.of_fact, 0.1).high),
    )


def second_words(questions: IntendedUse, way: str) -> str:
    """Return in words the release that gives what ``way`` leaves out; empty where that is nothing.

    Of noisy rows little is learnt: where a model is asked for, it is named beside them.
    """
    second = questions.beside(way) if way in WAYS else ""
    if questions.target and (second == MODEL or (way == ROWS and A_MODEL in questions.answers)):
        return tr("a model of {target}", target=questions.target)
    return inside(second) if second else ""


def warned_of(questions: IntendedUse, planned: Decimal, charged: Asked) -> str:
    """Return the warning of a high ε before it is charged: what it allows, and why it is not offered, or nothing."""
    high = high_words(charged) if charged.epsilon > HIGH else ""
    return " ".join(filter(None, (high, offered_words(questions, planned))))


def offered_words(questions: IntendedUse, epsilon: Decimal) -> str:
    """Return why so high an ε is not offered to those who get the release; empty where it is."""
    if epsilon <= questions.most:
        return ""
    who = recipient(questions.recipient)
    return f"{tr_sentence(who.title)}: {tr_sentence(who.why)}"
