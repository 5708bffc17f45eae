"""The command that counts rooms, floors, arrows and circles: right of this checkout, and it finds what is planted."""

from pathlib import Path

import pytest
import structure

SOUND = {
    "__init__.py": "",
    "low.py": "LOW = 1\n",
    "gui/__init__.py": "",
    "gui/widgets.py": "from workbench.low import LOW\n\nWIDGET = LOW\n",
    "gui/pages/__init__.py": "from workbench.gui.pages import one, two\n\nPAGES = (one, two)\n",
    "gui/pages/one/__init__.py": "PAGE = 1\n",
    "gui/pages/one/page.py": "from workbench.gui.widgets import WIDGET\n\nONE = WIDGET\n",
    "gui/pages/two/__init__.py": "PAGE = 2\n",
    "gui/pages/two/page.py": "def made():\n    from workbench.gui.widgets import WIDGET\n\n    return WIDGET\n",
}


def said(monkeypatch: pytest.MonkeyPatch, capsys, folder: Path, changes: dict[str, str]) -> tuple[int, str]:
    for name, text in {**SOUND, **changes}.items():
        file = folder / "workbench" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    monkeypatch.setattr(structure, "ROOT", folder)
    code = structure.main(["workbench.gui"])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("package", ["workbench", "workbench.gui"])
def test_this_program_has_no_circle_and_no_page_that_imports_another(package, capsys):
    assert structure.main([package]) == 0
    assert "0 circles of rooms; 0 circles of files" in capsys.readouterr().out


def test_rooms_floors_and_arrows_are_counted(monkeypatch, capsys, tmp_path):
    code, told = said(monkeypatch, capsys, tmp_path, {})
    assert code == 0
    assert "workbench.gui: 4 rooms, 3 floors, 4 arrows, 0 circles of rooms" in told


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"low.py": "import workbench.gui.widgets\n\nLOW = 1\n"}, "circle: workbench.gui.widgets, workbench.low"),
        (
            {"gui/pages/two/page.py": "from workbench.gui.pages.one.page import ONE\n\nTWO = ONE\n"},
            "a page imports another: workbench.gui.pages.two.page -> workbench.gui.pages.one.page",
        ),
        (
            {"gui/widgets.py": "from workbench.gui.pages.one import PAGE\n\nWIDGET = PAGE\n"},
            "circle: workbench.gui.pages.one, workbench.gui.widgets",
        ),
    ],
)
def test_a_planted_fault_is_found(monkeypatch, capsys, tmp_path, changes, words):
    code, told = said(monkeypatch, capsys, tmp_path, changes)
    assert code == 1
    assert words in told
