"""Opacus as a peer, in an environment of its own: answers ``NETWORK BATCH STEPS`` lines with seconds of one thread.

A network is followed by ``-ghost`` where no gradients of single rows are to be made. As a program with the argument
``memory NETWORK BATCH`` it prints the peak of the resident memory above that before the first step, in bytes.

Rows are preloaded tensors, as in the benchmark beside it: what is timed is the hooks, clipping, noise and the update.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from opacus import GradSampleModule
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn

NETWORKS = {
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, 3), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
        nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
    ),
    "mlp": lambda: nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)),
    "logistic": lambda: nn.Sequential(nn.Linear(8, 2)),
}  # fmt: skip
SHAPES = {"cnn": (2000, 1, 28, 28), "mlp": (100_000, 8), "logistic": (100_000, 8)}


def step_of(name: str, batch: int) -> Callable[[], None]:
    """Return a private step."""
    network, _, ghost = name.partition("-")
    x, y = torch.rand(SHAPES[network]), torch.zeros(SHAPES[network][0]).long()
    made = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "expected_batch_size": batch}
    loss = nn.CrossEntropyLoss()
    if ghost:
        module = GradSampleModuleFastGradientClipping(NETWORKS[network](), max_grad_norm=1.0)
        optimizer = DPOptimizerFastGradientClipping(torch.optim.SGD(module.parameters(), lr=0.1), **made)
        loss = DPLossFastGradientClipping(module, optimizer, loss)
    else:
        module = GradSampleModule(NETWORKS[network]())
        optimizer = DPOptimizer(torch.optim.SGD(module.parameters(), lr=0.1), **made)

    def step() -> None:
        rows = torch.randint(0, len(x), (batch,))
        optimizer.zero_grad()
        loss(module(x[rows]), y[rows]).backward()
        optimizer.step()

    return step


def peak(step: Callable[[], None], steps: int = 10) -> int:
    """Return the bytes that some steps take above what is resident now (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")  # the kernel's own peak starts anew here
    before = _status("VmRSS:")
    for _ in range(steps):
        step()
    return _status("VmHWM:") - before


def _status(name: str) -> int:
    words = Path("/proc/self/status").read_text().split()
    return 1024 * int(words[words.index(name) + 1])


def main() -> None:
    """Answer until the input ends."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if sys.argv[1:2] == ["memory"]:
        step_of(sys.argv[2], 2)()  # libraries that are loaded at the first use are not of the step
        sys.stdout.write(f"{peak(step_of(sys.argv[2], int(sys.argv[3])))}\n")
        return
    made = {}
    for line in sys.stdin:
        name, batch, steps = line.split()
        if (name, batch) not in made:
            made[name, batch] = step_of(name, int(batch))
        step = made[name, batch]
        begun = time.thread_time()
        for _ in range(int(steps)):
            step()
        sys.stdout.write(f"{time.thread_time() - begun}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
