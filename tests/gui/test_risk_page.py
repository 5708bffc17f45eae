"""Risk: ticks and what follows from them at once, privately; a release has no badge."""

import re

import pytest
from hands import Hands, go_to
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLineEdit

from workbench.gui.pages.risk.page import TITLES_OF_MORE
from workbench.gui.session.generalise_draft import GeneraliseDraft
from workbench.gui.style.language import tr_sentence
from workbench.gui.widgets import private_figures, report_button
from workbench.release.ledger.ledger import Ledger
from workbench.risk import measures
from workbench.risk.hierarchies.builders import Tree
from workbench.risk.measures import Line, Measure

COLUMNS = "risk_columns"
ROWS = "age,town,ill\n" + "30,H,flu\n" * 2 + "30,H,cold\n40,D,flu\n50,H,flu\n" + "60,D,flu\n" * 4


@pytest.fixture
def hands(window, qtbot, tmp_path):
    """Hands at Risk, with a small table open."""
    (tmp_path / "ill.csv").write_text(ROWS, "utf-8")
    window.activateWindow()
    person = Hands(window, qtbot)
    person.drop(tmp_path / "ill.csv")
    person.idle()
    go_to(window, "risk")
    return person


def figures(hands: Hands) -> dict[str, str]:
    view = hands.table("risk_figures").model()
    return {view.index(at, 0).data(): view.index(at, 1).data() for at in range(view.rowCount())}


def tick(hands: Hands, column: str, heading: str = "Known") -> None:
    hands.click_cell(COLUMNS, column, heading)
    hands.idle()


def choose(hands: Hands, name: str, words: str) -> None:
    found = hands.see(name)
    assert isinstance(found, QComboBox)
    found.setCurrentText(words)
    hands.idle()


def test_figures_follow_each_tick_at_once(hands, monkeypatch, tmp_path):
    assert hands.text("risk_said").startswith("Tick what an outsider may know")
    assert hands.text("risk_what").startswith("Shown here: how many rows are unique")
    tick(hands, "age")
    assert hands.text("risk_said") == "2 of 9 rows are unique by these columns (22.22 %); the smallest class has 1 row."
    hands.click_cell(COLUMNS, "ill", "Sensitive")
    assert hands.text("risk_said").startswith("These figures are for the columns that were ticked before")
    hands.idle()
    assert figures(hands)["distinct values of ill (distinct ℓ)"] == "1"
    assert figures(hands)["smallest class (k)"] == "1"
    tick(hands, "age")
    tick(hands, "town")
    assert hands.text("risk_said").startswith("0 of 9 rows are unique")
    roles = {c.name: c.role for c in hands.window.session.plan.columns}
    assert (roles["town"], roles["ill"]) == ("quasi-identifier", "sensitive")
    hands.window.session.undo_stack.undo()
    hands.idle()
    assert hands.text("risk_said").startswith("Tick what")
    tick(hands, "age")
    assert hands.text("risk_said").startswith("2 of 9")
    hands.window.session.edit_column("age", "codes", missing_codes=("40", "50"))
    hands.idle()
    assert hands.text("risk_said").startswith("0 of 9")
    monkeypatch.setattr(report_button, "ask_where_to_save", lambda *_: str(tmp_path / "r.html"))
    hands.finish("risk_report")
    assert "0 of 9 rows of the table are unique" in (tmp_path / "r.html").read_text("utf-8")


def test_unique_rows_their_reasons_and_smaller_samples_follow_ticks_by_click_and_key(hands):
    # A search that is stopped can be asked for again.
    tick(hands, "age")
    tick(hands, "age")  # nothing is asked any more
    assert not hands.sees("risk_figures")
    for stop in (hands.window.page.escape, hands.window.jobs.cancel_all):
        hands.click_cell(COLUMNS, "age", "Known")
        stop()
        hands.idle()
        assert not hands.sees("risk_figures")
        hands.finish("risk_run")
        assert figures(hands)["smallest class (k)"] == "1"
        tick(hands, "age")
    hands.window.session.undo_stack.setIndex(0)
    hands.idle()

    # A sample of a population has smaller risks.
    tick(hands, "age")
    field = hands.see("risk_fraction")
    assert isinstance(field, QLineEdit)
    field.setText("10")
    hands.idle()
    assert figures(hands)["people"] == "90"
    assert figures(hands)["highest, presence known (prosecutor)"] == "100 %"
    assert figures(hands)["highest, presence unknown (journalist)"] == "25.58 %"
    for wrong in ("ten", "0", "101", "nan"):
        field.setText(wrong)
        hands.idle()
        assert hands.text("risk_problem") == "The sample is a percentage above 0 and at most 100."
    hands.window.session.undo_stack.setIndex(0)
    hands.idle()

    # No term of the literature stands alone. Each figure, condition and heading says in plain words what it is; the
    # term is in brackets behind it.
    tick(hands, "age")
    tick(hands, "ill", "Sensitive")
    hands.idle()
    terms = re.compile(r"prosecutor|journalist|marketer|\b[kt]\b|ℓ|β|δ|-map|-closeness|-diversity")
    page = hands.window.page
    lines = page.figures.lines
    said = [lines.index(at, 0).data() for at in range(lines.rowCount())]
    assert sum(bool(terms.search(words)) for words in said) >= 10
    conditions = [tr_sentence(words) for words in TITLES_OF_MORE.values()]
    for words in (*said, *conditions):
        assert not terms.search(words.partition(" (")[0]), words
    area = page.figures.viewport().width()
    for at in range(lines.rowCount()):
        index = lines.index(at, 0)
        assert page.figures.sizeHintForIndex(index).width() <= page.figures.columnWidth(0) < area, index.data()
    hands.window.session.undo_stack.setIndex(0)
    hands.idle()

    # Who is unique and why.
    tick(hands, "age")
    tick(hands, "town")
    hands.click("risk_view_rows")
    rows = hands.table("risk_rows").model()
    assert [[rows.index(at, c).data() for c in range(4)] for at in range(rows.rowCount())] == [
        ["4", "40 · D", "1", "age"],
        ["5", "50 · H", "1", "age"],
    ]
    hands.click("risk_view_sets")
    sets = hands.table("risk_sets").model()
    assert [sets.index(0, c).data() for c in range(3)] == ["age", "2", "2"]
    assert hands.cell(COLUMNS, "age", "Adds") == "100 %"
    assert hands.cell(COLUMNS, "town", "Adds") == "0 %"
    assert hands.cell(COLUMNS, "age", "HIPAA") == "(C) dates"
    assert "ages over 89" in hands.index(COLUMNS, "age", "HIPAA").data(Qt.ItemDataRole.ToolTipRole)
    hands.window.session.undo_stack.setIndex(0)
    hands.idle()

    # Space ticks and the button leads on.
    hands.click_cell(COLUMNS, "town", "Column")
    hands.key(Qt.Key.Key_Space)
    hands.idle()
    assert hands.text("risk_said").startswith("0 of 9")
    hands.click("risk_generalise")
    assert hands.window.page.objectName() == "page_generalise"
    go_to(hands.window, "risk")
    hands.idle()
    hands.click("risk_run")
    assert hands.window.page.objectName() == "page_ways"


def test_threshold_distance_and_population_are_under_more(hands, tmp_path):
    tick(hands, "age")
    tick(hands, "ill", "Sensitive")
    assert not hands.sees("risk_more_threshold")
    hands.click("risk_fold")
    hands.type_into("risk_more_threshold", "0.3")
    hands.idle()
    assert figures(hands)["above 30 %, presence known (prosecutor)"] == "55.56 %"
    assert figures(hands)["largest distance of ill (t)"] == "0.2222"
    choose(hands, "risk_more_distance", "hierarchical")
    assert hands.text("risk_problem").startswith("The distance hierarchical needs a hierarchy of ill")
    way = Tree(groups=("any = flu | cold",))
    hands.window.session.draft_generalise(GeneraliseDraft(hierarchies={"ill": way}))
    hands.idle()
    assert figures(hands)["largest distance of ill (t)"] == "0.1111"
    choose(hands, "risk_more_distance", "equal")
    people = tmp_path / "everybody.csv"
    people.write_text(ROWS + "50,H,flu\n40,D,flu\n", "utf-8")
    hands.type_into("risk_more_population", "nowhere.csv")
    assert hands.text("risk_problem") == "There is no file nowhere.csv."
    hands.type_into("risk_more_population", str(people))
    hands.idle()
    assert figures(hands)["people"] == "11"
    assert figures(hands)["highest, presence unknown (journalist)"] == "50 %"
    hands.type_into("risk_fraction", "10")
    hands.idle()
    assert hands.text("risk_problem").startswith("The population is a table or the sample's share of it")
    with Ledger.read(None) as book:
        assert [one.study for one in book.figures()] == ["risk", "risk"]  # of the table, and of the population


def test_what_is_typed_and_chosen_is_taken_back_step_by_step(hands):
    tick(hands, "age")
    hands.click("risk_fold")
    hands.type_into("risk_more_threshold", "0.3")
    choose(hands, "risk_more_distance", "equal")
    hands.type_into("risk_more_recursive", "2")
    hands.type_into("risk_fraction", "10")
    hands.idle()
    stack, page = hands.window.session.undo_stack, hands.window.page
    words = [stack.text(at) for at in range(1, stack.count())]
    assert words == [
        "change rows above a risk of",
        "change distance by (for t)",
        "change none dominates (recursive c)",
        "change sample of the population",
    ]
    after, seen = page._state(), figures(hands)
    for _ in words:
        stack.undo()
        hands.idle()
    assert page._state() == {"population": "", "threshold": "0.2", "recursive": "3", "distance": "auto", "fraction": ""}
    assert "above 20 %, presence known (prosecutor)" in figures(hands)
    assert figures(hands)["people"] == "9"
    for _ in words:
        stack.redo()
        hands.idle()
    assert page._state() == after
    assert figures(hands) == seen


def test_a_measure_is_its_line_in_the_list(hands, monkeypatch):
    toy = Measure("toy", "A toy", "toy", lambda subject: {"toy": subject.rows}, lambda f: [Line("rows", str(f["toy"]))])
    monkeypatch.setattr(measures, "MEASURES", (*measures.MEASURES, toy))
    tick(hands, "age")
    assert (figures(hands)["A toy"], figures(hands)["rows"]) == ("", "9")


def test_the_first_figures_are_asked_about_and_noted(hands, monkeypatch):
    monkeypatch.setattr(private_figures, "is_first", lambda session: True)
    asked = []
    monkeypatch.setattr(private_figures, "may_show", lambda parent, session, **more: asked.append(1) or "shown")
    tick(hands, "age")
    tick(hands, "town")
    assert hands.text("risk_said") == "Who could be found by age and town?"
    tick(hands, "town")
    assert not hands.sees("risk_figures")  # nothing is measured before it is asked
    hands.finish("risk_run")
    assert asked == [1]
    assert figures(hands)["unique rows"] == "2 (22.22 %)"
    with Ledger.read(None) as book:
        assert [one.study for one in book.figures()] == ["risk"]
    assert hands.sees("risk_badge")


def test_figures_of_a_release_have_no_badge_and_are_not_noted(hands, tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.release.described_release.is_release", lambda table: True)
    monkeypatch.setattr(private_figures, "is_first", lambda session: True)
    (tmp_path / "out.csv").write_text(ROWS, "utf-8")
    hands.drop(tmp_path / "out.csv")
    hands.idle()
    go_to(hands.window, "risk")
    tick(hands, "age")
    assert figures(hands)["smallest class (k)"] == "1"
    assert not hands.sees("risk_badge")
    with Ledger.read(None) as book:
        assert book.figures() == []
