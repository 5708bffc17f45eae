"""The one observable session: what is open, planned, spent and released. Views follow its signals."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from workbench.data.databases.address import title_of
from workbench.gui.session.account_view import AccountView, ReleasedStep
from workbench.gui.session.draft import DraftPlan, NetworkDraft
from workbench.gui.session.draft_edits import answered, in_step
from workbench.gui.session.error_text import sentence
from workbench.gui.session.settings import Cluster, RecentFiles, Settings
from workbench.gui.session.undo import PlanEdit
from workbench.gui.style.language import tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.params import WorkbenchError
from workbench.render.palette import LIGHT, Theme
from workbench.sanitize.intended_use import IntendedUse, Suggestion

if TYPE_CHECKING:  # these load polars, which the first paint does not wait for
    from workbench.data.columns.profile import ColumnProfile
    from workbench.data.csv.options import ReadOptions
    from workbench.data.images.image_reader import ImageOptions
    from workbench.data.images.image_set import ClassOverview, ImageSet
    from workbench.data.table import Table
    from workbench.deep.plan import DpSgdPlan
    from workbench.gui.session.generalise_draft import GeneraliseDraft


class Offer(QObject):
    """What somebody asks another page to begin with; a page that is made later finds it, too. Nothing is started by it.

    Attributes:
        value: what was asked for last on the table that is open; ``None`` where nothing was.

    Signals:
        made: (value) something else is asked for.
    """

    made = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.value: Any = None

    def make(self, value: Any) -> None:
        self.value = value
        self.made.emit(value)

    def follow(self, take: Callable[[Any], object]) -> None:
        """Let ``take`` have what was asked for before, and whatever will be."""
        self.made.connect(take)
        if self.value is not None:
            take(self.value)


Level = Literal["info", "warning", "error"]
State = Literal["empty", "needs", "ready"]


FOR_TABLES = tr_later(
    "A set of images is open, and this page is for tables: networks learn from images in Models, Train."
)


@dataclass(frozen=True)
class Stamp:
    """What differs between versions of a file: its identity, size and time of change, as the system has them."""

    inode: int
    size: int
    changed: int


@dataclass(frozen=True, eq=False)
class OpenTable:
    """The table that is open and what the steward may see of it. Everything in it is private."""

    table: Table  # the rows
    profile: tuple[ColumnProfile, ...]  # what each column looks like, in the table's order
    source: str  # the path or `sample:NAME` it was read from
    options: ReadOptions | None = None  # what the person stated about the file over the guess; `None` for a sample
    stamp: Stamp | None = None  # the version of the file that was read; `None` for a sample
    lesson: str = ""  # of a sample that was opened anew, what its first plan is good for; else empty
    suggested: Suggestion = field(default_factory=Suggestion)  # which columns are suggested, and why the others are not
    second_stamp: Stamp | None = None  # the version of the file that is joined with it; `None` of none

    @functools.cached_property
    def profiles(self) -> dict[str, ColumnProfile]:
        """By name what each column looks like where codes that are declared missing are (:func:`follow_codes`)."""
        return {profile.name: profile for profile in self.profile}

    def rows_under(self, plan: DraftPlan) -> int:
        """Return the number of rows that ``plan`` releases: blank lines count where it replaces invalid values."""
        return self.table.lines if plan.replaces_invalid else self.table.rows

    @property
    def unsure(self) -> bool:
        """Whether a person is to choose first which part of the file is the table: a sheet, the row of its header."""
        facts = self.table.facts
        return facts.titles > 0 or (len(facts.parts) > 1 and getattr(self.options, facts.option, None) is None)

    @property
    def title(self) -> str:
        return self.source.removeprefix("sample:") if self.is_sample else title_of(self.source)

    @property
    def folder(self) -> str:
        """The folder of its file, where what belongs to it is looked for first; empty where it has none."""
        return "" if self.is_sample or "://" in self.source else os.path.dirname(self.source)

    @property
    def second(self) -> str:
        """The path of the table that is joined with it; empty for none."""
        return "" if self.table.joined is None else self.table.joined.second.source

    @property
    def is_sample(self) -> bool:
        """Whether it came with the program."""
        return self.source.startswith("sample:")


@dataclass(frozen=True, eq=False)
class OpenImages:
    """The images that are open. All but their number, shape and classes is private."""

    table: ImageSet  # the images as rows: what the ledger knows them by
    source: str  # the path they were read from
    options: ImageOptions  # what the person declared about them
    folder: bool = False  # whether the source is a folder
    resizable: bool = False  # whether it holds class folders, whose images may be resized and made grey
    stamp: Stamp | None = None  # the version of the file or folder that was read
    seen: tuple[ClassOverview, ...] = ()  # how many images each class has, and some of them: private

    @property
    def title(self) -> str:
        return Path(self.source).name or self.source

    @property
    def is_sample(self) -> bool:
        """Whether it came with the program: no set of images does."""
        return False

    @property
    def stated(self) -> str:
        """What is public of it, in words: ``60,000 images, 28 × 28 grey, 10 classes``."""
        images, people = self.table, self.options.rows_per_person
        number = tr_n("{n} image", "{n} images", images.rows)
        classes = tr_n("{n} class", "{n} classes", len(images.classes))
        stated = f"{number}, {tr_sentence(str(images.shape))}, {classes}"
        return stated if people == 1 else f"{stated}, {tr('{number} per person', number=tr_number(people, ','))}"

    @property
    def outside(self) -> tuple[str, ...]:
        """Sentences on what ε does not cover: public facts that nobody declared."""
        taken = self.table.taken
        return (
            (tr("the {facts} were taken from the image files and not declared", facts=tr_sentence(taken)),)
            if taken
            else ()
        )


@dataclass(frozen=True)
class RunRecord:
    """One finished study or training run of this session."""

    kind: str  # `curve`, `fit` or `dpsgd`
    title: str  # what a person calls it
    epsilon: Decimal | None  # the ε it is about, `None` for a study over several
    result: Any = field(compare=False)  # what the engine returned
    source: str = ""  # what a person calls the table it was made from
    # When it ended (UTC).
    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"), compare=False)
    made_up: bool = False  # whether it is of made-up rows, and so shows nothing private


class Session(QObject):
    """Everything the pages look at. Setters emit only when the value really changed.

    Attributes:
        opened: the table that is open.
        images: the set of images that is open; no table is open beside it.
        plan: as it is.
        chosen_way: the way to release that a person chose; empty where nobody did.
        generalised: what a person set on the page Generalise; ``None`` where nothing differs from how it begins.
        account: the ledger's view of the dataset that is open.
        runs: the studies and training runs of this session, oldest first.
        released: its releases, oldest first.
        theme: the colours to draw in.
        explained: the (ε, δ) that was asked about last.
        undo_stack: every edit of the plan; cleared when a table is opened or something is released.
        may_leave: asks the person whether unsaved work may go, where there is any, and returns whether to go on at
            once; it calls its argument later where the work is saved first. The window sets it.
        may_replace: asks the same where another table is to be opened, and first about trainings on this one, which
            end by it; its argument is whether the plan is kept. The window sets it.
        recent: the files that were opened last.
        figures_agreed: the table or images of which the person agreed to see private figures.
        to_train: (model, ε) that Train is to offer.
        to_run: the values by name that Train is to put into the form of a network.
        to_draw: the name of the model that Curves is to choose.
        to_compare: (study, way of training, ε) that Compare is to show.
        to_learn_from: the released table that Predict is to train a model on.
        to_estimate_from: the released table that Estimates is to read.
        to_attack: the released file, or folder of a model, that Attack is to attack.
        held_out: the file of the rows that were held out of the open table, to attack with; empty for none.
        part_of_open: a file of some rows of the open table, which takes over its plan; empty for none.
        network: the training that is planned for the images that are open.
        release_wanted: whether a release was asked for that no page has taken up yet.
        model_cost: (ε, δ) of the model that Train shows; ``None`` of none.
        cluster: where releases are computed, if not on this computer.
    """

    table_changed = Signal()  # another table or set of images is open, or none
    plan_changed = Signal()  # the draft plan differs (also by undo and redo)
    way_changed = Signal()  # another way to release is chosen, or advised where nobody has chosen
    generalise_changed = Signal()  # something else is set on the page Generalise
    release_asked = Signal()  # release what is chosen, after a question, where somebody asks for it on the Release page
    # Who gets the release, what they need or what they ask differs; `plan_changed` goes before.
    questions_changed = Signal()
    account_changed = Signal()  # the ledger's view of the dataset differs
    paused_changed = Signal()  # other interrupted trainings of the table can go on
    runs_changed = Signal()  # a study or training run was added, or the model that Train shows costs something else
    released_changed = Signal()  # something was released
    theme_changed = Signal()  # the colours differ; plots redraw
    notified = Signal(str, str)  # (level, sentence) for the person
    overtaken = Signal()  # what the newest error or warning is about is no longer chosen
    page_asked = Signal(str)  # (name) show that page
    open_asked = Signal(str)  # (path) open that table or project
    # (source, options, error) the table could not be read; the error has been shown, unless it is that one of several
    # tables is to be chosen.
    opening_failed = Signal(str, object, object)
    database_asked = Signal()  # the person wants to open a table of a database
    # (Decimal ε, Decimal δ, about, local) show what it means; `about` names the one attribute that it is spent on, or
    # is empty for whole rows; `local` says that it is of noisy rows alone.
    explain_asked = Signal(object, object, str, bool)
    help_asked = Signal(str)  # (topic) show that topic of the help

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo_stack = QUndoStack(self)
        self._within_step = False
        self.may_leave: Callable[[Callable[[], object]], bool] = lambda then: True
        self.may_replace: Callable[[Callable[[], object], bool], bool] = lambda then, keeps_plan: True
        self.recent = RecentFiles(Settings(), self)
        self.cluster = Cluster()
        self.figures_agreed: OpenTable | OpenImages | None = None
        self.network = NetworkDraft(self)
        self.opened: OpenTable | None = None
        self.images: OpenImages | None = None
        self.plan = DraftPlan()
        self.account = AccountView()
        self.runs: tuple[RunRecord, ...] = ()
        self.released: tuple[ReleasedStep, ...] = ()
        self.theme = LIGHT
        self.chosen_way = self._advised = ""
        self.generalised: GeneraliseDraft | None = None
        self.release_wanted = False
        self.model_cost: tuple[Decimal, Decimal] | None = None
        self.to_train, self.to_run, self.to_draw, self.to_compare = (Offer(self) for _ in range(4))
        self.to_learn_from, self.to_estimate_from, self.to_attack = (Offer(self) for _ in range(3))
        self.held_out = self.part_of_open = self._rest_of_part = ""
        self.paused: tuple[Any, ...] = ()
        self.explained: tuple[Decimal, Decimal] | None = None
        self.help_topic = ""

    # -- what is open ---------------------------------------------------------------------------------------------

    @property
    def open_data(self) -> OpenTable | OpenImages | None:
        """The table or the set of images that is open: what the account is of."""
        return self.opened or self.images

    @property
    def open_table(self) -> OpenTable:
        """The open table; only for code that runs while a table is open."""
        assert self.opened is not None
        return self.opened

    @property
    def folder(self) -> str:
        """The folder of the table's file, where every file is looked for first; empty where there is none."""
        return "" if self.opened is None else self.opened.folder

    def profile_of(self, name: str) -> ColumnProfile | None:
        return self.opened.profiles.get(name) if self.opened else None

    def kind_of(self, name: str) -> str:
        profile = self.profile_of(name)
        return profile.kind if profile else "category"

    def open(
        self,
        opened: OpenTable | OpenImages | None,
        plan: DraftPlan,
        network: DpSgdPlan | None = None,
        way: str = "",
        generalised: GeneraliseDraft | None = None,
        held_out: str = "",
    ) -> None:
        """Replace the table or images and what was planned of them, or close them; what belonged to the former goes."""
        self.opened = opened if isinstance(opened, OpenTable) else None
        self.images = opened if isinstance(opened, OpenImages) else None
        self.plan = plan
        self.network.set(network)
        self.account = AccountView()
        self.runs, self.released = (), ()
        self.chosen_way, self._advised, self.generalised = way, "", generalised
        self.release_wanted, self.model_cost = False, None
        for offer in self.findChildren(Offer):
            offer.value = None
        self.held_out, self.part_of_open, self._rest_of_part = held_out, "", ""
        self.undo_stack.clear()
        for signal in (self.table_changed, self.plan_changed, self.questions_changed, self.account_changed):
            signal.emit()
        self.runs_changed.emit()
        self.released_changed.emit()

    def swap(self, text: str, opened: OpenTable, plan: DraftPlan, then: Callable[[], object]) -> None:
        """Take the open table with other columns and a plan, as one step; ``then`` follows whenever either is shown."""

        def show(pair: tuple[OpenTable, DraftPlan]) -> None:
            self.opened, self.plan = pair  # whoever follows one of the signals looks at both
            for signal in (self.table_changed, self.plan_changed, self.questions_changed):
                signal.emit()
            then()

        self.undo_stack.push(PlanEdit(text, (self.open_table, self.plan), (opened, plan), show))

    def open_part(self, path: Path, rest: Path) -> None:
        """Open a file of some rows of the open table in its place; the plan stays, and ``rest`` was held out of it."""
        self.part_of_open, self._rest_of_part = str(path), str(rest)
        self.open_asked.emit(self.part_of_open)

    def held_out_of(self, source: str) -> str:
        """Return the file of what was held out of the open table, or of the part of it that is to be opened."""
        return self._rest_of_part if source == self.part_of_open else self.held_out

    # -- the plan -------------------------------------------------------------------------------------------------

    @property
    def questions(self) -> IntendedUse:
        """Who gets the release, which columns they need and what they will ask of it, as the plan has it."""
        return self.plan.questions

    @property
    def exceeds_offer(self) -> bool:
        """Whether the plan's ε is above the range for those who get the release, so that none is highlighted."""
        return self.questions.offered(self.plan.epsilon) != self.plan.epsilon

    @property
    def way(self) -> str:
        """The way to release: the one that is chosen, else the one that is advised, or that suits the questions."""
        return self.chosen_way or self._advised or self.questions.way

    def choose_way(self, name: str) -> None:
        before, self.chosen_way = self.way, name
        if self.way != before:
            self.way_changed.emit()

    def draft_generalise(self, draft: GeneraliseDraft | None, text: str = "", merge: str = "") -> None:
        """Keep what is set on the page Generalise; where ``text`` names it, as a step that can be undone."""
        if text and draft != self.generalised:
            self.undo_stack.push(PlanEdit(text, self.generalised, draft, self.draft_generalise, merge))
            return
        before, self.generalised = self.generalised, draft
        if draft != before:
            self.generalise_changed.emit()

    def advise_way(self, name: str) -> None:
        """Follow the way that is advised until a person chooses one."""
        before, self._advised = self.way, name
        if self.way != before:
            self.way_changed.emit()

    def ask_for_release(self) -> None:
        """Open the settings of the way that is chosen, and ask there whether to release by them."""
        self.release_wanted = True
        self.go("release")
        self.release_asked.emit()

    def answer(self, text: str, **changes: Any) -> None:
        """Change answers to the three questions; the plan follows them, as one step that can be undone.

        Args:
            text: what the person did, for the Edit menu.
            changes: attributes of :class:`IntendedUse`.
        """
        self.edit(text, answered(self.plan, replace(self.questions, **changes), self.kind_of))

    def edit(self, text: str, plan: DraftPlan, merge: str = "") -> None:
        """Make ``plan`` the plan, as one step that can be undone and that the Edit menu calls ``text``.

        Steps in a row with the same non-empty ``merge`` become one (a slider that is dragged).
        """
        plan = in_step(self.plan, plan)
        if self._within_step:
            self.plan = plan
        elif plan != self.plan:
            self.undo_stack.push(PlanEdit(text, self.plan, plan, self._show_plan, merge))

    @contextmanager
    def one_step(self, text: str) -> Iterator[None]:
        """Take all edits of a block as one step that can be undone; where an error ends it, none of them."""
        before, self._within_step = self.plan, True
        try:
            yield
        finally:
            after, self.plan, self._within_step = self.plan, before, False
        self.edit(text, after)

    def edit_column(self, name: str, text: str, merge: str = "", **changes: Any) -> None:
        """Change attributes of one column, as one step that can be undone."""
        self.edit(text, self.plan.with_column(name, **changes), merge)

    def set_epsilon(self, epsilon: Decimal) -> None:
        """Change the plan's ε; a drag is one step."""
        self.edit(
            tr("set ε to {epsilon}", epsilon=tr_number(epsilon.normalize(), "f")),
            self.plan.with_(epsilon=epsilon),
            "epsilon",
        )

    @property
    def target(self) -> str | None:
        return self.plan.target

    def set_target(self, name: str | None) -> None:
        self.edit(tr("predict {column}", column=name) if name else tr("predict nothing"), self.plan.with_target(name))

    def _show_plan(self, plan: DraftPlan) -> None:
        if plan != self.plan:
            before, self.plan = self.plan.questions, plan
            self.plan_changed.emit()
            if plan.questions != before:
                self.questions_changed.emit()

    def ask_for_help(self, topic: str) -> None:
        self.help_topic = topic
        self.go("help")
        self.help_asked.emit(topic)

    # -- what the engines said ------------------------------------------------------------------------------------

    def set_account(self, account: AccountView) -> None:
        """Take what a job has read from the ledger."""
        if account != self.account:
            self.account = account
            if account.name and not self.plan.account:  # what is charged to a named account must state its name
                self._show_plan(self.plan.with_(account=account.name))
            self.account_changed.emit()

    def set_paused(self, found: tuple[Any, ...]) -> None:
        """Set the interrupted trainings of the table that can go on, newest first."""
        if found != self.paused:
            self.paused = found
            self.paused_changed.emit()

    def show_cost_of_model(self, cost: tuple[Decimal, Decimal] | None) -> None:
        """Set what the model shown in Train costs; where the cap refuses it, the room Models needs you."""
        if cost != self.model_cost:
            self.model_cost = cost
            self.runs_changed.emit()

    def add_run(self, run: RunRecord) -> None:
        self.runs = (*self.runs, run)
        self.runs_changed.emit()

    def has_released(self, plan: DraftPlan, kind: str = "") -> bool:
        """Whether this plan was released in this session, as ``kind`` or as noisy rows, whatever they answer."""
        plans = [step.plan for step in self.released if not step.model and step.central == kind]
        return any((made if kind else made.with_(asked=plan.asked)) == plan for made in plans)

    def newest_release(self, kind: str) -> ReleasedStep | None:
        """Return the newest central release of a kind from the open table, also of an earlier session."""
        own = [step for step in self.released if step.central == kind]
        past = [step for step in self.account.past if step.central == kind and step.files and self.opened is not None]
        return next(reversed(own or past), None)

    def add_release(self, step: ReleasedStep) -> None:
        """Keep a release; what led to it can no longer be undone."""
        self.released = (*self.released, step)
        self.undo_stack.clear()
        self.released_changed.emit()

    # -- the person -----------------------------------------------------------------------------------------------

    def set_theme(self, theme: Theme) -> None:
        """Take the colours to draw in; the same ones for another size of text: a chart is drawn anew for that, too."""
        self.theme = theme
        self.theme_changed.emit()

    def notify(self, level: Level, text: str) -> None:
        """Say something to the person: the one way to do so."""
        self.notified.emit(level, text)

    def report(self, error: BaseException) -> None:
        """Report an error; any other than a :class:`WorkbenchError` is a bug in the program."""
        if isinstance(error, WorkbenchError):
            self.notify("error", sentence(error))
        else:
            self.notify(
                "error", tr("A bug in the program ({name}); its trace is in the log.", name=type(error).__name__)
            )

    def worded(self, error: BaseException) -> str:
        """Return an error as a sentence; nothing of a bug, which is reported instead."""
        if isinstance(error, WorkbenchError):
            return sentence(error)
        self.report(error)
        return ""

    def go(self, page: str) -> None:
        self.page_asked.emit(page)

    def explain(self, epsilon: Decimal, delta: Decimal = Decimal(0), about: str = "", *, local: bool = False) -> None:
        """Show what ``epsilon`` means, of whole rows or of the attribute ``about``; ``local``: of noisy rows alone."""
        self.explained = epsilon, delta
        self.explain_asked.emit(epsilon, delta, about, local)
