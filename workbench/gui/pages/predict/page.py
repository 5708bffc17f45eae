"""Predict: which model, for which rows, into which file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QWidget

from workbench import learners
from workbench.deep import networks
from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.predict.images import (
    ImageResults,
    ImagesCard,
    ImageSource,
    image_predictions,
    reads_words,
    shape_words,
)
from workbench.gui.pages.predict.train_card import Predicted, TrainCard, WeightsNeededError, open_released, predict
from workbench.gui.session.account_task import read_models
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import Card, Fact, Facts, button, into_sight, label, named, row, scrolled, stack
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import ask_for_file, ask_for_folder, ask_where_to_save
from workbench.gui.widgets.fast_table import PrivateRows
from workbench.gui.widgets.formatting import at_most, count, day_of, listed
from workbench.gui.widgets.master_detail import WIDE
from workbench.gui.widgets.output_name import release_folder, suggest
from workbench.gui.widgets.path_field import PathField
from workbench.jobs import Job
from workbench.release.certificate import is_model

if TYPE_CHECKING:
    from workbench.release.model.image_predictions import ImagePredictions
    from workbench.release.model.open_model import OpenModel
    from workbench.release.model.released_models import ReleasedModel

MOST_COLUMNS = 12
MOST_SHOWN = 6
HIGH = 800
LETTERS = 24  # of a released model that are always read; its list would widen the page
"""Pixels of a page that has room for the rows before there are predictions."""

NO_MODEL = tr_later("Choose a released model, or the folder of one that was released elsewhere.")
NONE_YET = tr_later("Train a model, or choose the folder of a released one, to see here what it predicts for each row.")
NO_TABLE = tr_later("Choose a file of rows, or drop one here; or open a table in Data.")
OF_TABLES = tr_later(
    "Images are open, and this model reads tables: open a table, or choose a network that learned from images."
)
LEARN = tr_later("Or train one on a released table: costs nothing")


class WeightsRow(QWidget):
    """A field for the file and the checksum that it must have; hidden while no network asks for it."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        tip = tr("The weights of the frozen part")
        self._field = PathField("predict_weights", tr("File of the public weights"), tip)
        self._field.editingFinished.connect(self._take)
        tip = tr("Choose the file of the public weights")
        browse = self._field.chooser(partial(ask_for_file, self, "weights"), tip, self._take)
        self._stated = label("", "muted", wrap=True, name="predict_weights_told")
        self.setLayout(stack(self._stated, row(label(tr("public weights")), self._field, browse), spacing=4))
        self.hide()

    def ask(self, checksum: str) -> None:
        self._stated.setText(tr("SHA-256 of the file, as stated on the card: {checksum}", checksum=checksum))
        self.show()

    def _take(self) -> None:
        text = self._field.text().strip()
        if text and self.isVisible():
            self.chosen.emit(Path(text))


class PredictPage(PageFrame):
    """A released model, the open table, and the file that the predictions are written to."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("predict"))
        self._model: OpenModel | None = None
        self._source: Path | None = None  # of the rows, where it is not the open table
        model = self._model_card()
        self._training = TrainCard(session, jobs)
        self._training.hide()
        self._of_table = self._table_card()
        self._images = ImagesCard(session)
        self._images.changed.connect(self._other_images)
        self._results = ImageResults(session, jobs)
        self._outcome = label("", wrap=True, name="predict_outcome")
        self._often = Facts()
        self._found: Predicted | None = None
        self._sheet = PrivateRows(session, jobs, "predict_rows_table")
        said = stack(self._outcome, spacing=4)
        said.addWidget(self._often, 0, Qt.AlignmentFlag.AlignLeft)
        said.setContentsMargins(8, 0, 8, 0)
        self._sheet.body.insertLayout(1, said)
        asked = QWidget()
        self._asked = QBoxLayout(QBoxLayout.Direction.TopToBottom, asked)
        self._asked.setContentsMargins(0, 0, 0, 0)
        self._asked.setSpacing(12)
        for card in (model, self._of_table):
            self._asked.addWidget(card, 1)
        lines = stack(asked, self._training, self._images, spacing=12)
        for results in (self._sheet, self._results):
            lines.addWidget(results, 1000)  # what is left of the page, where there are any
        lines.addStretch(1)
        self.body.addWidget(scrolled(lines, "predict_area"), 1)  # its fields have the keys, and it follows them
        self.add_cancel(button(tr("Cancel"), "predict_cancel", tip=tr("Stop; no file is written")))
        tip = tr("Write the prediction for each row; costs nothing")
        self._run = self.set_primary(tr("Predict"), "predict_run", self._predict, tip)
        self._connect()
        session.to_learn_from.follow(self._offer)
        self._new_table()

    def resized(self) -> None:
        """Use the room that there is: both questions side by side, and the rows below them."""
        directions = QBoxLayout.Direction
        self._asked.setDirection(directions.LeftToRight if self.width() >= WIDE else directions.TopToBottom)
        self._show_sheet()

    def _show_sheet(self) -> None:
        """Show the predictions with their rows; before there are any, the rows, where a high page has room."""
        found, opened = self._found, self.session.opened
        rows = opened.table.frame if opened is not None and self._source is None and self.height() >= HIGH else None
        frame = found.frame if found is not None else rows
        self._sheet.setVisible(frame is not None and not self._predicts_images)
        self._sheet.title.setText(tr("PREDICTIONS") if found is not None else tr("THE ROWS"))
        for part in (self._outcome, self._often):
            part.setVisible(found is not None)
        self._sheet.show_frame(frame, found.figures if found is not None else ())

    def _model_card(self) -> Card:
        self._folder = PathField("predict_model", tr("Folder of the model"), tr("The folder of a released model"))
        self._folder.setPlaceholderText(tr("The folder of a released model"))
        self._folder.editingFinished.connect(self._open)
        ask = partial(ask_for_folder, self, tr("The folder of a released model"))
        browse = self._folder.chooser(ask, tr("Choose the folder of a released model"), self._open)
        self._facts = Facts()
        self._refusal = ""
        self._problem = label("", "muted", wrap=True, name="predict_problem")
        self._weights = WeightsRow()
        self._weights.chosen.connect(self._open_with_weights)
        tip = tr("Every model that this ledger released")
        self._released = named(ChoiceBox(), "predict_models", tr("Released models"), tip)
        self._released.give_way(LETTERS)
        self._released.activated.connect(self._take_released)
        self._released.hide()
        model = Card(label(tr("MODEL"), "caption"), self._released, row(self._folder, browse))
        tip = tr("A model of a release costs nothing beyond the release")
        self._learn = button(tr(LEARN), "predict_learn", "link", tip=tip, press=self._show_training)
        model.body.add(self._problem, self._weights, self._facts)
        tip = tr("Train a private model, and release that")
        self._train = button(tr("Train a model →"), "predict_train", tip=tip, press=lambda: self.session.go("train"))
        model.body.addLayout(row(self._train, self._learn, None))
        return model

    def _table_card(self) -> Card:
        self._rows = label("", wrap=True, name="predict_rows")
        tip = tr("A CSV file; only you can read it")
        self._target = PathField("predict_output", tr("File for the predictions"), tip)
        self._target.setPlaceholderText(tr("File for the predictions"))
        title, kinds = tr("Where to write the predictions"), tr("CSV (*.csv)")
        save = self._target.chooser(
            lambda: ask_where_to_save(self, title, self._target.text(), kinds), tr("Choose a file for the predictions")
        )
        tip = tr("Predict for the rows of another file; or drop it here")
        choose = button(tr("Choose a file…"), "predict_rows_choose", tip=tip)
        choose.clicked.connect(
            lambda: self._take_rows(ask_for_file(self, "table", tr("Predict for the rows of a file")))
        )
        tip = tr("Predict for the table that is open")
        self._of_open = button(tr("The open table"), "predict_rows_open", "link", tip=tip)
        self._of_open.clicked.connect(lambda: self._show_rows(None))
        line = row((self._rows, 1), self._of_open, choose)
        return Card(label(tr("ROWS AND FILE"), "caption"), line, row(self._target, save), None)

    def _connect(self) -> None:
        session = self.session
        self._target.textChanged.connect(lambda: self.refresh())
        session.table_changed.connect(self.in_sight(self._new_table))
        session.plan_changed.connect(self.in_sight(self.refresh))
        session.released_changed.connect(self.in_sight(self._suggest_model))
        self._training.trained.connect(self._take)
        self._training.changed.connect(lambda: self.refresh())

    @property
    def job(self) -> JobHandle | None:
        """The prediction or the training that runs; both have a Cancel here."""
        return self._handle or self._training.job

    def shown(self) -> None:
        self._suggest_model()
        read_models(self.jobs, "predict", self._list_models)
        suggest(self.session, self.jobs, self._target, "predicted", ".csv")

    def _list_models(self, found: tuple[ReleasedModel, ...]) -> None:
        """List the models whose folder is still there, the newest first."""
        titles = {entry.name: entry.title for entry in learners.LEARNERS}
        titles |= {entry.name: entry.title for entry in networks.NETWORKS}
        there = [model for model in found if model.released and model.card]
        entries = [(tr("in another folder") if there else "", "")]
        for model in there:
            title = tr_sentence(titles.get(model.name, model.name))
            if model.target:
                title = tr("{title}, predicts {target}", title=title, target=model.target)
            words = f"{title} · ε = {at_most(model.epsilon)} · {day_of(model.time)} · {Path(model.output).name}"
            entries.append((words, model.output))
        self._released.offer(entries, self._folder.text().strip())
        self._released.setVisible(bool(there))
        self._lead()

    def _take_released(self) -> None:
        folder = self._released.currentData()
        if folder:
            self._folder.choose(folder)
            self._open()
        else:
            self._folder.setFocus()
            self._folder.selectAll()

    # -- the rows ---------------------------------------------------------------------------------------------------

    def drop_words(self, path: str) -> str:
        if path.endswith(".toml") or (self._model is None and self.session.images is not None):
            return ""
        return tr("Drop to predict for {name}", name=Path(path).name)

    def drop(self, path: str) -> bool:
        if not self.drop_words(path) or self.running:
            return False
        if is_model(Path(path)):
            self._take(Path(path))
        elif self._predicts_images:
            self._images.take((path,))
        else:
            self._take_rows(path)
            said = tr("Predict for {name}: to open it as a table, drop it on another page.", name=Path(path).name)
            self.session.notify("info", said)
        return True

    def _take_rows(self, path: str) -> None:
        if path:
            self._show_rows(Path(path))

    def _show_rows(self, source: Path | None) -> None:
        """Predict for the rows of a file, or of the open table; name a file for what comes of it."""
        self._source, self._found = source, None
        self.session.overtaken.emit()
        if source is None:
            self._target.setModified(False)
            suggest(self.session, self.jobs, self._target, "predicted", ".csv")
        else:
            self._target.choose(str(release_folder() / f"{source.stem}-predicted.csv"))
        self.refresh()

    def refresh(self) -> None:
        opened, running, images = self.session.opened, self.running, self._predicts_images
        self._of_table.setVisible(not images)
        self._show_sheet()
        self._images.setVisible(images)
        self._learn.setVisible(not images and not self._training.isVisibleTo(self))
        self._train.setVisible(self._model is None)
        self._images.setEnabled(not running)
        self._of_open.setVisible(self._source is not None and opened is not None)
        if self._source is not None:
            said = tr("{name}, a file. The predictions are as private as its rows.", name=self._source.name)
            self._rows.setText(said)
            self._rows.setToolTip(str(self._source))
        elif opened is None:
            self._rows.setText(tr(NO_TABLE) if self.session.images is None else tr(OF_TABLES))
        else:
            rows = count(opened.rows_under(self.session.plan), "row")
            self._rows.setText(
                tr("{title}, open: {rows}. The predictions are as private as the table.", title=opened.title, rows=rows)
            )
        lacking = "" if images else self._lacking_words()
        if images:
            lacking = shape_words(self._model, self._images.source)
        self.set_note(lacking)
        ready = self._model is not None and not lacking
        if images:
            ready = ready and self._images.source is not None
        else:
            there = opened is not None or self._source is not None
            ready = ready and there and bool(self._target.text().strip())
        self._run.setEnabled(ready and not running and self._training.job is None)
        self._training.setEnabled(not running)
        self._run.setVisible(not running)
        self._lead()
        self.show_cancel()

    def _lead(self) -> None:
        """Highlight what leads on: where there is no model, and none to choose, that is where one is made."""
        none_yet = self._model is None and self._released.isHidden()
        self._problem.setText(self._refusal or tr(NONE_YET if none_yet else NO_MODEL))
        self.highlight(self._train if none_yet else self._run)

    def escape(self) -> bool:
        return super().escape() or self._training.stop()

    def _lacking_words(self) -> str:
        opened = self.session.opened
        if self._model is None or opened is None or self._source is not None:
            return ""
        lacking = [a.name for a in self._model.attributes if a.name not in opened.table.names]
        if not lacking:
            return ""
        return tr("The open table has no column {columns}, which the model reads.", columns=listed(lacking))

    @property
    def _predicts_images(self) -> bool:
        """Whether images are predicted for: the model says so, or what is open while there is none."""
        if self._model is None:
            return self.session.images is not None
        return "images" in self._model.card["training"]

    def _other_images(self) -> None:
        self._results.clear()
        self.refresh()

    def _new_table(self) -> None:
        self._source = None
        self._found = None
        self._results.clear()
        if self.session.opened is not None and self.isVisible():
            suggest(self.session, self.jobs, self._target, "predicted", ".csv")
        self.refresh()

    def _show_training(self) -> None:
        """Show where a model is trained on a release, with the newest of this session."""
        made = [
            step.files[0][1] for step in self.session.released if step.files and not step.model and not step.central
        ]
        self._offer(made[-1] if made else None)

    def _offer(self, release: Path | None) -> None:
        keys = self.has_keys(self._learn)
        self._learn.hide()
        self._training.show()
        self._training.offer(release)
        if keys:
            self._training.take_keys()

    def _take(self, folder: Path) -> None:
        keys = self.has_keys(self._training.start, self._training.cancel)
        self._training.hide()
        self._learn.show()
        if keys:
            self.take_keys()
        self._folder.choose(str(folder))
        self._open()

    def _suggest_model(self) -> None:
        """Take the newest model of this session, unless another was chosen."""
        made = [step.files[0][1] for step in self.session.released if step.model]
        if made and not self._folder.isModified() and self._folder.text() != str(made[-1]):
            self._folder.setText(str(made[-1]))
            self._open()

    def _open(self) -> None:
        text = self._folder.text().strip()
        if self._model is not None and str(self._model.folder) == text:
            return
        self._model = None
        self.session.overtaken.emit()
        self._released.setCurrentIndex(max(self._released.findData(text), 0))
        self._weights.hide()
        self._results.clear()
        self._show_model()
        if text:
            self._look_into(Path(text))

    def _open_with_weights(self, weights: Path) -> None:
        self._show_model()
        self._look_into(Path(self._folder.text().strip()), weights)

    def _look_into(self, folder: Path, weights: Path | None = None) -> None:
        job = Job(tr("Opening a model"), partial(open_released, folder, weights))
        self.jobs.start(job, key="predict-open", stoppable=False, on_result=self._opened, on_failure=self._refused)

    def _opened(self, model: OpenModel) -> None:
        if str(model.folder) == self._folder.text().strip():
            self._model = model
            self._weights.hide()
            self._found = None
            self._show_model()

    def _refused(self, error: BaseException) -> None:
        self._show_model()
        if isinstance(error, WeightsNeededError):
            self._weights.ask(error.checksum)
        self._refusal = self.session.worded(error)
        self._lead()

    def _show_model(self) -> None:
        model = self._model
        self._refusal = ""
        self._problem.setVisible(model is None)
        self._facts.setVisible(model is not None)
        if model is not None:
            self._facts.show_lines(_facts_of(model))
        self.refresh()

    def _predict(self) -> None:
        if self._model is None or self.running:
            return
        source = self._images.source
        if self._predicts_images and not self._may_show(source):
            return
        self._found = None
        self._results.clear()
        if not self._predicts_images:
            rows, output = self._source or self.session.opened, Path(self._target.text().strip())
            assert rows is not None
            about = rows.name if isinstance(rows, Path) else rows.title
            work = partial(predict, self._model, rows, self.session.plan, output)
            self.follow(self.jobs.start(Job(tr("Predicting"), work, about=about), on_result=self._done))
        elif source is not None:
            job = Job(tr("Predicting"), partial(image_predictions, self._model, source), about=source.title)
            show = partial(self._show_images, source)
            self.follow(self.jobs.start(job, on_result=show))

    def _may_show(self, source: ImageSource | None) -> bool:
        """Return whether to go on, having asked where how often it is right were the first private figure shown."""
        opened = None if source is None else source.opened
        return opened is None or not opened.table.labelled or bool(private_figures.may_show(self, self.session))

    def _show_images(self, source: ImageSource, found: ImagePredictions) -> None:
        """Show what was said of images, if they are still those that the page names."""
        if source == self._images.source:
            self._results.show_predictions(found, source)
            into_sight(self._results)

    def _done(self, found: Predicted) -> None:
        stated = tr(
            "{rows} in {name}. Nothing was charged: the model is released.",
            rows=count(found.rows, "prediction"),
            name=found.output.name,
        )
        read = tr("The file was read as the table of the training was.") if found.as_trained else ""
        self._outcome.setText(f"{stated} {read}".rstrip())
        often = enumerate(found.often[:MOST_SHOWN])
        self._often.show_lines(Fact(f"often_{at}", name, count(rows, "row")) for at, (name, rows) in often)
        self._found = found
        self._show_sheet()
        suggest(self.session, self.jobs, self._target, "predicted", ".csv")
        into_sight(self._sheet)
        self.session.notify("info", tr("Wrote {name}: private, not for release.", name=found.output.name))


def _facts_of(model: OpenModel) -> Iterator[Fact]:
    """Return what the card of a model says of it, as far as it matters to who predicts."""
    yield Fact("model", tr("Model"), tr_sentence(model.title))
    if reads := reads_words(model):
        yield Fact("reads", tr("Reads"), reads)
    else:
        said = tr("groups of rows") if model.header == ("group",) else model.target.name
        verb, said = (tr("Makes"), listed(model.header, MOST_COLUMNS)) if model.columns else (tr("Predicts"), said)
        yield Fact("predicts", verb, said)
        used = model.card["training"].get("attributes_used", [a.name for a in model.attributes])
        nothing = tr("nothing: it always says the same")
        yield Fact("looks_at", tr("Columns used"), listed(used, MOST_COLUMNS) or nothing)
    guarantee, made_from = model.card["guarantee"], model.card.get("made_from")
    delta = f", δ = {at_most(float(guarantee['delta']))}" if float(guarantee["delta"]) else ""
    paid = f"ε = {at_most(float(guarantee['epsilon']))}{delta}, {day_of(model.card['time'])}"
    if made_from is None:
        yield Fact("paid", tr("Paid at its release"), paid)
    else:
        free = tr(
            "nothing beyond release {release} ({file}), {paid}",
            release=made_from["release_id"],
            file=made_from["file"],
            paid=paid,
        )
        yield Fact("paid", tr("Costs"), free)
    if outside := " ".join(map(tr_sentence, model.card["outside_guarantee"])):
        yield Fact("outside", tr("Not covered by ε"), outside, "warn")
