"""What keeps a draft from being a plan, as a person reads it."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.gui.style.language import again, tr, tr_later
from workbench.params import ParameterError


@dataclass(frozen=True)
class Problem:
    """One thing that keeps a draft from being a plan.

    Attributes:
        column: the column; empty for the plan as a whole.
        field: the attribute of :class:`DraftColumn` or :class:`DraftPlan` it is about; empty for the whole.
        said: the sentence for the person, in whatever language it was said.
        open: whether a public fact is merely not declared yet, rather than wrong.
        code: the code of the error that it is for whoever needs a plan.
    """

    column: str
    field: str
    said: str
    open: bool = False
    code: str = ""

    @property
    def text(self) -> str:
        """The sentence in the language that is shown now."""
        return again(self.said)

    def error(self) -> ParameterError:
        """Return the error for whoever needs a plan."""
        where = tr("column {name}", name=self.column) if self.column else tr("plan")
        return ParameterError(self.text, where, code=self.code, field=self.field)


NOT_DECLARED = {
    "lower": tr_later("the lower bound is not declared yet"),
    "upper": tr_later("the upper bound is not declared yet"),
    "domain": tr_later("the list of values is not declared yet"),
    "missing": tr_later("what happens if a value is missing is not declared yet"),
    "date_order": tr_later("whether its dates have the day or the month first is not declared yet"),
}
