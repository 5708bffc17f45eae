"""A model trained on a released table: which release, which model, what it predicts, and the folder it goes into."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from workbench import learners
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, button, enable_if, label, look, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import ask_for_file, ask_where_to_save
from workbench.gui.widgets.formatting import at_most, count
from workbench.gui.widgets.path_field import PathField
from workbench.gui.widgets.stopping import ask_to_stop
from workbench.jobs import CancelToken, Emit, Job
from workbench.learners.tasks import task
from workbench.params import InputError, ParameterError
from workbench.params.remedies import REPLACE_VALUES
from workbench.sanitize.intended_use import target_by_name

if TYPE_CHECKING:
    import polars as pl

    from workbench.data.schema import Attribute
    from workbench.learners import Learner
    from workbench.release.model.on_release import ModelOnRelease
    from workbench.release.model.open_model import OpenModel


@dataclass(frozen=True)
class Predicted:
    """What came of a prediction, private but for the path: how often each is made, beside the columns that it reads."""

    output: Path
    rows: int
    often: tuple[tuple[str, int], ...]
    frame: pl.DataFrame
    figures: frozenset[str]
    as_trained: bool  # whether the file was read as the table of the training was


class WeightsNeededError(InputError):
    """A network can be opened with the public weights of its frozen part alone."""

    def __init__(self, folder: Path, checksum: str) -> None:
        super().__init__(
            tr("the network needs the public weights that it was trained on"), str(folder), tr("choose their file")
        )
        self.checksum = checksum  # their SHA-256, as its card has it


def open_released(folder: Path, weights: Path | None, emit: Emit, cancel: CancelToken) -> OpenModel:
    """Open the model in ``folder``, checked against its card; a frozen part asks for its public ``weights``."""
    from workbench.release.certificate import read_card
    from workbench.release.model.open_model import open_model

    stated = read_card(folder)["training"].get("architecture")
    if weights is None and isinstance(stated, dict) and stated.get("weights_sha256"):
        raise WeightsNeededError(folder, str(stated["weights_sha256"]))
    return open_model(folder, weights)


@dataclass(frozen=True)
class Learnable:
    """What a release offers to a model: its protected columns, and a name for the folder that nothing has yet."""

    release: Path
    columns: tuple[Attribute, ...]
    folder: Path


def learnable(release: Path, emit: Emit, cancel: CancelToken) -> Learnable:
    """Read from the certificate of ``release`` what can be predicted; runs in a worker."""
    from workbench.release.model.on_release import columns_to_predict

    columns = columns_to_predict(release)
    for number in itertools.count(1):
        cancel.check()
        folder = release.with_name(f"{release.stem}-model{f'-{number}' if number > 1 else ''}")
        if not folder.exists():
            break
    return Learnable(release, columns, folder)


def train(chosen: Learner, release: Path, target: str, folder: Path, emit: Emit, cancel: CancelToken) -> ModelOnRelease:
    """Verify ``release``, train ``chosen`` on it and write the model into ``folder``; nothing is charged."""
    from workbench.release.model.on_release import train_on_release

    return train_on_release(chosen, release, None, target, folder, emit, cancel)


def predict(
    model: OpenModel, source: Path | OpenTable, draft: DraftPlan, output: Path, emit: Emit, cancel: CancelToken
) -> Predicted:
    """Write the predictions of ``model`` for the table in a file, or for the open one; runs in a worker."""
    import polars as pl

    from workbench.data.table_reader import ReadOptions
    from workbench.release.model.open_model import read_to_predict, write_predictions

    as_trained = False
    if isinstance(source, Path):
        hint = tr("open it in Data, state there how it is read, and predict for the open table")
        rows, form = read_to_predict(model, str(source), ReadOptions(), cancel, hint=hint)
        as_trained = bool(form)
    else:
        rows = source.table.with_invalid_replaced() if draft.replaces_invalid else source.table
    seen: Counter[str] = Counter()
    of_numbers = model.target.numeric or bool(model.columns)
    try:
        written = write_predictions(model, rows, output, emit, cancel, seen=None if of_numbers else seen)
    except InputError as error:
        if isinstance(source, Path) and REPLACE_VALUES in error.remedies:  # the plan of the open table is not read
            raise InputError(error.what, error.where, error.remedies[0]) from error
        raise
    made = pl.read_csv(output, infer_schema=False).drop("row")
    made = made.rename({name: _unused(name, rows.frame) for name in made.columns})
    figures = frozenset(made.columns if of_numbers else made.columns[1:])  # else a class or group, and chances
    used = model.card["training"].get("attributes_used", [a.name for a in model.attributes])
    beside = [name for name in rows.names if name in used or name == model.target.name]
    return Predicted(output, written, tuple(seen.most_common()), made.hstack(rows.frame[beside]), figures, as_trained)


def _unused(name: str, frame: pl.DataFrame) -> str:
    """Return the name with a sign that distinguishes it from the columns of the table."""
    while name in frame.columns:
        name += "*"
    return name


# -- the card ---------------------------------------------------------------------------------------------------------


ABOUT = tr_later(
    "A released table and its certificate are enough: the model knows which public tables the "
    "values went through. It costs nothing beyond the release, and is as public as that is."
)
NO_RELEASE = tr_later("Name a released table; its certificate lies beside it.")


class TrainCard(Card):
    """Trains a model on a release in a worker; nothing is charged, and the folder appears whole or not at all."""

    changed = Signal()
    trained = Signal(object)

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(
            label(tr("TRAIN A MODEL ON A RELEASED TABLE"), "caption"), label(tr(ABOUT), "muted", wrap=True)
        )
        self._session, self._jobs = session, jobs
        self._found: Learnable | None = None
        self._handle: JobHandle | None = None
        tip = tr("The released file, its certificate beside it")
        self._release = PathField("learn_release", tr("Released table"), tip)
        self._model = named(ChoiceBox(), "learn_model", tr("Model"), tr("A model that can learn from a released table"))
        for entry in learners.LEARNERS:
            if entry.corrected is not None:
                self._model.addItem(tr_sentence(entry.title), entry.name)
        tip = tr("A protected column of the release")
        self._target = named(ChoiceBox(), "learn_target", tr("Column to predict"), tip)
        tip = tr("A new folder for the model and its card")
        self._folder = PathField("learn_folder", tr("Folder for the model"), tip)
        self._problem = label(tr(NO_RELEASE), "muted", wrap=True, name="learn_problem")
        tip = tr("Verify the release, then train; charges nothing")
        self.start = button(tr("Train on this release (costs nothing)"), "learn_start", tip=tip, press=self._train)
        self.cancel = button(tr("Cancel"), "learn_cancel", tip=tr("Stop; no folder is written"), press=self.stop)
        self._arrange()
        self._release.editingFinished.connect(self._look)
        self._model.currentIndexChanged.connect(lambda _index: self._show_targets())
        self._target.currentIndexChanged.connect(lambda _index: self.refresh())
        self._folder.textChanged.connect(lambda: self.refresh())
        self.refresh()

    @property
    def job(self) -> JobHandle | None:
        return self._handle

    def offer(self, release: Path | None = None) -> None:
        """Name a release, as a person would; or look again at the one that is named."""
        if self._handle is None:
            if release is not None:
                self._release.choose(str(release))
            self._found = None
            self._look()

    def take_keys(self) -> None:
        (self.start if self.start.isEnabled() else self._release).setFocus()

    def stop(self) -> bool:
        if self._handle is None or self._handle.stopping:
            return False
        ask_to_stop(self, self._handle)
        self.refresh()
        return True

    def refresh(self) -> None:
        running = self._handle is not None
        stopping = self._handle is not None and self._handle.stopping
        ready = self._found is not None and self._target.currentData() is not None and bool(self._folder.text().strip())
        keys = self.window().focusWidget() in (self.start, self.cancel)
        enable_if(not running, self._release, self._model, self._target, self._folder)
        self.start.setVisible(not running)
        self.start.setEnabled(ready)
        self.cancel.setVisible(running)
        self.cancel.setEnabled(not stopping)
        self.cancel.setText(tr("Cancelling…") if stopping else tr("Cancel"))
        if keys:  # a button that goes or greys would give them to another part of the window
            (self if stopping else self.cancel if running else self.start).setFocus()
        self.changed.emit()

    def _arrange(self) -> None:
        ask = partial(ask_for_file, self, "table")
        browse = self._release.chooser(ask, tr("Choose a released table"), self._look)
        save = self._folder.chooser(
            lambda: ask_where_to_save(self, tr("A new folder for the model"), self._folder.text(), ""),
            tr("Choose a new folder for the model"),
        )
        first = row(label(tr("Released table")), (self._release, 1), browse)
        second = row(label(tr("Model")), self._model, 8, label(tr("predicts")), (self._target, 1))
        third = row(label(tr("Into the new folder")), (self._folder, 1), save)
        foot = row((self._problem, 1), self.cancel, self.start)
        self.body.add(first, second, third, foot)

    def _look(self) -> None:
        text = self._release.text().strip()
        if self._found is not None and str(self._found.release) == text:
            return
        self._found = None
        self._show_targets()
        self._say(tr(NO_RELEASE))
        if text:
            job, show = Job(tr("Looking at a release"), partial(learnable, Path(text))), self._show_found
            self._jobs.start(job, key="predict-look", stoppable=False, on_result=show, on_failure=self._refused)

    def _show_found(self, found: Learnable) -> None:
        if str(found.release) != self._release.text().strip():
            return
        self._found = found
        if not self._folder.isModified():
            self._folder.setText(str(found.folder))
        self._show_targets()

    def _show_targets(self) -> None:
        """Offer the columns that the chosen model can predict, first the one that the open plan names."""
        former, model = self._target.currentData(), self._chosen()
        fitting = [] if self._found is None else [a for a in self._found.columns if _fits(model, a)]
        names = [a.name for a in fitting]
        declared = next((a.name for a in fitting if a.role == "target"), None)
        likely = (former, self._session.target, declared, target_by_name(names))
        wanted = names[0] if len(names) == 1 else next((name for name in likely if name in names), None)
        unnamed = [(tr("choose a column"), None)] if wanted is None and names else []
        self._target.offer([*unnamed, *((name, name) for name in names)], wanted)
        if self._found is not None:
            lacking = tr(
                "This release has no protected column that it could predict. {needs}",
                needs=tr_sentence(task(model.task).needs),
            )
            self._say("" if names else lacking)
        self.refresh()

    def _chosen(self) -> Learner:
        return learners.learner(self._model.currentData())

    def _train(self) -> None:
        if self._found is None or self._handle is not None:
            return
        self._say("")
        folder = Path(self._folder.text().strip())
        release, target = self._found.release, str(self._target.currentData())
        work = partial(train, self._chosen(), release, target, folder)
        job, done = Job(tr("Training on a release"), work, about=release.name), partial(self._done, folder)
        self._handle = self._jobs.start(job, on_result=done, on_failure=self._refused)
        self._handle.ended.connect(self._ended)
        self.refresh()

    def _ended(self) -> None:
        self._handle = None
        self.refresh()

    def _done(self, folder: Path, made: ModelOnRelease) -> None:
        self._found = None  # the next model needs another folder
        self._folder.setModified(False)
        self._session.notify(
            "info",
            tr(
                "Trained {title} on {rows} of release {release}: nothing was charged beyond its ε = {epsilon}.",
                title=tr_sentence(made.chosen.title),
                rows=count(made.rows, "row"),
                release=made.release_id,
                epsilon=at_most(made.epsilon),
            ),
        )
        self.trained.emit(folder)

    def _refused(self, error: BaseException) -> None:
        self._say(self._session.worded(error), "danger")

    def _say(self, text: str, kind: str = "muted") -> None:
        look(self._problem, kind)
        self._problem.setText(text)


def _fits(model: Learner, column: Attribute) -> bool:
    try:
        task(model.task).check(column)
    except ParameterError:
        return False
    return True
