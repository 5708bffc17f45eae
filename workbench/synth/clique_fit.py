"""The distribution on a tree of cliques that fits noisy tables best: the same loss and descent as on a tree.

What is minimised, and why, is said in :mod:`workbench.synth.tree_fit`. A measured table is one or two columns of a
clique: its marginal is summed out of the clique's. The potentials that are fitted are one array for each measured
table, so that they can be taken along into a tree of other cliques.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.signals.cancel import CancelToken
from workbench.synth.cliques import CliqueMarginals, CliqueTree, Columns, spread
from workbench.synth.tree import Doubles
from workbench.synth.tree_fit import ROUNDS, Measured, Term, descended


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model.

    Attributes:
        marginals: of the cliques.
        potentials: θ of each measured table, from which a larger model may begin.
    """

    marginals: CliqueMarginals
    potentials: list[Doubles]


def in_order(measured: Measured) -> Measured:
    """Return a measured table with its columns in the order of the table."""
    return measured if measured.columns == tuple(sorted(measured.columns)) else measured.turned()


def fitted_cliques(
    tree: CliqueTree,
    measured: Sequence[Measured],
    rows: int,
    begin: Sequence[Doubles],
    barriers: Sequence[tuple[Columns, Doubles]],
    cancel: CancelToken,
    rounds: int = ROUNDS,
    on_round: Callable[[int], None] = lambda done: None,
) -> Fit:
    """Return the distribution on ``tree`` that fits the measured tables best.

    Args:
        tree: the tree; each measured table's columns are in a clique.
        measured: the noisy tables, their columns in the order of the table.
        rows: public n, to which every table sums.
        begin: the first potentials of the first tables; a table without begins where it is fitted alone.
        barriers: columns and fixed potentials of their cells, for what cannot occur.
        cancel: checked in every round.
        rounds: most rounds of the descent.
        on_round: is called with the number of finished rounds.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    homes = [tree.home(table.columns) for table in measured]
    fixed = tree.flat()
    for columns, barrier in barriers:
        home = tree.home(columns)
        fixed[home] = fixed[home] + spread(barrier, columns, tree.cliques[home])
    terms = [
        Term(table, home, [tree.sizes[i] for i in table.columns], rows)
        for table, home in zip(measured, homes, strict=True)
    ]

    def marginals_of(potentials: list[Doubles]) -> CliqueMarginals:
        cancel.check()
        whole = [theta.copy() for theta in fixed]
        for table, home, theta in zip(measured, homes, potentials, strict=False):
            whole[home] += spread(theta, table.columns, tree.cliques[home])
        return tree.marginals(whole)

    def looked(marginals: CliqueMarginals) -> tuple[float, list[Doubles]]:
        parts = [term.loss(marginals.of(t.columns, term.place)) for t, term in zip(measured, terms, strict=True)]
        return sum(value for value, _ in parts), [slope for _, slope in parts]

    potentials = [*begin]
    for table, term in zip(measured[len(begin) :], terms[len(begin) :], strict=True):
        now = marginals_of(potentials)
        potentials.append(term.towards(now.of(table.columns, term.place)))
    best, potentials = descended(marginals_of, looked, potentials, terms, rows, cancel, rounds, on_round)
    return Fit(best, potentials)
