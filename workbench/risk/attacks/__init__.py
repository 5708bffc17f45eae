"""Attacks on what was released: a new one is its file and an entry in this list.

It then exists as ``workbench attack NAME``, in ``workbench.api.attack`` and in the window, with a form made from its
request.
"""

from __future__ import annotations

from workbench.params.field import named
from workbench.risk.attacks.base import MODEL, RELEASE, Attack, Given

_RELEASE = Given(RELEASE, "the released table", "Release")
_STATISTICS = Given(RELEASE, "the released statistics or table", "Release")
_ORIGINAL = Given("original", "the rows that it was made from", "Original")
_OTHERS = Given("control", "rows of other people, who were not released", "Control")
_MODEL = Given(MODEL, "the folder of a released model", "Model")
_MEMBERS = Given("members", "rows that it was trained on", "Members")
_NONMEMBERS = Given("nonmembers", "rows of other people, who were not used", "Not members")
_CONTROL = Given("control", "rows of other people, who were not released", "Control", required=False)

ATTACKS: tuple[Attack, ...] = (
    Attack(
        name="singling-out",
        title="Singling out",
        help="find conditions that exactly one person meets",
        given=(_RELEASE, _ORIGINAL, _CONTROL),
        request="workbench.risk.attacks.singling_out:SinglingOut",
    ),
    Attack(
        name="linkability",
        title="Linkability",
        help="join two files about the same people through the release",
        given=(_RELEASE, _ORIGINAL, _CONTROL),
        request="workbench.risk.attacks.linkability:Linkability",
    ),
    Attack(
        name="inference",
        title="Inference",
        help="guess a secret from what is known of a person",
        given=(_RELEASE, _ORIGINAL, _CONTROL),
        request="workbench.risk.attacks.inference:Inference",
    ),
    Attack(
        name="membership",
        title="Membership",
        help="find out who was used to train a model",
        given=(_MODEL, _MEMBERS, _NONMEMBERS),
        request="workbench.risk.attacks.membership:Membership",
    ),
    Attack(
        name="closest",
        title="Distance to the closest record",
        help="find out who is in a release by the nearest of its rows",
        given=(_RELEASE, _ORIGINAL, _OTHERS),
        request="workbench.risk.attacks.closest:Closest",
    ),
    Attack(
        name="inversion",
        title="Model inversion",
        help="infer a column of a person from a model and all her other columns",
        given=(_MODEL, _MEMBERS, _NONMEMBERS),
        request="workbench.risk.attacks.inversion:Inversion",
    ),
    Attack(
        name="reconstruction",
        title="Reconstruction",
        help="give back everybody's secret bit from many counts",
        given=(_STATISTICS, _ORIGINAL, _CONTROL),
        request="workbench.risk.attacks.reconstruction:Reconstruction",
    ),
    Attack(
        name="link",
        title="Linking",
        help="look up people in the release by what is known of them",
        given=(_RELEASE, Given("known", "the people that the attacker knows", "Known people"), _CONTROL),
        request="workbench.risk.attacks.link:Link",
    ),
    Attack(
        name="traces",
        title="Location traces",
        help="single people out by a few points of a generated sample of traces",
        given=(),
        request="workbench.risk.attacks.traces:Traces",
    ),
)


def attack(name: str) -> Attack:
    """Return the attack called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(ATTACKS, name, "attack")


__all__ = ["ATTACKS", "MODEL", "RELEASE", "Attack", "Given", "attack"]
