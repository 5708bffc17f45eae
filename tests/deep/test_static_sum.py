"""The static sum: what single rows give, whatever the precision; no row beyond C; nothing read back from the device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from engine_networks import NETS, ROWS, made, reference  # noqa: E402
from torch import nn  # noqa: E402

from workbench.deep.book_keeping import BookKeepingClippedSum, known_layers  # noqa: E402
from workbench.deep.device import static_sum  # noqa: E402
from workbench.deep.device.precision import PRECISIONS, full_precision, passes_in  # noqa: E402
from workbench.deep.device.static_sum import StaticClippedSum, can_be_static  # noqa: E402
from workbench.deep.factors import CLIPPINGS, NORMS  # noqa: E402

RELATIVE = 1e-6
CHUNK = ROWS + 3


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Whole(nn.Module):
    """Words as whole numbers: rows are tables of single-precision numbers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.long()


STATIC = [name for name in NETS if known_layers(NETS[name][0]())]


QUICK = ("tanh", "group norm")


def quick_or_slow(name: str) -> Any:
    """A parameter that only the default suite's own networks have there."""
    return name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)


def network(name: str) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    module, x, y = made(name)
    return (module, x, y) if x.is_floating_point() else (nn.Sequential(Whole(), *module), x.float(), y)  # type: ignore[misc]


def chunk(module: nn.Module, x: torch.Tensor, y: torch.Tensor, clip: float = 0.8, **given: Any) -> StaticClippedSum:
    """The sum of a chunk whose last places are empty."""
    engine = StaticClippedSum(module, clip, tuple(x.shape[1:]), max(CHUNK, len(x)), **given)
    engine.inputs[: len(x)] = x
    engine.targets[: len(x)] = y
    engine.inputs[engine.targets < 0] = 0
    engine.begin()
    engine.add()
    return engine


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        pytest.param(name, CLIPPINGS[i % 3], marks=() if name in QUICK else pytest.mark.slow)
        for i, name in enumerate(STATIC)
    ],
)
def test_the_static_sum_is_that_of_single_rows(name: str, rule: str) -> None:
    module, x, y = network(name)
    engine = chunk(module, x, y, rule=rule)
    expected = reference(module, x, y, engine.clipping.of(CHUNK).bound, rule)
    assert float((engine.total - expected).norm()) <= RELATIVE * float(expected.norm())
    rows, loss, correct = engine.stated.tolist()
    losses = nn.functional.cross_entropy(module(x), y, reduction="sum").detach()
    assert (rows, correct) == (ROWS, int((module(x).argmax(1) == y).sum()))
    assert loss == pytest.approx(float(losses), rel=1e-5)


def test_recurrent_layers_and_odd_norms_are_left_to_other_engines() -> None:
    assert not can_be_static(made("lstm")[0], 1.0)
    assert can_be_static(made("thesis")[0], 1.0)
    assert not can_be_static(made("thesis")[0], 1e7)
    assert not can_be_static(made("tanh")[0].double(), 1.0)


@pytest.mark.parametrize(
    "name", [quick_or_slow(n) for n in ("tanh", "sequence", "group norm", "thesis", "depthwise", "words")]
)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_no_row_moves_the_sum_by_more_than_the_norm_in_any_precision(name: str, precision: str, scale: float) -> None:
    module, x, y = network(name)
    x = x if name == "words" else x * scale
    for clip in (0.5,) if scale > 1 else (1e-3,):
        whole = chunk(module, x, y, clip, precision=precision).total.clone()
        moved = []
        for row in range(0, ROWS, 5):
            emptied = y.clone()
            emptied[row] = -1
            moved.append(float((whole - chunk(module, x, emptied, clip, precision=precision).total).norm()))
        assert max(moved) <= clip
        assert max(moved) > 0, "there is something to see"


@pytest.mark.parametrize("rule", CLIPPINGS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_equal_rows_of_the_largest_norm_stay_within_it_together(rule: str, precision: str) -> None:
    """All rows alike, so that rounding has one direction: 512 of them have a sum of at most 512·C."""
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 3))
    x = torch.rand(1, 30).mul_(50).expand(512, -1)
    total = chunk(module, x, torch.zeros(512, dtype=torch.int64), 0.7, rule=rule, precision=precision).total
    assert 0.99 * 512 * 0.7 < float(total.norm()) <= 512 * 0.7


@pytest.mark.parametrize("precision", PRECISIONS)
def test_clipping_sees_the_very_numbers_that_are_summed(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes whose gradients are wrong by a factor of 1,000 in some rows, as a broken library would make them."""
    torch.manual_seed(2)
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(3 * 36, 3))
    x, y = torch.rand(6, 1, 8, 8), torch.arange(6) % 3
    passes = BookKeepingClippedSum._passes

    def wrong(self: Any, *given: Any) -> Any:
        told = passes(self, *given)
        for layer in self._layers:
            layer.outputs = layer.outputs * torch.logspace(-3, 3, len(layer.outputs)).view(
                -1, *(1,) * (layer.outputs.dim() - 1)
            )
        return told

    monkeypatch.setattr(BookKeepingClippedSum, "_passes", wrong)
    whole = chunk(module, x, y, 0.5, precision=precision).total.clone()
    for row in range(6):
        emptied = y.clone()
        emptied[row] = -1
        assert float((whole - chunk(module, x, emptied, 0.5, precision=precision).total).norm()) <= 0.5


def test_gradients_that_are_made_twice_are_never_longer_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x, y = network("depthwise")
    kept = chunk(module, x, y).total.clone()
    monkeypatch.setattr(static_sum, "_NUMBERS_AT_ONCE", 200)
    again = chunk(module, x, y)
    torch.testing.assert_close(again.total, kept, rtol=1e-5, atol=1e-7)
    right, calls = StaticClippedSum._gradients, []

    def growing(self: Any, *given: Any) -> Any:
        calls.append(1)
        return {name: w * (1 + len(calls)) for name, w in right(self, *given).items()}

    monkeypatch.setattr(StaticClippedSum, "_gradients", growing)
    whole = chunk(module, x, y, 0.01).total.clone()
    emptied = y.clone()
    emptied[5] = -1
    calls.clear()
    assert float((whole - chunk(module, x, emptied, 0.01).total).norm()) <= 0.01


@pytest.mark.parametrize("name", ["tanh", "no bias", "thesis", "group norm"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_rows_without_a_finite_gradient_contribute_nothing(name: str, precision: str) -> None:
    module, x, y = network(name)
    bad, without = x.clone(), y.clone()
    bad[4], bad[7], bad[9] = math.nan, math.inf, 3e38
    without[[4, 7]] = -1
    expected = chunk(module, bad, without, precision=precision).total
    assert expected.isfinite().all()
    torch.testing.assert_close(chunk(module, bad, y, precision=precision).total, expected, rtol=1e-5, atol=1e-7)


def test_numbers_beyond_the_proved_range_are_left_out() -> None:
    """A row whose input is enormous and whose slope is tiny: its factor would be lost below the smallest numbers."""
    module = nn.Sequential(nn.Linear(4, 3))
    x = torch.full((2, 4), 1e20)
    x[1] = 1.0
    whole = chunk(module, x, torch.tensor([0, 1]), 1e-3).total
    torch.testing.assert_close(whole, chunk(module, x, torch.tensor([-1, 1]), 1e-3).total)


@pytest.mark.parametrize("name", [quick_or_slow(name) for name in STATIC])
def test_nothing_is_read_back_from_the_device(name: str) -> None:
    """Tensors without numbers pass as long as no operation asks for one: so does a device that nobody waits for."""
    module, x, _ = network(name)
    engine = StaticClippedSum(module.to("meta"), 0.8, tuple(x.shape[1:]), CHUNK)
    engine.begin()
    engine.add()
    assert engine.total.device.type == "meta"


def test_the_usual_engine_does_read_back_and_is_not_static() -> None:
    module, x, y = network("no bias")
    with pytest.raises(RuntimeError, match="meta tensors"):
        BookKeepingClippedSum(module.to("meta"), 0.8, CHUNK)(x.to("meta"), y.to("meta"))


def test_norms_are_told_by_the_caller_and_not_while_recording() -> None:
    heard: list[torch.Tensor] = []
    NORMS.on_norms = heard.append
    try:
        engine = chunk(*network("tanh"))
        assert NORMS.on_norms == heard.append
    finally:
        NORMS.on_norms = None
    assert not heard
    assert engine.squares.shape == (CHUNK, 3)
    assert (engine.squares[:ROWS].sum(1) > 0).all()


def test_reduced_precision_is_that_of_the_passes_alone() -> None:
    before = torch.backends.mkldnn.matmul.fp32_precision  # type: ignore[attr-defined]
    torch.set_float32_matmul_precision("medium")
    try:
        with passes_in("tf32", torch.device("cpu")):
            assert torch.backends.cuda.matmul.fp32_precision == "tf32"
            with full_precision():
                assert torch.backends.cuda.matmul.fp32_precision == "ieee"
                assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"  # type: ignore[attr-defined]
            assert torch.backends.cuda.matmul.fp32_precision == "tf32"
        with passes_in("bf16", torch.device("cpu")):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32
    finally:
        torch.set_float32_matmul_precision("highest")
        torch.backends.mkldnn.matmul.fp32_precision = before  # type: ignore[attr-defined]


def test_bf16_really_changes_the_passes() -> None:
    module, x, y = network("thesis")
    one, other = (chunk(module, x, y, precision=p).total.clone() for p in ("float32", "bf16"))
    apart = float((one - other).norm() / one.norm())
    assert 1e-4 < apart < 0.1
