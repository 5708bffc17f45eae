"""Attacks on releases: a new one is a file and an entry in this list.

It then exists as ``workbench attack NAME``, in ``workbench.api.attack`` and in the window, with a form made from its
request.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.params.field import named
from workbench.risk.attacks.base import MODEL, RELEASE, Attack, Given

_RELEASE = Given(RELEASE, "the released table", "Release")
_STATISTICS = Given(RELEASE, "the released statistics or table", "Release")
_ORIGINAL = Given("original", "the original rows", "Original")
_OTHERS = Given("control", "rows of other people, who were not released", "Control")
_CONTROL = replace(_OTHERS, required=False)
_KNOWN = Given("known", "the people that the attacker knows", "Known people")
_TABLE = (_RELEASE, _ORIGINAL, _CONTROL)
_MODEL = (
    Given(MODEL, "the folder of a released model", "Model"),
    Given("members", "the training rows", "Members"),
    Given("nonmembers", "rows of other people, who were not used", "Not members"),
)

ATTACKS: tuple[Attack, ...] = (
    Attack("singling-out", "Singling out", "find conditions that exactly one person meets", _TABLE),
    Attack("linkability", "Linkability", "join two files about the same people through the release", _TABLE),
    Attack("inference", "Inference", "guess a secret column from what is known about a person", _TABLE),
    Attack("membership", "Membership", "find out who was used to train a model", _MODEL),
    Attack(
        "closest",
        "Distance to the closest record",
        "find out who is in a release by distance to the closest released row",
        (_RELEASE, _ORIGINAL, _OTHERS),
    ),
    Attack("inversion", "Model inversion", "infer one column of a person from a model and the other columns", _MODEL),
    Attack(
        "reconstruction",
        "Reconstruction",
        "recover everyone's secret bit from many counts",
        (_STATISTICS, _ORIGINAL, _CONTROL),
    ),
    Attack(
        "link", "Linking", "look up people in the release by what is known about them", (_RELEASE, _KNOWN, _CONTROL)
    ),
    Attack("traces", "Location traces", "single people out by a few points of a generated sample of traces"),
)


def attack(name: str) -> Attack:
    """Return the attack called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(ATTACKS, name, "attack")


__all__ = ["ATTACKS", "MODEL", "RELEASE", "Attack", "Given", "attack"]
