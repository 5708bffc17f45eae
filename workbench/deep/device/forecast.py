"""The memory of a run on a GPU before it starts: its operations on tensors without numbers, whose bytes are counted.

What libraries take inside an operation cannot be known before: the first step is a probe, after which the forecast is
what that step took. Every later step takes the same, because its shapes are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.deep.device.chacha20 import WORDS_OF_A_BLOCK, WORDS_OF_A_KEY, keystream
from workbench.deep.device.device_noise import NUMBERS_AT_ONCE, fill_with_gaussians
from workbench.deep.device.drawn_ahead import chunk_size
from workbench.deep.device.live_bytes import LiveBytes
from workbench.deep.device.placing import finish_on
from workbench.deep.device.precision import FLOAT32
from workbench.deep.device.static_sum import StaticClippedSum
from workbench.deep.features import Features
from workbench.deep.flat_parameters import flattened
from workbench.deep.memory import MemoryWatch
from workbench.deep.plan import DpSgdPlan
from workbench.deep.updates import UPDATES

_NOWHERE = torch.device("meta")
_HALF = WORDS_OF_A_BLOCK // 2


@dataclass(frozen=True)
class DeviceForecast:
    """Bytes on the device by phase; each phase holds what stays of the earlier ones.

    Attributes:
        model: parameters and the noise that is ready.
        noise: while noise is made.
        batch: the rows of the table, and the chunk.
        backward: while a chunk passes the network and is summed.
        step: while the parameters are changed; the optimiser's slots included.
        chunk: rows of a chunk.
    """

    model: int
    noise: int
    batch: int
    backward: int
    step: int
    chunk: int

    @property
    def peak(self) -> int:
        """The most bytes at once."""
        return max(self.model, self.noise, self.batch, self.backward, self.step)


def forecast(plan: DpSgdPlan, features: Features, rows: int, *, resident: bool = True) -> DeviceForecast:
    """Return the bytes of a run of ``plan`` over ``rows`` rows; no device is needed, and nothing is allocated.

    The figures are those of ``float32``; passes in ``bf16`` take less.

    Args:
        plan: what is trained.
        features: the public map from rows to inputs.
        rows: of the table.
        resident: whether the rows are on the device.
    """
    architecture = plan.architecture
    row = (architecture.prepared_width(features.width),)
    module = architecture.build(features.width, len(features.classes))
    chunk = chunk_size(plan.batch, plan.physical_batch, rows)
    found: dict[str, int] = {}
    with LiveBytes() as live:

        def end(phase: str) -> None:
            found[phase], live.peak = live.peak, live.now

        module.to(_NOWHERE)
        parameters = flattened(module)
        key, first, words = (_whole(*shape) for shape in ((WORDS_OF_A_KEY,), (1,), (_blocks(), WORDS_OF_A_BLOCK)))
        numbers = torch.zeros(NUMBERS_AT_ONCE, dtype=torch.float64, device=_NOWHERE)
        end("model")
        words.copy_(keystream(key, first, _blocks()))
        fill_with_gaussians(numbers, words, 1.0)
        end("noise")
        held = rows if resident else 0
        table = (torch.empty(held, *row, device=_NOWHERE), _whole(held, long=True))
        made = StaticClippedSum(module, plan.clip, row, chunk, rule=plan.clipping, precision=FLOAT32)
        end("batch")
        made.begin()
        made.add()
        end("backward")
        gradient = made.total.div_(plan.batch)
        UPDATES[plan.optimizer](plan.lr, plan.momentum)(parameters, gradient.to(parameters.dtype))
        end("step")
        del table
    return DeviceForecast(**found, chunk=chunk)


def measured_peak(device: str, watch: MemoryWatch) -> int:
    """Return what the steps so far took: after the first one the forecast for the others."""
    finish_on(device)
    watch.look()
    return watch.peak


def _blocks() -> int:
    return NUMBERS_AT_ONCE // _HALF


def _whole(*shape: int, long: bool = False) -> Tensor:
    return torch.zeros(shape, dtype=torch.int64 if long else torch.int32, device=_NOWHERE)
