"""Attack: what is attacked and how, what came of it in words and a picture, and the outcomes so far in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QMarginsF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from workbench.data.table import Table
from workbench.gui.pages import page_called
from workbench.gui.pages.attack import RUN
from workbench.gui.pages.run_page import TO_DATA, TO_TRAIN, RunPage
from workbench.gui.session.account_task import read_releases
from workbench.gui.session.account_view import ReleasedStep
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenTable, RunRecord, Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    badge,
    button,
    into_sight,
    label,
    lines,
    named,
    panel,
    row,
    say,
    stack,
)
from workbench.gui.widgets.chart import KEY, SCALE, Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import ask_for_file, ask_for_folder, ask_where_to_save, choose
from workbench.gui.widgets.formatting import percent
from workbench.gui.widgets.master_detail import MasterDetail, Standing
from workbench.gui.widgets.output_name import beside
from workbench.gui.widgets.parameter_form import Form
from workbench.gui.widgets.path_field import PathField
from workbench.gui.widgets.report_button import Reported, report_button
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import Parameters
from workbench.release.certificate import certificate_path, is_model
from workbench.risk import attacks
from workbench.risk.attacks import MODEL, RELEASE
from workbench.risk.attacks.base import Attack, Given
from workbench.risk.attacks.outcome import NOT_COVERED, Outcome, Rate


@dataclass(frozen=True, eq=False)
class Attacked:
    """An attack that was run, with its title and target as a person calls them. Private, unless it says otherwise."""

    title: str
    target: str
    outcome: Outcome


def hold_out(opened: OpenTable, percent: int, kept: Path, emit: Emit, cancel: CancelToken) -> Path:
    """Divide a table at random into the file ``kept`` and one of the rows that are held out, beside it; return that."""
    from workbench.release import attack_inputs

    held = kept.with_name(f"{kept.stem}-held-out.csv")
    attack_inputs.hold_out(opened.table, percent, kept, held, np.random.default_rng())
    return held


def attacked(
    chosen: Attack, request: Parameters, given: Mapping[str, Path | OpenTable], emit: Emit, cancel: CancelToken
) -> Outcome:
    """Attack with what is given; runs in a worker."""
    from workbench.release.attack_inputs import run_attack

    read: dict[str, Path | Table] = {
        name: source if isinstance(source, Path) else source.table for name, source in given.items()
    }
    return run_attack(chosen, request, read, emit=emit, cancel=cancel)


# -- the fields -------------------------------------------------------------------------------------------------------


OPEN = ("original", "members")  # what the open table is in the attack
OTHERS = ("control", "nonmembers")  # people who were not used
MADE_IN = {RELEASE: ("ways", tr_later("Release →")), MODEL: ("train", TO_TRAIN)}
"""What is attacked: the page where it is made, and the words of the button that leads there."""


class AttackForm(QWidget):
    """The fields of one attack."""

    changed = Signal()

    def __init__(self, session: Session, attack: Attack) -> None:
        super().__init__()
        self.attack, self._session = attack, session
        self.setObjectName(f"attack_{attack.name}")
        self._target: ChoiceBox | None = None
        self._held_out = ""
        self._paths: dict[str, PathField] = {}
        self._open_line = Elided(name=f"attack_{attack.name}_open")
        self._places, self._line, self._pairs = stack(), lines(), 0
        self._of_open = next((needed for needed in attack.given if needed.name in OPEN), None)
        for needed in sorted(attack.given, key=lambda needed: needed is self._of_open):  # fields beside one another
            self._add(needed)
        self.form = Form(f"attack_form_{attack.name}", attack.asked(), across=2)
        self.form.changed.connect(self.changed)
        held = panel(self._places)
        held.setVisible(bool(attack.given))
        self.setLayout(stack(held, self.form, None, spacing=8))
        session.table_changed.connect(self._say_open)
        self._say_open()

    def _add(self, needed: Given) -> None:
        name = f"attack_{self.attack.name}_{needed.name}"
        title, words = label(tr_sentence(needed.title)), tr_sentence(needed.help)
        field: QWidget
        if needed.name in (RELEASE, MODEL):
            self._target = named(ChoiceBox(), name, tr_sentence(needed.title), words)
            # A long name would push a window of 1280 pixels wider.
            self._target.give_way(12)
            self._target.currentIndexChanged.connect(self.changed)
            field = self._with_chooser(self._target, name, needed)
        elif needed is self._of_open:
            field = self._open_line
        else:
            path = self._paths[needed.name] = PathField(name, tr_sentence(needed.title), words)
            path.setPlaceholderText(words if needed.required else tr("none: no correction"))
            path.textChanged.connect(self.changed)
            field = self._with_chooser(path, name, needed)
        title.setToolTip(words)
        title.setBuddy(field)
        if self._pairs % 2 == 0:  # two beside one another, where there is room
            self._line = lines(spacing=16)
            self._places.addLayout(self._line)
        self._pairs += 1
        self._line.addLayout(row(title, (field, 1)), 1)

    def _with_chooser(self, field: QWidget, name: str, needed: Given) -> QWidget:
        words = tr_sentence(needed.title)
        tip = tr("Choose: {title}", title=words)
        chooser = button(tr("Browse…"), f"{name}_browse", tip=tip, press=lambda: self._browse(needed))
        return panel(row((field, 1), chooser))

    def _browse(self, needed: Given) -> None:
        title = tr("Choose: {title}", title=tr_sentence(needed.title))
        chosen = ask_for_folder(self, title) if needed.name == MODEL else ask_for_file(self, "table", title)
        if not chosen:
            return
        if needed.name in self._paths:
            self._paths[needed.name].choose(chosen)
        else:
            self.choose(Path(chosen))

    def takes(self, kind: str) -> bool:
        return any(needed.name == kind for needed in self.attack.given)

    def choose(self, target: Path) -> None:
        """Choose a release to attack, whether it is listed or not."""
        assert self._target is not None
        if self._target.findData(str(target)) < 0:
            self._list(target, 0)
        self._target.setCurrentIndex(self._target.findData(str(target)))
        self.changed.emit()

    def offer(self, releases: tuple[ReleasedStep, ...]) -> None:
        """List the releases whose files are in place, those of other attacks' kinds left out; keep what is chosen."""
        if self._target is None:
            return
        models = self.takes(MODEL)
        with QSignalBlocker(self._target):
            for one in releases:
                if one.files and one.model == models and self._target.findData(str(one.output)) < 0:
                    self._list(one.output, self._target.count())
        self.changed.emit()

    def _list(self, target: Path, at: int) -> None:
        assert self._target is not None
        self._target.insertItem(at, target.name, str(target))
        self._target.setItemData(at, str(target), Qt.ItemDataRole.ToolTipRole)

    @property
    def lacks_others(self) -> bool:
        """Whether people who were not used are asked for, and none are given."""
        return any(name in OTHERS and not path.text().strip() for name, path in self._paths.items())

    def give_others(self, held_out: str) -> None:
        """Take a file of rows that were held out, or none, for people who were not used; one that was typed stays."""
        for name, path in self._paths.items():
            if name in OTHERS and path.text().strip() in ("", self._held_out):
                path.choose(held_out)
        self._held_out = held_out

    def _say_open(self) -> None:
        opened = self._session.opened
        self._open_line.set_whole(
            tr("the open table: {title}", title=opened.title) if opened is not None else tr("no table is open")
        )
        self.changed.emit()

    @property
    def original(self) -> OpenTable | None:
        """The open table, unless that is the release itself, with its certificate beside it."""
        opened = self._session.opened
        attacked = "" if self._target is None else self._target.currentData()
        if opened is None or (opened.source == attacked and certificate_path(Path(attacked)).exists()):
            return None
        return opened

    def given(self) -> dict[str, Path | OpenTable]:
        found: dict[str, Path | OpenTable] = {}
        for needed in self.attack.given:
            if needed is self._of_open:
                if self.original is not None:
                    found[needed.name] = self.original
            elif needed.name in self._paths:
                if text := self._paths[needed.name].text().strip():
                    found[needed.name] = Path(text)
            elif self._target is not None and self._target.currentData():
                found[needed.name] = Path(self._target.currentData())
        return found

    @property
    def target(self) -> str:
        if self._target is None:
            return tr("generated sample")
        return self._target.currentText()

    def value(self) -> Parameters | None:
        return self.form.value()

    def missing(self) -> str:
        given = self.given()
        for needed in self.attack.given:
            if needed.required and needed.name not in given:
                if needed is self._of_open:
                    first = tr("Open the original table first: Data.")
                    itself = tr("The open table is the release itself.")
                    return first if self._session.opened is None else f"{itself} {first}"
                if needed.name in MADE_IN and self._target is not None and not self._target.count():
                    return tr("There is no release to attack yet: release something first, or browse for a file.")
                if needed.name in OTHERS:
                    return tr(
                        "Choose {what}; or hold out part of the open table, and release or train on the rest.",
                        what=tr_sentence(needed.help),
                    )
                return tr("Choose {what}.", what=tr_sentence(needed.help))
        return ""

    @property
    def made_in(self) -> tuple[str, str]:
        """The page where what is missing first is made, with the words of a button; empty where it is chosen here."""
        given = self.given()
        lacks = next((needed for needed in self.attack.given if needed.required and needed.name not in given), None)
        if lacks is None or (lacks.name in MADE_IN and self._target is not None and self._target.count()):
            return "", ""
        return ("data", TO_DATA) if lacks is self._of_open else MADE_IN.get(lacks.name, ("", ""))

    def retranslate(self) -> None:
        self._say_open()


# -- the page ---------------------------------------------------------------------------------------------------------


GUESS, WITH, STRANGERS = tr_later("a guess"), tr_later("the attack"), tr_later("not released")
FILL = 0.55


HIGHEST = 440  # pixels of the chart: a higher bar says no more


def allowed_words(share: float) -> str:
    """Return what ε allows as the sentence above has it: 100 % is said of certainty alone."""
    enough = (digits for digits in range(3, 15) if share >= 1 or float(f"{100 * share:.{digits}g}") < 100)
    return percent(share, next(enough, 3))


def _drawing(outcome: Outcome) -> Drawing:
    """Return a bar with its interval for each share, and a dashed line for what is allowed."""
    shown = [
        (GUESS, outcome.naive, "muted"),
        (WITH, outcome.main, "sanitized"),
        (STRANGERS, outcome.control, "private"),
    ]
    bars = [(tr(words), rate, ink) for words, rate, ink in shown if rate is not None]
    marks: list[mark.Mark] = []
    for at, (_, rate, ink) in enumerate(bars):
        marks.append(mark.bars({at: rate.value}, ink, alpha=FILL))
        if rate.of:
            marks.append(mark.intervals([(at + 0.5, rate.low, rate.value, rate.high)], ink))
    key = []
    if outcome.allowed is not None:
        marks.append(mark.line([(0, outcome.allowed), (len(bars), outcome.allowed)], "text", dash="dashed"))
        key = [Key(tr("allowed by ε: {share}", share=allowed_words(outcome.allowed)), "text", "line")]
    said = [tr("{what}: {share}", what=words, share=percent(rate.value)) for words, rate, _ in bars]
    return Drawing(
        marks,
        x=Scale(0, len(bars)),
        y=Scale(0, 1),
        left=tuple((share, percent(share)) for share in (0.0, 0.5, 1.0)),
        grid=True,
        below=[Below(at + 0.5, words) for at, (words, _, _) in enumerate(bars)],
        labels=[words for words, _, _ in bars],
        key=key,
        words=lambda x: said[int(x)],
        spoken="; ".join([*said, *(one.words for one in key)]),
        margins=QMarginsF(SCALE + 8, KEY + 8, 8, 22),
    )


COLUMNS = (
    Column(tr_later("Attack"), width=130),
    Column(tr_later("On"), help=tr_later("The release or model that was attacked"), width=130),
    Column(tr_later("Guess"), help=tr_later("How often a guess without the release is right"), width=64, right=True),
    Column(tr_later("Right"), help=tr_later("How often it is right about released people"), width=64, right=True),
    Column(
        tr_later("Others"),
        help=tr_later("How often it is right about people who were not released"),
        width=64,
        right=True,
    ),
    Column(
        tr_later("Risk"),
        help=tr_later("What it finds beyond that, with its 95 % interval"),
        width=150,
        right=True,
    ),
    Column(tr_later("Allowed"), help=tr_later("The most that ε allows on average"), width=72, right=True),
)
PARTS = (10, 20, 50)
CSV = tr_later("Tables (*.csv)")
HELD_OUT = tr_later(
    "The rows are divided at random into two new files: those that are held out, and the rest, which is opened in "
    "place of this table with its plan. Train on the rest or release it: the people who were held out were not used, "
    "and an attack is measured on them. Both files are private."
)
INVITATION = tr_later(
    "What an attack finds about people who were released is compared with a guess, with "
    "people who were not released, and with the most that the ε of the release allows."
)


class AttackPage(RunPage):
    """The attack and its fields; below or beside them the outcomes of this session."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("attack"))
        self._done: list[Attacked] = []
        self._releases: tuple[ReleasedStep, ...] = ()
        self._forms: dict[str, AttackForm] = {}
        self.attack = named(ChoiceBox(), "attack_kind", tr("Attack"), tr("What the attacker tries"))
        for known in attacks.ATTACKS:
            self.attack.addItem(tr_sentence(known.title), known.name)
        self._about = label("", "muted", wrap=True, name="attack_about")
        self._fields = stack()  # of forms, one of which is in sight
        line = panel(row(label(tr("Attack")), self.attack, (self._about, 1)))
        setup = named(Card(stack(line, self._fields, None, spacing=8), pad=12), "attack_setup")
        self._badge = badge()
        self._said = label("", "heading", wrap=True, name="attack_said")
        self._words = label("", "muted", wrap=True, name="attack_words")
        self.chart = Chart(session, "attack_picture", usual=QSize(360, 220), least=QSize(240, 140))
        self.chart.setMaximumHeight(HIGHEST)
        self.outcomes = LinesTable(
            session, "attack_outcomes", tr("Outcomes of this session, the newest first"), COLUMNS, private=True
        )
        self.outcomes.selectionModel().currentRowChanged.connect(lambda now, _former: self._show(now.row()))
        self._result = named(Standing(), "attack_result")
        words = panel(stack(self._said, self._words, None))
        self._result.body.add(
            panel(row(label(tr("WHAT IT FOUND"), "caption"), None, self._badge)),
            (panel(row((words, 1), (self.chart, 1), spacing=16)), 3),
            (self.outcomes, 2),
        )
        self._parts = MasterDetail(setup, self._result, heights=(2, 3), widths=(2, 3))
        self._parts.fill(0)  # the fields have the height that they need, and what is found the rest
        self.body.addWidget(self._parts, 1)
        cancel = button(tr("Cancel"), "attack_cancel", tip=tr("Stop (Esc)"))
        self.set_run(tr("Attack"), "attack_run", tr("Run the attack (Ctrl+Return)"), cancel)
        self._report = report_button(session, jobs, "attack_report", self._reported)
        self.foot.insertWidget(1, self._report)
        tip = tr("Divide the open table at random: one part to train on or to release, the other to attack with")
        self._hold = button(tr("Hold out…"), "attack_hold_out", tip=tip, press=self._hold_out)
        self.foot.insertWidget(1, self._hold)
        self.set_onward(tr("Releases →"), "attack_to_releases", "released", tr("Everything that was released"))
        self.attack.currentIndexChanged.connect(self._choose)
        session.table_changed.connect(self._take_others)
        session.table_changed.connect(self.in_sight(self.refresh))
        session.released_changed.connect(self.in_sight(self._read))
        self._choose()
        self._show(-1)
        session.to_attack.follow(self._aim)

    def shown(self) -> None:
        self._read()

    @property
    def form(self) -> AttackForm:
        return self._forms[self.attack.currentData()]

    def missing(self) -> str:
        """Return what keeps from an attack and is made elsewhere; what is chosen here is said in the note alone."""
        return self.form.missing() if any(self.form.made_in) else ""

    def way_out(self, missing: str) -> tuple[str, str]:
        page, words = self.form.made_in
        return page, tr(words)

    def start(self) -> None:
        form, request = self.form, self.form.value()
        if request is None or form.missing():
            return
        private = any(needed.name not in (RELEASE, MODEL) for needed in form.attack.given)
        if private and self.session.opened is not None and not private_figures.may_show(self, self.session):
            return
        chosen, target = form.attack, form.target
        title = tr("{attack}: {target}", attack=tr_sentence(chosen.title), target=target)

        def apply(outcome: Outcome) -> None:
            done = Attacked(chosen.title, target, outcome)
            self.session.add_run(RunRecord(RUN, title, None, done, target))
            self._take(done)

        job = Job(title, partial(attacked, chosen, request, form.given()))
        handle = self.jobs.start(job, key="attack", on_result=apply)
        self.follow(private_figures.follow_note(self.session, self.jobs, handle))

    def _hold_out(self) -> None:
        """Ask how many rows and where to, then divide the open table; the part that is kept takes its place."""
        opened = self.session.opened
        assert opened is not None
        parts = {str(part): percent(part / 100) for part in PARTS}
        chosen = choose(self, tr("Hold out a part of {table}?", table=opened.title), tr(HELD_OUT), parts)
        suggested = str(beside(opened, "kept", ".csv"))
        path = ask_where_to_save(self, tr("Save the rows that are kept as"), suggested, tr(CSV)) if chosen else ""
        if path:
            kept = Path(path)
            job = Job(
                tr("Holding out rows of {table}", table=opened.title), partial(hold_out, opened, int(chosen), kept)
            )
            self.jobs.start(job, key="attack-hold-out", on_result=lambda held: self._take_held(opened, kept, held))

    def _take_held(self, opened: OpenTable, kept: Path, held: Path) -> None:
        if self.session.opened is opened:
            self.session.open_part(kept, held)

    def _take_others(self) -> None:
        """Take the rows that were held out of the open table for people who were not used."""
        for form in self._forms.values():
            form.give_others(self.session.held_out)

    def _reported(self) -> Reported | None:
        """Return the release that is chosen with its original, and the control set where one is given."""
        given = self.form.given()
        release, control = (given.get(names[0]) or given.get(names[1]) for names in (tuple(MADE_IN), OTHERS))
        opened = self.form.original
        if opened is None or not isinstance(release, Path):
            return None
        return Reported(opened, release, control if isinstance(control, Path) else None)

    def refresh(self) -> None:
        form = self.form
        self._report.setVisible(self._reported() is not None)
        self._hold.setVisible(self.session.opened is not None and form.lacks_others)
        missing = form.missing()
        self.show_buttons(self.missing(), ready=not missing and form.value() is not None, done=False)
        self.set_note(missing or tr_sentence(NOT_COVERED))

    def retranslate(self) -> None:
        self._list()
        self._choose()

    def _aim(self, target: Path) -> None:
        """Take up a release or a model, with the chosen attack or else the first one that it can be the target of."""
        wanted = MODEL if is_model(target) else RELEASE
        fits = [k.name for k in attacks.ATTACKS if any(needed.name == wanted for needed in k.given)]
        if self.attack.currentData() not in fits:
            self.attack.setCurrentIndex(self.attack.findData(fits[0]))
        for form in self._forms.values():
            if form.takes(wanted):
                form.choose(target)

    def _read(self) -> None:
        read_releases(self.jobs, self._offer)

    def _offer(self, releases: tuple[ReleasedStep, ...]) -> None:
        self._releases = releases
        for form in self._forms.values():
            form.offer(releases)

    def _choose(self) -> None:
        chosen = attacks.attack(self.attack.currentData())
        if chosen.name not in self._forms:
            made = self._forms[chosen.name] = AttackForm(self.session, chosen)
            made.offer(self._releases)
            aimed = self.session.to_attack.value
            if aimed is not None and made.takes(MODEL if is_model(aimed) else RELEASE):
                made.choose(aimed)
            made.give_others(self.session.held_out)
            made.changed.connect(self.refresh)
            self._fields.addWidget(made)
        for form in self._forms.values():
            form.setVisible(form is self.form)
        self._about.setText(as_sentence(tr_sentence(chosen.help)))
        QTimer.singleShot(0, self._parts, self._parts.share)  # once the other fields are laid out
        self.refresh()

    def _take(self, done: Attacked) -> None:
        self._done.insert(0, done)
        self._list()
        self.outcomes.selectRow(0)
        self._show(0)
        into_sight(self._result)

    def _list(self) -> None:
        self.outcomes.lines.show_lines([_cells(done) for done in self._done])

    def _show(self, at: int) -> None:
        done = self._done[at] if 0 <= at < len(self._done) else None
        self._badge.setVisible(done is not None and done.outcome.private)
        for part in (self.chart, self.outcomes):
            part.setVisible(bool(self._done))
        first, *rest = [tr(INVITATION)] if done is None else map(tr_sentence, done.outcome.words())
        say(self._said, "" if done is None else first)
        self._words.setText(first if done is None else "\n".join(rest))
        self.chart.show_drawing(None if done is None else _drawing(done.outcome))


def _cells(done: Attacked) -> tuple[Cell, ...]:
    outcome = done.outcome
    risk, allowed = outcome.risk, outcome.allowed
    words = tr("{risk} ({low} to {high})", risk=percent(risk.value), low=percent(risk.low), high=percent(risk.high))
    return (
        Cell(tr_sentence(done.title)),
        Cell(done.target),
        _share(outcome.naive),
        _share(outcome.main),
        _share(outcome.control),
        Cell(words, exact=f"{risk.value!r}", key=risk.value),
        Cell("–", "muted", tip=tr_sentence(outcome.why_not))
        if allowed is None
        else Cell(allowed_words(allowed), exact=f"{allowed!r}", key=allowed),
    )


def _share(rate: Rate | None) -> Cell:
    if rate is None:
        return Cell("–", "muted", tip=tr("There was no control set."))
    return Cell(percent(rate.value), exact=f"{rate.value!r}", key=rate.value)
