"""Stop a job: at once where nothing is lost by it, else as a person says once she knows what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from enum import Enum

from PySide6.QtWidgets import QWidget

from workbench.gui.session.job_center import JobHandle
from workbench.gui.widgets.dialogs import choose
from workbench.gui.widgets.formatting import at_most


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
    verbs = {"pause": "Pause", "": keep} if pausable else {"": keep}

    def stated() -> tuple[str, dict[str, str]]:
        lost = handle.at_stake
        return _words([handle]), verbs | {"lose": f"Cancel and lose ε = {at_most(lost)}" if lost else "Cancel"}

    said = choose(parent, f"Stop {handle.title}?", *stated(), moot=handle.ended, anew=stated)
    if said == "pause":
        handle.pause()
    elif said:
        handle.cancel()


def ask_to_stop_all(parent: QWidget, handles: Sequence[JobHandle], verb: str = "quit") -> Stop:
    """Ask, where ``verb`` would lose ε or a training, what is to become of that; nothing is stopped yet."""
    costly = [h for h in handles if is_costly(h)]
    if not costly:
        return Stop.YES
    keep, pausable = _keep(costly), all(h.on_pause is not None for h in costly)
    verbs = {"pause": f"Pause and {verb}", "": keep} if pausable else {"": keep}
    does = f"{verb[:1].upper()}{verb[1:]}"

    def stated() -> tuple[str, dict[str, str]]:
        lost = _lost(costly)
        return _words(costly), verbs | {
            "lose": f"{does} and lose ε = {at_most(lost)}" if lost else f"Cancel it and {verb}"
        }

    title = f"{does} while {costly[0].title} is running?" if len(costly) == 1 else f"{does} while work is running?"
    return Stop(choose(parent, title, *stated(), anew=stated))


def is_costly(handle: JobHandle) -> bool:
    """Return whether a stop would lose ε or a training, and nobody has asked for one."""
    return not handle.stopping and bool(handle.at_stake or handle.on_pause is not None)


def _lost(handles: Sequence[JobHandle]) -> Decimal:
    return sum((h.at_stake for h in handles), Decimal(0))


def _keep(handles: Sequence[JobHandle]) -> str:
    return "Keep training" if all(h.on_pause is not None for h in handles) else "Keep running"


def _words(handles: Sequence[JobHandle]) -> str:
    """Return what each choice means, of all jobs together."""
    lost = _lost(handles)
    names = ", ".join(h.title for h in handles)
    stated = f"{names} is running."
    if lost:
        stated = (
            f"{names} is running, and ε = {at_most(lost)} is charged by now. If you cancel it, that ε is lost: it "
            "stays charged and nothing is released."
        )
    if all(h.on_pause is not None for h in handles):
        stated += " If you pause it, it goes on later at no further cost."
    return stated
