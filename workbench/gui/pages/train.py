"""Train: a private model or network, what it costs before it starts, and how it goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QPushButton, QScrollArea, QStackedWidget, QWidget

from workbench.gui.actions import train as actions
from workbench.gui.bridge import JobCenter, JobHandle
from workbench.gui.dialogs import ask_where_to_save, confirm
from workbench.gui.explain import Asked, Explainable, explain_button
from workbench.gui.page import Page, PageFrame
from workbench.gui.state import Session, State, sentence
from workbench.gui.text import entered, memory, plain
from workbench.gui.widgets import Card, Facts, badge, button, label, look, named, row, stack
from workbench.params import WorkbenchError
from workbench.signals.events import Budget, Cancelled, Memory, Metric

if TYPE_CHECKING:
    from workbench.params import Parameters

WAIT_MS = 250
"""How long a form must rest before its cost is worked out again."""

NAIVE_BAYES = "naive-bayes"
NETWORK_FIELDS = (
    "epsilon",
    "noise",
    "delta",
    "batch",
    "epochs",
    "lr",
    "clip",
    "optimizer",
    "momentum",
    "physical_batch",
    "seconds",
    "device",
)


class TrainPage(PageFrame):
    """A model and its form on the left; its cost, and the run as it goes, on the right."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        # These know numpy, which the descriptor of the page does not wait for.
        from workbench.deep.networks import NETWORKS
        from workbench.deep.plan import DpSgdPlan
        from workbench.gui.form import Form
        from workbench.gui.trainpage.chart import StepChart
        from workbench.learners import learner

        self._titles = {NAIVE_BAYES: learner(NAIVE_BAYES).title, **{n.name: n.title for n in NETWORKS}}
        self._forms: dict[str, Form] = {NAIVE_BAYES: Form("train_naive_bayes", learner(NAIVE_BAYES).parameters)}
        words = {
            "lr": "learning rate",
            "clip": "clipping norm",
            "physical_batch": "rows in memory",
            "seconds": "stop after",
        }
        for network in NETWORKS:
            made = Form(
                f"train_{network.name}", DpSgdPlan, only=NETWORK_FIELDS, titles=words, given={"network": network.name}
            )
            for key, empty in (("epsilon", "no cap"), ("noise", "from ε"), ("seconds", "never")):
                field = made.field(key)
                if isinstance(field, QLineEdit):
                    field.setPlaceholderText(empty)
            self._forms[network.name] = made
        self.segments: dict[str, QPushButton] = {}
        self._model = NAIVE_BAYES
        self._preflight: actions.Preflight | None = None
        self._handle: JobHandle | None = None
        self.accuracy = StepChart(session, "train_accuracy", "batch accuracy", top=1.0)
        self.loss = StepChart(session, "train_loss", "batch loss", style="sanitized")
        self.epsilon = StepChart(session, "train_epsilon", "ε so far", style="third")
        self._rest = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._rest.timeout.connect(self._forecast)
        self._arrange()
        self._cancel = button("Cancel", "train_cancel", "danger", tip="Stop; figures you have seen stay charged (Esc)")
        self._cancel.clicked.connect(self._ask_to_stop)
        self._cancel.hide()
        self.foot.addWidget(self._cancel)
        self._start = self.set_primary("Start", "train_start", self._press, "Charge, train and release (Ctrl+Return)")
        for form in self._forms.values():
            form.changed.connect(self._edited)
        session.table_changed.connect(self._show_table)
        session.plan_changed.connect(self._edited)
        session.account_changed.connect(self.refresh)
        self._show_table()

    def _arrange(self) -> None:
        group = QButtonGroup(self)
        for name, text in ((NAIVE_BAYES, "Naive Bayes"), ("logistic", "Logistic, DP-SGD"), ("mlp", "Network, DP-SGD")):
            segment = button(text, f"train_model_{name}", "segment", tip=self._titles[name])
            segment.setCheckable(True)
            segment.clicked.connect(lambda _checked, name=name: self.choose(name))
            group.addButton(segment)
            self.header.addWidget(segment)
            self.segments[name] = segment
        self._views = QStackedWidget()
        for form in self._forms.values():
            holder = look(QWidget(), "clear")
            lines = stack(form, None)
            lines.setContentsMargins(0, 0, 8, 0)
            holder.setLayout(lines)
            area = QScrollArea()
            area.setWidget(holder)
            area.setWidgetResizable(True)
            self._views.addWidget(area)
        left = Card(label("PARAMETERS", "caption"), self._views)
        left.setFixedWidth(384)
        self._facts = Facts()
        self._problem = label("", "problem", wrap=True, name="train_problem")
        self._missing = label("", "warn", wrap=True, name="train_missing")
        self.folder = named(
            QLineEdit(), "train_folder", "Folder of the model", "A new folder; it appears whole or not at all"
        )
        choose = button("…", "train_choose_folder", tip="Choose another place", accessible="Choose the folder")
        choose.setFixedWidth(40)
        choose.clicked.connect(self._choose_folder)
        self.folder.textEdited.connect(self.refresh)
        place = QWidget()
        line = row(label("folder", "muted"))
        line.addWidget(self.folder, 1)
        line.addWidget(choose)
        place.setLayout(line)
        ask = explain_button(self.session, "train_explain", self._asked)
        Explainable(self.epsilon, self.session, self._asked)
        title = QWidget()
        title.setLayout(row(label("BEFORE IT STARTS", "caption"), None, ask))
        before = Card(title, self._facts, self._problem, self._missing, place)
        head, upper = QWidget(), QWidget()
        self._badge = badge()
        head.setLayout(row(label("THE RUN", "caption"), None, self._badge))
        self._steps_none = label(
            "Naive Bayes takes no steps: it counts the rows once and adds noise to the counts. There is nothing "
            "private to watch on the way.",
            "muted",
            wrap=True,
        )
        charts: QHBoxLayout = row(self.accuracy, self.loss, spacing=16)
        upper.setLayout(charts)
        self._outcome = label("", wrap=True, name="train_outcome")
        self._going = Card(head, self._steps_none, upper, self.epsilon, self._outcome)
        self._going.body.setStretch(2, 1)
        self._going.body.setStretch(3, 1)
        right = QWidget()
        right.setLayout(stack(before, self._going, spacing=12))
        whole = row(left, spacing=12)
        whole.addWidget(right, 1)
        self.body.addLayout(whole, 1)

    def _asked(self) -> Asked | None:
        """Return what the run costs, as a question about what it means."""
        found = self._preflight
        return Asked(found.epsilon, found.delta) if found is not None else None

    # -- what is to be trained ------------------------------------------------------------------------------------

    def choose(self, model: str) -> None:
        """Show the form of ``model``."""
        self._model = model
        self.segments[model].setChecked(True)
        self._views.setCurrentIndex(list(self._forms).index(model))
        opened = self.session.opened
        if opened is not None:
            self.folder.setText(str(actions.suggested_folder(opened, model)))
        self._edited()

    def parameters(self) -> Parameters | None:
        """Return what the form says, or ``None`` while it is refused."""
        return self._forms[self._model].value()

    def _show_table(self) -> None:
        opened = self.session.opened
        if self._handle is not None:
            self._handle.cancel()
        if opened is not None:
            from workbench.learners import learner

            epsilon = self.session.plan.epsilon
            self._forms[NAIVE_BAYES].set_value(learner(NAIVE_BAYES).parameters.from_plain({"epsilon": float(epsilon)}))
            for name, form in self._forms.items():
                if name != NAIVE_BAYES:
                    form.set_value(actions.first_plan(name, opened.table.rows, epsilon))
        self._going.setEnabled(opened is not None)
        for chart in (self.accuracy, self.loss, self.epsilon):
            chart.begin(0)
        self._outcome.setText("")
        self.choose(self._model)

    def _edited(self) -> None:
        self._preflight = None
        self._problem.setText("")
        self._rest.start()
        self.refresh()

    def _forecast(self) -> None:
        parameters = self.parameters()
        if parameters is not None and not _missing(self.session):
            actions.forecast_training(self.session, self.jobs, parameters, self._show_forecast, self._refuse)

    def _show_forecast(self, found: actions.Preflight) -> None:
        self._preflight = found
        self.refresh()

    def _refuse(self, error: BaseException) -> None:
        if isinstance(error, WorkbenchError):
            self._problem.setText(sentence(error))
        else:
            self.session.report(error)
        self.refresh()

    # -- the run --------------------------------------------------------------------------------------------------

    def _press(self) -> None:
        if _missing(self.session):
            self.session.go("data")
            return
        parameters, found = self.parameters(), self._preflight
        if parameters is None or found is None or self._handle is not None:
            return
        title, folder = self._titles[self._model], Path(self.folder.text())
        delta = f", δ = {entered(found.delta)}" if found.delta else ""
        text = (
            f"{title} is trained on {self.session.target} and released to {folder}. This charges ε = "
            f"{entered(found.epsilon)}{delta} for good: a release cannot be undone."
        )
        if not confirm(self, "Train and release?", text, "Train and release"):
            return
        for chart in (self.accuracy, self.loss):
            chart.begin(found.steps or 0)
        self.epsilon.begin(found.steps or 0, float(found.epsilon))
        self._outcome.setText("")
        handle = actions.train_model(self.session, self.jobs, title, parameters, folder, found.epsilon)
        handle.metric.connect(self._take_metric)
        handle.budget.connect(self._take_budget)
        handle.memory.connect(self._take_memory)
        handle.finished.connect(self._show_result)
        handle.cancelling.connect(self.refresh)
        handle.ended.connect(lambda: self._ended(handle))
        self._handle = handle
        self.refresh()

    def _take_metric(self, metric: Metric) -> None:
        chart = {"accuracy": self.accuracy, "loss": self.loss}.get(metric.name)
        if chart is not None:
            chart.add(metric.step, metric.value)

    def _take_budget(self, budget: Budget) -> None:
        # Until the curve of ε is computed beside the run, what is told is the bound on the whole of it.
        known = budget.cap is None or budget.epsilon < budget.cap or budget.step == budget.steps
        if known:
            self.epsilon.add(budget.step, budget.epsilon)

    def _take_memory(self, sample: Memory) -> None:
        self._facts.show_line("memory_now", "memory at its peak so far", memory(sample.peak))

    def _show_result(self, result: Any) -> None:
        training = getattr(result, "training", None)
        model = result.model if training is not None else result
        why = {"epochs": "all epochs", "cap": "stopped before the cap", "clock": "stopped by the clock"}
        told = f"Released to {model.output}. Charged ε = {entered(model.epsilon)}; {entered(model.remaining)} remain."
        if training is not None:
            told += f" {training.steps:,} steps: {why[training.stopped]}."
            self.epsilon.show_points([(record.step, record.epsilon) for record in training.records])
        if getattr(result, "accuracy", None) is not None:
            told += f" Accuracy on the last epoch's batches {result.accuracy:.3f} (private)."
        self._outcome.setText(told)

    def _ended(self, handle: JobHandle) -> None:
        if handle is not self._handle:
            return
        self._handle = None
        if isinstance(handle.end, Cancelled):
            self._outcome.setText(f"Cancelled. {handle.end.what}")
        opened = self.session.opened
        if opened is not None:
            self.folder.setText(str(actions.suggested_folder(opened, self._model)))
        self.refresh()

    def _ask_to_stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def escape(self) -> bool:
        """Stop a training that runs."""
        if self._handle is None or self._handle.stopping:
            return False
        self._handle.cancel()
        return True

    # -- what is shown --------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the cost, what stands in the way, and what can be pressed."""
        missing, found = _missing(self.session), self._preflight
        no_torch = self._model != NAIVE_BAYES and actions.torch_missing()
        self._missing.setText(
            f"Training a network needs PyTorch, which is not installed. In a terminal: {actions.INSTALL}"
            if no_torch
            else ""
        )
        self._missing.setVisible(no_torch)
        self._problem.setVisible(bool(self._problem.text()))
        self._show_facts(found)
        for widget in (self.accuracy, self.loss, self.epsilon, self._badge):
            widget.setVisible(self._model != NAIVE_BAYES)
        self._steps_none.setVisible(self._model == NAIVE_BAYES)
        running = self._handle is not None
        stopping = self._handle is not None and self._handle.stopping
        self._cancel.setVisible(running)
        self._cancel.setText("Cancelling…" if stopping else "Cancel")
        self._cancel.setEnabled(not stopping)
        self._start.setVisible(not running)
        self._start.setText("Data →" if missing else "Start")
        allowed = found is not None and not no_torch and bool(self.folder.text().strip()) and not self._beyond(found)
        self._start.setEnabled(bool(missing) or allowed)
        for segment in self.segments.values():
            segment.setEnabled(not running)
        self._views.setEnabled(not running)
        self.set_note(missing or self._note_text(found, running))

    def _note_text(self, found: actions.Preflight | None, running: bool) -> str:
        if running:
            return "Training. Its loss and accuracy are private; the network appears in its folder at the end."
        if found is None:
            return ""
        if self._beyond(found):
            left = self.session.account.remaining
            return f"This costs ε = {plain(found.epsilon)}, and {plain(left)} are left under the cap."
        return " ".join(found.warnings) or "Start asks once more before it charges anything."

    def _beyond(self, found: actions.Preflight) -> bool:
        left = self.session.account.remaining
        return left is not None and found.epsilon > left

    def _show_facts(self, found: actions.Preflight | None) -> None:
        self._facts.show_line("cost", "cost", _cost(found), "accent")
        network = self._model != NAIVE_BAYES
        for key in ("sigma", "steps", "memory", "memory_now"):
            if not network:
                self._facts.hide_line(key)
        if not network:
            return
        sigma, steps, need = "–", "–", "–"
        if found is not None and found.sigma is not None and found.memory is not None and found.steps is not None:
            sigma = f"σ = {plain(found.sigma)}"
            cut = f" of {found.steps_asked:,}: the cap ends it" if found.steps != found.steps_asked else ""
            steps = f"{found.steps:,}{cut}, {plain(100 * (found.sample_rate or 0))} % of the rows each"
            room = f"fits in the {memory(found.free or 0)} that are free" if found.fits else "does not fit"
            need = f"{memory(found.memory)}, {room}"
        self._facts.show_line("sigma", "noise over clipping norm", sigma)
        self._facts.show_line("steps", "steps", steps)
        self._facts.show_line("memory", "memory", need, "" if found is None or found.fits else "danger")

    def _choose_folder(self) -> None:
        path = ask_where_to_save(self, "A new folder for the model", self.folder.text(), "Folder (*)")
        if path:
            self.folder.setText(path)
            self.refresh()


def _cost(found: actions.Preflight | None) -> str:
    if found is None:
        return "–"
    return f"ε = {plain(found.epsilon)}" + (f", δ = {entered(found.delta)}" if found.delta else "")


def _missing(session: Session) -> str:
    """Return what stands in the way of any training."""
    if session.opened is None:
        return "Open a table on the Data page first."
    if session.target is None:
        return "Choose the column to predict on the Data page first."
    first = next(iter(session.plan.problems()), None)
    return "" if first is None else f"{first.column or 'The plan'}: {first.text}."


def _state(session: Session) -> State:
    return "ready" if any(run.kind in ("fit", "dpsgd") for run in session.runs) else "empty"


PAGE = Page(
    name="train",
    title="Train",
    help="Train a private model or network, see what it costs before it starts, and release it",
    make=TrainPage,
    state=_state,
)
