"""No row moves the sum of any engine by more than C, whatever its numbers, the weights and the other rows are."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from adversarial_rows import ENGINES, Case, cases, plain  # noqa: E402
from engine_networks import ROWS, made  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep import devices  # noqa: E402
from workbench.deep.book_keeping import BookKeepingClippedSum  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum, clipped_sum  # noqa: E402
from workbench.deep.clipping_factors import AUTOMATIC, CLIPPINGS, PER_LAYER, Clipping, bound_in_single  # noqa: E402
from workbench.deep.image_kernel import ImageClippedSum  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.table_kernel import TableClippedSum  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    with devices.one_thread():
        yield


@pytest.mark.parametrize(
    "name", ["tanh", "two classes", "two classes, hidden", "thesis", "group norm", "words", "lstm"]
)
@pytest.mark.parametrize("clip", [1e-3, 0.5])
def test_emptying_a_row_moves_the_sum_by_at_most_the_clipping_norm(name, clip):
    network, x, y = made(name)
    engine = engine_for(network, clip, 64)
    whole = engine(x, y).total.double().clone()
    moved = []
    for row in range(ROWS):
        emptied = y.clone()
        emptied[row] = -1
        moved.append(float((whole - engine(x, emptied).total.double()).norm()))
    assert max(moved) <= clip
    assert max(moved) > 0.99 * clip, "rows that are clipped reach the norm"


@pytest.mark.parametrize(
    "name", ["linear", "tanh", "two classes", "two classes, hidden", "thesis", "no bias", "group norm"]
)
def test_a_row_whose_gradient_is_not_finite_contributes_nothing(name):
    network, x, y = made(name)
    engine = engine_for(network, 0.8, 64)
    bad = x.clone()
    bad[4] = math.nan
    bad[7] = math.inf
    y_without = y.clone()
    y_without[[4, 7]] = -1
    without = engine(x, y_without).total.clone()
    torch.testing.assert_close(engine(bad, y).total, without, rtol=1e-5, atol=1e-7)


def test_the_bound_of_single_precision_is_close_to_the_norm_and_never_above():
    assert 0.998 < bound_in_single(1.0, 10_000, 64) < 1
    assert bound_in_single(1.0, 100, 384) > 0.98
    assert bound_in_single(1.0, 2**24, 64) == 0, "where nothing is proved nothing may pass"


EVERY = {
    "table": plain(TableClippedSum),
    "book-keeping": plain(BookKeepingClippedSum),
    "row by row": plain(PerRowClippedSum),
}


@pytest.mark.parametrize("engine", EVERY)
def test_a_row_that_is_no_number_switches_no_other_row_off(engine):
    """Forty rows alike whose norm overflows in one of three layers, and one whose gradient is not a number."""
    network = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        for p in network.parameters():
            p.zero_()
        network[0].weight[:, 0], network[0].weight[0, 1] = 1e10, 1e30
        network[2].weight.fill_(1e9)
        network[2].weight[0, 0] = 1e10
        network[4].weight[0], network[4].weight[1] = 1.0, -1.0
    x = torch.zeros(41, 2)
    x[:40, 0], x[40, 1] = 1.0, 1.0
    y = torch.ones(41, dtype=torch.int64)
    total = EVERY[engine](network, 1.0, PER_LAYER, 64, (2,), 41)
    assert Case(engine, 1.0, total, x, y, [40, 0]).worst() <= 1


@pytest.mark.parametrize("slope", [1e3, 1e18])
def test_an_image_that_is_no_number_switches_no_other_image_off(slope):
    network = nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(32, 4), nn.ReLU(), nn.Linear(4, 3))
    with torch.no_grad():
        for p in network.parameters():
            p.zero_()
        network[0].weight.fill_(1.0)
        network[3].weight.fill_(1e18 / 32)
        network[5].weight[0], network[5].weight[1] = slope, -slope
    x = torch.ones(41, 1, 4, 4)
    x[40] = 0
    x[40, 0, 0, 0] = 3e38
    y = torch.ones(41, dtype=torch.int64)
    for kind in (ImageClippedSum, BookKeepingClippedSum):
        total = plain(kind)(network, 1.0, PER_LAYER, 96, (1, 4, 4), 41)
        assert Case(kind.__name__, 1.0, total, x, y, [40, 0]).worst() <= 1


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", CLIPPINGS)
def test_slopes_whose_squares_underflow_are_clipped_beside_large_inputs(engine, classes, rule):
    network = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, classes))
    x, y = torch.ones(1, 1), torch.ones(1, dtype=torch.int64)
    norms = []
    for gap in (51.0, 52.0, 53.0):
        with torch.no_grad():
            for p in network.parameters():
                p.zero_()
            network[0].weight[0], network[2].weight[1, 0] = 4e18, gap / 4e18
            network[2].bias[2:] = -200
        for clip in (1e-6, 1e-4):
            total = EVERY[engine](network, clip, rule, 64, (1,), 1)(x, y)
            norms.append(float(total.norm()) / clip)
    assert max(norms) <= 1
    assert max(norms) > 0


def test_tiny_inputs_beside_huge_slopes_are_clipped_where_there_is_no_bias():
    """‖x‖² = 10⁻⁴⁸ reads 0, and ‖g‖² is 10³⁶: the norm is 10⁻⁶."""
    network = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 2, bias=False))
    with torch.no_grad():
        network[0].weight.fill_(1.0)
        network[1].weight.copy_(torch.tensor([[1e18], [-1e18]]))
    x, y = torch.full((1, 1), 1e-23), torch.ones(1, dtype=torch.int64)
    for rule in CLIPPINGS:
        engine = BookKeepingClippedSum(network, 1e-6, 4, rule=rule)
        assert float(engine(x, y).total.double().norm()) <= 1e-6


@pytest.mark.parametrize("rule", CLIPPINGS)
@pytest.mark.parametrize("layers", [1, 3, 9])
@pytest.mark.parametrize("clip", [1e-6, 0.37, 1e6])
def test_compiled_factors_are_true_to_a_few_units(rule, layers, clip):
    """The proof allows for 16 units; compilers are free to estimate roots and quotients."""
    chance = np.random.default_rng(layers)
    squares = (10 ** chance.uniform(-30, 37, (layers, 20_001))).astype(np.float32)
    found = Clipping(rule, clip).row_factors(squares).astype(np.float64)
    whole = squares.astype(np.float64) if rule == PER_LAYER else squares.sum(0, dtype=np.float64, keepdims=True)
    bound = clip / math.sqrt(layers) if rule == PER_LAYER else clip
    true = bound / (np.sqrt(whole) + 0.01) if rule == AUTOMATIC else np.minimum(1, bound / np.sqrt(whole))
    assert float((found / true - 1).max()) <= 8 * 2.0**-24
    assert float((found / true - 1).min()) >= -16 * 2.0**-24


@pytest.mark.parametrize("rule", CLIPPINGS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_of_no_finite_norm_have_no_factor_in_any_layer(rule, dtype):
    squares = torch.tensor([[1.0, math.inf], [math.nan, 0.0], [-0.0, 0.0], [4.0, 1.0]], dtype=dtype)
    clipping = Clipping(rule, 0.5)
    factors = clipping.factors(squares.clone())
    assert not factors[:2].any()
    assert (factors[2:] > 0).all()
    if dtype == torch.float32:
        with np.errstate(all="ignore"):
            found = torch.from_numpy(clipping.row_factors(squares.T.contiguous().numpy()))
        torch.testing.assert_close(found.T, factors)


@pytest.mark.parametrize("clip", [1e-200, 1e-170, 5e-324])
def test_a_norm_whose_square_is_zero_leaves_empty_rows_empty(clip):
    """The plain engine takes any norm above 0."""
    rows = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=torch.float64)
    total = clipped_sum([rows], Clipping("flat", clip))
    assert float(total[0].abs()) + float(total[1].abs()) <= 2 * clip
    assert total.isfinite().all()


SEED = 4
"""With as many cases as below, engines that lose squares or whose rows depend on each other are found by it."""

QUICK = {
    "logistic": 30,
    "table": 60,
    "image": 40,
    "book-keeping": 30,
    "row by row": 4,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_no_adversarial_row_moves_the_sum_by_more_than_the_norm(engine):
    """Diverged weights, and rows that are infinite, no numbers, huge or denormal, in batches cut into chunks."""
    moved = {case.stated: case.worst() for case in cases(engine, QUICK[engine], seed=SEED)}
    assert max(moved.values()) <= 1, max(moved, key=lambda told: moved[told])
    assert sum(value > 0.99 for value in moved.values()) > len(moved) / 10, "rows that are clipped reach the norm"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_no_adversarial_row_of_very_many_does(engine):
    for case in cases(engine, 300 if engine == "row by row" else 1500, seed=1):
        assert case.worst() <= 1, case.stated
