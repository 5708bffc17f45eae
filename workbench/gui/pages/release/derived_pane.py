"""A kind of release without fields of its own: a form that follows from its request, and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.gui.pages.release.pane import WayPane
from workbench.gui.pages.release_page import ReleasePage, ReleaseWords
from workbench.gui.pages.release_tasks import Asked, Chosen, Foreseen, foresee
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import label
from workbench.gui.widgets.delta_entry import DeltaLine
from workbench.gui.widgets.parameter_form import Form, explained
from workbench.params import Parameters
from workbench.signals.cancel import CancelToken

if TYPE_CHECKING:
    from workbench.sanitize.plan import Plan


class DerivedPane(WayPane):
    """One field for each parameter of the request; whether they fit the plan says the kind's own Work."""

    titles: Mapping[str, str] = {**WayPane.titles, "request": tr_later("settings")}
    written = ("delta", "request")

    def __init__(self, page: ReleasePage, name: str) -> None:
        from workbench.release.kinds import kind

        self._kind = known = kind(name)
        suffixes = ", ".join(known.suffixes())
        words = ReleaseWords(
            name=name,
            question=tr("Release {released}?", released=tr_sentence(known.released)),
            file=tr("The released file; {suffixes}", suffixes=suffixes),
            ending=name,
            tip=tr("Charge the budget, compute, certify and write the file"),
            kinds=";;".join(f"{each.upper()} (*.{each})" for each in known.formats),
            suffix=f".{known.formats[0]}",
        )
        super().__init__(page.session, words, name)
        self.form = Form(f"{name}_form", known.asked())
        self.form.changed.connect(lambda: self.chose("request"))
        self.body.addWidget(label(tr_sentence(known.released).upper(), "caption"))
        if known.help:
            stated = tr_sentence(known.help)
            self.body.addWidget(label(f"{stated[:1].upper()}{stated[1:]}.", "muted", wrap=True))
        self.body.addWidget(explained(self.form))
        self.body.addWidget(self._problem)
        self.body.addWidget(DeltaLine(self.delta))
        self.body.addStretch(1)

    def request(self) -> Parameters | None:
        """Return what the fields say."""
        return self.form.value()

    def state(self) -> dict[str, Any]:
        """Return what the fields say, too; ``None`` while they are refused."""
        return {**super().state(), "request": self.form.value()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Show what the fields said."""
        super().restore(state)
        if state["request"] is not None:
            self.form.set_value(state["request"])

    def forecast(self, plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Foreseen:
        """Return what its Work costs."""
        assert chosen.request is not None
        file_format = self._kind.formats[0]
        work = self._kind.work_of(plan, chosen.request, chosen.epsilon, chosen.delta, rows, file_format)
        return foresee(work, chosen, plan, rows, None)

    def asked(self, found: Foreseen) -> Asked:
        """Return the release by what the fields said when it was forecast."""
        kind, chosen = self._kind, found.chosen
        request = chosen.request
        assert request is not None
        return Asked(
            tr_sentence(kind.released),
            lambda plan, rows, form: kind.work_of(plan, request, chosen.epsilon, chosen.delta, rows, form),
            kind.suffixes(),
            way=kind.name,
        )

    def enable(self, on: bool) -> None:
        """Let the fields be changed, or not while a release goes on."""
        for part in (self.form, self.delta):
            part.setEnabled(on)
