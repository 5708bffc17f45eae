"""A release that was made: its files, Open folder, Verify, certificate and bundle; locked for good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from workbench.gui.session.account_view import GENERALISED, ReleasedStep
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, Elided, button, into_sight, label, lines, look, panel, row, say
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.formatting import at_most, day_of, entered, exactly
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import WorkbenchError
from workbench.release.ledger.ledger import Ledger
from workbench.release.statements import CANNOT_KNOW, PROMISES_NOTHING
from workbench.signals.cancel import NEVER

Write = Callable[[Path, Path, CancelToken], None]
"""Writes what is made of a release, which is verified first, to a path; runs in a worker."""


def write_certificate(release: Path, path: Path, cancel: CancelToken) -> None:
    """Write the certificate of ``release`` as PDF or HTML."""
    from workbench.release.documents.written_document import check_document_path, write_document
    from workbench.release.verification import verified

    check_document_path(path)
    write_document(verified(release, cancel).to_document(), path)


def write_bundle_of(release: Path, path: Path, cancel: CancelToken) -> None:
    """Write the bundle of ``release``; it is signed where this user has a key."""
    from workbench.release.bundle import check_bundle_place, write_bundle
    from workbench.release.signature import own_public_key
    from workbench.release.verification import verified

    check_bundle_place(path)
    found = verified(release, cancel)
    with Ledger.read() as ledger:
        write_bundle(found, path, ledger, signed=own_public_key() is not None)


def bundle_beside(release: Path) -> Path:
    """Return where the bundle of ``release`` is written unless another place is chosen."""
    return Path(f"{release}.bundle")


def checked(release: Path, emit: Emit, cancel: CancelToken) -> tuple[list[str], list[str]]:
    """Recompute everything a certificate says.

    Returns:
        a sentence for every fault, none where all is well, and then for everything that could not be checked.
    """
    from workbench.release.verification import unverified

    found = faults(release, cancel)
    return found, [] if found else unverified(release)


def faults(release: Path, cancel: CancelToken = NEVER) -> list[str]:
    """Return a sentence for every way in which ``release`` is not what its certificate and the ledger say."""
    from workbench.release.verification import ledger_claims, verify_any
    from workbench.release.verify import verify_in_ledger

    found = verify_any(release, cancel)
    if found:
        return found
    document = ledger_claims(release)
    with Ledger.open() as book:
        return verify_in_ledger(document, book)


PAPERS = tr_later("PDF (*.pdf);;Web page (*.html)")
_FAULT = tr_later("A bug in the program; its trace is logged.")
FILES = {"file": tr_later("file"), "model": tr_later("model"), "certificate": tr_later("certificate")}
"""What the files of a release are called."""
NO_EPSILON = tr_later("no ε: not differential privacy")  # how a generalised table is marked


class ReleasedCard(Card):
    """One release; its plan can no longer be undone, and the card says so.

    Attributes:
        step: the release.
        bundle: the button that writes the folder to give away.
    """

    bundled = Signal()  # a bundle was written

    def __init__(
        self,
        step: ReleasedStep,
        jobs: JobCenter,
        name: str,
        learn: Callable[[Path], object] | None = None,
        estimate: Callable[[Path], object] | None = None,
        open_it: Callable[[Path], object] | None = None,
        attack: Callable[[Path], object] | None = None,
    ) -> None:
        """Make the card; the ways lead to a model of the release, its estimates, its rows and an attack on it."""
        super().__init__(spacing=6)
        self.setObjectName(name)
        self.step = step
        self._begins = name
        self._jobs, self._output = jobs, step.output
        if step.generalised:
            self._say_generalised()
        else:
            self._say_what()
        for word, path in step.files:
            self._list_file(word, path)
        self._offer(self._ways(learn, estimate, open_it, attack))
        self._result = label("", "muted", wrap=True, name=f"{self._begins}_result", hidden=True)
        kept = self._result.sizePolicy()
        kept.setRetainSizeWhenHidden(True)  # what is below stays where it is when the release was verified
        self._result.setSizePolicy(kept)
        self.body.addWidget(self._result)

    def _say_what(self) -> None:
        step = self.step
        cost = f"ε = {at_most(step.epsilon)}" + (f", δ = {entered(step.delta)}" if step.delta else "")
        name = tr_sentence(step.title)
        self.setAccessibleName(tr("Locked release: {title} at {cost}", title=name, cost=cost))
        said = (
            tr("✓ Released on {day}: {title} at {cost}", day=day_of(step.time), title=name, cost=cost)
            if step.time
            else tr("✓ Released: {title} at {cost}", title=name, cost=cost)
        )
        title = label(said, "heading", wrap=True)
        title.setToolTip(
            tr(
                "A release cannot be undone: its charge{exactly} is final, and what was published is public.",
                exactly=exactly(step.epsilon),
            )
        )
        self._say_on_top(title)
        if step.worth:
            self.body.addWidget(label(tr_sentence(step.worth), wrap=True, name=f"{self._begins}_worth"))

    def _say_generalised(self) -> None:
        step, mark = self.step, tr(NO_EPSILON)
        self.setAccessibleName(tr("Locked release: {title}, {mark}", title=step.title, mark=mark))
        said = tr("✓ Published on {day}: {title}, generalised", day=day_of(step.time), title=step.title)
        self._say_on_top(label(said, "heading", wrap=True))
        no_promise = label(mark, "warn", wrap=True, name=f"{self._begins}_no_epsilon")
        no_promise.setToolTip(tr_sentence(PROMISES_NOTHING))
        self.body.addWidget(no_promise)

    def _say_on_top(self, title: QLabel) -> None:
        step = self.step
        locked = tr("locked · release {id}", id=step.release_id)
        self._add_line(row((title, 1), label(locked, "muted", name=f"{self._begins}_id")))
        if not step.files:
            gone = tr("It was written to {folder} and is no longer there.", folder=step.output)
            self.body.addWidget(label(gone, "muted", wrap=True, name=f"{self._begins}_gone"))

    def _list_file(self, word: str, path: Path) -> None:
        shown = Elided(str(path), elide=Qt.TextElideMode.ElideMiddle)
        shown.setObjectName(f"{self._begins}_{word}")
        shown.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        words = label(tr(FILES.get(word, word)), "muted")
        words.setMinimumWidth(80)
        self._add_line(row(words, (shown, 1)))

    def _offer(self, ways: Sequence[QPushButton]) -> None:
        folder = self.step.folder
        self._kept = False
        recomputed = (
            tr("Recompute bytes, labels, classes and models, and look for the ledger's note")
            if self.step.generalised
            else tr("Recompute bytes, values, mechanisms, ε and the ledger's entry")
        )
        self._verify = self._button(tr("Verify"), "verify", recomputed, self._check)
        self._paper = self._button(
            tr("Certificate…"),
            "paper",
            tr("Save the certificate as PDF or HTML, to read and to print"),
            self._save_paper,
        )
        tip = tr("A folder with data, certificate, plan, the ledger's entry, and a script that checks them")
        self.bundle = self._button(tr("Bundle for the recipient…"), "bundle", tip, self._save_bundle)
        shown = self._button(tr("Open folder"), "folder", str(folder), lambda: self._open(folder))
        foot = self._add_line(lines(self._verify, self._paper, self.bundle, shown, *ways, None))
        foot.setVisible(bool(self.step.files))

    def _ways(self, *ways: Callable[[Path], object] | None) -> list[QPushButton]:
        rows = not self.step.model and self.step.central in ("", "synthetic", GENERALISED)
        noisy = rows and not self.step.central
        stated = (
            (
                tr("Train a model on it →"),
                "learn",
                tr("A model of the released table costs nothing beyond it (Predict)"),
                noisy,
            ),
            (
                tr("See what a recipient can estimate →"),
                "estimate",
                tr("Figures of the original with intervals, and the released rows (Released, Estimates)"),
                noisy,
            ),
            (tr("Open it as a table"), "open", tr("Open the released rows in place of the table that is open"), rows),
            (
                tr("Attack it →"),
                "attack",
                tr("What an attacker gets from it, beside what ε allows (Released, Attack)"),
                rows or self.step.model,
            ),
        )
        return [
            self._button(text, ends, tip, partial(way, self._output))
            for way, (text, ends, tip, fits) in zip(ways, stated, strict=True)
            if way is not None and fits and self.step.files
        ]

    def _button(self, text: str, ends: str, tip: str, press: Callable[[], object]) -> QPushButton:
        return button(text, f"{self._begins}_{ends}", tip=tip, press=lambda: press())

    def _add_line(self, parts: QHBoxLayout) -> QWidget:
        line = panel(parts)
        self.body.addWidget(line)
        return line

    @property
    def result(self) -> QLabel:
        """What the last check said."""
        return self._result

    def _open(self, folder: Path) -> None:
        """Show the folder in the system's file manager, or say where it is."""
        if not open_folder(folder):
            self._notify(tr("⚠ No file manager opened it. The folder is {folder}", folder=folder), "warn")
            self._result.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def _save_paper(self) -> None:
        path = ask_where_to_save(self, tr("Save the certificate"), f"{self._output}.pdf", tr(PAPERS))
        self._write(self._paper, tr("Writing the certificate"), path, write_certificate)

    def _save_bundle(self) -> None:
        title = tr("Make a bundle: name a new folder")
        path = ask_where_to_save(self, title, str(bundle_beside(self._output)), tr("Folder (*)"))
        self._write(self.bundle, tr("Writing the bundle"), path, write_bundle_of)

    def _write(self, pressed: QPushButton, title: str, chosen: str, write: Write) -> None:
        if not chosen:
            return
        path = Path(chosen)
        pressed.setEnabled(False)
        self._notify(tr("Verifying and writing…"), "muted")

        def ended(stated: str, kind: str) -> None:
            pressed.setEnabled(True)
            self._notify(stated, kind)

        def saved(_: object) -> None:
            ended(tr("✓ Saved {path}", path=path), "accent")
            self._jobs.noticed.emit("info", tr("Saved {name}.", name=path.name))
            if pressed is self.bundle:
                self.bundled.emit()

        handle = self._jobs.start(
            Job(title, lambda _emit, cancel: write(self._output, path, cancel), about=path.name),
            key="documents",
            on_result=saved,
            on_failure=lambda error: ended(f"{tr('✕ It could not be written.')} {_why(error)}", "danger"),
        )
        handle.cancelling.connect(self._cancelling)
        handle.cancelled.connect(lambda: ended("", "muted"))

    def _check(self) -> None:
        self._kept = self.window().focusWidget() is self._verify
        self._verify.setEnabled(False)
        self._notify(tr("Verifying…"), "muted")
        job = Job(tr("Verifying"), partial(checked, self._output), about=self._output.name)
        handle = self._jobs.start(
            job, key="verify", on_result=lambda found: self._show(*found), on_failure=self._failed
        )
        handle.cancelling.connect(self._cancelling)
        handle.cancelled.connect(self._cancelled)

    def _checked(self) -> None:
        """Let it be verified again; the keyboard, which went on to the next button, comes back."""
        self._verify.setEnabled(True)
        focus = self.window().focusWidget()
        if self._kept and focus is not None and self.isAncestorOf(focus):
            self._verify.setFocus()

    def _show(self, faults: list[str], left: list[str]) -> None:
        self._checked()
        self._result.setToolTip(as_sentence(tr_sentence(CANNOT_KNOW)))
        if faults:
            listed = "; ".join(map(tr_sentence, faults[:3]))
            if len(faults) > 3:
                listed = tr("{faults}; and {n} more", faults=listed, n=len(faults) - 3)
            self._notify(f"✕ {as_sentence(listed)}", "danger")
        else:
            time = datetime.now().astimezone().strftime("%H:%M:%S")
            said = [tr("✓ File, certificate and ledger agree (checked at {time}).", time=time)]
            said += [tr("Not checked: {what}.", what=tr_sentence(sentence)) for sentence in left]
            self._notify(" ".join(said), "warn" if left else "accent")

    def _notify(self, text: str, kind: str) -> None:
        look(self._result, kind)
        say(self._result, text)
        if text:
            into_sight(self._result)

    def _cancelling(self) -> None:
        self._notify(tr("Cancelling…"), "muted")

    def _cancelled(self) -> None:
        self._checked()
        self._notify("", "muted")

    def _failed(self, error: BaseException) -> None:
        self._checked()
        self._notify(f"{tr('✕ It could not be verified.')} {_why(error)}", "danger")


def _why(error: BaseException) -> str:
    return sentence(error) if isinstance(error, WorkbenchError) else tr(_FAULT)


def open_folder(folder: Path) -> bool:
    """Show ``folder`` in the system's file manager; return whether there was one that took it."""
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
