"""Train shows what all predictions cost before they are charged, and charges nothing else."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hands import choose_model
from mishaps import retype
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QPushButton, QWidget

from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release

HEADER = "sepal_length,sepal_width,petal_length,species"
ROWS = ["5.0,3.4,1.5,setosa", "6.5,3.0,5.5,virginica", "6.0,2.9,4.5,versicolor"]


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "ask.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n", "utf-8")
    return path


@pytest.fixture
def train(window, press, idle, tmp_path, qtbot):
    """A window with the iris sample, a median of forests chosen, and a folder to release into."""
    press(window, "sample_iris")
    idle(window)
    window.session.set_target("petal_width")
    press(window, "tab_train")
    choose_model(window, "median-forest")
    retype(window, qtbot, "train_folder", str(tmp_path / "model"))
    retype(window, qtbot, "train_epsilon", "0.5")
    return window


def choose_file(window, press, monkeypatch, path):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    press(window, "train_median_forest_ask_choose")


def fact(window, name):
    return window.findChild(QLabel, f"fact_{name}")


def test_the_cost_of_all_predictions_stands_there_before_it_is_charged(
    train, press, idle, qtbot, answer, tmp_path, asked, monkeypatch
):
    problem = train.findChild(QLabel, "train_problem")
    qtbot.waitUntil(problem.isVisible)
    assert "each prediction costs" in problem.text()
    assert not train.page.primary.isEnabled()
    choose_file(train, press, monkeypatch, asked)
    assert train.findChild(QLineEdit, "train_median_forest_ask").text() == str(asked)
    qtbot.waitUntil(lambda: train.page.primary.isEnabled())
    assert fact(train, "cost").text() == "ε = 1.5"
    assert fact(train, "made_of").text() == "3 predictions × ε 0.5 = 1.5"
    questions = answer("yes")
    press(train, "train_start")
    idle(train)
    idle(train)
    assert "(3 predictions × ε 0.5 = 1.5)" in questions[0]
    assert verify_release(tmp_path / "model") == []
    assert train.session.account.spent == Decimal("1.5")
    choose_model(train, "forest-regression")
    qtbot.waitUntil(lambda: not fact(train, "made_of").isVisible())


def test_rows_that_were_added_after_the_cost_was_shown_are_not_charged(
    train, press, idle, qtbot, answer, tmp_path, asked, monkeypatch
):
    choose_file(train, press, monkeypatch, asked)
    qtbot.waitUntil(lambda: train.page.primary.isEnabled())
    asked.write_text("\n".join([HEADER, *ROWS, "4.9,3.1,1.5,setosa"]) + "\n", "utf-8")
    answer("yes")
    press(train, "train_start")
    idle(train)
    idle(train)
    assert not (tmp_path / "model").exists()
    with Ledger.open() as book:
        assert [release.status for release in book.releases()] == []
    heard = [label.text() for label in train.findChildren(QLabel)]
    assert any("the cost has changed since it was shown" in text.lower() for text in heard)


def test_the_form_says_what_epsilon_is_of(train):
    titles = [label.text() for label in train.page.forms.findChildren(QLabel)]
    assert "cost of each prediction, ε" in titles
    assert train.findChild(QPushButton, "train_median_forest_ask_choose").isVisible()


def test_utility_says_so_too(train, press):
    press(train, "tab_utility")
    model, epsilons = train.findChild(QWidget, "curve_model"), train.findChild(QLineEdit, "curve_epsilons")
    assert "for each prediction" not in epsilons.toolTip()
    model.setCurrentIndex(model.findData("median-forest"))
    assert "of the private model for each prediction" in epsilons.toolTip()
