"""``api.generalize``: a private study, or a file with its certificate and the ledger's note."""

import numpy as np
import pandas as pd
import pytest

from workbench import api
from workbench.data.samples.sample_tables import sample_table
from workbench.params import InputError, ParameterError
from workbench.release.ledger.ledger import Ledger
from workbench.release.statements import BESIDE

QUASI = ["age", "sex", "zip"]


@pytest.fixture
def people():
    frame = pd.DataFrame(sample_table("people").frame.to_dict(as_series=False))
    return frame.astype({"age": int, "income": int})


def test_a_study_says_that_it_is_private_and_is_noted(people, tmp_path):
    book = tmp_path / "l.sqlite"
    with pytest.warns(api.PrivateStudyWarning):
        found = api.generalize(people, quasi=QUASI, sensitive=["label"], k=5, suppression=0.05, study_ledger=book)
    assert list(found.columns) == ["age", "sex", "zip", "label"]
    assert found.groupby(QUASI).size().min() >= 5
    assert found.attrs["k"] >= 5
    assert "private" in found.attrs
    assert any("certain" in sentence and "Noisy rows with ε = 1" in sentence for sentence in found.attrs["failures"])
    assert any("k-ary randomised response over its 2 values" in sentence for sentence in found.attrs["failures"])
    with Ledger.read(book) as ledger:
        assert [f.study for f in ledger.figures()] == ["generalise"]


def test_a_published_table_is_verified_and_a_later_release_says_so(people, tmp_path):
    book, out = tmp_path / "l.sqlite", tmp_path / "general.csv"
    rows = api.dataset(people, account="people", ledger=book)
    ages = {"age": "intervals:widths=10,20"}
    found = api.generalize(
        rows, quasi=QUASI, sensitive=["label"], hierarchies=ages, k=5, l=2, suppression=0.1, output=out
    )
    assert found.attrs["statement"].startswith("This is not differential privacy")
    assert api.verify(out) == []
    zips = sorted(people["zip"].unique())
    plan = api.plan(
        rows,
        epsilon=3,
        bounds={"age": (0, 110), "income": (0, 150_000)},
        domains={"sex": ["female", "male"], "label": ["no", "yes"], "zip": zips},
        drop=["id", "name"],
    )
    released = api.release(rows, plan, output=tmp_path / "rows.csv")
    assert BESIDE in released.attrs["outside"]


def test_accuracy_and_mapping_are_as_the_command_has_them(people, tmp_path):
    levels, folder = tmp_path / "levels", tmp_path / "map"
    levels.mkdir()
    (levels / "sex.csv").write_text("female;*\nmale;*\n", "utf-8")
    (levels / "age.csv").write_text("".join(f"{a};{a // 30};*\n" for a in range(18, 91)), "utf-8")
    asked = {"quasi": ["age", "sex"], "target": "label", "hierarchies": levels, "k": 20}
    with pytest.raises(ParameterError, match="would replace"):
        api.generalize(people, mapping=levels, study_ledger=tmp_path / "l.sqlite", **asked)
    with pytest.warns(api.PrivateStudyWarning):
        found = api.generalize(people, mapping=folder, study_ledger=tmp_path / "l.sqlite", **asked)
    assert found.attrs["mapping"] == str(folder)
    became = dict(line.split(";") for line in (folder / "age.csv").read_text("utf-8").splitlines())
    assert {became[str(age)] for age in range(30, 60)} == {became["30"]}
    assert set(found["age"]) == set(became.values())
    score = found.attrs["accuracy"]
    most = people["label"].value_counts(normalize=True).max()
    assert score["guess"] == pytest.approx(most)
    assert score["guess"] < score["after"] <= score["before"] + 0.02


def test_hierarchies_are_frames_files_or_words(people, tmp_path):
    ages = pd.DataFrame(
        {"value": range(18, 91), "old": ["old" if a > 50 else "young" for a in range(18, 91)], "*": "*"}
    )
    (tmp_path / "sex.csv").write_text("female;any\nmale;any\n", "utf-8")
    levels = {"age": ages, "sex": tmp_path / "sex.csv", "zip": "masking:keep=3"}
    with pytest.warns(api.PrivateStudyWarning):
        found = api.generalize(
            people, quasi=QUASI, hierarchies=levels, k=20, loss="discernibility", study_ledger=tmp_path / "l.sqlite"
        )
    assert set(found["age"]) <= {"old", "young", "*"} | set(map(str, range(18, 91)))
    assert found.attrs["suppressed"] == 0


def test_an_unknown_parameter_of_a_model_is_refused(people):
    with pytest.raises(ParameterError, match="did you mean 'entropy_l'"):
        api.generalize(people, quasi=QUASI, entropi_l=2)


def test_a_search_that_finds_nothing_is_noted_before_it_says_so(people, tmp_path):
    book, out = tmp_path / "l.sqlite", tmp_path / "general.csv"
    with pytest.raises(InputError, match="meets the privacy models"):
        api.generalize(
            people, quasi=QUASI, sensitive=["label"], l=3, k=2, output=out, ledger=book, account="people"
        )  # label has two values
    assert not out.exists()
    with Ledger.read(book) as ledger:
        assert [f.study for f in ledger.figures()] == ["generalise"]


# -- ``workbench.api.attack``: DataFrames and files in, the keys of the command out -----------------------------------


def attacked_people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"a": rng.integers(0, 500, 200), "b": rng.integers(0, 500, 200), "c": rng.choice(["x", "y"], 200)}
    )


def test_an_attack_on_a_frame_is_a_private_study_without_a_bound(tmp_path):
    rows, others = attacked_people(1), attacked_people(2)
    with pytest.warns(api.PrivateStudyWarning):
        found = api.attack(
            "inference", rows, original=rows, control=others, known=["a", "b"], study_ledger=tmp_path / "l.sqlite"
        )
    assert found["low"] >= 0.9
    assert found["allowed"] is None
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        assert {one.study for one in ledger.figures()} == {"attack"}


def test_known_people_are_a_table_where_the_attack_reads_one(tmp_path):
    rows = attacked_people(3)
    with pytest.warns(api.PrivateStudyWarning):
        found = api.attack("link", rows, known=rows, on=["a", "b"], study_ledger=tmp_path / "l.sqlite")
    assert found["reidentified_fraction"] > 0.9


def test_a_generated_sample_warns_of_nothing():
    assert api.attack("traces", people=200, attacks=50)["private"] is False


def test_an_unknown_option_is_named():
    with pytest.raises(ParameterError, match="knwon"):
        api.attack("inference", attacked_people(4), original=attacked_people(4), knwon=["a"])
