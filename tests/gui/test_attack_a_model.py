"""A released model is attacked by clicks: from the list of releases to what an attacker knows of its members."""

from __future__ import annotations

from workbench.data.samples.sample_tables import sample_table


def test_a_listed_model_leads_to_its_attack_with_the_open_table_as_members(trained, tmp_path):
    hands = trained
    hands.click("tab_released")
    hands.idle()
    hands.click("shown_release_1_attack")
    hands.idle()
    page = hands.window.page
    assert page.objectName() == "page_attack"
    assert page.attack.currentData() == "membership"
    assert page.form.target == "model"
    assert page.form.missing() == "Choose rows of other people, who were not used."
    others = tmp_path / "others.csv"
    sample_table("iris").frame.write_csv(others)  # the members themselves: an attacker finds nothing
    hands.type_into("attack_membership_nonmembers", str(others))
    hands.until(lambda: page.primary.isEnabled())
    hands.click("attack_run")
    hands.until(lambda: page.outcomes.lines.height() == 1)
    hands.idle()
    assert "lower bound on ε" in hands.text("attack_words")
    done = hands.window.session.runs[-1].result.outcome
    assert "whether somebody was used is right 50.0 %" in done.words()[0]
    assert done.figures["epsilon_lower"] == 0
