"""Tables of hundreds of columns: an edit works out anew what it changes, and only for the page in sight."""

from decimal import Decimal

import pytest
from PySide6.QtWidgets import QLabel, QWidget

from workbench.gui.pages.protect.share_model import evenly, with_lock
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.sanitize.plan import Column

MANY = 300


@pytest.fixture
def made(monkeypatch):
    """The names of the columns that are checked from now on, each as often as it is."""
    names: list[str] = []
    former = Column.__post_init__

    def counted(self: Column) -> None:
        names.append(self.name)
        former(self)

    monkeypatch.setattr(Column, "__post_init__", counted)
    return names


@pytest.fixture
def wide():
    columns = (DraftColumn(name=f"wide edit {i}", kind="integer", lower=0.0, upper=99.0) for i in range(MANY))
    draft = DraftPlan(epsilon=Decimal(300), columns=tuple(columns))
    assert draft.ready
    return draft


def test_an_edit_checks_the_one_column_it_changes(wide, made):
    edited = wide.with_column("wide edit 7", upper=50.0)
    assert edited.ready
    assert edited.cost() == 300
    assert made == ["wide edit 7"]
    assert wide.cost() == 300  # undone: nothing at all
    assert made == ["wide edit 7"]


def test_to_predict_another_column_touches_two(wide, made):
    """All the others would be checked, and asked for what they lack, once more."""
    predicted = wide.with_target("wide edit 5")
    assert predicted.ready
    made.clear()
    other = predicted.with_target("wide edit 8")
    assert (predicted.target, other.target) == ("wide edit 5", "wide edit 8")
    kept = [a is b for a, b in zip(predicted.columns, other.columns, strict=True)]
    assert [at for at, same in enumerate(kept) if not same] == [5, 8]
    assert other.ready
    assert made == ["wide edit 8"]
    assert other.with_target(None).target is None


def lines_of(window: QWidget) -> list[QLabel]:
    """Return the labels of what will be published, as long as none is put away."""
    card = window.findChild(QWidget, "pane_rows")
    return [part for part in card.findChildren(QLabel) if part.isVisible()]


def test_an_edit_writes_over_the_lines_of_what_will_be_published(people, finish, idle):
    """To make them anew lays the page out a dozen times."""
    plan = people.session.plan  # as single values the columns are noise before and after
    people.session.edit("values", plan.with_columns({c.name: {"purpose": "values"} for c in plan.columns}))
    finish(people, "tab_rows")
    before = lines_of(people)
    protected = people.session.plan.protected[0].name
    people.session.edit_column(protected, f"drop {protected}", action="drop")
    idle(people)
    assert set(lines_of(people)) == set(before)
    assert "dropped" in [part.text() for part in lines_of(people)]
    people.session.undo_stack.undo()
    idle(people)
    assert set(lines_of(people)) == set(before)


def test_a_narrower_table_leaves_no_line_of_a_wider_one(people, finish, load, tmp_path):
    finish(people, "tab_rows")
    wider = len(lines_of(people))
    (tmp_path / "two.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(50)))
    people.session.may_leave = lambda then: True
    load(people, tmp_path / "two.csv")
    finish(people, "tab_rows")
    texts = [part.text() for part in lines_of(people)]
    assert len(texts) < wider
    assert not {"age", "city"} & set(texts)
    assert {"a", "b"} <= set(texts)


def test_a_split_that_is_even_changes_only_what_was_locked(wide, made):
    locked = with_lock(wide, "wide edit 3", True)
    assert locked.ready
    made.clear()
    even = evenly(locked)
    assert even.ready
    assert all(c.epsilon is None for c in even.columns)
    assert set(made) <= {"wide edit 3"}


def test_only_columns_whose_share_or_facts_changed_are_forecast_again(people, finish, idle):
    finish(people, "tab_protect")
    shares = people.page.shares
    assert shares.outdated() == ()
    people.session.edit_column("age", "declare", lower=0.0, upper=110.0)
    assert [column.name for column, _ in shares.outdated()] == ["age"]
    idle(people)
    assert shares.outdated() == ()
    people.session.set_epsilon(Decimal(3))
    assert [column.name for column, _ in shares.outdated()] == list(shares.shares())
    idle(people)
    assert shares.outdated() == ()


def test_a_page_out_of_sight_follows_the_plan_when_it_is_shown(people, finish, press, idle):
    finish(people, "tab_rows")
    page, size = people.page, people.findChild(QLabel, "release_size")
    before = size.text()
    press(people, "tab_data")
    name = people.session.plan.protected[-1].name
    people.session.edit_column(name, f"drop {name}", action="drop")
    assert size.text() == before  # an edit does not wait for pages that nobody sees
    press(people, "tab_rows")
    assert people.page is page
    assert size.text() != before
    idle(people)
    people.session.undo_stack.undo()
    assert size.text() == before
