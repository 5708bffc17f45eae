"""A real window that runs out of memory while it trains; a process of its own, started by a test.

``python window_short_of_memory.py FOLDER`` prints what the window said, what the ledger has and what lies on disk.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from hands import choose_model, go_to
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QWidget
from short_memory_task import sign_to_limit, train_hungrily

from workbench.gui.app import application, main_window
from workbench.gui.widgets.dialogs import Question
from workbench.jobs import network

PATIENCE = 600.0
ROWS, COLUMNS = 8_000, 20
AT_ONCE = 2_500


def wait(condition: Callable[[], bool]) -> None:
    """Let the window live until ``condition`` holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        QTest.qWait(20)
        if time.monotonic() > end:
            raise TimeoutError("the window did not come to it")


def table(folder: Path) -> Path:
    """Write a table of numbers and a class."""
    path = folder / "table.csv"
    names = [f"x{i}" for i in range(COLUMNS)]
    lines = [",".join([*(str((row * (i + 3)) % 97) for i in range(COLUMNS)), str(row % 2)]) for row in range(ROWS)]
    path.write_text("\n".join([",".join([*names, "label"]), *lines]) + "\n")
    return path


def main(folder: Path) -> None:
    """Train until the memory ends, then another model in the same window."""
    network.train_network = train_hungrily
    application()
    window = main_window()
    window.show()
    errors: list[str] = []
    window.session.notified.connect(lambda level, text: errors.append(text) if level == "error" else None)
    notices: list[str] = []
    window.jobs.noticed.connect(lambda level, text: notices.append(text))

    def press(name: str) -> None:
        if name.startswith("tab_"):
            go_to(window, name.removeprefix("tab_"))
            return
        widget = window.findChild(QWidget, name)
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def retype(name: str, text: str) -> None:
        field = window.findChild(QLineEdit, name)
        field.selectAll()
        QTest.keyClicks(field, text)

    def said(name: str) -> str:
        return window.findChild(QLabel, name).text()

    def agree() -> None:
        for box in QApplication.topLevelWidgets():
            if isinstance(box, Question) and box.isVisible():
                box.findChild(QPushButton, "confirm_yes").click()
                return
        QTimer.singleShot(50, agree)

    def start() -> None:
        wait(lambda: window.page.primary.isEnabled())
        QTimer.singleShot(50, agree)
        press("train_start")

    window.open(str(table(folder)))
    wait(lambda: not window.jobs.running and window.session.opened is not None)
    session = window.session
    plan = session.plan.with_target("label")
    for i in range(COLUMNS):
        plan = plan.with_column(f"x{i}", kind="integer", lower=0, upper=96)
    plan = plan.with_column("label", kind="category", domain=("0", "1"))
    session.edit("declare what is public", plan.confirmed())
    go_to(window, "train")
    choose_model(window, "mlp")
    fields = {
        "epsilon": "3",
        "noise": "8",
        "delta": "1e-5",
        "batch": AT_ONCE,
        "epochs": "25",
        "physical_batch": AT_ONCE,
    }
    for key, text in fields.items():
        retype("train_epsilon" if key == "epsilon" else f"train_mlp_{key}", str(text))
    retype("train_folder", str(folder / "net"))
    start()
    going = window.page.going
    wait(lambda: len(going.accuracy.points) > 2)
    sign = sign_to_limit(folder / "net")
    sign.touch()
    wait(lambda: not window.page.running)
    wait(lambda: not window.jobs.running)
    sign.unlink()
    found = {
        "errors": list(errors),
        "halved": [text for text in notices if "memory was short" in text.lower()],
        "outcome": said("train_outcome"),
        "notice": said("train_notice"),
        "left": sorted(p.name for p in folder.iterdir() if p.name != "table.csv"),
        "steps_shown": going.step,
        "spent": float(session.account.spent),
    }
    from workbench.release.ledger.ledger import Ledger

    with Ledger.open() as book:
        (release,) = book.releases(session.account.dataset)
    found["charged_in_ledger"] = float(release.epsilon)
    found["whole"] = float(window.page._preflight.epsilon)

    # The network has spent the whole cap, which was made for it: another model needs a higher one.
    go_to(window, "ledger")
    wait(lambda: not window.jobs.running)
    retype("ledger_cap_field", "2")
    QTimer.singleShot(50, agree)
    press("ledger_set_cap")
    wait(lambda: float(session.account.cap) == 2)
    go_to(window, "train")
    choose_model(window, "naive-bayes")
    retype("train_epsilon", "0.1")
    retype("train_folder", str(folder / "second"))
    start()
    wait(lambda: not window.page.running)
    wait(lambda: not window.jobs.running)
    found["second"] = said("train_outcome")
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    window.jobs.shut_down()
    session.may_leave = lambda then: True
    window.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
