"""Steps on made-up rows before the charge: libraries are loaded, and memory is measured by a step of the run's size.

No private row is read and nothing of the run is drawn: the rows are empty ones, the noise is a study's, and the model
is not moved. So ε, sampling and results are those of a run without it.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from workbench.deep.engines import engine_for
from workbench.deep.features import Features
from workbench.deep.memory import MemoryForecast, MemoryWatch, available, most_drawn
from workbench.deep.networks import Network
from workbench.deep.noise import GaussianNoise
from workbench.deep.plan import DpSgdPlan, Schedule
from workbench.deep.private_step import PrivateStep, flattened, study_steps
from workbench.deep.shortage import HalvingClippedSum
from workbench.deep.updates import UPDATES
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.entropy import load_cipher


def example_of(architecture: Network, features: Features, device: str) -> Tensor | None:
    """Return generated rows on ``device``, if the network is to be tried on some."""
    example = architecture.example(features.width)
    return None if example is None else example.to(device)


def warm_up(plan: DpSgdPlan, architecture: Network, features: Features, device: str) -> None:
    """Take the parts of a step on zeros, so that what is loaded or compiled at first use is not part of the run."""
    load_cipher()  # the noise of these steps is a study's, which needs none
    module = architecture.build(features.width, len(features.classes)).to(device)
    parameters = flattened(module)
    example = example_of(architecture, features, device)
    engine = engine_for(module, plan.clip, plan.physical_batch, rule=plan.clipping, example=example)
    rows = architecture.prepared(torch.from_numpy(features.blank(2)).to(device))
    engine(rows, torch.zeros(2, dtype=torch.int64, device=device))
    steps = study_steps(PoissonGaussian(0.5, 1.0, 2))
    mechanism = PrivateStep.of(steps, rows=2, batch=1, clip=1.0, clipped_sum=lambda clip: engine)
    mechanism.sampler.draw()
    for kind in (torch.float32, torch.float64):  # the sum of one chunk, and of several
        steps.take()
        gradient = mechanism.noisy(torch.zeros(len(parameters), dtype=kind, device=device))
    UPDATES[plan.optimizer](plan.lr, plan.momentum)(parameters, gradient)


def probed(
    schedule: Schedule,
    architecture: Network,
    features: Features,
    halving: HalvingClippedSum,
    watch: MemoryWatch,
    forecast: MemoryForecast,
) -> MemoryForecast:
    """Take one step on made-up rows; return ``forecast`` with what it took, and lower the chunk where that is too much.

    Raises:
        MemoryError, RuntimeError: memory did not suffice for one row.
    """
    device = watch.device
    watch.enter("batch")
    held, rows = watch.now, most_drawn(schedule.rows, schedule.batch)
    gpus = [torch.cuda.current_device()] if device != "cpu" else []
    with torch.random.fork_rng(devices=gpus):  # a layer may draw, such as dropout
        made = architecture.prepared(torch.from_numpy(features.blank(2)).to(device))
        drawn = torch.zeros(rows, dtype=torch.int64, device=device)
        inputs, targets = made.index_select(0, drawn), torch.zeros(2, dtype=torch.int64, device=device)[drawn]
        watch.enter("backward")
        sums = halving(inputs, targets)
        watch.enter("step")
        steps, gradient = study_steps(schedule.event), torch.empty(len(sums.total))
        noise = GaussianNoise(steps, schedule.clip)
        steps.take()
        noise.add_to(sums.total.cpu().numpy(), gradient.numpy(), schedule.batch)
        gradient.to(device)
        watch.look()
    batch, backward, step = (max(0, watch.peaks[name] - held) for name in ("batch", "backward", "step"))
    del inputs, targets, sums, gradient, noise
    corrected = forecast.with_step(batch, backward, step)
    corrected = _with_room(corrected, halving, min(rows, halving.physical_batch, architecture.rows_at_once()), watch)
    halving.renew()  # the rows are read first, and may have the room until a step needs it
    watch.begin_anew()
    return corrected


def _with_room(corrected: MemoryForecast, halving: HalvingClippedSum, chunk: int, watch: MemoryWatch) -> MemoryForecast:
    """Hold fewer rows at once where a step would need more than is free; what a chunk holds grows with its rows."""
    short = corrected.between_steps + corrected.in_a_step - watch.now - available(watch.device)
    if not 0 < short < corrected.backward:  # it fits, or would not even without a chunk
        return corrected
    fewer = int(chunk * (1 - short / corrected.backward))
    if not 1 <= fewer < chunk:
        return corrected
    halving.lower(fewer, "a step takes more memory than is free")
    return replace(corrected, backward=corrected.backward * fewer // chunk)
