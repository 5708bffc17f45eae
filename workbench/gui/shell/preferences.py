"""File → Preferences: where releases of tables are computed, on this computer or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QWidget

from workbench.gui.session.error_text import sentence
from workbench.gui.session.session import Session
from workbench.gui.session.settings import Cluster
from workbench.gui.style.language import tr
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import button, label, named, row, say, segments, stack
from workbench.gui.widgets.dialogs import ask_for_file
from workbench.params import ParameterError
from workbench.render.fonts import scaled

HERE, ADDRESS, FILE = "here", "address", "file"
SIZE = (680, 300)
_EXAMPLES = {ADDRESS: "tls://HOST:8786", FILE: "scheduler.json"}


class PreferencesDialog(QDialog):
    """The choice of a cluster, by the address of its scheduler or the file to which that has written it."""

    def __init__(self, session: Session, keep: Callable[[Cluster], None], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("preferences")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Preferences"))
        self._keep, cluster = keep, session.cluster
        kinds = (
            (HERE, tr("This computer"), tr("Rows stay on this computer")),
            (ADDRESS, tr("Cluster, by address"), tr("The address of the scheduler of a Dask cluster")),
            (FILE, tr("Cluster, by file"), tr("The file to which the scheduler has written its address")),
        )
        self._kinds = segments(self, "cluster_", kinds, self._show_kind)
        self._typed = {ADDRESS: cluster.scheduler, FILE: cluster.file}
        self._field = named(QLineEdit(), "cluster_field", tr("Scheduler"))
        self._field.textEdited.connect(self._edited)
        self._browse = button(tr("Choose…"), "cluster_browse", press=self._ask_for_file)
        self._said = label("", "warn", wrap=True, name="cluster_said")
        more = button(tr("About clusters"), "cluster_help", "link", press=lambda: session.ask_for_help("clusters"))
        leave = button(tr("Cancel"), "cluster_leave", press=self.reject)
        self._save = button(tr("Save"), "cluster_save", "primary", press=self._take)
        about = tr("A cluster computes noisy rows, statistics and synthetic rows. Everything else is computed here.")
        self.setLayout(
            stack(
                label(tr("Where releases are computed"), "heading"),
                label(about, "muted", wrap=True),
                row(*self._kinds.values(), None, spacing=4),
                row((self._field, 1), self._browse),
                self._said,
                None,
                row(more, None, leave, self._save),
                spacing=12,
                margins=(MARGIN, 16, MARGIN, 16),
            )
        )
        room = parent.window().size()
        self.resize(*(scaled(least, most) for least, most in zip(SIZE, room.toTuple(), strict=True)))
        self._show_kind(FILE if cluster.file else ADDRESS if cluster.scheduler else HERE)

    def _show_kind(self, kind: str) -> None:
        self._kind = kind
        self._kinds[kind].setChecked(True)
        self._kinds[kind].setFocus()
        self._field.setVisible(kind != HERE)
        self._browse.setVisible(kind == FILE)
        self._field.setPlaceholderText(_EXAMPLES.get(kind, ""))
        self._field.setText(self._typed.get(kind, ""))
        self._judge()

    def _edited(self, text: str) -> None:
        self._typed[self._kind] = text.strip()
        self._judge()

    def _ask_for_file(self) -> None:
        if found := ask_for_file(self, "scheduler"):
            self._field.setText(found)
            self._edited(found)

    def _judge(self) -> None:
        """Say what is wrong with the address, or that rows go to it unencrypted; save nothing that is not usable."""
        text, problem = self._typed.get(self._kind, ""), ""
        plain = self._kind == FILE
        if self._kind == ADDRESS and text:
            from workbench.processes.dask_address import scheduler_address, unencrypted

            try:
                plain = bool(unencrypted([scheduler_address(text)]))
            except ParameterError as error:
                problem, plain = sentence(error), False
        open_way = tr("Over tcp:// anyone on the network can read rows. Use tls://, with certificates on all machines.")
        say(self._said, problem or (open_way if plain else ""))
        self._save.setEnabled(not problem and (self._kind == HERE or bool(text)))

    def _take(self) -> None:
        text = self._typed.get(self._kind, "")
        self._keep(Cluster(**{"scheduler" if self._kind == ADDRESS else "file": text}) if text else Cluster())
        self.accept()
