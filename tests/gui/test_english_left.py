"""In Russian no word of English is left on any page: what is in Latin letters is a name, a term or a key."""

import re
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, Qt
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QLineEdit, QWidget

from workbench.data.samples.sample_tables import SAMPLES
from workbench.gui.pages import PAGES
from workbench.gui.style.language import LANGUAGES, set_language
from workbench.privacy.explain.deployments import DEPLOYMENTS

pytestmark = pytest.mark.slow
SAID = ("text", "plainText", "placeholderText", "title", "toolTip", "accessibleName", "accessibleDescription")
TERMS = {
    *("AUC", "Adam", "CNN", "CNN 6", "GPU", "HIPAA", "K-means", "PCA", "RAPPOR", "SGD", "VGG16", "XGBoost", "k-map"),
    *("Privacy workbench", "API Audience Engagements", *LANGUAGES.values()),
}
SENTENCE = re.compile(r"\b(?:the|an?|is|are|of|and|or|with|without|in|not|no|yes|both) [a-z]+\b")
"""English inside a text that is Russian elsewhere."""
EXPLAINED = re.compile(r"\b([a-z-]+): [а-я]")
"""What such a text explains: an entry of a list, which has to be called so there."""
CITED = re.compile(r"Источники: |and others, How to")


@pytest.fixture
def _in_russian(qapp):
    set_language("ru")
    yield
    set_language("en")


def cells(model: QAbstractItemModel) -> Iterator[str]:
    """Yield the headings and the first rows of a table or list."""
    columns = range(1 if isinstance(model, QAbstractListModel) else min(model.columnCount(), 30))
    yield from (str(model.headerData(at, Qt.Orientation.Horizontal) or "") for at in columns)
    yield from (str(model.index(row, at).data() or "") for row in range(min(model.rowCount(), 30)) for at in columns)


def texts(widget: QWidget) -> Iterator[str]:
    """Yield what a widget says: its words, its entries, what is read aloud, and its tip."""
    said = SAID[2:] if isinstance(widget, QLineEdit) else SAID  # what is typed is no word of the window
    yield from (str(widget.property(name) or "") for name in said)
    yield from (action.text() for action in widget.actions())
    if isinstance(widget, QComboBox | QAbstractItemView) and widget.model() is not None:
        yield from cells(widget.model())


def is_english(text: str, names: set[str]) -> bool:
    bare = text.strip(" ⚠·:")
    if not re.search("[A-Za-z]{2}", bare) or bare in names or all(part in names for part in bare.split(", ")):
        return False
    if not re.search("[А-я]", text):
        return True
    return bool(SENTENCE.search(text) and not CITED.search(text)) or not set(EXPLAINED.findall(text)) <= names


@pytest.mark.usefixtures("_in_russian")
def test_no_english_is_left_on_a_page_in_russian(people, visit, qtbot):
    session = people.session
    names = {*TERMS, *(column.name for column in session.plan.columns), *(d.who for d in DEPLOYMENTS)}
    names |= {sample.name.capitalize().replace("-", " ") for sample in SAMPLES} | {"female", "male", "yes", "no"}
    names |= {sample.name for sample in SAMPLES} | {deployment.what for deployment in DEPLOYMENTS}

    for page in PAGES:
        visit(people, page.name)
    for way in ("rows", "synthetic", "statistics"):
        session.choose_way(way)
        visit(people, "release")
    visit(people, "explain")
    qtbot.waitUntil(lambda: people.findChild(QWidget, "explain_composition_table") is not None)
    said = {(text, part.objectName()) for part in people.findChildren(QWidget) for text in texts(part)}
    left = sorted(each for each in said if is_english(each[0], names))
    assert not left, "\n".join(map(str, left))
