"""How well each way to release answers the questions, at the chosen ε and at 0.5, 1 and 3; all pages share it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import WorkbenchError

if TYPE_CHECKING:
    from workbench.studies.kind_advice import KindResult
    from workbench.studies.kind_comparison import KindComparison

FORESEE = "ways"
BESIDE = (Decimal("0.5"), Decimal(1), Decimal(3))  # ε at which the marks are counted beside the chosen one
MOST_KEPT = 128

_Key = tuple[DraftPlan, int]


class Marks(QObject):
    """The ways at the chosen ε and at those beside it, for the plan and the questions of the session."""

    changed = Signal()  # more is known at the chosen ε, all is known, or nothing of what was
    beside = Signal()  # more is known at another ε

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        """Make those of a session; :meth:`of` returns the ones that its pages share."""
        super().__init__(session)
        self._session, self._jobs = session, jobs
        self._kept: dict[_Key, tuple[KindComparison | None, bool]] = {}
        self._keys: dict[Decimal, _Key] = {}
        self._keys_of: tuple[DraftPlan, OpenTable | None] = session.plan, session.opened
        self._queue: list[tuple[Decimal, bool]] = []
        self._running: JobHandle | None = None
        self.problem: WorkbenchError | None = None
        session.table_changed.connect(self._kept.clear)

    @classmethod
    def of(cls, session: Session, jobs: JobCenter) -> Marks:
        return session.findChild(cls) or cls(session, jobs)

    @property
    def ways(self) -> KindComparison | None:
        return self.at(self._session.plan.epsilon)

    @property
    def own(self) -> KindResult | None:
        """The chosen way at the chosen ε; ``None`` while nothing is known of it."""
        return way_in(self.ways, self._session.way)

    def at(self, epsilon: Decimal) -> KindComparison | None:
        return self._kept.get(self._key(epsilon), (None, False))[0]

    @property
    def working(self) -> bool:
        """Whether more is going to be known."""
        return bool(self._queue)

    def follow(self, *, roughly: bool = False) -> None:
        """Find out what is not known of the present plan, questions and number of rows: the chosen ε first.

        ``roughly`` leaves it at a first look at the chosen ε.
        """
        session = self._session
        job = self._running
        running = job is not None and job.running and not job.stopping and self._is_followed()
        if running and roughly:
            return  # an edit may be announced twice
        self.problem = None
        if session.opened is None or not session.plan.ready or not session.plan.protected:
            self._queue = []
            self.changed.emit()
            return
        chosen, others = session.plan.epsilon, [e for e in BESIDE if e != session.plan.epsilon]
        wanted = [(chosen, False)]
        if not roughly:
            wanted += [*((e, False) for e in others), (chosen, True), *((e, True) for e in others)]
        self._queue = [(e, fine) for e, fine in wanted if not self._is_known(e, fine=fine)]
        if not running:
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

        def work(emit: Emit, cancel: CancelToken) -> KindComparison | None:
            return _compared(draft, rows, cancel, fine=fine)

        def apply(found: KindComparison | None) -> None:
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
        self._running = self._jobs.start(job, key=FORESEE, stoppable=False, on_result=apply, on_failure=failed)


def _compared(draft: DraftPlan, rows: int, cancel: CancelToken, *, fine: bool) -> KindComparison | None:
    """Return the ways; ``None`` where the plan cannot have that ε, as fixed shares are more. No row is read."""
    from workbench.sanitize.forecast import forecast
    from workbench.studies.kind_comparison import compare_kinds

    if draft.problems():
        return None
    plan = draft.plan()
    found = forecast(plan, coarse=True)
    return compare_kinds(plan, rows, found, cancel, drawn=plan.unrounded(), coarse=not fine, train=fine)


def way_in(found: KindComparison | None, name: str) -> KindResult | None:
    """Return the way that is called so; ``None`` where nothing is known of it."""
    return None if found is None else next((way for way in found.ways if way.name == name), None)


def is_poor(way: KindResult | None) -> bool:
    """Return whether a way is mostly noise, cannot be made, or answers nothing; what is not known is an answer."""
    return way is not None and bool(way.warning or way.problem or (way.known and not way.useful))
