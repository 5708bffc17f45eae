"""Checkpoints of a training run, by which it goes on after a pause or a crash, at the cost of one run.

A step counts as soon as it may have been taken. So steps are *claimed* durably before the first of them is taken, and
the state is kept when a claim is used up. After a crash the run goes on from the state that was kept, and its count
from what was claimed: steps whose result was lost are not taken again for free. Whatever was shown of them, and however
often a run is interrupted, all its steps together are at most those that were charged, and the accountant's bound is
one for any adaptive sequence of so many steps. A clean pause gives back what was claimed and not taken, and loses
nothing.

No key of a generator is kept: each part of a run draws its coins and its noise with fresh keys from the operating
system, so no stream is used twice and nobody who has the checkpoint can compute the noise. This is exact at the border
of two steps, where the coins and numbers to come do not depend on those that were drawn.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from workbench.deep.optimizers import Update
from workbench.deep.run_report import Record
from workbench.params import InputError

INTERVAL, LONGER = 2.0, 100
"""Seconds of work between two checkpoints, about, or this part of the run's time so far where that is longer.

So much a crash costs. Each claim is an entry of the ledger, and so a day has some hundreds.
"""

SLOWER = 50  # times the time of writing a checkpoint that lie between two at least, so that they cost 2 % at most

FIRST_CLAIM, FASTER = 4, 8  # steps of the first claim, and by how much the next one may be larger

_UPDATE = "update."
_PARAMETERS = "parameters"


@dataclass(frozen=True, kw_only=True, eq=False)
class RunState:
    """A run between two steps."""

    step: int  # steps that were counted so far
    parameters: Tensor  # the network's, one vector (P,)
    update: Mapping[str, Tensor]  # what the optimiser remembers, by name
    seconds: float  # spent on the steps
    physical_batch: int  # rows in memory at once; fewer than planned after memory was short
    records: tuple[Record, ...] = ()  # the private metrics
    # The clipping norm of the next step; `None` in checkpoints of former versions, where it stays.
    clip: float | None = None

    def tensors(self) -> bytes:
        """Return parameters and optimiser as the content of a safetensors file."""
        from safetensors.torch import save

        held = {_PARAMETERS: self.parameters, **{_UPDATE + name: value for name, value in self.update.items()}}
        return bytes(save({name: value.detach().cpu().contiguous() for name, value in held.items()}))

    def facts(self) -> dict[str, Any]:
        """Return the rest, as JSON holds it."""
        return {
            "step": self.step,
            "seconds": self.seconds,
            "physical_batch": self.physical_batch,
            "clip": self.clip,
            "records": [asdict(record) for record in self.records],
        }

    @classmethod
    def of(cls, tensors: bytes, facts: Mapping[str, Any], where: str) -> Self:
        """Return the state that :meth:`tensors` and :meth:`facts` gave.

        Raises:
            InputError: they are none.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load

        try:
            held = load(tensors)
            return cls(
                step=int(facts["step"]),
                parameters=held[_PARAMETERS],
                update={k.removeprefix(_UPDATE): v for k, v in held.items() if k.startswith(_UPDATE)},
                seconds=float(facts["seconds"]),
                physical_batch=int(facts["physical_batch"]),
                records=tuple(Record(**record) for record in facts["records"]),
                clip=None if facts.get("clip") is None else float(facts["clip"]),
            )
        except (SafetensorError, KeyError, TypeError, ValueError):
            raise InputError("the checkpoint is damaged", where, "restore an intact copy") from None


class Keeper(Protocol):
    """Where the steps of a run are counted and its state is kept, both durably."""

    @property
    def state(self) -> RunState | None:
        """The state to go on from; ``None`` for a run that begins."""
        ...

    @property
    def counted(self) -> int:
        """Steps that count as taken by now."""
        ...

    def claim(self, steps: int) -> None:
        """Count ``steps`` more steps as taken, before the first of them is."""
        ...

    def give_back(self, steps: int) -> None:
        """Count ``steps`` fewer: they were claimed, and none of them was taken."""
        ...

    def save(self, state: RunState) -> None:
        """Keep ``state`` in place of the former one."""
        ...


class Checkpoints:
    """Claims the steps of a run before they are taken, and keeps its state each time a claim is used up.

    Without a keeper it does nothing.
    """

    def __init__(
        self, keeper: Keeper | None, steps: int, state: Callable[[int], RunState], seconds: float = 0.0
    ) -> None:
        """Make them."""
        self._keeper, self._steps, self._state = keeper, steps, state
        self._claimed = 0 if keeper is None else keeper.counted
        self._size = 0
        self._since = self._writing = 0.0
        self._began = time.monotonic() - seconds

    def before(self, step: int) -> None:
        """Claim ``step`` if that has not been done; the state after the step before it is kept first.

        Raises:
            WorkbenchError: it could not be made durable.
        """
        if self._keeper is None or step <= self._claimed:
            return
        began = time.monotonic()
        if self._size:  # else nothing was done since the state that the run began from
            self._keeper.save(self._state(step - 1))
        size = min(self._next(began), self._steps - self._claimed)
        self._keeper.claim(size)
        self._size, self._claimed = size, self._claimed + size
        self._since = time.monotonic()
        self._writing = self._since - began

    def pause(self, taken: int) -> None:
        """Keep the state after ``taken`` steps, and give back what was claimed beyond them; nothing is lost."""
        if self._keeper is None or self._claimed == 0:
            return
        if self._size:
            self._keeper.save(self._state(taken))
        self._keeper.give_back(self._claimed - taken)
        self._claimed = taken

    def _next(self, now: float) -> int:
        """Return how many steps to claim: as many as the interval has, by the pace of the last claim."""
        if not self._size:
            return FIRST_CLAIM
        pace = max(now - self._since, 1e-6) / self._size
        wanted = max(INTERVAL, (now - self._began) / LONGER, SLOWER * self._writing) / pace
        return max(1, min(math.ceil(wanted), FASTER * self._size))


def restore(state: RunState, parameters: Tensor, update: Update, where: str = "") -> None:
    """Write the parameters of ``state`` into ``parameters`` (P,), and what the optimiser remembers into ``update``.

    Raises:
        InputError: they are those of another network.
    """
    if state.parameters.shape != parameters.shape or not bool(torch.isfinite(state.parameters).all()):
        raise InputError("the checkpoint belongs to another network", where, "give the folder of this run")
    with torch.no_grad():
        parameters.copy_(state.parameters)
    update.restore({name: value.to(parameters.device) for name, value in state.update.items()})
