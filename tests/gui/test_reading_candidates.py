"""How the file is read: each doubt shows the cells under its candidates, and a click chooses one."""

import pytest
from hands import Hands, go_to
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget


@pytest.fixture
def hands(window, qtbot):
    return Hands(window, qtbot)


def open_file(window, tmp_path, idle, content, encoding="utf-8"):
    path = tmp_path / "town.csv"
    path.write_bytes(content.encode(encoding))
    window.open(str(path))
    idle(window)
    go_to(window, "data")


def test_each_candidate_shows_the_cells_and_a_click_chooses_one(window, hands, tmp_path, idle):
    open_file(window, tmp_path, idle, "id;size\n1;'25 m²'\n2;'30 €'\n", "cp1252")
    hands.click("data_onward")
    assert hands.text("cells_encoding_cp1252") == "25 m²   ·   30 €"
    assert "25 m˛" in hands.text("cells_encoding_cp1250")
    assert hands.text("cells_quote_none").startswith("'25 m²'")
    hands.click("candidate_encoding_cp1250")
    hands.idle()
    opened = window.session.opened
    assert opened.options.encoding == "cp1250"
    assert opened.table.frame["size"][0] == "25 m˛"
    assert [doubt.name for doubt in opened.table.doubts] == ["quote"]
    hands.click("data_onward")
    assert not hands.sees("cells_encoding_cp1252")
    hands.click("candidate_quote_none")
    hands.idle()
    assert not window.session.opened.table.doubts
    assert window.session.opened.table.frame["size"][0] == "'25 m˛'"
    hands.click("view_dialect")
    assert not hands.sees("reading_candidates")


def test_a_candidate_that_cannot_read_the_file_cannot_be_chosen(window, hands, tmp_path, idle):
    open_file(window, tmp_path, idle, 'a,b\n"x \\"y\\"",1\n')
    hands.click("data_onward")
    assert hands.text("cells_escape_doubled") == "cannot read the file"
    assert not window.findChild(QWidget, "candidate_escape_doubled").isEnabled()
    hands.click("candidate_escape_backslash")
    hands.idle()
    assert not window.session.opened.table.doubts


def test_lines_blanks_comments_and_names_are_stated_by_clicks(window, hands, tmp_path, idle, qtbot):
    open_file(window, tmp_path, idle, "made by x\n1 , 31\n# two\n2 , 47\n")
    hands.click("view_dialect")
    field = window.findChild(QLineEdit, "dialect_skip_lines")
    field.selectAll()
    qtbot.keyClicks(field, "1")
    qtbot.keyClicks(window.findChild(QLineEdit, "dialect_comment"), "#")
    qtbot.keyClicks(window.findChild(QLineEdit, "dialect_names"), "id, age")
    hands.click("dialect_trim")
    hands.click("dialect_read_again")
    hands.idle()
    table = window.session.opened.table
    assert table.names == ("id", "age")
    assert table.frame.rows() == [("1", "31"), ("2", "47")]
    assert "trimmed" in window.findChild(QWidget, "data_summary").accessibleName()


def test_the_form_fits_into_the_smallest_window(window, hands, tmp_path, idle):
    open_file(window, tmp_path, idle, "id;size\n1;'25 m²'\n2;'1,5'\n3;'2,5'\n", "cp1252")
    window.resize(1280, 800)
    hands.click("data_onward")
    assert hands.see("dialect_form").sizeHint().height() < 640
    for name in ("dialect_encoding", "dialect_names", "dialect_comment", "dialect_skip_lines"):
        assert hands.see(name).width() > 150


def test_a_refusal_names_the_field_in_place_of_the_option(window, tmp_path, idle):
    open_file(window, tmp_path, idle, "a,b\n# remark\n1,2\n3,4\n")
    told = window.findChild(QLabel, "banner_text").text()
    assert "--" not in told
    assert "set comment to # under “How it is read” if lines that begin with #" in told
