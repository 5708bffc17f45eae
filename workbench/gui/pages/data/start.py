"""What Data shows before a table is open: where to drop one, and samples to learn with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QSizePolicy, QWidget

from workbench.data.databases.address import address_of
from workbench.data.samples.sample_tables import SAMPLES, Sample
from workbench.gui.session.blocking import coded_columns, open_facts, refused_columns, why_refused
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.draft_edits import GUESSED_FACTS
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenImages, OpenTable, Session
from workbench.gui.session.settings import RecentFiles
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets.basic import Card, Elided, button, hold_least, hold_most, label, named, panel, row, stack
from workbench.gui.widgets.formatting import listed, together
from workbench.jobs import CancelToken, Job

EVERY = tr_later("Every public fact is declared.")
ONWARD_TIP = tr_later("See what a recipient would get at which ε, and choose the way to release")
CONFIRM = tr_later("These are right, and they are public knowledge")
CONFIRM_TIP = tr_later(
    "Nothing is released on a guess: a single row could change it, and with it every released "
    "value. Look at the names of the columns, at the kinds marked ? and at what a missing value "
    "means, and correct what is wrong. Then confirm the rest; Ctrl+Z takes it back"
)
TRAIN_TIP = tr_later("Choose a network, see what it costs, and train it on these images")
TAKEN_FACTS = {
    "names of the classes": tr_later("names of the classes"),
    "size of the images": tr_later("size of the images"),
}
NAMED = 3  # most columns that are named for each guessed fact; of the others the number is given


class NextStep(NamedTuple):
    """The sentence at the foot of the page, the words of its button, and its tip, which is said where it is shown."""

    note: str
    verb: str
    tip: str = ONWARD_TIP


def next_step(session: Session, *, at_dialect: bool, unread: bool) -> NextStep | None:
    """Return what comes next; ``None`` while nothing is open.

    ``at_dialect``: how the file is read is shown. ``unread``: the file has not been read yet as it is stated there.
    """
    if session.images is not None:
        return NextStep(_images_note(session.images), tr("Train a network →"), TRAIN_TIP)
    if session.opened is None:
        return None
    if unread and not session.opened.table.ambiguities:
        return NextStep("", tr("Read again"), tr("Read the file as stated here"))
    return _of_table(session.opened, session.plan, at_dialect=at_dialect)


def _of_table(opened: OpenTable, plan: DraftPlan, *, at_dialect: bool) -> NextStep:
    open_still = open_facts(plan)
    wrong = [p for p in plan.problems() if not p.open and p.column]
    if opened.table.ambiguities:
        from workbench.gui.pages.data.dialect import doubts_in_words

        verb = tr("That is right →") if at_dialect else tr("Confirm how it is read →")
        said = tr("How the file is written was guessed: {guesses}.", guesses=doubts_in_words(opened.table))
        return NextStep(said, verb)
    if at_dialect and opened.unsure:
        return NextStep(_which_table(opened), tr("That is right →"))
    if open_still:
        stated = "; ".join(_of(tr(words), listed(names)) for words, names in open_still.items())
        return NextStep(tr("Still to be declared: {stated}.", stated=stated), tr("Fill the next →"))
    if wrong:
        return NextStep(f"{wrong[0].column}: {tr_sentence(wrong[0].text)}.", tr("Correct it →"))
    if plan.guesses():
        said = tr("Guessed from the rows: {guesses}.", guesses=guessed_in_words(plan))
        return NextStep(said, tr(CONFIRM), CONFIRM_TIP)
    if refused := refused_columns(opened, plan):
        why = why_refused(opened, plan, plan.column(refused[0]))
        said = tr("A release would stop: {column}: {why}.", column=refused[0], why=why.words if why else "")
        others = len(refused) - 1
        more = tr_n("{n} other column also.", "{n} other columns also.", others) if others else ""
        return NextStep(f"{said} {more}".rstrip(), tr("Correct it →"))
    if coded := coded_columns(opened, plan):
        said = tr("In {columns} a number may be a code for a missing value. Say which it is.", columns=listed(coded))
        return NextStep(said, tr("Look at it →"))
    dropped = [c.name for c in plan.columns if c.action == "drop"]
    gone = tr("Not released: {columns}.", columns=listed(dropped)) if dropped else ""
    taken = [c.name for c in plan.protected if c.bounds_origin == "data"]
    said = tr("⚠ Read off the data, which publishes it: {columns}.", columns=together(taken)) if taken else tr(EVERY)
    return NextStep(f"{said} {gone}".rstrip(), tr("Decide →"))


def _which_table(opened: OpenTable) -> str:
    if len(opened.table.facts.parts) < 2:
        return tr("Say where the header is: the lines above it are skipped.")
    if opened.table.facts.option == "sheet":
        return tr("Choose the table of the file: its sheet, and the lines above its header.")
    return tr("Choose the table of the file, and the lines above its header.")


def guessed_in_words(plan: DraftPlan) -> str:
    """Return what was guessed of the columns and nobody has confirmed."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for guess in plan.guesses():
        groups.setdefault(guess.facts, []).append(guess.of)
    return "; ".join(
        _of(together([tr(GUESSED_FACTS.get(fact, fact)) for fact in facts]), together(_shortened(names)))
        for facts, names in groups.items()
    )


def _of(facts: str, columns: str) -> str:
    return tr("{facts} of {columns}", facts=facts, columns=columns)


def _shortened(names: list[str]) -> list[str]:
    more = len(names) - NAMED
    return names if more <= 1 else [*names[:NAMED], tr("{n} more", n=tr_number(more, ","))]


def taken_words(taken: str) -> str:
    """Return the public facts that were taken from images, which the engine joins, as they are shown."""
    return together([tr(TAKEN_FACTS.get(fact, fact)) for fact in taken.split(" and ")])


def _images_note(opened: OpenImages) -> str:
    if opened.table.taken:
        return tr("⚠ Not declared yet: {taken}.", taken=taken_words(opened.table.taken))
    return tr("Every public fact is declared, or follows from the format.")


# -- the start --------------------------------------------------------------------------------------------------------


def reasons(paths: Sequence[str], cancel: CancelToken) -> dict[str, str]:
    """Return why each of ``paths`` cannot be opened, empty where it can; runs in a worker."""
    out = {}
    for path in paths:
        cancel.check()
        if address_of(path) is not None:
            out[path] = ""  # whether a database answers is found out when it is opened
        elif not Path(path).exists():
            out[path] = tr("is not there any more")
        else:
            out[path] = "" if os.access(path, os.R_OK) else tr("may not be read")
    return out


SHOWN = 5


class RecentList(QWidget):
    """The newest files, hidden while there are none: each a button, what is wrong with it, and one to forget it."""

    chosen = Signal(str)  # (path)

    def __init__(self, recent: RecentFiles | None, jobs: JobCenter) -> None:
        super().__init__()
        named(self, "recent_list", tr("Recent files"))
        self._recent, self._jobs = recent, jobs
        self._lines: dict[str, QWidget] = {}
        self._parts: dict[str, tuple[QPushButton, Elided, str]] = {}
        self._card = Card(pad=12, spacing=2)
        self.setLayout(stack(label(tr("RECENT"), "caption"), self._card, spacing=12, margins=(0, 8, 0, 0)))
        if recent is not None:
            recent.changed.connect(self.refresh)
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self._look()

    def refresh(self) -> None:
        paths = self._recent.paths[:SHOWN] if self._recent is not None else []
        if paths != list(self._lines):
            for former in self._lines.values():
                self._card.body.removeWidget(former)
                former.setParent(None)
                former.deleteLater()
            self._lines = {path: self._line(path, at) for at, path in enumerate(paths)}
            for line in self._lines.values():
                self._card.body.addWidget(line)
        self.setVisible(bool(paths))
        if self.isVisible():
            self._look()

    def _line(self, path: str, at: int) -> QWidget:
        pure, address = PurePath(path), address_of(path)
        folder, name = (str(pure.parent), pure.name) if address is None else (address.place, address.title)
        opened = button(
            name.replace("&", "&&"), f"recent_{at}", "link", accessible=tr("Open {path}", path=path), tip=path
        )
        opened.clicked.connect(lambda: self.chosen.emit(path))
        place = Elided(folder, "muted", name=f"recent_place_{at}")
        place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        tip = tr("Leave it out of this list; the file stays where it is")
        forget = button("×", f"recent_forget_{at}", "link", tip=tip, accessible=tr("Forget {path}", path=path))
        recent = self._recent
        assert recent is not None
        forget.clicked.connect(lambda: recent.forget(path))
        self._parts[path] = opened, place, folder
        return panel(row(opened, (place, 1), forget, spacing=12))

    def _look(self) -> None:
        paths = list(self._lines)
        if paths:
            job = Job(tr("Looking for recent files"), lambda emit, cancel: reasons(paths, cancel))
            self._jobs.start(job, key="recent", stoppable=False, on_result=self._say)

    def _say(self, reasons: dict[str, str]) -> None:
        for path in reasons.keys() & self._lines.keys():
            (opened, place, folder), reason = self._parts[path], reasons[path]
            opened.setEnabled(not reason)
            place.set_whole(f"{reason}: {folder}" if reason else folder)


WIDEST = 860


DROP = tr_later(
    "Drop a table here (text, Parquet, Excel, SPSS, Stata and more), or a set of images for a network, or choose one."
)
SAFE = tr_later("What you open stays on this computer. Nothing is published until you press Release.")


class StartPanel(QWidget):
    """The inviting empty state."""

    open_asked = Signal()  # the person wants to choose a file
    folder_asked = Signal()  # the person wants to choose a folder of images
    sample_chosen = Signal(str)  # (name)

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self.setObjectName("data_start")
        drop = named(QFrame(), "drop_here")
        title = label(tr("Open a table or images"), "heading")
        text = label(tr(DROP), "muted", wrap=True)
        tip = tr("Choose a file (Ctrl+O)")
        opened = button(tr("Open a table…"), "open_file", "primary", tip=tip, press=self.open_asked)
        tip = tr("Open a made-up table of 2,000 people: nobody in it exists")
        first = button(tr("Open sample"), "open_sample", tip=tip)
        first.clicked.connect(lambda: self.sample_chosen.emit(SAMPLES[0].name))
        safe = label(tr(SAFE), "muted", wrap=True)
        for line in (title, text, safe):
            line.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        tip = tr("A table of PostgreSQL, SQLite or another database")
        database = button(tr("Open from a database…"), "open_database", tip=tip, press=session.database_asked)
        tip = tr("Images in one folder for each class, or the files of MNIST or CIFAR-10")
        images = button(tr("Open a folder of images…"), "open_image_folder", tip=tip, press=self.folder_asked)
        # Four in a row are cut in larger text.
        ways = (row(None, *two, None, spacing=12) for two in ((opened, first), (database, images)))
        drop.setLayout(stack(title, text, stack(*ways), safe, spacing=12, margins=(24, 18, 24, 14)))
        recent = RecentList(session.recent, jobs)
        recent.chosen.connect(session.open_asked)
        samples = label(tr("OR LEARN WITH A SAMPLE"), "caption"), self._samples()
        column = panel(stack(drop, recent, 8, *samples, None, spacing=12))
        hold_most(column, WIDEST)
        self.setLayout(row(column))

    def _samples(self) -> QGridLayout:
        cards = QGridLayout()
        cards.setSpacing(12)
        for position, sample in enumerate(SAMPLES):
            cards.addWidget(self._card(sample), position // 2, position % 2)
        cards.setColumnStretch(0, 1)
        cards.setColumnStretch(1, 1)
        return cards

    def _card(self, sample: Sample) -> QPushButton:
        about = tr_sentence(sample.help)
        spoken = tr("Sample {name}: {help}", name=sample.name, help=about)
        press = button("", f"sample_{sample.name}", "sample", accessible=spoken)
        press.clicked.connect(lambda: self.sample_chosen.emit(sample.name))
        press.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        hold_least(press, 76)
        text = label(as_sentence(about), "muted", wrap=True)
        title = label(tr_sentence(sample.name.replace("-", " ").capitalize()), "heading")
        press.setLayout(stack(title, text, None, spacing=4, margins=(16, 12, 16, 12)))
        for part in (title, text):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        return press
