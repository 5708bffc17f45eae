"""A clipping norm that follows a private quantile of the gradients' norms (Andrew, Thakkar, Ramaswamy & McMahan 2021).

Each step counts the rows that it did not clip. A row counts +1/2 if its gradient is within the norm C, −1/2 if not, and
0 if it is empty: one row moves the count by 1/2. With noise the count gives the share of rows within C, and C moves
towards the norm at which the wished share γ is: C ← C·exp(−η(share − γ)). Counts are metered together with the sums
(:meth:`workbench.privacy.accounting.event.PoissonGaussian.beside_count`), so that a step costs what it costs without
them; the norms that follow are post-processing, and public.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from workbench.deep.clipping_factors import NORMS, norms_listener
from workbench.deep.plan import NormRule, Schedule
from workbench.params import InputError, WorkbenchError


@dataclass(eq=False)
class AdaptiveNorm:
    """The norm of the next step."""

    rule: NormRule  # which quantile it follows, and how fast
    clip: float  # the norm C
    batch: float  # expected rows of a batch (public)
    _heard: list[Tensor] = field(default_factory=list, init=False, repr=False)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the norms of the rows that are clipped meanwhile; who listened before gets them, too."""
        former = norms_listener()
        self._heard = []

        def take(squares: Tensor) -> None:
            self._heard.append(squares.sum(1))
            if former is not None:
                former(squares)

        NORMS.on_norms = take
        try:
            yield
        finally:
            NORMS.on_norms = former

    def counted(self, present: Tensor) -> float:
        """Return Σ ±1/2 over the rows (b,) of the batch whose norms were taken; of ``present`` alone, which is private.

        Where memory was short and a batch was computed again, its last norms count: each row once.

        Raises:
            WorkbenchError: fewer norms were taken than there are rows.
        """
        if not len(present):
            return 0.0
        if sum(map(len, self._heard)) < len(present):
            raise WorkbenchError(
                "this network's engine has no norm for each row, so the clipping norm cannot adapt",
                hint="leave --target-unclipped-quantile out",
            )
        squares = torch.cat(self._heard)[-len(present) :].to(present.device)
        within = squares.double() <= self.clip**2  # a norm that is no number is not
        return float((within & present).sum()) - 0.5 * float(present.sum())

    def follow(self, count: float) -> float:
        """Return the next norm, from a count with noise."""
        self.clip = self.rule.moved(self.clip, count / self.batch + 0.5)
        return self.clip


def norm_of(schedule: Schedule, clip: float | None = None) -> AdaptiveNorm | None:
    """Return what moves the norm of a run, from ``clip`` where it goes on; ``None`` where the norm stays.

    Raises:
        InputError: no such run has the norm ``clip``.
    """
    if schedule.norm is None:
        return None
    if clip is not None and not schedule.norm.reaches(clip, schedule.clip):
        raise InputError("the checkpoint is damaged", hint="restore an intact copy")
    return AdaptiveNorm(schedule.norm, schedule.clip if clip is None else clip, schedule.batch)
