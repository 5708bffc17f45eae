"""The public facts of a synthesis, chosen in one place: a forecast and a study then have the release's own cuts."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from workbench.data.impossible import statements
from workbench.data.schema import Attribute
from workbench.privacy.central.share import Budget
from workbench.synth.base import Setting
from workbench.synth.columns import coarse_columns, public_cuts
from workbench.synth.impossible import cut_for, masks, require_some_row

_NO_DELTA = Decimal(0)


def setting_for(
    facts: Sequence[Attribute],
    target: int | None,
    rows: int,
    epsilon: Decimal,
    cuts: int | None = None,
    delta: Decimal = _NO_DELTA,
    impossible: str | None = None,
) -> Setting:
    """Return the setting of a synthesis.

    Args:
        facts: public facts about the columns.
        target: place of the column that others are to be told about, or ``None``.
        rows: n of the original table, public.
        epsilon: ε of one row's whole record.
        cuts: of a column of numbers; by default :func:`public_cuts`.
        delta: δ of one row's whole record; 0 for pure differential privacy.
        impossible: what cannot occur (:mod:`workbench.synth.impossible`).

    Raises:
        ParameterError: there is no column, or a fact is not declared.
    """
    if cuts is None:
        beside = 2 if target is None else coarse_columns([facts[target]])[0].size
        each = Budget(epsilon, delta).share(1 / max(len(facts) - 1, 1)).strength
        cuts = public_cuts(rows, each, beside)
    columns = coarse_columns(facts, cuts)
    if impossible is None:
        return Setting(columns, target, rows, epsilon, delta)
    declared = statements(impossible)
    columns = cut_for(columns, declared)
    found = masks(columns, declared)
    require_some_row(columns, found)
    return Setting(columns, target, rows, epsilon, delta, found, cuts)
