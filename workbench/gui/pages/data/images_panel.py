"""The set of images that is open: what is public of it, what the person declares, and its classes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QPixmap, QShowEvent
from PySide6.QtWidgets import QWidget

from workbench.data.images.image_reader import ImageOptions
from workbench.gui.pages.data.start import taken_words
from workbench.gui.project.open_table import look_for_changes, open_images
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenImages, Session
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import Card, Facts, badge, button, label, named, panel, row, say, stack
from workbench.gui.widgets.dialogs import confirm
from workbench.gui.widgets.formatting import count, listed, memory
from workbench.gui.widgets.parameter_form import Form
from workbench.gui.widgets.thumbnail import thumbnail
from workbench.jobs import CancelToken, Emit, Job
from workbench.render.fonts import font

if TYPE_CHECKING:
    from workbench.data.images.image_set import ClassOverview
    from workbench.deep.feature_cache import CacheState

SHOWN = 40  # classes that have a line; of more, the rest is counted in one
LINE, THUMB, GAP = 44, 38, 4
NAME, FIGURE = 120, 64  # widths of the name and of the number in front of the pictures


class ClassSheet(QWidget):
    """One line for each class: its name, how many images it has, and as many of them as there is room for."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        named(self, "images_sheet")
        self._session = session
        self._seen: tuple[ClassOverview, ...] = ()
        self._drawn: dict[tuple[int, int], QPixmap] = {}
        session.theme_changed.connect(self.update)

    def show_classes(self, seen: tuple[ClassOverview, ...]) -> None:
        self._seen, self._drawn = seen, {}
        stated = ", ".join(f"{one.name}: {count(one.images, 'image')}" for one in seen[:SHOWN])
        self.setAccessibleName(tr("Private, not for release. Images of each class: {stated}", stated=stated))
        self.setFixedHeight(LINE * min(len(seen), SHOWN + 1) + 4)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        theme = self._session.theme
        middle = Qt.AlignmentFlag.AlignVCenter
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            for at, one in enumerate(self._seen[:SHOWN]):
                top = LINE * at
                if not event.rect().intersects(QRectF(0, top, self.width(), LINE).toRect()):
                    continue
                painter.setFont(font(13))
                painter.setPen(QColor(theme.text))
                name = painter.fontMetrics().elidedText(one.name, Qt.TextElideMode.ElideRight, NAME - 8)
                painter.drawText(QRectF(0, top, NAME, LINE), middle | Qt.AlignmentFlag.AlignLeft, name)
                painter.setPen(QColor(theme.text if one.images else theme.warn))
                painter.drawText(
                    QRectF(NAME, top, FIGURE, LINE), middle | Qt.AlignmentFlag.AlignRight, tr_number(one.images, ",")
                )
                self._paint_pictures(painter, at, top)
            if len(self._seen) > SHOWN:
                rest = self._seen[SHOWN:]
                images = count(sum(r.images for r in rest), "image")
                classes = count(len(rest), "more class", "more classes")
                stated = tr("{classes} with {images}", classes=classes, images=images)
                painter.setPen(QColor(theme.muted))
                painter.drawText(QRectF(0, LINE * SHOWN, self.width(), LINE), middle, stated)

    def _paint_pictures(self, painter: QPainter, at: int, top: int) -> None:
        left = NAME + FIGURE + 20
        for number in range(min(len(self._seen[at].examples), max(0, (self.width() - left) // (THUMB + GAP)))):
            if (at, number) not in self._drawn:
                self._drawn[at, number] = thumbnail(self._seen[at].examples[number], THUMB)
            drawn = self._drawn[at, number]
            painter.drawPixmap(left + number * (THUMB + GAP), top + (LINE - drawn.height()) // 2, drawn)


WIDEST = 1500
TAKEN = tr_later("⚠ The {taken} were taken from the files, which ε does not cover: the card of a network will say so.")
PUBLIC = tr_later("A network's card has what is shown here. The images and their labels are private.")
DECLARE_TIP = tr_later("Declare what was found in the files as public knowledge, and read them again by it")
TITLES = {
    "classes": tr_later("names of the classes"),
    "image_size": tr_later("image size"),
    "grey": tr_later("grey"),
    "rows_per_person": tr_later("images per person, at most"),
}
CHANGED = tr_later(
    "⚠ The files have changed on the disk since they were opened. What is open here is what was read then."
)
FEW = 12  # names of classes that are shown


class ImagesPanel(QWidget):
    """Facts of the images and a form of what is declared of them; below, how many each class has, and some of them."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self._facts = Facts()
        self._taken = label("", "warn", wrap=True, name="images_taken")
        public = tr("They are public knowledge")
        self._declare = button(public, "images_declare", "link", tip=tr(DECLARE_TIP), press=self._declare_found)
        self._form = Form("images", ImageOptions, titles=TITLES)
        self._read = button(tr("Read again"), "images_read", tip=tr("Read the files by what is declared here"))
        self._read.clicked.connect(lambda: self._read_by(self._form.value()))
        self._form.changed.connect(self._edited)
        self._waits = label(tr("⚠ Not in effect yet: press Read again."), "warn", name="images_waits")
        self._shown: ImageOptions | None = None
        self._sheet = ClassSheet(session)
        self._arrange()
        application = QGuiApplication.instance()
        assert isinstance(application, QGuiApplication)
        application.applicationStateChanged.connect(self._looked_at)

    def _arrange(self) -> None:
        about = label(tr(PUBLIC), "muted", wrap=True, name="images_about")
        heading = label(tr("PUBLIC FACTS"), "caption")
        public = Card(heading, self._facts, self._taken, row(self._declare, None), about, None)
        below = row(self._waits, None, self._read)
        declared = Card(label(tr("WHAT YOU DECLARE"), "caption"), self._form, None, below)
        self._read.setMinimumHeight(ROW)
        changed = label(tr(CHANGED), "warn", wrap=True, name="images_changed")
        tip = tr("Read them as they are now")
        again = button(tr("Read the files again"), "images_reload", tip=tip, press=lambda: self._read_by(None))
        self._stale = Card(row((changed, 1), again))
        self._stale.hide()
        upper = row((public, 1), (declared, 1), spacing=12)
        inside = Card(row(label(tr("IMAGES OF EACH CLASS"), "caption"), None, badge()), self._sheet)
        caption = label(tr("KEPT FEATURES"), "caption")
        caption.setToolTip(tr(KEPT_ABOUT))
        kept = Card(caption, KeptFeatures(self._session, self._jobs), spacing=4)
        column = panel(stack(self._stale, upper, inside, kept, None, spacing=12))
        column.setMaximumWidth(WIDEST)
        self.setLayout(row(column))

    def show_images(self, opened: OpenImages) -> None:
        self._show_facts(opened)
        self._declare.setVisible(self._as_found(opened) != opened.options)
        for key in ("image_size", "grey"):
            self._form.field(key).setEnabled(opened.resizable)
        self._shown = opened.options
        self._form.set_value(opened.options)
        self._stale.hide()
        self._edited()

    def _show_facts(self, opened: OpenImages) -> None:
        images, shape = opened.table, opened.table.shape
        names = listed(images.classes, FEW)
        for key, name, value in (
            ("images_file", tr("folder") if opened.folder else tr("file"), opened.title),
            ("images_count", tr("images"), tr_number(images.rows, ",")),
            ("images_size", tr("height × width"), tr("{size} pixels", size=f"{shape.height} × {shape.width}")),
            ("images_channels", tr("channels"), tr("1, grey") if shape.channels == 1 else tr("3, red, green and blue")),
            ("images_classes", tr("classes"), f"{len(images.classes)}: {names}"),
        ):
            self._facts.show_line(key, name, value)
        say(self._taken, tr(TAKEN, taken=taken_words(images.taken)) if images.taken else "")
        self._sheet.show_classes(opened.seen)

    def retranslate(self) -> None:
        if opened := self._session.images:
            self._show_facts(opened)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Look whether the files are still as they were read."""
        super().showEvent(event)
        self._look()

    def _looked_at(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive and self.isVisible():
            self._look()

    def _look(self) -> None:
        if opened := self._session.images:

            def show(changed: bool) -> None:
                if self._session.images is opened:
                    self._stale.setVisible(changed)

            look_for_changes(self._jobs, opened, show)

    def _edited(self) -> None:
        value = self._form.value()
        self._read.setEnabled(value is not None and value != self._shown)
        self._waits.setVisible(value != self._shown)

    @staticmethod
    def _as_found(opened: OpenImages) -> ImageOptions:
        """Return what is declared once the person has said that what was taken from the files is public."""
        images, given = opened.table, opened.options
        if not images.taken:
            return given
        square = images.shape.square and opened.resizable
        size = images.shape.height if square and images.shape.height >= 4 else None
        return dataclasses.replace(given, classes=given.classes or images.classes, image_size=given.image_size or size)

    def _declare_found(self) -> None:
        if opened := self._session.images:
            self._read_by(self._as_found(opened))

    def _read_by(self, options: object) -> None:
        """Read the files again by ``options``, or where they are none by what was declared so far."""
        if opened := self._session.images:
            declared = options if isinstance(options, ImageOptions) else opened.options
            open_images(self._session, self._jobs, opened.source, declared)


KEPT_ABOUT = tr_later(
    "A network with a frozen part keeps what that part makes of the images, so that the next training begins at once. "
    "These files are as private as the images; they are yours alone, and are never released"
)
QUESTION = tr_later(
    "The next training of such a network computes its features again. Models and releases stay as they are."
)


class KeptFeatures(QWidget):
    """One line: how many bytes are kept, and a button that removes them."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self._stated = label("", "muted", wrap=True, name="kept_features")
        self._stated.setToolTip(tr(KEPT_ABOUT))
        tip = tr("Remove the kept features of all sets of rows")
        self._clear = button(tr("Remove…"), "kept_features_clear", tip=tip, press=self._ask)
        self.setLayout(row((self._stated, 1), self._clear))
        self._clear.setEnabled(False)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Look how much there is by now: trainings of other windows keep features, too."""
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        def work(emit: Emit, cancel: CancelToken) -> CacheState:
            from workbench.deep.feature_cache import cache_state

            return cache_state()

        job = Job(tr("Looking at kept features"), work)
        self._jobs.start(job, key="kept features", stoppable=False, on_result=self._show)

    def _show(self, found: CacheState) -> None:
        from workbench.deep.feature_cache import LIMIT

        self._clear.setEnabled(found.sets > 0)
        if not found.sets:
            self._stated.setText(tr("None are kept."))
            return
        sets = count(found.sets, "set of images", "sets of images")
        kept = {"size": memory(found.size), "limit": memory(LIMIT), "sets": sets, "folder": found.folder}
        self._stated.setText(tr("{size} of at most {limit}, of {sets}; private, in {folder}", **kept))

    def _ask(self) -> None:
        if not confirm(self, tr("Remove the kept features?"), tr(QUESTION), tr("Remove them")):
            return

        def work(emit: Emit, cancel: CancelToken) -> CacheState:
            from workbench.deep.feature_cache import clear

            return clear()

        def apply(found: CacheState) -> None:
            self._session.notify("info", tr("Removed {size} of kept features.", size=memory(found.size)))
            self.refresh()

        self._jobs.start(Job(tr("Removing kept features"), work), on_result=apply)
