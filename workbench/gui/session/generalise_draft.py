"""What is asked for on the page Generalise, and the hierarchies that a person chose there: what a project keeps of it.

No hierarchy itself is kept, since its first level is the values of the rows: only how it is made, or its file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

from workbench.gui.style.language import tr, tr_later
from workbench.params import Field, ParameterError, Parameters, choice, declared_by, real, text
from workbench.params.codec import require_table
from workbench.risk.generalise.generalised import METHODS, Method
from workbench.risk.generalise.losses import LOSSES
from workbench.risk.generalise.models import MODELS, Closeness, DistinctDiversity, KAnonymity, PrivacyModel
from workbench.risk.hierarchies import Builder, builder

NOT_ASKED = tr_later("none")


def _asked_by(model: type[PrivacyModel], key: str) -> Field:
    """Return the declaration of a model's parameter for a form: its title is its symbol."""
    return replace(model.declared()[key], symbol="", empty=NOT_ASKED)


@dataclass(frozen=True, kw_only=True)
class Wanted(Parameters):
    """What is asked for on the page."""

    k: int | None = declared_by(_asked_by(KAnonymity, "k"), default=5)
    l: int | None = declared_by(_asked_by(DistinctDiversity, "l"), default=None)  # noqa: E741  the literature's letter
    t: float | None = declared_by(_asked_by(Closeness, "t"), default=None)
    suppression: float = real(
        default=5,
        at_least=0,
        upto=100,
        unit="%",
        help=tr_later("the part of the rows that may be left out at the most"),
    )
    loss: str = choice(
        choices=tuple(one.name for one in LOSSES),
        titles={one.name: one.title for one in LOSSES},
        default="granularity",
        help=Method.declared()["loss"].help,
    )
    method: str = choice(choices=tuple(METHODS), default="optimal", help=Method.declared()["method"].help)

    @property
    def how(self) -> Method:
        """How it is made."""
        return Method(method=self.method, loss=self.loss, suppression=self.suppression / 100)


def _more() -> dict[str, tuple[type[PrivacyModel], Any]]:
    """Return the parameters of models that :class:`Wanted` has not, each with its model and default."""
    return {
        one.name: (model, one.default)
        for model in MODELS
        for one in fields(model)
        if one.name in model.declared() and one.name not in Wanted.declared()
    }


POPULATION = "population"
MORE: type[Parameters] = make_dataclass(
    "More",  # not translated
    [
        *((key, Any, declared_by(_asked_by(model, key), default=usual)) for key, (model, usual) in _more().items()),
        (
            POPULATION,
            Any,
            text(
                default=None,
                help=tr_later("a table of the people that the rows are a part of, for k-map and δ-presence"),
                empty=tr_later("none"),
                file="table",
            ),
        ),
    ],
    bases=(Parameters,),
    frozen=True,
    kw_only=True,
)
"""Every other condition, by the declarations of its model, and the file of the population."""
TITLES = {key: model.title for key, (model, _) in _more().items()} | {
    "k": tr_later("rows alike (k)"),
    "l": tr_later("values (ℓ)"),
    "t": tr_later("distance (t)"),
    "suppression": tr_later("left out at the most"),
    "loss": tr_later("loss"),
    "entropy_l": tr_later("even values (entropy ℓ)"),
    "recursive_c": tr_later("none dominates (recursive c)"),
    "recursive_l": tr_later("from the value (recursive ℓ)"),
    "distance": tr_later("distance by (for t)"),
    "beta": tr_later("rise of a share (β-likeness)"),
    "enhanced": tr_later("stricter (enhanced β)"),
    "presence_upto": tr_later("chance, up to (δ-presence)"),
    "presence_from": tr_later("chance, from (δ-presence)"),
    "k_map": tr_later("people alike (k-map)"),
    "population": tr_later("population table"),
}
"""A plain word for each condition, with the literature's term; Risk and Generalise share them."""


@dataclass(frozen=True)
class GeneraliseDraft:
    """What a person set."""

    settings: Wanted = field(default_factory=Wanted)  # the conditions and the method
    more: Parameters = field(default_factory=MORE)  # the conditions under the fold
    # By column the way in which its hierarchy is made, or its file; without the columns whose hierarchy is as the
    # values suggest.
    hierarchies: Mapping[str, Builder | Path] = field(default_factory=dict)

    def to_raw(self, place: Callable[[str], str]) -> dict[str, Any]:
        """Return it as TOML holds it, with the paths that ``place`` makes of those of files; no k is none asked for."""
        k = {} if self.settings.k is None else {"k": self.settings.k}
        lines = [
            {"column": name, "file": place(str(way))}
            if isinstance(way, Path)
            else {"column": name, "builder": way.name} | way.to_plain()
            for name, way in self.hierarchies.items()
        ]
        more = self.more.to_plain()
        if POPULATION in more:
            more[POPULATION] = place(more[POPULATION])
        settings = {"generalise": [k | self.settings.to_plain() | more]}
        return settings | ({"hierarchy": lines} if lines else {})

    @classmethod
    def from_raw(
        cls, settings: Mapping[str, Any] | None, lines: object, place: Callable[[str], str], where: str
    ) -> GeneraliseDraft:
        """Return what :meth:`to_raw` wrote; ``None`` for settings is that nobody changed them.

        Raises:
            ParameterError: a key or value is refused.
        """
        stated = {"k": Wanted().k} if settings is None else {"k": None} | dict(settings)
        own = {key: value for key, value in stated.items() if key in Wanted.declared()}
        others = {key: value for key, value in stated.items() if key not in own}
        if isinstance(file := others.get(POPULATION), str):
            others[POPULATION] = place(file)
        if not isinstance(lines, list):
            raise ParameterError(tr("hierarchy is not a list"), where, tr("write each hierarchy as [[hierarchy]]"))
        hierarchies: dict[str, Builder | Path] = {}
        for line in lines:
            given = dict(require_table(line, "a hierarchy", where))
            name, file, way = (given.pop(key, None) for key in ("column", "file", "builder"))
            if not isinstance(name, str) or not isinstance(way if file is None else file, str):
                raise ParameterError(
                    tr("a hierarchy does not say of which column it is, or how it is made"),
                    where,
                    tr("give column, and builder or file"),
                )
            if isinstance(file, str):
                hierarchies[name] = Path(place(file))
            else:
                hierarchies[name] = builder(str(way)).from_plain(given, where)
        return cls(Wanted.from_plain(own, where), MORE.from_plain(others, where), hierarchies)
