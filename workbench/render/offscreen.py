"""PNG and SVG files without a window: drawn by a child process, so that the command line never loads Qt."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from workbench.params import InputError, WorkbenchError
from workbench.processes.child_program import command, environment
from workbench.render.palette import THEMES
from workbench.render.values import Figure, kind_of

WIDTH, HEIGHT, SCALE = 1280, 800, 2.0
SUFFIXES = (".png", ".svg")
PATIENCE = 120.0  # seconds that a drawing may take

APT = "apt install libgl1 libegl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libglib2.0-0"
NO_QT, LATE = 3, 124  # status of a child in which Qt cannot be loaded, and of one that takes too long


def write_figure(
    figure: Figure,
    path: Path,
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    scale: float = SCALE,
    theme: str = "light",
) -> None:
    """Draw ``figure`` into ``path``; the file appears whole or not at all, and with a badge nobody else can read it.

    Args:
        figure: what to draw.
        path: ends in .png or .svg.
        width: logical pixels; a PNG is ``scale`` times as wide.
        height: logical pixels.
        scale: pixels per logical pixel of a PNG.
        theme: ``light`` or ``dark``.

    Raises:
        InputError: the suffix is another, or the place cannot be written.
        WorkbenchError: a library of Qt is missing, or the drawing failed.
    """
    check_plot_path(path)
    request = (kind_of(figure).module, figure, path.absolute(), width, height, scale, theme)
    part = path.with_name(f"{path.name}.part")
    try:
        status, _, last = answer_of_child("workbench.render.offscreen", request)
    finally:
        if os.path.exists(part):
            part.unlink()
    if status == LATE:
        raise WorkbenchError(f"the figure was not drawn in {PATIENCE:.0f} seconds", str(path), "try again")
    if status == NO_QT:
        raise WorkbenchError(f"Qt cannot draw the figure: {last}", str(path), f"on Debian or Ubuntu: {APT}")
    if status == InputError.exit_code:
        raise InputError(last, str(path), "choose another place")
    if status:
        raise WorkbenchError(f"the figure could not be drawn: {last}", str(path), "report this with the figure's data")


def answer_of_child(module: str, request: object) -> tuple[int, bytes, str]:
    """Return what the ``main`` of ``module`` answers in a child process that draws without a screen.

    Returns:
        its exit status (:data:`LATE` where it has not ended), what it wrote, and the last line of what it said.
    """
    words, given = command(module), pickle.dumps(request)
    variables = environment(
        {
            "QT_QPA_PLATFORM": "offscreen",
            "QT_HASH_SEED": "0",  # Qt writes the fonts of a PDF in the order of a table that is seeded at each start
        }
    )
    try:
        child = subprocess.run(words, input=given, capture_output=True, env=variables, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return LATE, b"", ""
    said = child.stderr.decode(errors="replace").strip()
    status = NO_QT if child.returncode and "platform plugin" in said else child.returncode
    return status, child.stdout, said.splitlines()[-1] if said else ""


def asked_of_child() -> Any:
    """Return the request that a child finds on its standard input, where this program itself has written it."""
    # Ctrl+C reaches the whole foreground group; whether to stop is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return pickle.load(sys.stdin.buffer)


def check_plot_path(path: Path) -> None:
    """Refuse, before any work, a place where no picture can be written.

    Raises:
        InputError: the suffix is neither .png nor .svg, or the folder does not exist, or the name is a folder's.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InputError("a plot is a .png or .svg file", str(path), "use a name that ends in .png or .svg")
    # os.path answers false, where pathlib raises, of a name too long for the system.
    if os.path.isdir(path) or not os.path.isdir(path.absolute().parent):
        raise InputError("the plot cannot be written there", str(path), "use a folder that exists")


def main() -> int:
    """Draw the request on standard input; the child's only task."""
    name, figure, path, *look = asked_of_child()
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return NO_QT
    from PySide6.QtWidgets import QApplication

    # Held to the end of the process: Qt crashes where a widget outlives its application.
    application = QApplication([])
    try:
        _draw(module, figure, path, *look)
    except OSError as error:
        sys.stderr.write(f"the figure cannot be written: {error.strerror or error}\n")
        return InputError.exit_code
    application.quit()
    return 0


def _draw(module: Any, figure: Figure, path: Path, width: int, height: int, scale: float, theme: str) -> None:
    from PySide6.QtCore import QBuffer, QRect, QSize
    from PySide6.QtGui import QImage, QImageWriter
    from PySide6.QtSvg import QSvgGenerator

    vector = path.suffix.lower() == ".svg"
    view = module.view(figure, THEMES[theme])
    memory = QBuffer()
    memory.open(QBuffer.OpenModeFlag.WriteOnly)
    if vector:
        drawing = QSvgGenerator()
        drawing.setOutputDevice(memory)
        drawing.setSize(QSize(width, height))
        drawing.setViewBox(QRect(0, 0, width, height))
        drawing.setTitle(figure.title)
        drawing.setDescription(figure.badge)
        paint(view, drawing, width, height)
    else:
        image = QImage(round(width * scale), round(height * scale), QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)
        paint(view, image, width, height)
        writer = QImageWriter(memory, b"png")
        if not writer.write(image):
            raise OSError(writer.errorString())
    # The whole figure is in memory before the first byte is written, then the name appears at once.
    part = path.with_name(f"{path.name}.part")
    # A figure with a badge is private: nobody else may read its file.
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600 if figure.badge else 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(memory.data().data())
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def paint(view: Any, device: Any, width: int, height: int) -> None:
    """Paint the widget of a figure on ``device``, at ``width`` by ``height`` logical pixels."""
    from PySide6.QtGui import QPainter

    view.place(width, height)
    with QPainter(device) as painter:
        view.draw(painter)


if __name__ == "__main__":
    sys.exit(main())
