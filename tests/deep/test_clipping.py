"""The sum of clipped gradients against one row at a time, and its sensitivity."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from workbench.deep.clipping import PerRowClippedSum, clipped_sum  # noqa: E402
from workbench.deep.factors import Clipping  # noqa: E402
from workbench.deep.networks import NETWORKS, Network, network  # noqa: E402
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
def test_the_sum_is_that_of_single_rows(architecture: Network, clip: float, physical_batch: int) -> None:
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
def test_one_row_contributes_at_most_the_clipping_norm(clip: float, scale: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    gradients = [torch.randn(1, 4, 3, generator=generator) * scale, torch.randn(1, 4, generator=generator) * scale]
    norm = float(clipped_sum(gradients, Clipping("flat", clip)).norm())
    # The norm of the result is itself computed with rounding: 2⁻⁵⁰ is what that can add.
    assert norm <= clip * (1 + 2**-50)
    raw = float(torch.cat([g.flatten() for g in gradients]).double().norm())
    if raw <= clip:
        assert norm == pytest.approx(raw, rel=1e-9), "short gradients pass unchanged"


def test_emptying_a_row_moves_the_sum_by_at_most_the_clipping_norm() -> None:
    module = built(network("mlp"))
    x, y = batch(12)
    engine = PerRowClippedSum(module, 0.7, 64)
    whole = engine(x, y).total
    for row in range(12):
        emptied = y.clone()
        emptied[row] = -1
        assert float((whole - engine(x, emptied).total).norm()) <= 0.7 * (1 + 1e-12)


def test_an_empty_row_and_an_empty_batch_contribute_nothing() -> None:
    module = built(network("logistic"))
    engine = PerRowClippedSum(module, 1.0, 8)
    x, _ = batch(3)
    sums = engine(x, torch.full((3,), -1))
    assert float(sums.total.abs().max()) == 0
    assert (sums.rows, sums.loss, sums.correct) == (0, 0.0, 0)
    empty = engine(x[:0], torch.zeros(0, dtype=torch.int64))
    assert float(empty.total.abs().max()) == 0
    assert len(empty.total) == sum(p.numel() for p in module.parameters())


def test_a_gradient_that_is_not_finite_contributes_nothing() -> None:
    good = torch.ones(2, 3)
    bad = good.clone()
    bad[0, 1] = math.nan
    infinite = good.clone()
    infinite[1, 2] = math.inf
    only_second = clipped_sum([bad], Clipping("flat", 10.0))
    torch.testing.assert_close(only_second, torch.ones(3, dtype=torch.float64), rtol=1e-9, atol=0)
    torch.testing.assert_close(clipped_sum([infinite], Clipping("flat", 10.0)), only_second, rtol=1e-9, atol=0)


def test_memory_is_watched_while_gradients_are_held() -> None:
    looks: list[int] = []
    engine = PerRowClippedSum(built(network("mlp")), 1.0, 10, lambda: looks.append(1))
    engine(*batch(25))
    assert len(looks) == 3


@pytest.mark.parametrize("clip", [0.0, -1.0, math.nan, math.inf])
def test_impossible_norms_are_refused(clip: float) -> None:
    with pytest.raises(ParameterError):
        PerRowClippedSum(built(network("logistic")), clip, 8)


def test_an_impossible_physical_batch_is_refused() -> None:
    with pytest.raises(ParameterError):
        PerRowClippedSum(built(network("logistic")), 1.0, 0)
