"""What a release is worth is said where it is decided, asked and done; earlier releases are not forgotten."""

from decimal import Decimal
from pathlib import Path

import pytest
from mishaps import text_in_sight
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QWidget

from workbench.gui.widgets import release_card
from workbench.release.ledger.ledger import Ledger


@pytest.fixture
def release_into(window, at_release, release):
    """Release into a file and return what was asked."""

    def release_into(target: Path) -> list[str]:
        at_release(target)
        return release()

    return release_into


def highlighted(window) -> list[str]:
    shown = [b for b in window.page.findChildren(QAbstractButton) if b.isVisible()]
    return [b.objectName() for b in shown if b.property("look") == "primary"]


def test_the_people_sample_opens_with_a_plan_that_is_not_noise(window, hands):
    hands.finish("sample_people")
    assert window.session.plan.epsilon == 3
    assert "leaves out zip" in window.statusBar().currentMessage()
    hands.finish("tab_rows")
    assert text_in_sight(window, "release_learn").startswith("A recipient can learn the mean of age to ± ")
    assert "; shares of sex to ± " in text_in_sight(window, "release_learn")
    assert not hands.sees("release_noise")
    window.menus.actions["reload"].trigger()
    hands.idle()
    assert window.session.plan.column("age").purpose == "statistics"
    assert window.session.plan.epsilon == 3


def test_what_is_mostly_noise_is_said_on_the_page_in_the_question_and_after(
    people, release_into, press, finish, tmp_path
):
    plan = people.session.plan
    people.session.edit("values", plan.with_columns({c.name: {"purpose": "values"} for c in plan.columns}))
    told = release_into(tmp_path / "out.csv")
    noise = text_in_sight(people, "release_noise")
    assert noise.startswith("⚠ Mostly noise: age, zip and income.")
    assert "synthetic rows, statistics or a model instead" in noise
    assert "more ε" not in noise
    assert "Mostly noise: age" in told[0]
    assert "A recipient can learn" in told[0]
    press(people, "release_to_protect")
    assert people.page.objectName() == "page_protect"
    finish(people, "tab_released")
    assert "Mostly noise: age" in text_in_sight(people, "shown_release_worth")


def test_where_most_of_it_is_noise_the_highlighted_button_pays_nothing(people, at_release, idle, finish):
    people.session.set_epsilon(Decimal("0.01"))
    at_release()
    assert highlighted(people) == ["release_to_ways"]
    assert people.findChild(QAbstractButton, "release_now").isEnabled()
    people.session.set_epsilon(Decimal(1))
    idle(people)
    assert highlighted(people) == ["release_now"]
    people.session.set_epsilon(Decimal("0.01"))
    idle(people)
    finish(people, "release_to_ways")
    assert people.page.objectName() == "page_ways"


@pytest.mark.parametrize("way", ["statistics", "synthetic"])
def test_where_a_release_answers_nothing_that_is_asked_the_highlighted_button_pays_nothing(people, finish, idle, way):
    people.session.set_epsilon(Decimal("0.001"))
    finish(people, f"tab_{way}")
    assert highlighted(people) == ["release_to_ways"]
    people.session.set_epsilon(Decimal(1))
    idle(people)
    assert highlighted(people) == ["release_now"]


def test_what_was_released_before_is_listed_in_the_room_released_alone(
    people, at_release, release_into, load, finish, tmp_path
):
    target = tmp_path / "out.csv"
    release_into(target)
    people.session.may_leave = lambda then: True
    load(people, "sample:iris")
    at_release()
    assert highlighted(people) == ["release_to_ways"]  # most of iris would be noise
    load(people, "sample:people")
    at_release()
    assert people.session.released == ()
    # The cap is spent: the ledger would refuse, so nothing blue pays.
    assert highlighted(people) == ["release_onward"]
    assert text_in_sight(people, "fact_left") == "ε 1"
    assert people.findChild(QLabel, "fact_left").accessibleName() == "short for this plan: ε 1"
    finish(people, "tab_released")
    assert people.findChild(QLabel, "shown_release_file").accessibleName() == str(target)
    finish(people, "shown_release_verify")
    assert text_in_sight(people, "shown_release_result").startswith("✓")


def test_what_will_be_published_is_in_sight_again_after_a_release(people, release_into, idle, press, tmp_path):
    release_into(tmp_path / "out.csv")
    area = people.findChild(QWidget, "release_area")
    people.session.set_epsilon(Decimal("0.5"))
    idle(people)
    assert area.verticalScrollBar().value() == 0


def test_a_release_is_suggested_where_the_last_one_went_and_not_beside_the_raw_table(
    window, at_release, release_into, load, tmp_path
):
    raw, mine = tmp_path / "raw", tmp_path / "mine"
    raw.mkdir(), mine.mkdir()
    (raw / "two.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(50)))
    load(window, "sample:people")
    release_into(mine / "out.csv")
    window.session.may_leave = lambda then: True
    load(window, raw / "two.csv")
    at_release()
    assert window.findChild(QLineEdit, "release_target").text() == str(mine / "two-released.csv")


def test_a_folder_that_no_program_opens_is_named(people, release_into, press, finish, tmp_path, monkeypatch):
    monkeypatch.setattr(release_card.QDesktopServices, "openUrl", lambda url: False)  # a system without a file manager
    release_into(tmp_path / "out.csv")
    finish(people, "tab_released")
    press(people, "shown_release_folder")
    assert str(tmp_path) in text_in_sight(people, "shown_release_result")


def test_a_release_whose_file_was_moved_says_so(people, release_into, load, finish, tmp_path):
    target = tmp_path / "out.csv"
    release_into(target)
    target.unlink()
    people.session.may_leave = lambda then: True
    load(people, "sample:iris")
    load(people, "sample:people")
    finish(people, "tab_released")
    assert "is no longer there" in text_in_sight(people, "shown_release_gone")
    with Ledger.open() as book:
        assert [r.status for r in book.releases()] == ["charged"]
