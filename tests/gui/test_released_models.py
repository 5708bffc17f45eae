"""A model is a release as well: the Release page lists it with its cost, its folder and Verify."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton


def test_a_trained_model_is_listed_verified_and_is_no_release_of_the_table(trained, tmp_path):
    hands = trained
    hands.click("train_show_release")
    hands.idle()
    assert hands.window.page.objectName() == "page_released"
    assert hands.text("shown_release_model") == str(tmp_path / "model")
    hands.click("tab_release")
    hands.idle()
    assert hands.window.page.primary.objectName() == "release_onward"  # nothing blue that would publish the table
    release = hands.window.findChild(QPushButton, "release_now")
    assert release.property("look") == ""
    assert not release.isEnabled()  # the cap is spent: the ledger would refuse it
    assert release.text() == "Release…"
    hands.click("release_onward")
    hands.idle()
    assert hands.see("shown_release").accessibleName().endswith("at ε = 1")
    hands.click("shown_release_verify")
    hands.idle()
    assert hands.text("shown_release_result").startswith("✓ File, certificate and ledger agree")
    card = tmp_path / "model" / "card.json"
    card.write_text(card.read_text("utf-8").replace('"rows": 150', '"rows": 151'), "utf-8")
    hands.click("shown_release_verify")
    hands.idle()
    assert hands.text("shown_release_result").startswith("✕ ")


def test_a_high_epsilon_is_warned_of_where_it_is_paid(hands):
    hands.click("sample_people")
    hands.idle()
    hands.click("tab_rows")
    hands.idle()
    assert not hands.sees("release_high")
    hands.click("tab_protect")
    hands.type_into("plan_epsilon_field", "8")
    hands.idle()
    hands.click("tab_rows")
    hands.idle()
    assert "a suspicion of 10 % can grow to 99.7 %" in hands.text("release_high")
    assert hands.text("fact_replace_one") == "8"
