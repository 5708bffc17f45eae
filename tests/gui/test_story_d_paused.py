"""Story D, the second half: a network's run is paused, the window is closed and opened again, and the run goes on."""

import csv
import os

import pytest
from mishaps import text_of
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel, QWidget

torch = pytest.importorskip("torch")

from mishaps import PATIENCE, retype  # noqa: E402
from short_memory_task import train_short_of_memory  # noqa: E402

from workbench.gui.app import main_window  # noqa: E402
from workbench.gui.widgets.formatting import at_most  # noqa: E402
from workbench.jobs import network  # noqa: E402
from workbench.release.certificate import read_card  # noqa: E402
from workbench.release.checkpoint_folder import runs_folder  # noqa: E402
from workbench.release.ledger.ledger import Ledger  # noqa: E402
from workbench.release.verify import verify_release  # noqa: E402


def to_train(window, qtbot, press, idle, tmp_path, epochs="200"):
    press(window, "sample_breast-cancer")
    idle(window)
    press(window, "tab_train")
    press(window, "train_model_logistic")
    for key, text in (("epsilon", "3"), ("delta", "1e-5"), ("batch", "64"), ("epochs", epochs)):
        retype(window, qtbot, "train_epsilon" if key == "epsilon" else f"train_logistic_{key}", text)
    retype(window, qtbot, "train_folder", str(tmp_path / "net"))
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())


def gone(window, qtbot):
    qtbot.waitUntil(lambda: not window.isVisible())
    for handle in window.jobs.running:
        assert handle.wait(PATIENCE / 1000)
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def releases():
    with Ledger.read() as book:
        return book.releases()


@pytest.fixture
def second(qtbot):
    """Open another window, as after a restart; it is closed at the end."""
    made = []

    def open_window():
        window = main_window()
        window.show()
        qtbot.waitExposed(window)
        made.append(window)
        return window

    yield open_window
    for window in made:
        window.jobs.shut_down()
        window.session.may_leave = lambda then: True
        window.close()
        window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.mark.slow
def test_a_run_is_paused_the_window_quit_and_the_run_resumed_after_reopening(
    window, second, qtbot, press, idle, answer, tmp_path, monkeypatch
):
    # In the process that trains, memory is short for more than a few rows at once.
    monkeypatch.setattr(network, "train_network", train_short_of_memory)
    to_train(window, qtbot, press, idle, tmp_path)
    assert text_of(window, "fact_steps").startswith("1,800, ")
    assert text_of(window, "fact_sigma").startswith("σ = ")
    assert "fits" in text_of(window, "fact_memory")
    assert text_of(window, "train_quiet_words") == "Private figures are shown: cancelling the run gives no ε back."
    answer("yes")
    notices = []
    window.jobs.noticed.connect(lambda level, text: notices.append(f"{text[:1].upper()}{text[1:]}."))
    press(window, "train_start")
    going = window.page.going
    qtbot.waitUntil(lambda: going.step > 100 and len(going.loss.points) > 0)
    qtbot.waitUntil(lambda: going.norms.clipped is not None)
    if not torch.cuda.is_available():
        assert "No GPU was found; training runs on the processor." in notices
    assert "Memory was short" in text_of(window, "train_notice")
    press(window, "train_pause")
    qtbot.waitUntil(lambda: not window.page.running)
    idle(window)
    assert text_of(window, "train_outcome").startswith("Paused. It can go on from step")
    assert "stays reserved for it" in text_of(window, "train_outcome")
    assert window.page.primary.objectName() == "train_resume", "nothing else can be done now"
    assert window.findChild(QWidget, "note_train").accessibleName().startswith("The paused run holds this ε")
    assert not window.findChild(QWidget, "train_raise_cap").isVisible()
    assert not window.findChild(QLabel, "budget_warning").isVisible(), "the run that is paused is not refused"
    (release,) = releases()
    assert release.status == "reserved"
    (folder,) = runs_folder().iterdir()

    # Resume in the same window, then close it in the middle: it asks, and pauses.
    press(window, "train_resume")
    before = going.step
    qtbot.waitUntil(lambda: going.step > before + 100)
    told = answer("no")
    window.close()
    assert "If you pause it, it goes on later at no further cost." in told[-1]
    assert window.isVisible()
    answer("pause")
    window.close()
    gone(window, qtbot)
    assert [r.status for r in releases()] == ["reserved"]
    assert not (tmp_path / "net").exists()

    # Another window offers it as soon as the table is open.
    again = second()
    press(again, "sample_breast-cancer")
    idle(again)
    assert "is paused after" in again.statusBar().currentMessage()
    press(again, "tab_train")
    with Ledger.read() as book:
        taken = book.steps_taken(release.release_id)
    assert 200 < taken < 1800
    assert f"is paused after {taken:,} of 1,800 steps" in text_of(again, "train_paused")
    press(again, "train_resume")
    going = again.page.going
    first = going.epsilon.points[1]
    assert first[0] == taken
    assert 0 < first[1] < 3, "ε continues where it was"
    idle(again)
    idle(again)
    epsilons = going.epsilon.points
    assert [v for _, v in epsilons] == sorted(v for _, v in epsilons)
    assert epsilons[-1][0] == 1800

    # It ended as an uninterrupted run would: one charge, all steps, the very noise.
    (final,) = releases()
    assert (final.release_id, final.status, final.epsilon) == (release.release_id, "charged", release.epsilon)
    assert final.epsilon <= 3
    assert f"Charged ε = {at_most(final.epsilon)}" in text_of(again, "train_outcome")
    assert read_card(tmp_path / "net")["training"]["steps"] == 1800
    assert verify_release(tmp_path / "net") == []
    with (tmp_path / "net" / "private" / "metrics.csv").open(newline="", encoding="utf-8") as stream:
        steps = [int(line["step"]) for line in csv.DictReader(stream)]
    assert steps == sorted(set(steps))
    assert steps[-1] == 1800
    assert not folder.exists()
    idle(again)
    assert not again.findChild(QWidget, "train_resume").isVisible()


@pytest.mark.slow
def test_a_quiet_run_shows_nothing_private_and_who_cancels_it_pays_for_its_steps(
    window, qtbot, press, idle, answer, tmp_path
):
    to_train(window, qtbot, press, idle, tmp_path, epochs="2000")
    box = window.findChild(QCheckBox, "train_quiet")
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    assert "cancelling costs only the steps taken" in text_of(window, "train_quiet_words")
    told = answer("yes")
    press(window, "train_start")
    going = window.page.going
    qtbot.waitUntil(lambda: going.step > 300)
    assert "cancelling costs only the steps taken" in told[-1]
    assert going.loss.points == ()
    assert not going.loss.isVisible()
    assert not going.norms.isVisible()
    assert window.page.job is not None
    assert 0 < window.page.job.at_stake < 2
    answer("lose")
    press(window, "train_cancel")
    qtbot.waitUntil(lambda: not window.page.running)
    idle(window)
    idle(window)
    (release,) = releases()
    assert release.status == "settled"
    assert 0 < release.epsilon < 2
    assert window.session.account.spent == release.epsilon
    assert "stays charged, as so many steps were taken" in text_of(window, "train_outcome")
    assert list(runs_folder().iterdir()) == []
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_where_the_accuracy_went_is_one_click_and_charges_nothing(window, qtbot, press, idle, tmp_path):
    to_train(window, qtbot, press, idle, tmp_path, epochs="20")
    press(window, "train_where")
    assert not window.findChild(QWidget, "train_where").isEnabled()
    chart = window.page.going.where
    qtbot.waitUntil(lambda: bool(chart.stages))
    assert chart.isVisible()
    assert [name for name, _, _ in chart.stages] == ["no privacy", "clipped", "clipped and noisy"]
    plain, clipped, noisy = (accuracy for _, accuracy, _ in chart.stages)
    assert plain > 0.9
    assert clipped > 0.85
    assert noisy > 0.5
    assert "nothing is released or charged" in chart.accessibleName()
    assert any(
        badge.text() == "PRIVATE – NOT FOR RELEASE" and badge.isVisible() for badge in window.findChildren(QLabel)
    )
    idle(window)
    assert releases() == []
    assert list(tmp_path.iterdir()) == []
    retype(window, qtbot, "train_logistic_epochs", "21")
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())
