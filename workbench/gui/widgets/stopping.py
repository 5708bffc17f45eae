"""Stop a job: at once where nothing is lost by it, else as a person says once she knows what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from enum import Enum

from PySide6.QtWidgets import QWidget

from workbench.gui.session.job_center import JobHandle
from workbench.gui.style.language import capital, tr
from workbench.gui.widgets.dialogs import choose
from workbench.gui.widgets.formatting import at_most, together


class Stop(Enum):
    """What a person said to stopping everything."""

    NO, PAUSE, YES = "", "pause", "lose"


def ask_to_stop(parent: QWidget, handle: JobHandle) -> None:
    """Cancel a job that loses nothing by it; of any other one ask whether to pause it, to keep it or to lose its ε."""
    if not handle.running or handle.stopping:
        return
    if not handle.at_stake:
        handle.cancel()
        return
    pausable, keep = handle.on_pause is not None, _keep([handle])
    verbs = {"pause": tr("Pause"), "": keep} if pausable else {"": keep}

    def stated() -> tuple[str, dict[str, str]]:
        lost = handle.at_stake
        return _words([handle]), verbs | {
            "lose": tr("Cancel and lose ε = {lost}", lost=at_most(lost)) if lost else tr("Cancel")
        }

    said = choose(parent, tr("Stop {title}?", title=handle.title), *stated(), moot=handle.ended, anew=stated)
    if said == "pause":
        handle.pause()
    elif said:
        handle.cancel()


def ask_to_stop_all(parent: QWidget, handles: Sequence[JobHandle], verb: str = "") -> Stop:
    """Ask, where ``verb`` (to quit) would lose ε or a training, what is to become of that; nothing is stopped yet."""
    verb = verb or tr("quit")
    costly = [h for h in handles if is_costly(h)]
    if not costly:
        return Stop.YES
    keep, pausable = _keep(costly), all(h.on_pause is not None for h in costly)
    verbs = {"pause": tr("Pause and {verb}", verb=verb), "": keep} if pausable else {"": keep}
    does = capital(verb)

    def stated() -> tuple[str, dict[str, str]]:
        lost = _lost(costly)
        return _words(costly), verbs | {
            "lose": tr("{does} and lose ε = {lost}", does=does, lost=at_most(lost))
            if lost
            else tr("Cancel it and {verb}", verb=verb)
        }

    title = (
        tr("{does} while {title} is running?", does=does, title=costly[0].title)
        if len(costly) == 1
        else tr("{does} while work is running?", does=does)
    )
    return Stop(choose(parent, title, *stated(), anew=stated))


def is_costly(handle: JobHandle) -> bool:
    """Return whether a stop would lose ε or a training, and nobody has asked for one."""
    return not handle.stopping and bool(handle.at_stake or handle.on_pause is not None)


def _lost(handles: Sequence[JobHandle]) -> Decimal:
    return sum((h.at_stake for h in handles), Decimal(0))


def _keep(handles: Sequence[JobHandle]) -> str:
    return tr("Keep training") if all(h.on_pause is not None for h in handles) else tr("Keep running")


def _words(handles: Sequence[JobHandle]) -> str:
    lost = _lost(handles)
    names = together([h.title for h in handles])
    running = tr("{names} is running.", names=names)
    if lost:
        running = tr(
            "{names} is running, and ε = {lost} is charged by now. If you cancel it, that ε is lost: it "
            "stays charged and nothing is released.",
            names=names,
            lost=at_most(lost),
        )
    if all(h.on_pause is not None for h in handles):
        return f"{running} {tr('If you pause it, it goes on later at no further cost.')}"
    return running
