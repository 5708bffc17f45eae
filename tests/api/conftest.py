"""Fixtures of the tests from Python: tables as DataFrames, and a folder to stand in."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own to stand in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people():
    """Forty people: age, sex, income and name."""
    generator = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(40)],
            "age": generator.integers(0, 100, 40),
            "sex": generator.choice(["female", "male"], 40),
            "income": generator.uniform(0, 9000, 40).round(2),
        }
    )


@pytest.fixture
def iris():
    """X and y of iris, the species by name."""
    loaded = load_iris(as_frame=True)
    names = {i: str(name) for i, name in enumerate(loaded.target_names)}
    return loaded.data, loaded.target.map(names).rename("species")
