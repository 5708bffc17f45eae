"""Every sentence of the window is in every language, says the same names, and is said again at once in another."""

import functools
import importlib.util
import re
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from PySide6.QtWidgets import QLabel, QLineEdit, QListWidget, QTextBrowser, QWidget

from tests.gui.hands import go_to
from tests.gui.test_job_strip import endless
from workbench.cli.main import main
from workbench.gui import app
from workbench.gui.pages.data import facts
from workbench.gui.session.draft import DraftColumn
from workbench.gui.shell.retranslate import retranslate
from workbench.gui.style import language
from workbench.gui.style.language import (
    again,
    as_sentence,
    capital,
    localised,
    set_language,
    shown_list,
    tr,
    tr_n,
    tr_sentence,
    typed,
    typed_list,
)
from workbench.jobs import Job
from workbench.params import InputError, ParameterError, integer
from workbench.params.field import METADATA_KEY
from workbench.paths import resources
from workbench.render.help_topics import TOPICS, topic_markdown
from workbench.sanitize.plan import Plan
from workbench.sanitize.wishes import Wish
from workbench.studies.kind_questions import question_of


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


@functools.cache
def sources() -> dict[str, Any]:
    """Return every sentence by its text: not when the file is read, which both processes of tests do."""
    found: dict[str, Any] = SCRIPT.sources()
    return found


@pytest.fixture
def _english_again():
    yield
    set_language("en")


@pytest.mark.parametrize("code", SCRIPT.FORMS)
def test_every_sentence_of_a_finished_folder_is_translated(code):
    known = {source: text for catalogue in SCRIPT.read(code).values() for source, text in catalogue.items()}
    lacking = [
        source.text
        for source in sources().values()
        if SCRIPT.unfinished(known.get(source.text, ""), code, plural=source.plural)
    ]
    assert not lacking


@pytest.mark.parametrize("code", SCRIPT.FORMS)
def test_a_translation_has_the_names_of_its_sentence_and_none_is_left_over(code):
    for folder, catalogue in SCRIPT.read(code).items():
        for text, translated in catalogue.items():
            assert text in sources(), f"{code}/{folder}: no code has {text!r}"
            assert not SCRIPT.wrong_places(text, translated, plural=sources()[text].plural), text


def test_no_text_of_a_finished_folder_is_left_in_english():
    left = [
        f"{file}:{each.node.lineno}: {each.text}"
        for file in SCRIPT.files_of(window=True)
        for each in SCRIPT.unwrapped(file.read_text("utf-8"))
    ]
    assert not left


def test_what_looks_like_a_text_is_found():
    code = 'def f(w, n):\n    w.setText("done")\n    w.setToolTip(f"{n} rows left")\n    w.setObjectName("not me")\n'
    assert [each.text for each in SCRIPT.unwrapped(code)] == ["done", "{n} rows left"]
    assert not SCRIPT.unwrapped('def f(w):\n    w.setText(tr("done"))\n    w.setText("km/h")  # not translated\n')


@pytest.mark.usefixtures("_english_again")
def test_russian_has_three_forms_of_a_number_of_things():
    set_language("ru")
    said = [tr_n("{n} column", "{n} columns", n) for n in (1, 3, 11, 21, 25)]
    assert said == ["1 столбец", "3 столбца", "11 столбцов", "21 столбец", "25 столбцов"]
    set_language("en")
    assert tr_n("{n} column", "{n} columns", 2000) == "2,000 columns"


@pytest.mark.usefixtures("_english_again")
def test_a_sign_stays_the_sign_after_words_that_become_it():
    set_language("ru")
    assert tr("the ε") == "ε"
    set_language("en")
    assert again("ε") == "ε", "it is the heading of many tables"


@pytest.mark.usefixtures("_english_again")
def test_a_sentence_of_the_engine_keeps_the_values_of_the_table(monkeypatch):
    set_language("fr")
    engine = {"{column} has {n} bad values": "{column} a {n} valeurs fausses", "write a bound": "donnez une borne"}
    monkeypatch.setattr(language._now, "engine", (engine,))
    monkeypatch.setattr(language._now, "texts", {**language._now.texts, **engine})
    language._templates.cache_clear()
    assert tr_sentence("Close has 12 bad values") == "Close a 12 valeurs fausses"
    assert tr_sentence("Age has 12 bad values; write a bound") == "Age a 12 valeurs fausses\u00a0; donnez une borne"
    assert tr_sentence("Write a bound.") == "Donnez une borne."
    assert tr_sentence("Something that nobody says") == "Something that nobody says"


@pytest.mark.usefixtures("_english_again")
@pytest.mark.parametrize(
    ("english", "french"),
    [
        # A name may be empty, and what is added to a sentence is a name of its own.
        ("the output exists already", "la sortie existe déjà"),
        ("there is no column 'a'", "il n’y a pas de colonne 'a'"),
        ("there is no column 'a, b', did you mean 'c'?", "il n’y a pas de colonne 'a, b', peut-être 'c'\u00a0?"),
        ("1 cell contains 'x' and counts as missing", "1 cellule contient 'x' et compte comme manquant"),
        # What the engine fills in is translated, at any length; names and cells are not.
        (
            "the file is a PDF document, not a text table",
            "le fichier est un document PDF, et non une table en texte",
        ),
        ("'text table' is not a date", "'text table' n’est pas une date"),
        ("'a; b' is not a date; correct it", "'a; b' n’est pas une date\u00a0; corrigez-la"),
        ("there is no column lower", "il n’y a pas de colonne lower"),
        ("x = 12 is not a number at most 9", "x = 12 n’est pas un nombre d’au plus 9"),
        # Numbers are written as in French, those in quotes as they are.
        (
            "'0.5', 60,000 cells contain '0.5' and count as missing",
            "'0.5', 60\u202f000 cellules contiennent '0.5' et comptent comme manquant",
        ),
        (
            "this release costs epsilon = 3.5 but only 0.25 remain",
            "cette publication coûte epsilon = 3,5, alors qu’il ne reste que 0,25",
        ),
        # Two sentences, and one inside another.
        (
            "Accuracy is 0.81 without noise and 0.7 at ε = 1. The loss: 0.1 from the bounds, 0.01 from the noise.",
            "Exactitude\u00a0: 0,81 sans bruit et 0,7 à ε = 1. "
            "La perte\u00a0: 0,1 du fait des bornes, 0,01 du fait du bruit.",
        ),
        (
            "the release does not match its certificate: the file has 5 rows, its certificate says 6 (and 3 more)",
            "la publication n’est pas ce que dit son certificat\u00a0: le fichier a 5 lignes, son certificat en "
            "indique 6 (et 3 de plus)",
        ),
        # A list whose last entry has "and" before it.
        (
            "At ε = 1 no kind of release is accurate enough for averages and shares, and relations between "
            "columns: a larger ε or fewer columns may help.",
            "Avec ε = 1, aucune façon n’est assez précise (moyennes et proportions, et liens entre colonnes) : "
            "un ε plus grand ou moins de colonnes peuvent aider.",
        ),
        # A sentence with a semicolon of its own, inside another.
        (
            "It reduces all columns to a few. A target column is not used, and a row without a target counts as empty.",
            "Il transforme toutes les colonnes en quelques-unes. La cible, s’il y en a une, est laissée de côté\u00a0; "
            "une ligne qui n’en a pas compte comme vide.",
        ),
        # A template that says little takes over no sentence that is not known.
        ("give everything that nobody has a sentence for", "give everything that nobody has a sentence for"),
    ],
)
def test_a_sentence_of_the_engine_is_said_as_a_whole(english, french):
    set_language("fr")
    assert tr_sentence(english) == french


@pytest.mark.usefixtures("_english_again")
def test_what_a_number_must_be_is_one_sentence():
    field = integer(at_least=1, upto=9).metadata[METADATA_KEY]
    set_language("ru")
    assert tr_sentence(f"give {field.expected()}") == "укажите целое число не меньше 1 и не больше 9"


@pytest.mark.usefixtures("_english_again")
def test_an_error_in_french_keeps_its_spaces():
    set_language("fr")
    told = InputError("'x' is not a date", "column age", "correct it").worded("corrigez-la", tr_sentence)
    assert told == "'x' n’est pas une date (colonne age)\u00a0; corrigez-la"


@pytest.mark.usefixtures("_english_again")
def test_a_sentence_is_found_in_a_moment():
    set_language("fr")
    texts = [f"epsilon = {at} is above the range for them" for at in range(200)]
    tr_sentence("the index is made at the first one")
    begun = time.process_time()
    for text in texts:
        tr_sentence(text)
    assert (time.process_time() - begun) / len(texts) < 0.005


@pytest.mark.usefixtures("_english_again")
def test_a_long_list_of_names_is_looked_through_once():
    set_language("fr")
    names = ", and ".join(f"thing {at}" for at in range(24))  # twice for each "and" would take minutes
    begun = time.process_time()
    said = tr_sentence(f"there is no column {names!r}; the columns are {names}")
    assert names in said
    assert time.process_time() - begun < 1


@pytest.mark.usefixtures("_english_again")
def test_numbers_are_written_and_read_with_a_comma():
    set_language("fr")
    assert localised("1,234.5") == "1\u202f234,5"
    assert [typed(text) for text in ("0,5", "0.5", "1\u202f234,5", "1e-6", "a, b")] == [
        *("0.5", "0.5", "1234.5", "1e-6", "a, b"),
    ]
    set_language("vi")
    assert localised("20,000.5") == "20.000,5"
    assert [typed(text) for text in ("20.000,5", "0,5", "0.5", "0.125")] == ["20000.5", "0.5", "0.5", "0.125"]
    income = DraftColumn(name="income", kind="integer")
    for text in ("20.000", "-1.234.567", "1.125"):  # thousands by the language, decimals by a file of code
        with pytest.raises(ParameterError, match=r"1234\.5"):
            facts.read(income, "upper", text)
    assert facts.read(income, "upper", "20000") == 20_000
    set_language("en")
    assert typed(" 1,5 ") == "1,5"  # as it was: an entry reads it by rules of its own


@pytest.mark.usefixtures("_english_again")
def test_a_count_in_a_sentence_has_a_separator_between_its_thousands():
    assert tr("{rows} rows of {title}", rows=159_999, title="159999") == "159,999 rows of 159999"
    assert tr("{sure}: {share}", sure=True, share=0.12345) == "True: 0.12345"


def test_a_list_of_numbers_is_read_with_commas_or_points():
    set_language("fr")
    assert shown_list((0.1, 1, 10)) == "0,1; 1; 10"
    lists = ("0,1; 1; 10", "0,1, 1, 10", "0.1, 1, 10", "0.1,1,10", "0,1;1;10", "0,1:100:13", "0,1")
    assert [typed_list(text).replace(" ", "") for text in lists] == [*["0.1,1,10"] * 5, "0.1:100:13", "0.1"]
    set_language("en")
    assert shown_list((0.1, 1, 10)) == "0.1, 1, 10"
    assert [typed_list(text) for text in ("0.1,1,10", "0,1; 1; 10")] == ["0.1,1,10", "0.1, 1, 10"]


@pytest.mark.usefixtures("_english_again")
def test_what_was_said_is_said_again():
    set_language("fr")
    said = tr("Closed {title}.", title="Close")
    set_language("en")
    assert again(said) == "Closed Close."
    assert again("Some name of a file") == "Some name of a file"


def test_a_sentence_has_a_capital_first_but_a_file_keeps_its_name():
    texts = ("loose.png is not in a class folder", "a table. More", "ε is 1", "", "e.g. b")
    said = ["loose.png is not in a class folder", "A table. More", "ε is 1", "", "E.g. b"]
    assert [capital(text) for text in texts] == said


@pytest.mark.usefixtures("_english_again")
def test_what_was_put_together_of_what_was_said_is_said_again():
    set_language("ru")
    help = "six invented patients by age and town; generalised to k = 2, it still reveals a diagnosis"
    texts = [f"{tr('Data')}: {tr('Risk')}", as_sentence(tr_sentence(help)), f"▸ {tr('Release')} (2)"]
    set_language("en")
    assert list(map(again, texts)) == ["Data: Risk", as_sentence(help), "▸ Release (2)"]


@pytest.mark.usefixtures("_english_again")
def test_a_sentence_that_is_one_of_its_names_alone_is_said_again(monkeypatch):
    set_language("fr")
    monkeypatch.setattr(language._now, "texts", {"from {rows}": "{rows}"})
    rows = tr_n("{n} row", "{n} rows", 3)
    assert again(tr("from {rows}", rows=rows)) == rows


@pytest.mark.usefixtures("_english_again")
def test_the_window_changes_its_language_while_it_is_open(window):
    title = window.rail.buttons["data"].text()
    window.menus.actions["language_ru"].trigger()
    assert window.rail.buttons["data"].text() == "Данные"
    assert window.settings.language == "ru"
    assert window.menus.actions["quit"].text() != "&Quit"
    window.menus.actions["language_en"].trigger()
    assert window.rail.buttons["data"].text() == title
    assert window.menus.actions["quit"].text() == "&Quit"


@pytest.mark.usefixtures("_english_again")
def test_work_that_is_cancelled_is_named_in_the_language_of_now(window, qtbot):
    handle = window.jobs.start(Job(tr("{metric} against {against}", metric=tr("Accuracy"), against="ε"), endless))
    window.menus.actions["language_fr"].trigger()
    handle.cancel()
    qtbot.waitUntil(lambda: not window.jobs.running)
    assert "Exactitude en fonction de ε" in window.statusBar().currentMessage()


@pytest.mark.usefixtures("_english_again")
def test_what_pages_put_together_is_said_again_with_a_table_open(people, visit):
    said_by = {"train_fold_networks": "text", "train_about": "text", "train_model_naive-bayes": "text"}
    said_by |= {"why_empty": "text", "train_folder": "toolTip", "plan_epsilon_field": "toolTip"}
    said_by |= {"rail_legend": "accessibleName", "curve_model": "currentText"}
    people.session.edit_column("sex", tr("Undone"), action="drop")
    for page in ("protect", "utility", "train", "why", "train"):
        visit(people, page)

    def said() -> dict[str, str]:
        texts = {name: getattr(people.findChild(QWidget, name), how)() for name, how in said_by.items()}
        return {**texts, "undo": people.menus.actions["undo"].text()}

    english = said()
    people.menus.actions["language_ru"].trigger()
    for page in ("why", "train"):
        visit(people, page)
    russian = said()
    assert not [name for name, text in russian.items() if text == english[name]]
    assert russian["undo"] == "&Отменить Отменено"
    people.menus.actions["language_en"].trigger()
    visit(people, "why")
    assert said() == english


@pytest.mark.usefixtures("_english_again")
@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize(("code", "by"), [("fr", " par "), ("vi", " theo "), ("ru", " по ")])
def test_the_words_of_a_grouped_wish_are_all_of_one_language(code, by):
    """The columns stay as they are, and what is before them is the sentence of the figure without groups."""
    name = "net income per household"  # four words are no sentence
    wishes = f"mean({name})", f"sum({name})", f"median({name})", f"quantile({name}, 0.9)"
    columns = [{"name": name, "kind": "integer", "lower": 0, "upper": 100}]
    columns += [{"name": one, "kind": "category", "domain": ["f", "m"]} for one in ("city", "town")]
    plan = Plan.from_plain({"epsilon": 1.0, "column": [{"action": "protect", **column} for column in columns]})
    set_language(code)
    for wish in wishes:
        alone, grouped = (question_of(plan, Wish.parse(f"{wish}{by} ± 0.1")) for by in ("", " by city and town"))
        assert alone is not None
        assert grouped is not None
        assert tr_sentence(alone.words) != alone.words
        assert tr_sentence(grouped.words) == f"{tr_sentence(alone.words)}{by}city × town"


@pytest.mark.usefixtures("_english_again")
@pytest.mark.usefixtures("qapp")
def test_two_sentences_with_one_translation_stay_two():
    set_language("en")
    undone, cancelled = QLabel(tr("Undone")), QLabel(tr("Cancelled"))
    set_language("fr")
    retranslate()
    assert undone.text() == cancelled.text() == "Annulé"
    set_language("vi")
    retranslate()
    assert undone.text() != cancelled.text()
    set_language("en")
    retranslate()
    assert (undone.text(), cancelled.text()) == ("Undone", "Cancelled")
    cancelled.setText("a.csv")  # a text that was set since is another one
    retranslate()
    assert cancelled.text() == "a.csv"


@pytest.mark.usefixtures("_english_again")
def test_the_command_line_chooses_the_language(monkeypatch):
    chosen = []
    monkeypatch.setattr(app, "application", lambda: SimpleNamespace(exec=lambda: 0))
    monkeypatch.setattr(app, "main_window", lambda: chosen.append(language.language()) or MagicMock())
    monkeypatch.setattr(app, "report_faults", lambda _: None)
    assert main(["gui", "--lang", "ru"]) == 0
    assert chosen == ["ru"]


@pytest.mark.parametrize("code", SCRIPT.FORMS)
def test_the_help_has_every_topic_in_every_language(code):
    assert {file.stem for file in (resources() / "help" / code).iterdir()} == set(TOPICS)
    for name in TOPICS:
        english, translated = topic_markdown(name), topic_markdown(name, code)
        assert translated != english, f"{code}/{name}"
        for shape in (r"(?m)^(#+) ", r"(?m)^(    .*)$", r"(`[^`]+`)", r"(\[[^]]+\]\([^)]+\))", r"(?m)^([*|]) "):
            there, here = (re.findall(shape, text) for text in (english, translated))
            assert sorted(map(_code, here)) == sorted(map(_code, there)), f"{code}/{name}: {shape}"


def _code(line: str) -> str:
    return re.sub(r"  # .*", "", line)  # a comment is translated


@pytest.mark.usefixtures("_english_again")
def test_the_help_is_shown_and_searched_in_the_language_of_the_window(window):
    go_to(window, "help")
    window.menus.actions["language_fr"].trigger()
    topics, text = window.findChild(QListWidget, "help_topics"), window.findChild(QTextBrowser, "help_text")
    assert topics.currentItem().text().startswith("La fenêtre")
    assert "La fenêtre" in text.toPlainText()
    window.findChild(QLineEdit, "help_search").setText("sauvegarde introuvable")
    assert topics.count() == 0
    window.findChild(QLineEdit, "help_search").setText("bruit bornes")
    assert topics.count() > 0
