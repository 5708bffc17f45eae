"""Synthetic tables: rows drawn from a private model of a table; a new method is a file and a line in this list."""

from __future__ import annotations

from workbench.params.field import named
from workbench.synth.aim import AIM
from workbench.synth.base import Synthesiser
from workbench.synth.chances import CHANCES
from workbench.synth.line import LINE
from workbench.synth.marginals import MARGINALS
from workbench.synth.mst import MST
from workbench.synth.tan import TAN

SYNTHESISERS: tuple[Synthesiser, ...] = (MARGINALS, MST, AIM, TAN, LINE, CHANCES)

AUTO = "auto"  # the name, where nobody gives one, by which a forecast chooses (`workbench.synth.setting.method_for`)


def synthesiser(name: str) -> Synthesiser:
    """Return the synthesiser called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(SYNTHESISERS, name, "method")


__all__ = ["AIM", "AUTO", "CHANCES", "LINE", "MARGINALS", "MST", "SYNTHESISERS", "TAN", "Synthesiser", "synthesiser"]
