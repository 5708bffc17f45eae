"""The Attack page: an attack on a release of the open table, beside a guess, other people and what ε allows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from mishaps import retype, text_of
from PySide6.QtWidgets import QLabel, QTableView, QWidget

from workbench.cli import main
from workbench.data.samples.sample_tables import sample_table
from workbench.gui.widgets.basic import PRIVATE
from workbench.gui.widgets.path_field import PathField
from workbench.risk import attacks

PLAN = """version = 1
epsilon = 3
[[column]]
name = "age"
kind = "integer"
lower = 18
upper = 100
mechanism = "staircase"
[[column]]
name = "income"
kind = "integer"
lower = 0
upper = 200000
cells = 101
mechanism = "staircase"
[[column]]
name = "label"
kind = "category"
domain = ["no", "yes"]
mechanism = "grr"
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of half of the people, and the others in a file of their own."""
    folder = tmp_path_factory.mktemp("attack")
    frame = sample_table("people").frame.select("age", "income", "label")
    frame[:1000].write_csv(folder / "people.csv")
    frame[1000:].write_csv(folder / "others.csv")
    (folder / "plan.toml").write_text(PLAN, "utf-8")
    words = ["sanitize", str(folder / "people.csv"), "--plan", str(folder / "plan.toml"), "-o", str(folder / "out.csv")]
    assert main([*words, "--ledger", str(folder / "l.sqlite")]) == 0
    return folder


@pytest.fixture
def people(window, idle, press, released):
    window.session.open_asked.emit(str(released / "people.csv"))
    idle(window)
    press(window, "tab_attack")
    idle(window)
    return window


def choose(window: QWidget, name: str) -> None:
    page = window.page
    page.attack.setCurrentIndex(page.attack.findData(name))


def test_an_attack_is_said_drawn_and_kept(people, press, idle, released):
    page = people.page
    choose(people, "inference")
    assert not page.primary.isEnabled()
    page.form.choose(released / "out.csv")
    page.findChild(PathField, "attack_inference_control").choose(str(released / "others.csv"))
    assert page.primary.isEnabled()
    press(people, "attack_run")
    idle(people)
    assert "ε = 3 allows at most" in text_of(people, "attack_said")
    assert "not released" in text_of(people, "attack_words")
    assert any(badge.isVisible() for badge in page.findChildren(QLabel) if badge.text() == PRIVATE)
    spoken = page.chart.accessibleName()
    assert "a guess" in spoken
    assert "allowed by ε" in spoken
    table = page.findChild(QTableView, "attack_outcomes")
    assert table.model().rowCount() == 1
    assert people.session.runs[-1].kind == "attack"
    assert people.session.account.seen


def test_two_files_are_linked_by_a_noisy_release(people, press, idle, released, qtbot):
    page = people.page
    choose(people, "linkability")
    page.form.choose(released / "out.csv")
    page.findChild(PathField, "attack_linkability_control").choose(str(released / "others.csv"))
    retype(people, qtbot, "attack_form_linkability_known", "age")
    retype(people, qtbot, "attack_form_linkability_others", "income,label")
    retype(people, qtbot, "attack_form_linkability_attacks", "500")
    press(people, "attack_run")
    idle(people)
    view = page.findChild(QTableView, "attack_outcomes").model()
    cells = [str(view.index(0, at).data()) for at in range(view.columnCount())]
    assert cells[:2] == ["Linkability", "out.csv"]
    guess, right, allowed = (float(cell.split()[0]) for cell in (cells[2], cells[3], cells[-1]))
    # Of 1,000 rows at ε = 3 about one person in ten is linked, as by a guess; above 60 of 100 falls one run in 10^100.
    assert 0 < guess < 60
    assert right < 60 < allowed < 100
    assert "ε = 3 allows at most" in text_of(people, "attack_said")


def test_a_copy_has_no_bound_and_says_why(people, press, idle, released):
    page = people.page
    choose(people, "singling-out")
    page.form.choose(released / "people.csv")
    press(people, "attack_run")
    idle(people)
    assert "with the release 100.0 %" in text_of(people, "attack_said")
    assert "no certificate" in text_of(people, "attack_words")
    assert "not corrected" in text_of(people, "attack_words")
    assert "allowed" not in page.chart.accessibleName()


def test_a_generated_sample_needs_no_table_and_is_not_private(window, press, idle):
    press(window, "tab_attack")
    idle(window)
    choose(window, "traces")
    press(window, "attack_run")
    idle(window)
    assert "4 points of a trace" in text_of(window, "attack_said")
    assert not window.page._badge.isVisible()


def test_what_is_missing_is_said(window, press, idle):
    press(window, "tab_attack")
    idle(window)
    for known in attacks.ATTACKS:
        choose(window, known.name)
        assert window.page.primary.isEnabled() is not any(needed.required for needed in known.given), known.name
    choose(window, "inference")
    assert "Choose" in text_of(window, "note_attack") or "Open" in text_of(window, "note_attack")


def test_cancel_stops_an_attack(people, press, idle, released, qtbot, standstill):
    choose(people, "linkability")
    people.page.form.choose(released / "out.csv")
    press(people, "attack_run")
    qtbot.waitUntil(lambda: people.page.running)
    press(people, "attack_cancel")
    standstill.go_on()
    idle(people)
    assert not any(run.kind == "attack" for run in people.session.runs)


def test_every_attack_has_a_form(people):
    for known in attacks.ATTACKS:
        choose(people, known.name)
        assert people.page.form.value() is not None or known.name == "link"


def test_releases_of_the_ledger_are_listed(window, press, idle, tmp_path):
    pl.DataFrame({"label": ["no", "yes"] * 20}).write_csv(tmp_path / "t.csv")
    plan = 'version = 1\nepsilon = 1\n[[column]]\nname = "label"\nkind = "category"\ndomain = ["no", "yes"]\n'
    (tmp_path / "p.toml").write_text(f'{plan}mechanism = "grr"\n', "utf-8")
    assert (
        main(
            ["sanitize", str(tmp_path / "t.csv"), "--plan", str(tmp_path / "p.toml"), "-o", str(tmp_path / "mine.csv")]
        )
        == 0
    )
    press(window, "tab_attack")
    idle(window)
    assert window.page.form.target == "mine.csv"


def test_a_release_is_attacked_from_its_card(people, press, idle, tmp_path):
    people.session.to_attack.make(tmp_path / "else.csv")
    assert people.page.form.target == "else.csv"
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "card.json").write_text("{}", "utf-8")
    people.session.to_attack.make(tmp_path / "model")
    assert people.page.form.attack.name == "membership"
    assert people.page.form.target == "model"


def test_what_is_aimed_at_is_the_target_of_every_attack_on_it(people, released):
    people.session.to_attack.make(released / "out.csv")
    for name in ("inference", "singling-out", "link"):
        choose(people, name)
        assert people.page.form.given()["release"] == released / "out.csv"
    choose(people, "membership")
    assert "model" not in people.page.form.given()


def test_a_short_form_is_not_scrolled(people, qtbot):
    choose(people, "inference")
    choose(people, "membership")
    area = people.page.findChild(QWidget, "attack_setup")
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
