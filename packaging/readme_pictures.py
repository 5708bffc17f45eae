#!/usr/bin/env python3
"""Take the README's pictures: the decision screen of the people sample at ε = 1, light and dark, 1280×800.

    .venv/bin/python packaging/readme_pictures.py [--out FOLDER]

The window is the real one, drawn without a screen, with an empty home of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THEMES = ("light", "dark")
SIZE = (1280, 800)
PATIENCE_S = 120.0
CALM_LOOKS = 40
"""In how many looks of 20 ms no job may run: forms wait a moment before they work something out."""


def main() -> int:
    """Take the picture of each theme in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "resources" / "pictures", help="folder of the pictures")
    parser.add_argument("--theme", choices=THEMES, help=argparse.SUPPRESS)  # this process has the window
    asked = parser.parse_args()
    if asked.theme:
        return take(asked.theme, asked.out / f"window-ways-{asked.theme}.png")
    asked.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for theme in THEMES:
        with tempfile.TemporaryDirectory() as home:
            names = ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA", "APPDATA")
            surroundings = {**os.environ, **dict.fromkeys(names, home), "QT_QPA_PLATFORM": "offscreen"}
            surroundings["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(
                os.pathsep
            )
            command = [sys.executable, __file__, "--theme", theme, "--out", str(asked.out.absolute())]
            failed += subprocess.run(command, env=surroundings, timeout=3 * PATIENCE_S, check=False).returncode != 0
    return failed


def take(theme: str, file: Path) -> int:
    """Open the sample, wait for the marks of every way, and save the picture."""
    from PySide6.QtTest import QTest

    from workbench.gui.app import application, main_window, settle
    from workbench.gui.shell import main_window as shell

    shell.FIRST_TOUR = False
    app = application()
    window = main_window()
    window.theme.set_mode(theme)
    window.resize(*SIZE)
    window.show()
    settle(window, "sample:people")
    deadline, quiet = time.monotonic() + PATIENCE_S, 0
    while quiet < CALM_LOOKS:
        if window.session.opened is not None and window.page.objectName() != "page_ways":
            window.show_page("ways")
        quiet = 0 if window.jobs.running or window.session.opened is None else quiet + 1
        QTest.qWait(20)
        if time.monotonic() > deadline:
            print("the work does not end")
            return 1
    saved = window.grab().save(str(file))
    window.session.may_leave = lambda then: True
    window.jobs.shut_down()
    window.close()
    app.processEvents()
    return 0 if saved else 1


if __name__ == "__main__":
    sys.exit(main())
