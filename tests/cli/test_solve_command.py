"""``workbench solve`` by its contract, run as a person runs it."""

import pytest

from tests.cli.command_cases import PLAN, TABLE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "t.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


WANT = ("--want", "mean(age)<=2", "--want", "share(city=Graz) ± 5 %")


def test_from_a_plan_and_from_a_table_the_answer_is_the_same(folder, run):
    found = run("solve", "plan.toml", "--rows", "20", *WANT, "--json").done
    assert set(found) >= {"epsilon", "split", "impossible"}
    assert found["impossible"] == []
    assert set(found["split"]) == {"mean(age)", "share(city=Graz)"}
    assert sum(found["split"].values()) == pytest.approx(found["epsilon"], rel=1e-12)
    assert run("solve", "t.csv", "--plan", "plan.toml", *WANT, "--json").done == found
    told = run("solve", "t.csv", "--plan", "plan.toml", *WANT).shown
    assert f"epsilon = {found['epsilon']:.15g}" in told
    assert sorted(p.name for p in folder.iterdir()) == ["plan.toml", "t.csv"]


def test_a_sample_declares_its_columns_and_a_table_without_a_plan_does_not(folder, run):
    assert run("solve", "sample:people", "--want", "mean(age)<=2", "--json").done["epsilon"] < 0.05
    assert "--plan PLAN" in run("solve", "t.csv", "--want", "mean(age)<=2").error()
    assert "--rows N" in run("solve", "plan.toml", "--want", "mean(age)<=2").error()


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (["--want", "mena(age)<=2"], "did you mean 'mean'"),
        (["--want", "mean(aeg)<=2"], "did you mean 'age'"),
        (["--want", "share(city=Garz)<=2%"], "did you mean 'Graz'"),
        (["--want", "mean(age)"], "is not a wish"),
        (["--want", "mean(age)<=2", "--way", "statistic"], "did you mean 'statistics'"),
        (["--want", "mean(age)<=2", "--epsilon", "nan"], "--epsilon"),
        (["--want", "mean(age)<=2", "--epsilon", "1", "--epsilon-max", "1"], "epsilon_max"),
        (["--want", "mean(age)", "--equal"], "epsilon"),
        (["--want", "mean(age)<=2", "--delta", "0.2"], "delta"),
        (["--want", "mean(age)<=2", "-o", "plan.toml"], "replace its input"),
        ([], "--want"),
    ],
)
def test_a_bad_wish_is_one_sentence(folder, run, given, part):
    assert part in run("solve", "plan.toml", "--rows", "20", *given).error()


def test_what_is_impossible_is_an_answer(folder, run):
    found = run("solve", "plan.toml", "--rows", "20", *WANT, "--epsilon-max", "0.5", "--json").done
    assert found["epsilon"] is None
    assert found["split"] == {}
    for one in found["impossible"]:
        assert one["needs"] > 0.5
        assert f"alone needs ε ≥ {one['needs']}" in one["reason"]
    told = run("solve", "plan.toml", "--rows", "20", *WANT, "--epsilon-max", "0.5").shown
    assert "not possible: mean(age) ± 2: mean(age) alone needs" in told


def test_what_is_written_is_what_the_release_takes(folder, run):
    found = run("solve", "t.csv", "--plan", "plan.toml", *WANT, "-o", "asked.toml", "--json").done
    given = ["--plan", "plan.toml", "--epsilon", str(found["epsilon"]), "--request", "asked.toml"]
    assert found["next"] == f"workbench statistics t.csv {' '.join(given)} -o OUT"
    told = run("statistics", "--forecast", "--rows", "20", *given, "--json").done["forecast"]
    widths = {one["statistic"]: one["half_width"] for one in told}
    assert widths["mean"] == found["errors"]["mean(age)"] <= 2
    shown = run("solve", "t.csv", "--plan", "plan.toml", *WANT).shown
    assert "share(city=Graz)  ± 5 %" in shown, "as it was asked"
    assert widths["histogram"] / 20 == found["errors"]["share(city=Graz)"] <= 0.05

    rows = run("solve", "t.csv", "--plan", "plan.toml", "--want", "mean(age)<=40", "--way", "rows", "-o", "rows.toml")
    assert "workbench sanitize t.csv --plan rows.toml -o OUT" in rows.shown
    assert "nothing is wished of them: city" in rows.shown
    made = run("forecast", "--plan", "rows.toml", "--rows", "20", "--json").done
    assert [c["name"] for c in made["columns"]] == ["age"]
    assert 1.96 * made["columns"][0]["mean_error"] < 40.01


def test_an_epsilon_is_spent_whole(folder, run):
    equal = ["--want", "mean(age)", "--want", "share(city=Graz)", "--epsilon", "2", "--equal"]
    found = run("solve", "plan.toml", "--rows", "2000", *equal, "--json").done
    assert found["epsilon"] == 2
    assert sum(found["split"].values()) == pytest.approx(2, rel=1e-12)
    assert found["errors"]["mean(age)"] / 120 == pytest.approx(found["errors"]["share(city=Graz)"], abs=1 / 2000)


def test_a_plan_that_is_missing_is_said_before_the_rows(folder, run):
    assert "does not exist (nowhere.toml)" in run("solve", "nowhere.toml", "--want", "mean(age)<=2").error()


def test_a_wish_for_an_unknown_column_says_which_there_are(folder, run):
    assert "; choose from age, " in run("solve", "plan.toml", "--rows", "20", "--want", "mean(zzz)<=2").error()
