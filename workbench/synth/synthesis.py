"""A synthesis from rows to rows: ask the paid queries, fit the tree, draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from workbench.params import ParameterError
from workbench.privacy.central import CentralNoise
from workbench.privacy.entropy import Entropy
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore
from workbench.synth.base import Answered, Questions, Setting, Synthesiser
from workbench.synth.columns import CoarseColumn, CodedRows, Codes
from workbench.synth.row_sampler import sampled_rows
from workbench.synth.tree import Tree
from workbench.synth.tree_fit import ROUNDS, fitted

MOST_CELLS = 1 << 22
"""Most cells of all tables of a model: some 300 MB while it is fitted."""

LEAST_SHARE = 1e-6
"""Least ε of a query: below, its noise is larger than any count."""


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Synthetic rows and what is told about them; public if their noise and entropy were.

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

    def frame(self, entropy: Entropy) -> pl.DataFrame:
        """Return the rows as text: each value drawn uniformly from the public values within its coarse cell."""
        drawn = [column.grid.decode(column.draw(self.codes[:, j], entropy)) for j, column in enumerate(self.columns)]
        return pl.DataFrame(drawn)


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
            mend="give a larger one, or drop columns",
        )


def require_bounded(setting: Setting) -> None:
    """Refuse a model that would not fit into memory, from public sizes alone.

    Raises:
        ParameterError: the tables of some tree have more cells than :data:`MOST_CELLS`.
    """
    sizes = sorted(setting.sizes, reverse=True)
    cells = sizes[0] * sum(sizes[1:])
    if cells > MOST_CELLS:
        column = max(setting.columns, key=lambda c: c.size)
        raise ParameterError(
            f"the tables of pairs could have {cells} cells, above {MOST_CELLS}",
            f"column {column.name} alone has {column.size}",
            "drop columns with many values, or declare fewer values",
        )


def synthesised(
    synthesiser: Synthesiser,
    setting: Setting,
    rows: CodedRows,
    drawn: int,
    noise: CentralNoise,
    entropy: Entropy,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> SyntheticRows:
    """Return ``drawn`` synthetic rows; whoever releases them pays for the queries.

    Args:
        synthesiser: the way.
        setting: the public facts.
        rows: the private rows.
        drawn: how many rows to draw, a public number.
        noise: of the queries.
        entropy: of the row sampler.
        emit: receives progress.
        cancel: checked between tables, rounds and columns.

    Raises:
        CancelledError: ``cancel`` was set.
        ParameterError: the model would be too large.
    """
    require_bounded(setting)
    cancel = cancel or CancelToken()
    questions = Questions(setting, synthesiser.queries(setting), rows, noise, cancel, emit)
    tables = synthesiser.ask(questions)
    if not questions.finished():
        raise AssertionError("a query that was paid for was not asked")
    root = setting.target if setting.target is not None else 0
    tree = Tree.of(setting.sizes, tables.pairs, root)
    # How many rounds the fit takes follows from the noisy answers, which are not charged for yet: a release does not
    # tell it, for whoever saw it could cancel and pay nothing.
    emit(Progress(0, ROUNDS, "fitting the model"))
    tell = ignore if noise.releasable else emit
    model = fitted(
        tree, tables.measured, setting.rows, cancel, on_round=lambda k: tell(Progress(k, ROUNDS, "fitting the model"))
    )
    count = len(setting.columns)
    codes = sampled_rows(
        model, drawn, entropy, cancel, on_column=lambda k: emit(Progress(k, count, "drawing the columns"))
    )
    return SyntheticRows(setting.columns, codes, tuple(questions.answered), noise.releasable and entropy.releasable)


def place_of_target(columns: Sequence[CoarseColumn], target: str | None, synthesiser: Synthesiser) -> int | None:
    """Return the place of the target among the columns.

    Raises:
        ParameterError: it is not one of them, or the synthesiser needs one and there is none.
    """
    names = [column.name for column in columns]
    if target is None:
        if synthesiser.needs_target:
            raise ParameterError(
                f"{synthesiser.name} measures every column with the target, and none is named",
                mend='name it by --target, or by role = "target" in the plan, or choose mst',
            )
        return None
    if target not in names:
        raise ParameterError(
            f"the target {target!r} is not one of the columns", mend=f"choose one of {', '.join(names)}"
        )
    return names.index(target)
