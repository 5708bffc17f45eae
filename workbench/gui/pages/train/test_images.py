"""Public images to measure the accuracy of a network on: chosen, read in a worker, and shown in one line."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.open_images import OpenImages
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets.basic import Elided, button, label, row
from workbench.gui.widgets.dialogs import ask_for_folder, ask_for_images
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.data.images.image_set import ImageSet

NONE = tr_later("none")
TITLE = tr_later("Choose public test images")


class TestImages(QWidget):
    """One line: which public images the network is tested with, and a button to choose them.

    Attributes:
        images: those that were chosen; ``None`` where there are none.

    Signals:
        changed: others were chosen, or none.
    """

    __test__ = False  # not a test case, whatever its name says to a test runner

    changed = Signal()

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self.images: ImageSet | None = None
        self._session, self._jobs = session, jobs
        self._stated = Elided(tr(NONE), "muted", name="train_test_told")
        self._choose = button(
            tr("Choose…"),
            "train_test_choose",
            tip=tr("Choose only images that are public: the accuracy on them goes on the model's card"),
            accessible=tr("Choose public test images"),
        )
        self._choose.clicked.connect(self._ask)
        self._drop = button("×", "train_test_drop", "link", tip=tr("Test with none"), accessible=tr("Test with none"))
        self._drop.clicked.connect(self.forget)
        line = row(label(tr("public test images"), "muted"), (self._stated, 1), self._drop, self._choose)
        self.setLayout(line)
        self._drop.hide()

    def forget(self) -> None:
        """Test with none."""
        self._show(None, tr(NONE))

    def lock(self, *, locked: bool) -> None:
        """Let nothing be changed while a run goes on."""
        self._choose.setEnabled(not locked)
        self._drop.setEnabled(not locked)

    def _ask(self) -> None:
        opened = self._session.images
        assert opened is not None
        path = ask_for_folder(self, tr(TITLE)) if opened.folder else ask_for_images(self, tr(TITLE))
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

        job = Job(tr("Reading test images"), lambda emit, cancel: read_test(opened, path, emit, cancel))
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
    from workbench.data.images.read import ImageOptions, of_class_folders, read_images
    from workbench.deep.features import ImageFeatures

    classes = opened.table.classes
    declared = ImageOptions(classes=classes)
    if of_class_folders(path):
        declared = dataclasses.replace(opened.options, classes=classes)
    found = read_images(path, declared, part=TEST, emit=emit, cancel=cancel)
    ImageFeatures.of(opened.table).inputs(found)
    cancel.check()
    return found
