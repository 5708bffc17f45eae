"""A synthesis from rows to rows: ask the paid queries, fit the tree, draw."""

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
from workbench.synth.clique_fit import fitted_cliques, in_order
from workbench.synth.cliques import CliqueMarginals, CliqueTree
from workbench.synth.columns import CoarseColumn, Codes, CountsTables
from workbench.synth.needs import require_bounded
from workbench.synth.row_sampler import Drawable, sampled_rows
from workbench.synth.tree import Tree
from workbench.synth.tree_fit import ROUNDS, fitted
from workbench.work.ask import Ask
from workbench.work.work import cost_of

LEAST_SHARE = 1e-6
"""Least ε of a query: below, its noise is larger than any count."""


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Synthetic rows and the facts about them; public where noise and entropy were those of a release.

    Attributes:
        columns: the columns, in order.
        codes: (rows, d) coarse cells.
        answered: what was measured, and for which ε.
        releasable: whether noise and sampling were drawn from the operating system.
    """

    columns: tuple[CoarseColumn, ...]
    codes: Codes
    answered: tuple[Answered, ...]
    releasable: bool

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
            f"epsilon = {setting.epsilon} leaves {least:.2g} for each of {len(queries)} queries",
            hint="give a larger one, or drop columns",
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
    """Return ``drawn`` synthetic rows; whoever releases them pays for the queries.

    Args:
        synthesiser: the way.
        setting: the public facts.
        rows: the private rows.
        drawn: how many rows to draw, a public number.
        ask: answers the queries, and has the random bits of the row sampler.
        emit: receives progress.
        cancel: checked between tables, rounds and columns.

    Raises:
        CancelledError: ``cancel`` was set.
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
    if tables.coarser is not None and isinstance(model, CliqueMarginals):
        from workbench.synth.positions import order_of, positions  # SciPy, .15 s: what has no such cells does not wait

        places = positions(codes, tables.coarser, model, order_of(count, tables.pairs, setting.target), ask.coins)
        codes = tables.coarser.drawn(codes, ask.coins, places)
    if tables.finish is not None:
        codes = tables.finish(codes, ask.coins)
    for columns, mask in setting.impossible:
        if mask[tuple(codes[:, place] for place in columns)].any():
            raise AssertionError("a row was drawn that cannot occur")
    return SyntheticRows(setting.columns, codes, tuple(questions.answered), ask.releasable)


def fitted_model(
    setting: Setting,
    tables: Tables,
    cancel: CancelToken,
    on_round: Callable[[int], None] = lambda done: None,
    rounds: int | None = None,
) -> Drawable:
    """Return the fitted model: a tree, or cliques if the measured pairs form a cycle or some rows are impossible.

    Args:
        setting: the public facts.
        tables: what was measured.
        cancel: checked in every round.
        on_round: is called with the number of finished rounds.
        rounds: most rounds of the fit, by default :data:`ROUNDS`.
    """
    fit, measured, coarser = tables.fit, tables.measured, tables.coarser
    if fit is None and coarser is None and not setting.impossible:
        root = setting.target if setting.target is not None else 0
        tree = Tree.of(setting.sizes, tables.pairs, root)
        if rounds is not None:
            return fitted(tree, measured, setting.rows, cancel, rounds, on_round)
        return fitted(tree, measured, setting.rows, cancel, on_round=on_round)
    measured = tuple(in_order(table) for table in measured)
    cells = setting if coarser is None else coarser
    sizes, impossible = cells.sizes, cells.impossible
    groups = [*(columns for columns, _ in impossible), *(t.columns for t in measured if len(t.columns) > 1)]
    tree_of = CliqueTree.of(sizes, groups) if fit is None else fit.marginals.tree
    begin = [] if fit is None else fit.potentials
    rounds = ROUNDS if rounds is None else rounds
    barriers = barriers_of(impossible)
    return fitted_cliques(tree_of, measured, setting.rows, begin, barriers, cancel, rounds, on_round).marginals


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
                f"“{synthesiser.title}” measures every column with the target, and none is named",
                hint=give("target", 'name it by --target, or by role = "target" in the plan, or choose mst'),
            )
        return None
    if target not in names:
        raise ParameterError(
            f"the target {target!r} is not one of the columns", hint=f"choose one of {', '.join(names)}"
        )
    return names.index(target)
