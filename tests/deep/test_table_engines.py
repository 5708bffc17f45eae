"""Tables: rows that the engine takes out itself, and two classes, whose gradients have a closed form."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from workbench.deep.clipping_factors import CLIPPINGS, NORMS  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.private_step import flattened  # noqa: E402
from workbench.deep.table_kernel import TableClippedSum  # noqa: E402

RELATIVE = 1e-6
ROWS = 13

NETS = {
    "three classes": (8, 7, 3),
    "two classes": (2,),
    "two classes, hidden": (8, 7, 2),
}


def made(name: str) -> tuple[nn.Sequential, torch.Tensor, torch.Tensor]:
    torch.manual_seed(3)
    widths = (5, *NETS[name])
    layers = [layer for a, b in itertools.pairwise(widths) for layer in (nn.Linear(a, b), nn.Tanh())]
    return nn.Sequential(*layers[:-1]), torch.randn(ROWS, 5), torch.arange(ROWS) % widths[-1]


def reference(network: nn.Module, x: torch.Tensor, y: torch.Tensor, bound: float) -> torch.Tensor:
    """The definition, one row at a time: ordinary autograd, norms and sums in double precision."""
    parameters = list(network.parameters())
    total = torch.zeros(sum(p.numel() for p in parameters), dtype=torch.float64)
    for row, target in zip(x, y, strict=True):
        loss = nn.functional.cross_entropy(network(row[None]), target[None])
        found = torch.cat([g.flatten().double() for g in torch.autograd.grad(loss, parameters)])
        total += found * min(1.0, bound / float(found.norm()))
    return total


def engine_of(network: nn.Module, clip: float, rule: str = "flat") -> TableClippedSum:
    engine = engine_for(network, clip, 64, rule=rule)
    assert isinstance(engine, TableClippedSum)
    return engine


@pytest.mark.parametrize("name", NETS)
def test_rows_are_taken_out_of_a_table_and_weights_are_read_where_they_are(name):
    network, x, y = made(name)
    engine = engine_of(network, 0.8)
    rows = np.array([2, 3, 7, 12])
    drawn = engine.drawn(x, y, rows)
    total, told = drawn.total.clone(), (drawn.rows, drawn.loss, drawn.correct)
    given = engine(x[rows], y[rows])
    assert torch.equal(given.total, total)
    assert (given.rows, given.loss, given.correct) == told
    assert not torch.equal(engine.drawn(x, y, np.arange(ROWS), measure=False).total, total)
    flattened(network).mul_(0.5)  # moved in memory, and changed there
    moved = engine.drawn(x, y, rows).total.double()
    expected = reference(network, x[rows], y[rows], engine.clipping.of(len(rows)).bound)
    assert float((moved - expected).norm()) <= RELATIVE * float(expected.norm())


@pytest.mark.parametrize("name", ["two classes", "two classes, hidden"])
@pytest.mark.parametrize("rule", CLIPPINGS)
def test_squared_norms_of_two_classes_are_heard_as_they_are(name, rule):
    network, x, y = made(name)
    y[3] = -1
    heard: list[torch.Tensor] = []
    NORMS.on_norms = lambda squares: heard.append(squares.sum(1).double().clone())
    try:
        engine_for(network, 0.8, 64, rule=rule)(x, y)
    finally:
        NORMS.on_norms = None
    (found,) = heard
    parameters = list(network.parameters())
    for row in range(ROWS):
        loss = nn.functional.cross_entropy(
            network(x[row : row + 1]), y[row : row + 1], ignore_index=-1, reduction="sum"
        )
        square = sum(float(g.double().square().sum()) for g in torch.autograd.grad(loss, parameters))
        assert float(found[row]) == pytest.approx(square, rel=1e-4, abs=1e-12)


def test_logits_far_apart_neither_overflow_nor_lose_their_rows():
    network = nn.Sequential(nn.Linear(2, 2))
    x, y = torch.tensor([[1e4, 0.0], [-1e4, 0.0], [1e4, 0.0]]), torch.tensor([0, 1, 1])
    network[0].weight.data = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    sums = engine_for(network, 1.0, 8)(x, y)
    # The first two rows are classified wrong with slope 1 and are clipped; the third is right and has no gradient.
    expected = reference(network, x[:2], y[:2], engine_of(network, 1.0).clipping.of(3).bound)
    torch.testing.assert_close(sums.total.double(), expected, rtol=1e-6, atol=1e-9)
    assert (sums.rows, sums.correct) == (3, 1)
    assert sums.loss == pytest.approx(2e4, rel=1e-3)


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("wrong", [-2, -100, 3])
def test_classes_that_are_none_are_refused(name, wrong):
    """Of two classes the sign is looked up by the class: 3 would be 0, and −2 would be 1."""
    network, x, y = made(name)
    y[4] = wrong
    with pytest.raises(RuntimeError, match="are wanted, and −1 for an empty row"):
        engine_of(network, 0.8)(x, y)


@pytest.mark.parametrize("name", NETS)
def test_a_bias_that_moves_in_memory_alone_is_read_where_it_is(name):
    network, x, y = made(name)
    engine = engine_of(network, 0.8)
    before = engine(x, y).total.clone()
    last = network[-1]
    last.bias.data = last.bias.detach() + torch.linspace(0, 1, len(last.bias))
    moved = engine(x, y).total.double()
    assert not torch.equal(moved.float(), before)
    expected = reference(network, x, y, engine.clipping.of(len(y)).bound)
    assert float((moved - expected).norm()) <= RELATIVE * float(expected.norm())
