"""Every page fits the smallest window that is promised, whatever the lists of models and mechanisms hold."""

from __future__ import annotations

from workbench.gui.pages import PAGES


def test_no_page_needs_more_than_1280_by_800_pixels(window, press, idle) -> None:
    press(window, "sample_people")
    idle(window)
    for page in PAGES:
        press(window, f"tab_{page.name}")
        idle(window)
        needed = window.minimumSizeHint()
        assert needed.width() <= 1280, page.name
        assert needed.height() <= 800, page.name
    assert (window.width(), window.height()) == (1280, 800)
