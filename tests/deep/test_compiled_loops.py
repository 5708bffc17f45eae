"""The compiled loops: their own exponential, batches that are filled up, rows that are not there, a missing cache."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from exponentials import LAST_PLACE, exponentials, farthest  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep.image_kernel import ImageClippedSum  # noqa: E402
from workbench.deep.linear_chain import activate, slopes_of_many, slopes_of_two  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402


def test_the_exponential_is_right_to_a_unit_of_the_last_place():
    assert farthest() <= LAST_PLACE


def test_it_is_on_a_processor_that_rounds_every_product():
    """Where products cannot be added unrounded, the two parts of ln 2 must not be joined: 34 units were lost."""
    code = "import exponentials as e; assert e.farthest() <= e.LAST_PLACE"
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, **plain, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_exponential_stops_at_its_ends_and_keeps_what_is_no_number():
    x = np.array([np.nan, -np.inf, -1e30, 1e30, np.inf] * 20, dtype=np.float32)
    found = np.empty_like(x)
    exponentials(x, found)
    assert np.isnan(found[::5]).all()
    assert np.allclose(found[1::5], np.exp(-87.0), rtol=1e-6, atol=0)
    assert np.allclose(found[3::5], np.exp(88.0), rtol=1e-6, atol=0)


@pytest.mark.parametrize("relu", [False, True])
def test_an_activation_begins_the_squares_of_the_next_layer(relu):
    h = (np.random.default_rng(1).standard_normal((5, 37)) * 4).astype(np.float32)
    h[0, :3] = (-1e30, 0, 1e30) if not relu else (-1e9, 0, 1e9)
    true = np.maximum(h, 0).astype(np.float64) if relu else np.tanh(h.astype(np.float64))
    squares = np.empty(5, dtype=np.float32)
    activate(h, relu, squares)
    assert float(np.abs(h - true).max()) <= 4 * LAST_PLACE
    assert np.allclose(squares, 1 + (true**2).sum(1), rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("gap", [0.0, 9.0, 16.0, 40.0])
def test_the_square_of_a_small_slope_is_not_lost_beside_one(classes, gap):
    """Of p near 1 the slope is p − 1, whose square (p² + 1 − 2p) single precision would round away."""
    logits = np.zeros((3, classes), dtype=np.float32)
    logits[:, 1] = gap
    which, slopes = np.ones(3, dtype=np.int64), np.empty((3, classes), dtype=np.float32)
    squares = np.ones(3, dtype=np.float32)
    if classes == 2:
        weight, bias = np.zeros((2, 4), dtype=np.float32), logits[0].copy()
        one = np.empty(3, dtype=np.float32)
        slopes_of_two(np.ones((3, 4), np.float32), which, weight, bias, np.empty_like(one), one, 0.0, squares)
        slopes = np.stack([one, -one], 1)
    else:
        slopes_of_many(logits, which, slopes, 0.0, squares)
    assert np.allclose(squares, (slopes.astype(np.float64) ** 2).sum(1), rtol=1e-5, atol=0)


def network(classes: int) -> nn.Sequential:
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 9), nn.Tanh(), nn.Linear(9, classes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rows", [1, 7, 8, 9, 17])
def test_empty_rows_that_fill_a_batch_up_change_nothing(classes, rows):
    torch.manual_seed(2)
    x, y = torch.randn(17, 6), torch.arange(17) % classes
    one = engine_for(network(classes), 0.3, 64)
    one(x * 1e3, y)  # leaves other numbers in the memory that is used again
    found = one(x[:rows], y[:rows])
    # At a bound of its own for each number of rows: those of single rows are added at the same one.
    bound = one.clipping.of(rows).bound
    expected = torch.zeros(len(found.total), dtype=torch.float64)
    model = network(classes)
    for row, target in zip(x[:rows], y[:rows], strict=True):
        loss = nn.functional.cross_entropy(model(row[None]), target[None])
        g = torch.cat([p.flatten().double() for p in torch.autograd.grad(loss, list(model.parameters()))])
        expected += g * min(1.0, bound / float(g.norm()))
    assert found.rows == rows
    assert float((found.total.double() - expected).norm()) <= 1e-6 * float(expected.norm())


@pytest.mark.parametrize("made", [lambda: network(2), lambda: nn.Sequential(nn.Linear(6, 2))])
@pytest.mark.parametrize("row", [-1, 5])
def test_a_row_that_the_table_does_not_have_is_refused(made, row):
    engine = engine_for(made(), 1.0, 64)  # type: ignore[operator]
    with pytest.raises(IndexError, match="does not have"):
        engine.drawn(torch.zeros(5, 6), torch.zeros(5, dtype=torch.int64), np.array([0, row]))  # type: ignore[attr-defined]


def test_a_class_that_a_network_for_images_does_not_have_is_refused():
    images = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 6 * 6, 3))
    engine = engine_for(images, 1.0, 64)
    assert isinstance(engine, ImageClippedSum)
    with pytest.raises(IndexError, match="does not have"):
        engine(torch.zeros(2, 1, 8, 8), torch.tensor([0, 3]), measure=False)


def test_one_image_does_not_stand_for_many():
    images = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 6 * 6, 3))
    with pytest.raises(RuntimeError, match="1 images have 9 classes"):
        engine_for(images, 1.0, 64)(torch.zeros(1, 1, 8, 8), torch.zeros(9, dtype=torch.int64))


@pytest.mark.parametrize("made", [lambda: network(2), lambda: network(3), lambda: nn.Sequential(nn.Linear(6, 2))])
def test_a_class_that_was_changed_after_the_table_was_looked_at_is_refused(made):
    """A class of 7 would count as 13 rows of class 1 at once."""
    engine = engine_for(made(), 1.0, 64)  # type: ignore[operator]
    x, y = torch.zeros(5, 6), torch.zeros(5, dtype=torch.int64)
    engine(x, y)
    y[3] = 7
    with pytest.raises(IndexError, match="does not have"):
        engine(x, y)


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same():
    code = (
        "import numpy as np, numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from workbench.deep.noise import Ziggurat, PART\n"
        "from workbench.privacy.entropy import SeededEntropy\n"
        "block = np.zeros(PART)\n"
        "Ziggurat(1.0, SeededEntropy(1)).fill(block)\n"
        "print(round(float(block.std()), 1))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "1.0"), done.stderr
