"""ε as a lookup: computed once at a few steps, then read at every step of a run."""

from __future__ import annotations

import threading
from bisect import bisect_left
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import numpy as np

from workbench.params import CancelledError
from workbench.privacy.accounting.accountant import COARSE, FINE, Grid, accountant_named, loss
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Progress, ignore

KNOTS = 48


@dataclass(frozen=True, slots=True)
class EpsilonCurve:
    """An upper bound on ε after each step of a run.

    ε grows with the steps, so the ε of the next knot bounds that of every step before it. Interpolation between knots
    would not (it was too low at half of the steps). For display only: decisions (a cap, a charge) use the exact
    :func:`workbench.privacy.accounting.accountant.loss`.
    """

    knots: tuple[int, ...]  # steps at which ε was computed, ascending; the last is the run's last step
    epsilons: tuple[float, ...]  # ε at each, not falling

    @classmethod
    def build(
        cls,
        event: PoissonGaussian,
        delta: float,
        accountant: str = "pld",
        emit: Emit = ignore,
        cancel: CancelToken = NEVER,
    ) -> Self:
        """Compute the knots of a run of ``event.steps`` steps (1 to 3 s by PLD, milliseconds by RDP).

        ε grows about as √t, so knots even in √t are about even in ε. They share the privacy loss grid of the
        whole run: a finer grid for each would make no visible difference, and took up to 75 MB.

        Raises:
            CancelledError: ``cancel`` was set.
            ParameterError: an argument is out of range.
        """
        if event.steps == 0:
            return cls((), ())
        even = np.linspace(0.0, 1.0, KNOTS + 1)[1:]
        knots = tuple(sorted({int(k) for k in np.ceil(event.steps * even**2)}))
        # Of a million steps the coarse grid is worse than a Rényi bound; without a grid each knot would make its own.
        whole = (loss(event, delta, accountant, Grid(resolution)).discretisation for resolution in (COARSE, FINE))
        cell = next((found for found in whole if found is not None), None)
        grid, epsilons = Grid(COARSE, cell), list[float]()
        for done, knot in enumerate(knots, start=1):
            cancel.check()
            epsilons.append(loss(replace(event, steps=knot), delta, accountant, grid).epsilon)
            emit(Progress(done, len(knots), "epsilon by step"))
        # Each bound is discretised on its own; the running maximum keeps the displayed ε from falling.
        return cls(knots, tuple(float(e) for e in np.maximum.accumulate(epsilons)))

    def at(self, step: int) -> float:
        """Return an upper bound on ε after ``step`` steps, at most the run's last; 0 before the first."""
        if step <= 0:
            return 0.0
        return self.epsilons[bisect_left(self.knots, step)]


class BackgroundCurve:
    """A curve that is built in a thread during the run; until it is ready, Rényi bounds are shown.

    They take milliseconds and are a little higher, so the displayed ε may fall once, to the better bound.

    Use as a context manager: leaving it stops the thread.
    """

    def __init__(
        self, event: PoissonGaussian, delta: float, whole: float, accountant: str = "pld", rows_per_person: int = 1
    ) -> None:
        """Prepare the curve.

        Args:
            event: the whole run.
            delta: δ of one row.
            whole: ε of the whole run for a person, an upper bound at every step.
            accountant: the privacy accountant.
            rows_per_person: k: a person's ε is k times that of a row.
        """
        self._event, self._delta, self._accountant, self._whole = event, delta, accountant, whole
        self._rows_per_person = rows_per_person
        self._cancel = CancelToken()
        self._curve: EpsilonCurve | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._build, name="epsilon-curve")

    def __enter__(self) -> Self:
        """Start building."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop building and wait for the thread (at most one knot)."""
        self._cancel.cancel()
        self._thread.join()

    def _build(self) -> None:
        try:
            row = EpsilonCurve.build(self._event, self._delta, self._accountant, cancel=self._cancel)
            self._curve = EpsilonCurve(row.knots, tuple(self._rows_per_person * e for e in row.epsilons))
        except CancelledError:
            pass  # the run ended before the curve was ready: nobody will ask for it
        except BaseException as error:  # noqa: BLE001 - handed to the thread that asks for the curve
            self._error = error

    def at(self, step: int) -> float:
        """Return an upper bound on ε after ``step`` steps."""
        if self._error is not None:
            raise self._error
        if step <= 0:
            return 0.0
        if self._curve is not None:
            return min(self._curve.at(step), self._whole)
        row = loss(replace(self._event, steps=step), self._delta, accountant_named(self._accountant).at_once).epsilon
        return min(self._rows_per_person * row, self._whole)

    def wait(self) -> EpsilonCurve:
        """Wait for the curve and return it."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._curve is not None, "wait() is for a run that was not cancelled"
        return self._curve
