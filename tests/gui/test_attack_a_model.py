"""A released model is attacked by clicks: from the list of releases to what an attacker knows of its members."""

from __future__ import annotations

import tomllib

import numpy as np
import polars as pl
import pytest
from PySide6.QtWidgets import QFileDialog

from workbench.data.samples.sample_tables import sample_table
from workbench.params import InputError
from workbench.release.attacked import hold_out


def held_out_by_clicks(hands, monkeypatch, kept):
    hands.click("tab_attack")
    page = hands.window.page
    page.attack.setCurrentIndex(page.attack.findData("membership"))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(kept), ""))
    hands.answer("20")
    hands.click("attack_hold_out")
    hands.idle()
    return page


def test_a_project_names_the_rows_that_were_held_out_and_no_other_table_has_them(hands, tmp_path, monkeypatch):
    kept, held, project = (tmp_path / name for name in ("kept.csv", "kept-held-out.csv", "kept.workbench.toml"))
    hands.click("sample_iris")
    hands.idle()
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
    hands.click("sample_iris")
    hands.idle()
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
    hands.click("tab_attack")
    hands.idle()
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
    hands.click("tab_released")
    hands.idle()
    hands.click("shown_release_attack")
    hands.idle()
    page = hands.window.page
    assert page.objectName() == "page_attack"
    assert page.attack.currentData() == "membership"
    assert page.form.target == "model"
    assert page.form.missing() == (
        "Choose rows of other people, who were not used; or hold out a part of the open table, and train on the rest "
        "or release it."
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
    assert "whether somebody was used is right 50.0 %" in done.words()[0]
    assert done.figures["epsilon_lower"] == 0
