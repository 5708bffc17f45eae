"""Sweeps of DP-SGD: what they run, what the file holds, and that a stopped one goes on."""

import csv
import dataclasses
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweeps import SETTINGS

pytest.importorskip("torch")

from array_data import ArrayData

from workbench.data.schema import Attribute
from workbench.deep import devices
from workbench.deep.features import Features
from workbench.params import CancelledError, InputError, ParameterError
from workbench.signals.cancel import CancelToken
from workbench.studies.grid import sweep
from workbench.studies.grid.files import TEMPLATE, GridSpec, header, load_spec, read_runs
from workbench.studies.grid.lines import sweep_lines
from workbench.studies.grid.sweep import LoadedRows, publishing, publishing_words, run_grid, schedules_of


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(3)
    X = generator.uniform(-1, 1, (100, 2))
    inputs = tuple(Attribute.from_plain({"name": n, "kind": "real", "lower": -1, "upper": 1}) for n in "ab")
    target = Attribute.from_plain({"name": "y", "kind": "category", "domain": ["no", "yes"]})
    return LoadedRows.of(ArrayData(Features(inputs, target), X, (X[:, 0] > 0).astype(np.int64)))


def spec_of(folder: Path, text: str = SETTINGS, repeats: int = 2) -> GridSpec:
    path = folder / "sweep.toml"
    path.write_text(f'data = "x.csv"\nrepeats = {repeats}\n{text}', "utf-8")
    return load_spec(path)


def test_every_combination_is_run_and_is_one_row(rows, tmp_path):
    spec = spec_of(tmp_path)
    runs = run_grid(spec, rows, tmp_path / "out.csv")
    assert [(run.setting["noise"], run.setting["lr"], run.repeat) for run in runs] == [
        (noise, lr, repeat) for noise in (2.0, 8.0) for lr in (0.1, 1.0) for repeat in (0, 1)
    ]
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 8
    assert len(set(header())) == len(header())
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o600
    for row in table:
        assert 0 <= float(row["accuracy"]) <= 1
        assert float(row["steps"]) == 12  # 3 epochs of 80 rows in batches of 20
        assert row["note"] == "private - not for release"
    (costs,) = {tuple(float(r["epsilon_spent"]) for r in table if r["noise"] == n) for n in ("2.0",)}
    assert set(costs) == {float(spec.settings[0].schedule(80).cost().epsilon)}
    assert [r.name for r in read_runs(tmp_path / "out.csv")] == [r.name for r in runs]


def test_a_stopped_sweep_goes_on_and_ends_as_an_uninterrupted_one(rows, tmp_path):
    spec, whole, part = spec_of(tmp_path), tmp_path / "whole.csv", tmp_path / "part.csv"
    run_grid(spec, rows, whole)
    cancel, seen = CancelToken(), []

    def stop_after_three(event: object) -> None:
        seen.append(event)
        if len([e for e in seen if getattr(e, "done", 0) == 3]):
            cancel.cancel()

    with pytest.raises(CancelledError):
        run_grid(spec, rows, part, emit=stop_after_three, cancel=cancel)
    kept = part.read_bytes()
    assert 3 <= kept.count(b"\n") - 1 < 8
    part.write_bytes(kept + b"half a li")  # a kill in the middle of a line
    run_grid(spec, rows, part)
    assert part.read_bytes().startswith(kept)

    def figures(path: Path) -> list[tuple[str, float, float]]:
        return sorted((r.name, r.figures["accuracy"], r.figures["epsilon_spent"]) for r in read_runs(path))

    assert figures(part) == figures(whole)
    longer = run_grid(spec_of(tmp_path, repeats=3), rows, part)
    assert len(longer) == 12
    assert {r.name for r in read_runs(whole)} < {r.name for r in longer}


def test_the_figures_do_not_depend_on_the_number_of_processes(rows, tmp_path):
    spec = spec_of(tmp_path, SETTINGS.replace("[0.1, 1.0]", "1.0"), repeats=1)
    alone, two = (run_grid(spec, rows, tmp_path / f"{jobs}.csv", jobs=jobs) for jobs in (1, 2))
    assert [r.figures["accuracy"] for r in alone] == [r.figures["accuracy"] for r in two]


def test_the_file_of_another_study_is_not_gone_on_with(rows, tmp_path):
    spec, path = spec_of(tmp_path, repeats=1), tmp_path / "out.csv"
    run_grid(spec, rows, path)
    before = path.read_bytes()
    other = LoadedRows(rows.features, rows.inputs + np.float32(0.5), rows.targets)
    with pytest.raises(InputError, match="another table, plan, seed, version or kind of device"):
        run_grid(spec, other, path)
    assert path.read_bytes() == before
    path.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(InputError, match="not the CSV of a sweep"):
        run_grid(spec, rows, path)


def test_a_sweep_of_a_former_version_is_read_and_not_gone_on_with(rows, tmp_path):
    """It has columns of what a GPU was to do."""
    spec, path = spec_of(tmp_path, repeats=1), tmp_path / "out.csv"
    runs = run_grid(spec, rows, path)
    with path.open(newline="", encoding="utf-8") as stream:
        lines = list(csv.reader(stream))
    place = lines[0].index("weights")
    with path.open("w", newline="", encoding="utf-8") as stream:
        former = [["gpu_steps", "precision"], *[["plain", "float32"]] * len(runs)]
        csv.writer(stream, lineterminator="\n").writerows(
            [*line[:place], *more, *line[place:]] for line, more in zip(lines, former, strict=True)
        )
    assert [run.figures for run in read_runs(path)] == [run.figures for run in runs]
    with pytest.raises(InputError, match="version"):
        run_grid(spec, rows, path)


def test_runs_are_joined_to_lines_against_epsilon(rows, tmp_path):
    lines = sweep_lines(run_grid(spec_of(tmp_path), rows, tmp_path / "out.csv"))
    assert [line.setting for line in lines] == ["lr=0.1", "lr=1"]
    for line in lines:
        assert [p.count for p in line.tried] == [2, 2]
        assert line.tried[0].epsilon < line.tried[1].epsilon  # σ = 8, then σ = 2
        assert 0.3 < line.majority < 0.7


def test_the_cost_of_publishing_the_best_is_told(rows, tmp_path):
    schedules = schedules_of(spec_of(tmp_path), rows)
    found = publishing(schedules)
    assert found.settings == 4
    assert found.selected is not None
    assert found.composed is not None
    assert found.largest < found.selected.epsilon
    assert found.largest < found.composed < found.plain_sum
    assert found.plain_sum == pytest.approx(sum(float(s.cost().epsilon) for s in schedules))
    told = " ".join(publishing_words(found))
    assert found.selected.number in told
    assert "draw a secret number of tries" in told
    assert "with replacement" in told
    (caveat,) = publishing_words(publishing(schedules[:1]))
    assert caveat.startswith("Choosing settings by these figures reveals something about the rows")


def test_a_person_with_several_rows_pays_for_all_of_them(rows, tmp_path):
    """The figures of the file and of publishing are those of a person, as a training would be charged."""
    spec = spec_of(tmp_path, SETTINGS.replace("[0.1, 1.0]", "1.0").replace("1e-3", "1e-5"), repeats=1)
    several = dataclasses.replace(rows, rows_per_person=3)
    runs = run_grid(spec, several, tmp_path / "out.csv")
    expected = [float(setting.schedule(80, 3).cost().epsilon) for setting in spec.settings]
    assert [run.figures["epsilon_spent"] for run in runs] == expected
    assert expected[0] > 2.5 * float(spec.settings[0].schedule(80).cost().epsilon)
    found = publishing(schedules_of(spec, several))
    assert (found.composed, found.selected) == (None, None)
    assert found.plain_sum == pytest.approx(sum(expected))
    assert "costs as much as all runs together" in publishing_words(found)[0]


def test_the_template_is_a_sweep(tmp_path):
    (tmp_path / "t.toml").write_text(TEMPLATE, "utf-8")
    spec = load_spec(tmp_path / "t.toml")
    assert spec.varied == ("epsilon", "lr")
    assert spec.label(spec.settings[0]) == "epsilon=1, lr=0.3"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('data = "x"\n', r"no \[settings\]"),
        ("[settings]\nnetwork = 'mlp'", "the key 'data' is missing"),
        ('data = "x"\ntargit = "y"\n[settings]\n', "did you mean 'target'"),
        ('data = "x"\nrepeats = 0\n[settings]\n', "repeats = 0"),
        ('data = "x"\n' + SETTINGS.replace("lr =", "lrr ="), "'lrr' is not a setting"),
        ('data = "x"\n' + SETTINGS.replace("[0.1, 1.0]", "[]"), "the list of lr is empty"),
        ('data = "x"\n' + SETTINGS.replace("[0.1, 1.0]", "[1.0, 1.0]"), "has a value twice"),
        ('data = "x"\n' + SETTINGS.replace("[0.1, 1.0]", "[0.1, -1.0]"), r"lr = -1\.0 .*noise=2, lr=-1\)"),
        ('data = "x"\n' + SETTINGS.replace("batch = 20", f"batch = {list(range(1, 60000))}"), "runs"),
    ],
)
def test_a_wrong_sweep_is_refused_with_the_place(text, told, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ParameterError, match=told) as caught:
        load_spec(path)
    assert str(path) in str(caught.value)


FIGURES = {
    "accuracy": 0.5,
    "majority": 0.4,
    "epsilon_spent": 1.0,
    "noise_multiplier": 1.0,
    "steps": 2.0,
    "train_seconds": 0.1,
    "peak_memory_bytes": 5.0,
}


def test_a_file_of_one_kind_of_device_is_not_continued_on_another(rows, tmp_path, monkeypatch):
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
