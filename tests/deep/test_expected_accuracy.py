"""What accuracy to expect: the plan itself trained on rows that nobody has to protect."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402

from workbench.data.images.image_set import ImageSet, ImageShape, class_attribute, pixel_attribute  # noqa: E402
from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep import expected_accuracy as simulation  # noqa: E402
from workbench.deep import private_step  # noqa: E402
from workbench.deep.accuracy_study import STAGES, accuracy_losses  # noqa: E402
from workbench.deep.clipping_factors import NORMS  # noqa: E402
from workbench.deep.expected_accuracy import ExpectedAccuracy, expected_accuracy  # noqa: E402
from workbench.deep.features import Features, ImageFeatures  # noqa: E402
from workbench.deep.networks.images import SIDE  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.run_report import NORM_EDGES  # noqa: E402
from workbench.deep.trainer import train  # noqa: E402
from workbench.params import CancelledError, InputError  # noqa: E402
from workbench.privacy.entropy import SeededEntropy  # noqa: E402
from workbench.signals.cancel import CancelToken  # noqa: E402
from workbench.signals.events import Event, Progress, Spread  # noqa: E402
from workbench.studies.expected_accuracy import in_brief, in_sentences, made_up_rows, public_rows  # noqa: E402
from workbench.work.noise import Study  # noqa: E402

FEATURES = Features(
    (
        *(Attribute(name=f"x{i}", kind="real", lower=-3, upper=3) for i in range(4)),
        Attribute(name="age", kind="integer", lower=0, upper=120, missing="own-value"),
        Attribute(name="town", kind="category", domain=("Graz", "Linz", "Wien")),
    ),
    Attribute(name="y", kind="category", domain=("no", "yes")),
)
PLAN = DpSgdPlan(
    network="logistic", noise=1.0, delta=1e-5, batch=100, epochs=10, lr=1.0, clip=0.5, accountant="rdp", device="cpu"
)
DRAWN = ImageFeatures((pixel_attribute(),), class_attribute(("a", "b", "c")), ImageShape(1, SIDE, SIDE))


def sized(monkeypatch: pytest.MonkeyPatch, rows: int, batch: float, repeats: int = 3) -> None:
    """Let every simulation have this size, however fast the machine is."""
    monkeypatch.setattr(simulation, "_size", lambda *given: simulation._Size(rows, batch, repeats))


def test_less_privacy_costs_less_and_nothing_is_better_than_no_privacy(monkeypatch):
    sized(monkeypatch, 400, 100.0)
    plans = replace(PLAN, noise=60.0, epochs=5), replace(PLAN, epochs=5)
    strict, mild = (expected_accuracy(plan, FEATURES, made_up_rows(FEATURES), plan.schedule(400)) for plan in plans)
    assert mild.chance == 0.5
    assert strict.accuracy < mild.accuracy - 0.05
    assert mild.accuracy > mild.without_privacy - 0.05
    assert 0.8 < mild.without_privacy < 0.95
    assert mild.lowest <= mild.accuracy <= mild.highest
    again = expected_accuracy(plans[1], FEATURES, made_up_rows(FEATURES), plans[1].schedule(400))
    assert again == mild


def test_a_share_of_rows_and_batch_has_the_noise_of_the_whole_in_the_mean_of_a_step(monkeypatch):
    schedule = PLAN.schedule(4000)
    inputs = torch.zeros(1000, FEATURES.width)
    made = simulation._Simulation(PLAN, FEATURES, inputs, torch.zeros(1000), schedule, 0, lambda e: None, CancelToken())
    part = made._training(simulation._Size(500, 12.5, 1), 10)
    scale = part.event.noise_multiplier * PLAN.clip
    assert scale / (part.event.sample_rate * 500) == pytest.approx(schedule.noise_scale / schedule.batch)
    noisy = replace(PLAN, noise=60.0, epochs=5)
    found = []
    for rows, batch in ((4000, 100.0), (1000, 25.0)):
        sized(monkeypatch, rows, batch)
        found.append(expected_accuracy(noisy, FEATURES, made_up_rows(FEATURES), noisy.schedule(4000)))
    whole, part = found
    assert whole.whole
    assert not part.whole
    assert whole.without_privacy - whole.accuracy > 0.04, "the noise is felt"
    assert abs(whole.accuracy - part.accuracy) < 0.06
    assert any("1,000 rows, not 4,000" in sentence for sentence in in_sentences(part))


def test_the_size_follows_from_the_time_there_is():
    schedule = PLAN.schedule(4000)
    a_step = 1e-3 / schedule.steps  # a training takes a second for every thousand rows of a step

    def seconds(size: simulation._Size) -> float:
        return size.batch * a_step

    assert simulation._size(seconds, schedule, 4000, patience=100) == simulation._Size(4000, 100.0, 3)
    assert simulation._size(seconds, schedule, 1000, patience=100) == simulation._Size(1000, 64, 3)
    assert simulation._size(seconds, schedule, 4000, patience=0.34) == simulation._Size(2560, 64.0, 3)
    assert simulation._size(seconds, schedule, 4000, patience=0.1) == simulation._Size(1280, 32.0, 1)
    assert simulation._size(seconds, schedule, 4000, patience=0.02) == simulation._Size(640, 16.0, 1), "late, not never"
    with pytest.raises(InputError, match="the smallest simulation of 400 steps would take"):
        simulation._size(lambda size: 1.0, schedule, 4000, patience=10)


def test_public_rows_are_trained_on_where_there_are_enough(monkeypatch):
    codes = np.arange(300) % 3
    pixels = np.random.default_rng(0).integers(0, 90, (300, 1, SIDE, SIDE)) + 60 * codes[:, None, None, None]
    images = ImageSet.of(pixels.astype(np.uint8), codes, ("a", "b", "c"), "made")
    plan = replace(PLAN, batch=60)
    sized(monkeypatch, 200, 20.0, 1)
    found = expected_accuracy(plan, DRAWN, public_rows(DRAWN, images), plan.schedule(600))
    assert not found.made_up
    assert found.accuracy > 0.6
    assert found.chance == pytest.approx(1 / 3, abs=0.05)
    assert "public rows" in in_brief(found)
    assert "only if they resemble the public ones" in " ".join(in_sentences(found))
    few = ImageSet.of(pixels[:100].astype(np.uint8), codes[:100], ("a", "b", "c"), "made")
    with pytest.raises(InputError, match="100 public rows are too few to learn from; give 266 or more"):
        expected_accuracy(plan, DRAWN, public_rows(DRAWN, few), plan.schedule(600))


def test_it_is_cancelled_within_a_step(monkeypatch):
    sized(monkeypatch, 300, 50.0)
    token, heard = CancelToken(), []

    def hear(event: Event) -> None:
        heard.append(event)
        if isinstance(event, Progress) and event.done == 5:
            token.cancel()

    with pytest.raises(CancelledError):
        expected_accuracy(PLAN, FEATURES, made_up_rows(FEATURES), PLAN.schedule(300), emit=hear, cancel=token)
    assert heard[-1].done == 5


@pytest.mark.parametrize(("features", "shape"), [(FEATURES, (9,)), (DRAWN, (1, SIDE, SIDE))])
def test_made_up_rows_follow_from_the_declarations_and_the_seed_alone(features, shape):
    inputs, classes = made_up_rows(features).make(50)
    assert inputs.shape == (50, *shape)
    assert inputs.dtype == np.float32
    assert np.abs(inputs).max() <= 1
    assert set(classes) == set(range(len(features.classes)))
    assert np.array_equal(made_up_rows(features).make(50)[0], inputs)
    assert not np.array_equal(made_up_rows(features, seed=1).make(50)[0], inputs)


def test_drawings_reach_a_table_of_784_columns_too():
    pixels = tuple(Attribute(name=f"p{i}", kind="integer", lower=0, upper=255) for i in range(SIDE * SIDE))
    table = Features(pixels, DRAWN.target)
    drawn, flat = made_up_rows(DRAWN).make(5)[0], made_up_rows(table).make(5)[0]
    np.testing.assert_allclose(drawn.reshape(5, -1), flat, atol=1e-6)


def test_sentences_promise_nothing_of_the_real_rows():
    found = ExpectedAccuracy(
        accuracy=0.81, lowest=0.78, highest=0.83, without_privacy=0.86, chance=0.5, rows=768, simulated_rows=768,
        batch=96, simulated_batch=96.0, steps=160, held_out=1000, repeats=3, made_up=True,
    )  # fmt: skip
    brief = "About 81 % on simulated rows of this shape: 86 % without privacy, 50 % by chance."
    assert in_brief(found) == f"{brief} No private row was read."
    first, limits, last = in_sentences(found)
    assert "about 81 % with this privacy (78 % to 83 % in 3 trainings), about 86 % without, and 50 % by chance" in first
    assert "may be easier or harder" in limits
    assert "No private row was read and nothing is charged" in last


# -- Where the accuracy goes: three trainings on the same batches, of which only the last is noisy --------------------


STUDY_FEATURES = Features(
    tuple(Attribute(name=f"x{i}", kind="real", lower=-3, upper=3) for i in range(3)),
    Attribute(name="y", kind="category", domain=("no", "yes")),
)
STUDY_PLAN = DpSgdPlan(
    network="logistic", noise=20.0, delta=1e-5, batch=40, epochs=20, lr=2.0, clip=0.5, accountant="rdp", device="cpu"
)


def data(rows: int = 400) -> ArrayData:
    X = np.random.default_rng(0).uniform(-3, 3, size=(rows, 3))
    return ArrayData(STUDY_FEATURES, X, (X[:, 0] + X[:, 1] > 0).astype(int))


def test_noise_costs_accuracy_and_the_study_is_the_same_with_the_same_seed():
    first = accuracy_losses(STUDY_PLAN, data(), seed=3)
    assert [s.name for s in first] == list(STAGES)
    assert all(s.measured == 80 for s in first)
    plain, clipped, noisy = (s.accuracy for s in first)
    assert plain > 0.95
    assert clipped > 0.95
    assert noisy < clipped - 0.05
    assert accuracy_losses(STUDY_PLAN, data(), seed=3) == first


def test_without_clipping_that_bites_and_without_noise_all_three_are_alike(monkeypatch):
    class Silent:
        def __init__(self, *given: Any) -> None: ...

        def add_to(self, values: np.ndarray, out: np.ndarray, over: float) -> None:
            out[:] = values / over

    monkeypatch.setattr(private_step, "GaussianNoise", Silent)
    found = accuracy_losses(replace(STUDY_PLAN, clip=100.0), data())
    assert len({s.accuracy for s in found}) == 1


def test_it_is_cancelled_within_a_step_and_too_few_rows_are_refused():
    token, heard = CancelToken(), []

    def hear(event: Event) -> None:
        heard.append(event)
        if isinstance(event, Progress) and event.done == 5:
            token.cancel()

    with pytest.raises(CancelledError):
        accuracy_losses(STUDY_PLAN, data(), emit=hear, cancel=token)
    assert heard[-1].done == 5
    with pytest.raises(InputError, match="too few"):
        accuracy_losses(replace(STUDY_PLAN, batch=2), data(10))


@pytest.mark.parametrize(("name", "width"), [("logistic", 3), ("mlp", 3), ("mnist-cnn", 784)])
def test_the_histogram_of_norms_counts_each_row_of_the_measured_steps_once(name, width):
    """Whichever engine computes them; a row that is drawn is in one bin."""
    features = Features(
        tuple(Attribute(name=f"x{i}", kind="real", lower=-3, upper=3) for i in range(width)), STUDY_FEATURES.target
    )
    X = np.random.default_rng(1).uniform(-3, 3, size=(30, width))
    rows = ArrayData(features, X, (X[:, 0] > 0).astype(int))
    heard: list[Spread] = []
    plan = replace(STUDY_PLAN, network=name, batch=10, epochs=2, noise=2.0, physical_batch=4, lr=0.01)
    drawn: list[int] = []
    done = train(
        plan, rows, Study(np.random.default_rng(2), SeededEntropy(1)),
        emit=lambda e: heard.append(e) if isinstance(e, Spread) else None,
    )  # fmt: skip
    from workbench.deep.poisson import PoissonSampler

    again = PoissonSampler(30, done.schedule.event.sample_rate, SeededEntropy(1))
    drawn = [len(again.draw()) for _ in range(done.steps)]
    told = {spread.step: sum(spread.counts) for spread in heard}
    assert told == {step: count for step, count in enumerate(drawn, start=1) if count}
    assert all(spread.edges == NORM_EDGES for spread in heard)
    assert NORMS.on_norms is None
