"""The black-box auditor on the statistics of complete columns, where a row is replaced by another valid one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from workbench.data.table import Table
from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.privacy.central.laplace import StudyNoise
from workbench.sanitize.plan import Plan
from workbench.statistics.asked import Request, Statistic
from workbench.statistics.queries import queries_of

SAMPLES = 24_000
EPSILON = 0.5
PLAN = Plan.from_plain(
    {
        "epsilon": EPSILON,
        "column": [
            {"name": "x", "kind": "integer", "lower": 0, "upper": 9},
            {"name": "g", "kind": "category", "domain": ["a", "b"]},
        ],
    }
)
ASKED = Request(
    figures=(
        Statistic(statistic="mean", column="x"),
        Statistic(statistic="quantiles", column="x", at=(0.5,)),
        Statistic(statistic="sum", column="x", by=("g",)),
    )
)
HOSTILE = {
    "from one bound to the other, into another group": (("0", "a"), ("9", "b")),
    "from beyond one bound to beyond the other": (("-1000", "a"), ("1000", "a")),
    "the only row of its group leaves it": (("9", "b"), ("9", "a")),
}


def answers(row: tuple[str, str], noise: StudyNoise, stolen: float) -> np.ndarray:
    """All noisy numbers of many releases of two rows, (samples, numbers); ``stolen`` times the ε that is paid."""
    rows = [row, ("4", "a")]
    table = Table(pl.DataFrame({"x": [r[0] for r in rows], "g": [r[1] for r in rows]}), "two.csv")
    columns = []
    for query in queries_of(ASKED.checked(PLAN), PLAN, EPSILON, len(rows)):
        exact = query.answer(PLAN.rows_of(table))
        drawn = np.array(noise.integers(exact * SAMPLES, query.size, stolen * query.paid.strength), dtype=np.float64)
        columns.append(drawn.reshape(SAMPLES, -1) / query.size)
    return np.hstack(columns)


def audited(which: str, stolen: float = 1.0) -> LowerBound:
    one, other = (
        answers(row, StudyNoise(np.random.default_rng([3, side])), stolen) for side, row in enumerate(HOSTILE[which])
    )
    return epsilon_lower(one, other)


def test_a_centred_sum_and_a_fine_histogram_are_among_the_questions() -> None:
    forms = {query.form for query in queries_of(ASKED.checked(PLAN), PLAN, EPSILON, 2)}
    assert forms == {"centred", "histogram", "pair"}


def test_replacing_a_row_proves_no_more_than_twice_epsilon_and_noise_of_half_the_scale_is_caught() -> None:
    which = next(iter(HOSTILE))
    sound = audited(which)
    assert sound.epsilon > 0.1  # it is not blind
    assert not sound.refutes(2 * EPSILON)
    assert audited(which, stolen=2.0).refutes(2 * EPSILON)


@pytest.mark.slow
@pytest.mark.parametrize("which", list(HOSTILE)[1:])
def test_other_hostile_rows_prove_no_more_than_twice_epsilon(which: str) -> None:
    assert not audited(which).refutes(2 * EPSILON)
