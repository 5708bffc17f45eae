"""The frozen description of a DP-SGD run, and what follows from it for a table of n rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

from workbench.deep.correlated_noise import power_for
from workbench.deep.networks import Network, network
from workbench.params import ParameterError, Parameters, boolean, choice, integer, real, text
from workbench.privacy.accounting.accountant import (
    LEAST_NOISE,
    MOST_BANDS,
    MOST_NOISE,
    Loss,
    accountant_names,
    accountant_titles,
    event_of,
    loss,
    noise_for,
    within,
)
from workbench.privacy.accounting.compose import for_person, round_up
from workbench.privacy.accounting.event import Cost, PoissonGaussian, exact
from workbench.processes.executor import MOST_JOBS

AUTO, CPU, CUDA = DEVICES = ("auto", "cpu", "cuda")
OPTIMIZERS = ("sgd", "adam", "adamw")
OPTIMIZER_TITLES = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW"}
DEVICE_TITLES = {AUTO: "automatic", CPU: "processor", CUDA: "GPU"}
CLIPPINGS = FLAT, PER_LAYER, AUTOMATIC = ("flat", "per-layer", "automatic")

SAMPLING = "Poisson: each row is in each batch by an independent coin"
IN_TURN = (
    "Poisson in turn: row i, counted from 0, is in part i mod bands; each step is of the next part, and each row of it "
    "is in the batch by an independent coin"
)
"""What a card says of the sampling, without bands and with them."""

FORMER = {"gpu_steps": ("plain", "replayed"), "precision": ("float32", "tf32", "bf16")}
"""Fields of former versions and their values, the defaults first: how steps were to be computed on a GPU. Whatever they
asked for, steps are now plain ones, with passes in single precision and the noise of the processor."""


@dataclass(frozen=True, kw_only=True)
class DpSgdPlan(Parameters):
    """How to train a network with differential privacy (Abadi et al. 2016, Algorithm 1).

    With ``epsilon`` alone, the least noise that keeps all epochs within it is found. With ``noise`` alone, the cost
    follows from it. With both, ``epsilon`` is a cap: the run stops before the step that would exceed it.
    """

    network: str = text(help="the network")
    epsilon: float | None = real(
        default=None,
        above=0,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help="the most that training may cost; it stops before it exceeds that",
        empty="no target",
    )
    delta: float = real(
        above=0,
        below=1,
        symbol="δ",
        help="chance that the guarantee fails; it must be below one in the number of rows",
    )
    batch: int = integer(
        at_least=1,
        upto=10**9,
        title="rows in a step",
        help="how many rows a step uses, on average; with more rows the noise matters less, but each step costs more",
    )
    epochs: int = integer(
        at_least=1,
        upto=10**6,
        help="how often each row is used, on average; more passes need more noise for the same ε",
    )
    lr: float = real(above=0, upto=1e4, symbol="η", title="learning rate", help="how far each step moves the model")
    clip: float = real(
        above=0,
        upto=1e6,
        symbol="C",
        title="clipping norm",
        help="the most that one row can change a step; the noise is proportional to it",
    )
    clipping: str = choice(
        choices=CLIPPINGS,
        titles={PER_LAYER: "per layer"},
        default=FLAT,
        help="flat clips whole gradients, per-layer each layer's part, automatic scales all to the norm",
        advanced=True,
    )
    target_unclipped_quantile: float | None = real(
        default=None,
        above=0,
        below=1,
        symbol="γ",
        title="share not clipped",
        help="adapt the clipping norm so that this share of rows is not clipped; this adds a little noise",
        empty="fixed norm",
        advanced=True,
    )
    clipbound_learning_rate: float = real(
        default=0.2,
        above=0,
        upto=10,
        title="learning rate of the norm",
        help="how fast the clipping norm adapts to the share not clipped",
        advanced=True,
    )
    unclipped_num_std: float | None = real(
        default=None,
        above=0,
        upto=1e9,
        title="noise of the unclipped count",
        help="noise on the number of rows that are not clipped, as a standard deviation in rows",
        empty="from the batch",
        advanced=True,
    )
    bands: int = integer(
        default=1,
        at_least=1,
        upto=MOST_BANDS,
        title="steps with correlated noise",
        help="how many steps have correlated noise, which later steps partly cancel; helps small batches at larger ε",
        advanced=True,
    )
    noise: float | None = real(
        default=None,
        at_least=LEAST_NOISE,
        upto=MOST_NOISE,
        symbol="σ",
        help="noise of a step divided by the clipping norm; if empty, it follows from ε",
        empty="from ε",
        advanced=True,
    )
    optimizer: str = choice(
        choices=OPTIMIZERS,
        titles=OPTIMIZER_TITLES,
        default="sgd",
        help="how noisy gradients update the weights; this costs no budget",
        advanced=True,
    )
    momentum: float = real(
        default=0.0,
        at_least=0,
        below=1,
        help="how much of the previous step is kept, with sgd; this costs no budget",
        advanced=True,
    )
    physical_batch: int = integer(
        default=128,
        at_least=1,
        upto=10**6,
        title="rows in memory",
        help="the most rows in memory at once; fewer rows need less memory and give the same result",
        advanced=True,
    )
    processes: int = integer(
        default=1,
        at_least=1,
        upto=MOST_JOBS,
        title="training processes",
        help="how many processes on this computer share each step, each with its own rows; ε is the same",
        advanced=True,
    )
    seconds: float | None = real(
        default=None,
        above=0,
        unit="s",
        title="stop after",
        help="end after this time, at a lower cost",
        empty="never",
        advanced=True,
    )
    device: str = choice(
        choices=DEVICES,
        titles=DEVICE_TITLES,
        default=AUTO,
        help="where to compute: automatic uses a GPU if there is one",
        advanced=True,
    )
    weights: str | None = text(
        default=None,
        help="a file of public weights, for a network with a frozen part",
        empty="none yet",
        file="weights",
        advanced=True,
    )
    weights_sha256: str | None = text(
        default=None,
        title="checksum",
        help="the SHA-256 that the file of weights must have",
        empty="any file",
        advanced=True,
    )
    reduction: str = choice(
        choices=("1", "2", "4"),
        default="1",
        help="factor that the sides of images are divided by before a frozen part",
        advanced=True,
    )
    convert_batchnorm: bool = boolean(
        default=False,
        title="convert BatchNorm",
        help="for a network that is code: replace BatchNorm, which mixes the rows of a batch, with GroupNorm",
        advanced=True,
    )
    accountant: str = choice(
        choices=accountant_names,
        titles=accountant_titles(),
        default="pld",
        help="privacy accountant",
        advanced=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        network(self.network)
        if self.noise is None and self.epsilon is None:
            raise ParameterError(
                "neither noise nor epsilon is given", hint="give --noise S or --epsilon E", field="epsilon"
            )
        if self.target_unclipped_quantile is not None and self.clipping != FLAT:
            raise ParameterError(
                f"an adaptive clipping norm clips whole gradients, but clipping is {self.clipping}",
                hint="leave clipping or target_unclipped_quantile out",
                field="target_unclipped_quantile",
            )
        if self.target_unclipped_quantile is not None and self.processes > 1:
            raise ParameterError(
                f"an adaptive clipping norm needs a single process, but processes is {self.processes}",
                hint="leave processes or target_unclipped_quantile out",
                field="processes",
            )
        if self.bands > 1 and self.processes > 1:
            raise ParameterError(
                f"correlated noise needs a single process, but processes is {self.processes}",
                hint="leave processes or bands out",
                field="processes",
            )
        if self.momentum and self.optimizer != "sgd":
            raise ParameterError(
                f"{self.optimizer} has its own momentum", hint="leave momentum out, or use sgd", field="momentum"
            )

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Make the plan; the fields of :data:`FORMER` have no effect.

        Raises:
            ParameterError: a key is unknown or missing, or a value is refused; ``where`` names the table.
        """
        for name, choices in FORMER.items():
            if name in values and values[name] not in choices:
                stated = f"{name} = {values[name]!r} is not one of {', '.join(choices)}"
                raise ParameterError(stated, where, "leave it out", field=name)
        return super().from_plain({key: value for key, value in values.items() if key not in FORMER}, where)

    @property
    def architecture(self) -> Network:
        """The network as this plan configures it.

        Raises:
            ParameterError: something that it needs is missing.
            InputError: a file that it needs cannot be used.
        """
        found = network(self.network)
        return found.configured({name: getattr(self, name) for name in found.options})

    def schedule(self, rows: int, rows_per_person: int = 1) -> Schedule:
        """Return what this plan means for a table of ``rows`` rows; calibrates the noise where it is not given.

        Args:
            rows: the public number of rows.
            rows_per_person: maximum rows per person, k: the charge is that of a group of k.

        Raises:
            ParameterError: the batch is larger than the table, or no noise reaches the target.
            BudgetRefusedError: not one step fits under the cap.
        """
        if isinstance(rows_per_person, bool) or not rows_per_person >= 1:
            raise ParameterError(f"{rows_per_person} rows per person is not possible", hint="give 1 or more")
        label = f"DP-SGD {self.network}"
        asked = event_of(rows, self.batch, self.epochs, self.noise or 1.0, label, self.bands)
        event = asked
        if self.epsilon is not None:
            # k times the share of one row must not come out above the whole.
            target = self.epsilon if rows_per_person == 1 else math.nextafter(self.epsilon / rows_per_person, 0.0)
            if self.noise is None:
                sigma = noise_for(asked, self.delta, target, self.accountant)
                event = replace(asked, noise_multiplier=sigma)
            else:
                event = within(asked, self.delta, target, self.accountant)
        return Schedule(
            rows=rows,
            rows_per_person=rows_per_person,
            batch=self.batch,
            clip=self.clip,
            delta=self.delta,
            accountant=self.accountant,
            cap=None if self.epsilon is None else exact(self.epsilon),
            steps_asked=asked.steps,
            event=event,
            norm=self._norm_rule(event.noise_multiplier),
        )

    def _norm_rule(self, sigma: float) -> NormRule | None:
        """Return how the clipping norm moves, at a noise multiplier."""
        if self.target_unclipped_quantile is None:
            return None
        spread = self.unclipped_num_std
        # A twentieth of the batch is the paper's; a count of twice the noise takes 3 % more noise of the sums.
        noise = max(self.batch / 20, 2 * sigma) if spread is None else spread
        return NormRule(self.target_unclipped_quantile, self.clipbound_learning_rate, noise)


LEAST_SINGLE, MOST_SINGLE = 1e-6, 1e6
"""Clipping norms at which single precision neither loses small squares nor overflows."""


@dataclass(frozen=True)
class NormRule:
    """How the clipping norm follows the rows' norms."""

    quantile: float  # the share γ of the rows that are to be within the norm
    rate: float  # η, how fast it follows
    noise: float  # standard deviation of the noise on the number of rows within it

    def moved(self, clip: float, share: float) -> float:
        """Return the norm after ``clip``, of which a noisy ``share`` of the rows was within."""
        factor = math.exp(min(-self.rate * (share - self.quantile), _MOST_EXPONENT))
        return min(max(clip * factor, LEAST_SINGLE), MOST_SINGLE)

    @staticmethod
    def reaches(clip: float, first: float) -> bool:
        """Return whether a run that begins with the norm ``first`` can have the norm ``clip``."""
        return clip == first or LEAST_SINGLE <= clip <= MOST_SINGLE


_MOST_EXPONENT = 700.0  # of which a double still has the exponential; noise can have any size

JUDGED = 20  # how often in a run its accuracy on public rows is measured, where it is


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Everything about a run that its privacy depends on, from one plan: sampling, noise, steps and cost agree."""

    rows: int  # the public number of rows
    rows_per_person: int  # maximum rows per person
    batch: int  # expected rows of a batch: what the noisy sum is divided by (public, unlike the rows drawn)
    clip: float  # the clipping norm C
    delta: float  # δ of one row
    accountant: str  # the privacy accountant
    cap: Decimal | None  # the plan's ε, or `None`
    steps_asked: int  # steps of all epochs
    # The run as it will be: sample rate, noise multiplier, steps (fewer than asked where the cap ends it).
    event: PoissonGaussian
    norm: NormRule | None = None  # how the clipping norm moves from `clip`; `None` where it stays

    def __post_init__(self) -> None:
        """Refuse a count that leaves nothing to the sums."""
        if self.norm is not None:
            self.event.beside_count(self.norm.noise)

    @property
    def count_noise(self) -> float | None:
        """Standard deviation of the noise on the count of rows that are not clipped, where there is one."""
        return None if self.norm is None else self.norm.noise

    @property
    def steps(self) -> int:
        """Steps that the run takes unless a clock or a person stops it."""
        return self.event.steps

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on each coordinate of the (first) sum: σC, or σ_ΔC beside a count.

        With bands it is that of the independent noise of which the noise on sums is made.
        """
        event = self.event
        return (event.noise_multiplier if self.norm is None else event.beside_count(self.norm.noise)) * self.clip

    def loss(self, steps: int | None = None) -> Loss:
        """Return the bound on one row's ε after ``steps`` steps (all of them by default)."""
        event = self.event if steps is None else replace(self.event, steps=steps)
        return loss(event, self.delta, self.accountant)

    def cost(self, steps: int | None = None) -> Cost:
        """Return what ``steps`` steps (all of them by default) cost a person with all her rows; ε is rounded up.

        No steps cost nothing, in δ neither.
        """
        event = self.event if steps is None else replace(self.event, steps=steps)
        if event.steps == 0:
            return Cost(Decimal(0), Decimal(0), event)
        cost = for_person(Cost(round_up(self.loss(steps).epsilon), exact(self.delta), event), self.rows_per_person)
        # Where the bound itself is within the cap, rounding it up for display must not take it beyond.
        return cost if self.cap is None else replace(cost, epsilon=min(cost.epsilon, self.cap))

    def facts(self, steps: int) -> dict[str, Any]:
        """Return what a card says of a run that took ``steps`` steps; verification computes the same again."""
        bound = self.loss(steps)
        return {
            "noise_multiplier": self.event.noise_multiplier,
            "clip": self.clip,
            "noise_standard_deviation": self.noise_scale,
            "sample_rate": self.event.sample_rate,
            "batch": self.batch,
            **self._norm_facts(),
            "steps_asked": self.steps_asked,
            "sampling": SAMPLING,
            "accountant": self.accountant,
            "order": bound.order,
            "discretisation": bound.discretisation,
            "epsilon_row": bound.epsilon,
            "delta_row": self.delta,
            "rows_per_person": self.rows_per_person,
            **self._band_facts(),
        }

    def _band_facts(self) -> dict[str, Any]:
        bands = self.event.bands
        return {} if bands == 1 else {"bands": bands, "power": power_for(self.steps, bands), "sampling": IN_TURN}

    def _norm_facts(self) -> dict[str, Any]:
        if self.norm is None:
            return {}
        return {
            "target_unclipped_quantile": self.norm.quantile,
            "clipbound_learning_rate": self.norm.rate,
            "unclipped_num_std": self.norm.noise,
        }

    def epoch(self, step: int) -> float:
        """Return how many times the table was passed, in expectation, after ``step`` steps."""
        return step * self.batch / self.rows
