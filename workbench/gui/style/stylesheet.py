"""The style sheet: few boxes, one radius, spacing in steps of 4.

Widgets are distinguished by the dynamic property ``look`` (:func:`workbench.gui.widgets.basic.look`).
"""

from __future__ import annotations

import re
from string import Template

from PySide6.QtGui import QColor

from workbench.paths import resources
from workbench.render.palette import Theme

RADIUS = 6
ROW = 32
PAD = 16
MARGIN = 24

_SCALED = re.compile(r"((?:font-size|min-height|max-height): )(\d+)px")

_SHEET = Template("""
QToolTip { background: $surface; color: $text; border: 1px solid $line; padding: 6px 8px; }
QMainWindow, QDialog { background: $window; }
QScrollArea, QScrollArea > QWidget > QWidget[look="clear"] { background: transparent; border: none; }

QFrame[look="card"] { background: $surface; border: 1px solid $line; border-radius: ${radius}px; }
QFrame#drop_here { background: $surface; border: 1px dashed $muted; border-radius: 8px; }
QFrame[look="quiet"] { background: transparent; border: none; }
QFrame[look="banner-error"] { background: $danger_faint; border: 1px solid $danger; border-radius: ${radius}px; }
QFrame[look="banner-warning"] { background: $warn_faint; border: 1px solid $warn; border-radius: ${radius}px; }
QFrame[look="banner-info"] { background: $selection; border: 1px solid $accent; border-radius: ${radius}px; }
QFrame[look="rule"] { background: $line; border: none; max-height: 1px; min-height: 1px; }

QLabel { background: transparent; }
QLabel[look="muted"], QCheckBox[look="muted"] { color: $muted; }
QLabel[look="caption"] { color: $muted; font-weight: 600; font-size: 12px; }
QLabel[look="title"] { font-weight: 600; font-size: 24px; }
QLabel[look="heading"] { font-weight: 600; font-size: 15px; }
QLabel[look="figure"] { font-weight: 600; font-size: 26px; }
QLabel[look="problem"] { color: $danger; font-size: 13px; }
QLabel[look="refused"] { color: $danger; font-size: 13px; background: $surface; border: 1px solid $danger;
    border-radius: 6px; padding: 4px 8px; }
QLabel[look="warn"] { color: $warn; }
QLabel[look="danger"] { color: $danger; }
QLabel[look="accent"] { color: $accent; }
QLabel[look="badge"] {
    color: $danger; border: 1px solid $danger; border-radius: 4px; padding: 2px 8px;
    font-size: 11px; font-weight: 700;
}

QPushButton, QToolButton[look="button"] {
    background: $surface; color: $text; border: 1px solid $line; border-radius: ${radius}px;
    padding: 0 14px; min-height: 30px;
}
QToolButton[menu="true"] { padding-right: 30px; }
QToolButton[menu="true"]::menu-indicator {
    image: url($chevron); width: 12px; height: 12px; right: 10px;
    subcontrol-origin: padding; subcontrol-position: center right;
}
QPushButton:hover, QToolButton[look="button"]:hover { border-color: $muted; }
QPushButton:pressed { background: $selection; }
QPushButton:focus, QToolButton[look="button"]:focus { border: 2px solid $accent; padding: 0 13px; min-height: 28px; }
QPushButton:disabled { color: $disabled; border-color: $line; background: $window; }
QPushButton[look="primary"] { background: $accent; color: $on_accent; border-color: $accent; font-weight: 600; }
QPushButton[look="primary"]:hover { background: $accent_strong; border-color: $accent_strong; }
QPushButton[look="primary"]:focus { border: 2px solid $text; }
QPushButton[look="primary"]:disabled { background: $line; color: $muted; border-color: $line; }
QPushButton[look="danger"] { color: $danger; border-color: $danger; }
QPushButton[look="link"] {
    background: transparent; border: 1px solid transparent; color: $accent; padding: 0 2px; margin-left: -3px;
    text-align: left; min-height: 22px;
}
QPushButton[look="link"][dense="true"] { min-height: 15px; text-align: right; }
QPushButton[look="link"]:hover { text-decoration: underline; }
QPushButton[look="link"]:focus { background: $selection; border-radius: 4px; text-decoration: underline; }
QPushButton[look="link"]:disabled { color: $muted; background: transparent; border-color: transparent; }
QPushButton[look="sample"] { text-align: left; padding: 12px 16px; }
QPushButton[look="sample"]:hover { background: $hover; }
QPushButton[look="segment"] { border-radius: ${radius}px; border-color: transparent; background: transparent;
    color: $muted; padding: 0 12px; min-height: 28px; }
QPushButton[look="segment"]:checked { background: $selection; color: $text; font-weight: 600; }
QPushButton[look="segment"]:focus { border: 2px solid $accent; padding: 0 11px; min-height: 26px; }

QPushButton[look="tab"] { border: none; border-radius: 0; border-bottom: 3px solid transparent; background: transparent;
    color: $muted; padding: 0 8px; min-height: 30px; font-size: 15px; font-weight: 600; }
QPushButton[look="tab"]:hover { color: $text; }
QPushButton[look="tab"]:checked { color: $text; border-bottom-color: $accent; }
QPushButton[look="tab"]:focus { background: $selection; border-radius: 4px; }

QLineEdit, QComboBox, QPlainTextEdit, QSpinBox, QDoubleSpinBox {
    background: $surface; color: $text; border: 1px solid $line; border-radius: ${radius}px;
    padding: 0 8px; min-height: 30px; selection-background-color: $accent; selection-color: $on_accent;
    placeholder-text-color: $muted;
}
QPlainTextEdit { padding: 6px; }
QLineEdit:focus, QComboBox:focus, QPlainTextEdit:focus { border: 2px solid $accent; padding: 0 7px; min-height: 28px; }
QLineEdit:disabled, QComboBox:disabled { color: $disabled; background: $window; placeholder-text-color: $disabled; }
QLineEdit[wrong="true"], QPlainTextEdit[wrong="true"], QComboBox[wrong="true"] { border: 1px solid $danger; }
QLineEdit[wrong="true"]:focus { border: 2px solid $danger; }
QComboBox { padding-right: 0; selection-background-color: $selection; selection-color: $text; }
QComboBox:focus { padding-right: 0; }
QComboBox QLineEdit, QComboBox QLineEdit:focus { border: none; padding: 0 0 1px 0; margin-left: -2px; min-height: 0;
    background: transparent; }
QComboBox::drop-down { border: none; width: 26px; }
QComboBox::down-arrow { image: url($chevron); width: 12px; height: 12px; }
QComboBox QAbstractItemView {
    background: $surface; border: 1px solid $line; selection-background-color: $selection; selection-color: $text;
    outline: none; padding: 4px;
}
QAbstractItemView QLineEdit, QAbstractItemView QComboBox { min-height: 0; border-radius: 0; }

QTextBrowser, QListWidget { background: $surface; color: $text; border: none; outline: none; }
QListWidget::item { padding: 6px 8px; border-radius: 4px; }
QListWidget::item:selected { background: $selection; color: $text; }

QCheckBox, QRadioButton { spacing: 8px; min-height: 24px; }
QCheckBox:focus, QRadioButton:focus { color: $accent; }
QCheckBox::indicator, QListWidget::indicator {
    width: 14px; height: 14px; border: 1px solid $muted; border-radius: 4px; background: $surface;
}
QCheckBox::indicator:hover { border-color: $accent; }
QCheckBox::indicator:focus { border: 2px solid $accent; width: 12px; height: 12px; }
QCheckBox::indicator:checked, QListWidget::indicator:checked {
    background: $accent; border-color: $accent; image: url($check);
}
QRadioButton::indicator { width: 12px; height: 12px; border: 2px solid $muted; border-radius: 8px;
    background: $surface; }
QRadioButton::indicator:hover, QRadioButton::indicator:focus { border-color: $accent; }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 5px solid $accent; }
QRadioButton::indicator:disabled { border-color: $line; }
QCheckBox::indicator:disabled { border-color: $line; background: $window; }
QCheckBox::indicator:checked:disabled { background: $disabled; border-color: $disabled; }

QTableView {
    background: $surface; border: none; gridline-color: $line; alternate-background-color: $surface; outline: none;
    selection-background-color: $selection; selection-color: $text;
}
QTableView::item { padding: 0 8px; border: none; }
QTableView::item:selected { background: $selection; }
QTableView:focus { border: none; }
QHeaderView { background: $surface; border: none; }
QHeaderView::section {
    background: $surface; color: $muted; border: none; border-bottom: 1px solid $line; padding: 0 11px;
    font-weight: 600; font-size: 13px; min-height: 30px;
}
QHeaderView::section:vertical { border-bottom: none; font-weight: 400; font-size: 12px; }
QTableCornerButton::section { background: $surface; border: none; border-bottom: 1px solid $line; }

QAbstractScrollArea::corner { background: transparent; border: none; }
QSlider { min-height: 22px; background: transparent; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $line; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: $accent; }
QSlider::sub-page:horizontal:disabled { background: $line; }
QSlider::handle:horizontal { width: 14px; margin: -5px 0; border-radius: 7px; background: $accent; }
QSlider::handle:horizontal:focus { width: 10px; margin: -7px 0; border: 4px solid $accent; border-radius: 9px;
    background: $surface; }
QSlider::handle:horizontal:disabled { background: $disabled; }

QScrollBar:vertical { background: transparent; width: 12px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; }
QScrollBar::handle { background: $handle; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QProgressBar { background: $track; border: none; border-radius: 5px; min-height: 10px; max-height: 10px;
    color: transparent; }
QProgressBar::chunk { background: $accent; border-radius: 5px; }

QMenuBar { background: $window; border: none; padding: 2px 8px; }
QMenuBar::item { padding: 4px 10px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: $selection; }
QMenu { background: $surface; border: 1px solid $line; padding: 4px; }
QMenu::item { padding: 6px 28px 6px 24px; border-radius: 4px; }
QMenu::item:selected { background: $selection; }
QMenu::item:disabled { color: $disabled; }
QMenu::separator { height: 1px; background: $line; margin: 4px 8px; }
QStatusBar { background: $window; color: $muted; }
QStatusBar::item { border: none; }
QSplitter::handle { background: transparent; }
""")


def stylesheet(theme: Theme, scale: float = 1.0) -> str:
    """Return the style sheet in the colours of ``theme``, with text and the heights it needs at ``scale``."""
    dark = theme.name == "dark"
    colours = {k: getattr(theme, k) for k in ("window", "surface", "text", "muted", "line", "selection")}
    sheet = _SHEET.substitute(
        colours,
        accent=theme.accent,
        warn=theme.warn,
        danger=theme.danger,
        on_accent=theme.window if dark else "#FFFFFF",
        accent_strong=QColor(theme.accent).lighter(112).name() if dark else QColor(theme.accent).darker(112).name(),
        danger_faint=mixed(theme.surface, theme.danger, 0.08),
        warn_faint=mixed(theme.surface, theme.warn, 0.10),
        hover=mixed(theme.surface, theme.accent, 0.05),
        handle=mixed(theme.line, theme.muted, 0.35),
        track=mixed(theme.window, theme.line, 0.6),
        disabled=mixed(theme.muted, theme.window, 0.45),
        radius=RADIUS,
        check=(resources() / "icons" / f"check-{theme.name}.svg").as_posix(),
        chevron=(resources() / "icons" / f"chevron-{theme.name}.svg").as_posix(),
    )
    if scale == 1.0:
        return sheet
    return _SCALED.sub(lambda found: f"{found[1]}{round(int(found[2]) * scale)}px", sheet)


def mixed(one: str, other: str, share: float) -> str:
    """Return the colour that is ``share`` of ``other`` and the rest of ``one``."""
    a, b = QColor(one), QColor(other)
    pairs = ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
    return QColor(*(round(x + (y - x) * share) for x, y in pairs)).name()
