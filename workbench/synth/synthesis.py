"""A synthesis from start to end: run the paid queries, fit the model, draw rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from workbench.params import ParameterError
from workbench.params.remedies import give
from workbench.privacy.accounting.event import Cost
from workbench.privacy.entropy import Entropy
from workbench.privacy.local.cells import CellArray
from workbench.signals import Progress
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore
from workbench.synth.base import Answered, Questions, Setting, Synthesiser, Tables, barriers_of, events
from workbench.synth.cliques import CliqueMarginals, CliqueTree
from workbench.synth.columns import CoarseColumn, Codes, CountsTables
from workbench.synth.fit import ROUNDS, fitted
from workbench.synth.resources import require_bounded
from workbench.synth.row_sampler import sampled_rows
from workbench.work.ask import Ask
from workbench.work.work import cost_of

LEAST_SHARE = 1e-6  # least ε of a query: below, its noise is larger than any count


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Synthetic rows and the facts about them; public where noise and entropy were those of a release."""

    columns: tuple[CoarseColumn, ...]
    codes: Codes  # (rows, d) coarse cells
    answered: tuple[Answered, ...]  # what was measured, and for which ε
    releasable: bool  # whether noise and sampling were drawn from the operating system
    stated: str = ""  # how the target was drawn, for certificates, where a method has more than one way

    def cells(self, entropy: Entropy, start: int = 0, stop: int | None = None) -> list[CellArray]:
        """Return the cells of the public grid, of each column: drawn within the coarse ones, anew in each call."""
        codes = self.codes[start:stop]
        return [c.draw(codes[:, j], entropy) for j, c in enumerate(self.columns)]

    def frame(self, entropy: Entropy, start: int = 0, stop: int | None = None) -> pl.DataFrame:
        """Return the text of :meth:`cells`."""
        drawn = self.cells(entropy, start, stop)
        return pl.DataFrame([c.grid.decode(cells) for c, cells in zip(self.columns, drawn, strict=True)])


def require_payable(synthesiser: Synthesiser, setting: Setting) -> None:
    """Refuse an ε that is too small to be divided.

    Raises:
        ParameterError: the share of a query is below :data:`LEAST_SHARE`.
    """
    queries = synthesiser.queries(setting)
    least = min(query.paid.strength for query in queries)
    if least < LEAST_SHARE:
        raise ParameterError(
            f"epsilon = {setting.epsilon} gives each of {len(queries)} queries only {least:.2g}",
            hint="use a larger epsilon, or drop columns",
        )


def cost_of_synthesis(synthesiser: Synthesiser, setting: Setting) -> Cost:
    """Return what a synthesis costs one row."""
    return cost_of(events(synthesiser.queries(setting)), 1, setting.budget if setting.budget.gaussian else None)


def synthesised(
    synthesiser: Synthesiser,
    setting: Setting,
    rows: CountsTables,
    drawn: int,
    ask: Ask,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> SyntheticRows:
    """Return ``drawn`` synthetic rows, a public number; whoever releases them pays for the queries.

    ``ask`` answers the queries, and has the random bits of the row sampler.

    Raises:
        ParameterError: the model would be too large.
    """
    require_bounded(setting, synthesiser)
    questions = Questions(setting, synthesiser.queries(setting), rows, ask, cancel, emit)
    tables = synthesiser.ask(questions)
    if ask.private:
        ask.finish()
    # How many rounds the fit takes follows from the noisy answers, which are not charged for yet: a release does not
    # reveal it, for whoever saw it could cancel and pay nothing.
    emit(Progress(0, ROUNDS, "fitting the model"))
    notify = ignore if ask.releasable else emit
    model = fitted_model(setting, tables, cancel, lambda k: notify(Progress(k, ROUNDS, "fitting the model")))
    count = len(setting.columns)
    codes = sampled_rows(
        model, drawn, ask.coins, cancel, on_column=lambda k: emit(Progress(k, count, "drawing the columns"))
    )
    if tables.coarser is not None:
        from workbench.synth.positions import order_of, positions  # SciPy, .15 s: what has no such cells does not wait

        places = positions(codes, tables.coarser, model, order_of(count, tables.pairs, setting.target), ask.coins)
        codes = tables.coarser.drawn(codes, ask.coins, places)
    if tables.finish is not None:
        codes = tables.finish(codes, ask.coins)
    for columns, mask in setting.impossible:
        if mask[tuple(codes[:, place] for place in columns)].any():
            raise AssertionError("an impossible row was drawn")
    return SyntheticRows(setting.columns, codes, tuple(questions.answered), ask.releasable, tables.stated)


def fitted_model(
    setting: Setting,
    tables: Tables,
    cancel: CancelToken,
    on_round: Callable[[int], None] = lambda done: None,
    rounds: int = ROUNDS,
) -> CliqueMarginals:
    """Return the model that fits what was measured, in at most so many rounds."""
    fit, cells = tables.fit, setting if tables.coarser is None else tables.coarser
    if fit is not None:
        tree, begin = fit.marginals.tree, fit.potentials
    else:
        groups = [*(columns for columns, _ in cells.impossible), *(table.columns for table in tables.measured)]
        tree, begin = CliqueTree.of(cells.sizes, groups, setting.target or 0), []
    return fitted(
        tree,
        tables.measured,
        setting.rows,
        cancel,
        rounds=rounds,
        on_round=on_round,
        begin=begin,
        barriers=barriers_of(cells.impossible),
    ).marginals


def place_of_target(
    columns: Sequence[CoarseColumn], target: str | None, synthesiser: Synthesiser | None = None
) -> int | None:
    """Return the place of the target among the columns.

    Raises:
        ParameterError: it is not one of them, or the synthesiser needs one and there is none.
    """
    names = [column.name for column in columns]
    if target is None:
        if synthesiser is not None and synthesiser.needs_target:
            raise ParameterError(
                f"“{synthesiser.title}” needs a target column",
                hint=give(
                    "target",
                    'set --target or role = "target" in the plan, or choose mst',
                    python='set target= or role = "target" in the plan, or choose mst',
                ),
            )
        return None
    if target not in names:
        raise ParameterError(
            f"the target {target!r} is not one of the columns", hint=f"choose one of {', '.join(names)}"
        )
    return names.index(target)
