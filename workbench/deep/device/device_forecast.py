"""The memory of a run on a GPU before it starts: its operations on tensors without numbers, whose bytes are counted.

What libraries take inside an operation cannot be known before: the first step is a probe, by which the forecast is
corrected. Every later step takes the same, because its shapes are the same.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from workbench.deep.device.chacha20 import WORDS_OF_A_BLOCK, WORDS_OF_A_KEY, keystream
from workbench.deep.device.device_noise import LISTED, fill_with_gaussians
from workbench.deep.device.device_step import Way
from workbench.deep.device.drawn_ahead import chunk_size, steps_ahead
from workbench.deep.device.live_bytes import LiveBytes
from workbench.deep.device.precision import FLOAT32
from workbench.deep.device.static_sum import StaticClippedSum, in_single_precision
from workbench.deep.features import Features
from workbench.deep.flat_parameters import flattened
from workbench.deep.memory import MemoryForecast
from workbench.deep.plan import DpSgdPlan
from workbench.deep.updates import UPDATES, Update

_FLOAT, _INDEX = 4, 8
_NOWHERE = torch.device("meta")
_HALF = WORDS_OF_A_BLOCK // 2


def device_forecast(plan: DpSgdPlan, features: Features, rows: int, *, resident: bool = True) -> MemoryForecast:
    """Return the bytes of a run of ``plan`` over ``rows`` rows; no device is needed, and nothing is allocated.

    The figures are those of ``float32``; passes in ``bf16`` take less.

    Args:
        plan: what is trained.
        features: the public map from rows to inputs.
        rows: of the table.
        resident: whether the rows are on the device.
    """
    architecture = plan.architecture
    return forecast_of(
        architecture.build(features.width, len(features.classes)),
        (architecture.prepared_width(features.width),),
        rows,
        batch=plan.batch,
        way=Way(plan.physical_batch, plan.clipping),
        update=UPDATES[plan.optimizer](plan.lr, plan.momentum),
        resident=resident,
    )


def forecast_of(
    network: nn.Module,
    row: tuple[int, ...],
    rows: int,
    *,
    batch: int,
    way: Way,
    update: Update,
    resident: bool = True,
) -> MemoryForecast:
    """Return the bytes of steps of ``network``, whose parameters are gone afterwards.

    Args:
        network: a network that a static sum serves.
        row: the shape of a row.
        rows: of the table.
        batch: expected rows of a batch.
        way: how the steps are computed.
        update: a fresh one.
        resident: whether the rows are on the device.
    """
    chunk = chunk_size(batch, way.physical_batch, rows)
    blocks = way.numbers_at_once // _HALF
    found: dict[str, int] = {}
    with LiveBytes() as live:

        def end(phase: str) -> None:
            found[phase], live.peak = live.peak, live.now

        network.to(_NOWHERE)
        parameters = flattened(network)
        key, first, words = (_whole(*shape) for shape in ((WORDS_OF_A_KEY,), (1,), (blocks, WORDS_OF_A_BLOCK)))
        numbers = torch.zeros(way.numbers_at_once, dtype=torch.float64, device=_NOWHERE)
        ahead = _whole(steps_ahead(batch) * math.ceil(batch / chunk) * chunk, long=True)
        listed = torch.zeros(LISTED, dtype=torch.float64, device=_NOWHERE)
        update.prepare(parameters)
        end("model")
        held = rows if resident else 0
        table = (torch.empty(held, *row, device=_NOWHERE), _whole(held, long=True))
        made = StaticClippedSum(network, 1.0, row, chunk, rule=way.rule, precision=FLOAT32, measure=way.measure)
        end("batch")
        made.begin()
        made.add()
        end("backward")
        words.copy_(keystream(key, first, blocks))
        fill_with_gaussians(numbers, words, 1.0)
        update(parameters, in_single_precision(made.total.div_(batch)))
        end("step")
        del table, ahead, listed
    table_bytes = held * (_FLOAT * math.prod(row) + _INDEX)
    there = found["model"] + table_bytes
    batch_bytes = found["batch"] - there  # what a chunk is read into, and the sum, stay
    return MemoryForecast(
        beside=0,
        model=found["model"],
        reading=0,
        data=table_bytes,
        batch=batch_bytes,
        backward=found["backward"] - there - batch_bytes,
        step=found["step"] - there,
    )


def _whole(*shape: int, long: bool = False) -> Tensor:
    return torch.zeros(shape, dtype=torch.int64 if long else torch.int32, device=_NOWHERE)
