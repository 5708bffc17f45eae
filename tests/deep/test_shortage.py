"""Where memory runs out the chunk is halved; batch, sum and cost stay."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from workbench.deep.clipping import StepSums  # noqa: E402
from workbench.deep.networks import network  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.probe_step import HalvingClippedSum  # noqa: E402
from workbench.params import ParameterError  # noqa: E402
from workbench.signals.events import Event, Notice  # noqa: E402


class Small:
    """An engine on a machine where more than ``room`` rows are too many."""

    def __init__(self, rows: int, room: int, error: BaseException) -> None:
        self._rows, self._room, self._error = rows, room, error
        self._inner = engine_for(network("mlp").build(5, 3), 1.0, rows)

    def __call__(self, inputs: torch.Tensor, targets: torch.Tensor, *, measure: bool = True) -> StepSums:
        if min(self._rows, len(targets)) > self._room:
            raise self._error
        return self._inner(inputs, targets, measure=measure)


def batch(rows: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(rows, 5, generator=generator), torch.arange(rows) % 3


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory")])
def test_the_chunk_is_halved_until_it_fits_and_the_sum_is_the_same(error: BaseException) -> None:
    seen: list[Event] = []
    engine = HalvingClippedSum(lambda rows: Small(rows, 8, error), 128, seen.append)
    x, y = batch()
    found = engine(x, y).total.double()
    assert engine.physical_batch == 5
    whole = engine_for(network("mlp").build(5, 3), 1.0, 128)(x, y).total.double()
    torch.testing.assert_close(found, whole, rtol=1e-3, atol=1e-4)
    assert [e.text.split(";")[0] for e in seen if isinstance(e, Notice)] == [
        f"memory was short: {rows} rows at once from now on" for rows in (20, 10, 5)
    ]
    engine(x, y)
    assert len(seen) == 3, "it stays at what fitted"


def test_where_one_row_is_too_many_the_error_remains() -> None:
    engine = HalvingClippedSum(lambda rows: Small(rows, 0, MemoryError()), 4, lambda event: None)
    with pytest.raises(MemoryError):
        engine(*batch())


def test_other_errors_are_not_taken_for_a_shortage() -> None:
    seen: list[Event] = []
    engine = HalvingClippedSum(lambda rows: Small(rows, 0, RuntimeError("shapes differ")), 4, seen.append)
    with pytest.raises(RuntimeError, match="shapes differ"):
        engine(*batch())
    assert not seen


def test_an_impossible_physical_batch_is_refused() -> None:
    with pytest.raises(ParameterError):
        HalvingClippedSum(lambda rows: Small(rows, 1, MemoryError()), 0, lambda event: None)
