"""The Attack page: an attack on a release of the open table, beside a guess, other people and what ε allows."""

import tomllib

import numpy as np
import polars as pl
import pytest
from mishaps import retype, text_of
from PySide6.QtWidgets import QFileDialog, QLabel, QTableView, QWidget

from workbench.cli import main
from workbench.data.samples.sample_tables import sample_table
from workbench.gui.pages.attack.page import Attacked, allowed_words
from workbench.gui.widgets.basic import PRIVATE, area_around
from workbench.gui.widgets.path_field import PathField
from workbench.params import InputError
from workbench.release.attack_inputs import hold_out
from workbench.risk import attacks
from workbench.risk.attacks.bound import Guarantee
from workbench.risk.attacks.outcome import Outcome, Rate, percent

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
def released(tmp_path_factory):
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
def people(window, idle, finish, released):
    window.session.open_asked.emit(str(released / "people.csv"))
    idle(window)
    finish(window, "tab_attack")
    return window


def choose(window: QWidget, name: str) -> None:
    page = window.page
    page.attack.setCurrentIndex(page.attack.findData(name))


def test_attacks_are_said_drawn_kept_and_aimed_and_a_copy_has_no_bound(
    people, qtbot, finish, released, press, idle, tmp_path
):
    # Every attack has a form.
    for known in attacks.ATTACKS:
        choose(people, known.name)
        assert people.page.form.value() is not None or known.name == "link"

    # A short form is not scrolled.
    choose(people, "inference")
    choose(people, "membership")
    area = area_around(people.page.findChild(QWidget, "attack_setup"))
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)

    # An attack is said drawn and kept.
    page = people.page
    choose(people, "inference")
    assert page.primary.text() == "Release →"
    page.form.choose(released / "out.csv")
    page.findChild(PathField, "attack_inference_control").choose(str(released / "others.csv"))
    assert page.primary.isEnabled()
    finish(people, "attack_run")
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

    # A copy has no bound and says why.
    page = people.page
    choose(people, "singling-out")
    retype(people, qtbot, "attack_form_singling-out_attacks", "100")
    page.form.choose(released / "people.csv")
    finish(people, "attack_run")
    assert "with the release 100.0 %" in text_of(people, "attack_said")
    assert "no certificate" in text_of(people, "attack_words")
    assert "not corrected" in text_of(people, "attack_words")
    assert "allowed" not in page.chart.accessibleName()

    # What is aimed at is the target of every attack on it.
    people.session.to_attack.make(released / "out.csv")
    for name in ("inference", "singling-out", "link"):
        choose(people, name)
        assert people.page.form.given()["release"] == released / "out.csv"
    choose(people, "membership")
    assert "model" not in people.page.form.given()

    # A release is attacked from its card.
    people.session.to_attack.make(tmp_path / "else.csv")
    assert people.page.form.target == "else.csv"
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "card.json").write_text("{}", "utf-8")
    people.session.to_attack.make(tmp_path / "model")
    assert people.page.form.attack.name == "membership"
    assert people.page.form.target == "model"
    choose(people, "inference")

    # A release that is open is not its own original.
    people.page.form.choose(released / "out.csv")
    assert people.page.primary.isEnabled()
    people.session.open_asked.emit(str(released / "out.csv"))
    idle(people)
    finish(people, "tab_attack")
    assert people.page.primary.text() == "Data →"
    assert not people.page.findChild(QWidget, "attack_report").isVisible()
    said = people.findChild(QWidget, "note_attack").accessibleName()
    assert said == "The open table is the release itself. Open the original table first: Data."


@pytest.mark.parametrize(
    ("attack", "button", "page"), [("inference", "Release →", "page_ways"), ("membership", "Train →", "page_train")]
)
def test_without_a_release_the_highlighted_button_leads_to_where_one_is_made(
    window, finish, press, attack, button, page
):
    finish(window, "sample_iris")
    finish(window, "tab_attack")
    choose(window, attack)
    lead = window.page.primary
    assert (lead.text(), lead.property("look"), lead.isEnabled()) == (button, "primary", True)
    assert "no release to attack yet" in text_of(window, "note_attack")
    press(window, "attack_run")
    assert window.page.objectName() == page


def test_without_the_original_the_highlighted_button_leads_to_data(window, finish, press, released):
    finish(window, "tab_attack")
    choose(window, "inference")
    window.page.form.choose(released / "out.csv")
    assert window.page.primary.text() == "Data →"
    press(window, "attack_run")
    assert window.page.objectName() == "page_data"


@pytest.mark.parametrize("share", [0.615, 0.9997, 0.999994, 1.0])
def test_what_is_allowed_is_the_figure_of_the_sentence(share):
    assert float(allowed_words(share).split()[0]) == float(percent(share).split()[0])


def test_two_files_are_linked_by_a_noisy_release(people, finish, released, qtbot):
    page = people.page
    choose(people, "linkability")
    page.form.choose(released / "out.csv")
    page.findChild(PathField, "attack_linkability_control").choose(str(released / "others.csv"))
    retype(people, qtbot, "attack_form_linkability_known", "age")
    retype(people, qtbot, "attack_form_linkability_others", "income,label")
    retype(people, qtbot, "attack_form_linkability_attacks", "500")
    finish(people, "attack_run")
    view = page.findChild(QTableView, "attack_outcomes").model()
    cells = [str(view.index(0, at).data()) for at in range(view.columnCount())]
    assert cells[:2] == ["Linkability", "out.csv"]
    guess, right, allowed = (float(cell.split()[0]) for cell in (cells[2], cells[3], cells[-1]))
    # Of 1,000 rows at ε = 3 about one person in ten is linked, as by a guess; above 60 of 100 falls one run in 10^100.
    assert 0 < guess < 60
    assert right < 60 < allowed < 100
    assert "ε = 3 allows at most" in text_of(people, "attack_said")


def test_what_is_missing_is_said_and_a_generated_sample_needs_no_table(window, finish, qtbot):
    # What is missing is said.
    finish(window, "tab_attack")
    for known in attacks.ATTACKS:
        choose(window, known.name)
        leads = window.page.primary.text() != "Attack"
        assert leads is any(needed.required for needed in known.given), known.name
        assert window.page.primary.isEnabled()

    # A generated sample needs no table and is not private.
    finish(window, "tab_attack")
    choose(window, "traces")
    retype(window, qtbot, "attack_form_traces_people", "1000")
    finish(window, "attack_run")
    assert "4 points of a trace" in text_of(window, "attack_said")
    assert not window.page._badge.isVisible()


def test_cancel_stops_an_attack(people, press, idle, released, qtbot, standstill):
    choose(people, "linkability")
    people.page.form.choose(released / "out.csv")
    press(people, "attack_run")
    qtbot.waitUntil(lambda: people.page.running)
    press(people, "attack_cancel")
    standstill.go_on()
    idle(people)
    assert not any(run.kind == "attack" for run in people.session.runs)


def test_releases_of_the_ledger_are_listed(window, finish, tmp_path):
    pl.DataFrame({"label": ["no", "yes"] * 20}).write_csv(tmp_path / "t.csv")
    plan = 'version = 1\nepsilon = 1\n[[column]]\nname = "label"\nkind = "category"\ndomain = ["no", "yes"]\n'
    (tmp_path / "p.toml").write_text(f'{plan}mechanism = "grr"\n', "utf-8")
    assert (
        main(
            ["sanitize", str(tmp_path / "t.csv"), "--plan", str(tmp_path / "p.toml"), "-o", str(tmp_path / "mine.csv")]
        )
        == 0
    )
    finish(window, "tab_attack")
    assert window.page.form.target == "mine.csv"


def test_before_an_attack_its_form_has_the_room_that_no_outcome_needs(people, qtbot):
    """At 150 % the fields of an attack were cut beside an empty card."""
    choose(people, "inference")
    people.theme.set_scale(150)
    people.resize(1280, 800)
    setup, found = (people.page.findChild(QWidget, name) for name in ("attack_setup", "attack_result"))
    area = area_around(setup)
    try:
        qtbot.waitUntil(lambda: setup.height() >= setup.minimumSizeHint().height() > 300)
        qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
        # With an outcome the page is scrolled to that, and no field is cut.
        chance = Rate(0.5, 0.5, 0.5)
        outcome = Outcome(attack="inference", main=chance, naive=chance, guarantee=Guarantee())
        people.page._take(Attacked("Inference", "out.csv", outcome))
        qtbot.waitUntil(lambda: area.verticalScrollBar().value() == area.verticalScrollBar().maximum() > 0)
        assert setup.height() >= setup.minimumSizeHint().height()
        qtbot.waitUntil(lambda: found.visibleRegion().boundingRect().bottom() == found.rect().bottom())
    finally:
        people.theme.set_scale(100)


# -- A released model is attacked by clicks: from the list of releases to what an attacker knows of its members


def held_out_by_clicks(hands, monkeypatch, kept):
    hands.click("tab_attack")
    page = hands.window.page
    page.attack.setCurrentIndex(page.attack.findData("membership"))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(kept), ""))
    hands.answer("20")
    hands.finish("attack_hold_out")
    return page


def test_a_project_names_the_rows_that_were_held_out_and_no_other_table_has_them(hands, tmp_path, monkeypatch):
    kept, held, project = (tmp_path / name for name in ("kept.csv", "kept-held-out.csv", "kept.workbench.toml"))
    hands.finish("sample_iris")
    page, window = held_out_by_clicks(hands, monkeypatch, kept), hands.window
    assert page.form.given()["nonmembers"] == held
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(project), ""))
    window.project.save()
    hands.idle()
    assert tomllib.loads(project.read_text("utf-8"))["held_out"] == "kept-held-out.csv"
    window.open("sample:clinic")
    hands.idle()
    assert window.session.held_out == ""
    assert "nonmembers" not in page.form.given()
    window.open(str(project))
    hands.idle()
    assert window.session.held_out == str(held)
    assert page.form.given()["nonmembers"] == held
    assert not window.project.unsaved


def test_rows_are_held_out_and_a_model_of_the_rest_is_attacked_with_them(hands, tmp_path, monkeypatch):
    kept, held = tmp_path / "kept.csv", tmp_path / "kept-held-out.csv"
    hands.finish("sample_iris")
    hands.window.session.edit_column("species", "Role", role="target")
    declared = hands.window.session.plan.columns
    page = held_out_by_clicks(hands, monkeypatch, kept)
    parts = [pl.read_csv(path, infer_schema=False) for path in (kept, held)]
    assert [part.height for part in parts] == [120, 30]
    assert pl.concat(parts).sort(pl.all()).equals(sample_table("iris").frame.sort(pl.all()))
    session = hands.window.session
    assert session.opened.source == str(kept)
    assert session.plan.columns == declared, "the plan stays"
    hands.click("tab_train")
    hands.type_into("train_folder", str(tmp_path / "model"))
    hands.until(lambda: hands.window.page.primary.isEnabled())
    hands.answer("yes")
    hands.click("train_start")
    hands.until(lambda: bool(session.released))
    hands.idle()
    hands.finish("tab_attack")
    assert page.form.given()["nonmembers"] == held
    page.form.choose(tmp_path / "model")
    hands.until(lambda: page.primary.isEnabled())
    hands.click("attack_run")
    hands.until(lambda: page.outcomes.lines.height() == 1)
    hands.idle()
    figures = session.runs[-1].result.outcome.figures
    assert figures["epsilon_lower"] <= float(session.released[-1].epsilon)
    assert figures["auc_low"] < figures["allowed_figures"]["auc"]


def test_too_few_rows_are_not_divided(tmp_path):
    with pytest.raises(InputError, match="too few"):
        hold_out(sample_table("clinic"), 10, tmp_path / "a.csv", tmp_path / "b.csv", np.random.default_rng(0))
    assert not list(tmp_path.iterdir())
    (tmp_path / "b.csv").write_text("of another day", "utf-8")
    with pytest.raises(InputError, match="exists"):
        hold_out(sample_table("iris"), 10, tmp_path / "a.csv", tmp_path / "b.csv", np.random.default_rng(0))


def test_a_listed_model_leads_to_its_attack_with_the_open_table_as_members(trained, tmp_path):
    hands = trained
    hands.finish("tab_released")
    hands.finish("shown_release_attack")
    page = hands.window.page
    assert page.objectName() == "page_attack"
    assert page.attack.currentData() == "membership"
    assert page.form.target == "model"
    assert page.form.missing() == (
        "Choose rows of other people, who were not used; or hold out part of the open table, and release or train "
        "on the rest."
    )
    others = tmp_path / "others.csv"
    sample_table("iris").frame.write_csv(others)  # the members themselves: an attacker finds nothing
    hands.type_into("attack_membership_nonmembers", str(others))
    hands.until(lambda: page.primary.isEnabled())
    hands.click("attack_run")
    hands.until(lambda: page.outcomes.lines.height() == 1)
    hands.idle()
    assert "lower bound on ε" in hands.text("attack_words")
    done = hands.window.session.runs[-1].result.outcome
    assert "whether a person was in the" in done.words()[0]
    assert done.figures["epsilon_lower"] == 0
