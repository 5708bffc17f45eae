"""The rows' gradients of an embedding are never made for all words: the same sums in the memory of its output."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from engine_networks import Mean, bound_of, reference  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from workbench.deep.book_keeping import BookKeepingClippedSum  # noqa: E402
from workbench.deep.factors import CLIPPINGS  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.user_network import UserNetwork  # noqa: E402
from workbench.params import ParameterError  # noqa: E402

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
def test_sums_are_those_of_dense_gradients(padding: int | None, rule: str) -> None:
    network, x, y = made(padding)
    for clip in (0.05, 100.0):
        engine = engine_for(network, clip, 64, rule=rule, example=x)
        assert isinstance(engine, BookKeepingClippedSum)
        expected = reference(network, x, y, bound_of(engine, clip, ROWS), rule)
        assert float((engine(x, y).total.double() - expected).norm()) <= 1e-5 * float(expected.norm())


@pytest.mark.parametrize("layer", [nn.Embedding(5, 2, sparse=True), nn.EmbeddingBag(5, 2, mode="sum", sparse=True)])
def test_sparse_gradients_are_refused_in_a_sentence(layer: nn.Module) -> None:
    with pytest.raises(ParameterError, match=rf"^the layer 0 \({type(layer).__name__}\) has sparse gradients"):
        engine_for(nn.Sequential(layer, nn.Flatten()), 1.0, 8)


def test_no_tensor_is_larger_than_the_sum_itself() -> None:
    network, x, y = made()
    engine = engine_for(network, 0.5, 64)
    with Largest() as seen:
        engine(x, y)
    whole = sum(p.numel() for p in network.parameters())
    assert whole <= seen.numbers < 1.01 * whole  # dense, these eight rows would have eight times as many


def test_a_row_whose_gradient_is_not_finite_contributes_nothing() -> None:
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


def test_the_forecast_of_memory_leaves_out_what_is_never_made() -> None:
    few = UserNetwork("net:talk", "net:talk", "", short="talk", factory=Talk)
    assert few.parameters(PLACES, 3) > WORDS * SIZE > 10 * few.held_by_row(PLACES, 3) / 4
    assert few.held_by_row(PLACES, 3) < WORDS * SIZE
