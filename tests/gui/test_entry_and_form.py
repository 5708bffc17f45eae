"""The entry of ε, the derived form, and the explanation of ε."""

from dataclasses import dataclass
from decimal import Decimal

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit

from workbench.deep.plan import DpSgdPlan
from workbench.gui.widgets.basic import label, panel, stack
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.formatting import at_least, at_most, cap_beside, entered, exactly, plain, unbroken
from workbench.gui.widgets.parameter_form import Form
from workbench.learners import LEARNERS
from workbench.params import ParameterError, Parameters, boolean, choice, integer, real


@dataclass(frozen=True, kw_only=True)
class Training(Parameters):
    epsilon: float = real(default=3.0, at_least=1e-4, upto=100, symbol="ε", help="privacy loss")
    steps: int = integer(default=100, at_least=1, upto=1000, help="gradient steps")
    warm: int = integer(default=0, at_least=0, help="steps of warming up")
    network: str = choice(choices=("small", "large"), default="small", help="the network")
    shuffle: bool = boolean(default=True, help="whether rows are shuffled")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.warm > self.steps:
            raise ParameterError(f"warm = {self.warm} is above steps = {self.steps}")


@pytest.fixture
def entry(qtbot):
    made = PrivacyEntry("delta", Decimal("1e-12"), Decimal("0.1"), Decimal("1e-5"), symbol="δ")
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def form(qtbot):
    made = Form("training", Training)
    qtbot.addWidget(made)
    made.show()
    return made


def retype(qtbot, field, text):
    field.selectAll()
    qtbot.keyClicks(field, text)


def test_a_small_number_is_kept_as_it_was_typed(entry, qtbot):
    with qtbot.waitSignal(entry.value_changed) as told:
        retype(qtbot, entry.field, "1e-6")
    assert told.args == [Decimal("1e-6")]
    assert entry.field.text() == "1e-6"


@pytest.mark.parametrize("text", ["nan", "inf", "1e-13", "0", "-1", "0.2", "1,5", "1e-5e", "1e9999"])
def test_what_is_no_delta_is_refused_with_a_sentence_and_changes_nothing(entry, qtbot, text):
    retype(qtbot, entry.field, text)
    qtbot.keyClick(entry.field, Qt.Key.Key_Return)
    assert entry.value() in (Decimal("1e-5"), Decimal("0.1"), Decimal("1e-12"))
    assert not text or entry.problem().startswith("Write δ as a number from 1e-12 to 0.1")


@pytest.mark.parametrize("text", ["nan", "-5", "abc", "0.05x", "0,01,2", " "])
def test_a_refused_text_stays_with_its_reason_and_the_former_value_holds(entry, qtbot, text):
    retype(qtbot, entry.field, text)
    qtbot.keyClick(entry.field, Qt.Key.Key_Return)
    assert entry.field.text() == text
    assert entry.value() == Decimal("1e-5")
    assert entry.problem().endswith("δ = 1e-5 is still in force.")
    entry.set_value(Decimal("1e-5"))  # the page shows the same plan anew
    assert entry.field.text() == text
    entry.set_value(Decimal("1e-4"))  # undo
    assert (entry.field.text(), entry.problem()) == ("0.0001", "")


@pytest.mark.parametrize("text", ["", "0", "0.", "0.00", "1e", "1e-", "."])
def test_a_number_that_is_begun_is_refused_only_where_it_is_left(entry, qtbot, text):
    retype(qtbot, entry.field, f"{text}x")
    assert entry.problem()
    qtbot.keyClick(entry.field, Qt.Key.Key_Backspace)
    assert (entry.field.text(), entry.problem(), entry.value()) == (text, "", Decimal("1e-5"))
    qtbot.keyClick(entry.field, Qt.Key.Key_Return)
    assert entry.problem()


@pytest.mark.parametrize("begun", ["", "0", "0.", "1e"])
def test_a_number_that_is_begun_again_stays_where_the_page_follows(epsilon, qtbot, begun):
    """The page shows the value that is in force again; the digits that follow belong to what the person types."""
    epsilon.value_changed.connect(epsilon.set_value)
    retype(qtbot, epsilon.field, "2")
    retype(qtbot, epsilon.field, f"{begun}x")
    qtbot.keyClick(epsilon.field, Qt.Key.Key_Backspace)
    epsilon.set_value(epsilon.value())
    epsilon.retranslate()
    assert epsilon.field.text() == begun


def test_a_text_that_is_deleted_is_not_filled_in_while_the_person_types(epsilon, qtbot):
    epsilon.value_changed.connect(epsilon.set_value)
    retype(qtbot, epsilon.field, "2")
    qtbot.keyClick(epsilon.field, Qt.Key.Key_Backspace)
    qtbot.keyClicks(epsilon.field, "5")
    assert (epsilon.field.text(), epsilon.value()) == ("5", Decimal(5))


def test_the_reason_of_a_refused_text_moves_nothing_below(qtbot):
    """It lies on the nearest part of the page that has room for it, and goes with the field."""
    made, below = PrivacyEntry("epsilon", Decimal("1e-4"), Decimal(1000), Decimal(1)), QLineEdit()
    card = panel(stack(made))
    page = panel(stack(card, below, None))
    qtbot.addWidget(page)
    page.resize(600, 400)
    page.show()
    place = below.pos()
    retype(qtbot, made.field, "abc")
    reason = page.findChild(QLabel, "epsilon_problem")
    assert reason.isVisible()
    assert reason.parentWidget() is page
    assert reason.y() >= made.field.mapTo(page, made.field.rect().bottomLeft()).y()
    assert reason.width() <= page.width()
    assert below.pos() == place
    made.hide()
    assert not reason.isVisible()
    made.show()
    assert reason.isVisible()
    retype(qtbot, made.field, "2")
    assert not reason.isVisible()


def test_an_empty_field_is_refused_too(entry, qtbot):
    entry.field.selectAll()
    qtbot.keyClick(entry.field, Qt.Key.Key_Delete)
    qtbot.keyClick(entry.field, Qt.Key.Key_Return)
    assert "δ = 1e-5 is still in force" in entry.problem()


@pytest.fixture
def epsilon(qtbot):
    made = PrivacyEntry("epsilon", Decimal("1e-4"), Decimal(1000), Decimal(1000))
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_decimal_comma_is_read_and_written_as_a_point(epsilon, qtbot):
    retype(qtbot, epsilon.field, "4,5")
    qtbot.keyClick(epsilon.field, Qt.Key.Key_Return)
    assert (epsilon.value(), epsilon.field.text(), epsilon.problem()) == (Decimal("4.5"), "4.5", "")
    retype(qtbot, epsilon.field, "0,125")
    assert epsilon.value() == Decimal("0.125")


@pytest.mark.parametrize("text", ["1,000", "4,", "4,5,6", "1,234.5"])
def test_a_comma_that_may_mean_thousands_is_refused(epsilon, qtbot, text):
    retype(qtbot, epsilon.field, text)
    qtbot.keyClick(epsilon.field, Qt.Key.Key_Return)
    assert epsilon.value() == (4 if text == "4," else 1000)
    assert bool(epsilon.problem()) == (text != "4,")


def test_the_slider_moves_by_ratios_and_stays_in_range(entry, qtbot):
    qtbot.keyClick(entry.slider, Qt.Key.Key_Home)
    assert entry.value() == Decimal("1e-12")
    qtbot.keyClick(entry.slider, Qt.Key.Key_End)
    assert entry.value() == Decimal("0.1")
    qtbot.keyClick(entry.slider, Qt.Key.Key_PageDown)
    assert Decimal("0.02") < entry.value() < Decimal("0.05")


def test_setting_a_value_sends_no_signal(entry, qtbot):
    with qtbot.assertNotEmitted(entry.value_changed):
        entry.set_value(Decimal("1e-7"))
    assert entry.field.text() == "1e-7"


@pytest.mark.parametrize(
    ("value", "typed", "read"),
    [
        ("1", "1", "1"),
        ("0.50", "0.5", "0.5"),
        ("1E-6", "1e-6", "1e-6"),
        ("12.3456", "12.3456", "12.35"),
        ("1234567", "1234567", "1,234,567"),
        ("123456789012345678901", "1.23456789012345678901e20", "123,456,789,012,345,678,901"),
        ("1.2345E+30", "1.2345e30", "1.234e30"),
        ("-9.9999E+149", "-9.9999e149", "-1e150"),
        ("-0", "0", "0"),
        ("0E+3", "0", "0"),
        ("Infinity", "∞", "∞"),
        ("-Infinity", "-∞", "-∞"),
        ("NaN", "–", "–"),
    ],
)
def test_numbers_are_written_as_a_person_writes_them(value, typed, read):
    assert entered(Decimal(value)) == typed
    assert plain(Decimal(value)) == read


@pytest.mark.parametrize(
    ("epsilon", "paid", "left"),
    [
        ("3", "3", "3"),
        ("0", "0", "0"),
        ("12.34", "12.34", "12.34"),
        ("2.999565", "3", "2.999"),
        ("2.998721314", "2.999", "2.998"),
        ("0.00012345678", "0.0001235", "0.0001234"),
        ("9.99999999", "10", "9.999"),
    ],
)
def test_an_epsilon_is_never_shown_as_cheaper_nor_more_as_left(epsilon, paid, left):
    value = Decimal(epsilon)
    assert (at_most(value), at_least(value)) == (paid, left)
    assert Decimal(at_least(value)) <= value <= Decimal(at_most(value))
    assert exactly(value) == ("" if paid == epsilon else f" (exactly {entered(value)})")


def test_all_digits_are_written_however_many_there_are():
    for digits in ("1234567890123456789012345678901234567", "0.0000012345678901234567890123456789012345"):
        assert Decimal(entered(Decimal(digits))) == Decimal(digits)


def test_an_epsilon_without_bound_is_written_as_such():
    assert {at_most(Decimal("Infinity")), at_least(Decimal("Infinity")), at_most(float("inf"))} == {"∞"}
    assert exactly(Decimal("Infinity")) == ""
    assert at_most(float("nan")) == "–"


def test_a_form_holds_the_defaults_of_its_class(form):
    assert form.value() == Training()


def test_a_refused_field_shows_its_own_problem(form, qtbot):
    retype(qtbot, form.findChild(QLineEdit, "training_steps"), "many")
    assert form.value() is None
    problem = form.findChild(QLabel, "training_steps_problem")
    assert problem.isVisible()
    assert "a whole number" in problem.text()
    assert list(form.problems()) == ["steps"]


def test_millions_are_written_in_groups_and_read_in_those_of_any_language(qtbot):
    @dataclass(frozen=True, kw_only=True)
    class Many(Parameters):
        people: int = integer(default=10_000_000, at_least=1, help="people")

    made = Form("many", Many)
    qtbot.addWidget(made)
    field = made.findChild(QLineEdit, "many_people")
    assert field.text() == "10,000,000"
    for text in ("10,000,000", "10.000.000", "10\u202f000\u202f000", "10000000"):
        field.setText(text)
        assert made.value().people == 10_000_000, text
    retype(qtbot, field, "10.000")
    assert made.value() is None


def test_a_refused_combination_is_told_below_a_field_it_names(form, qtbot):
    retype(qtbot, form.findChild(QLineEdit, "training_warm"), "200")
    assert form.value() is None
    assert "warm = 200 is above steps = 100" in form.problems().values()


def test_an_edited_form_gives_the_new_parameters(form, qtbot):
    with qtbot.waitSignal(form.changed):
        retype(qtbot, form.findChild(QLineEdit, "training_steps"), "50")
    assert form.value() == Training(steps=50)
    form.set_value(Training(epsilon=0.5, network="large", shuffle=False))
    assert form.value() == Training(epsilon=0.5, network="large", shuffle=False)


def test_what_an_epsilon_means_is_told_in_numbers(people, press, qtbot):
    people.session.choose_way("rows")
    people.session.set_epsilon(Decimal("0.5"))
    press(people, "explain_plan")
    text = people.findChild(QLabel, "explain_text")
    assert text.isVisible()
    assert "at most 15.5 % sure" in text.text()
    qtbot.keyClick(people, Qt.Key.Key_Escape)
    assert not text.isVisible()


def test_a_high_epsilon_is_warned_of_and_a_low_one_is_not(people):
    warning = people.findChild(QLabel, "budget_warning")
    people.session.set_epsilon(Decimal("0.01"))
    assert not warning.isVisible()
    people.session.set_epsilon(Decimal(12))
    assert warning.isVisible()
    assert "ε = 12 is high" in warning.text()


def test_no_line_ends_between_a_figure_and_its_sign_or_unit(qtbot):
    wide = "This costs ε = 3, ± 26.8 for 45 % of 2,000 rows, in 22.0 GB; σ is no figure"
    assert unbroken(wide).replace("\u00a0", "~") == (
        "This costs ε~=~3, ±~26.8 for 45~% of 2,000~rows, in 22.0~GB; σ is no figure"
    )
    shown = label(wide, wrap=True)
    qtbot.addWidget(shown)
    assert shown.text() == wide
    assert QLabel.text(shown) == unbroken(wide)
    shown.setText("15.5 %")
    assert (shown.text(), QLabel.text(shown)) == ("15.5 %", "15.5\u00a0%")


def test_a_very_long_name_makes_no_window_wider(qtbot):
    """A name of sixty letters is broken at its joints; what is not longer than a line keeps them."""
    name = "a_rather_long_name_of_a_column_as_exports_of_surveys_have_them"
    shown = label(f"{name}: the lower bound is a guess, age_group", wrap=True)
    qtbot.addWidget(shown)
    assert shown.text().startswith(f"{name}: ")
    assert QLabel.text(shown).endswith(" age_group")
    shown.resize(120, shown.heightForWidth(120))
    assert shown.minimumSizeHint().width() < shown.fontMetrics().horizontalAdvance(name) / 2


def test_a_cap_of_which_nothing_remains_reads_as_what_was_spent():
    cost = Decimal("2.999836")
    assert cap_beside(cost, Decimal("0.0")) == at_most(cost) == "3"
    assert cap_beside(cost, Decimal("0.5")) == cap_beside(cost, None) == at_least(cost) == "2.999"


def test_delta_has_one_name_in_every_form(qtbot):
    """The letter, which help explains where it is entered: no "chance of failure", no "delta"."""
    forms = [entry.parameters for entry in LEARNERS if "delta" in entry.parameters.declared()]
    assert len(forms) >= 3
    for parameters in (*forms, DpSgdPlan):
        made = Form("any", parameters)
        qtbot.addWidget(made)
        title, field = made._labels["delta"]
        assert (title.text(), made.title_of("delta")) == ("δ", "δ")
        assert "chance that the guarantee fails" in title.toolTip().lower()
        assert field.accessibleName() == "δ"
