"""A sweep over several devices: one process for each, every run once, and names of devices that are not there."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_grid import rows, spec_of  # noqa: E402, F401

from workbench.deep import devices, trainer  # noqa: E402
from workbench.deep.device_names import parse_devices, require_device  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.params import InputError, ParameterError  # noqa: E402
from workbench.studies.grid import sweep  # noqa: E402
from workbench.studies.grid.runs_file import read_runs  # noqa: E402
from workbench.studies.grid.sweep import LoadedRows, run_grid  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

PLAN = {"network": "mlp", "noise": 1.0, "delta": 1e-5, "batch": 5, "epochs": 1, "lr": 0.1, "clip": 1.0}
FIGURES = {
    "accuracy": 0.5,
    "majority": 0.4,
    "epsilon_spent": 1.0,
    "noise_multiplier": 1.0,
    "steps": 2.0,
    "train_seconds": 0.1,
    "peak_memory_bytes": 5.0,
}


@pytest.mark.slow  # two processes load torch
def test_a_sweep_over_two_devices_has_the_figures_of_one(rows: LoadedRows, tmp_path: Path) -> None:  # noqa: F811
    spec = spec_of(tmp_path, repeats=1)
    alone = run_grid(spec, rows, tmp_path / "one.csv")
    two = run_grid(spec, rows, tmp_path / "two.csv", devices=("cpu", "cpu"))
    assert [run.figures["accuracy"] for run in two] == [run.figures["accuracy"] for run in alone]
    with (tmp_path / "two.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(spec.settings)


def test_every_run_of_a_sweep_gets_the_device_of_its_process(
    rows: LoadedRows,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(trainer, "train", lambda plan, *a, **k: asked.append(plan.device) or 1 / 0)
    spec = spec_of(tmp_path, repeats=1)
    with pytest.raises(ZeroDivisionError):
        run_grid(spec, rows, tmp_path / "out.csv", devices=("cuda:1",))
    assert asked == ["cuda:1"]


def test_a_sweep_that_names_its_own_device_is_not_moved(rows: LoadedRows, tmp_path: Path) -> None:  # noqa: F811
    spec = spec_of(tmp_path)
    own = type(spec)(spec.file, tuple(DpSgdPlan(**PLAN, device="cpu") for _ in "a"), ())
    with pytest.raises(ParameterError, match="names a device of its own"):
        run_grid(own, rows, tmp_path / "out.csv", devices=("cpu",))


def test_a_file_of_one_kind_of_device_is_not_continued_on_another(
    rows: LoadedRows,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Figures of a GPU are not those of the processor: its rounding, and perhaps its noise of one seed, are others."""
    spec, path = spec_of(tmp_path, repeats=1), tmp_path / "out.csv"

    def one_run(_work: object, _shared: object, tasks: list[Any], **_named: object) -> Iterator[tuple[Any, Any]]:
        yield tasks[0], FIGURES

    monkeypatch.setattr(sweep, "runner", lambda *given: one_run)
    with pytest.raises(KeyError):
        run_grid(spec, rows, path, devices=("cpu",))  # one run was done, and stands there
    assert len(read_runs(path)) == 1
    with pytest.raises(InputError, match="kind of device"):
        run_grid(spec, rows, path, devices=("cuda:0", "cuda:1"))
    monkeypatch.setattr(devices, "gpus", lambda: 1)
    with pytest.raises(InputError, match="kind of device"):
        run_grid(spec, rows, path)  # by itself it would train on the GPU
    assert sweep.kind_of_devices(spec, ("cpu",)) == "cpu"
    assert len(read_runs(path)) == 1
    with pytest.raises(ParameterError, match="name devices of one kind"):
        run_grid(spec, rows, tmp_path / "other.csv", devices=("cpu", "cuda:0"))


def test_lists_of_devices() -> None:
    assert parse_devices("cuda:0, cuda:1", 2) == ("cuda:0", "cuda:1")
    assert parse_devices("all", 3) == ("cuda:0", "cuda:1", "cuda:2")
    assert parse_devices("cpu,cpu", 0) == ("cpu", "cpu")
    assert parse_devices("cuda:0,cuda:0,cuda", 1) == ("cuda:0", "cuda:0", "cuda")


@pytest.mark.parametrize(
    ("words", "gpus", "sentence"),
    [
        ("all", 0, "there is no CUDA device (--devices all); use --jobs N on the processor"),
        ("cuda:0", 0, "there is no CUDA device (--devices cuda:0); use --device cpu or auto"),
        ("cuda:0,cuda:1", 1, "there is no device cuda:1 (--devices cuda:1); use cuda:0, or cpu"),
        ("cuda:4", 4, "there is no device cuda:4 (--devices cuda:4); use cuda:0 to cuda:3, or cpu"),
        ("cuda:0,,", 4, "'' is not a device (--devices); give a list such as cuda:0,cuda:1, or all for every GPU"),
        ("gpu1", 4, "'gpu1' is not a device (--devices); give a list such as cuda:0,cuda:1, or all for every GPU"),
        ("auto", 4, "'auto' is not a device (--devices); give a list such as cuda:0,cuda:1, or all for every GPU"),
        (
            "cuda:01",
            4,
            "'cuda:01' is not a device (--devices); give a list such as cuda:0,cuda:1, or all for every GPU",
        ),
    ],
)
def test_devices_that_are_not_there_are_named(words: str, gpus: int, sentence: str) -> None:
    with pytest.raises((InputError, ParameterError)) as error:
        parse_devices(words, gpus)
    assert str(error.value) == sentence


def test_a_plan_may_name_a_gpu_by_its_number() -> None:
    assert DpSgdPlan(**PLAN, device="cuda:1").device == "cuda:1"
    assert DpSgdPlan.from_plain(DpSgdPlan(**PLAN, device="cuda:12").to_plain()).device == "cuda:12"
    for name in ("cuda:", "cuda:-1", "cuda:1x", "cuda:1000", "gpu", "cuda:1\n"):
        with pytest.raises(ParameterError, match="device"):
            DpSgdPlan(**PLAN, device=name)


def test_a_training_on_a_gpu_that_is_not_there_is_refused_before_it_is_charged(
    rows: LoadedRows,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "gpus", lambda: 1)
    with pytest.raises(InputError, match=r"there is no device cuda:1 .*use cuda:0, or cpu"):
        trainer.train(DpSgdPlan(**PLAN, device="cuda:1"), rows, Charged(lambda cost: pytest.fail("charged")))
    require_device("auto", 0)
    require_device("cuda:0", 1)
    assert np.array(rows.targets).any()
