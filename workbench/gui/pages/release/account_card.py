"""Which account a release is charged to: a version that was recognised by its rows, and the account's public name."""

from __future__ import annotations

import datetime

from PySide6.QtWidgets import QLineEdit, QWidget

from workbench.gui.session.account_task import name_account, read_account, set_separate
from workbench.gui.session.error_text import sentence, ways_out
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import day, tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, button, label, look, mark_wrong, named, row
from workbench.gui.widgets.dialogs import confirm
from workbench.gui.widgets.formatting import at_most
from workbench.params import ParameterError

NAME = tr_later(
    "A name that you make public. Only then do certificates say what was spent before and what "
    "remains: without a name those figures would show whether the rows have changed between two "
    "releases"
)

OF_TABLE = tr_later(
    "This looks like a version of a table you released on {since}: most of its rows are the same. It shares that "
    "table's budget."
)
OF_IMAGES = tr_later(
    "This looks like a version of a set of images you released on {since}: most of its images are the same. It shares "
    "those images’ budget."
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
        self._other = button(
            tr("It is another table…"),
            "release_another_table",
            tip=tr("Give this table a budget of its own; recorded for good"),
        )
        self._other.clicked.connect(self._ask)
        line = row(self._stated, 12, self._other)
        line.setStretch(0, 1)
        self.body.addLayout(line)
        self._ways = label("", wrap=True, name="release_who_pays")
        self.body.addWidget(self._ways)
        session.account_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what the ledger says of the table that is open."""
        account = self._session.account
        since, doubt = account.version_of, account.error if account.in_doubt else None
        self.setVisible(bool(since or doubt) and self._session.open_data is not None)
        images = self._session.images is not None
        if doubt is None:
            stated = tr(OF_IMAGES if images else OF_TABLE, since=_day(since))
        else:
            what = tr_sentence(doubt.what)
            stated = f"{what[:1].upper()}{what[1:]}."
        self._stated.setText(stated)
        ways = "" if doubt is None else ways_out(doubt.remedies)
        self._ways.setText(f"{ways[:1].upper()}{ways[1:]}.")
        self._ways.setVisible(bool(ways))
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


def _day(since: str) -> str:
    """Return the day of a time as the ledger writes it."""
    return day(datetime.date.fromisoformat(since[:10])) if since else ""


class AccountName(QWidget):
    """One line: the public name of the account."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        look(self, "clear")
        self._session, self._jobs = session, jobs
        self._name = named(QLineEdit(), "release_account", tr("Public name of the account"), tr(NAME))
        self._name.setPlaceholderText(tr("optional"))
        self._name.setFixedWidth(220)
        self._give = button(
            tr("Name the account…"), "release_name_account", tip=tr("Give the account of this table that name")
        )
        self._stated = label("", "muted", wrap=True, name="release_account_told")
        title = label(tr("Account’s public name"))
        title.setToolTip(tr(NAME))
        title.setBuddy(self._name)
        line = row(title, self._name, self._give, self._stated)
        line.setStretch(3, 1)
        line.setContentsMargins(0, 0, 0, 0)
        self.setLayout(line)
        self._name.editingFinished.connect(self._take)
        self._give.clicked.connect(self._ask)
        session.plan_changed.connect(self.refresh)
        session.account_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the name that the plan states, against the one that the ledger knows."""
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
        from workbench.sanitize.account_name import checked_name

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
