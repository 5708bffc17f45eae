"""Private preprocessing in scikit-learn's pipelines: bounds that travel with the columns, and ε that adds up."""

import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from workbench import api
from workbench.params import ParameterError
from workbench.release.ledger.ledger import Ledger

SPECIES = ["setosa", "versicolor", "virginica"]
STUDY = pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
NAMES = ["PCA", "Standardize"]


def pipeline(**more):
    return make_pipeline(
        api.Standardize(epsilon=3, bounds=(0, 10), random_state=0, **more),
        api.PCA(epsilon=4, components=2, random_state=1, **more),
        api.NaiveBayes(epsilon=5, classes=SPECIES, random_state=2, **more),
    )


@STUDY
@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_transformer_that_can_be_cloned_and_needs_no_y(name, iris):
    X, y = iris
    model = getattr(api, name)(epsilon=20, bounds=(0, 10), random_state=0)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(model, "predict")
    for asked in (model.transform, model.get_feature_names_out, lambda _=None: model.bounds_):
        with pytest.raises(NotFittedError):
            asked(X)
    with pytest.raises(NotFittedError, match="mean_"):
        _ = model.mean_
    with pytest.raises(AttributeError, match=r"has no .components.$"):
        _ = api.Standardize().components
    made = model.fit_transform(X)
    assert model.mean_.shape == (4,)
    assert list(made.columns) == list(model.get_feature_names_out()) == list(model.bounds_)
    assert made.index.equals(X.index)
    for column, (lower, upper) in model.bounds_.items():
        assert lower <= made[column].min() < made[column].max() <= upper
    again = clone(model).fit(X, y)
    pd.testing.assert_frame_equal(again.transform(X), made)
    alone = pd.concat([model.transform(X.iloc[[i]]) for i in (0, 77, 149)])
    pd.testing.assert_frame_equal(alone, made.iloc[[0, 77, 149]])
    from_array = clone(model).fit(X.to_numpy()).transform(X.to_numpy())
    np.testing.assert_array_equal(from_array.to_numpy(), made.to_numpy())


@STUDY
def test_a_private_pipeline_is_cross_validated_and_says_what_it_costs(iris):
    X, y = iris
    model = pipeline()
    assert api.total_epsilon(model) == Decimal(12)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(model, X, y, cv=folds)
    assert scores.mean() > 0.8
    np.testing.assert_array_equal(scores, cross_val_score(clone(model), X.to_numpy(), y, cv=folds))


@STUDY
def test_the_bounds_of_the_step_before_can_also_be_given_by_hand(iris):
    X, y = iris
    components = api.PCA(epsilon=4, bounds=(0, 10), random_state=0).fit(X)
    made = components.transform(X)
    carried = api.NaiveBayes(epsilon=5, classes=SPECIES, random_state=1).fit(made, y)
    stated = api.NaiveBayes(epsilon=5, classes=SPECIES, random_state=1, bounds=components.bounds_).fit(made, y)
    np.testing.assert_array_equal(carried.predict(made), stated.predict(made))
    wider = api.NaiveBayes(epsilon=5, classes=SPECIES, random_state=1, bounds={"component 1": (-9, 9)}).fit(made, y)
    assert not np.array_equal(wider.predict_proba(made), carried.predict_proba(made))
    bare = pd.DataFrame(made.to_numpy(), columns=made.columns)
    with pytest.raises(ParameterError, match="column component 1"):
        api.NaiveBayes(epsilon=5, classes=SPECIES).fit(bare, y)


@STUDY
def test_categories_and_missing_values_pass_through_to_the_next_step():
    generator = np.random.default_rng(1)
    flag = generator.integers(0, 2, 300)
    frame = pd.DataFrame(
        {"flag": flag, "size": np.where(generator.random(300) < 0.1, np.nan, generator.random(300) / 2 + flag / 2)}
    )
    scale = api.Standardize(
        epsilon=10, bounds={"size": (0, 2)}, domains={"flag": [0, 1]}, missing=["size"], random_state=0
    )
    made = scale.fit_transform(frame)
    assert made["flag"].tolist() == flag.tolist()
    np.testing.assert_array_equal(made["size"].isna(), frame["size"].isna())
    assert list(scale.bounds_) == ["size"]
    components = api.PCA(epsilon=10, components=3, random_state=0).fit(made)
    assert components.components_.shape == (3, 3), "the flag, the size, and whether it is missing"
    model = make_pipeline(scale, api.NaiveBayes(epsilon=10, classes=[0, 1], random_state=0)).fit(frame, flag)
    assert model.score(frame, flag) > 0.8


@STUDY
def test_the_total_counts_every_row_of_a_person_and_refuses_what_has_no_epsilon():
    assert api.total_epsilon(pipeline(rows_per_person=2)) == Decimal(24)
    assert api.total_epsilon(api.PCA(epsilon=0.1)) == Decimal("0.1")
    harmless = make_pipeline(FunctionTransformer(np.asarray), "passthrough", make_pipeline(api.PCA(epsilon=2)))
    assert api.total_epsilon(harmless) == Decimal(2)
    with pytest.raises(ParameterError, match="StandardScaler is fitted on the rows without privacy"):
        api.total_epsilon(make_pipeline(StandardScaler(), api.PCA(epsilon=2)))
    with pytest.raises(ParameterError, match="epsilon is missing"):
        api.total_epsilon(make_pipeline(api.PCA(), api.NaiveBayes(epsilon=1)))


def released(step: str, folder: Path, **more):
    return {"ledger": folder / "ledger.sqlite", "output": folder / step, **more}


def test_each_released_step_charges_the_same_account(iris, folder):
    X, y = iris
    with Ledger.open(folder / "ledger.sqlite"):
        pass
    scale = api.Standardize(epsilon=300, bounds=(0, 10), account="iris", **released("scale", folder))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = scale.fit_transform(X)
        with Ledger.open(folder / "ledger.sqlite") as ledger:
            (first,) = ledger.releases()
            ledger.set_cap(first.dataset, Decimal(1200))
        components = api.PCA(epsilon=400, account="iris", **released("pca", folder)).fit(made)
        final = components.transform(made)
        model = api.NaiveBayes(epsilon=500, classes=SPECIES, account="iris", **released("bayes", folder)).fit(final, y)
    assert model.score(final, y) > 0.8  # the worst of 400 at a tenth of each ε, ten times the noise, was 0.867
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        releases = ledger.releases()
        assert [r.epsilon for r in releases] == [Decimal(300), Decimal(400), Decimal(500)]
        assert {ledger.account_of(r.dataset) for r in releases} == {ledger.account_of(first.dataset)}
        assert ledger.account(first.dataset).remaining == 0
    # A released step is opened again, and what it makes can be learned from as before.
    assert components.components_.shape == (2, 4)
    assert 0 < components.explained_variance_ratio_.sum() <= 1
    assert scale.mean_ == pytest.approx(X.mean(), abs=1)
    opened = api.load_model(folder / "pca").transform(api.load_model(folder / "scale").transform(X))
    pd.testing.assert_frame_equal(opened, final)
    assert opened.attrs == final.attrs
    assert api.verify(folder / "pca") == []


@STUDY
def test_a_release_does_not_follow_a_study_nor_another_account(iris, folder):
    X, y = iris
    studied = api.PCA(epsilon=4, bounds=(0, 10)).fit_transform(X)
    after = {"epsilon": 5, "classes": SPECIES, "account": "iris", **released("bayes", folder)}
    with pytest.raises(ParameterError, match="an earlier step is a private study"):
        api.NaiveBayes(**after).fit(studied, y)
    others = api.PCA(epsilon=4, bounds=(0, 10), account="other", **released("pca", folder)).fit_transform(X)
    with pytest.raises(ParameterError, match="two are named: 'iris' and 'other'"):
        api.NaiveBayes(**after).fit(others, y)
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert len(ledger.releases()) == 1
    assert not (folder / "bayes").exists()
