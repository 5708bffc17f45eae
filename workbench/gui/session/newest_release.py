"""The newest central release of the open table, of this session or of an earlier one."""

from __future__ import annotations

from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.session import ReleasedStep, Session


def newest_release(session: Session, kind: str) -> ReleasedStep | None:
    """Return the newest central release of a kind from the open table; ``None`` where there is none."""
    own = [step for step in session.released if step.central == kind]
    if own:
        return own[-1]
    past = [one for one in session.account.past if one.central == kind and one.files]
    if not past or session.opened is None:
        return None
    one = past[-1]
    return ReleasedStep(
        one.release_id,
        one.output.parent,
        DraftPlan(),
        one.epsilon,
        delta=one.delta,
        title=one.output.name,
        files=one.files,
        central=kind,
        time=one.time,
    )
