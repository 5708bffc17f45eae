"""The outcome of an attack: success rate compared with guessing, with people not released, and with ε."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.privacy.audit import wilson
from workbench.risk.attacks.bound import Guarantee, most

LEVEL = 0.95  # confidence of the intervals where nothing else is asked for

NO_CONTROL = (
    "Without a control set, what the attack learned about these people cannot be separated from what is true "
    "of everybody: the risk is not corrected. Rows cannot be held out after a release; keep some back before it."
)
NO_BOUND = (
    "Without a control set there is no bound: ε limits what a person's own row adds, not what is true of everybody."
)

NOT_COVERED = "A failed attack proves nothing: another one may succeed. ε bounds all attacks on what it covers."


@dataclass(frozen=True)
class Rate:
    """A share with its confidence interval, all in [0, 1]."""

    value: float  # the share that was counted, or that is known
    low: float  # the lower end; `value` where the share is known
    high: float  # the upper end
    count: float | None = None  # how often it was counted; `None` where the share is known without counting
    of: int | None = None  # out of how many

    @classmethod
    def counted(cls, count: float, of: int, level: float = LEVEL) -> Rate:
        """Return the share ``count`` of ``of`` with the interval of Wilson (1927)."""
        if of <= 0:
            return cls(0.0, 0.0, 1.0, 0, 0)
        low, high = map(float, wilson(count, of, 1 - level))
        return cls(count / of, min(max(low, 0.0), count / of), max(min(high, 1.0), count / of), count, of)

    @classmethod
    def known(cls, value: float) -> Rate:
        """Return a share that follows without counting, such as that of a fair coin."""
        return cls(value, value, value)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {"rate": self.value, "low": self.low, "high": self.high, "count": self.count, "of": self.of}


def beyond(main: Rate, base: Rate | None) -> Rate:
    """Return the risk: (main − base)/(1 − base), what an attack gains of what ``base`` leaves to be gained.

    The share of Giomi et al. (2023), which is that of people whom the attack finds only because they were released.
    Each end combines those of both shares, as the errors of independent counts (Newcombe's way of a difference); value
    and ends are kept in [0, 1]. With no ``base`` it is ``main`` itself.
    """
    if base is None:
        return Rate(main.value, main.low, main.high)
    if base.value >= 1:
        return Rate(0.0, 0.0, 1.0)
    low, value, high = (min(max(v, 0.0), 1.0) for v in uncut(main, base))
    return Rate(value, low, high)


def uncut(main: Rate, base: Rate) -> tuple[float, float, float]:
    """Return lower end, value and upper end of :func:`beyond` before they are kept in [0, 1]; ``base`` is below 1."""
    left = 1 - base.value
    value, by_base = (main.value - base.value) / left, (1 - main.value) / left**2
    down = math.hypot((main.value - main.low) / left, by_base * (base.high - base.value))
    up = math.hypot((main.high - main.value) / left, by_base * (base.value - base.low))
    return value - down, value, value + up


def bounded(guarantee: Guarantee, control: Rate | None, chance: Rate | None = None) -> float | None:
    """Return the most that an attack can be right about released people; ``None`` where no bound follows.

    Args:
        guarantee: what the release promises.
        control: its share on the control set: the bound is that of replace-one (:mod:`workbench.risk.attacks.bound`).
        chance: the known probability of somebody who never saw her row: the bound is that of zero-out.
    """
    if not guarantee.holds or guarantee.epsilon is None:
        return None
    if chance is not None:
        return most(chance.high, guarantee.epsilon, guarantee.delta)
    return None if control is None else most(control.high, *guarantee.replaced)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of an attack; private where it was computed from rows that were not released."""

    attack: str
    main: Rate  # how often it was right about people who were released
    naive: Rate  # how often somebody is right who guesses without the release
    guarantee: Guarantee  # what the release promises
    control: Rate | None = None
    # The most that `main` can be on average under that promise; `None` where no bound follows.
    allowed: float | None = None
    unbounded: str = ""  # why none follows, where it is neither for want of a promise nor of a control set
    # What this attack has beside that, by the keys of `--json`.
    figures: Mapping[str, Any] = field(default_factory=dict)
    # Sentences a reader needs beside the figures: what was not corrected, what is not covered.
    notes: tuple[str, ...] = ()
    main_sentence: str = ""  # what it found, where that is not how often it is right
    private: bool = True
    # What the risk is counted beyond: that of `control`, or another known share; `None` for `main` as is.
    base: Rate | None = None

    @property
    def risk(self) -> Rate:
        """What the attack finds beyond ``base``, else beyond the control set."""
        return beyond(self.main, self.base or self.control)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and what is done without a control set."""
        return self.notes if self.control or self.base else (*self.notes, NO_CONTROL)

    @property
    def why_not(self) -> str:
        """Why there is no bound; empty where there is one."""
        return "" if self.allowed is not None else self.unbounded or self.guarantee.why_not or NO_BOUND

    @property
    def allowed_risk(self) -> float | None:
        """``allowed`` on the scale of the risk."""
        base = self.base or self.control
        if self.allowed is None or base is None:
            return self.allowed
        return 0.0 if base.value >= 1 else min(max((self.allowed - base.value) / (1 - base.value), 0.0), 1.0)

    def words(self) -> tuple[str, ...]:
        """Return the outcome in sentences, the main one first."""
        main, guess, half = percent(self.main.value), percent(self.naive.value), 50 * (self.main.high - self.main.low)
        usual = f"An attacker who guesses is right {guess} of the time; with the release {main} ± {half:.1f} %."
        if self.allowed is None or self.guarantee.epsilon is None:
            said = [self.main_sentence or usual, self.why_not]
        else:
            epsilon, most = f"{self.guarantee.epsilon:g}", percent(self.allowed)
            if self.main_sentence:
                said = [self.main_sentence, f"ε = {epsilon} allows at most {most}."]
            else:
                said = [
                    f"An attacker who guesses is right {guess} of the time; with the release {main} ± {half:.1f} %; "
                    f"ε = {epsilon} allows at most {most}."
                ]
        if self.control is not None:
            value = percent(self.control.value)
            said.append(f"About people who were not released, the same attack is right {value} of the time.")
        if not self.main_sentence and (self.control is not None or (self.base is not None and self.base.value)):
            risk = self.risk
            said.append(
                f"Of the people it would not be right about otherwise, it finds {percent(risk.value)} because they "
                f"were released ({percent(risk.low)} to {percent(risk.high)})."
            )
        return (*said, *self.remarks)

    def plain(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it; rates that there are none of are null."""
        risk = self.risk
        return {
            "attack": self.attack,
            "risk": risk.value,
            "low": risk.low,
            "high": risk.high,
            "main": self.main.value,
            "naive": self.naive.value,
            "control": None if self.control is None else self.control.value,
            "allowed": self.allowed,
            "allowed_risk": self.allowed_risk,
            "why_not": self.why_not,
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "rates": {
                name: None if rate is None else rate.plain()
                for name, rate in (("main", self.main), ("naive", self.naive), ("control", self.control))
            },
            "notes": list(self.remarks),
            "private": self.private,
            **self.figures,
        }


def percent(share: float) -> str:
    """Return a share as a person reads it: not rounded up to 1, and with two digits where it is small."""
    if 0 < share < 0.01:
        return f"{100 * share:.2g} %"
    digits = next((some for some in range(1, 12) if share >= 1 or round(100 * share, some) < 100), 1)
    return f"{100 * share:.{digits}f} %"
