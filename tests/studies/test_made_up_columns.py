"""Made-up rows of a preview follow from the plan alone."""

from __future__ import annotations

from workbench.sanitize.plan import Column, Plan
from workbench.studies.why.rows import made_up_columns


def test_made_up_rows_follow_from_the_plan_alone() -> None:
    one = Column(name="age", kind="integer", lower=0, upper=90)
    kept = Column(name="town", kind="category", action="keep", domain=("Graz", "Linz"))
    rows, plan = made_up_columns(Plan(epsilon=1, columns=(one, kept)), 10**6)
    assert (rows.names, plan.columns) == (("age",), (one,))
    assert rows.rows == 20_000
    assert rows.frame.equals(made_up_columns(Plan(epsilon=1, columns=(one, kept)), 10**6)[0].frame)
