"""Story A: a file is dropped, protected column by column, previewed, released and verified; also without a mouse."""

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hands import CTRL, Hands, write_people
from PySide6.QtCore import Qt

from workbench.gui.pages.base import ROOMS
from workbench.gui.pages.protect.share_model import split
from workbench.release.ledger.ledger import Ledger

# Said by the platform without a screen whenever a list opens: there is nothing that it could raise or grab.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support (raise|grabbing the keyboard)")
ODD = {"delimiter": ";", "decimal": ",", "encoding": "cp1252"}
MECHANISMS = {"age": "bounded Laplace", "income": "piecewise mechanism", "sex": "k-ary randomised response"}
FACTS = ("0", "120", "f, m", "0", "200000", "no, yes")


def charges() -> int:
    """Return how many releases the ledger has charged."""
    with Ledger.open() as book:
        return sum(r.status == "charged" for r in book.releases())


def planned_as_told(hands: Hands) -> None:
    """Check the plan of the story, and that the shares sum to ε to the last digit."""
    plan = hands.window.session.plan
    assert {c.name: c.action for c in plan.columns} == {
        **dict.fromkeys(("id", "name"), "drop"),
        **dict.fromkeys(("age", "sex", "income", "label"), "protect"),
        "zip": "keep",
    }
    age, sex, income = (plan.column(n) for n in ("age", "sex", "income"))
    assert (age.mechanism, age.lower, age.upper, age.epsilon) == ("bounded-laplace", 0, 120, Decimal("0.3"))
    assert (income.mechanism, income.lower, income.upper) == ("piecewise", 0, 200_000)
    assert (sex.mechanism, sex.domain) == ("grr", ("f", "m"))
    shares = split(plan)
    assert plan.epsilon == 1
    assert shares["age"] == Decimal("0.3")
    assert sum(shares.values()) == Decimal(1)


def released_as_told(target: Path, rows: int, dialect: dict[str, str]) -> None:
    """Check the file, which is written in the dialect of the table, and its certificate."""
    how = {"separator": dialect.get("delimiter", ","), "decimal_comma": dialect.get("decimal") == ","}
    out = pl.read_csv(target, infer_schema_length=None, **how)
    assert out.height == rows
    assert out.columns == ["age", "sex", "zip", "income", "label"]
    assert out["age"].dtype == pl.Int64
    assert out["age"].is_between(0, 120).all()
    assert out["income"].is_between(0, 200_000).all()
    assert set(out["sex"]) == {"f", "m"}
    certificate = json.loads(target.with_name(f"{target.name}.certificate.json").read_text("utf-8"))
    assert any("zip" in sentence for sentence in certificate["outside_guarantee"])


@pytest.mark.parametrize("dialect", [{}, ODD], ids=["comma", "semicolon"])
def test_a_dropped_file_is_protected_released_and_verified_by_clicks(hands, tmp_path, dialect):
    source = write_people(tmp_path / "people.csv", **dialect)
    hands.drop(source)
    assert hands.text("questions_count") == "5 of 7 columns: the rest are not released"
    hands.click("tab_data")
    told = hands.text("data_summary")
    assert ("semicolon" in told, "decimal mark comma" in told) == ((True, True) if dialect else (False, False))
    if dialect:
        assert "encoding cp1252 and decimal mark comma" in hands.see("note_data").accessibleName()
        hands.click("data_onward")
        assert "encoding cp1252 and decimal mark comma" in hands.text("dialect_doubts")
        hands.finish("data_onward")
        assert not hands.window.session.opened.table.ambiguities
        assert hands.window.session.opened.table.frame["name"][0] == "Zoé 0"
    else:
        hands.click("view_dialect")
        assert not hands.sees("dialect_doubts")
        hands.click("dialect_leave")
    for name in ("id", "name"):
        if hands.window.session.plan.column(name).action != "drop":
            hands.click_cell("attribute_table", name, "Attribute")
            hands.click("detail_drop")
    hands.click("data_onward")
    for fact in (*FACTS[:3], "", "", *FACTS[3:5]):  # zip is to be kept: it needs no bounds
        hands.keys(fact)
        hands.key(Qt.Key.Key_Tab)
    hands.keys(FACTS[5])
    hands.key(Qt.Key.Key_Return)
    hands.finish("tab_protect")
    hands.pick("share_table", "zip", "Action", "keep")
    hands.idle()
    assert hands.cell("share_table", "zip", "Expected error") == "not protected"
    assert "no ε covers it" in hands.text("share_warning")
    assert "zip" in hands.see("note_protect").accessibleName()
    for attribute, words in MECHANISMS.items():
        hands.pick("share_table", attribute, "Mechanism", words)
        hands.idle()
        assert hands.cell("share_table", attribute, "Mechanism").startswith(words)
    hands.type_into("plan_epsilon_field", "1")
    hands.type_in_cell("share_table", "age", "Share of ε", "0.3")
    hands.idle()
    planned_as_told(hands)
    assert hands.cell("share_table", "age", "Lock") == "locked"
    assert "together ε = 1 exactly" in hands.text("share_sum")

    hands.click("tab_data")
    assert "kind and missing values of age, sex" in hands.see("note_data").accessibleName()
    assert hands.cell("attribute_table", "age", "Kind") == "integer ?"
    hands.click("data_onward")
    assert hands.cell("attribute_table", "age", "Kind") == "integer"
    hands.finish("data_onward")
    hands.choose_way("Noisy")
    hands.finish("tab_preview")
    assert hands.sees("preview_distribution")

    hands.finish("tab_rows")
    assert hands.text("release_epsilon") == "ε = 1"
    assert "zip" in hands.text("release_outside_text")
    assert charges() == 0
    asked = hands.answer("yes")
    hands.click("release_now")
    hands.until(lambda: hands.sees("release_onward"))
    hands.idle()
    assert "Not covered by ε:" in asked[0]
    assert "zip" in asked[0]
    assert charges() == 1
    target = Path.home() / "people-released.csv"  # not beside the raw table
    released_as_told(target, rows=300, dialect=dialect)

    hands.finish("release_onward")
    hands.finish("shown_release_verify")
    assert hands.text("shown_release_result").startswith("✓ File, certificate and ledger agree")
    content = bytearray(target.read_bytes())
    content[-2] ^= 1
    target.write_bytes(content)
    hands.finish("shown_release_verify")
    told = hands.text("shown_release_result")
    assert told == "✕ The file was changed after it was certified: its SHA-256 differs."


def go_by_keys(hands, page):
    """Go to the room of a page, and on to its tab."""
    rooms = [room.name for room in ROOMS]
    hands.key(Qt.Key(Qt.Key.Key_1 + rooms.index(hands.window.rail.pages[page].room)), CTRL)
    hands.idle()
    for _ in range(len(hands.window.rail.tabs(page))):
        if hands.window.page.objectName() == f"page_{page}":
            return
        hands.key(Qt.Key.Key_PageDown, CTRL)
        hands.idle()
    raise AssertionError(f"the keys do not reach {page}")


def test_the_same_is_done_without_a_mouse(hands, tmp_path):
    source = write_people(tmp_path / "people.csv", **ODD)
    hands.name_file(source)
    hands.key(Qt.Key.Key_O, CTRL)
    hands.idle()
    go_by_keys(hands, "data")
    hands.key(Qt.Key.Key_Return, CTRL)
    assert hands.sees("dialect_doubts")
    hands.key(Qt.Key.Key_Return, CTRL)
    hands.idle()
    assert not hands.window.session.opened.table.ambiguities
    hands.key(Qt.Key.Key_Return, CTRL)
    for fact in (*FACTS[:3], "", "", *FACTS[3:5]):  # zip is to be kept: it needs no bounds
        hands.keys(fact)
        hands.key(Qt.Key.Key_Tab)
    hands.keys(FACTS[5])
    hands.key(Qt.Key.Key_Return)
    hands.pick_by_keys("attribute_table", "income", "Role", "sensitive")
    assert hands.window.session.plan.column("income").role == "sensitive"

    hands.key(Qt.Key.Key_2, CTRL)
    hands.key(Qt.Key.Key_PageDown, CTRL)
    hands.idle()
    hands.tab_to("share_table")
    hands.pick_by_keys("share_table", "zip", "Action", "keep")
    hands.idle()
    for attribute, words in MECHANISMS.items():
        hands.pick_by_keys("share_table", attribute, "Mechanism", words)
        hands.idle()
    hands.arrow_to("share_table", "age", "Share of ε")
    hands.key(Qt.Key.Key_Return)
    hands.keys("0.3")
    hands.key(Qt.Key.Key_Return)
    hands.arrow_to("share_table", "age", "Lock")
    for told in ("", "locked"):
        hands.key(Qt.Key.Key_Space)
        assert hands.cell("share_table", "age", "Lock") == told
    hands.tab_to("plan_epsilon_field")
    hands.key(Qt.Key.Key_A, CTRL)
    hands.keys("1")
    hands.idle()
    planned_as_told(hands)

    go_by_keys(hands, "data")
    assert hands.window.session.plan.guesses()
    hands.key(Qt.Key.Key_Return, CTRL)
    assert hands.window.session.plan.guesses() == ()
    hands.key(Qt.Key.Key_Return, CTRL)
    hands.idle()
    assert hands.window.page.objectName() == "page_ways"
    hands.choose_way_by_keys("Noisy")
    hands.key(Qt.Key.Key_PageDown, CTRL)
    hands.idle()
    assert hands.window.page.objectName() == "page_protect"
    hands.key(Qt.Key.Key_PageDown, CTRL)
    hands.idle()
    assert hands.window.page.objectName() == "page_preview"
    hands.tab_to("another_draw")
    hands.key(Qt.Key.Key_Space)
    hands.idle()
    hands.tab_to("preview_column")
    hands.key(Qt.Key.Key_Down)
    hands.idle()
    hands.key(Qt.Key.Key_PageDown, CTRL)
    hands.idle()
    target = tmp_path / "by-keys.csv"
    hands.tab_to("release_target")
    hands.key(Qt.Key.Key_A, CTRL)
    hands.keys(str(target))
    asked = hands.answer("yes", by_keys=True)
    hands.key(Qt.Key.Key_Return, CTRL)
    hands.until(lambda: hands.sees("release_onward"))
    hands.idle()
    assert "charges ε = 1" in asked[0]
    released_as_told(target, rows=300, dialect=ODD)
    assert charges() == 1
    hands.key(Qt.Key.Key_Return, CTRL)
    hands.idle()
    hands.tab_to("shown_release_verify")
    hands.key(Qt.Key.Key_Space)
    hands.idle()
    assert hands.text("shown_release_result").startswith("✓")
