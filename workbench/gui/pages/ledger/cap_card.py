"""The account of the table that is open: its cap, how its releases are counted, and who else shares it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from workbench.gui.gauges.cap_entry import set_cap, sure_words
from workbench.gui.pages.ledger.tasks import for_persons, how_counted, join_group, set_count
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Card, button, label, lines, mark_wrong, named, show_if, stack
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import Entry, choose, confirm
from workbench.gui.widgets.epsilon_entry import DeltaEntry, PrivacyEntry
from workbench.gui.widgets.formatting import at_least, at_most, cap_beside, entered, exactly, in_full, still_left
from workbench.params.field import RealField

if TYPE_CHECKING:
    from workbench.release.ledger.records import Account

LOW, HIGH = Decimal("1e-6"), Decimal("1e6")
SLIDER = Decimal("0.01"), Decimal(100)  # what the slider offers; the field takes every cap that the ledger does

BY_SUM = tr_later("Its releases are added up: ten releases of ε = 0.1 count as 1.")
BY_FILTER = tr_later("Its releases are counted by {how}: many small ones count for less than their sum.")
ASK_FILTER = tr_later(
    "Now the ε of every release is added up. A Rényi filter is a proven way of adding that lets "
    "many small releases count for less: under a cap of ε = 2 and δ = 1e-5 it allows 2,000 "
    "releases of ε = 0.01, where the sum allows 200. A few large releases still count as their "
    "sum.\n\nThe price is δ: half of the cap of δ is set aside for it. Its order is chosen now, "
    "for the present cap, and stays the same for good. The ledger records the choice, and "
    "certificates of this account name it from then on."
)
ASK_SUM = tr_later(
    "Every release, earlier ones included, then counts with its full ε again. If their sum is "
    "above the cap, nothing more can be released until the cap is raised. The ledger records the "
    "choice for good."
)
NEEDS_CAPS = tr_later("Set a cap of ε and of δ first: a Rényi filter is chosen for both.")


class DeltaCap(DeltaEntry):
    """The cap of δ; empty leaves it as it is."""

    spec = RealField(help=tr_later("the cap of δ"), symbol="δ", at_least=0, below=1)

    def __init__(self, name: str, tip: str) -> None:
        super().__init__(name)
        named(self, name, tr("Cap of δ"), tip).setPlaceholderText(tr("none yet"))

    def show_present(self, cap: Decimal | None) -> None:
        """Show the cap that holds, unless the person is typing another."""
        if not self.hasFocus():
            self.setText("" if cap is None else entered(cap))
            mark_wrong(self, wrong=False)

    def value(self) -> Decimal | None:
        return super().value() if self.text().strip() else None


class OtherAccount(Entry):
    """Which account the table is to share."""

    def __init__(self, others: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._box = named(ChoiceBox(), "ledger_group_with", tr("The account of the same people"))
        for dataset, title in others:
            self._box.addItem(title, dataset)
        self.setLayout(stack(self._box, margins=(0, 8, 0, 8)))

    def problem(self) -> str:
        return "" if self._box.currentData() else tr("there is no other account")

    def chosen(self) -> str:
        return str(self._box.currentData() or "")


class CapCard(Card):
    """Cap, count and group of the table that is open."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        self._title = label("", "muted", wrap=True, name="ledger_cap_title")
        self._line, self._more = QWidget(), QWidget()
        self._caption = label("", "caption", name="ledger_cap_caption")
        super().__init__(self._caption, self._title, self._line, self._more)
        self.session, self.jobs = session, jobs
        self._accounts: Sequence[Account] = ()
        self._titles: dict[str, str] = {}
        self._cap = PrivacyEntry(
            "ledger_cap",
            LOW,
            HIGH,
            Decimal(1),
            help_text=tr("ε of all releases of this dataset together"),
            slider=SLIDER,
            ends=(tr("stricter"), tr("looser")),
        )
        self._delta = DeltaCap(
            "ledger_delta", tr("δ of all releases of this dataset together; only training with DP-SGD needs it")
        )
        tip = tr("The ledger records every change of a cap for good")
        self._set = button(tr("Set the cap…"), "ledger_set_cap", tip=tip, press=self._set_cap)
        self._line.setLayout(lines((self._cap, 1), label("δ", "muted"), self._delta, self._set, spacing=12))
        self._counted = label("", "muted", wrap=True, name="ledger_counted")
        tip = tr("Choose how the releases of this account add up")
        self._count = button(tr("Count differently…"), "ledger_count", tip=tip, press=self._set_count)
        tip = tr("Charge this table to the account of another one about the same people")
        self._group = button(tr("Same people as…"), "ledger_group", tip=tip, press=self._join)
        self._more.setLayout(lines((self._counted, 1), self._count, self._group, spacing=12))

    def show_accounts(self, accounts: Sequence[Account], titles: dict[str, str]) -> None:
        self._accounts, self._titles = accounts, titles
        self.refresh()

    def refresh(self) -> None:
        opened, account = self.session.open_data, self.session.account
        table = self.session.images is None
        self._caption.setText(
            tr("ACCOUNT OF THE TABLE THAT IS OPEN") if table else tr("ACCOUNT OF THE IMAGES THAT ARE OPEN")
        )
        usable = opened is not None and bool(account.dataset)
        show_if(usable, self._line, self._more)
        tip = ""
        if opened is None:
            self._title.setText(tr("Open a table or images to set the cap of the dataset."))
        elif account.problem:
            self._title.setText(account.problem)
        elif account.cap is None:
            said = tr("{title} has no cap yet; without one its first release sets it.", title=opened.title)
            self._title.setText(said)
        else:
            remaining = max(account.remaining or Decimal(0), Decimal(0))
            stated = tr(
                "{title}: cap ε = {cap}; {remaining}.",
                title=opened.title,
                cap=cap_beside(account.cap, remaining),
                remaining=still_left(remaining),
            )
            tip = tr("Cap: {cap}. Remaining: {remaining}.", cap=in_full(account.cap), remaining=in_full(remaining))
            if account.delta_remaining is not None and account.delta_cap is not None:
                left = still_left(account.delta_remaining, f"δ = {at_least(account.delta_remaining)}")
                of_delta = tr("Cap δ = {cap}; {left}.", cap=at_least(account.delta_cap), left=left)
                stated = f"{stated} {of_delta}"
            if any(for_persons(a) for a in self._accounts if a.dataset == account.dataset):
                stated = f"{stated} {tr('Both are for each person.')}"
            self._title.setText(stated)
            if not self._cap.field.hasFocus():
                self._cap.set_value(min(max(account.cap, LOW), HIGH))
        self._delta.show_present(account.delta_cap)
        self._title.setToolTip(tip)
        how = self._how()
        self._counted.setText(tr(BY_FILTER, how=how) if how else tr(BY_SUM))
        ready = bool(how) or (account.cap is not None and bool(account.delta_cap))
        self._count.setEnabled(ready)
        self._count.setToolTip(tr("Choose how the releases of this account add up") if ready else tr(NEEDS_CAPS))
        self._group.setEnabled(bool(self._others()))

    def _how(self) -> str:
        """Return how the open table's releases are counted, where that is not their sum."""
        return next((how_counted(a) for a in self._accounts if a.dataset == self.session.account.dataset), "")

    def _others(self) -> list[tuple[str, str]]:
        own = self.session.account.dataset
        return [(a.dataset, self._titles.get(a.dataset, a.dataset)) for a in self._accounts if a.dataset != own]

    def _set_cap(self) -> None:
        opened, account, cap = self.session.open_data, self.session.account, self._cap.value()
        if opened is None or not account.dataset or self._cap.problem() or self._delta.problem():
            return
        delta = self._delta.value()
        delta = None if delta == account.delta_cap else delta
        sets = _what_is_set(opened.title, account.cap, cap, delta)
        recorded = tr("The ledger records it for good.")
        text = f"{sets} {recorded}\n\n{sure_words(cap)}"
        if confirm(self, tr("Set the cap?"), text, tr("Set the cap to ε = {cap}", cap=at_most(cap))):
            set_cap(self.session, self.jobs, account.dataset, cap, delta)

    def _set_count(self) -> None:
        dataset, filtered = self.session.account.dataset, bool(self._how())
        title, text = tr("Count by the plain sum?"), tr(ASK_SUM)
        if not filtered:
            title, text = tr("Count by a Rényi filter?"), tr(ASK_FILTER)
        if dataset and confirm(
            self, title, text, tr("Count by the sum") if filtered else tr("Count by a Rényi filter")
        ):
            set_count(self.session, self.jobs, dataset, by_filter=not filtered)

    def _join(self) -> None:
        opened, dataset = self.session.open_data, self.session.account.dataset
        if opened is None or not dataset:
            return
        entry = OtherAccount(self._others())
        text = tr(
            "Choose the account of the table that is about the same people as {title}. What both have "
            "spent is added up, the lower cap holds for both, and every later release of either is "
            "charged there. The ledger records it for good.",
            title=opened.title,
        )
        verbs = {"yes": tr("Share this account")}
        if choose(self, tr("Share one account?"), text, verbs, entry=entry) == "yes":
            join_group(self.session, self.jobs, dataset, entry.chosen())


def _what_is_set(title: str, former: Decimal | None, cap: Decimal, delta: Decimal | None) -> str:
    """Return which caps are set, and the former one of ε where there is one."""
    both = {"title": title, "cap": f"{at_most(cap)}{exactly(cap)}"}
    if former is None and delta is None:
        return tr("This sets the cap of {title} to ε = {cap}.", **both)
    if former is None:
        of_delta = entered(delta or Decimal(0))
        return tr("This sets the cap of {title} to ε = {cap} and that of δ to {delta}.", delta=of_delta, **both)
    both["former"] = at_most(former)
    if delta is None:
        return tr("This sets the cap of {title} from ε = {former} to ε = {cap}.", **both)
    return tr(
        "This sets the cap of {title} from ε = {former} to ε = {cap} and that of δ to {delta}.",
        delta=entered(delta),
        **both,
    )
