"""Lines of the review of the window that no other test holds: caps in few digits, a suggested target, one row."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hands import go_to
from mishaps import retype
from PySide6.QtWidgets import QLabel, QPushButton
from test_words_in_sight import texts

from workbench.gui.session.account_task import read_account
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger.ledger import Ledger

ODD = Decimal("0.999284")


def test_a_cap_of_odd_digits_is_read_in_four_and_raised_to_four(people, press, idle, answer, qtbot, tmp_path):
    with Ledger.open() as book:
        dataset = people.session.account.dataset
        book.set_cap(dataset, ODD)
        cost = Cost(Decimal("0.123456"), Decimal(0), PureDp(Decimal("0.123456"), "sanitised table"))
        book.charge(book.reserve(dataset, cost, work="sanitize", details={"output": "/x/a.csv"}))
    read_account(people.session, people.jobs)
    idle(people)
    for page in ("ledger", "rows"):
        press(people, f"tab_{page}")
        idle(people)
        in_sight = [part.text() for part in people.findChildren(QLabel) if part.isVisible()]
        assert not [text for text in in_sight if "0.999284" in text or "0.875828" in text], page
    retype(people, qtbot, "release_target", tmp_path / "out.csv")
    assert people.findChild(QPushButton, "release_onward").text() == "Raise the cap…"
    said = answer("yes")
    press(people, "release_onward")
    qtbot.waitUntil(lambda: people.session.account.cap == Decimal("1.124"))
    assert "may cost ε = 0.9992, of which 0.8758 remain" in said[0]
    assert "so it needs a cap of ε = 1.124 or more" in said[0]


@pytest.mark.parametrize("name", ["Outcome", "churn", "Survived", "default", "diagnosis"])
def test_a_model_is_offered_of_the_column_that_is_named_like_an_outcome(hands, tmp_path, name):
    path = tmp_path / "cases.csv"
    path.write_text(f"age,weight,{name}\n" + "".join(f"{20 + i % 40},{i % 7},{i % 2}\n" for i in range(300)), "utf-8")
    hands.drop(path)
    hands.click("ask_model")
    assert hands.window.session.questions.target == name
    assert hands.see("ask_target").currentText() == name


def test_no_figure_of_the_risk_of_one_row_speaks_of_1_rows(hands, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("age,town,ill\n" + "30,a,0\n30,b,1\n" * 20 + "31,b,0\n", "utf-8")
    hands.drop(path)
    hands.idle()
    go_to(hands.window, "risk")
    for name in ("age", "town"):
        hands.click_cell("risk_columns", name, "Known")
        hands.idle()
    said = list(texts(hands.window))
    assert "1 row" in said
    assert not [text for text in said if re.search(r"(?<![\d,.])1 rows", text)]
