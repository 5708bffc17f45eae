"""Decide: what recipients will see by each way; nothing is read or charged but by a question and a private draw."""

from decimal import Decimal

import pytest
from fits import misfits
from hands import CTRL, LEFT, Hands
from mishaps import statuses, text_of
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractScrollArea, QLabel, QPushButton, QWidget

from workbench import learners
from workbench.deep import networks
from workbench.gui.pages import way_marks
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import Card
from workbench.gui.widgets.way_bar import ways
from workbench.release import kinds
from workbench.release.verification import verify_any
from workbench.sanitize.intended_use import NAMES

TABLE = "decide_table"
MEAN, MODEL = "The mean of age", "A model of label"


@pytest.fixture
def hands(people, qtbot):
    hands = Hands(people, qtbot)
    hands.finish("tab_ways")
    return hands


def column(hands: Hands, words: str) -> str:
    """The whole heading of a way, as it is now."""
    model = hands.table(TABLE).model()
    return next(t for t in (hands.heading(c) for c in range(model.columnCount())) if words in t)


def cell(hands: Hands, question: str, way: str) -> str:
    return hands.cell(TABLE, question, column(hands, way))


def do(hands: Hands, question: str, action: str) -> None:
    """Trigger an entry of the menu of a row."""
    hands.click_cell(TABLE, question, "Question")
    hands.table(TABLE).findChild(QAction, action).trigger()
    hands.idle()


def test_without_a_table_the_page_says_what_to_do(window, press):
    press(window, "tab_ways")
    assert "Open a table" in text_of(window, "ways_nothing_why")
    assert window.page._note.text() == ""  # it is said once, in the middle of the page
    nothing = window.page.findChild(QWidget, "ways_nothing")
    assert nothing.mapTo(window.page, nothing.rect().topLeft()).y() < window.page.height() / 6
    press(window, "ways_nothing_go")
    assert window.page.objectName() == "page_data"


def test_every_question_has_a_row_and_every_way_a_column_and_what_is_asked_last_is_marked(hands):
    # Every question has a row and every way a column with marks.
    assert misfits(hands.window) == []
    assert isinstance(hands.table(TABLE).parentWidget(), Card), "it has the border that other tables have"
    assert column(hands, "Synthetic") == "● Synthetic ★"
    assert column(hands, "Noisy") == "○ Noisy"
    assert cell(hands, MEAN, "Statistics").startswith("± ")
    assert cell(hands, MEAN, "Statistics").endswith("✓")
    assert cell(hands, MODEL, "Statistics") == "–"
    assert cell(hands, MODEL, "Synthetic").endswith(" % kept ✓"), "not an accuracy, which Curves measures on the rows"
    assert hands.cell(TABLE, MEAN, "truth") == ""
    assert "mostly noise" in hands.text("ways_reason") or "hide" in hands.text("ways_reason")
    assert statuses() == []

    # The example of one more question is of the columns that leave and is taken as it stands.
    session, more = hands.window.session, hands.see("ways_more")
    for dropped, example in (((), "correlation(age, income) ± 0.1"), (("income",), "mean(age) ± 2")):
        session.edit("drop", session.plan.with_columns({name: {"action": "drop"} for name in dropped}))
        assert more.placeholderText() == f"Ask one more: {example}"
        hands.type_into("ways_more", example)
        hands.key(Qt.Key.Key_Return)
        assert not hands.sees("ways_refused")
        hands.idle()
    session.undo_stack.setIndex(0)
    hands.idle()

    # One more question is typed and any pair can be asked.
    table, session = hands.table(TABLE).model(), hands.window.session
    before = table.rowCount()
    hands.type_into("ways_more", "correlation(age, incom) ± 0.2")
    hands.key(Qt.Key.Key_Return)
    assert "incom" in hands.text("ways_refused")
    assert "income" in hands.text("ways_refused"), "the name that was meant"
    assert table.rowCount() == before
    hands.type_into("ways_more", "correlation(age, income) ± 0.2")
    hands.key(Qt.Key.Key_Return)
    hands.idle()
    assert not hands.sees("ways_refused")
    assert hands.see("ways_more").text() == ""
    assert table.rowCount() == before + 1
    assert cell(hands, "The correlation of age and income", "Noisy")[0] in "±–"
    assert "The correlation of age and income" in hands.text("ways_least"), "the least ε of a new wish is looked for"
    hands.see("ways_more").setFocus()
    hands.key(Qt.Key.Key_Z, CTRL)  # the question, not the text of the field
    hands.idle()
    assert table.rowCount() == before
    assert hands.see("ways_more").text() == ""
    session.undo_stack.setIndex(0)
    hands.idle()

    # Columns that nobody needs are dropped from the menu and the rest is nearer.
    before = cell(hands, MEAN, "Noisy")
    do(hands, "The mean of income", "decide_drop")
    assert hands.window.session.plan.column("income").action == "drop"
    assert "The mean of income" not in [hands.table(TABLE).model().index(r, 0).data() for r in range(9)]
    assert cell(hands, MEAN, "Noisy") != before
    hands.window.session.undo_stack.setIndex(0)
    hands.idle()

    # A margin far below what is asked for has no exponent.
    hands.type_into("ways_epsilon_field", "100")
    hands.idle()
    model = hands.table(TABLE).model()
    cells = [model.index(row, at).data() or "" for row in range(model.rowCount()) for at in range(model.columnCount())]
    assert not [text for text in cells if "e-" in text]
    assert any("± <0.01 %" in text for text in cells)
    hands.window.session.undo_stack.setIndex(0)
    hands.idle()

    # What is mostly noise is not highlighted.
    hands.type_into("ways_epsilon_field", "0.1")
    hands.idle()
    hands.choose_way("Noisy")
    hands.idle()
    page = hands.window.page
    assert hands.see("ways_release").property("look") != "primary"
    assert page.primary.objectName() in ("ways_better", "ways_to_questions"), "what is highlighted leads on"
    assert "mostly noise" in hands.see("note_ways").accessibleName() or "mostly noise" in hands.see("note_ways").text()

    # A model leads to models.
    hands.choose_way("Model")
    assert hands.see("ways_release").text() == "Train →"
    hands.click("ways_release")
    assert hands.window.page.objectName() == "page_train"


def test_a_heading_sorts_the_questions_and_a_way_that_is_chosen_keeps_their_order(hands):
    view = hands.table(TABLE)
    heads = view.horizontalHeader()
    asked = [view.model().index(row, 0).data() for row in range(view.model().rowCount())]
    shown = lambda: [asked[view.verticalHeader().logicalIndex(row)] for row in range(len(asked))]  # noqa: E731
    assert shown() == asked
    hands.qtbot.mouseClick(heads.viewport(), LEFT, pos=QPoint(12, heads.height() // 2))
    assert shown() == sorted(asked, key=str.casefold) != asked
    hands.choose_way("Noisy")
    hands.idle()
    assert shown() == sorted(asked, key=str.casefold)


def test_the_rows_are_there_with_grey_marks_until_they_are_known(people, press, qtbot, standstill):
    standstill.go_on()
    hands = Hands(people, qtbot)
    hands.idle()
    standstill.stop()
    press(people, "tab_ways")
    assert hands.table(TABLE).model().rowCount() > 3
    assert cell(hands, MEAN, "Synthetic") == "…"
    assert text_of(people, "ways_reason").startswith("Working out")
    assert hands.sees("ways_release")
    standstill.go_on()
    hands.idle()
    assert cell(hands, MEAN, "Synthetic").startswith("± ")


def test_another_epsilon_has_no_old_mark_and_a_count_at_each_is_offered(hands):
    hands.click("tab_questions")
    hands.click("who_us")
    hands.finish("tab_ways")
    before = cell(hands, MEAN, "Noisy")
    hands.type_into("ways_epsilon_field", "0.01")
    assert cell(hands, MEAN, "Noisy") in ("…", "± 10 ✗") or cell(hands, MEAN, "Noisy") != before
    hands.idle()
    assert hands.window.session.plan.epsilon == Decimal("0.01")
    assert cell(hands, MEAN, "Noisy").endswith("✗")
    assert "✓" in hands.window.findChild(QPushButton, "ways_at_3").text()
    hands.finish("ways_at_3")
    assert hands.window.session.plan.epsilon == 3
    assert not hands.sees("ways_further"), "at first the page says what to do, and why"
    hands.click("ways_unfold")
    assert hands.text("ways_further").endswith("ε = 1 answers as many.")
    hands.type_into("ways_epsilon_field", "0.5")
    hands.choose_way("Statistics")
    hands.idle()
    assert "At ε = 1: synthetic rows, " in hands.text("ways_further")
    hands.click("ways_unfold")
    assert not hands.sees("ways_further")


def test_a_wish_is_typed_in_its_row_and_the_epsilon_that_gives_it_is_offered(hands):
    hands.click("tab_questions")
    hands.click("who_us")
    hands.finish("tab_ways")
    hands.choose_way("Noisy")
    hands.type_in_cell(TABLE, MEAN, "within", "4")
    hands.idle()
    assert hands.cell(TABLE, MEAN, "within") == "± 4"
    assert "mean(age) ± 4" in hands.window.session.questions.asked.wishes
    assert cell(hands, MEAN, "Noisy").endswith("✗")
    assert cell(hands, MEAN, "Statistics").endswith("✓")
    assert "at least ε = " in hands.text("ways_least")
    assert "for noisy rows" in hands.text("ways_least")
    hands.finish("ways_take_least")
    assert cell(hands, MEAN, "Noisy").endswith("✓")
    hands.type_in_cell(TABLE, MEAN, "within", "many")
    assert "'many' is not a margin" in hands.text("ways_refused")
    hands.type_in_cell(TABLE, MEAN, "within", "0.0000001")
    hands.idle()
    assert "no ε up to 50 is enough for noisy rows" in hands.text("ways_least")
    hands.type_in_cell(TABLE, MEAN, "within", " ")
    hands.idle()
    assert hands.window.session.questions.asked.wishes == ()


def test_another_way_that_answers_is_offered_at_no_less_epsilon(hands):
    hands.type_into("ways_epsilon_field", "20")
    hands.choose_way("Statistics")
    hands.idle()
    assert cell(hands, MODEL, "Synthetic").endswith("✓")
    assert hands.text("ways_least").endswith(" for synthetic rows.")
    assert hands.see("ways_take_least").text() == "Use synthetic rows"
    hands.finish("ways_take_least")
    assert hands.window.session.way == "synthetic"
    assert hands.window.session.plan.epsilon == 20


def test_what_all_wishes_need_together_is_shown_with_its_split(hands):
    hands.choose_way("Statistics")
    assert not hands.sees("ways_solved")
    hands.type_in_cell(TABLE, MEAN, "within", "4")
    hands.type_into("ways_more", "median(age) ± 5")
    hands.key(Qt.Key.Key_Return)
    hands.idle()
    told = hands.text("ways_solved")
    assert "your wishes alone by statistics needs ε = " in told
    assert "mean(age) " in told
    assert "median(age) " in told
    hands.choose_way("Noisy")
    hands.idle()
    assert hands.text("ways_solved").startswith("Not possible by noisy rows: ")
    session = hands.window.session
    session.undo_stack.undo()
    session.undo_stack.undo()
    hands.idle()
    assert not hands.sees("ways_solved")


def test_the_truth_is_a_private_draw_that_the_ledger_notes_first(hands, answer, qtbot):
    hands.click("ways_truth")
    qtbot.waitUntil(lambda: hands.sees("ways_cancel"))
    qtbot.keyClick(hands.window.page, Qt.Key.Key_Escape)
    hands.idle()
    assert hands.cell(TABLE, MEAN, "truth") == ""
    hands.finish("ways_truth")
    truth = float(hands.cell(TABLE, MEAN, "truth"))
    assert 18 < truth < 98
    seen = cell(hands, MEAN, "Statistics")
    # 95 % is ± 0.43, Laplace noise of scale 0.14: a false alarm of 2e-9.
    assert abs(float(seen.split(" ±")[0]) - truth) < 3
    assert hands.cell(TABLE, MODEL, "truth").startswith(".")
    badges = [b for b in hands.window.page.findChildren(QLabel) if "NOT FOR RELEASE" in b.text().upper()]
    assert [b.isVisible() for b in badges] == [True]
    assert "Private figures of these rows were shown before" in hands.text("ways_outside")
    assert hands.window.session.account.seen
    hands.type_into("ways_epsilon_field", "1.5")
    hands.idle()
    assert hands.cell(TABLE, MEAN, "truth") == ""  # it was of another plan
    assert statuses() == []


def test_release_asks_once_and_names_what_is_not_answered(hands, tmp_path):
    hands.type_into("ways_epsilon_field", "1")
    hands.idle()
    hands.choose_way("Statistics")
    hands.finish("tab_statistics")
    target = tmp_path / "figures.csv"
    hands.type_into("release_target", str(target))
    hands.finish("tab_ways")
    asked = hands.answer("yes")
    hands.click("ways_release")
    hands.until(lambda: hands.sees("release_onward"))
    hands.idle()
    focused = hands.window.focusWidget()
    assert focused is not None
    assert focused.objectName() == "release_onward", "the keyboard is on what leads on"
    assert "✗ Relations between columns are not available: age, label, income." in asked[0]
    assert "✗ A model of label cannot be trained on it." in asked[0]
    assert "charges ε = 1 " in asked[0]
    assert len(asked) == 1
    assert statuses() == ["charged"]
    assert verify_any(target) == []
    assert hands.window.page.objectName() == "page_release"
    hands.finish("tab_ways")
    assert (hands.window.page.primary.text(), hands.see("ways_release").text()) == ("Released →", "Release again…")
    hands.click("ways_released")
    assert hands.window.page.objectName() == "page_released"


def test_the_question_repeats_that_more_than_is_offered_to_anyone_is_released(hands, tmp_path):
    hands.click("tab_questions")
    hands.click("who_anyone")
    hands.click("tab_ways")
    hands.type_into("ways_epsilon_field", "100")
    hands.idle()
    high = hands.text("budget_warning")
    assert "is high" in high
    assert hands.window.page.primary.objectName() == "ways_to_questions", "who gets it is answered there"
    hands.choose_way("Statistics")
    hands.finish("tab_statistics")
    hands.type_into("release_target", str(tmp_path / "figures.csv"))
    asked = hands.answer("no")
    hands.click("release_now")
    hands.until(lambda: bool(asked))
    hands.idle()
    assert high in asked[0]
    assert "ε up to 1." in asked[0]
    assert asked[0].count("⚠") == 1, "it is said once"
    assert hands.window.page.primary is not hands.see("release_now")
    assert statuses() == []


def test_each_way_is_offered_once_and_only_if_it_costs_the_epsilon_of_the_plan():
    assert [name for name, _words, _tip in ways()] == ["rows", "synthetic", "statistics", "model"]


def test_a_kind_that_is_only_a_line_in_its_list_is_a_way_with_a_form_a_cost_and_a_release(
    monkeypatch, people, qtbot, tmp_path
):
    import toy_kind

    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, toy_kind.TOY))
    hands = Hands(people, qtbot)
    hands.finish("tab_ways")
    assert cell(hands, MEAN, "Counts") == "–"
    hands.choose_way("Counts")
    hands.finish("ways_settings")
    hands.type_into("counting_form_column", "age")
    hands.idle()
    assert hands.text("release_epsilon") == "ε = 1"
    target = tmp_path / "count.csv"
    hands.type_into("release_target", str(target))
    hands.finish("tab_ways")
    asked = hands.answer("yes")
    hands.click("ways_release")
    hands.until(lambda: hands.sees("release_onward"))
    hands.idle()
    assert "writes counts to count.csv" in asked[0]
    assert target.read_text("utf-8").startswith("rows\n")
    assert verify_any(target) == []
    assert statuses() == ["charged"]


def sideways(hands: Hands) -> list[str]:
    """Return what of the page is scrolled sideways."""
    areas = [a for a in hands.window.page.findChildren(QAbstractScrollArea) if a.isVisible()]
    return [a.objectName() for a in areas if a.horizontalScrollBar().maximum() > 0]


@pytest.mark.parametrize("percent", [100, 130, 150])
def test_nothing_is_scrolled_sideways_however_large_the_text(hands, percent):
    hands.window.resize(1280, 800)
    hands.window.theme.set_scale(percent)
    hands.idle()
    hands.until(lambda: sideways(hands) == [])
    table = hands.table(TABLE)
    # Questions differ in sight, once the rail has given way.
    hands.until(lambda: table.columnWidth(0) > table.fontMetrics().horizontalAdvance("How income goes"))
    private_figures.agree(hands.window.session)
    hands.finish("ways_truth")
    hands.until(lambda: sideways(hands) == [])
    assert table.columnWidth(0) > table.fontMetrics().horizontalAdvance("How income"), "beside the truth, too"
    shown = column(hands, "Synthetic").replace("\n", " ")
    assert shown in ("● Synthetic ★", "● ★ Synthetic")
    hands.click("tab_train")
    for model in (*learners.LEARNERS, *networks.NETWORKS):
        hands.window.page.forms.choose(model.name)
        hands.idle()
        assert sideways(hands) == [], model.name
    hands.window.theme.set_scale(100)


def test_the_least_epsilon_of_a_wish_is_of_a_way_that_answers_it(hands):
    """It was looked for before it was known which ways do, and synthetic rows were said to need more than any ε."""
    hands.click("tab_questions")
    hands.type_into("wishes", "mean(income by sex) ± 5000")
    hands.key(Qt.Key.Key_Return)
    hands.finish("tab_ways")
    assert cell(hands, "The mean of income by sex", "Synthetic") == "–"
    hands.until(lambda: hands.sees("ways_least"))
    told = hands.text("ways_least")
    assert told.startswith("The mean of income by sex within ± 5000: at least ε = ")
    assert told.endswith(" for statistics.")


def test_a_median_shows_the_margin_it_is_marked_by(hands):
    answer_questions(hands, "named", "figures")
    assert cell(hands, "The median of age", "within").startswith("± ")


def answer_questions(hands: Hands, who: str, *asks: str) -> None:
    """Answer who gets it and what they will ask of it by clicks, and come back."""
    hands.click("tab_questions")
    hands.click(f"who_{who}")
    for name in NAMES:
        if (name in hands.window.session.questions.asks) != (name in asks):
            hands.click(f"ask_{name}")
    hands.finish("tab_ways")


def test_a_model_that_is_asked_for_is_advised_and_what_it_leaves_out_is_a_second_release(hands):
    answer_questions(hands, "named", "figures", "model")
    hands.type_into("ways_epsilon_field", "3")
    hands.idle()
    assert [mark[-1] for mark in (cell(hands, q, "Statistics") for q in ("The median of age", MODEL))] == ["✓", "–"]
    assert column(hands, "Model").endswith("★"), "although statistics answer more questions"
    said = hands.text("ways_reason")
    assert said.endswith("statistics do not give a model of label; a model does not give exact figures.")
    hands.click("ways_unfold")
    said = hands.text("ways_further")
    assert "A second release of statistics would add: exact figures. Together they cost ε = 6; at ε = 1.5 each" in said
    assert hands.see("ways_second").text() == "Second release: statistics"
    hands.finish("ways_second")
    assert hands.window.session.way == "statistics"
    assert "A second release could be a model of label." in hands.text("ways_further")
    assert hands.see("ways_second").text() == "Second release: a model"
    asked = hands.answer("no")
    hands.click("ways_release")
    hands.until(lambda: bool(asked))
    hands.idle()
    assert "To release a model of label as well, enter 6: it costs as much." in asked[0]
    assert "✗ A model of label cannot be trained on it." in asked[0]


def test_no_link_offers_more_than_those_who_get_it_are_offered(hands):
    answer_questions(hands, "anyone", "averages")
    assert not hands.window.findChild(QPushButton, "ways_at_3").isEnabled()
    assert hands.see("ways_at_0_5").isEnabled()
    hands.choose_way("Synthetic")
    hands.type_in_cell(TABLE, MEAN, "within", "0.9")
    hands.idle()
    said = hands.text("ways_least")
    assert "The mean of age within ± 0.9: no ε up to 1, the most that is offered, is enough for synthetic rows" in said
    assert said.endswith("What helps: drop columns, choose statistics, change who gets it, leave this question out.")
    hands.finish("ways_take_least")
    assert hands.window.page.objectName() == "page_questions"
    assert hands.window.session.plan.epsilon == 1
    answer_questions(hands, "us", "averages")
    assert hands.window.findChild(QPushButton, "ways_at_3").isEnabled()
    assert "at least ε = " in hands.text("ways_least")
    hands.finish("ways_take_least")
    assert 1 < hands.window.session.plan.epsilon <= 10


def test_settings_highlights_no_release_that_answers_nothing_and_compares_nothing_that_decide_has(hands, monkeypatch):
    """Noisy rows need not be mostly noise for that; what Decide found out is not worked out again for it."""
    window, session = hands.window, hands.window.session
    session.answer("ask", recipient="named", asks=("averages", "pairs"))
    session.set_epsilon(Decimal(3))
    hands.idle()
    compared = []
    own = way_marks._compared
    monkeypatch.setattr(way_marks, "_compared", lambda *given, **more: (compared.append(more), own(*given, **more))[1])
    hands.choose_way("Noisy")
    noisy = way_marks.Marks.of(session, window.jobs).own
    assert not noisy.warning
    assert noisy.useful == 0
    assert window.page.primary.objectName() == "ways_better"
    hands.finish("tab_release")
    assert window.page.primary.objectName() == "release_to_ways"
    assert compared == []

    # Another ε is compared once, and roughly; Decide has the rest to find out.
    hands.finish("release_way_synthetic")
    assert window.page.primary.objectName() == "release_now"
    session.set_epsilon(Decimal("2.5"))
    hands.idle()
    assert compared == [{"fine": False}]
    hands.finish("tab_ways")
    assert compared == [{"fine": False}, {"fine": True}]


def test_what_is_found_out_later_moves_neither_the_rows_nor_the_field(hands, qtbot):
    def places() -> list[int]:
        parts = hands.see(TABLE), hands.see("ways_more")
        return [part.mapTo(hands.window.page, QPoint(0, 0)).y() for part in parts]

    assert not hands.sees("ways_least")
    before = places()
    hands.window.session.set_epsilon(Decimal("0.05"))
    qtbot.wait(100)
    assert places() == before
    hands.idle()
    qtbot.wait(100)
    assert hands.sees("ways_least")
    assert "may help" in hands.text("ways_reason")
    assert places() == before
