"""A run from charge to last step: what it pays, when it stops, what it says."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep import run_report  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.memory import predict  # noqa: E402
from workbench.deep.model import TrainedModel  # noqa: E402
from workbench.deep.networks import network  # noqa: E402
from workbench.deep.plan import DpSgdPlan, Schedule  # noqa: E402
from workbench.deep.private_step import PrivateStep, study_steps  # noqa: E402
from workbench.deep.trainer import RunOptions, Training, train  # noqa: E402
from workbench.params import BudgetRefusedError, CancelledError, InputError, ParameterError, WorkbenchError  # noqa: E402
from workbench.privacy.accounting.accountant import loss  # noqa: E402
from workbench.privacy.accounting.event import Cost, PoissonGaussian  # noqa: E402
from workbench.privacy.entropy import SeededEntropy  # noqa: E402
from workbench.signals.cancel import CancelToken  # noqa: E402
from workbench.signals.events import Budget, Event, Memory, Metric, Notice, Progress  # noqa: E402
from workbench.work.ask import Steps  # noqa: E402
from workbench.work.noise import Charged, Study  # noqa: E402

FALSE_ALARM = 1e-6
FEATURES = Features(
    tuple(Attribute(name=f"x{i}", kind="real", lower=-3, upper=3) for i in range(3)),
    Attribute(name="y", kind="category", domain=("no", "yes")),
)


def easy(rows: int, seed: int = 0) -> ArrayData:
    """Make a generated table whose classes a line separates."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-3, 3, size=(rows, 3))
    return ArrayData(FEATURES, X, (X[:, 0] + X[:, 1] > 0).astype(int))


def plan(**changes: Any) -> DpSgdPlan:
    given = {
        "network": "logistic", "noise": 2.0, "delta": 1e-5, "batch": 20, "epochs": 2, "lr": 1.0, "clip": 1.0,
        "accountant": "rdp", "device": "cpu",
    }  # fmt: skip
    return DpSgdPlan(**{**given, **changes})


def quick(p: DpSgdPlan, data: Any = None, charge: Callable[[Cost], None] = lambda cost: None, **more: Any) -> Training:
    """Train with seeded randomness: reproducible, and not releasable."""
    options = RunOptions(**{name: more.pop(name) for name in ("settle", "keep", "clock", "quiet") if name in more})
    noise = more.pop("noise", None) or Study(np.random.default_rng(2), SeededEntropy(1), charge)
    return train(p, easy(100) if data is None else data, noise, options=options, **more)


def free(cost: Cost) -> None:
    """A budget without end."""


@dataclass
class Guarded:
    """Data that fail a test if they are read before the charge stands."""

    inner: ArrayData
    charged: bool = False
    read: bool = False

    @property
    def rows(self) -> int:
        return self.inner.rows

    @property
    def features(self) -> Features:
        return self.inner.features

    def load(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        assert self.charged, "rows were read before the charge"
        self.read = True
        return self.inner.load()


def test_the_charge_stands_before_a_row_is_read():
    data = Guarded(easy(50))

    def charge(cost: Cost) -> None:
        assert not data.read
        data.charged = True

    quick(plan(), data, charge)
    assert data.read


def test_a_refused_charge_reads_nothing():
    data = Guarded(easy(50))

    def refuse(cost: Cost) -> None:
        raise BudgetRefusedError("no")

    with pytest.raises(BudgetRefusedError):
        quick(plan(), data, refuse)
    assert not data.read


@pytest.mark.parametrize("name", ["logistic", "mlp"])
def test_an_easy_table_is_learned_at_a_modest_epsilon(name):
    data = easy(2000)
    run = quick(plan(network=name, noise=None, epsilon=2.0, batch=200, epochs=8), data, noise=Charged(free))
    assert TrainedModel.of(run).accuracy(easy(2000, seed=1)) > 0.93
    assert run.cost.epsilon <= 2


def test_the_event_charged_is_what_was_run():
    costs: list[Cost] = []
    p = plan(batch=30, epochs=3)
    run = quick(p, charge=costs.append)
    (cost,) = costs
    assert cost.event == PoissonGaussian(30 / 100, 2.0, 3 * 4, "DP-SGD logistic")
    assert run.steps == 12 == cost.event.steps
    assert cost == run.cost
    assert float(cost.epsilon) >= loss(cost.event, 1e-5, "rdp").epsilon
    assert float(cost.epsilon) == pytest.approx(loss(cost.event, 1e-5, "rdp").epsilon, abs=1e-6)
    assert run.stopped == "epochs"


def step_of(schedule: Schedule, name: str, steps: Steps | None = None) -> PrivateStep:
    return PrivateStep.of(
        steps or study_steps(replace(schedule.event, steps=5)),
        rows=schedule.rows,
        batch=schedule.batch,
        clip=schedule.clip,
        clipped_sum=lambda clip: PerRowClippedSum(network(name).build(3, 2), clip, 64),
    )


def test_the_mechanism_has_the_numbers_of_its_event():
    schedule = plan(batch=30, clip=0.25, noise=3.0).schedule(1000)
    made = step_of(schedule, "logistic")
    assert made.sampler.threshold == int(30 / 1000 * 2**64)
    assert made.noise.scale == 3.0 * 0.25
    clipping = made.clipped_sum.clipping.of(30)  # type: ignore[attr-defined]
    assert 0.25 * (1 - 2**-39) < clipping.bound < 0.25
    assert made.batch == 30


@pytest.mark.parametrize("clip", [0.1, 10.0])
def test_noise_of_variance_sigma_squared_clip_squared_is_on_the_sum(clip):
    """On empty rows the sum is zero, so batch·gradient is the noise; σ²C would be off by a factor of 10 here."""
    sigma = 1.5
    schedule = plan(noise=sigma, clip=clip, batch=50).schedule(100)
    made = step_of(schedule, "mlp")
    inputs, targets = torch.zeros(100, 3), torch.full((100,), -1)
    noise = np.concatenate([made.step(inputs, targets)[0].numpy() * schedule.batch for _ in range(5)])
    standard = noise / (sigma * clip)
    low, high = stats.chi2.ppf([FALSE_ALARM / 4, 1 - FALSE_ALARM / 4], len(noise))
    assert low < (standard**2).sum() < high
    assert stats.kstest(standard, "norm").pvalue > FALSE_ALARM / 2
    planted = standard / math.sqrt(clip)  # what noise of variance σ²C would have looked like
    assert not low < (planted**2).sum() < high


def test_the_noisy_sum_is_divided_by_the_public_batch_and_not_by_the_rows_drawn():
    schedule = plan(noise=0.01, clip=1e6, batch=50).schedule(100)
    made = step_of(schedule, "logistic", Steps(schedule.event, SeededEntropy(5), _Silence()))
    inputs = torch.ones(100, 3)
    gradient, sums = made.step(inputs, torch.zeros(100, dtype=torch.int64))
    assert sums.rows != 50
    # One row's gradient of the first logit's bias is −1/2 at zero weights.
    assert float(gradient[-2]) == pytest.approx(-0.5 * sums.rows / 50, rel=1e-6)


class _Silence:
    """Words whose noise is zero: the place 0 of a layer."""

    releasable = False

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.zeros(count, dtype=np.uint64)


def test_empty_batches_are_steps_with_noise_only():
    seen: list[Event] = []
    run = quick(plan(batch=1, epochs=1), easy(100), emit=seen.append)
    assert run.steps == 100
    assert any(r.loss is None for r in run.records), "at rate 1/100 a third of the batches are empty"
    assert all(np.isfinite(w).all() for w in run.weights.values())
    assert all(math.isfinite(e.value) for e in seen if isinstance(e, Metric))


def test_a_cap_ends_the_run_before_the_step_that_would_pass_it():
    costs: list[Cost] = []
    run = quick(plan(noise=4.0, epsilon=1.2, epochs=100, batch=20), charge=costs.append)
    assert run.stopped == "cap"
    assert 0 < run.steps < run.schedule.steps_asked == 500
    assert float(costs[0].epsilon) <= 1.2
    assert loss(replace(run.schedule.event, steps=run.steps + 1), 1e-5, "rdp").epsilon > 1.2
    assert max(r.epsilon for r in run.records) <= 1.2


def test_a_cap_below_one_step_is_refused_before_the_charge():
    with pytest.raises(BudgetRefusedError, match="first step alone"):
        quick(plan(noise=0.5, epsilon=0.01), charge=lambda cost: pytest.fail("charged"))


def test_epsilon_alone_finds_the_noise_that_fits_all_epochs():
    schedule = plan(noise=None, epsilon=1.5).schedule(200)
    assert schedule.steps == schedule.steps_asked
    assert schedule.loss().epsilon <= 1.5
    assert schedule.cost().epsilon <= Decimal("1.5")
    assert schedule.loss().epsilon > 1.49


def test_a_clock_ends_the_run_and_settles_to_its_steps():
    settled: list[Cost] = []
    ticks = itertools.count()
    run = quick(plan(seconds=5.0), settle=settled.append, clock=lambda: float(next(ticks)))
    assert run.stopped == "clock"
    assert 0 < run.steps < run.schedule.steps
    assert settled == [run.cost]
    assert run.cost.event == replace(run.schedule.event, steps=run.steps)
    assert run.cost.epsilon < run.schedule.cost().epsilon
    assert run.records[-1].step == run.steps


def test_a_full_run_is_not_settled():
    quick(plan(), settle=lambda cost: pytest.fail("settled"))


def test_a_cancelled_run_stays_charged():
    token = CancelToken()

    def stop_at_third(event: Event) -> None:
        if isinstance(event, Progress) and event.done == 3:
            token.cancel()

    with pytest.raises(CancelledError):
        quick(plan(), settle=lambda cost: pytest.fail("settled"), emit=stop_at_third, cancel=token)


def test_a_fault_settles_to_the_steps_begun(monkeypatch):
    settled: list[Cost] = []
    calls = itertools.count(1)
    whole = PrivateStep.step

    def breaks(self: PrivateStep, inputs: Any, targets: Any, **more: Any) -> Any:
        if next(calls) == 4:
            self.steps.take()
            raise MemoryError
        return whole(self, inputs, targets, **more)

    monkeypatch.setattr(PrivateStep, "step", breaks)
    with pytest.raises(WorkbenchError, match=r"gradients of 100 rows at once \(step 4\); set the rows in memory"):
        quick(plan(), settle=settled.append)
    (cost,) = settled
    assert isinstance(cost.event, PoissonGaussian)
    assert cost.event.steps == 4


def test_a_bad_value_found_after_the_charge_costs_nothing():
    settled: list[Cost] = []
    data = ArrayData(FEATURES, [[0, 0, math.inf]] * 100, [0] * 100)
    with pytest.raises(InputError, match="column x2"):
        quick(plan(), data, settle=settled.append)
    assert [(c.epsilon, c.delta) for c in settled] == [(0, 0)]


def test_the_steps_do_not_depend_on_the_data():
    ones = ArrayData(FEATURES, np.full((100, 3), 3.0), np.ones(100, dtype=int))
    empty = ArrayData(FEATURES, np.zeros((100, 3)), np.full(100, -1))
    assert quick(plan(), ones).steps == quick(plan(), empty).steps == quick(plan()).steps


def test_the_physical_batch_changes_nothing_but_memory():
    one, other = quick(plan(physical_batch=3)), quick(plan(physical_batch=1000))
    for name in one.weights:
        # More rows in one sum are clipped a little lower, by what its rounding needs (2e-5 of C here).
        np.testing.assert_allclose(one.weights[name], other.weights[name], rtol=1e-4, atol=5e-5)
    few, many = (predict(run.plan, FEATURES, 100) for run in (one, other))
    assert few.backward < many.backward


def test_two_released_runs_differ_and_two_seeded_ones_do_not():
    again = [quick(plan()).weights["0.weight"] for _ in range(2)]
    assert np.array_equal(again[0], again[1])
    released = [train(plan(), easy(100), Charged(free)) for _ in range(2)]
    assert all(r.releasable for r in released)
    assert not np.array_equal(released[0].weights["0.weight"], released[1].weights["0.weight"])


def test_events_carry_epsilon_with_its_cap_memory_and_private_metrics():
    seen: list[Event] = []
    run = quick(plan(epsilon=50.0), emit=seen.append)
    budgets = [e for e in seen if isinstance(e, Budget)]
    assert [b.step for b in budgets] == list(range(1, run.steps + 1))
    assert {b.cap for b in budgets} == {50.0}
    assert all(0 < b.epsilon <= float(run.cost.epsilon) for b in budgets)
    for budget in budgets:
        exact = loss(replace(run.schedule.event, steps=budget.step), 1e-5, "rdp").epsilon
        assert budget.epsilon >= exact
    assert all(not e.public for e in seen if isinstance(e, Metric))
    assert {e.name for e in seen if isinstance(e, Metric)} == {"loss", "accuracy"}
    samples = [e for e in seen if isinstance(e, Memory)]
    assert samples
    assert all(e.forecast == run.predicted_peak_bytes for e in samples)
    assert samples[-1].predicted == samples[-1].before + run.corrected_peak_bytes


def test_the_records_rise_to_the_cost_of_the_run_and_are_few():
    run = quick(plan(batch=1, epochs=5), easy(100))
    epsilons = [r.epsilon for r in run.records]
    assert epsilons == sorted(epsilons)
    assert epsilons[-1] == pytest.approx(float(run.cost.epsilon), abs=2e-6)
    assert len(run.records) == run_report.REPORTS
    assert run.records[-1].step == run.steps == 500
    assert run.records[-1].epoch == pytest.approx(5)


def test_several_rows_of_a_person_multiply_the_cost():
    one, three = plan().schedule(100), plan().schedule(100, rows_per_person=3)
    assert three.cost().epsilon == 3 * one.cost().epsilon
    assert three.cost().delta > 3 * one.cost().delta
    capped = plan(noise=None, epsilon=2.0).schedule(100, rows_per_person=2)
    assert capped.cost().epsilon <= 2
    assert capped.loss().epsilon <= 1
    with pytest.raises(ParameterError):
        plan().schedule(100, rows_per_person=0)


@pytest.mark.parametrize("changes", [{"optimizer": "adam", "lr": 0.05}, {"momentum": 0.9, "lr": 0.2}])
def test_other_optimisers_are_post_processing_at_the_same_cost(changes):
    assert quick(plan(**changes)).cost == quick(plan()).cost


def test_a_missing_gpu_is_announced_and_an_explicit_one_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    seen: list[Event] = []
    assert quick(plan(device="auto"), emit=seen.append).device == "cpu"
    assert any(isinstance(e, Notice) and "no GPU" in e.text for e in seen)
    with pytest.raises(InputError, match="no CUDA device"):
        quick(plan(device="cuda"), charge=lambda cost: pytest.fail("charged"))


def test_it_trains_in_one_thread_and_the_number_is_put_back():
    before, seen = torch.get_num_threads(), set()
    torch.set_num_threads(3)
    try:
        quick(plan(), emit=lambda event: seen.add(torch.get_num_threads()))
        assert (seen, torch.get_num_threads()) == ({1}, 3)
    finally:
        torch.set_num_threads(before)


def test_contradictory_plans_are_refused():
    with pytest.raises(ParameterError, match="neither noise nor epsilon"):
        plan(noise=None)
    with pytest.raises(ParameterError, match="momentum"):
        plan(optimizer="adam", momentum=0.5)
    with pytest.raises(ParameterError, match="larger than the table"):
        plan(batch=101).schedule(100)


def test_plans_of_former_versions_mean_plain_steps():
    """They said how a GPU was to compute."""
    stated = plan().to_plain()
    former = {**stated, "gpu_steps": "replayed", "precision": "bf16"}
    assert DpSgdPlan.from_plain(former) == plan()
    assert not {"gpu_steps", "precision"} & set(stated), "as they wrote their defaults: so their paused runs go on"
    with pytest.raises(ParameterError, match="precision = 'half' is not one of float32, tf32, bf16"):
        DpSgdPlan.from_plain({**stated, "precision": "half"})


def test_no_steps_cost_nothing():
    schedule: Schedule = plan().schedule(100)
    assert (schedule.cost(0).epsilon, schedule.cost(0).delta) == (0, 0)
