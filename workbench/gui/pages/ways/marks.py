"""What is known of every way at the ε that are shown: coarse at once, then fine, kept while the table is open."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from workbench.gui.pages.release_tasks import asked_plan
from workbench.gui.pages.run_page import GUESSED, unconfirmed
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr, tr_later, tr_sentence, typed
from workbench.gui.widgets.figures_first import follow_note
from workbench.jobs import Job
from workbench.params import ParameterError, WorkbenchError
from workbench.sanitize.wishes import Wish
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:  # these load numpy, which the first paint does not wait for
    from workbench.studies.solve import Solution
    from workbench.studies.ways import Ways
    from workbench.studies.ways_asked import Question
    from workbench.studies.ways_draw import DrawnWays

FORESEE, DRAW, LEAST, SOLVE = "ways", "ways-draw", "ways-least", "ways-solve"
BESIDE = (Decimal("0.5"), Decimal(1), Decimal(3))
"""ε at which the marks are counted beside the chosen one."""

MOST_KEPT = 128
SEEN = tr_later("Private figures of these rows were shown before: the certificate will say so.")

_Key = tuple[DraftPlan, int]


class Marks(QObject):
    """The ways at the chosen ε and at those beside it, for the plan and the questions of the session.

    Signals:
        changed: more is known at the chosen ε, all is known, or nothing of what was.
        beside: more is known at another ε.
    """

    changed = Signal()
    beside = Signal()

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self._kept: dict[_Key, tuple[Ways | None, bool]] = {}
        self._keys: dict[Decimal, _Key] = {}
        self._keys_of: tuple[DraftPlan, OpenTable | None] = session.plan, session.opened
        self._queue: list[tuple[Decimal, bool]] = []
        self._running: JobHandle | None = None
        self.problem: WorkbenchError | None = None
        session.table_changed.connect(self._kept.clear)

    @property
    def ways(self) -> Ways | None:
        """The ways at the chosen ε; ``None`` while they are not known."""
        return self.at(self._session.plan.epsilon)

    def at(self, epsilon: Decimal) -> Ways | None:
        """Return the ways at an ε; ``None`` while they are not known, or where the plan has no such ε."""
        return self._kept.get(self._key(epsilon), (None, False))[0]

    @property
    def working(self) -> bool:
        """Whether more is going to be known."""
        return bool(self._queue)

    def follow(self) -> None:
        """Find out what is not known of the present plan, questions and number of rows: the chosen ε first."""
        session = self._session
        if self._running is not None and self._running.running and not self._running.stopping and self._is_followed():
            return  # an edit may be announced twice
        self.problem = None
        if session.opened is None or not session.plan.ready or not session.plan.protected:
            self._queue = []
            self.changed.emit()
            return
        chosen, others = session.plan.epsilon, [e for e in BESIDE if e != session.plan.epsilon]
        wanted = [(chosen, False), *((e, False) for e in others), (chosen, True), *((e, True) for e in others)]
        self._queue = [(e, fine) for e, fine in wanted if not self._is_known(e, fine=fine)]
        self.changed.emit()
        self._next()

    def _key(self, epsilon: Decimal) -> _Key:
        session = self._session
        if not self._is_followed():
            self._keys, self._keys_of = {}, (session.plan, session.opened)
        found = self._keys.get(epsilon)
        if found is None:
            draft = session.plan.with_(epsilon=epsilon, asked=session.questions.asked)
            found = draft, 0 if session.opened is None else session.opened.rows_under(draft)
            self._keys[epsilon] = found
        return found

    def _is_followed(self) -> bool:
        return self._keys_of[0] is self._session.plan and self._keys_of[1] is self._session.opened

    def _is_known(self, epsilon: Decimal, *, fine: bool) -> bool:
        found = self._kept.get(self._key(epsilon))
        return found is not None and (found[1] or not fine)

    def _next(self) -> None:
        while self._queue and self._is_known(self._queue[0][0], fine=self._queue[0][1]):
            self._queue.pop(0)
        if not self._queue:
            self.changed.emit()
            return
        epsilon, fine = self._queue[0]
        key = draft, rows = self._key(epsilon)

        def work(emit: Emit, cancel: CancelToken) -> Ways | None:
            return _compared(draft, rows, cancel, fine=fine)

        def apply(found: Ways | None) -> None:
            while len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found, fine
            if key == self._key(epsilon):
                (self.changed if epsilon == self._session.plan.epsilon else self.beside).emit()
                self._next()

        def failed(error: BaseException) -> None:
            if not isinstance(error, WorkbenchError):
                self._session.report(error)
            elif key == self._key(self._session.plan.epsilon):
                self.problem = error
            self._kept[key] = None, True
            self._next()

        job = Job(tr("Comparing the ways to release"), work)
        self._running = self._jobs.start(job, key=FORESEE, shown=False, on_result=apply, on_failure=failed)


def _compared(draft: DraftPlan, rows: int, cancel: CancelToken, *, fine: bool) -> Ways | None:
    """Return the ways; ``None`` where the plan cannot have that ε, as fixed shares are more. No row is read."""
    from workbench.sanitize.forecast import forecast
    from workbench.studies.ways import compare_ways

    if draft.problems():
        return None
    plan = draft.plan()
    found = forecast(plan, coarse=True)
    return compare_ways(plan, rows, found, cancel, drawn=plan.unrounded(), coarse=not fine, train=fine)


def questions_of(session: Session) -> tuple[Question, ...]:
    """Return what will be asked, from the plan alone; none while there is no plan."""
    if session.opened is None or not session.plan.ready:
        return ()
    from workbench.studies.ways_asked import asked_of

    return asked_of(asked_plan(session.plan, session.plan.plan()))


def look_for_epsilon(
    session: Session, jobs: JobCenter, question: Question, way: str, done: Callable[[Decimal | None], None]
) -> JobHandle:
    """Find the least ε at which ``way`` answers ``question`` well enough; no row is read."""
    opened, draft = session.opened, session.plan
    assert opened is not None
    plan, rows = asked_plan(draft, draft.plan()), opened.rows_under(draft)

    def work(emit: Emit, cancel: CancelToken) -> Decimal | None:
        from workbench.studies.solve import least_epsilon

        return least_epsilon(plan, rows, question, way, cancel)

    def apply(found: Decimal | None) -> None:
        if session.opened is opened and session.plan.with_(epsilon=draft.epsilon) == draft:
            done(found)

    job = Job(tr("Looking for the least ε for {question}", question=tr_sentence(question.words)), work)
    return jobs.start(job, key=LEAST, shown=False, on_result=apply)


def solve_wishes(
    session: Session, jobs: JobCenter, way: str, done: Callable[[Solution | None], None]
) -> JobHandle | None:
    """Find the least ε, and its split, of a release by ``way`` of nothing but what was typed; no row is read."""
    opened, draft = session.opened, session.plan
    if opened is None or not draft.ready or draft.problems() or not session.questions.asked.wishes:
        return None
    plan, rows = asked_plan(draft, draft.plan()), opened.rows_under(draft)

    def work(emit: Emit, cancel: CancelToken) -> Solution | None:
        from workbench.studies.solve import solve
        from workbench.studies.ways_asked import answered_by

        try:
            return solve(plan, rows, answered_by(plan).wishes_of([c.name for c in plan.protected]), way, cancel=cancel)
        except ParameterError:
            return None  # a wish is of a column that has another kind now, or the way cannot be gone with this plan

    def apply(found: Solution | None) -> None:
        if session.opened is opened and session.plan.with_(epsilon=draft.epsilon) == draft:
            done(found)

    return jobs.start(Job(tr("Looking for the least ε of all wishes"), work), key=SOLVE, shown=False, on_result=apply)


def draw_privately(session: Session, jobs: JobCenter, number: int) -> JobHandle:
    """Draw by each way from the rows at the plan's ε, beside the truth: a private study; nothing is released."""
    opened, draft = session.opened, session.plan
    assert opened is not None
    plan = asked_plan(draft, draft.plan())

    def work(emit: Emit, cancel: CancelToken) -> DrawnWays:
        from workbench.release.ledger.study_note import note_study
        from workbench.studies.ways_draw import draw_ways

        note_study(opened.table, "ways", emit=emit)
        return draw_ways(plan, opened.table, number, emit, cancel)

    return follow_note(session, jobs, jobs.start(Job(tr("Drawing by each way, beside the truth"), work), key=DRAW))


def outside_of(session: Session) -> tuple[str, ...]:
    """Return a sentence for everything that is not covered, is a guess, or was shown before."""
    if session.opened is None or not session.plan.ready:
        return ()
    from workbench.sanitize.forecast import outside_guarantee

    found = list(map(tr_sentence, outside_guarantee(session.plan.plan())))
    if session.opened.table.doubts:
        found.append(tr(GUESSED).removeprefix("⚠ "))
    guessed = unconfirmed(session)
    return (*found, *filter(None, (guessed, tr(SEEN) if session.account.seen else "")))


def with_another(session: Session, text: str) -> DraftPlan:
    """Return the plan with one more wish, of columns that are released.

    Raises:
        ParameterError: it is no wish, or of a column that is not released.
    """
    plan = session.plan
    wish, asked = Wish.parse(text).checked({c.name: c.kind for c in plan.protected}), plan.questions.asked
    others = [one for one in asked.wishes if Wish.parse(one).figure != wish.figure]
    return plan.with_(asked=dataclasses.replace(asked, wishes=(*others, wish.text)))


def with_wish(plan: DraftPlan, question: Question, margin: str) -> DraftPlan:
    """Return the plan with another margin wished for a question, or with none where ``margin`` is empty.

    Raises:
        ParameterError: the margin is not a number, or asks for nothing.
    """
    wish, asked = question.wish, plan.questions.asked
    assert wish is not None
    others = [text for text in asked.wishes if Wish.parse(text).figure != wish.figure]
    stated = margin.strip().removeprefix("±").strip()
    if stated:
        points = question.asked == "share" or stated.endswith("%")
        text = f"{wish.figure} ± {typed(stated.removesuffix('%'))}{' %' if points else ''}"
        try:
            others.append(Wish.parse(text).text)
        except ParameterError as error:
            raise ParameterError(
                tr("{text} is not a margin", text=repr(margin.strip())), hint=tr("write it as ± 2")
            ) from error
    return plan.with_(asked=dataclasses.replace(asked, wishes=tuple(others)))
