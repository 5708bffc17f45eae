"""The sum of clipped gradients against one row at a time, and its sensitivity."""

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from engine_networks import Mean, bound_of, reference  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from workbench.deep.book_keeping import BookKeepingClippedSum  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum, clipped_sum  # noqa: E402
from workbench.deep.clipping_factors import CLIPPINGS, Clipping  # noqa: E402
from workbench.deep.networks import NETWORKS, Network, network  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.user_network import UserNetwork  # noqa: E402
from workbench.params import ParameterError  # noqa: E402

INPUTS, CLASSES = 5, 3
OF_TABLES = [n for n in NETWORKS if n.name in ("logistic", "mlp")]
"""Those that read any number of columns; the others are compared in test_engines."""


def batch(rows: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(rows, INPUTS, generator=generator) * 2 - 1
    return x, torch.randint(0, CLASSES, (rows,), generator=generator)


def built(architecture: Network, seed: int = 1) -> torch.nn.Sequential:
    """Build a network with weights away from its public start, where logistic gradients are all alike."""
    module = architecture.build(INPUTS, CLASSES)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(torch.randn(p.shape, generator=generator) * 0.3)
    return module


def one_by_one(module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, clip: float) -> torch.Tensor:
    """The definition: each row's gradient by ordinary autograd, clipped, summed in double precision."""
    total = torch.zeros(sum(p.numel() for p in module.parameters()), dtype=torch.float64)
    for row, target in zip(x, y, strict=True):
        loss = torch.nn.functional.cross_entropy(module(row[None]), target[None])
        gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(module.parameters()))]).double()
        total += gradient * min(1.0, clip / float(gradient.norm()))
    return total


@pytest.mark.parametrize("architecture", OF_TABLES, ids=lambda n: n.name)
@pytest.mark.parametrize("clip", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize("physical_batch", [1, 7, 64])
def test_the_sum_is_that_of_single_rows(architecture, clip, physical_batch):
    module = built(architecture)
    x, y = batch(23)
    sums = PerRowClippedSum(module, clip, physical_batch)(x, y)
    expected = one_by_one(module, x, y, clip)
    assert sums.total.dtype == torch.float64
    torch.testing.assert_close(sums.total, expected, rtol=1e-5, atol=1e-6 * clip)
    assert sums.rows == 23
    losses = torch.nn.functional.cross_entropy(module(x), y, reduction="sum").detach()
    assert sums.loss == pytest.approx(float(losses), rel=1e-5)
    assert sums.correct == int((module(x).argmax(1) == y).sum())


@settings(max_examples=40, deadline=None)
@given(
    clip=st.floats(1e-6, 1e6),
    scale=st.sampled_from([1e-30, 1e-6, 1.0, 1e6, 1e18]),
    seed=st.integers(0, 1000),
)
def test_one_row_contributes_at_most_the_clipping_norm(clip, scale, seed):
    generator = torch.Generator().manual_seed(seed)
    gradients = [torch.randn(1, 4, 3, generator=generator) * scale, torch.randn(1, 4, generator=generator) * scale]
    norm = float(clipped_sum(gradients, Clipping("flat", clip)).norm())
    # The norm of the result is itself computed with rounding: 2⁻⁵⁰ is what that can add.
    assert norm <= clip * (1 + 2**-50)
    raw = float(torch.cat([g.flatten() for g in gradients]).double().norm())
    if raw <= clip:
        assert norm == pytest.approx(raw, rel=1e-9), "short gradients pass unchanged"


def test_an_empty_row_and_an_empty_batch_contribute_nothing():
    module = built(network("logistic"))
    engine = PerRowClippedSum(module, 1.0, 8)
    x, _ = batch(3)
    sums = engine(x, torch.full((3,), -1))
    assert float(sums.total.abs().max()) == 0
    assert (sums.rows, sums.loss, sums.correct) == (0, 0.0, 0)
    empty = engine(x[:0], torch.zeros(0, dtype=torch.int64))
    assert float(empty.total.abs().max()) == 0
    assert len(empty.total) == sum(p.numel() for p in module.parameters())


def test_a_gradient_that_is_not_finite_contributes_nothing():
    good = torch.ones(2, 3)
    bad = good.clone()
    bad[0, 1] = math.nan
    infinite = good.clone()
    infinite[1, 2] = math.inf
    only_second = clipped_sum([bad], Clipping("flat", 10.0))
    torch.testing.assert_close(only_second, torch.ones(3, dtype=torch.float64), rtol=1e-9, atol=0)
    torch.testing.assert_close(clipped_sum([infinite], Clipping("flat", 10.0)), only_second, rtol=1e-9, atol=0)


def test_memory_is_watched_while_gradients_are_held():
    looks: list[int] = []
    engine = PerRowClippedSum(built(network("mlp")), 1.0, 10, lambda: looks.append(1))
    engine(*batch(25))
    assert len(looks) == 3


@pytest.mark.parametrize("clip", [0.0, -1.0, math.nan, math.inf])
def test_impossible_norms_are_refused(clip):
    with pytest.raises(ParameterError):
        PerRowClippedSum(built(network("logistic")), clip, 8)


def test_an_impossible_physical_batch_is_refused():
    with pytest.raises(ParameterError):
        PerRowClippedSum(built(network("logistic")), 1.0, 0)


# -- The rows' gradients of an embedding are never made for all words: the same sums in the memory of its output


WORDS, SIZE, PLACES, ROWS = 3_000, 16, 40, 8


class Largest(TorchDispatchMode):
    """Notes the most numbers that one tensor has."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.numbers = max(self.numbers, out.numel())
        return out


class Talk(nn.Module):
    """Words, a layer, their mean; the words come as numbers of a table."""

    def __init__(self, padding: int | None = None) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE, padding_idx=padding)
        self.layer, self.head = (
            nn.Sequential(nn.LayerNorm(SIZE), nn.Linear(SIZE, SIZE), nn.Tanh(), Mean()),
            nn.Linear(SIZE, 3),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.words(x.long())))


def made(padding: int | None = None) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A network, and rows in which words are repeated: among few, among many, and nearly all one or padding."""
    torch.manual_seed(5)
    x = torch.randint(0, WORDS, (ROWS, PLACES))
    x[0] = torch.arange(PLACES) % 3
    x[1, 1:], x[2, 1:] = 7, 0
    return Talk(padding), x, torch.arange(ROWS) % 3


@pytest.mark.parametrize("padding", [None, 0, 7])
@pytest.mark.parametrize("rule", CLIPPINGS)
def test_sums_are_those_of_dense_gradients(padding, rule):
    network, x, y = made(padding)
    for clip in (0.05, 100.0):
        engine = engine_for(network, clip, 64, rule=rule, example=x)
        assert isinstance(engine, BookKeepingClippedSum)
        expected = reference(network, x, y, bound_of(engine, clip, ROWS), rule)
        assert float((engine(x, y).total.double() - expected).norm()) <= 1e-5 * float(expected.norm())


@pytest.mark.parametrize("layer", [nn.Embedding(5, 2, sparse=True), nn.EmbeddingBag(5, 2, mode="sum", sparse=True)])
def test_sparse_gradients_are_refused_in_a_sentence(layer):
    with pytest.raises(ParameterError, match=rf"^the layer 0 \({type(layer).__name__}\) has sparse gradients"):
        engine_for(nn.Sequential(layer, nn.Flatten()), 1.0, 8)


def test_no_tensor_is_larger_than_the_sum_itself():
    network, x, y = made()
    engine = engine_for(network, 0.5, 64)
    with Largest() as seen:
        engine(x, y)
    whole = sum(p.numel() for p in network.parameters())
    assert whole <= seen.numbers < 1.01 * whole  # dense, these eight rows would have eight times as many


def test_a_row_whose_gradient_is_not_finite_contributes_nothing():
    """The word of one row has a vector that overflows."""
    network, x, y = made()
    x[3], x[4] = 99, 98
    with torch.no_grad():
        network.words.weight[99] = math.inf  # type: ignore[union-attr]
    engine = engine_for(network, 0.5, 64)
    found = engine(x, y).total.clone()
    assert found.isfinite().all()
    without = y.clone()
    without[3] = -1
    assert torch.equal(engine(x, without).total, found)


def test_the_forecast_of_memory_leaves_out_what_is_never_made():
    few = UserNetwork("net:talk", "net:talk", "", short="talk", factory=Talk)
    assert few.parameters(PLACES, 3) > WORDS * SIZE > 10 * few.held_by_row(PLACES, 3) / 4
    assert few.held_by_row(PLACES, 3) < WORDS * SIZE
