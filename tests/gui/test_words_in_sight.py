"""What a newcomer must not have to point at: roles, neighbours, fields, names of persons, and where a file will go."""

import re
from collections.abc import Iterator
from pathlib import Path

from comparisons import add, card, charged, study
from mishaps import retype
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit, QTableView, QWidget

from workbench.deep.networks import NETWORKS
from workbench.gui.widgets.declared_facts import ColumnsCard
from workbench.gui.widgets.path_field import PathField
from workbench.learners import LEARNERS

TABLE = "attribute_table"
SURNAMES = ("Abel", "Berg", "Cole", "Diaz", "Ekman", "Fuchs", "Gallo", "Haas", "Ivars", "Jung", "Kern", "Lund")


def test_the_card_says_what_the_role_of_the_attribute_means(hands):
    hands.finish("sample_people")
    hands.click("tab_data")
    hands.click_cell(TABLE, "age", "Attribute")
    assert "it may single a person out" in hands.text("detail_role")
    hands.pick(TABLE, "age", "Role", "sensitive")
    assert hands.text("detail_role").startswith("Sensitive: ")
    hands.click_cell(TABLE, "id", "Attribute")
    assert "best dropped" in hands.text("detail_role")


def test_surnames_that_repeat_are_suspected_and_dropped_by_a_click_only(hands, tmp_path):
    path = tmp_path / "patients.csv"
    rows = "".join(f"{SURNAMES[i % len(SURNAMES)]},{20 + i % 50}\n" for i in range(120))
    path.write_text(f"surname,age\n{rows}", "utf-8")
    hands.drop(path)
    assert hands.cell("question_columns", "surname", "") == "names of persons"
    column = hands.window.session.plan.column("surname")
    assert (column.action, column.role, column.unconfirmed) == ("drop", "identifier", ("action",)), (
        "a person confirms it"
    )
    hands.click_cell("question_columns", "surname", "Needed")
    hands.click("tab_data")
    assert hands.window.session.plan.column("surname").protected
    hands.click_cell(TABLE, "surname", "Attribute")
    told = hands.window.findChild(QLabel, "suspicion_0").accessibleName()
    assert told == "⚠ The column name suggests names of people, some of them in several rows."
    hands.click("suspicion_accept_0")
    column = hands.window.session.plan.column("surname")
    assert (column.action, column.role) == ("drop", "identifier")


def test_the_cost_says_what_zero_out_and_replace_one_compare(people, finish):
    finish(people, "tab_rows")
    card = people.findChild(QWidget, "release_cost")
    assert card.findChild(QLabel, "release_compared").isVisible()
    names = [card.findChild(QLabel, f"fact_{key}").accessibleName() for key in ("zero_out", "replace_one")]
    assert names == ["blanked (zero-out): ε 1", "replaced (replace-one): ε 1"]


def test_a_field_of_training_is_explained_to_keys_and_pointer_with_what_is_usual(people, press, qtbot):
    press(people, "tab_train")
    press(people, "train_model_naive-bayes")
    told = people.findChild(QLabel, "train_help")
    assert told.text() == "Point at a field to read what it means."
    field = people.findChild(QLineEdit, "train_naive_bayes_mean_spread")
    field.setFocus()
    qtbot.waitUntil(lambda: "half the width of the bounds" in told.text())
    assert told.text().endswith("Usually 0.4.")
    assert told.isVisible()
    qtbot.keyClick(field, Qt.Key.Key_Tab)
    qtbot.waitUntil(lambda: told.text().endswith("Usually 0.04."))
    retype(people, qtbot, "train_naive_bayes_count_share", "2")
    problem = people.findChild(QLabel, "train_naive_bayes_count_share_problem")
    assert problem.text().startswith("share of class sizes ")
    press(people, "train_model_logistic-regression")
    people.findChild(QComboBox, "train_logistic_regression_weights_from").setFocus()
    qtbot.waitUntil(lambda: told.text().endswith("Usually by ε and rows."))  # as the list calls it, not the command


def test_bounds_are_read_in_groups_of_thousands(people):
    card = ColumnsCard(people.session, "declared")
    card.follow()
    model = card.findChild(QTableView, "declared").model()
    assert "0 to 150,000" in [model.index(at, 2).data() for at in range(model.rowCount())]


def test_the_preview_leads_to_the_decision(people, finish, press):
    finish(people, "tab_preview")
    press(people, "to_decide")
    assert people.page.objectName() == "page_ways"


def test_a_long_path_shows_both_its_ends_until_it_is_edited(qtbot):
    field = PathField("place", "A place", "Where it goes")
    other = QLineEdit()
    holder = QWidget()
    for at, part in enumerate((field, other)):
        part.setParent(holder)
        part.setGeometry(0, 40 * at, 260, 32)
    qtbot.addWidget(holder)
    holder.show()
    holder.activateWindow()
    other.setFocus()
    qtbot.waitUntil(other.hasFocus)
    path = str(Path("/srv") / "departments" / "statistics" / "a year of it" / "patients-released.csv")
    field.setText(path)
    assert "…" in field.shown()
    assert field.shown().startswith("/srv")
    assert field.shown().endswith("released.csv")
    assert field.toolTip().startswith(path)
    narrow = holder.grab().toImage()
    field.setFocus()
    qtbot.waitUntil(lambda: field.shown() == path)
    assert holder.grab().toImage() != narrow
    field.setText("/srv/short.csv")
    other.setFocus()
    qtbot.waitUntil(other.hasFocus)
    assert field.shown() == "/srv/short.csv"


def test_a_name_that_is_taken_is_not_suggested_and_one_that_was_typed_stays(hands, tmp_path):
    path = tmp_path / "town.csv"
    path.write_text("age,town\n" + "".join(f"{20 + i % 40},{'ab'[i % 2]}\n" for i in range(300)), "utf-8")
    for taken in ("town-released.csv", "town-released-2.csv"):
        (Path.home() / taken).write_text("taken", "utf-8")  # not beside the raw table
    hands.drop(path)
    hands.finish("tab_rows")
    assert Path(hands.see("release_target").text()) == Path.home() / "town-released-3.csv"
    hands.type_into("release_target", str(tmp_path / "mine.csv"))
    hands.window.session.set_epsilon(hands.window.session.plan.epsilon * 2)
    hands.idle()
    assert Path(hands.see("release_target").text()) == tmp_path / "mine.csv"


NAMES = {entry.name for entry in (*LEARNERS, *NETWORKS)}
"""What commands and files call the models; a person reads their titles."""


def texts(window: QWidget) -> Iterator[str]:
    """Every text in sight, and what is in lists and tables."""
    for part in window.findChildren(QWidget):
        if part.isVisible():
            yield part.accessibleName()
            yield part.toolTip()
            if isinstance(part, QLabel | QAbstractButton):
                yield part.text()
            elif isinstance(part, QComboBox):
                yield from map(part.itemText, range(part.count()))
            elif isinstance(part, QTableView):
                rows, columns = range(part.model().rowCount()), range(part.model().columnCount())
                yield from (str(part.model().index(r, c).data() or "") for r in rows for c in columns)


def raw_names(window: QWidget) -> list[str]:
    """The texts that have the name of a model in place of its title; names of files may be made of it."""
    long = re.compile("|".join(rf"(?<![\w/-]){name}(?![\w-])" for name in NAMES if "-" in name))
    return [text for text in texts(window) if text in NAMES or long.search(text)]


def test_models_are_called_by_their_titles_on_every_page(people, finish, press, qtbot, tmp_path):
    charged(tmp_path / "one", {**card(0.9), "model": "cifar-cnn"}, work="dpsgd")
    charged(tmp_path / "two", card(), work="fit naive-bayes")
    for model in ("naive-bayes", "random-forest", "boosted-trees"):
        add(people, study(model), "people")
    press(people, "tab_train")
    for name in sorted(NAMES):
        people.page.forms.choose(name)
        assert raw_names(people) == [], name
    for page in list(people.rail.pages):
        finish(people, f"tab_{page}")
        assert raw_names(people) == [], page
        if page == "memory":
            retype(people, qtbot, "memory_batches", "32,64")
            for network in NETWORKS:
                people.findChild(QAbstractButton, f"memory_network_{network.name}").setChecked(network.name == "mlp")
            finish(people, "memory_run")
            assert raw_names(people) == [], "the study of memory"
        if page == "predict":
            finish(people, "predict_learn")
            assert raw_names(people) == [], "a model of a release"
