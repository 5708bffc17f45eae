"""Before the first private figures of a table are shown: what that does to later releases, and the way without."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QWidget

from workbench.gui.session.account_task import read_account
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.dialogs import choose

SHOWN, MADE_UP = "shown", "made_up"
BESIDE = tr_later("Later certificates will say so.")  # the same beside a button, where there is room for a few words


def is_first(session: Session) -> bool:
    """Return whether no private figure of the open table was shown yet, nor agreed to in this window."""
    opened = session.open_data
    return opened is not None and not session.account.seen and session.figures_agreed is not opened


def agree(session: Session) -> None:
    """Take note that the person wants private figures of the open table: she is not asked again."""
    session.figures_agreed = session.open_data


def may_show(parent: QWidget, session: Session, *, made_up: str = "") -> str:
    """Return whether to go on: ``shown``, or ``made_up`` for made-up rows; empty for neither. Asked once of a table.

    ``made_up`` says what made-up rows are good for here; empty where the study has none.
    """
    from workbench.release.ledger.study_note import BEFORE

    if not is_first(session):
        return SHOWN
    verbs = {MADE_UP: tr("Use made-up rows"), SHOWN: tr("Show them")} if made_up else {SHOWN: tr("Show them")}
    before = tr_sentence(BEFORE)
    text = f"{before}\n\n{made_up}" if made_up else before
    answer = choose(parent, tr("Show private figures of this table?"), text, verbs)
    if answer == SHOWN:
        agree(session)
    return answer


def may_run(parent: QWidget, session: Session, made_up: QCheckBox, words: str) -> bool:
    """Return whether to run a study: asked of one of the rows, not of one for which ``made_up`` is ticked.

    Where the person would rather have made-up rows, which ``words`` say the good of, that box is ticked.
    """
    if made_up.isChecked():
        return True
    answer = may_show(parent, session, made_up=words)
    if answer == MADE_UP:
        made_up.setChecked(True)
    return bool(answer)


def follow_note(session: Session, jobs: JobCenter, handle: JobHandle) -> JobHandle:
    """Bring the account up to date after a study of a table: what is said before a release names each kind of it."""
    handle.ended.connect(lambda: read_account(session, jobs))
    return handle
