"""A sweep keeps to one kind of device: the figures of a GPU are not those of the processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from test_grid import rows, spec_of  # noqa: E402, F401

from workbench.deep import devices  # noqa: E402
from workbench.params import InputError  # noqa: E402
from workbench.studies.grid import sweep  # noqa: E402
from workbench.studies.grid.runs_file import read_runs  # noqa: E402
from workbench.studies.grid.sweep import LoadedRows, run_grid  # noqa: E402

FIGURES = {
    "accuracy": 0.5,
    "majority": 0.4,
    "epsilon_spent": 1.0,
    "noise_multiplier": 1.0,
    "steps": 2.0,
    "train_seconds": 0.1,
    "peak_memory_bytes": 5.0,
}


def test_a_file_of_one_kind_of_device_is_not_continued_on_another(
    rows: LoadedRows,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its rounding is another, and perhaps its noise of one seed."""
    spec, path = spec_of(tmp_path, repeats=1), tmp_path / "out.csv"

    def one_run(_work: object, _shared: object, tasks: list[Any], **_named: object) -> Iterator[tuple[Any, Any]]:
        yield tasks[0], FIGURES

    monkeypatch.setattr(sweep, "runner", lambda *given: one_run)
    monkeypatch.setattr(devices, "gpus", lambda: 0)
    assert sweep.kind_of_devices(spec) == "cpu"
    with pytest.raises(KeyError):
        run_grid(spec, rows, path)  # one run was done, and is in the file
    assert len(read_runs(path)) == 1
    monkeypatch.setattr(devices, "gpus", lambda: 1)
    with pytest.raises(InputError, match="kind of device"):
        run_grid(spec, rows, path)  # by itself it would train on the GPU
    assert len(read_runs(path)) == 1
