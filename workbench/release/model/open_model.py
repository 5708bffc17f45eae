"""A released model, opened from its folder and applied to a table; nothing is charged, as a model is public."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench import learners
from workbench.data.columns.grid import matrix
from workbench.data.columns.missing import with_codes
from workbench.data.images.idx import NAMES
from workbench.data.images.image_reader import PACKED_OR_PICTURES
from workbench.data.images.image_set import ImageSet
from workbench.data.reading_options import merge_options
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.data.table_reader import ReadOptions, read_table, usable
from workbench.learners import Learner
from workbench.learners.corrected_model import CorrectedModel
from workbench.learners.tasks import CLASSIFICATION, CLUSTERING, task
from workbench.params import InputError
from workbench.release.atomic import PartFile, write_error
from workbench.release.card import read_learner_model
from workbench.release.certificate import MADE_FROM, READING, read_card
from workbench.release.verify import verify_release
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore

_ROWS_AT_ONCE = 20_000
IMAGES_AT_ONCE = 256  # images between two looks whether to stop: a frozen part can take a tenth of a second for each

REPLACED = "\N{REPLACEMENT CHARACTER}"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")
_UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")


class Predictor(Protocol):
    """What a fitted model can do."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the prediction for each row, shape (n,)."""
        ...


@runtime_checkable
class ReadsImages(Protocol):
    """A fitted model that reads its rows itself: a table or a set of images, whichever it was trained on."""

    def inputs_of(self, table: Table) -> NDArray[Any]:
        """Return X; raise :class:`InputError` where the rows are not like those that it was trained on."""
        ...


@runtime_checkable
class AnswersSomeRows(Protocol):
    """A fitted model that predicts no rows but those it was asked about when it was released."""

    def require_answered(self, X: ArrayLike) -> NDArray[np.int64]:
        """Raise :class:`InputError` naming the first row of X (n, d) that it does not answer."""
        ...


@dataclass(frozen=True, eq=False)
class OpenModel:
    """A released model that is ready to predict."""

    folder: Path | None  # where it is; `None` of a model that is only in memory
    card: dict[str, Any]
    title: str  # its name for a person
    task: str  # what it makes: the name of a `workbench.learners.tasks.Task`
    attributes: tuple[Attribute, ...]  # the public facts about the columns that it reads
    target: Attribute  # the same of the column that it predicts, or that was left out where it makes columns
    model: Predictor

    @property
    def columns(self) -> tuple[Attribute, ...]:
        """The public facts about the columns that it makes; none where it predicts."""
        made: tuple[Attribute, ...] = ()
        if task(self.task).transforms:
            made = self.model.attributes_after  # type: ignore[attr-defined]
        return made

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns of a prediction."""
        if self.columns:
            return tuple(column.name for column in self.columns)
        if self.task == CLUSTERING:
            return ("group",)
        predicted = f"predicted {self.target.name}"
        if not self._has_chances:
            return (predicted,)
        return (predicted, *(f"probability of {name}" for name in self.target.values()))

    @property
    def _has_chances(self) -> bool:
        return self.task == CLASSIFICATION and hasattr(self.model, "predict_proba")

    def predict(self, table: Table, emit: Emit = ignore, cancel: CancelToken = NEVER) -> Iterator[list[str]]:
        """Yield the cells of :attr:`header` for each row of ``table``.

        They are functions of the rows: private, as the table is.

        Raises:
            InputError: a column is missing, a cell does not fit what the card declares, or the model does not answer a
                row; row and column are named.
            CancelledError: ``cancel`` was set.
        """
        X = self.read(table)
        if isinstance(self.model, AnswersSomeRows):
            self.model.require_answered(X)
        names: Sequence[str] = () if self.target.numeric else self.target.values()
        at_once = IMAGES_AT_ONCE if isinstance(table, ImageSet) else _ROWS_AT_ONCE
        for begin in range(0, len(X), at_once):
            cancel.check()
            emit(Progress(begin, len(X), "Predicting"))
            rows = X[begin : begin + at_once]
            yield from self._cells(rows, names)
        emit(Progress(len(X), len(X), "Predicting"))

    def made(self, table: Table) -> NDArray[np.float64]:
        """Return the values of :attr:`columns` (n, k) for each row: private, as the table is.

        Raises:
            InputError: as :meth:`predict`.
        """
        return np.asarray(self.model.predict(self.read(table)), dtype=np.float64)

    def read(self, table: Table) -> NDArray[Any]:
        """Return X of a table, or the images of a set."""
        table = with_codes(table, self.attributes)
        if isinstance(self.model, ReadsImages):
            return self.model.inputs_of(table)
        table.require([a.name for a in self.attributes])
        return matrix(table, self.attributes)

    def _cells(self, rows: NDArray[np.float64], names: Sequence[str]) -> Iterator[list[str]]:
        if self.columns:
            made = self.columns
            for values in self.model.predict(rows):
                yield [_cell(value, column) for value, column in zip(values, made, strict=True)]
            return
        if self._has_chances:
            chances: NDArray[np.float64] = self.model.predict_proba(rows)  # type: ignore[attr-defined]
            for best, chance in zip(chances.argmax(axis=1), chances, strict=True):
                yield [names[best], *(f"{c:.6g}" for c in chance)]
            return
        for value in self.model.predict(rows):
            yield [names[value] if self.task == CLASSIFICATION else _number(value)]


def open_model(folder: Path, weights: Path | None = None) -> OpenModel:
    """Open the model in ``folder``; ``weights`` is the file of public weights that a network with a frozen part needs.

    Raises:
        InputError: it is no released model, was changed after its release, or its files cannot be read.
        ParameterError: its facts are not those of a model of this version.
    """
    card = read_card(folder)
    problems = verify_release(folder)
    if problems:
        raise InputError(f"the model does not match its card: {problems[0]}", str(folder), "get the original model")
    name = card["model"]
    if name in (known.name for known in learners.LEARNERS):
        chosen, model = learners.learner(name), read_learner_model(card, folder)
        if MADE_FROM in card:
            return opened_from_release(folder, card, chosen, model)
        facts = [Attribute.from_plain(a, str(folder)) for a in card["inputs"]]
        return OpenModel(folder, card, chosen.title, chosen.task, tuple(facts[:-1]), facts[-1], model)
    from workbench.deep.model import TrainedModel  # only a network needs what it loads

    network = TrainedModel.load(folder, card["training"], card["inputs"], weights)
    features = network.features
    return OpenModel(folder, card, network.network.title, CLASSIFICATION, features.attributes, features.target, network)


def opened_from_release(folder: Path | None, card: dict[str, Any], chosen: Learner, model: CorrectedModel) -> OpenModel:
    """Return a model that was trained on a release, ready to predict.

    Raises:
        InputError: card and model name different columns.
    """
    facts = model.facts
    if card["inputs"] != [a.to_plain() for a in (*facts.attributes, facts.target)]:
        raise InputError("the card and the model name different columns", str(folder), "get the original folder")
    return OpenModel(folder, card, chosen.title, chosen.task, facts.attributes, facts.target, model)


def read_to_predict(
    opened: OpenModel,
    source: str,
    stated: ReadOptions,
    cancel: CancelToken,
    *,
    words: Callable[[Mapping[str, Any]], str] | None = None,
    hint: str = "state how this file is read",
    replace_invalid: bool = False,
) -> tuple[Table, dict[str, Any]]:
    """Return the table in ``source`` for :func:`write_predictions`, and the form of the training by which it was read.

    The card of a model says how the file of its training was read; another file is read so, too, except where
    ``stated`` says that it has another form: then, and where the card says nothing, the form is empty.

    Args:
        opened: the model.
        source: the table.
        stated: how a person says that it is read.
        cancel: stops it.
        words: returns a form in words, for the refusal of a file that has another one.
        hint: what to do about such a file.
        replace_invalid: whether cells that cannot be used count as missing.

    Raises:
        InputError: it cannot be read, or lacks a column of the model.
    """
    names = [a.name for a in opened.attributes]
    form = usable(opened.card.get(READING, {}), source)
    trained = ReadOptions.from_plain(form)
    how = merge_options(stated, trained)
    if any(getattr(how, name) != getattr(trained, name) for name in form):
        form, how = {}, stated  # the options are of a file of another form
    try:
        table = read_table(source, how, names, cancel=cancel, replace_invalid=replace_invalid)
        table.require(names)
    except InputError as error:
        if not form:
            raise
        said = f": {words(form)}" if words is not None else ""
        what = f"{error.what} (it is read as the table of the training was{said})"
        raise InputError(what, error.where, hint, code=error.code) from None
    return table, form


def write_predictions(
    opened: OpenModel,
    table: Table,
    output: Path,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    *,
    seen: Counter[str] | None = None,
    guesses: list[str] | None = None,
) -> int:
    """Write the predictions for ``table`` as CSV, which its owner alone can read; return the number of rows.

    The rows are in the order of the table, numbered from 1; no value of the table is repeated, but images without
    classes are named by their files; names are as :func:`cell_text` writes them. ``seen`` counts what was predicted,
    ``guesses`` takes it row by row.

    Raises:
        InputError: a cell does not fit, or the file cannot be written, or would take the place of images; then there
            is none.
        CancelledError: ``cancel`` was set; then there is none.
    """
    written = 0
    files: tuple[str, ...] = ()
    if isinstance(table, ImageSet):
        files = table.files
        require_no_images(output, table)
    with private_csv(output) as writerow:
        writerow(["row", *(["file"] if files else []), *map(cell_text, opened.header)])
        for cells in opened.predict(table, emit, cancel):
            written += 1
            if seen is not None:
                seen[cells[0]] += 1
            if guesses is not None:
                guesses.append(cells[0])
            writerow([written, *map(cell_text, (*files[written - 1 : written], *cells))])
    return written


@contextmanager
def private_csv(output: Path) -> Iterator[Callable[[Sequence[Any]], Any]]:
    """Write the rows that the block gives as CSV, which its owner alone can read: it appears whole, or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    with PartFile(output, private=True) as part:
        try:
            stream = io.TextIOWrapper(part.stream, encoding="utf-8", newline="")
            yield csv.writer(stream).writerow
            stream.flush()
            stream.detach()
            part.publish()
        except OSError as error:
            raise write_error(error, output) from None


def _cell(value: float, column: Attribute) -> str:
    """Return a value of a column that was made; an empty cell where it is missing."""
    if column.numeric:
        return "" if np.isnan(value) else _number(value)
    names = column.values()
    return names[int(value)] if value < len(names) else ""


def _number(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float | np.floating) else str(value)


def cell_text(text: str) -> str:
    """Return a name as it may be in a CSV file that a spreadsheet opens.

    Names of files and classes come from others. A spreadsheet takes one that begins with ``=``, ``+``, ``-``, ``@``, a
    tab or a carriage return for a formula and computes it: such a name gets an apostrophe in front, unless it is a
    number. Control characters, line ends among them, and halves of characters become U+FFFD.
    """
    formula = text.startswith(_FORMULA) and _NUMBER.fullmatch(text) is None
    if not text.isprintable():
        text = "".join(REPLACED if unicodedata.category(c) in _UNPRINTABLE else c for c in text)
    return f"'{text}" if formula else text


def require_no_images(output: Path, images: ImageSet) -> None:
    """Refuse an output that would take the place of images, or of the labels or names beside them.

    Raises:
        InputError: there is such a file under that name.
    """
    if not output.exists():
        return
    source, name = Path(images.source), output.name.lower()
    own = (source, *(source / file for file in images.files))
    # Whatever ends as images do is one of a set: of class folders not every file is listed here.
    if (
        name.endswith(PACKED_OR_PICTURES)
        or name == NAMES
        or any(place.is_file() and output.samefile(place) for place in own)
    ):
        raise InputError("the predictions would replace the images", str(output), "choose another file")
