"""Which model is trained, and the form of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QStackedWidget, QWidget

from workbench import learners
from workbench.deep import networks
from workbench.deep.networks import Network
from workbench.deep.plan import DpSgdPlan
from workbench.gui.pages.train.tasks import first_parameters, first_plan
from workbench.gui.widgets.basic import Card, label, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.parameter_form import Form, explained
from workbench.learners import Learner

if TYPE_CHECKING:
    from workbench.params import Parameters

WIDTH = 384
"""Three lines of text: so long is the longest sentence, and nothing moves when another field is explained."""

NOT_ASKED = {"accountant": "pld"}
"""What nobody needs to choose for a network: this accountant gives the least ε."""

NOT_READ = {"weights": None, "weights_sha256": None, "reduction": "1", "convert_batchnorm": False}
"""What a network reads only if its options name it, by default."""

OF_TABLES = "learns from tables; networks alone learn from images."


class ModelChooser(QWidget):
    """Shows every model of the lists.

    Signals:
        chosen: the name of the model that a person chose.
    """

    chosen = Signal(str)

    def __init__(self, models: Sequence[Learner | Network]) -> None:
        super().__init__()
        self._list = named(ChoiceBox(), "train_model", "Model", "The model that is trained")
        for model in models:
            self._list.addItem(model.title, model.name)
        self._models = tuple(models)
        self._list.currentIndexChanged.connect(lambda _index: self.chosen.emit(self._list.currentData()))
        self.show_what_reads(images=False)
        self.setLayout(row(self._list))

    def show_what_reads(self, *, images: bool) -> None:
        """Let only what reads them be chosen where ``images`` are open: the rest is greyed, and says why."""
        entries = self._list.model()
        assert isinstance(entries, QStandardItemModel)
        for at, model in enumerate(self._models):
            fits = not images or isinstance(model, Network)
            stated = f"{model.title}. {model.about} {model.needs}" if fits else f"{model.title} {OF_TABLES}"
            entries.item(at).setEnabled(fits)
            entries.item(at).setToolTip(stated)

    def show_model(self, name: str) -> None:
        """Show ``name`` as the chosen one, without a signal."""
        self._list.blockSignals(True)
        self._list.setCurrentIndex(self._list.findData(name))
        self._list.blockSignals(False)


class ModelForms(Card):
    """One form for each learner and network, of which the chosen one is shown.

    Attributes:
        chooser: chooses a model; the page puts it beside its title.
        model: the name of the one that is chosen.

    Signals:
        chosen: another model.
        changed: another model, or another value of its form.
    """

    changed = Signal()
    chosen = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._views = QStackedWidget()
        self.body.addWidget(label("PARAMETERS", "caption"))
        self.body.addWidget(self._views)
        self.setFixedWidth(WIDTH)
        models: tuple[Learner | Network, ...] = (*learners.LEARNERS, *networks.NETWORKS)
        self._models = {entry.name: entry for entry in models}
        self._forms = {name: _form(entry) for name, entry in self._models.items()}
        self.model = next(iter(self._models))
        self.chooser = ModelChooser(models)
        self.chooser.chosen.connect(self.choose)
        for form in self._forms.values():
            self._views.addWidget(explained(form))
            form.changed.connect(self.changed)
        self.choose(self.model)

    @property
    def chosen_model(self) -> Learner | Network:
        """The descriptor of the chosen model."""
        return self._models[self.model]

    @property
    def title(self) -> str:
        """What a person calls the chosen model."""
        return self.chosen_model.title

    @property
    def is_network(self) -> bool:
        """Whether the chosen model is trained step by step."""
        return isinstance(self.chosen_model, Network)

    def choose(self, model: str) -> None:
        """Show the form of ``model``."""
        self.model = model
        self.chooser.show_model(model)
        self._views.setCurrentIndex(list(self._forms).index(model))
        self.chosen.emit()
        self.changed.emit()

    def value(self) -> Parameters | None:
        """Return what the form says, or ``None`` while it is refused."""
        return self._forms[self.model].value()

    def begin(self, rows: int, epsilon: Decimal, *, images: bool = False) -> None:
        """Fill every form for ``rows`` rows, of a table or ``images``, and the ε of the plan."""
        self.chooser.show_what_reads(images=images)
        if images and not self.is_network:
            # One with a frozen part learns most from a small budget: what it reads is made by public filters.
            self.choose(next(entry for entry in networks.NETWORKS if entry.frozen).name)
        for name, form in self._forms.items():
            entry = self._models[name]
            if isinstance(entry, Network):
                form.set_value(first_plan(entry, rows, epsilon, images=images))
            else:
                form.set_value(first_parameters(entry, rows, epsilon))

    def show_plan(self, plan: DpSgdPlan) -> None:
        """Choose the network of ``plan`` and show its parameters."""
        self._forms[plan.network].set_value(plan)
        self.choose(plan.network)

    def offer(self, model: str, epsilon: Decimal) -> None:
        """Choose ``model`` and put ``epsilon`` into its form; what else stands there stays."""
        if model not in self._forms:
            return
        self.choose(model)
        present = self._forms[model].value()
        if present is not None:
            self._forms[model].set_value(type(present).from_plain({**present.to_plain(), "epsilon": float(epsilon)}))

    def offer_run(self, figures: Mapping[str, float | str]) -> None:
        """Choose the network that is named, or any, and put these values into its form.

        Where they have a σ, ε follows from it.
        """
        stated = dict(figures)
        named = stated.pop("network", self.model if self.is_network else networks.NETWORKS[0].name)
        if named != self.model and named in self._forms:
            self.choose(str(named))
        present = self._forms[self.model].value()
        if present is not None:
            kept = present.to_plain()
            if "noise" in stated:
                kept.pop("epsilon", None)
            self._forms[self.model].set_value(type(present).from_plain({**kept, **stated}))
            self.changed.emit()

    def lock(self, *, locked: bool) -> None:
        """Let nothing be changed while a run goes on."""
        self._views.setEnabled(not locked)
        self.chooser.setEnabled(not locked)


def _form(entry: Learner | Network) -> Form:
    name = f"train_{entry.name.replace('-', '_')}"
    if isinstance(entry, Network):
        unread = {key: value for key, value in NOT_READ.items() if key not in entry.options}
        return Form(name, DpSgdPlan, given={"network": entry.name, **NOT_ASKED, **unread}, first=entry.options)
    return Form(name, entry.parameters)
