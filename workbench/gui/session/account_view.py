"""What the ledger says about the dataset that is open, as the window shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.gui.session.draft import DraftPlan
from workbench.params import BudgetRefusedError, WorkbenchError
from workbench.params.remedies import WHO_PAYS

GENERALISED = "generalised"
"""The kind of a generalised table, which no ε bounds."""


@dataclass(frozen=True)
class ReleasedStep:
    """One release, a table or a model, of this session or of an earlier one: its plan can no longer be undone.

    Attributes:
        release_id: the ledger's name of it.
        output: the file or folder that was written.
        plan: what was released; of a model the plan whose public facts it was trained with. Empty of an earlier one.
        epsilon: what was charged.
        delta: the same.
        title: what was published, in words.
        files: what is still there and what vouches for it, each with a word for it; the first is what is verified. None
            where it was moved or removed.
        model: whether it is a model.
        central: the kind of a central release, such as ``synthetic``, or ``generalised``; empty for any other.
        result: what the engine returned, if it was made in this session.
        worth: what a recipient can learn from a table, in a sentence.
        time: when it was charged (UTC), where that was before this session; else empty.
        dataset: the account that paid, as the ledger calls it, where it was read from there.
    """

    release_id: str
    output: Path
    plan: DraftPlan
    epsilon: Decimal
    delta: Decimal = Decimal(0)
    title: str = ""
    files: tuple[tuple[str, Path], ...] = ()
    model: bool = False
    central: str = ""
    result: Any = field(default=None, compare=False)
    worth: str = ""
    time: str = ""
    dataset: str = ""

    @property
    def folder(self) -> Path:
        return self.output if self.model else self.output.parent

    @property
    def generalised(self) -> bool:
        """Whether it is a generalised table: it cost nothing, and no ε bounds what it reveals."""
        return self.central == GENERALISED


@dataclass(frozen=True)
class AccountView:
    """What the ledger says about the dataset that is open.

    Attributes:
        dataset: the account's name in the ledger.
        cap: ε of all releases together, ``None`` before the first release.
        spent: ε of finished releases.
        reserved: ε of work that is going on.
        releases: how many releases count.
        going: how many of them are still going on.
        problem: why the ledger cannot be used; empty where it can.
        name: the account's public name; empty where it has none.
        version_of: when the table was last released whose version this one was taken for by its rows; empty where it
            was not.
        delta_cap: δ of all releases together, ``None`` before the first one with δ > 0.
        delta_spent: δ of finished releases.
        delta_reserved: δ of work that is going on.
        error: the same problem as data.
        past: the finished releases, oldest first.
        generalised: how many generalised tables were published, which cost nothing.
        seen: which private figures of its tables were shown, and that the next release says so; empty where none were.
    """

    dataset: str = ""
    cap: Decimal | None = None
    spent: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    releases: int = 0
    going: int = 0
    problem: str = ""
    name: str = ""
    version_of: str = ""
    delta_cap: Decimal | None = None
    delta_spent: Decimal = Decimal(0)
    delta_reserved: Decimal = Decimal(0)
    error: WorkbenchError | None = field(default=None, compare=False)
    past: tuple[ReleasedStep, ...] = ()
    generalised: int = 0
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
