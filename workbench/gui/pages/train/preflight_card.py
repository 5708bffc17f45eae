"""What is known and chosen before a run starts: cost, noise, steps, memory, what accuracy to expect, how it goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QPushButton, QWidget

from workbench.gui.pages.train.messages import NEEDS_TORCH, QUIET, SHOWN, cost, steps
from workbench.gui.pages.train.tasks import TORCH, TrainingRows, training_rows
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenImages, Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    Fact,
    Facts,
    button,
    caption,
    label,
    named,
    panel,
    row,
    say,
    stack,
)
from workbench.gui.widgets.dialogs import ask_for_file, ask_for_folder, ask_where_to_save
from workbench.gui.widgets.formatting import at_most, memory, paused_words, plain
from workbench.gui.widgets.path_field import PathField
from workbench.gui.widgets.private_figures import BESIDE
from workbench.jobs import Job
from workbench.params import Parameters
from workbench.params.errors import how_to_install
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.data.images.image_set import ImageSet
    from workbench.release.model.paused_training import PausedTraining
    from workbench.release.model.preflight import Preflight


WIDEST = 720  # points of the figures beyond which a name and its figure no longer read as one line

WEIGHTS = tr_later(
    "Compare it with the one that the publisher of the weights states; to be sure, enter that one as the checksum"
)


class PreflightCard(Card):
    """The figures of a preflight, what is wrong with it, the folder of the model, and whether the run is quiet."""

    changed = Signal()

    def __init__(self, explain: QPushButton, expected: QWidget, test: QWidget) -> None:
        """Make the card; ``explain`` is beside its title, the other two below its figures."""
        super().__init__()
        self._first = False
        self._facts = Facts()
        figures = panel(stack(self._facts, expected))
        figures.setMaximumWidth(WIDEST)
        line = row((figures, 1))
        line.addStretch(0)
        self._problem = label("", "problem", wrap=True, name="train_problem")
        self._missing = label("", "warn", wrap=True, name="train_missing")
        tip = tr("A new folder; it appears whole or not at all")
        self.folder = PathField("train_folder", tr("Folder of the model"), tip)
        choose = button("…", "train_choose_folder", tip=tr("Choose another place"), accessible=tr("Choose the folder"))
        choose.setMinimumWidth(40)
        choose.clicked.connect(self._choose)
        self.folder.textEdited.connect(self.changed)
        self._place = panel(row(label(tr("folder"), "muted"), (self.folder, 1), choose))
        title = caption(tr("BEFORE IT STARTS"), explain)
        tip = tr("Allow all releases of this table together more ε")
        self.raise_cap = button(tr("Raise the cap…"), "train_raise_cap", tip=tip)
        self.raise_cap.hide()
        self._quiet = QCheckBox(tr("Quiet run"))
        self._quiet.setToolTip(tr("Compute and show no private figure while the network trains"))
        named(self._quiet, "train_quiet", tr("Quiet run"))
        self._quiet_words = label("", "muted", wrap=True, name="train_quiet_words")
        self._quiet.toggled.connect(self._say_quiet)
        self._quiet.toggled.connect(self.changed)
        self._quiet_line = panel(row(self._quiet, (self._quiet_words, 1), spacing=12))
        self._say_quiet()
        self.body.add(title, panel(line), self._problem, self._missing)
        self.body.addWidget(self.raise_cap, 0, Qt.AlignmentFlag.AlignLeft)  # no wider than its words on a wide page
        self.body.add(self._quiet_line, test, self._place)
        self.set_problem("")

    @property
    def place(self) -> Path | None:
        text = self.folder.text().strip()
        return Path(text) if text else None

    @property
    def quiet(self) -> bool:
        return self._quiet.isChecked()

    def lock(self, *, locked: bool, charts: bool) -> None:
        """Let nothing be changed while a run goes on, and leave the room of what cannot be to its ``charts``."""
        self._quiet.setEnabled(not locked)
        self._place.setEnabled(not locked)
        self._place.setHidden(locked and charts)
        if locked:
            self._quiet_line.hide()

    def _say_quiet(self) -> None:
        beside = f" {tr(BESIDE)}" if self._first and not self.quiet else ""
        self._quiet_words.setText(tr(QUIET) if self.quiet else f"{tr(SHOWN)}{beside}")

    def say_first(self, *, first: bool) -> None:
        """Say beside the tick whether a run that is not quiet would show the first private figures of the rows."""
        self._first = first
        self._say_quiet()

    def set_problem(self, text: str) -> None:
        say(self._problem, text)

    def show_figures(
        self, found: Preflight | None, *, network: bool, torch_missing: bool, asked: bool = False, beyond: bool = False
    ) -> None:
        """Show what was worked out; ``asked`` where that goes on, ``beyond`` where the cap does not pay for it."""
        self.raise_cap.setVisible(beyond)
        self._quiet_line.setVisible(network)
        working = asked and not self._problem.text()
        say(self._missing, tr(NEEDS_TORCH, how=tr_sentence(how_to_install(TORCH))) if torch_missing else "")
        facts = [Fact("cost", tr("cost"), cost(found, working=working), "accent")]
        if found is not None and found.made_of:
            facts.append(Fact("made_of", tr("made of"), tr_sentence(found.made_of)))
        if found is not None and found.weights:  # of a frozen part
            tip = f"{found.weights}\n{tr(WEIGHTS)}"
            facts.append(Fact("weights", tr("SHA-256 of the weights"), f"{found.weights[:16]}…", tip=tip))
        self._facts.show_lines([*facts, *(_of_network(found) if network else ())])

    def _choose(self) -> None:
        path = ask_where_to_save(self, tr("A new folder for the model"), self.folder.text(), tr("Folder (*)"))
        if path:
            self.folder.choose(path)
            self.changed.emit()


def _of_network(found: Preflight | None) -> tuple[Fact, ...]:
    """Return the figures that only a training in steps has."""
    sigma, count, need, kind = "–", "–", "–", ""
    if found is not None and found.sigma is not None:
        sigma, count, need = f"σ = {plain(found.sigma)}", steps(found), _memory(found)
        kind = "" if found.fits else "danger"
    return (
        Fact("sigma", tr("noise over clipping norm"), sigma),
        Fact("steps", tr("steps"), count),
        Fact("memory", tr("memory it adds"), need, kind, _made_of(found)),
    )


def _memory(found: Preflight) -> str:
    need, free = memory((found.memory or 0) + (found.libraries or 0)), memory(found.free or 0)
    if found.fits:
        return tr("{need}; fits, {free} free", need=need, free=free)
    return tr("{need}; does not fit: {free} free", need=need, free=free)


def _made_of(found: Preflight | None) -> str:
    """Return what the memory is for: three figures of one run are shown in one place."""
    if found is None or found.memory is None:
        return ""
    if not found.libraries:
        return tr(
            "Predicted: {memory} for rows and model. The gauge adds what the window takes.", memory=memory(found.memory)
        )
    return tr(
        "Predicted: {memory} for rows and model, {libraries} for Python and PyTorch in a process of its own. "
        "The gauge adds what the window takes.",
        memory=memory(found.memory),
        libraries=memory(found.libraries),
    )


WORKING = tr_later("training on made-up rows…")
TIP = tr_later(
    "Train with these settings on made-up rows (or on the public test images). It takes about 20 "
    "seconds, reads no private row and costs nothing"
)


class ExpectedLine(QWidget):
    """A button and its answer; what it says is for the values of the form, and goes when that changes."""

    changed = Signal()

    def __init__(
        self,
        session: Session,
        jobs: JobCenter,
        asked: Callable[[], tuple[object, Parameters | None, ImageSet | None]],
    ) -> None:
        """Make it; ``asked`` says what would be trained: something to compare, its parameters, public images."""
        super().__init__()
        self._session, self._jobs, self._asked = session, jobs, asked
        self._stated = Elided("", name="train_expected_told")
        self._stated.hide()
        self._ask = button(
            tr("Simulate"), "train_expect", "link", tip=tr(TIP), accessible=tr("Simulate the expected accuracy")
        )
        self._ask.clicked.connect(self._pressed)
        self._text, self._working = "", False
        self._of: object = None
        self._handle: JobHandle | None = None
        self.setLayout(stack(panel(row(label(tr("expected accuracy"), "muted"), None, self._ask)), self._stated))

    def show_state(self, *, network: bool, ready: bool, running: bool) -> None:
        """Show the line for a network, let it be asked where the run is ``ready``, and forget what is out of date.

        While a run goes on, only what was shown stays.
        """
        self.setVisible(network and (not running or bool(self._text)))
        working = self._handle is not None
        if self._of is not None and self._of != self._asked()[0]:
            self._of = None
            if self._handle is not None:
                self._handle.cancel()
            else:
                self._say("")
        self._ask.setText(tr("Stop") if working else tr("Simulate"))
        self._ask.setEnabled(ready or working)

    def _say(self, text: str, in_full: str = "", *, working: bool = False) -> None:
        self._text, self._working = text, working
        self._stated.set_whole(text, in_full, wrapped=True)
        self._stated.setVisible(bool(text))

    def simulate(self) -> None:
        if self._handle is None and self._ask.isEnabled():
            self._pressed()

    def _pressed(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            return
        what, parameters, public = self._asked()
        if parameters is None:
            return
        work = partial(expected, training_rows(self._session), parameters, public)

        def show(found: tuple[str, ...]) -> None:
            if self._of == what:
                self._say(tr_sentence(found[0]), " ".join(map(tr_sentence, found[1:])))

        def refuse(error: BaseException) -> None:
            said = self._session.worded(error)
            if self._of == what:
                self._say(said, said)

        def ended() -> None:
            self._handle = None
            if self._working:
                self._say("")
            self.changed.emit()

        self._of = what
        self._say(tr(WORKING) if public is None else tr("training on the public test images…"), working=True)
        job = Job(tr("Expected accuracy"), work)
        self._handle = self._jobs.start(job, key="expected accuracy", on_result=show, on_failure=refuse)
        self._handle.ended.connect(ended)
        self.changed.emit()


def expected(
    make: Callable[[], TrainingRows], plan: Parameters, public: ImageSet | None, emit: Emit, cancel: CancelToken
) -> tuple[str, ...]:
    """Do the simulation; runs in a worker."""
    from workbench.deep.plan import DpSgdPlan
    from workbench.jobs.network import expect_accuracy

    assert isinstance(plan, DpSgdPlan)
    return expect_accuracy(make().expectation(plan, public), emit, cancel)


NONE = tr_later("none")
TITLE = tr_later("Choose public test images")


class TestImages(QWidget):
    """One line: which public images the network is tested with, and a button to choose them."""

    __test__ = False  # not a test case, whatever its name says to a test runner

    changed = Signal()

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self.images: ImageSet | None = None
        self._session, self._jobs = session, jobs
        self._stated = Elided(tr(NONE), "muted", name="train_test_told")
        tip = tr("Choose only images that are public: the accuracy on them goes on the model's card")
        self._choose = button(tr("Choose…"), "train_test_choose", tip=tip, accessible=tr("Choose public test images"))
        self._choose.clicked.connect(self._ask)
        self._drop = button("×", "train_test_drop", "link", tip=tr("Test with none"), accessible=tr("Test with none"))
        self._drop.clicked.connect(self.forget)
        self.setLayout(row(label(tr("public test images"), "muted"), (self._stated, 1), self._drop, self._choose))
        self._drop.hide()

    def forget(self) -> None:
        self._show(None, tr(NONE))

    def lock(self, *, locked: bool) -> None:
        self._choose.setEnabled(not locked)
        self._drop.setEnabled(not locked)

    def _ask(self) -> None:
        opened = self._session.images
        assert opened is not None
        path = ask_for_folder(self, tr(TITLE)) if opened.folder else ask_for_file(self, "images", tr(TITLE))
        if not path or self._session.images is not opened:
            return

        def show(found: ImageSet) -> None:
            if self._session.images is opened:
                self._show(
                    found,
                    tr_number(found.rows, ","),
                    tr(
                        "{rows} images of {name}, declared public",
                        rows=tr_number(found.rows, ","),
                        name=Path(path).name,
                    ),
                )

        job = Job(tr("Reading test images"), partial(read_test, opened, path))
        self._jobs.start(job, key="test images", on_result=show)

    def _show(self, images: ImageSet | None, stated: str, in_full: str = "") -> None:
        self.images = images
        self._stated.set_whole(stated, in_full)
        self._drop.setVisible(images is not None)
        self.changed.emit()


def read_test(opened: OpenImages, path: str, emit: Emit, cancel: CancelToken) -> ImageSet:
    """Return test images of the classes and the shape of those that are ``opened``; runs in a worker.

    Raises:
        InputError: they cannot be read, or have another shape.
    """
    from workbench.data.images.arrays import TEST
    from workbench.data.images.image_reader import ImageOptions, has_class_folders, read_images
    from workbench.deep.features import ImageFeatures

    classes = opened.table.classes
    declared = ImageOptions(classes=classes)
    if has_class_folders(path):
        declared = dataclasses.replace(opened.options, classes=classes)
    found = read_images(path, declared, part=TEST, emit=emit, cancel=cancel)
    ImageFeatures.of(opened.table).inputs(found)
    cancel.check()
    return found


class PausedCard(Card):
    """One sentence on the run that is offered, Resume and Give up; hidden where none is paused."""

    def __init__(self, resume: Callable[[], object], give_up: Callable[[], object]) -> None:
        super().__init__(pad=12)
        self.run: PausedTraining | None = None
        self._text = label("", wrap=True, name="train_paused")
        self._text.setToolTip(tr("Its ε stays reserved until it goes on or is given up"))
        tip = tr("Go on from the checkpoint; this charges nothing more")
        self.resume = button(tr("Resume"), "train_resume", tip=tip, press=resume)
        tip = tr("End this run for good and remove its checkpoint")
        leave = button(tr("Give up…"), "train_give_up", "link", tip=tip, press=give_up)
        self.body.addLayout(row(label("↺", "accent"), (self._text, 1), self.resume, leave))
        self.hide()

    def show_run(self, run: PausedTraining | None, *, running: bool) -> None:
        self.run = run
        self.setVisible(run is not None and not running)
        if run is not None:
            self._text.setText(paused_words(run))


def give_up_question(run: PausedTraining) -> str:
    """Return what giving a run up costs."""
    if run.cost is None:
        if run.shown:
            return tr(
                "Nothing is released, and the whole ε = {epsilon} stays charged: figures of this run were shown. "
                "Going on with it costs no more than that.",
                epsilon=at_most(run.epsilon),
            )
        return tr(
            "Nothing is released, and the whole ε = {epsilon} stays charged: the ledger does not say what its steps "
            "cost. Going on with it costs no more than that.",
            epsilon=at_most(run.epsilon),
        )
    back = run.epsilon - run.spent
    return tr(
        "Nothing is released. Its {taken} steps cost ε = {spent}; you get back ε = {back}, because "
        "no private figure was shown.",
        taken=tr_number(run.taken, ","),
        spent=at_most(run.spent),
        back=at_most(back),
    )
