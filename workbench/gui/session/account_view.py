"""What the ledger says about the dataset that is open, as the window shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.gui.session.draft import DraftPlan
from workbench.params import BudgetRefusedError, WorkbenchError
from workbench.params.remedies import WHO_PAYS

GENERALISED = "generalised"  # the kind of a generalised table, which no ε bounds


@dataclass(frozen=True)
class ReleasedStep:
    """One release, a table or a model, of this session or of an earlier one: its plan can no longer be undone."""

    release_id: str  # the ledger's name of it
    output: Path  # the file or folder that was written
    # What was released; of a model the plan whose public facts it was trained with. Empty of an earlier one.
    plan: DraftPlan
    epsilon: Decimal  # what was charged
    delta: Decimal = Decimal(0)  # the same
    title: str = ""  # what was published, in words
    # What is still there and what vouches for it, each with a word for it; the first is what is verified. None where it
    # was moved or removed.
    files: tuple[tuple[str, Path], ...] = ()
    model: bool = False  # whether it is a model
    central: str = ""  # the kind of a central release, such as `synthetic`, or `generalised`; empty for any other
    result: Any = field(default=None, compare=False)  # what the engine returned, if it was made in this session
    worth: str = ""  # what a recipient can learn from a table, in a sentence
    time: str = ""  # when it was charged (UTC), where that was before this session; else empty
    dataset: str = ""  # the account that paid, as the ledger calls it, where it was read from there

    @property
    def folder(self) -> Path:
        return self.output if self.model else self.output.parent

    @property
    def generalised(self) -> bool:
        """Whether it is a generalised table: it cost nothing, and no ε bounds what it reveals."""
        return self.central == GENERALISED


@dataclass(frozen=True)
class AccountView:
    """What the ledger says about the dataset that is open."""

    dataset: str = ""  # the account's name in the ledger
    cap: Decimal | None = None  # ε of all releases together, `None` before the first release
    spent: Decimal = Decimal(0)  # ε of finished releases
    reserved: Decimal = Decimal(0)  # ε of work that is going on
    releases: int = 0  # how many releases count
    going: int = 0  # how many of them are still going on
    problem: str = ""  # why the ledger cannot be used; empty where it can
    name: str = ""  # the account's public name; empty where it has none
    # When the table was last released whose version this one was taken for by its rows; empty where it was not.
    version_of: str = ""
    delta_cap: Decimal | None = None  # δ of all releases together, `None` before the first one with δ > 0
    delta_spent: Decimal = Decimal(0)  # δ of finished releases
    delta_reserved: Decimal = Decimal(0)  # δ of work that is going on
    error: WorkbenchError | None = field(default=None, compare=False)  # the same problem as data
    past: tuple[ReleasedStep, ...] = ()  # the finished releases, oldest first
    generalised: int = 0  # how many generalised tables were published, which cost nothing
    # Which private figures of its tables were shown, and that the next release says so; empty where none were.
    seen: str = ""

    @property
    def in_doubt(self) -> bool:
        """Whether the table may be one that is known, so that a person must say which account pays."""
        return self.error is not None and self.error.code == WHO_PAYS

    @property
    def remaining(self) -> Decimal | None:
        """ε left under the cap, or ``None`` where there is no cap yet."""
        return None if self.cap is None else self.cap - self.spent - self.reserved

    @property
    def delta_remaining(self) -> Decimal | None:
        """δ left under the cap, or ``None`` where there is no cap of it yet."""
        return None if self.delta_cap is None else self.delta_cap - self.delta_spent - self.delta_reserved

    def room(self, cost: Decimal, first: Decimal | None = None, *, reserved: bool = False) -> Decimal:
        """Return the ε that the cap leaves for one release.

        Args:
            cost: what it costs: where there is no cap, and none is set first, that is the cap.
            first: the cap that is set before it, where there is none.
            reserved: whether its cost is among what is reserved.
        """
        if self.remaining is None:
            return cost if first is None else first
        return self.remaining + (cost if reserved else Decimal(0))

    def refusal(self, epsilon: Decimal, delta: Decimal = Decimal(0)) -> BudgetRefusedError | None:
        """Return what the ledger would say to a charge; ``None`` where the caps allow it."""
        from workbench.release.ledger.entry import plus
        from workbench.release.ledger.records import refusal

        cap = None if self.cap is None else (self.cap, self.delta_cap)
        used = plus((self.spent, self.delta_spent), (self.reserved, self.delta_reserved))
        return refusal((epsilon, delta), cap, used)
