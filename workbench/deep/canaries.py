"""Audit the private step with canaries: what its outputs prove about ε and about the noise, by the code that trains.

A canary is a row with one large feature of its own, so that its clipped gradient has the norm C and a direction that
no other row touches. Half of the canaries are empty rows, by fair coins. The noisy sums of all steps are looked at;
nothing is learned, because privacy is promised whatever the weights are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from workbench.deep.adaptive_clipping import norm_of
from workbench.deep.correlated_noise import column, power_for
from workbench.deep.plan import DpSgdPlan, Schedule
from workbench.deep.preparation import engine_for
from workbench.deep.private_step import PrivateStep
from workbench.privacy.audit import epsilon_of_guesses, right_guesses, scale_bounds
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Progress, ignore
from workbench.work.ask import Steps
from workbench.work.noise import Charged, Noise

IN_ONE_RUN = 500  # canaries of a run: each has a feature, so a run takes their square

_LOUD = 1e3  # the size of a canary's feature: what the bias has of its gradient's norm is then a millionth

_GUESSED = 10  # one canary in so many is guessed for, the clearest ones

Made = Callable[[Schedule, Steps], PrivateStep]
"""Makes the mechanism of a run from its schedule and its steps, for :data:`IN_ONE_RUN` canaries."""


@dataclass(frozen=True)
class CanaryAudit:
    """What an audit found."""

    claim: float  # ε by the accountant
    delta: float  # its δ
    epsilon_lower: float  # with `confidence`, the step is (ε′, δ)-private for no ε′ below it
    canaries: int  # how many there were
    guesses: int  # for how many it was guessed whether they were in
    right: int  # how many guesses were right
    noise: float  # standard deviation of the noise that was seen, divided by the σC that was planned
    noise_low: float  # lower end of its confidence interval
    noise_high: float  # upper end
    confidence: float  # of both statements together

    @property
    def refuted(self) -> bool:
        """Whether the outputs prove that ε is above the claim or that there is less noise than planned."""
        return self.epsilon_lower > self.claim or self.noise_high < 1


def step_of(schedule: Schedule, steps: Steps) -> PrivateStep:
    """Return a training step for the canaries' network: one linear layer with zero weights."""
    linear = nn.Linear(IN_ONE_RUN, 2)
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    module = nn.Sequential(linear)
    return PrivateStep.of(
        steps,
        rows=schedule.rows,
        batch=schedule.batch,
        clip=schedule.clip,
        clipped_sum=lambda clip: engine_for(module, clip, IN_ONE_RUN),
        norm=norm_of(schedule),
    )


def audit_step(
    plan: DpSgdPlan,
    *,
    canaries: int,
    alpha: float,
    noise: Noise | None = None,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    made: Made = step_of,
) -> CanaryAudit:
    """Run ``plan`` on sets of :data:`IN_ONE_RUN` canaries and say what the noisy sums prove.

    Args:
        plan: what is audited; its batch and epochs are those of a table of :data:`IN_ONE_RUN` rows.
        canaries: at least so many, in whole runs.
        alpha: largest probability that a correct step is refuted, or called less noisy than it is.
        noise: of the sums, the batches and who is in; that of a release by default.
        emit: receives Progress.
        cancel: looked at before each run.
        made: makes the step; audits of the audit give a wrong one.

    Raises:
        ParameterError: the plan does not fit a table of so many rows.
    """
    noise = noise or Charged(lambda cost: None)  # canaries are generated rows
    schedule = plan.schedule(IN_ONE_RUN)
    runs, cost = -(-canaries // IN_ONE_RUN), schedule.cost()
    evidence, present, squares = [], [], 0.0
    for run in range(runs):
        cancel.check()
        ask = noise.ask(cost)
        there = (ask.coins.words(IN_ONE_RUN) & np.uint64(1)).astype(bool)
        mechanism = made(schedule, ask.steps(schedule.event.label, count_noise=schedule.count_noise))
        found, square = _one_run(mechanism, schedule, there)
        evidence.append(found)
        present.append(there)
        squares += square
        emit(Progress(run + 1, runs, "runs of canaries"))
    count = runs * IN_ONE_RUN
    guesses = max(1, count // _GUESSED)
    right = right_guesses(np.concatenate(evidence), np.concatenate(present), guesses)
    drawn, scale = count * schedule.steps, _planned_scale(schedule)
    low, high = scale_bounds(squares, drawn, alpha=alpha / 2)
    return CanaryAudit(
        claim=float(cost.epsilon),
        delta=plan.delta,
        epsilon_lower=epsilon_of_guesses(count, guesses, right, alpha=alpha / 2, delta=plan.delta),
        canaries=count,
        guesses=guesses,
        right=right,
        noise=math.sqrt(squares / drawn) / scale,
        noise_low=low / scale,
        noise_high=high / scale,
        confidence=1 - alpha,
    )


def _planned_scale(schedule: Schedule) -> float:
    """Return σC from what the accountant is given, and not from what the step reads."""
    return schedule.event.noise_multiplier * schedule.clip


def _one_run(
    mechanism: PrivateStep, schedule: Schedule, present: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """Return the evidence for each canary, and the sum of squares of as many coordinates that no row touches."""
    rows = _LOUD * torch.eye(IN_ONE_RUN)
    classes = torch.from_numpy(np.where(present, 0, -1))
    rate, scale, bands = schedule.event.sample_rate, _planned_scale(schedule), schedule.event.bands
    strategy = column(power_for(schedule.steps, bands), bands)
    own = np.arange(IN_ONE_RUN) % bands
    evidence, squares = np.zeros(IN_ONE_RUN), 0.0
    sums: list[NDArray[np.float64]] = []
    turn = np.zeros((2, IN_ONE_RUN))  # along the strategy since the canary's step, and the strategy's square
    for step in range(schedule.steps):
        gradient, _ = mechanism.step(rows, classes, measure=False)
        weights = (gradient * schedule.batch)[: 2 * IN_ONE_RUN].view(2, IN_ONE_RUN).double().numpy()
        sums = [weights, *sums][:bands]
        weights = np.tensordot(strategy[: len(sums)], sums, 1)  # with independent noise again
        # Of two classes at zero weights the gradients are opposite: their difference carries a canary, their sum noise.
        along, across = (weights[1] - weights[0]) / math.sqrt(2), (weights[1] + weights[0]) / math.sqrt(2)
        squares += float(np.sum(across**2))
        at = (step - own) % bands
        turn += np.where(step >= own, [strategy[at] * along, strategy[at] ** 2], 0.0)
        ended = (step >= own) & ((at == bands - 1) | (step == schedule.steps - 1))
        ratio = (2 * turn[0] * schedule.clip - turn[1] * schedule.clip**2) / (2 * scale**2)
        evidence += np.where(ended, np.logaddexp(math.log1p(-rate), math.log(rate) + ratio) if rate < 1 else ratio, 0.0)
        turn[:, ended] = 0.0
    return evidence, squares
