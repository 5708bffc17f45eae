"""The memory of a run on a GPU: forecast before the start, forecast after the first step, and measured.

Run with ``pytest -m benchmark tests/benchmarks/bench_gpu_memory.py -s`` where there is a GPU: twelve settings, each in
a process of its own. Measured is ``torch.cuda.max_memory_allocated`` above what was in use before the network was made.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from workbench.deep.device.device_forecast import forecast_of  # noqa: E402
from workbench.deep.device.device_step import DevicePrivateStep, Way  # noqa: E402
from workbench.deep.device.live_bytes import LiveBytes  # noqa: E402
from workbench.deep.flat_parameters import flattened  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.updates import UPDATES  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

from gpu_networks import NETWORKS  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "gpu_memory.md"
CASES = tuple(
    (name, batch, physical, optimizer)
    for name in ("cnn", "mlp", "vgg16-head")
    for batch, physical, optimizer in ((64, 128, "sgd"), (256, 512, "adam"), (1024, 256, "sgd"), (2048, 4096, "sgd"))
)
NEAR = 0.05
FEW = 2**13
"""Numbers of noise made at once on the processor: fewer than there are parameters, so that every step makes some."""

STEPS = 6


def taken(name: str, batch: int, physical: int, optimizer: str, device: str) -> dict[str, int]:
    """Return the bytes: forecast, forecast after the first step, measured."""
    measured = NETWORKS[name]
    cpu = device == "cpu"
    way = Way(physical, numbers_at_once=FEW) if cpu else Way(physical)
    update = UPDATES[optimizer](0.1, 0.0)
    told = forecast_of(
        measured.build(), measured.row, measured.rows, batch=batch, way=way, update=UPDATES[optimizer](0.1, 0.0)
    )
    plan = DpSgdPlan(network="mlp", noise=1.0, delta=1e-6, batch=batch, epochs=10, lr=0.1, clip=1.0, accountant="rdp")
    before = 0
    if not cpu:
        torch.cuda.init()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    probe = 0
    live = LiveBytes()  # on the processor in place of an allocator that counts
    with live if cpu else nullcontext():
        module = measured.build().to(device)
        parameters = flattened(module)
        mechanism = DevicePrivateStep(module, plan.schedule(measured.rows), way)
        x, y = measured.table(device)
        update.prepare(parameters)
        if cpu:  # what the first step compares is in the memory of the host, which would be counted here
            mechanism.step(x, y)
            live.peak = live.now
        for step in range(STEPS):
            gradient, _ = mechanism.step(x, y)
            update(parameters, gradient.to(parameters.dtype))
            if not cpu:
                torch.cuda.synchronize()
            now = live.peak if cpu else torch.cuda.max_memory_allocated() - before
            probe = probe if step else now
    return {"forecast": told.peak, "probe": probe, "measured": now}


HEAD = """# The memory of a run on a GPU

Made by `tests/benchmarks/bench_gpu_memory.py` on {machine}; torch {torch}. MB: forecast by counting the tensors of a
step without numbers, forecast after one step on the device, and the peak of PyTorch's allocator. Goal: the forecast
that the first step has corrected within 5 % of what is measured.

| network | batch | rows at once | optimizer | forecast | after a step | measured | forecast ÷ it | after ÷ it |
|---|--:|--:|---|--:|--:|--:|--:|--:|
"""


@pytest.mark.benchmark
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device on this machine")
def test_the_memory_of_a_gpu_is_forecast() -> None:
    lines, after = [], []
    for case in CASES:
        words = [sys.executable, __file__, *map(str, case), "cuda"]
        found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        ratios = [found[key] / found["measured"] for key in ("forecast", "probe")]
        after.append(ratios[1])
        sizes = " | ".join(f"{found[key] / 1e6:.1f}" for key in ("forecast", "probe", "measured"))
        name, batch, physical, optimizer = case
        lines.append(
            f"| {name} | {batch:,} | {physical:,} | {optimizer} | {sizes} | {ratios[0]:.3f} | {ratios[1]:.3f} |"
        )
        sys.stdout.write(lines[-1] + "\n")
        sys.stdout.flush()
    head = HEAD.format(machine=torch.cuda.get_device_name(), torch=torch.__version__)
    RESULTS.write_text(head + "\n".join(lines) + "\n", "utf-8")
    assert all(abs(ratio - 1) <= NEAR for ratio in after)


if __name__ == "__main__":
    name, batch, physical, optimizer, device = sys.argv[1:]
    sys.stdout.write(json.dumps(taken(name, int(batch), int(physical), optimizer, device)))
