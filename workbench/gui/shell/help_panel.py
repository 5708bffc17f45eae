"""What a page is for and what its keys are, in a few sentences beside it: what F1 shows."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from workbench.gui.widgets.basic import Card, Elided, button, label, row

EVERYWHERE = "Ctrl+1 to Ctrl+0: the pages. Ctrl+Return: the blue button. Ctrl+Z: undo. Ctrl+E: what ε means. Esc: back."
PAGES = {
    "data": (
        "Open a table and say what everybody may know about each attribute: what it is, its bounds or its list of "
        "values, and what a missing value means. The noise of a release is made to hide one row within these facts, "
        "so they must not come from the rows.",
        "Tab goes to the next fact, Return edits it. Names with ⚠ were noticed: the reason stands below the table.",
    ),
    "protect": (
        "Choose what happens to each attribute and how much of the budget ε it gets. A larger share makes an "
        "attribute more exact and its person less private. The error beside it is what a released value is off by, "
        "on average, before anything is drawn.",
        "Space locks a share; the free ones make room. A kept attribute is published as it is.",
    ),
    "preview": (
        "See one draw of the plan beside the original, how each attribute is spread, and what is left of the "
        "correlations. Looking is free: a preview is never released, and a release never shows what was looked at.",
        "Arrow keys move through the rows and the pairs. Nothing here can be copied.",
    ),
    "utility": (
        "See how well a model predicts without privacy, from a sanitised table, and with privacy built in, for one ε "
        "after another. Bands show how much that varies from one split of the rows to the next.",
        "Arrow keys go from point to point, Return takes its ε into the plan, Ctrl+C copies the picture.",
    ),
    "train": (
        "Train a private model. What it costs, its noise, its steps and its memory are known before it starts; the "
        "charge is made first, and training ends before the cap is passed.",
        "The figures of a run are private. Only the finished model is released.",
    ),
    "compare": (
        "Every run of this session in one table, and pinned ones drawn together: what they reach, at what ε, in what "
        "time and memory.",
        "Click a heading to sort; what is typed above narrows the list.",
    ),
    "release": (
        "Publish the table: new noise is drawn from the computer's own randomness, the whole cost is charged to the "
        "ledger first, and the files appear together or not at all. A second release of the same plan costs again; "
        "copying the files costs nothing.",
        "Verify recomputes every checksum of a release and compares it with its certificate.",
    ),
    "ledger": (
        "Every charge of every table on this computer. A table is known by its content, so that a copy or another "
        "name is the same table. Each entry seals the one before it: what is changed afterwards is found.",
        "Ctrl+C copies the selected rows.",
    ),
}
"""What each page is for, and what to do there; a page that is not listed shows the sentence of its descriptor."""


class HelpPanel(Card):
    """A panel beside the gauges."""

    def __init__(self) -> None:
        super().__init__(pad=12, spacing=8)
        self.setObjectName("help_panel")
        self.setAccessibleName("Help")
        self._title = Elided("", "heading")
        close = button("Close", "help_close", "link", tip="Close this help (Esc)")
        close.clicked.connect(self.hide)
        head = QWidget()
        line = row(close)
        line.insertWidget(0, self._title, 1)
        head.setLayout(line)
        self._what = label("", wrap=True, name="help_what")
        self._how = label("", wrap=True, name="help_how")
        for part in (head, self._what, self._how, label(EVERYWHERE, "muted", wrap=True)):
            self.body.addWidget(part)
        self.hide()

    def show_page(self, name: str, title: str, otherwise: str) -> None:
        """Say what the page called ``name`` is for."""
        what, how = PAGES.get(name, (f"{otherwise}.", ""))
        self._title.set_whole(title)
        self._what.setText(what)
        self._how.setText(how)
        self._how.setVisible(bool(how))
        self.setAccessibleDescription(f"{what} {how} {EVERYWHERE}")
        self.show()
