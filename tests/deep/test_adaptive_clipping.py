"""A norm that follows a private quantile: what a row moves, what a step costs, where the norm goes."""

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_checkpoints import Memory, data, interrupt_at  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep.adaptive_clipping import AdaptiveNorm, norm_of  # noqa: E402
from workbench.deep.clipping import BoundEngine, PerRowClippedSum  # noqa: E402
from workbench.deep.clipping_factors import NORMS  # noqa: E402
from workbench.deep.plan import DpSgdPlan, NormRule  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.private_step import PrivateStep, study_steps  # noqa: E402
from workbench.deep.probe_step import HalvingClippedSum  # noqa: E402
from workbench.deep.trainer import RunOptions, train  # noqa: E402
from workbench.params import CancelledError, InputError, ParameterError, WorkbenchError  # noqa: E402
from workbench.privacy.accounting.event import Cost, PoissonGaussian, exact  # noqa: E402
from workbench.signals.cancel import CancelToken  # noqa: E402
from workbench.work.ask import COUNT, Steps, UndeclaredError  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

ROWS = 4
IMAGES = nn.Sequential(nn.Unflatten(1, (1, 6, 6)), nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))
NETWORKS: dict[str, tuple[nn.Sequential, int]] = {
    "logistic": (nn.Sequential(nn.Linear(4, 2)), 4),
    "layers": (nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)), 4),
    "known layers": (nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 3)), 4),
    "images": (IMAGES, 36),
}


def plan(**changes: Any) -> DpSgdPlan:
    given = {
        "network": "logistic", "noise": 1.0, "delta": 1e-5, "batch": 50, "epochs": 20, "lr": 0.2, "clip": 4.0,
        "accountant": "rdp", "device": "cpu", "target_unclipped_quantile": 0.5,
    }  # fmt: skip
    return DpSgdPlan(**{**given, **changes})


def counted(engine: BoundEngine | HalvingClippedSum, x: torch.Tensor, y: torch.Tensor, clip: float) -> float:
    norm = AdaptiveNorm(NormRule(0.5, 0.2, 1.0), clip, len(y))
    with norm.listening():
        engine(x, y)
    return norm.counted(y >= 0)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("plain", [False, True])
def test_a_row_moves_the_count_by_a_half_whatever_the_others_are(name, plain):
    torch.manual_seed(3)
    module, width = NETWORKS[name]
    x = torch.randn(ROWS, width) * torch.logspace(-3, 2, ROWS)[:, None]
    y = torch.arange(ROWS) % 2
    for clip in (0.01, 1.0, 30.0):
        engine: Any = PerRowClippedSum(module, clip, 4) if plain else engine_for(module, clip, 4)
        rows = torch.arange(ROWS)
        counts = [counted(engine, x, torch.where(gone >> rows & 1 == 1, -1, y), clip) for gone in range(2**ROWS)]
        for gone, whole in enumerate(counts):
            here = [row for row in range(ROWS) if not gone >> row & 1]
            assert abs(whole) <= len(here) / 2
            assert all(abs(whole - counts[gone | 1 << row]) == 0.5 for row in here)


def test_rows_that_are_not_numbers_count_as_clipped_and_an_empty_batch_as_nothing():
    engine: Any = PerRowClippedSum(nn.Sequential(nn.Linear(4, 2)), 1.0, 4)
    assert counted(engine, torch.full((2, 4), math.nan), torch.tensor([0, 1]), 1.0) == -1.0
    assert counted(engine, torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64), 1.0) == 0.0


def test_no_noise_moves_the_norm_out_of_its_range_and_no_run_goes_on_from_outside_it():
    norm = AdaptiveNorm(NormRule(0.5, 10.0, 1e9), 1.0, 1)
    assert (norm.follow(-1e9), norm.follow(1e9)) == (1e6, 1e-6)
    schedule = plan().schedule(500)
    for clip in (0.0, -1.0, 1e-7, 1e7, math.inf, math.nan):
        with pytest.raises(InputError, match="the checkpoint is damaged"):
            norm_of(schedule, clip)


@pytest.mark.parametrize("heard", [0, 2])
def test_an_engine_that_leaves_out_norms_is_refused_in_a_sentence(heard):
    norm = AdaptiveNorm(NormRule(0.5, 0.2, 1.0), 1.0, 3)
    with norm.listening():
        for _ in range(heard):
            NORMS.on_norms(torch.ones(1, 1))
    with pytest.raises(WorkbenchError, match=r"^this network's engine has no norm for each row"):
        norm.counted(torch.ones(3, dtype=torch.bool))


def test_a_batch_that_is_computed_again_counts_each_row_once():
    """The second chunk of the first try finds no memory: its first chunk's norms were heard already."""
    module = nn.Sequential(nn.Linear(4, 2))
    failed: list[int] = []

    def made(rows: int) -> Any:
        def watch() -> None:
            failed.append(rows)
            if len(failed) == 2:
                raise MemoryError

        return PerRowClippedSum(module, 1.0, rows, watch)

    x, y = torch.randn(ROWS, 4), torch.arange(ROWS) % 2
    expected = counted(PerRowClippedSum(module, 1.0, ROWS), x, y, 1.0)
    assert counted(HalvingClippedSum(made, 2, lambda event: None), x, y, 1.0) == expected
    assert failed[:2] == [2, 2]
    assert set(failed[2:]) == {1}


@pytest.mark.parametrize("sigma", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("times", [0.51, 1.0, 2.0, 100.0])
def test_sum_and_count_together_are_the_gaussian_that_is_declared(sigma, times):
    """Theorem 1 of the paper, by the two sensitivities C and 1/2."""
    event = PoissonGaussian(0.1, sigma, 5, "t")
    shown = 1 / event.beside_count(times * sigma) ** 2 + (0.5 / (times * sigma)) ** 2
    assert shown <= 1 / sigma**2
    assert shown == pytest.approx(1 / sigma**2, rel=1e-9)


def test_a_count_that_leaves_nothing_to_the_sums_is_refused_before_anything_is_charged():
    with pytest.raises(ParameterError, match="too little noise beside a noise multiplier of 1"):
        plan(unclipped_num_std=0.5).schedule(1_000)
    with pytest.raises(ParameterError, match="clips whole gradients"):
        plan(clipping="automatic")


def steps_of(count_noise: float | None) -> Steps:
    event = PoissonGaussian(1.0, 2.0, 3, "t")
    return Charged(lambda cost: None).ask(Cost(exact(1), exact(0), event)).steps("t", count_noise=count_noise)


def test_a_count_is_declared_and_has_its_noise_once_a_step():
    with pytest.raises(UndeclaredError, match="declared without a count"):
        steps_of(None).give_noise(COUNT)
    steps = steps_of(2.0)
    assert steps.noise_multiplier == pytest.approx(2 / math.sqrt(1 - 0.25))
    with pytest.raises(UndeclaredError, match="once for each step"):
        steps.give_noise(COUNT)
    steps.take()
    steps.give_noise()
    steps.give_noise(COUNT)
    for answer in ("sum", COUNT):
        with pytest.raises(UndeclaredError, match="once for each step"):
            steps.give_noise(answer)


def test_the_noise_has_the_stated_spread_on_sums_and_counts_also_after_the_norm_has_moved():
    """4,000 numbers each: the sample's deviation is within 8 % with odds of 1e-12 that it is not."""
    rule, numbers = NormRule(0.5, 1e-4, 3.0), 4_000
    event = PoissonGaussian(1.0, 2.0, numbers, "t")
    norm = AdaptiveNorm(rule, 0.25, 1.0)
    wide = nn.Sequential(nn.Linear(3, 2))
    mechanism = PrivateStep.of(
        study_steps(event, 5, rule.noise), rows=1, batch=1.0, clip=2.0, norm=norm,
        clipped_sum=lambda clip: engine_for(wide, clip, 1),
    )  # fmt: skip
    sums, counts, x, y = [], [], torch.zeros(1, 3), torch.tensor([-1])
    for _ in range(numbers):
        clip = norm.clip
        gradient, _ = mechanism.step(x, y, measure=False)
        sums.append(float(gradient[0]) / clip)
        counts.append(-math.log(norm.clip / clip) / rule.rate)  # of an empty row: share − γ = noise alone
    assert np.std(sums) == pytest.approx(event.beside_count(3.0), rel=0.08)
    assert np.std(counts) == pytest.approx(3.0, rel=0.08)


@pytest.mark.parametrize("quantile", [0.2, 0.8])
def test_the_norm_goes_to_the_quantile_from_either_side(quantile):
    """A learning rate near 0: the quantile of the first network's gradients stays where it is.

    The share within the last norm has a standard deviation of at most .007: one run in 10^12 ends .06 away.
    """
    rows = data(2_000)
    inputs = torch.from_numpy(rows.load()[0])
    module = nn.Sequential(nn.Linear(inputs.shape[1], 2))
    nn.init.zeros_(module[0].weight)
    nn.init.zeros_(module[0].bias)
    norms = (0.5 * (inputs.square().sum(1) + 1)).sqrt().numpy()  # of two even classes: slopes ±1/2
    low, high = np.quantile(norms, [quantile - 0.06, quantile + 0.06])
    for clip in (0.05, 50.0):
        settled = {"epochs": 50, "batch": 1_000, "unclipped_num_std": 2.0}
        asked = plan(lr=1e-9, clip=clip, target_unclipped_quantile=quantile, **settled)
        run = train(asked, rows, Charged(lambda cost: None))
        assert low < run.clip < high, (clip, run.clip)


def test_an_interrupted_run_goes_on_from_its_norm():
    keep, token = Memory(), CancelToken()
    asked, rows = plan(epochs=6, batch=20), data()
    with pytest.raises(CancelledError):
        train(
            asked, rows, Charged(lambda cost: None), emit=interrupt_at(20, token), cancel=token,
            options=RunOptions(keep=keep),
        )  # fmt: skip
    assert keep.state is not None
    kept = keep.state.clip
    assert kept != asked.clip
    began: list[float] = []
    right = AdaptiveNorm.follow

    def follow(norm: AdaptiveNorm, count: float) -> float:
        began.append(norm.clip)
        return right(norm, count)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AdaptiveNorm, "follow", follow)
        train(asked, rows, Charged(lambda cost: None), options=RunOptions(keep=keep))
    assert began[0] == kept
    assert len(began) == 60 - 20


def test_it_costs_what_a_norm_that_stays_costs():
    moving, still = plan().schedule(1_000), plan(target_unclipped_quantile=None).schedule(1_000)
    assert moving.cost() == still.cost()
    assert moving.noise_scale > still.noise_scale
    assert moving.count_noise == 2.5
    assert still.count_noise is None
