"""Every engine gives the sum that single rows give, whatever layers a network has."""

import pytest

torch = pytest.importorskip("torch")

from engine_networks import NETS, ROWS, bound_of, made, reference  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep import devices  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum  # noqa: E402
from workbench.deep.clipping_factors import CLIPPINGS  # noqa: E402
from workbench.deep.mixing_layers import converted  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.params import ParameterError  # noqa: E402

RELATIVE = 1e-6


@pytest.fixture(autouse=True)
def one_thread():
    with devices.one_thread():
        yield


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("rule", CLIPPINGS)
def test_the_chosen_engine_gives_the_sum_of_single_rows(name, rule):
    network, x, y = made(name)
    clip = 0.8
    engine = engine_for(network, clip, 64, rule=rule, example=x)
    assert type(engine) is NETS[name][2]
    sums = engine(x, y)
    expected = reference(network, x, y, bound_of(engine, clip, ROWS), rule)
    assert float((sums.total.double() - expected).norm()) <= RELATIVE * float(expected.norm())
    assert sums.rows == ROWS
    losses = nn.functional.cross_entropy(network(x), y, reduction="sum").detach()
    assert sums.loss == pytest.approx(float(losses), rel=1e-5)
    assert sums.correct == int((network(x).argmax(1) == y).sum())


@pytest.mark.parametrize("name", NETS)
def test_parts_of_a_batch_and_empty_rows_change_nothing(name):
    network, x, y = made(name)
    whole = engine_for(network, 1e4, 64)(x, y).total.double().clone()
    parts = engine_for(network, 1e4, 3)
    torch.testing.assert_close(parts(x, y).total.double(), whole, rtol=1e-4, atol=1e-5)
    assert not parts(x, torch.full((ROWS,), -1)).total.any()
    none = parts(x[:0], y[:0])
    assert (none.rows, len(none.total), float(none.total.abs().sum())) == (0, len(whole), 0.0)


def test_measuring_is_left_out_where_it_is_not_wanted():
    network, x, y = made("tanh")
    engine = engine_for(network, 1.0, 64)
    total = engine(x, y).total.clone()
    quick = engine(x, y, measure=False)
    assert torch.equal(quick.total, total)
    assert (quick.rows, quick.loss, quick.correct) == (0, 0.0, 0)


class CalledTwice(nn.Module):
    """One layer used at two places: book-keeping would see the second alone."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(5, 5), nn.Linear(5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(torch.tanh(self.layer(x))))


def test_a_network_that_book_keeping_would_get_wrong_is_trained_row_by_row():
    torch.manual_seed(0)
    network, x = CalledTwice(), torch.randn(ROWS, 5)
    engine = engine_for(network, 0.5, 64, example=x)
    assert isinstance(engine, PerRowClippedSum)
    y = torch.arange(ROWS) % 3
    expected = reference(network, x, y, 0.5, "flat")
    torch.testing.assert_close(engine(x, y).total, expected, rtol=1e-5, atol=1e-7)


class Centred(nn.Module):
    """Takes the mean of the batch away: no BatchNorm by name, and the same fault."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x - x.mean(0))


def test_networks_that_mix_rows_are_refused_and_converted():
    network = nn.Sequential(nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(486, 3))
    with pytest.raises(ParameterError, match=r"layer 1 \(BatchNorm2d\) mixes the rows of a batch"):
        engine_for(network, 1.0, 8)
    x = torch.randn(ROWS, 2, 11, 11)
    assert engine_for(converted(network), 1.0, 8, example=x)(x, torch.zeros(ROWS, dtype=torch.int64)).rows == ROWS
    with pytest.raises(ParameterError, match="mixes the rows"):
        engine_for(Centred(), 1.0, 8, example=torch.randn(ROWS, 5))
    with pytest.raises(ParameterError, match="no parameters"):
        engine_for(nn.Flatten(), 1.0, 8)
