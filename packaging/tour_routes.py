"""What a tour does: the main job on the people sample; curve, models and ledger on diabetes; the rest on iris."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from tour_guide import PATIENCE_S, Guide

from workbench.gui.pages.train.page import TrainPage
from workbench.gui.pages.utility.page import UtilityPage

LOCK_COLUMN = 4
STANDARD_RUNS = 3
"""Why it costs, and the two models of the standard comparison."""

FACTS = {
    "Pregnancies": ("0", "20"),
    "Glucose": ("0", "250"),
    "BloodPressure": ("0", "150"),
    "SkinThickness": ("0", "100"),
    "Insulin": ("0", "900"),
    "BMI": ("0", "70"),
    "DiabetesPedigreeFunction": ("0", "3"),
    "Age": ("18", "100"),
}
"""Public bounds of the diabetes table, from general knowledge."""


def people(guide: Guide) -> None:
    """A sample, its protection, one draw, the release with its certificate, and the ledger."""
    guide.shot("start")
    guide.press("sample_people")
    guide.calm()
    guide.shot("sample-open")
    guide.cell("attribute_table", 2, 0)
    guide.shot("facts-declared")
    guide.press("view_rows")
    guide.shot("rows")
    guide.press("view_attributes")
    guide.press("data_onward")
    guide.calm()
    guide.shot("what-to-release")
    guide.window.session.choose_way("rows")
    guide.press("tab_protect")
    guide.calm()
    guide.cell("share_table", 2, LOCK_COLUMN)
    guide.calm()
    guide.shot("lock")
    guide.press("explain_plan")
    guide.shot("explain")
    guide.press("explain_close")
    guide.cell("share_table", 2, 2)
    guide.key(Qt.Key.Key_F2)
    guide.calm()
    guide.shot("mechanisms")
    guide.key(Qt.Key.Key_Escape)
    guide.press("to_preview")
    guide.calm()
    guide.shot("preview")
    guide.press("another_draw")
    guide.calm()
    guide.shot("another-draw")
    guide.press("tab_release")
    guide.calm()
    guide.shot("release")
    guide.answer("confirm_yes", "the-last-word", asked="release_now")
    guide.calm()
    guide.shot("released")
    guide.press("released_1_verify")
    guide.calm()
    guide.shot("verified")
    guide.press("tab_ledger")
    guide.calm()
    guide.shot("ledger")


def diabetes(guide: Guide, table: Path) -> None:
    """A file, its public facts by hand, the curve while it grows, and two private models under one cap."""
    guide.window.open(str(table))
    guide.calm()
    guide.shot("open-facts")
    for lower, upper in FACTS.values():
        for fact in (lower, upper):
            guide.press("data_onward")
            guide.fill(fact)
    guide.press("data_onward")
    guide.fill("0, 1")
    guide.cell("attribute_table", len(FACTS), 0)
    guide.press("detail_target")
    guide.calm()
    guide.shot("facts-declared")
    guide.press("data_onward")
    guide.calm()
    guide.shot("confirmed")
    guide.press("data_onward")
    guide.calm()
    guide.window.session.choose_way("rows")
    guide.press("tab_protect")
    guide.type("plan_epsilon_field", "3")
    guide.calm()
    guide.shot("protect")
    guide.press("tab_data")
    guide.press("view_dialect")
    guide.shot("how-it-is-read")
    guide.press("view_attributes")
    guide.press("tab_utility")
    guide.type("curve_epsilons", "0.1:10:7")
    guide.type("curve_repeats", "20")
    guide.shot("utility")
    guide.press("curve_run")
    utility = guide.window.page
    assert isinstance(utility, UtilityPage)
    guide.until(lambda: utility.figure is not None, "no curve appears")
    guide.shot("curve-grows")
    guide.calm()
    guide.shot("curve-whole")
    guide.press("tab_ledger")
    guide.calm()
    guide.type("ledger_cap_field", "10")
    guide.answer("confirm_yes", "set-the-cap", asked="ledger_set_cap")
    guide.calm()
    guide.press("tab_train")
    guide.calm()
    guide.shot("train")
    guide.answer("confirm_yes", "train-question", asked="train_start")
    guide.calm()
    guide.shot("trained")
    guide.choose("train_model", "mlp")
    guide.type("train_mlp_epochs", "100")
    guide.calm()
    guide.shot("preflight")
    guide.answer("confirm_yes", "network-question", asked="train_start")
    train = guide.window.page
    assert isinstance(train, TrainPage)
    run = train.going
    guide.until(lambda: 0 < run.steps <= 2 * run.step, "no training is seen")
    guide.shot("training")
    guide.calm()
    guide.shot("network-trained")
    guide.press("tab_ledger")
    guide.calm()
    guide.shot("ledger")


def iris(guide: Guide) -> None:
    """What models are for: comparing them, why they cost, a model of a released table, and predictions."""
    guide.press("sample_iris")
    guide.calm()
    guide.press("tab_why")
    guide.calm()
    guide.shot("why-empty")
    guide.press("why_run")
    guide.calm()
    guide.shot("why")
    guide.press("tab_utility")
    guide.calm()
    guide.press("curve_standard")
    guide.until(lambda: len(guide.window.session.runs) >= STANDARD_RUNS, "the comparison does not end", 8 * PATIENCE_S)
    guide.calm()
    guide.shot("standard-comparison")
    guide.press("tab_compare")
    guide.calm()
    guide.shot("compare")
    guide.window.session.choose_way("rows")
    guide.press("tab_release")
    guide.calm()
    guide.answer("confirm_yes", "the-last-word", asked="release_now")
    guide.calm()
    guide.shot("released")
    guide.press("released_1_learn")
    guide.calm()
    guide.shot("train-on-release")
    guide.press("learn_start")
    guide.calm()
    guide.shot("model-of-a-release")
    guide.press("predict_run")
    guide.calm()
    guide.shot("predicted")
    guide.press("tab_train")
    guide.choose("train_model", "median-forest")
    guide.calm()
    guide.shot("cost-of-predictions")


def worth(guide: Guide) -> None:
    """A release worth having: what is advised, synthetic rows looked at and released, then statistics."""
    guide.press("sample_people")
    guide.calm()
    guide.press("tab_ledger")
    guide.calm()
    guide.type("ledger_cap_field", "2")
    guide.answer("confirm_yes", "set-the-cap", asked="ledger_set_cap")
    guide.calm()
    guide.press("tab_data")
    guide.press("data_onward")
    guide.calm()
    guide.type("ways_epsilon_field", "1")
    guide.calm()
    guide.shot("what-to-release")
    guide.press("ways_settings")
    guide.calm()
    guide.shot("synthetic")
    guide.press("synthetic_preview_start")
    guide.calm()
    guide.shot("private-preview")
    guide.answer("confirm_yes", "the-last-word", asked="release_now")
    guide.calm()
    guide.shot("released-rows")
    guide.press("synthetic_released_distribution")
    guide.calm()
    guide.shot("beside-the-original")
    guide.press("released_1_verify")
    guide.calm()
    guide.shot("verified")
    guide.press("release_way_statistics")
    guide.calm()
    guide.shot("statistics")
    guide.answer("confirm_yes", "statistics-question", asked="release_now")
    guide.calm()
    guide.shot("figures")
    guide.press("release_way_rows")
    guide.calm()
    guide.shot("noisy-rows")
