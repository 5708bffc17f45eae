"""Every sentence of the window is in every language, says the same names, and is said again at once in another."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from workbench.gui.shell.main_window import MainWindow
from workbench.gui.style import language
from workbench.gui.style.language import again, localised, set_language, tr, tr_n, tr_sentence, typed

DONE = ("questions", "shell", "style")
"""The folders that are complete: their texts are all translated, in every language."""


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "translations", Path(__file__).parents[2] / "packaging" / "translations.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
SOURCES = SCRIPT.sources()


@pytest.fixture
def _english_again() -> Iterator[None]:
    yield
    set_language("en")


@pytest.mark.parametrize("code", SCRIPT.FORMS)
def test_every_sentence_of_a_finished_folder_is_translated(code: str) -> None:
    known = {source: text for catalogue in SCRIPT.read(code).values() for source, text in catalogue.items()}
    lacking = [
        source.text
        for source in SOURCES.values()
        if source.folder in DONE and SCRIPT.unfinished(known.get(source.text, ""), code, plural=source.plural)
    ]
    assert not lacking


@pytest.mark.parametrize("code", SCRIPT.FORMS)
def test_a_translation_has_the_names_of_its_sentence_and_none_is_left_over(code: str) -> None:
    for folder, catalogue in SCRIPT.read(code).items():
        for text, translated in catalogue.items():
            assert text in SOURCES, f"{code}/{folder}: no code has {text!r}"
            assert not SCRIPT.wrong_places(text, translated, plural=SOURCES[text].plural), text


def test_no_text_of_a_finished_folder_is_left_in_english() -> None:
    left = [
        f"{file}:{each.node.lineno}: {each.text}"
        for file in SCRIPT.files_of(window=True)
        if SCRIPT.folder_of(file) in DONE
        for each in SCRIPT.unwrapped(file.read_text("utf-8"))
    ]
    assert not left


def test_what_looks_like_a_text_is_found() -> None:
    code = 'def f(w, n):\n    w.setText("done")\n    w.setToolTip(f"{n} rows left")\n    w.setObjectName("not me")\n'
    assert [each.text for each in SCRIPT.unwrapped(code)] == ["done", "{n} rows left"]
    assert not SCRIPT.unwrapped('def f(w):\n    w.setText(tr("done"))\n    w.setText("km/h")  # not translated\n')


@pytest.mark.usefixtures("_english_again")
def test_russian_has_three_forms_of_a_number_of_things() -> None:
    set_language("ru")
    said = [tr_n("{n} column", "{n} columns", n) for n in (1, 3, 11, 21, 25)]
    assert said == ["1 столбец", "3 столбца", "11 столбцов", "21 столбец", "25 столбцов"]
    set_language("en")
    assert tr_n("{n} column", "{n} columns", 2000) == "2,000 columns"


@pytest.mark.usefixtures("_english_again")
def test_a_sentence_of_the_engine_keeps_the_values_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    set_language("fr")
    engine = {"{column} has {n} bad values": "{column} a {n} valeurs fausses", "write a bound": "donnez une borne"}
    monkeypatch.setattr(language._now, "engine", (engine,))
    monkeypatch.setattr(language._now, "texts", {**language._now.texts, **engine})
    language._templates.cache_clear()
    assert tr_sentence("Close has 12 bad values") == "Close a 12 valeurs fausses"
    assert tr_sentence("Age has 12 bad values; write a bound") == "Age a 12 valeurs fausses; donnez une borne"
    assert tr_sentence("Write a bound.") == "Donnez une borne."
    assert tr_sentence("Something that nobody says") == "Something that nobody says"


@pytest.mark.usefixtures("_english_again")
def test_a_sentence_is_found_in_a_moment() -> None:
    set_language("fr")
    texts = [f"epsilon = {at} is more than is offered to them" for at in range(200)]
    tr_sentence("the index is made at the first one")
    begun = time.process_time()
    for text in texts:
        tr_sentence(text)
    assert (time.process_time() - begun) / len(texts) < 0.005


@pytest.mark.usefixtures("_english_again")
def test_numbers_are_written_and_read_with_a_comma() -> None:
    set_language("fr")
    assert localised("1,234.5") == "1\u202f234,5"
    assert [typed(text) for text in ("0,5", "0.5", "1\u202f234,5", "1e-6", "a, b")] == [
        *("0.5", "0.5", "1234.5", "1e-6", "a, b"),
    ]
    set_language("en")
    assert typed(" 1,5 ") == "1,5"  # as it was: an entry reads it by rules of its own


@pytest.mark.usefixtures("_english_again")
def test_what_was_said_is_said_again() -> None:
    set_language("fr")
    said = tr("Closed {title}.", title="Close")
    set_language("en")
    assert again(said) == "Closed Close."
    assert again("Some name of a file") == "Some name of a file"


@pytest.mark.usefixtures("_english_again")
def test_a_sentence_that_is_one_of_its_names_alone_is_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    set_language("fr")
    monkeypatch.setattr(language._now, "texts", {"from {rows}": "{rows}"})
    rows = tr_n("{n} row", "{n} rows", 3)
    assert again(tr("from {rows}", rows=rows)) == rows


@pytest.mark.usefixtures("_english_again")
def test_the_window_changes_its_language_while_it_is_open(window: MainWindow) -> None:
    title = window.rail.buttons["data"].text()
    window.menus.actions["language_ru"].trigger()
    assert window.rail.buttons["data"].text() == "Данные"
    assert window.settings.language == "ru"
    assert window.menus.actions["quit"].text() != "&Quit"
    window.menus.actions["language_en"].trigger()
    assert window.rail.buttons["data"].text() == title
    assert window.menus.actions["quit"].text() == "&Quit"
