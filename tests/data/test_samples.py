"""The bundled tables fit the public facts that are declared for them."""

import numpy as np
import pytest

from workbench.data.columns.values import codes, numbers
from workbench.data.samples.sample_tables import SAMPLES, sample_attributes, sample_table
from workbench.data.table_reader import read_table
from workbench.params import InputError

SHAPES = {
    "people": (2000, 7),
    "iris": (150, 5),
    "wine": (178, 14),
    "breast-cancer": (569, 31),
    "digits": (1797, 65),
    "diabetes-progression": (442, 11),
    "clinic": (6, 4),
}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_sample_fits_its_declared_attributes(sample):
    table = read_table(f"sample:{sample.name}")
    assert (table.rows, len(table.names)) == SHAPES[sample.name]
    assert table.names == tuple(a.name for a in sample.attributes)
    assert sample.target in table.names
    for attribute in sample.attributes:
        assert attribute.bounds_origin == "declared"
        if attribute.role == "identifier":
            assert attribute.domain is None
        elif attribute.numeric:
            x = numbers(table, attribute)
            lower, upper = attribute.bounds()
            assert np.mean((x < lower) | (x > upper)) < 0.01
            # Declared bounds are round and wider than the rows: nobody looked.
            assert not np.isin([lower, upper], x).all() or attribute.name.startswith("pixel")
        else:
            assert set(codes(table, attribute)) == set(range(len(attribute.values())))


def test_samples_are_listed_once():
    assert [sample.name for sample in SAMPLES] == list(SHAPES)


def test_people_are_the_same_everywhere_and_keep_their_zeros():
    table = sample_table("people")
    first = table.frame.row(0)
    assert first == ("P00001", "Jonor Farrowson", "42", "male", "01040", "37300", "yes")
    assert table.column("zip").str.starts_with("0").all()


def test_label_of_people_can_be_learnt():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = sample_table("people")
    facts = {attribute.name: attribute for attribute in sample_attributes("people")}
    X = np.column_stack([numbers(table, facts["age"]), numbers(table, facts["income"]), codes(table, facts["sex"])])
    y = codes(table, facts["label"])
    assert 0.4 < y.mean() < 0.6
    assert cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), X, y).mean() > 0.8


def test_unknown_sample_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="there is no sample 'irys', did you mean 'iris'"):
        read_table("sample:irys")
