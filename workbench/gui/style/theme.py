"""The look of the window: the project's palette on the Fusion style, light and dark, switched while running."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from workbench.gui.style.language import tr_later
from workbench.gui.style.stylesheet import mixed, stylesheet
from workbench.render.fonts import font, scaled, set_scale
from workbench.render.palette import DARK, LIGHT, Theme

MODES = {"system": tr_later("System"), "light": tr_later("Light"), "dark": tr_later("Dark")}
SMALLEST, LARGEST = 80, 200  # percent

BASE = 14  # pixels of the base font: 10.5 points at 96 dots per inch


def palette(theme: Theme) -> QPalette:
    """Return Qt's palette of ``theme``."""
    roles = QPalette.ColorRole
    out = QPalette()
    for colour, painted in (
        (theme.window, (roles.Window, roles.AlternateBase)),
        (theme.surface, (roles.Base, roles.Button, roles.ToolTipBase, roles.Light)),
        (theme.text, (roles.WindowText, roles.Text, roles.ButtonText, roles.ToolTipText, roles.HighlightedText)),
        (theme.muted, (roles.PlaceholderText,)),
        (theme.line, (roles.Midlight, roles.Mid, roles.Dark, roles.Shadow)),
        (theme.selection, (roles.Highlight,)),
        (theme.accent, (roles.Link, roles.LinkVisited, roles.Accent)),
        (theme.danger, (roles.BrightText,)),
    ):
        for role in painted:
            out.setColor(role, QColor(colour))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        out.setColor(QPalette.ColorGroup.Disabled, role, QColor(mixed(theme.muted, theme.window, 0.45)))
    return out


def base_font() -> QFont:
    """Return the typeface of the window, with figures of equal width."""
    return font(BASE)


HELD: dict[str, Callable[[QWidget, int], None]] = {
    "held": QWidget.setFixedWidth,
    "held_most": QWidget.setMaximumWidth,
    "held_height": QWidget.setFixedHeight,
    "held_least": QWidget.setMinimumHeight,
}
"""What follows the size of text, by the property of a part that says its pixels at 100 %."""


class ThemeSwitch(QObject):
    """Keeps the window in the colours that the person or the system wants.

    The style sheet is the window's, and so that of its dialogs, menus and tooltips: as the application's it took four
    times as long to change.
    """

    def __init__(self, window: QWidget, shown: Callable[[Theme], object]) -> None:
        super().__init__(window)
        self.mode = "system"  # `system`, `light` or `dark`
        self.scale = 100  # the size of text in percent
        self._window, self._shown = window, shown
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._follow)

    def set_mode(self, mode: str) -> None:
        self.mode = mode
        self._apply()

    def set_scale(self, percent: int) -> None:
        """Show text at ``percent`` of its usual size, within what pages have room for."""
        self.scale = min(max(percent, SMALLEST), LARGEST)
        set_scale(self.scale / 100)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.setFont(base_font())
        for part in self._window.findChildren(QWidget):
            for name, hold in HELD.items():
                if held := part.property(name):
                    hold(part, scaled(held))
        self._apply()

    def _follow(self) -> None:
        if self.mode == "system":
            self._apply()

    def _apply(self) -> None:
        dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        theme = {"light": LIGHT, "dark": DARK}.get(self.mode, DARK if dark else LIGHT)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.setPalette(palette(theme))
        self._window.setStyleSheet(stylesheet(theme, self.scale / 100))
        self._shown(theme)
