"""Synthetic tables: rows drawn from a private model of a table; a new way is its file and a line in this list."""

from __future__ import annotations

from workbench.params import ParameterError
from workbench.params.field import did_you_mean
from workbench.synth.aim import AIM
from workbench.synth.base import Synthesiser
from workbench.synth.marginals import MARGINALS
from workbench.synth.mst import MST

SYNTHESISERS: tuple[Synthesiser, ...] = (MARGINALS, MST, AIM)


def synthesiser(name: str) -> Synthesiser:
    """Return the synthesiser called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    known = [entry.name for entry in SYNTHESISERS]
    for entry in SYNTHESISERS:
        if entry.name == name:
            return entry
    hint = f"choose one of {', '.join(known)}"
    raise ParameterError(f"the method {name!r} is not known{did_you_mean(name, known)}", hint=hint)


__all__ = ["AIM", "MARGINALS", "MST", "SYNTHESISERS", "Synthesiser", "synthesiser"]
