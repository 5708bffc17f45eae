"""Which images are predicted for: the set that is open, or others."""

from __future__ import annotations

from PySide6.QtCore import Signal

from workbench.gui.pages.predict.image_tasks import ImageSource
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Card, button, label, row
from workbench.gui.widgets.dialogs import ask_for_folder, ask_for_pictures

NONE = tr_later("Choose images, or a folder of them; they may have classes or not.")
CHOOSE_TIP = tr_later("Single PNG or JPEG images, or a set: MNIST, CIFAR-10, .npz or .zip")


class ImagesCard(Card):
    """One line that says which images, and buttons that choose others.

    Signals:
        changed: other images.
    """

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._paths: tuple[str, ...] = ()
        self._stated = label("", wrap=True, name="predict_images")
        self._open = button(
            tr("The open images"), "predict_images_open", "link", tip=tr("Predict for the set that is open")
        )
        self._open.clicked.connect(lambda: self.take(()))
        files = button(tr("Choose images…"), "predict_images_choose", tip=tr(CHOOSE_TIP), press=self._ask_for_files)
        folder = button(
            tr("Choose a folder…"), "predict_images_folder", tip=tr("Images in one folder, or in folders of classes")
        )
        folder.clicked.connect(self._ask_for_folder)
        line = row((self._stated, 1), self._open, files, folder)
        self.body.addWidget(label(tr("IMAGES"), "caption"))
        self.body.addLayout(line)
        session.table_changed.connect(self._new_images)
        self.refresh()

    @property
    def source(self) -> ImageSource | None:
        """The images that are predicted for; ``None`` while there are none."""
        if self._paths:
            return ImageSource(paths=self._paths)
        return None if self._session.images is None else ImageSource(self._session.images)

    def refresh(self) -> None:
        images, source = self._session.images, self.source
        self._open.setVisible(images is not None and bool(self._paths))
        if source is None:
            self._stated.setText(tr(NONE))
        elif source.opened is not None:
            self._stated.setText(
                tr("{title}, which is open: {stated}.", title=source.title, stated=source.opened.stated)
            )
        else:
            self._stated.setText(source.title)
            self._stated.setToolTip("\n".join(self._paths[:20]))

    def _new_images(self) -> None:
        if self._session.images is not None:
            self._paths = ()
        self.refresh()

    def _ask_for_files(self) -> None:
        self.take(ask_for_pictures(self, tr("Predict for images")) or self._paths)

    def _ask_for_folder(self) -> None:
        chosen = ask_for_folder(self, tr("Predict for a folder of images"))
        self.take((chosen,) if chosen else self._paths)

    def take(self, paths: tuple[str, ...]) -> None:
        """Predict for these files; for the open set where there are none."""
        if paths != self._paths:
            self._paths = paths
            self.refresh()
            self.changed.emit()
