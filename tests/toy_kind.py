"""A toy kind of release for tests: how many rows have a value in a column, and its one line in the list."""

from dataclasses import dataclass
from decimal import Decimal

from workbench.data.table import Table
from workbench.params import Parameters, integer, text
from workbench.privacy.central.share import Budget
from workbench.release.kinds import Kind
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.work.ask import Ask
from workbench.work.work import Work, WorkOutput


@dataclass(frozen=True, kw_only=True)
class Counting(Parameters):
    column: str = text(help="the column whose values are counted")
    least: int = integer(default=0, at_least=0, upto=1000, help="a smaller count is given as this number")


def counting(plan: Plan, asked: Counting, epsilon: Decimal, delta: Decimal, rows: int, file_format: str) -> Work:
    plan.column(asked.column)
    budget = Budget(epsilon, delta)

    def counted(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> list[int]:
        return ask("rows", [table.rows - table.column(asked.column).null_count()], 1)

    def files(answers: list[int], cancel: CancelToken) -> WorkOutput:
        return WorkOutput(f"rows\n{max(asked.least, answers[0])}\n".encode(), {"answer": answers[0]})

    return Work(
        kind="counting",
        columns=(asked.column,),
        events=(budget.share().event("rows"),),
        request=asked.to_plain(),
        room=100,
        ask=counted,
        files=files,
        budget=budget if delta else None,
        answers=lambda method: [method["answer"]],
    )


TOY = Kind(
    "counting",
    "counts",
    "",
    "one noisy count",
    request=f"{__name__}:Counting",
    work=f"{__name__}:counting",
    help="release how many rows have a value in a column",
    example="--column age",
)
