"""The expected accuracy on the Train page: asked for by a click, simulated without a private row, and never charged."""

import pickle
import time
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton

pytest.importorskip("torch")

from workbench.data.images.image_reader import ImageOptions
from workbench.data.images.image_set import ImageSet
from workbench.deep.networks import network as network_of
from workbench.gui.pages.train.tasks import ImageRows, TableRows, first_plan
from workbench.gui.session.session import OpenImages
from workbench.jobs import network
from workbench.params import InputError
from workbench.release.ledger.ledger import Ledger
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken

PLAN = Plan.from_plain(
    {
        "epsilon": 1.0,
        "column": [
            {"name": "age", "kind": "integer", "lower": 0, "upper": 120, "mechanism": "staircase"},
            {"name": "city", "kind": "category", "domain": ["Graz", "Linz"], "mechanism": "grr"},
        ],
    }
)


class Untouchable:
    """Rows that fail whoever looks at them."""

    def __getattribute__(self, name):
        raise AssertionError(f"a private row was looked at ({name})")


def said(window):
    found = window.findChild(QLabel, "train_expected_told")
    return found.text().replace("\n", " ") if found.isVisible() else ""


@pytest.fixture
def network_page(window, press, load, tmp_path, qtbot, monkeypatch):
    """The Train page with a small network, on a file that is gone by then; simulations run in this process."""
    monkeypatch.setattr(network, "expect_accuracy", network.expect_here)
    source = tmp_path / "towns.csv"
    lines = [f"{i % 90},{'yes' if i % 3 else 'no'}" for i in range(300)]
    source.write_text("\n".join(["age,label", *lines]) + "\n", "utf-8")
    load(window, source)
    session = window.session
    session.edit_column("age", "declare age", lower=0.0, upper=100.0)
    session.edit_column("label", "declare label", domain=("no", "yes"))
    session.edit("confirm what was guessed", session.plan.confirmed())
    session.set_target("label")
    source.unlink()
    press(window, "tab_train")
    press(window, "train_model_logistic")
    for key, text in (("epochs", "2"), ("batch", "30"), ("noise", "2"), ("epsilon", "")):
        field = window.findChild(QLineEdit, "train_epsilon" if key == "epsilon" else f"train_logistic_{key}")
        field.selectAll()
        qtbot.keyClicks(field, text) if text else field.clear()
    qtbot.waitUntil(lambda: window.findChild(QPushButton, "train_expect").isEnabled())
    return window


def test_a_click_simulates_without_the_file_and_an_edit_takes_the_answer_away(network_page, press, idle, qtbot):
    assert said(network_page) == ""
    press(network_page, "train_expect")
    assert network_page.findChild(QPushButton, "train_expect").text() == "Stop"
    idle(network_page)
    assert said(network_page).startswith("About ")
    assert "on simulated rows of this shape" in said(network_page)
    assert "50 % by chance. No private row was read." in said(network_page)
    assert "may be easier or harder" in network_page.findChild(QLabel, "train_expected_told").toolTip()
    with Ledger.read() as book:
        assert not book.releases()
    field = network_page.findChild(QLineEdit, "train_logistic_epochs")
    qtbot.keyClicks(field, "0")
    assert said(network_page) == ""


def test_it_is_stopped_and_a_refusal_is_one_sentence(network_page, finish, press, qtbot, monkeypatch):
    def slow(task, emit, cancel):
        while not cancel.cancelled:
            time.sleep(0.01)
        cancel.check()

    monkeypatch.setattr(network, "expect_accuracy", slow)
    press(network_page, "train_expect")
    assert "made-up rows…" in said(network_page)
    finish(network_page, "train_expect")
    assert said(network_page) == ""

    def refuse(task, emit, cancel):
        raise InputError("the expected accuracy cannot be estimated: too slow", hint="train")

    monkeypatch.setattr(network, "expect_accuracy", refuse)
    finish(network_page, "train_expect")
    assert "The expected accuracy cannot be estimated: too slow" in said(network_page)
    press(network_page, "train_model_naive-bayes")
    assert not network_page.findChild(QPushButton, "train_expect").isVisible()


def test_of_a_table_its_number_of_rows_alone_is_in_the_simulation():
    plan = first_plan(network_of("logistic"), 100, Decimal(1))
    task = TableRows(Untouchable(), PLAN, "city", 100).expectation(plan, None)
    assert task.rows == 100
    assert b"Untouchable" not in pickle.dumps(task)
    task = replace(task, plan=replace(plan, epsilon=None, noise=2.0, epochs=2))
    found = network.expect_here(task, lambda event: None, CancelToken())
    assert found[0].startswith("About ")


def test_a_plan_that_was_guessed_from_the_rows_is_refused():
    raw = PLAN.to_plain()
    raw["column"][0]["origin"] = "guess"
    plan = first_plan(network_of("logistic"), 100, Decimal(1))
    with pytest.raises(InputError, match="age"):
        TableRows(Untouchable(), Plan.from_plain(raw), "city", 100).expectation(plan, None)


def test_facts_that_were_taken_from_the_rows_are_told(monkeypatch):
    raw = PLAN.to_plain()
    raw["column"][0]["bounds_origin"] = "data"
    plan = replace(first_plan(network_of("logistic"), 100, Decimal(1)), epsilon=None, noise=2.0, epochs=2)
    task = TableRows(Untouchable(), Plan.from_plain(raw), "city", 100).expectation(plan, None)
    assert task.from_rows
    brief, *_, last = network.expect_here(task, lambda event: None, CancelToken())
    assert "uses facts that were taken from the private rows" in brief
    assert "settings chosen by this result reveal more about the rows" in last
    taken = ImageSet.of(np.zeros((40, 1, 8, 8), np.uint8), np.arange(40) % 2, ("a", "b"), "made", taken="names")
    images = ImageRows(OpenImages(taken, "made", ImageOptions()), None)
    assert images.expectation(first_plan(network_of("logistic"), 40, Decimal(1), images=True), None).from_rows


def test_of_images_number_shape_and_classes_alone_are_in_the_simulation():
    plan = first_plan(network_of("logistic"), 40, Decimal(1), images=True)

    def task(brightness):
        pixels = np.full((40, 1, 8, 8), brightness, np.uint8)
        images = ImageSet.of(pixels, np.arange(40) % 2, ("a", "b"), "made")
        return ImageRows(OpenImages(images, "made", ImageOptions()), None).expectation(plan, None)

    assert pickle.dumps(task(3)) == pickle.dumps(task(200))
    assert len(pickle.dumps(task(3))) < 40 * 64
