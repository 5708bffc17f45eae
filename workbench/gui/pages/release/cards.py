"""Cards of every release: its exact cost against the account, what ε does not cover, and what is said of images."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from PySide6.QtWidgets import QLineEdit, QWidget

from workbench.gui.pages.release.pane import FactOf
from workbench.gui.pages.release_account import (
    both_words,
    left_of,
    replaced_words,
    short_words,
    what_remains,
    with_delta,
)
from workbench.gui.pages.release_tasks import Foreseen
from workbench.gui.session.account_task import name_account, read_account, set_separate
from workbench.gui.session.error_text import sentence, ways_out
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets.basic import Card, Fact, Facts, button, caption, label, look, mark_wrong, named, row, say
from workbench.gui.widgets.dialogs import confirm
from workbench.gui.widgets.explain import Explainable, ask, of_plan
from workbench.gui.widgets.formatting import at_least, at_most, day_of, in_full, left_of_budget
from workbench.params import ParameterError
from workbench.sanitize.account_name import checked_name

NAME = tr_later(
    "A name that you make public. Only then do certificates state what was spent before and what remains; without a "
    "name, these figures would show whether the rows have changed between two releases"
)

OF_TABLE = tr_later(
    "This looks like a version of a table you released on {since}: most of its rows are the same. It shares that "
    "table's budget."
)
OF_IMAGES = tr_later(
    "This looks like a version of a set of images you released on {since}: most of its images are the same. It shares "
    "those images' budget."
)
OTHER_TABLE = tr_later(
    "{title} gets a budget of its own. If some of its rows are about the same people, they are then protected only by "
    "the sum of both budgets. The ledger records this for good."
)
OTHER_IMAGES = tr_later(
    "{title} gets a budget of its own. If some of its images are about the same people, they are then protected only "
    "by the sum of both budgets. The ledger records this for good."
)


class VersionCard(Card):
    """Says that the table was taken for a version of one that was released before, or may be; offers to disagree."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(spacing=6)
        self.setObjectName("release_version")
        self._session, self._jobs = session, jobs
        self._stated = label("", wrap=True, name="release_version_told")
        tip = tr("Give this table a budget of its own; recorded for good")
        self._other = button(tr("It is another table…"), "release_another_table", tip=tip, press=self._ask)
        self.body.addLayout(row((self._stated, 1), 12, self._other))
        self._ways = label("", wrap=True, name="release_who_pays")
        self.body.addWidget(self._ways)
        session.account_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        account = self._session.account
        since, doubt = account.version_of, account.error if account.in_doubt else None
        self.setVisible(bool(since or doubt) and self._session.open_data is not None)
        images = self._session.images is not None
        if doubt is None:
            stated = tr(OF_IMAGES if images else OF_TABLE, since=day_of(since))
        else:
            stated = as_sentence(tr_sentence(doubt.what))
        self._stated.setText(stated)
        say(self._ways, as_sentence("" if doubt is None else ways_out(doubt.remedies)))
        self._other.setText(tr("These are other images…") if images else tr("It is another table…"))
        self._other.setAccessibleName(self._other.text())

    def _ask(self) -> None:
        opened = self._session.open_data
        if opened is None:
            return
        if self._session.images is not None:
            title, what, text = tr("Are these other images?"), tr("These are other images"), OTHER_IMAGES
        else:
            title, what, text = tr("Is it another table?"), tr("It is another table"), OTHER_TABLE
        text = tr(text, title=opened.title)
        if confirm(self, title, text, what) and self._session.open_data is opened:
            set_separate(self._session, self._jobs, opened)


class AccountName(QWidget):
    """One line: the public name of the account."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        look(self, "clear")
        self._session, self._jobs = session, jobs
        self._name = named(QLineEdit(), "release_account", tr("Public name of the account"), tr(NAME))
        self._name.setPlaceholderText(tr("optional"))
        self._name.setFixedWidth(220)
        tip = tr("Give the account of this table that name")
        self._give = button(tr("Name the account…"), "release_name_account", tip=tip, press=self._ask)
        self._stated = label("", "muted", wrap=True, name="release_account_told")
        title = label(tr("Account's public name"))
        title.setToolTip(tr(NAME))
        title.setBuddy(self._name)
        self.setLayout(row(title, self._name, self._give, (self._stated, 1)))
        self._name.editingFinished.connect(self._take)
        session.plan_changed.connect(self.refresh)
        session.account_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        plan, account = self._session.plan, self._session.account
        self._name.setText(plan.account)
        mark_wrong(self._name, wrong=False)
        spent = account.releases > 0 or account.cap is not None
        # The first release under a new name names the account by itself.
        self._give.setVisible(bool(plan.account) and plan.account != account.name and not account.name and spent)
        if account.name and plan.account != account.name:
            self._stated.setText(tr("The account of this table is called {name}.", name=account.name))
        else:
            self._stated.setText(
                "" if plan.account else tr("Leave empty to keep the running total out of certificates.")
            )

    def _take(self) -> None:
        name = self._name.text().strip()
        try:
            stated = checked_name(name) if name else ""
        except ParameterError as error:
            mark_wrong(self._name, wrong=True)
            self._stated.setText(sentence(error))
            return
        plan = self._session.plan
        self._session.edit(
            tr("name the account {name}", name=stated) if stated else tr("name no account"),
            plan.with_(account=stated),
        )
        if self._session.account.in_doubt:
            read_account(self._session, self._jobs)
        self.refresh()

    def _ask(self) -> None:
        opened, name, account = self._session.opened, self._session.plan.account, self._session.account
        if opened is None or not name:
            return
        text = tr(
            "The account of {title} is called {name} from now on, and later certificates state its "
            "total: ε = {spent} so far. The ledger records this for good.",
            title=opened.title,
            name=name,
            spent=at_most(account.spent + account.reserved),
        )
        if (
            confirm(self, tr("Name the account?"), text, tr("Name it {name}", name=name))
            and self._session.opened is opened
        ):
            name_account(self._session, self._jobs, opened, name)


FIGURE_MEANS = tr_later("The most that anyone can learn about one row, compared with a table in which it is…")
PERSON_MEANS = tr_later(
    "The most that anyone can learn about one person, compared with a table in which their rows are…"
)
"""Shown below the ε and ended by each of the two lines that follow: … blanked, … replaced."""

ZERO_OUT = tr_later(
    "Zero-out neighbours: somebody's row is blanked, and the number of rows is public. The ledger counts this ε."
)
REPLACE_ONE = tr_later(
    "Replace-one neighbours: somebody's row is replaced by any other. A sanitised table bounds "
    "both by the same ε; a model that was trained with noise may need more here."
)


NEEDS = tr_later("⚠ Needs {cost}, but {left}.")
SECOND_NEEDS = tr_later("A second draw needs {cost}, but {left}.")

LEAVES = tr_later(
    "Only a trained network can be released of a set of images. Models, Train makes one with "
    "noise, charges it to the budget, and writes its folder: the weights and a card that states "
    "its ε. It is then listed in Released, where it can be verified."
)
STAYS = tr_later(
    "No image and no label is ever released, and no copy of the set, not even with noise: noisy "
    "rows, synthetic rows and statistics are for tables. What this window shows of the images, "
    "their counts, predictions and accuracies, is private as well."
)


class CostCard(Card):
    """The exact cost in both neighbouring relations, what remains of the cap, and two ways out where it is short."""

    def __init__(self, session: Session) -> None:
        super().__init__(spacing=6)
        self.setObjectName("release_cost")
        self.setAccessibleName(tr("What it costs"))
        self._session = session
        self._figure = label("–", "figure", name="release_epsilon")
        self._means = label(tr(FIGURE_MEANS), "muted", wrap=True, name="release_compared")
        self._facts = Facts()
        # (ε, δ) of one row that the caps still allow, where they do not pay for this.
        self.allowed: tuple[Decimal, Decimal] | None = None
        self._short = label("", "danger", wrap=True, name="release_short")
        tip = tr("Lower ε, and δ if there is one, to what remains under the cap")
        self.use_rest = button(tr("Use what remains"), "release_use_rest", tip=tip)
        tip = tr("Allow all releases of this table together more ε")
        self.raise_cap = button(tr("Raise the cap…"), "release_raise_cap", "link", tip=tip)
        self._explain = button(
            tr("What does it mean?"), "release_explain", "link", accessible=tr("What does this ε mean?")
        )
        self._explain.clicked.connect(lambda: ask(session, of_plan(session)))
        Explainable(self, session, lambda: of_plan(session))
        head = caption(tr("WHAT IT COSTS"), self._explain)
        self.body.add(head, self._figure, self._means, self._facts, self._short, self.use_rest, self.raise_cap, None)

    def show_cost(self, found: Foreseen | None, facts: tuple[FactOf, ...], *, done: bool) -> None:
        """Show a cost against the account; ``found`` is ``None`` until it is known, ``done`` if it was released."""
        session = self._session
        cost, delta = (session.plan.cost(), Decimal(0)) if found is None else (found.epsilon, found.delta)
        self._figure.setText(both_words(cost, delta) if cost is not None else "–")
        self._figure.setToolTip(in_full(cost))
        lines = self._neighbours(found, cost, delta)
        if session.plan.unit:
            most = tr_n("{n} row is read", "{n} rows are read", session.plan.rows_per_person)
            lines.append(Fact("rows_each", tr("of each {unit}", unit=session.plan.unit), most))
        elif session.plan.rows_per_person != 1:
            lines.append(Fact("rows_each", tr("rows of one person"), str(session.plan.rows_per_person)))
        self._means.setText(tr(PERSON_MEANS if session.plan.unit else FIGURE_MEANS))
        if delta:
            lines.append(Fact("delta", "δ", tr_number(float(delta), ".3g")))
        if found is not None:
            lines += [Fact(key, tr(words), said(found.facts), tip=tr(tip)) for key, words, tip, said in facts]
        self._facts.show_lines([*lines, *self._left(cost)])
        self._show_short(cost, delta, done=done)

    def _neighbours(self, found: Foreseen | None, cost: Decimal | None, delta: Decimal) -> list[Fact]:
        blanked = replaced = "–" if cost is None else with_delta(f"ε {at_most(cost)}", delta)
        if cost is None or (found is None and self._session.way != "rows"):
            replaced = "–"
        elif found is not None and not found.local:
            replaced = replaced_words(cost, delta).replace("ε = ", "ε ", 1)
        tip = f"{tr(ZERO_OUT)}\n{in_full(cost)}".strip()
        return [
            Fact("zero_out", tr("blanked (zero-out)"), blanked, tip=tip),
            Fact("replace_one", tr("replaced (replace-one)"), replaced, tip=tr(REPLACE_ONE)),
        ]

    def _left(self, cost: Decimal | None) -> Iterator[Fact]:
        account = self._session.account
        remaining = account.remaining
        if account.problem:
            stated = tr("not certain who pays") if account.in_doubt else tr("cannot be read")
            yield Fact("cap_left", tr("ledger"), stated, "danger")
        elif remaining is None:
            yield Fact("cap_left", tr("cap"), tr("this release sets it"), "muted")
        else:
            assert account.cap is not None
            what = tr("remains of ε {cap}", cap=at_least(account.cap))
            yield Fact("cap_left", what, left_of_budget(remaining), tip=in_full(remaining))
            after = remaining - (cost or Decimal(0))
            if cost is not None and after >= 0:
                yield Fact("after", tr("remains afterwards"), left_of_budget(after), "accent", in_full(after))
            elif cost is not None:
                yield Fact("after", tr("short by"), f"ε {at_most(-after)}", "danger", in_full(-after))

    def _show_short(self, cost: Decimal | None, delta: Decimal, *, done: bool) -> None:
        session = self._session
        short = short_words(session, cost, delta) if cost is not None else ""
        self.allowed = what_remains(session, cost or Decimal(0), delta) if short else None
        self._short.setVisible(bool(short))
        self.use_rest.setVisible(self.allowed is not None)
        self.raise_cap.setVisible(bool(short))
        if short and cost is not None:
            look(self._short, "muted" if done else "danger")
            words = SECOND_NEEDS if done else NEEDS
            self._short.setText(tr(words, cost=both_words(cost, delta), left=left_of(session, delta)))
        if self.allowed is not None:
            left = with_delta(f"ε = {at_least(self.allowed[0])}", self.allowed[1])
            self.use_rest.setText(tr("Use what remains ({left})", left=left))


class OutsideCard(Card):
    """What the ε does not cover, one sentence each."""

    def __init__(self) -> None:
        super().__init__(spacing=6)
        self.setObjectName("release_outside")
        self.setAccessibleName(tr("What the guarantee does not cover"))
        self._text = label("", wrap=True, name="release_outside_text")
        self.body.add(label(tr("NOT COVERED BY ε"), "caption"), self._text, None)

    def show_outside(self, sentences: tuple[str, ...] | None) -> None:
        look(self._text, "warn" if sentences else "muted")
        if sentences is None:
            self._text.setText(tr("Listed once the plan is ready."))
        else:
            nothing = tr("Nothing: every published value goes through a mechanism. The number of rows is public.")
            self._text.setText("\n".join(f"⚠ {tr_sentence(sentence)}" for sentence in sentences) or nothing)


class OnlyModelsCard(Card):
    """What can be released of images, what cannot, and what is left of the budget for it."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("release_of_images")
        self._session = session
        self._facts = Facts()
        self.body.add(
            label(tr("Only trained networks can be released of images"), "heading"),
            label(tr(LEAVES), wrap=True, name="release_leaves"),
            label(tr(STAYS), "muted", wrap=True, name="release_stays"),
            self._facts,
            None,
        )
        session.account_changed.connect(self.refresh)
        session.table_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        images, account = self._session.images, self._session.account
        self.setVisible(images is not None)
        if images is None:
            return
        remaining = account.remaining
        if account.problem:
            stated = account.problem
        elif remaining is None:
            stated = tr("the first network that is released sets its cap")
        elif remaining > 0:
            stated = tr("ε = {remaining} for further networks", remaining=at_least(remaining))
        else:
            stated = tr("nothing is left")
        facts = [
            Fact("release_images", tr("open"), f"{images.title}: {images.stated}"),
            Fact("release_images_left", tr("budget left"), stated),
        ]
        if outside := " ".join(map(tr_sentence, images.outside)):
            facts.append(Fact("release_images_outside", tr("not covered by ε"), outside, "warn"))
        self._facts.show_lines(facts)
