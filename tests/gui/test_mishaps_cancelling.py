"""Cancel at every stage: the ledger is exact, nothing half-written stays, and the same page does it again at once."""

import pytest
from hands import show
from mishaps import big_table, needs_torch, retype, status, statuses, text_of
from PySide6.QtWidgets import QPushButton, QWidget

from workbench.gui.project.open_table import open_table
from workbench.release.verify import verify_release
from workbench.signals.events import Cancelled, Progress


def cancel_at(window, title: str, when=lambda handle: True) -> list:
    """Cancel the next job whose title begins so: at its start, or once it has said something that ``when`` likes."""
    cancelled: list = []

    def cancel(handle) -> None:
        if not cancelled:
            cancelled.append(handle)
            handle.cancel()

    def started(handle) -> None:
        if handle.title.startswith(title) and not cancelled:
            if when is None:
                cancel(handle)
            else:
                handle.progress.connect(lambda event: cancel(handle) if when(event) else None)

    window.jobs.started.connect(started)
    return cancelled


# -- opening ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["reading", "profile"])
def test_opening_is_cancelled_and_the_former_table_stays(people, tmp_path, qtbot, idle, stage, standstill):
    before = people.session.opened, people.session.plan
    big = big_table(tmp_path / "big.csv", 50_000)
    cancelled = cancel_at(people, "Opening", None if stage == "reading" else lambda event: True)
    if stage == "profile":
        standstill.go_on(until=lambda event: isinstance(event, Progress))
    people.open(str(big))
    qtbot.waitUntil(lambda: bool(cancelled))
    idle(people)
    assert (people.session.opened, people.session.plan) == before
    assert status(people) == "Cancelled: Opening big.csv."
    standstill.go_on()
    people.open(str(big))
    idle(people)
    assert people.session.opened.table.rows == 50_000


def test_a_job_in_the_panel_is_cancelled_by_escape(people, tmp_path, qtbot, idle, standstill):
    people.open(str(big_table(tmp_path / "big.csv", 10_000)))

    def words() -> list[str]:  # a job that is done stands there for a while, too
        return [button.text() for button in people.findChildren(QPushButton, "job_cancel")]

    qtbot.waitUntil(lambda: "Cancel" in words())
    people.page.table.setFocus()
    people.escape()
    assert "Cancel" not in words()
    assert {"Cancelling…", "Cancelled"} & set(words())
    idle(people)
    assert status(people) == "Cancelled: Opening big.csv."


@pytest.mark.parametrize("title", ["Forecasting the errors", "Forecasting the release", "Drawing a preview"])
def test_what_runs_beside_a_page_is_cancelled_and_done_again(people, qtbot, idle, title):
    page = {"Forecasting the errors": "protect", "Forecasting the release": "release"}.get(title, "preview")
    cancelled = cancel_at(people, title, None)
    show(people, page)
    qtbot.waitUntil(lambda: bool(cancelled))
    idle(people)
    done = []
    people.jobs.ended.connect(lambda handle: done.append(handle.end) if handle.title.startswith(title) else None)
    people.session.edit_column("age", "bounds of age", upper=110.0)
    qtbot.waitUntil(lambda: any(hasattr(end, "result") for end in done))
    idle(people)
    assert statuses() == []


# -- a curve ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_curve_is_cancelled_and_the_rest_is_computed_later(window, finish, press, idle, qtbot, share):
    finish(window, "sample_iris")
    press(window, "tab_utility")
    retype(window, qtbot, "curve_epsilons", "1, 10")
    retype(window, qtbot, "curve_repeats", "4")
    cancelled = cancel_at(window, "Accuracy", None if share == 0 else lambda e: e.done >= share * e.total)
    press(window, "curve_run")
    qtbot.waitUntil(lambda: bool(cancelled) or not window.jobs.running)
    idle(window)
    # The last model may be trained before the wish is heard; then the study is whole.
    finished = len(window.session.runs)
    assert finished == (1 if hasattr(cancelled[0].end, "result") else 0) if cancelled else finished == 1
    finish(window, "curve_run")
    assert len(window.session.runs) == finished + 1
    assert statuses() == []


# -- a training ---------------------------------------------------------------------------------------------------


@pytest.fixture
def network(window, finish, press, qtbot, tmp_path):
    """The Train page with a small network that can be started."""
    finish(window, "sample_iris")
    press(window, "tab_train")
    press(window, "train_model_logistic")
    retype(window, qtbot, "train_logistic_epochs", "4")
    retype(window, qtbot, "train_logistic_batch", "30")
    retype(window, qtbot, "train_folder", tmp_path / "net")
    return window


def start_training(window, qtbot, press, answer) -> list[str]:
    """Start, say yes, and return what was asked."""
    qtbot.waitUntil(window.page.primary.isEnabled)
    asked = answer("yes")
    press(window, "train_start")
    return asked


@pytest.mark.slow
@needs_torch
def test_a_training_is_cancelled_before_its_charge(network, qtbot, press, answer, idle, tmp_path):
    cancelled = cancel_at(network, "Training", None)
    asked = start_training(network, qtbot, press, answer)
    assert "It also sets the cap to " in asked[0]
    qtbot.waitUntil(lambda: bool(cancelled))
    idle(network)
    assert set(statuses()) <= {"void"}
    assert text_of(network, "train_outcome") == "Cancelled. Nothing was released, and nothing is charged."
    assert list(tmp_path.iterdir()) == []
    retype(network, qtbot, "train_folder", tmp_path / "net")
    start_training(network, qtbot, press, answer)
    idle(network)
    assert verify_release(tmp_path / "net") == []
    assert statuses()[-1] in ("charged", "settled")


@pytest.mark.slow
@needs_torch
def test_a_training_is_cancelled_after_its_charge(network, qtbot, finish, press, answer, tmp_path):
    retype(network, qtbot, "train_logistic_epochs", "3000")
    start_training(network, qtbot, press, answer)
    qtbot.waitUntil(lambda: len(network.page.going.accuracy.points) > 0)
    answer("lose")
    finish(network, "train_cancel")
    assert statuses() == ["charged"]
    assert "stays charged, as private figures were shown" in text_of(network, "train_outcome")
    assert list(tmp_path.iterdir()) == []
    assert network.page.primary.isVisible()


@pytest.mark.slow
@needs_torch
def test_a_training_that_another_table_has_paused_tells_what_stays_reserved_though_the_next_one_runs(
    network, qtbot, press, answer, idle, tmp_path
):
    told = []
    network.jobs.noticed.connect(lambda level, text: told.append(text))
    retype(network, qtbot, "train_logistic_epochs", "3000")
    start_training(network, qtbot, press, answer)
    qtbot.waitUntil(lambda: len(network.page.going.accuracy.points) > 0)
    former = network.page._handle
    answer("pause")
    network.open("sample:wine")
    qtbot.waitUntil(lambda: network.session.opened.title == "wine")
    network.show_page("train")
    press(network, "train_model_naive-bayes")
    retype(network, qtbot, "train_folder", tmp_path / "bayes")
    start_training(network, qtbot, press, answer)
    idle(network)
    assert isinstance(former.end, Cancelled)
    (line,) = (text for text in told if text.startswith("Paused: Training"))
    assert "stays reserved" in line
    assert statuses() == ["reserved", "charged"]
    assert {path.name for path in tmp_path.iterdir()} == {"bayes"}


@pytest.mark.slow
@needs_torch
def test_a_training_that_is_cancelled_in_its_last_steps_tells_what_came_of_it(
    network, qtbot, press, answer, idle, tmp_path
):
    handles = []
    network.jobs.started.connect(lambda handle: handles.append(handle) if handle.title.startswith("Train") else None)
    start_training(network, qtbot, press, answer)
    qtbot.waitUntil(lambda: bool(handles))
    handles[0].metric.connect(lambda metric: handles[0].cancel() if metric.step >= 18 else None)
    idle(network)
    (status,) = statuses()
    if (tmp_path / "net").exists():
        assert verify_release(tmp_path / "net") == []
        assert status in ("charged", "settled")
        assert "Released to" in text_of(network, "train_outcome")
        assert not handles[0].too_late or "too late to cancel" in text_of(network, "banner_text")
    else:
        assert status == "charged"
        assert "stays charged" in text_of(network, "train_outcome")
    assert {p.name for p in tmp_path.iterdir()} <= {"net"}


# -- a release ----------------------------------------------------------------------------------------------------


@pytest.fixture
def ready(window, at_release, tmp_path, load, qtbot):
    """The Release page of a table that takes a while to draw and to write."""
    big = big_table(tmp_path / "in.csv", 60_000)
    load(window, big)
    session = window.session
    session.edit_column("note", "drop note", action="drop")
    session.edit_column("age", "age", lower=0.0, upper=100.0)
    session.edit_column("pay", "pay", lower=0.0, upper=1000.0)
    session.edit_column("town", "town", domain=("a", "b"))
    session.edit("confirm what was guessed", session.plan.confirmed())
    at_release()
    assert session.plan.problems() == ()
    retype(window, qtbot, "release_target", tmp_path / "out.csv")
    return window


def ends_well(window, tmp_path) -> None:
    """A whole release stands and is charged, or none; then the charge stands if values were written. It is said."""
    files = {path.name for path in tmp_path.iterdir()} - {"in.csv"}
    if files:
        assert files == {"out.csv", "out.csv.certificate.json"}
        assert verify_release(tmp_path / "out.csv") == []
        assert statuses() == ["charged"]
        assert text_of(window, "banner_text").startswith("It was too late to cancel")
    elif "charged" in statuses():  # the cancel came while drawn values were being written
        assert statuses() == ["charged"]
        assert "stays charged, because drawn values were being written" in text_of(window, "banner_text")
    else:
        assert set(statuses()) <= {"void"}
        assert status(window) == "Cancelled: no file was written, and nothing is charged."


STAGES = {
    "before the reservation": None,
    "while drawing": lambda event: "written" not in event.label,
    "while writing": lambda event: "written" in event.label,
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_release_is_cancelled(ready, press, answer, idle, qtbot, tmp_path, stage, standstill):
    when = STAGES[stage]
    standstill.go_on(until=lambda event: when is not None and isinstance(event, Progress) and when(event))
    cancelled = cancel_at(ready, "Releasing", when)
    answer("yes")
    press(ready, "release_now")
    qtbot.waitUntil(lambda: bool(cancelled))
    idle(ready)
    ends_well(ready, tmp_path)
    if "charged" in statuses():  # released, or cancelled once values were being written: the cap is used up
        return
    standstill.go_on()
    answer("yes")
    press(ready, "release_now")
    qtbot.waitUntil(lambda: len(ready.session.released) == 1)
    assert verify_release(tmp_path / "out.csv") == []
    assert statuses()[-1] == "charged"


def test_a_release_that_is_cancelled_too_late_says_so(releasing, press, idle, qtbot):
    window, target, turn = releasing
    press(window, "release_cancel")
    assert window.findChild(QWidget, "note_release").accessibleName() == "Cancelling…"
    turn.close()
    idle(window)
    assert text_of(window, "banner_text") == f"It was too late to cancel: {target} is released and charged."
    assert verify_release(target) == []
    assert statuses() == ["charged"]
    assert len(window.session.released) == 1


def test_a_check_is_cancelled_and_done_again(releasing, finish, press, idle, qtbot):
    window, _, turn = releasing
    turn.close()
    idle(window)
    finish(window, "tab_released")
    cancelled = cancel_at(window, "Verifying", None)
    press(window, "shown_release_verify")
    qtbot.waitUntil(lambda: bool(cancelled))
    idle(window)
    finish(window, "shown_release_verify")
    assert text_of(window, "shown_release_result").startswith("✓")


def test_a_newer_opening_takes_the_place_of_the_older(people, tmp_path, idle, standstill):
    open_table(people.session, people.jobs, str(big_table(tmp_path / "big.csv", 10_000)))
    people.open("sample:iris")
    standstill.go_on()
    idle(people)
    assert people.session.opened.title == "iris"
