"""Opacus as a peer, in an environment of its own: answers ``NETWORK BATCH STEPS`` lines with seconds of one thread.

Rows are preloaded tensors, as in the benchmark beside it: what is timed is the hooks, clipping, noise and the update.
"""

from __future__ import annotations

import sys
import time

import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
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


def main() -> None:
    """Answer until the input ends."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    made = {}
    for line in sys.stdin:
        name, batch, steps = line.split()
        if (name, batch) not in made:
            module = GradSampleModule(NETWORKS[name]())
            plain = torch.optim.SGD(module.parameters(), lr=0.1)
            optimizer = DPOptimizer(plain, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=int(batch))
            made[name, batch] = module, optimizer, torch.rand(SHAPES[name]), torch.zeros(SHAPES[name][0]).long()
        module, optimizer, x, y = made[name, batch]
        begun = time.thread_time()
        for _ in range(int(steps)):
            rows = torch.randint(0, len(x), (int(batch),))
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
            optimizer.step()
        sys.stdout.write(f"{time.thread_time() - begun}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
