"""The releases of the open table, of this session and of earlier ones."""

from __future__ import annotations

from collections.abc import Callable

from workbench.gui.session.account_view import PastRelease
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.session import ReleasedStep, Session, State


def newest_release(session: Session, kind: str) -> ReleasedStep | None:
    """Return the newest central release of a kind from the open table; ``None`` where there is none."""
    own = [step for step in session.released if step.central == kind]
    if own:
        return own[-1]
    past = [one for one in session.account.past if one.central == kind and one.files]
    return step_of(past[-1]) if past and session.opened is not None else None


def state_of(kind: str) -> Callable[[Session], State]:
    """Return the dot of a page that makes central releases of a kind: ready once one was made."""
    return lambda session: "ready" if any(step.central == kind for step in session.released) else "empty"


def step_of(past: PastRelease) -> ReleasedStep:
    """Return a release of an earlier session as those of this one are."""
    return ReleasedStep(
        past.release_id,
        past.output.parent,
        DraftPlan(),
        past.epsilon,
        delta=past.delta,
        title=past.output.name,
        files=past.files,
        model=past.model,
        central=past.central,
        time=past.time,
    )
