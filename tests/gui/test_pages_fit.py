"""Every page fits the smallest window that is promised, whatever the lists of models and mechanisms hold."""

from __future__ import annotations

from workbench.gui.pages import PAGES


def test_no_page_needs_more_than_1280_by_800_pixels(window, press, idle) -> None:
    press(window, "sample_people")
    idle(window)
    for page in PAGES:
        press(window, f"rail_{page.name}")
        idle(window)
        needed = window.minimumSizeHint()
        assert needed.width() <= 1280, page.name
        assert needed.height() <= 800, page.name
    assert (window.width(), window.height()) == (1280, 800)


def test_the_rail_has_room_for_eighteen_pages_in_a_low_window(window) -> None:
    from dataclasses import replace

    from workbench.gui.shell.rail import HEIGHT, TIGHT, Rail

    kept = next(iter(window.findChildren(Rail)))
    others = kept.minimumSizeHint().height() - TIGHT * len(kept.buttons)
    rail = Rail([replace(PAGES[-1], name=f"page_{at}", step=at < 9) for at in range(18)], window.session)
    assert rail.minimumSizeHint().height() <= window.height() - 120
    assert others < 230
    assert all(line.height() == HEIGHT for line in kept.buttons.values())
