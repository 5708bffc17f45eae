"""``workbench gui``: the window."""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
from collections.abc import Mapping
from typing import Any

from workbench.cli.command import Command, Context
from workbench.params import InputError, WorkbenchError
from workbench.paths import resources

_LIBRARIES = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
}
"""What Qt loads for a window on X: library → Debian package."""


def _configure(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "data",
        nargs="?",
        metavar="FILE",
        help="CSV, TSV, Parquet or Feather file or set of images to open, or sample:NAME",
    )
    what.add_argument("--sample", metavar="NAME", help="a table that comes with the program")
    parser.add_argument(
        "--lang",
        choices=("en", *sorted(folder.name for folder in (resources() / "i18n").iterdir() if folder.is_dir())),
        help="language of the window (default: the one chosen in View, Language, else that of the system)",
    )


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    data: str | None = options.data
    if options.sample is not None:
        from workbench.data.samples.sample_tables import sample

        data = f"sample:{sample(options.sample).name}"
    check_display()
    try:
        from workbench.gui.app import run
    except ImportError as error:
        if error.name is not None and not error.name.startswith("PySide6"):
            raise
        raise WorkbenchError("Qt cannot be loaded", hint=f"run `{_apt(_LIBRARIES)}`, or install PySide6") from None
    return {"exit_code": run(data, options.lang)}


def check_display() -> None:
    """Raise where a window cannot be shown: Qt itself would abort the process."""
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if not sys.platform.startswith("linux") or platform.partition(":")[0] in ("offscreen", "minimal", "vnc", "linuxfb"):
        return
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise InputError(
            "there is no display for the window",
            hint="start it in a graphical session, or use the other commands (`workbench --help`)",
        )
    lacking = {library: package for library, package in _LIBRARIES.items() if not _loads(library)}
    if lacking:
        raise WorkbenchError(
            f"Qt needs system libraries that are missing here: {', '.join(lacking)}", hint=f"run `{_apt(lacking)}`"
        )


def _apt(packages: Mapping[str, str]) -> str:
    return f"sudo apt install {' '.join(packages.values())}"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _text(result: Mapping[str, Any]) -> str:
    return ""


COMMAND = Command("workbench gui --sample people", _configure, _run, _text, foreground=True)
