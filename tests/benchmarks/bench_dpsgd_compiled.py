"""The arithmetic of a private step of a table by ``torch.compile``, beside the step that is used.

Run with ``pytest -m benchmark tests/benchmarks/bench_dpsgd_compiled.py -s``; it needs a C++ compiler. What is compiled
is the most that can be: forward and backward pass, norms, clipping, sums, noise that was drawn before, and update, for
a batch of fixed size whose absent rows are masked. Drawing the noise and gathering the rows is outside and not timed,
which favours the compiled step. Its first call is timed from an empty cache.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

from bench_dpsgd import CLIP, built, private, timed  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "dpsgd_compiled.md"
BATCHES = (64, 256)
ROUNDS, STEPS = 15, 100


def arithmetic(weights: list[Tensor], x: Tensor, y: Tensor, mask: Tensor, noise: list[Tensor]) -> None:
    """One step of a chain of linear layers with tanh between them, in place."""
    entering = [x]
    for i in range(0, len(weights) - 2, 2):
        entering.append(torch.tanh(torch.addmm(weights[i + 1], entering[-1], weights[i].t())))
    slope = torch.softmax(torch.addmm(weights[-1], entering[-1], weights[-2].t()), 1)
    slopes = [(slope - torch.nn.functional.one_hot(y, slope.shape[1])) * mask[:, None]]
    for i in range(len(weights) - 2, 0, -2):
        slopes.insert(0, (slopes[0] @ weights[i]) * (1 - entering[i // 2].square()))
    squares = sum((h.square().sum(1) + 1) * g.square().sum(1) for h, g in zip(entering, slopes, strict=True))
    factors = (CLIP * torch.rsqrt(torch.clamp_min(squares, CLIP * CLIP)))[:, None]
    for i, (h, g) in enumerate(zip(entering, slopes, strict=True)):
        scaled = g * factors
        weights[2 * i].sub_(0.1 / len(y) * (scaled.t() @ h + noise[2 * i]))
        weights[2 * i + 1].sub_(0.1 / len(y) * (scaled.sum(0) + noise[2 * i + 1]))


def step_of(function: Callable[..., None], name: str, batch: int) -> Callable[[], None]:
    rows = batch + 6 * int(batch**0.5) + 1  # a Poisson batch is larger once in 10⁹ steps
    weights = [p.detach().clone() for p in built(name).parameters()]
    noise = [torch.randn_like(w) for w in weights]
    x, y = torch.rand(rows, 8) * 2 - 1, torch.randint(0, 2, (rows,))
    mask = (torch.arange(rows) < batch).float()

    def step() -> None:
        with torch.no_grad():
            function(weights, x, y, mask, noise)

    return step


@pytest.mark.benchmark
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_compiled_step_beside_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp())
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # else its threads stay
    lines = []
    for name in ("logistic", "mlp"):
        for batch in BATCHES:
            torch._dynamo.reset()
            compiled = step_of(torch.compile(arithmetic, dynamic=False), name, batch)
            begun = time.monotonic()
            compiled()
            cold = time.monotonic() - begun
            table, classes = torch.rand(100_000, 8) * 2 - 1, torch.randint(0, 2, (100_000,))
            ways = {
                "eager": step_of(arithmetic, name, batch),
                "compiled": compiled,
                "used": private(name, batch, table, classes),
            }
            found: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(ROUNDS + 1):
                for way, step in ways.items():
                    seconds = timed(step, STEPS) / STEPS
                    if turn:
                        found[way].append(1e6 * seconds)
            cells = [f"{statistics.median(values):.0f}" for values in found.values()]
            lines.append(f"| {name} | {batch} | {' | '.join(cells)} | {cold:.0f} |")
            sys.stdout.write(lines[-1] + "\n")
    RESULTS.write_text(HEAD + "\n".join(lines) + "\n", "utf-8")


HEAD = """# A compiled private step of a table

Made by `tests/benchmarks/bench_dpsgd_compiled.py` on a processor with 2 cores (AVX-512), shared with other programs;
torch 2.13, one thread, microseconds of the thread on the processor, medians of alternated measurements. *Eager* and
*compiled* are the arithmetic alone, on a batch of fixed size with masked rows: no coins, no gathering, no drawing of
noise. *Used* is the whole private step of `bench_dpsgd.py`, with all of these. *Cold* is the first call of the compiled
step in seconds, from an empty cache, with the C++ compiler of the machine.

| network | batch | eager | compiled | used | cold, s |
|---|---|---|---|---|---|
"""
