"""A private step beside a plain one and beside Opacus, alternated in one run.

Run with ``pytest -m benchmark tests/benchmarks/bench_dpsgd.py -s``. ``OPACUS_PYTHON`` names the Python of an
environment with Opacus 1.6.0 (without it its columns stay empty). Times are those of one thread on the processor, so
that other programs count little; a row's figure is the median of the ratios of neighbouring measurements.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from workbench.deep.book_keeping import BookKeepingClippedSum  # noqa: E402
from workbench.deep.optimizers import Sgd  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.private_step import PrivateStep, flattened  # noqa: E402
from workbench.privacy.accounting.event import Cost, PoissonGaussian  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

from same_kernels import plain_step  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "dpsgd.md"
ROUNDS = 15
STEPS = {"cnn": {64: 40, 256: 12}, "mlp": {64: 300, 256: 200}, "logistic": {64: 600, 256: 400}}
PEERS = {"opacus": "", "ghost": "-ghost"}
CLIP = 1.0


def built(name: str) -> nn.Sequential:
    """The networks of the peer, which cannot import the workbench."""
    if name == "cnn":
        return nn.Sequential(
            nn.Conv2d(1, 16, 8, 2, 3), nn.ReLU(), nn.MaxPool2d(2, 1), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
            nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10),
        )  # fmt: skip
    if name == "mlp":
        return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    return nn.Sequential(nn.Linear(8, 2))


def plain(name: str, batch: int, x: torch.Tensor, y: torch.Tensor, *, last: bool = False) -> Callable[[], None]:
    """An ordinary step: shuffled rows of preloaded tensors, ``torch.optim.SGD``."""
    layout = torch.channels_last if last else torch.contiguous_format
    module = built(name)
    module = module.to(memory_format=layout) if last else module
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

    def step() -> None:
        rows = torch.randint(0, len(x), (batch,))
        given = x[rows].contiguous(memory_format=layout) if last else x[rows]
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(given), y[rows]).backward()
        optimizer.step()

    return step


def private(name: str, batch: int, x: torch.Tensor, y: torch.Tensor, *, generic: bool = False) -> Callable[[], None]:
    """The step of a training: Poisson coins, clipped sum, noise, update."""
    module = built(name)
    parameters, update = flattened(module), Sgd(0.1)
    engine = BookKeepingClippedSum(module, CLIP, 128) if generic else engine_for(module, CLIP, 384)
    event = PoissonGaussian(batch / len(x), 1.0, 10**9, "benchmark")
    steps = Charged(lambda cost: None).ask(Cost(Decimal(1), Decimal(0), event)).steps(event.label)
    mechanism = PrivateStep.of(steps, rows=len(x), batch=batch, clip=CLIP, clipped_sum=lambda clip: engine)

    def step() -> None:
        gradient, _ = mechanism.step(x, y, measure=False)
        update(parameters, gradient)

    return step


class Peer:
    """The process with Opacus."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).parent / "peer_opacus.py"
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, name: str, batch: int, steps: int) -> float:
        """Return the time of some steps."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, batch, steps, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def timed(step: Callable[[], None], steps: int) -> float:
    begun = time.thread_time()
    for _ in range(steps):
        step()
    return time.thread_time() - begun


def measured(name: str, batch: int, peer: Peer | None) -> dict[str, float]:
    """Return the medians: milliseconds of a plain step, and what the others take relative to it."""
    rows = 2000 if name == "cnn" else 100_000
    x = torch.rand(rows, 1, 28, 28) if name == "cnn" else torch.rand(rows, 8) * 2 - 1
    y = torch.randint(0, 10 if name == "cnn" else 2, (rows,))
    ways = {"plain": plain(name, batch, x, y), "private": private(name, batch, x, y)}
    ways["same kernels"] = plain_step(built(name), batch, x, y)
    ways["generic"] = private(name, batch, x, y, generic=True)
    if name == "cnn":
        ways["channels last"] = plain(name, batch, x, y, last=True)
    steps = STEPS[name][batch]
    found: dict[str, list[float]] = {way: [] for way in (*ways, *PEERS)}
    for turn in range(ROUNDS + 1):
        taken = {way: timed(step, steps) / steps for way, step in ways.items()}
        if peer is not None:
            for way, suffix in PEERS.items():
                taken[way] = peer.seconds(name + suffix, batch, steps) / steps
        if turn:  # the first one warms up
            for way, seconds in taken.items():
                found[way].append(seconds)
    ratios = {
        way: statistics.median(a / b for a, b in zip(values, found["plain"], strict=True))
        for way, values in found.items()
        if values and way != "plain"
    }
    if peer is not None:
        ratios.update(
            {f"{way} to private": _ratio(found[way], found["private"]) for way in PEERS},
        )
    ratios["private to same kernels"] = _ratio(found["private"], found["same kernels"])
    return {"plain": 1000 * statistics.median(found["plain"]), **ratios}


def _ratio(these: list[float], those: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(these, those, strict=True))


def peak_of_a_step() -> int:
    """Return the bytes that private steps of the CNN take at batch 256 above the data, in this process (Linux)."""
    torch.set_num_threads(1)
    x, y = torch.rand(2000, 1, 28, 28), torch.randint(0, 10, (2000,))
    private("cnn", 2, x, y)()  # libraries that are loaded at the first use are not of the step

    def status(name: str) -> int:
        words = Path("/proc/self/status").read_text().split()
        return 1024 * int(words[words.index(name) + 1])

    step = private("cnn", 256, x, y)
    Path("/proc/self/clear_refs").write_text("5")  # the kernel's own peak starts anew here
    before = status("VmRSS:")
    for _ in range(10):
        step()
    return status("VmHWM:") - before


def peaks(python: str | None) -> str:
    """Return a sentence on the memory of a step, here and in the peer."""
    words = [[sys.executable, __file__]]
    if python:
        peer = [python, "-W", "ignore", str(Path(__file__).parent / "peer_opacus.py")]
        words += [[*peer, "memory", f"cnn{suffix}", "256"] for suffix in PEERS.values()]
    taken = [int(subprocess.run(w, check=True, capture_output=True, text=True).stdout) / 1e6 for w in words]
    told = f"Memory of a step of *cnn* at batch 256, above data and libraries: {taken[0]:.0f} MB"
    return told + (f"; Opacus {taken[1]:.0f} MB, its ghost mode {taken[2]:.0f} MB.\n" if python else ".\n")


@pytest.mark.benchmark
def test_a_private_step_beside_a_plain_one():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    python = os.environ.get("OPACUS_PYTHON")
    peer = Peer(python) if python else None
    lines = []
    for name in STEPS:
        for batch in STEPS[name]:
            found = measured(name, batch, peer)
            columns = ("plain", "private", "same kernels", "channels last", "generic", "opacus", "ghost")
            columns += ("private to same kernels", "opacus to private", "ghost to private")
            cells = [f"{found[way]:.2f}" if way in found else "–" for way in columns]
            lines.append(f"| {name} | {batch} | {' | '.join(cells)} |")
            sys.stdout.write(lines[-1] + "\n")
            sys.stdout.flush()
    if peer is not None:
        peer.end()
    load = f"The load of the machine was {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores.\n"
    head = ("network", "batch", "plain, ms", "private", "same kernels", "channels last", "generic", "Opacus")
    head += ("Opacus ghost", "private ÷ same kernels", "Opacus ÷ private", "ghost ÷ private")
    table = f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n"
    RESULTS.write_text(HEAD + table + "\n".join(lines) + "\n\n" + peaks(python) + load, "utf-8")


HEAD = """# A private step beside a plain one

Made by `tests/benchmarks/bench_dpsgd.py` on a processor with 2 cores (AVX-512), shared with other programs; torch 2.13,
one thread, times of the thread on the processor. *cnn* is the network of the thesis (28 × 28 images, 26,010
parameters), *mlp* is 8 → 64 → 64 → 2 and *logistic* 8 → 2 on 100,000 rows. Plain is `torch.optim.SGD` on shuffled
rows of preloaded tensors, without a `DataLoader`. Private has everything that a training has: Poisson coins and noise
from ChaCha20, clipping, the update. Same kernels is plain SGD by the kernels of the private step,
and channels last is PyTorch's in that memory format. Generic is a private step by the engine for any network of known
layers. Columns between *plain* and *Opacus ghost* are relative to plain; the last three are ratios of the same
measurements.

Goals: private at most 0.65 (cnn) and 0.9, generic at most 1.1 for cnn, private ÷ same kernels at most 1.2 (cnn) and
1.6, Opacus ÷ private at least 3.5 (cnn) and 12, ghost ÷ private at least 3 (cnn); memory at most 50 MB. What a step is
made of, what was tried and what cannot be reached is in [dpsgd_floor.md](dpsgd_floor.md).

"""


if __name__ == "__main__":
    sys.stdout.write(f"{peak_of_a_step()}\n")
