"""Why the table that is open cannot be released, or no model of it, as the engines would refuse it: errors as data."""

from __future__ import annotations

from workbench.gui.session.draft_edits import GUESSED_FACTS
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.params import ParameterError, WorkbenchError


def draft_refusal(session: Session) -> WorkbenchError | None:
    """Return what keeps the draft from any release; ``None`` where nothing does, or no table is open."""
    opened = session.opened
    if opened is None:
        return None
    first = next(iter(session.plan.problems()), None)
    if first is not None:
        return first.error()
    doubt = opened.table.doubtful()
    return doubt if doubt is not None else unconfirmed_refusal(session)


def table_refusal(session: Session) -> WorkbenchError | None:
    """Return what keeps the table from being released."""
    refused = draft_refusal(session)
    if refused is not None or session.opened is None or session.plan.protected:
        return refused
    from workbench.sanitize.calibrated import nothing_protected

    return nothing_protected()


def model_refusal(session: Session) -> WorkbenchError | None:
    """Return what keeps a model of the table from being released."""
    if session.opened is not None and session.target is None:
        return ParameterError(
            tr("no column to predict is chosen"), hint=tr("choose it in Data, Questions"), code="no-target"
        )
    return draft_refusal(session)


def unconfirmed_refusal(session: Session) -> WorkbenchError | None:
    """Return the refusal of guesses that nobody has confirmed."""
    found = session.plan.guesses()
    if not found:
        return None
    from workbench.sanitize.origin import refusal

    return refusal(found, words={fact: tr(words) for fact, words in GUESSED_FACTS.items()})
