"""Opacus as a peer on a GPU, in its own environment: answers ``NETWORK BATCH STEPS`` lines with ``SECONDS BYTES``.

The device is the argument. A network is followed by ``:ghost`` where no gradients of single rows are to be made. Rows
are on the device from the start, as in the benchmark beside it, and batches have a fixed size: what is timed is the
hooks, clipping, noise and the update. The bytes are the peak of the allocator above those in use before the network
was made (0 on the processor). A network that does not fit into memory is answered with ``nan 0``.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from gpu_networks import NETWORKS
from opacus import GradSampleModule
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn


def step_of(name: str, batch: int, device: str) -> Callable[[], None]:
    """Return a private step."""
    network, _, ghost = name.partition(":")
    measured = NETWORKS[network]
    x, y = measured.table(device)
    made = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "expected_batch_size": batch}
    loss = nn.CrossEntropyLoss()
    module = measured.build().to(device)
    if ghost:
        module = GradSampleModuleFastGradientClipping(module, max_grad_norm=1.0)
        optimizer = DPOptimizerFastGradientClipping(torch.optim.SGD(module.parameters(), lr=0.1), **made)
        loss = DPLossFastGradientClipping(module, optimizer, loss)
    else:
        module = GradSampleModule(module)
        optimizer = DPOptimizer(torch.optim.SGD(module.parameters(), lr=0.1), **made)

    def step() -> None:
        rows = torch.randint(0, len(x), (batch,), device=device)
        optimizer.zero_grad()
        loss(module(x[rows]), y[rows]).backward()
        optimizer.step()

    return step


def timed(step: Callable[[], None], steps: int, device: str) -> float:
    """Return the seconds of some steps, until the device has done them."""
    wait(device)
    begun = time.perf_counter()
    for _ in range(steps):
        step()
    wait(device)
    return time.perf_counter() - begun


def wait(device: str) -> None:
    """Wait for the device."""
    if device != "cpu":
        torch.cuda.synchronize()


def main() -> None:
    """Answer until the input ends."""
    device = sys.argv[1]
    torch.manual_seed(0)
    if device == "cpu":
        torch.set_num_threads(1)
    name, step, bytes_taken = "", None, 0
    for line in sys.stdin:
        asked, batch, steps = line.split()
        try:
            if f"{asked} {batch}" != name:
                step = None  # one network at a time, so that its memory is its own
                gc.collect()
                before = 0
                if device != "cpu":
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
                    before = torch.cuda.memory_allocated()
                name, step = f"{asked} {batch}", step_of(asked, int(batch), device)
                step()
                wait(device)
                bytes_taken = 0 if device == "cpu" else torch.cuda.max_memory_allocated() - before
            assert step is not None
            answer = f"{timed(step, int(steps), device)} {bytes_taken}"
        except torch.OutOfMemoryError:
            name, step, answer = "", None, "nan 0"
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
