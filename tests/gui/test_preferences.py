"""File → Preferences by clicks: the cluster on which releases are computed, its warning, and a release there."""

from collections.abc import Callable, Iterator
from typing import Any

from hands import LEFT, Hands
from local_cluster import NO_DASK, here
from mishaps import retype, statuses, text_of
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from workbench.data import cluster_parts
from workbench.gui.session.settings import Cluster, Settings
from workbench.gui.shell.preferences import PreferencesDialog
from workbench.params import WorkbenchError
from workbench.release import rows_on_workers
from workbench.release.verify import verify_release

pytestmark = NO_DASK


def _from_the_menu(hands: Hands) -> PreferencesDialog:
    """Open the dialog by the mouse: File, then its entry."""
    bar = hands.window.menuBar()
    file = next(action for action in bar.actions() if action.text().replace("&", "") == "File")
    hands.qtbot.mouseClick(bar, LEFT, pos=bar.actionGeometry(file).center())
    menu = file.menu()
    hands.until(menu.isVisible)
    entry = next(action for action in menu.actions() if "Preferences" in action.text().replace("&", ""))
    hands.qtbot.mouseClick(menu, LEFT, pos=menu.actionGeometry(entry).center())
    hands.until(lambda: bool(_shown(hands.window)))
    return _shown(hands.window)[0]


def _shown(window: QWidget) -> list[PreferencesDialog]:
    return [dialog for dialog in window.findChildren(PreferencesDialog) if dialog.isVisible()]


def _type(dialog: QWidget, qtbot: Any, text: str) -> tuple[str, bool]:
    """Type an address; return what is said of it, and whether it can be saved."""
    field = dialog.findChild(QLineEdit, "cluster_field")
    field.selectAll()
    qtbot.keyClicks(field, text)
    return text_of(dialog, "cluster_said"), dialog.findChild(QWidget, "cluster_save").isEnabled()


def test_a_cluster_is_chosen_warned_of_and_remembered(window, hands, press, qtbot, tmp_path, monkeypatch):
    dialog = _from_the_menu(hands)
    assert not dialog.findChild(QWidget, "cluster_field").isVisible()
    press(dialog, "cluster_address")
    assert not dialog.findChild(QWidget, "cluster_save").isEnabled()
    said, usable = _type(dialog, qtbot, "http://host:1")
    assert "is not the address of a Dask scheduler" in said
    assert not usable
    said, usable = _type(dialog, qtbot, "tcp://10.0.0.7:8786")
    assert "anyone on the network can read rows" in said
    assert usable
    for quiet in ("tls://10.0.0.7:8786", "tcp://127.0.0.1:8786"):
        assert _type(dialog, qtbot, quiet) == ("", True)
    press(dialog, "cluster_save")
    assert window.session.cluster == Settings().cluster == Cluster("tcp://127.0.0.1:8786")
    dialog = _from_the_menu(hands)
    file = str(tmp_path / "scheduler.json")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (file, ""))
    press(dialog, "cluster_file")
    press(dialog, "cluster_browse")
    assert "anyone on the network can read rows" in text_of(dialog, "cluster_said")
    press(dialog, "cluster_save")
    assert window.session.cluster == Settings().cluster == Cluster(file=file)
    dialog = _from_the_menu(hands)
    assert dialog.findChild(QLineEdit, "cluster_field").text() == file
    press(dialog, "cluster_here")
    press(dialog, "cluster_leave")
    assert window.session.cluster == Cluster(file=file)
    dialog = _from_the_menu(hands)
    press(dialog, "cluster_here")
    press(dialog, "cluster_save")
    assert Settings().cluster == Cluster()


def _dying(then: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return what runs tasks as ``then``, but the first time that rows are drawn the scheduler dies."""
    drawn: list[str] = []

    def run(address: str, work: Any, shared: Any, tasks: Any, **more: Any) -> Iterator[Any]:
        dies = shared.work is rows_on_workers._draw and not drawn
        for number, (task, found) in enumerate(then(address, work, shared, tasks, **more)):
            if dies and number == 2:
                drawn.append("")
                raise WorkbenchError(
                    "the connection to the scheduler was lost", address, "run it again to finish the rest"
                )
            yield task, found

    return run


def test_a_release_is_drawn_on_the_cluster_and_goes_on_when_it_was_interrupted(
    people, press, idle, answer, qtbot, tmp_path, monkeypatch
):
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 1 << 13)
    monkeypatch.setattr(cluster_parts, "run_tasks_on", _dying(here()))
    people.session.cluster = Cluster("tcp://127.0.0.1:1")
    people.session.choose_way("rows")
    people.show_page("release")
    idle(people)
    target = tmp_path / "released.csv"
    retype(people, qtbot, "release_target", target)
    answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: statuses() == ["charged"])
    idle(people)
    assert not target.exists()
    assert "the same command continues it, and nothing more is charged" in text_of(people, "banner_text")
    told = answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(target.exists)
    idle(people)
    assert "This release was interrupted" in told[-1]
    assert "costs nothing more" in told[-1]
    assert verify_release(target) == []
    assert statuses() == ["charged"]


def test_statistics_are_counted_on_the_cluster(people, press, idle, answer, qtbot, tmp_path, monkeypatch):
    ran: list[str] = []
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here(before=ran.append))
    people.session.cluster = Cluster("tcp://127.0.0.1:1")
    people.session.choose_way("statistics")
    people.show_page("release")
    idle(people)
    target = tmp_path / "figures.csv"
    retype(people, qtbot, "release_target", target)
    answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(target.exists)
    idle(people)
    assert "_of_part" in ran
    assert statuses() == ["charged"]
