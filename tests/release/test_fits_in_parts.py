"""Learners of sums: the very model of rows in memory from rows in parts, here and on workers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from local_cluster import NO_DASK
from test_counts_in_parts import Sliced
from test_counts_on_workers import ON_DASK, WORKERS, here, in_parts
from test_rows_of_any_size import parts  # noqa: F401  # small parts, everywhere

from workbench import learners
from workbench.cli import main
from workbench.data import cluster_parts
from workbench.data.cluster_parts import Workers
from workbench.data.columns.grid import matrix
from workbench.data.csv.regular_rows import RegularRows
from workbench.data.table import Table
from workbench.learners import Learner
from workbench.learners.base import SummingEstimator
from workbench.learners.tasks import target_of
from workbench.params import InputError, ParameterError
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.release_learner import FitTask, _readers, fit_on, release_fit
from workbench.release.verify import verify_release
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.work.noise import Study
from workbench.work.work import Sums

ROWS = 280
FEATURES = ("age", "size", "city")
PLAN = Plan.from_plain(
    {
        "epsilon": 5.0,
        "column": [
            {"name": "age", "kind": "integer", "lower": 0, "upper": 120, "missing": "own-value"},
            {"name": "size", "kind": "real", "lower": 0.0, "upper": 2.5},
            {"name": "city", "kind": "category", "domain": ["Graz", "Linz", "Wels"]},
            {"name": "ill", "kind": "category", "domain": ["no", "yes"]},
            {"name": "cost", "kind": "real", "lower": 0.0, "upper": 9.0},
        ],
    }
)
SUMS = [each for each in learners.LEARNERS if each.sums]


def written(path: Path, rows: int = ROWS) -> Path:
    generator = np.random.default_rng(3)
    ages = [None if age > 120 else str(age) for age in generator.integers(-5, 125, rows)]
    ill = generator.integers(0, 2, rows)
    frame = {
        "age": ages,
        "size": [f"{size:.3f}" for size in generator.normal(1 + ill / 2, 0.5, rows)],
        "city": np.array(["Graz", "Linz", "Wels"])[generator.integers(0, 3, rows)].tolist(),
        "ill": np.array(["no", "yes"])[ill].tolist(),
        "cost": [f"{cost:.2f}" for cost in generator.uniform(0, 10, rows) * (1 + ill) / 2],
    }
    pl.DataFrame(frame).write_csv(path)
    return path


def goal_of(chosen: Learner) -> str:
    return "cost" if chosen.task == "regression" else "ill"


def unfitted(chosen: Learner, **more: Any) -> tuple[Any, list[Any], Any]:
    """Return a study's estimator with fixed noise, the columns that it reads, and its target."""
    features, target = [PLAN.column(name) for name in FEATURES], PLAN.column(goal_of(chosen))
    small_forest = {"trees": 2} if "trees" in chosen.parameters.declared() else {}
    parameters = chosen.parameters.from_plain({"epsilon": 5.0, **small_forest, **more})
    noise = Study(np.random.default_rng(1))
    return chosen.private([c.facts() for c in features], target.facts(), parameters, noise), features, target


def plain(fitted: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(fitted.to_plain()))
    return found


def of_parts(chosen: Learner, table: Table, workers: Workers | None, **more: Any) -> dict[str, Any]:
    estimator, features, target = unfitted(chosen, **more)
    assert isinstance(estimator, SummingEstimator)
    fit_on(estimator, table, (tuple(features), target), workers)
    return plain(estimator)


def in_memory(chosen: Learner, table: Table, **more: Any) -> dict[str, Any]:
    estimator, features, target = unfitted(chosen, **more)
    return plain(estimator.fit(matrix(table, features), target_of(table, target)))


@pytest.mark.parametrize("count", [7, pytest.param(2, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chosen", SUMS, ids=lambda chosen: chosen.name)
def test_the_model_is_that_of_rows_in_memory(chosen, count, tmp_path, monkeypatch):
    path = written(tmp_path / "a.csv")
    table, _ = in_parts(path, count, monkeypatch, form="text")
    expected = in_memory(chosen, Table(table.stored.load(), str(path)))  # type: ignore[union-attr]
    sliced = Table(Sliced(table.stored.load(), 41), str(path))  # type: ignore[arg-type, union-attr]
    assert of_parts(chosen, sliced, None) == expected
    assert of_parts(chosen, table, WORKERS) == expected
    assert table.in_parts  # its rows were never read whole


def test_columns_are_chosen_from_parts_as_from_the_whole(tmp_path, monkeypatch):
    table, _ = in_parts(written(tmp_path / "a.csv"), 7, monkeypatch, form="text")
    for name, more in (("linear-regression", {"columns": 1}), ("naive-bayes", {"noise_limit": 1e-6})):
        chosen = learners.learner(name)
        found = of_parts(chosen, table, WORKERS, **more)
        assert found == in_memory(chosen, Table(table.stored.load(), "a.csv"), **more)  # type: ignore[union-attr]
        assert len(found["columns" if name == "linear-regression" else "used"]) == 1


def test_the_learners_of_sums_are_those_that_are_promised():
    promised = {"naive-bayes", "linear-regression", "kmeans", "pca", "random-forest", "forest-regression"}
    assert {each.name for each in SUMS} == promised | {"boosted-trees", "standardize"}


def test_row_groups_give_the_model_of_rows_in_memory(tmp_path, monkeypatch):
    path = written(tmp_path / "a.csv")
    table, _ = in_parts(path, 3, monkeypatch, form="parquet")
    for name in ("naive-bayes", "linear-regression"):
        chosen = learners.learner(name)
        expected = in_memory(chosen, Table(pl.read_csv(path, infer_schema=False), str(path)))
        assert of_parts(chosen, table, None) == expected
        assert of_parts(chosen, table, WORKERS) == expected
    assert table.in_parts


@pytest.mark.parametrize("form", ["text", "parquet"])
@pytest.mark.parametrize("workers", [None, WORKERS])
def test_a_release_from_parts_reads_after_the_charge_and_never_the_whole(tmp_path, monkeypatch, workers, form):
    table, _ = in_parts(written(tmp_path / "a.csv"), 3, monkeypatch, form=form)
    bayes = learners.learner("naive-bayes")
    wanted = FitTask(bayes, bayes.parameters(epsilon=1.0), PLAN, "ill", table, tmp_path / "model", workers=workers)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        release_fit(wanted, ledger)
        assert [r.status for r in ledger.releases()] == ["charged"]
    assert verify_release(tmp_path / "model") == []
    assert table.in_parts


@pytest.mark.parametrize("workers", [None, WORKERS])
def test_ranges_are_counted_in_the_pass_that_finds_the_account(tmp_path, monkeypatch, workers):
    table, _ = in_parts(written(tmp_path / "a.csv"), 3, monkeypatch, form="text")
    bayes, more = learners.learner("naive-bayes"), {"epsilon": 40.0}
    estimator, features, target = unfitted(bayes, **more)
    columns = (tuple(features), target)
    ranges = Sums(_readers(columns), estimator.range_counts(ROWS))
    ranges.read(table, CancelToken())
    fit_on(estimator, table, columns, workers, counts=ranges.total)
    assert plain(estimator) == in_memory(bayes, Table(table.stored.load(), "a.csv"), **more)  # type: ignore[union-attr]

    passes: list[str] = []
    whole = RegularRows.parts
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here(before=passes.append))
    monkeypatch.setattr(RegularRows, "parts", lambda rows, most: passes.append("here") or whole(rows, most))
    wanted = FitTask(bayes, bayes.parameters(**more), PLAN, "ill", table, tmp_path / "model", workers=workers)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        release_fit(wanted, ledger)
    assert len(passes) == 2
    assert verify_release(tmp_path / "model") == []


def test_a_bad_value_of_a_part_is_named_and_nothing_stays_charged(tmp_path, monkeypatch):
    path = written(tmp_path / "a.csv")
    lines = path.read_text().splitlines()
    lines[201] = lines[201].replace(lines[201].split(",")[1], "huge")
    path.write_text("\n".join(lines) + "\n")
    table, _ = in_parts(path, 7, monkeypatch, form="text")
    bayes = learners.learner("naive-bayes")
    for workers in (None, WORKERS):
        wanted = FitTask(bayes, bayes.parameters(epsilon=1.0), PLAN, "ill", table, tmp_path / "model", workers=workers)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            with pytest.raises(InputError, match="column size, row 201"):
                release_fit(wanted, ledger)
            assert ledger.releases() == []  # it is found before anything is reserved
    assert not (tmp_path / "model").exists()


def test_a_learner_that_needs_the_rows_is_refused_with_those_that_do_not(tmp_path):
    table = Table(pl.read_csv(written(tmp_path / "a.csv"), infer_schema=False), "a.csv")
    chosen = learners.learner("logistic-regression")
    wanted = FitTask(chosen, chosen.parameters(epsilon=1.0), PLAN, "ill", table, tmp_path / "m", workers=WORKERS)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(
            ParameterError, match="“Logistic regression, exact noise” does not add up sums of parts"
        ) as refused:
            release_fit(wanted, ledger)
        assert ledger.releases() == []
    assert all(name in str(refused.value) for name in ("naive-bayes", "kmeans", "--engine local"))


@NO_DASK[0]
@NO_DASK[1]
def test_the_command_fits_on_a_cluster(tmp_path, monkeypatch, cluster, capsys):
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 2048)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.to_toml())
    written(tmp_path / "a.csv")
    words = ["fit", str(tmp_path / "a.csv"), "--target", "cost", "--model", "linear-regression", "--epsilon", "1"]
    words += ["--bounds", str(plan), "-o", str(tmp_path / "model"), "--ledger", str(tmp_path / "l.sqlite"), "--json"]
    code = main([*words, *ON_DASK, str(cluster.file)])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert json.loads(said.out)["epsilon_charged"] == 1
    assert verify_release(tmp_path / "model") == []
    assert cluster.kept() == (0, 0)
