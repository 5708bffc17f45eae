"""The GPU benchmarks, tried on the processor with a tiny network: they need a GPU for their figures, not to be run."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import bench_gpu_memory  # noqa: E402
import bench_gpu_step  # noqa: E402
from gpu_networks import NETWORKS  # noqa: E402

pytestmark = pytest.mark.slow


def test_a_step_is_measured_in_every_way() -> None:
    found = bench_gpu_step.measured("small-cnn", 16, bench_gpu_step.Bench("cpu", rounds=1, seconds=0.005))
    assert {key for key in bench_gpu_step.COLUMNS.values() if key not in found} == {
        "opacus to private", "ghost to private", "opacus MB", "ghost MB",
    }  # fmt: skip
    assert all(value >= 0 for value in found.values())
    assert found["plain"] == 1
    assert bench_gpu_step.line_of("small-cnn", 16, found).count("|") == len(bench_gpu_step.COLUMNS) + 3
    text = bench_gpu_step.HEAD.format(machine="a GPU", torch="2")
    assert "on a GPU; torch 2" in text


def test_what_misses_its_goal_is_named() -> None:
    good = {"private to plain graph": 1.2, "opacus to private": 12.0, "private MB": 1.0, "plain MB": 1.0}
    cases = dict.fromkeys(bench_gpu_step.CASES, good)
    assert bench_gpu_step.misses(cases) == []
    bad = {"private to plain graph": 1.6, "opacus to private": 1.0, "private MB": 2.0, "plain MB": 1.0}
    told = bench_gpu_step.misses({("cnn", 64): bad, ("large-cnn", 64): bad})
    assert told == [
        "cnn at 64: 1.60 × plain SGD with CUDA graphs, not 1.5",
        "cnn at 64: 1.0 × as fast as Opacus, not 10",
        "large-cnn at 64: 2.00 × the plain memory, not 1.2",
        "large-cnn at 64: 1.0 × as fast as Opacus, not 2",
    ]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_memory_is_forecast_and_measured_in_a_process_of_its_own(optimizer: str) -> None:
    words = [sys.executable, bench_gpu_memory.__file__, "small-cnn", "16", "32", optimizer, "cpu"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert found["forecast"] == pytest.approx(found["measured"], rel=0.05)
    assert found["probe"] == pytest.approx(found["measured"], rel=0.05)
    assert len(bench_gpu_memory.CASES) == 12


def test_the_networks_are_as_large_as_is_said() -> None:
    sizes = {name: sum(p.numel() for p in n.build().parameters()) for name, n in NETWORKS.items()}
    assert (sizes["cnn"], sizes["mlp"]) == (26_010, 4_866)
    assert math.isclose(sizes["vgg16-head"], 12.85e6, rel_tol=0.01)
    assert math.isclose(sizes["large-cnn"], 9.9e6, rel_tol=0.02)
    for measured in NETWORKS.values():
        with torch.no_grad():
            assert measured.build()(torch.zeros(1, *measured.row)).shape == (1, measured.classes)
