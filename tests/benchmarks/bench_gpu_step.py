"""A private step on a GPU beside a plain one and beside Opacus, alternated in one run; their memory.

Run with ``pytest -m benchmark tests/benchmarks/bench_gpu_step.py -s`` where there is a GPU. ``OPACUS_PYTHON`` names the
Python of an environment with Opacus 1.6.0 and a PyTorch for this GPU (without it its columns stay empty). A row's
figure is the median of the ratios of neighbouring measurements; a measurement ends when the GPU has done all of it.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from workbench.deep.device.device_step import DevicePrivateStep, Way  # noqa: E402
from workbench.deep.device.precision import BF16, FLOAT32, TF32, passes_in  # noqa: E402
from workbench.deep.device.replay import in_order, recorder_for  # noqa: E402
from workbench.deep.flat_parameters import flattened  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.updates import Sgd  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

from gpu_networks import NETWORKS  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "gpu_step.md"
CASES = (
    ("cnn", 64),
    ("cnn", 1024),
    ("mlp", 64),
    ("mlp", 1024),
    ("vgg16-head", 64),
    ("large-cnn", 64),
    ("large-cnn", 256),
)
LARGE = 24
"""Rows of the large network that are in memory at once in a private step, whatever the batch."""

ROUNDS, SECONDS = 15, 0.2
PEERS = {"opacus": "", "ghost": ":ghost"}
GOALS = {
    ("cnn", 64): 10.0,
    ("cnn", 1024): 5.0,
    ("mlp", 64): 10.0,
    ("mlp", 1024): 5.0,
    ("vgg16-head", 64): 2.0,
    ("large-cnn", 64): 2.0,
}
"""How many times as fast as Opacus with hooks a private step is to be."""

Step = Callable[[], None]


@dataclass(frozen=True)
class Bench:
    """How it is measured.

    Attributes:
        device: where.
        rounds: measurements of each way.
        seconds: of one measurement, about.
        python: the peer's interpreter, if there is one.
    """

    device: str
    rounds: int = ROUNDS
    seconds: float = SECONDS
    python: str | None = None


def plain(name: str, batch: int, device: str, *, graph: bool = False, precision: str = FLOAT32) -> Step:
    """An ordinary step: rows drawn on the device, forward, backward, SGD; with ``graph`` it is replayed."""
    measured = NETWORKS[name]
    module = measured.build().to(device)
    x, y = measured.table(device)
    parameters = list(module.parameters())
    inputs, targets = (
        torch.zeros(batch, *measured.row, device=device),
        torch.zeros(batch, dtype=torch.int64, device=device),
    )

    def pass_and_update() -> None:
        with passes_in(precision, torch.device(device)):
            loss = nn.functional.cross_entropy(module(inputs), targets)
            gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-0.1)

    passed = recorder_for(torch.device(device))(pass_and_update) if graph else pass_and_update

    def step() -> None:
        rows = torch.randint(0, len(x), (batch,), device=device)
        torch.index_select(x, 0, rows, out=inputs)
        torch.index_select(y, 0, rows, out=targets)
        passed()

    return step


def private(name: str, batch: int, device: str, *, graph: bool = True, precision: str = FLOAT32) -> Step:
    """The step of a training: Poisson batches, clipped sum, noise of the device, update."""
    measured = NETWORKS[name]
    module = measured.build().to(device)
    x, y = measured.table(device)
    parameters, update = flattened(module), Sgd(0.1)
    plan = DpSgdPlan(
        network="mlp", noise=1.0, delta=1e-6, batch=batch, epochs=10, lr=0.1, clip=1.0, accountant="rdp"
    )  # its network is not the one that is measured: what counts here is the schedule
    # Of a large network few rows at once keep the memory near that of a plain step.
    rows = LARGE if name == "large-cnn" else batch + 4 * math.isqrt(batch)
    way = Way(rows, precision=precision, measure=False)
    way = way if graph else Way(way.physical_batch, precision=precision, measure=False, recorder=in_order)
    mechanism = DevicePrivateStep(module, plan.schedule(len(x)), way)

    def step() -> None:
        gradient, _ = mechanism.step(x, y, measure=False)
        update(parameters, gradient.to(parameters.dtype))

    return step


WAYS: dict[str, Callable[[str, int, str], Step]] = {
    "plain": plain,
    "plain graph": lambda name, batch, device: plain(name, batch, device, graph=True),
    "private": private,
    "in order": lambda name, batch, device: private(name, batch, device, graph=False),
    "plain tf32": lambda name, batch, device: plain(name, batch, device, graph=True, precision=TF32),
    "tf32": lambda name, batch, device: private(name, batch, device, precision=TF32),
    "plain bf16": lambda name, batch, device: plain(name, batch, device, graph=True, precision=BF16),
    "bf16": lambda name, batch, device: private(name, batch, device, precision=BF16),
}
TO_PLAIN_GRAPH = {"private": "plain graph", "tf32": "plain tf32", "bf16": "plain bf16"}


class Peer:
    """The process with Opacus."""

    def __init__(self, python: str, device: str) -> None:
        script = Path(__file__).parent / "peer_opacus_gpu.py"
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(script), device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, name: str, batch: int, steps: int) -> tuple[float, int]:
        """Return the time of some steps and the memory that they take; not a number where it does not suffice."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, batch, steps, file=self._process.stdin, flush=True)
        seconds, size = self._process.stdout.readline().split()
        return float(seconds), int(size)

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def timed(step: Step, steps: int, device: str) -> float:
    wait(device)
    begun = time.perf_counter()
    for _ in range(steps):
        step()
    wait(device)
    return (time.perf_counter() - begun) / steps


def memory_of(make: Callable[[], Step], device: str) -> int:
    """Return the peak of the allocator over some steps, above what it held before (0 on the processor)."""
    gc.collect()
    before = 0
    if device != "cpu":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    step = make()
    for _ in range(3):
        step()
    wait(device)
    return 0 if device == "cpu" else torch.cuda.max_memory_allocated() - before


def measured(name: str, batch: int, bench: Bench) -> dict[str, float]:
    """Return milliseconds of a plain step, ratios to it and to each other, and megabytes."""
    device = bench.device
    found: dict[str, float] = {}
    for way, kept in (("plain", "plain MB"), ("private", "private MB")):
        found[kept] = memory_of(lambda way=way: WAYS[way](name, batch, device), device) / 1e6  # type: ignore[misc]
    steps = {way: make(name, batch, device) for way, make in WAYS.items()}
    for step in steps.values():
        step()
    counts = {way: max(1, round(bench.seconds / timed(step, 3, device))) for way, step in steps.items()}
    times: dict[str, list[float]] = {way: [] for way in steps}
    peers: dict[str, list[float]] = {}
    for turn in range(bench.rounds + 1):
        for way, step in steps.items():
            seconds = timed(step, counts[way], device)
            if turn:  # the first one warms up
                times[way].append(seconds)
    del steps
    gc.collect()
    if bench.python:
        # Apart, and not between: an allocator that keeps the memory of one process leaves the other too little.
        peer = Peer(bench.python, device)
        for way, suffix in PEERS.items():
            asked = f"{name}{suffix}"
            first, size = peer.ask(asked, batch, 3)
            found[f"{way} MB"] = size / 1e6
            many = 1 if math.isnan(first) else max(1, round(bench.seconds / (first / 3)))
            peers[way] = [peer.ask(asked, batch, many)[0] / many for _ in range(bench.rounds)]
        peer.end()
    found["plain ms"] = 1000 * statistics.median(times["plain"])
    for way, values in times.items():
        found[way] = ratio(values, times["plain"])
    for way, beside in TO_PLAIN_GRAPH.items():
        found[f"{way} to {beside}"] = ratio(times[way], times[beside])
    for way, values in peers.items():
        found[f"{way} to private"] = statistics.median(values) / statistics.median(times["private"])
    return found


def ratio(these: list[float], those: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(these, those, strict=True))


COLUMNS = {
    "plain, ms": "plain ms", "plain, graph": "plain graph", "private": "private", "private, no graph": "in order",
    "private ÷ plain, graphs": "private to plain graph", "tf32: the same": "tf32 to plain tf32",
    "bf16: the same": "bf16 to plain bf16", "Opacus ÷ private": "opacus to private",
    "ghost ÷ private": "ghost to private",
    "plain, MB": "plain MB", "private, MB": "private MB", "Opacus, MB": "opacus MB", "ghost, MB": "ghost MB",
}  # fmt: skip


def line_of(name: str, batch: int, found: dict[str, float]) -> str:
    cells = [f"{found[key]:.2f}" if key in found else "–" for key in COLUMNS.values()]
    return f"| {name} | {batch:,} | {' | '.join(cells)} |"


def misses(found: dict[tuple[str, int], dict[str, float]]) -> list[str]:
    """Return what does not reach its goal."""
    out = []
    for (name, batch), figures in found.items():
        case = f"{name} at {batch:,}"
        if name in ("cnn", "mlp") and figures["private to plain graph"] > 1.5:
            out.append(f"{case}: {figures['private to plain graph']:.2f} × plain SGD with CUDA graphs, not 1.5")
        if name in ("vgg16-head", "large-cnn") and figures["private MB"] > 1.2 * figures["plain MB"]:
            out.append(f"{case}: {figures['private MB'] / figures['plain MB']:.2f} × the plain memory, not 1.2")
        goal = GOALS.get((name, batch))
        if goal and figures.get("opacus to private", math.inf) < goal:
            out.append(f"{case}: {figures['opacus to private']:.1f} × as fast as Opacus, not {goal:g}")
    return out


HEAD = """# A private step on a GPU

Made by `tests/benchmarks/bench_gpu_step.py` on {machine}; torch {torch}. *cnn* is the network of the thesis (26,010
parameters), *mlp* is 8 → 64 → 64 → 2, *vgg16-head* the trained part of VGG16 (12.9 million), *large-cnn* six
convolutions with GroupNorm (9.9 million). Plain is SGD on rows that are on the GPU; private has Poisson batches,
clipping, ChaCha20 noise of the GPU and the update. The columns after *plain, ms* up to *private, no graph* are
relative to plain. MB is the peak of PyTorch's allocator, the generated table included.

Goals: *cnn* and *mlp* at most 1.5 × plain with CUDA graphs, and 10 (batch 64) and 5 (1,024) times as fast as Opacus;
*vgg16-head* and *large-cnn* twice as fast as Opacus in at most 1.2 × the plain memory.

"""


@pytest.mark.benchmark
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device on this machine")
def test_a_private_step_on_a_gpu_beside_a_plain_one_and_opacus() -> None:
    bench = Bench("cuda", python=os.environ.get("OPACUS_PYTHON"))
    found, lines = {}, []
    for name, batch in CASES:
        found[name, batch] = measured(name, batch, bench)
        lines.append(line_of(name, batch, found[name, batch]))
        sys.stdout.write(lines[-1] + "\n")
        sys.stdout.flush()
        torch.cuda.empty_cache()
    head = ("network", "batch", *COLUMNS)
    table = f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n" + "\n".join(lines) + "\n"
    told = "".join(f"\nNot reached: {miss}.\n" for miss in misses(found))
    RESULTS.write_text(
        HEAD.format(machine=torch.cuda.get_device_name(), torch=torch.__version__) + table + told, "utf-8"
    )
    assert not misses(found)
