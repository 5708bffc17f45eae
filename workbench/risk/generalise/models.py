"""Privacy models of generalised tables: which classes each allows. One is its class and a line in :data:`MODELS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workbench.params import InputError, ParameterError, Parameters, boolean, choice, integer, real
from workbench.risk.distances import (
    AUTO,
    DISTANCE_CHOICES,
    DISTANCE_HELP,
    HIERARCHICAL,
    SensitiveCounts,
    counts_of,
    farness,
)
from workbench.risk.generalise.problem import Groups, Problem, Reals, Sensitive, Truths, Whole

ROUNDING = 1e-9  # how far a figure may be beyond its limit for rounding alone


@dataclass(frozen=True, kw_only=True)
class PrivacyModel(Parameters):
    """A privacy model; it is asked for where its first parameter is given."""

    name: ClassVar[str]  # its name in results and certificates
    title: ClassVar[str]
    help: ClassVar[str]
    # Whether a class that is allowed stays so whatever is joined to it. Then coarser nodes never suppress more rows.
    survives: ClassVar[bool] = False
    # Whether classes that are allowed are so when they are joined. Then, without suppression, a node above an allowed
    # node is allowed.
    monotone: ClassVar[bool] = True
    needs: ClassVar[str] = ""  # `sensitive` or `population` where it cannot be judged without; empty for rows alone

    @property
    def asked(self) -> bool:
        """Whether it is asked for."""
        return getattr(self, next(iter(self.declared()))) is not None

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which of the ``judged`` classes are allowed; shape (classes,)."""
        return judged

    def suffices(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which of the ``judged`` classes are allowed whatever the other classes are like; shape (classes,)."""
        return self.allows(problem, groups, judged)

    def whole(self, problem: Problem, groups: Groups, kept: Truths) -> Truths | None:
        """Return which of the ``kept`` classes remain so that the table as a whole is allowed; ``None``: it cannot be.

        All other rows are suppressed.
        """
        return kept


def of_each_sensitive(
    problem: Problem, groups: Groups, judged: Truths, judge: Callable[[SensitiveCounts, Sensitive], Truths]
) -> Truths:
    """Return which of the ``judged`` classes have only sensitive values that ``judge`` allows."""

    def by(of: Sensitive) -> Callable[[Reals], Whole]:
        return lambda counts: judge(counts_of(counts), of).astype(np.int64)

    for sensitive in problem.sensitive:
        judged = problem.histograms(groups, sensitive, judged, by(sensitive)) > 0
    return judged


# -- the rows of a class -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class KAnonymity(PrivacyModel):
    """Its k."""

    name = "k-anonymity"
    title = "k-anonymity"
    help = "at least k rows share every combination of quasi-identifiers (Sweeney 2002)"
    survives = True

    k: int | None = integer(default=None, at_least=1, upto=10**9, symbol="K", help="minimum rows per class")

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have k rows."""
        assert self.k is not None
        return judged & (groups.sizes >= self.k)


# -- the sensitive values of a class -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(PrivacyModel):
    """Its ℓ."""

    name = "distinct-l-diversity"
    title = "distinct ℓ-diversity"
    help = "every class has at least ℓ distinct sensitive values (Machanavajjhala 2006)"
    survives = True
    needs = "sensitive"

    l: int | None = integer(  # noqa: E741  the letter of the literature and of the command line
        default=None, at_least=1, upto=10**6, symbol="L", help="minimum number of distinct sensitive values per class"
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have ℓ different values."""
        return of_each_sensitive(problem, groups, judged, lambda found, _: found.distinct >= self.l)


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity(PrivacyModel):
    """Its ℓ, which need not be whole."""

    name = "entropy-l-diversity"
    title = "entropy ℓ-diversity"
    help = "the entropy of the sensitive values of every class is at least ln ℓ"
    needs = "sensitive"

    entropy_l: float | None = real(
        default=None, at_least=1, upto=1e6, symbol="L", help="minimum exp(entropy) of the sensitive values per class"
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        assert self.entropy_l is not None
        least = math.log(self.entropy_l) - ROUNDING
        return of_each_sensitive(problem, groups, judged, lambda found, _: found.entropy >= least)


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(PrivacyModel):
    """Its c and its ℓ."""

    name = "recursive-l-diversity"
    title = "recursive (c, ℓ)-diversity"
    help = "the most frequent sensitive value of a class is rarer than c times the ℓ-th and all rarer values together"
    needs = "sensitive"

    recursive_c: float | None = real(
        default=None, above=0, upto=1e6, symbol="C", help="c of recursive (c, l)-diversity of the sensitive values"
    )
    recursive_l: int = integer(default=2, at_least=2, upto=10**6, symbol="L", help="l of recursive (c, l)-diversity")

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes are (c, ℓ)-diverse."""
        assert self.recursive_c is not None
        c, least = self.recursive_c, self.recursive_l
        return of_each_sensitive(problem, groups, judged, lambda found, _: found.recursive(c) >= least)


@dataclass(frozen=True, kw_only=True)
class Closeness(PrivacyModel):
    """Its t, and what is near."""

    name = "t-closeness"
    title = "t-closeness"
    help = "in every class the distribution of sensitive values is close to that of all rows (earth mover's distance)"
    needs = "sensitive"

    t: float | None = real(
        default=None, at_least=0, upto=1, symbol="T", help="maximum distance of a class from all rows"
    )
    distance: str = choice(choices=DISTANCE_CHOICES, default=AUTO, help=DISTANCE_HELP)

    def distance_of(self, of: Sensitive) -> str:
        """Return the ground distance between the values of a sensitive attribute."""
        return of.distance if self.distance == AUTO else self.distance

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes are near.

        Raises:
            InputError: the distance needs a hierarchy that a sensitive attribute does not have.
        """
        assert self.t is not None
        most = self.t + ROUNDING

        def judge(found: SensitiveCounts, of: Sensitive) -> Truths:
            levels: Sequence[Whole] = ()
            distance = self.distance_of(of)
            if distance == HIERARCHICAL:
                if of.hierarchy is None:
                    hint = f"add {of.name}.csv to the folder of hierarchies, or choose the distance equal"
                    what = f"the sensitive column {of.name} has no hierarchy, which this distance needs"
                    raise InputError(what, hint=hint)
                levels = of.hierarchy.codes[1:]
            near: Truths = farness(distance, found, of.share, levels) <= most
            return near

        return of_each_sensitive(problem, groups, judged, judge)


@dataclass(frozen=True, kw_only=True)
class Likeness(PrivacyModel):
    """Its β."""

    name = "beta-likeness"
    title = "β-likeness"
    help = "in no class is a sensitive value more than 1 + β times as frequent as among all rows"
    needs = "sensitive"

    beta: float | None = real(
        default=None, above=0, upto=1e6, symbol="B", help="maximum relative increase in the share of a value"
    )
    enhanced: bool = boolean(
        default=False, flag="beta_enhanced", help="stricter limit for frequent values, by -ln of their share (with β)"
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have no value that is too frequent."""

        def judge(found: SensitiveCounts, of: Sensitive) -> Truths:
            limit = np.full(len(of.share), self.beta, dtype=np.float64)
            if self.enhanced:
                limit = np.minimum(limit, -np.log(of.share))
            most = of.share * (1 + limit) + ROUNDING
            allowed: Truths = found.per_class(found.shares > most[found.values]) == 0
            return allowed

        return of_each_sensitive(problem, groups, judged, judge)


# -- a population that the rows are a part of --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Presence(PrivacyModel):
    """Its limits."""

    name = "delta-presence"
    title = "δ-presence"
    help = "the probability that a member of the population is in the table is between two limits (Nergiz 2007)"
    needs = "population"

    presence_upto: float | None = real(
        default=None, above=0, upto=1, help="maximum probability that a member of the population is in the table"
    )
    presence_from: float = real(
        default=0, at_least=0, upto=1, help="minimum probability that a member of the population is in the table"
    )

    def __post_init__(self) -> None:
        """Check that the limits are in order."""
        super().__post_init__()
        if self.presence_upto is not None and self.presence_from > self.presence_upto:
            raise ParameterError("presence_from is above presence_upto", hint="swap or correct them")

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have a share of the population within the limits.

        A class with more rows than people of the population is not allowed: the rows are not a part of it.
        """
        assert self.presence_upto is not None
        share = groups.sizes / np.maximum(groups.population, 1e-300)
        found: Truths = (share >= self.presence_from - ROUNDING) & (share <= self.presence_upto + ROUNDING)
        return judged & found

    def whole(self, problem: Problem, groups: Groups, kept: Truths) -> Truths | None:
        """Return ``kept``; ``None`` where people of the population would be in the table with probability 0.

        They are where all rows of a class are suppressed, or where it never had one.
        """
        return None if self.presence_from > 0 and not kept[groups.population > 0].all() else kept


@dataclass(frozen=True, kw_only=True)
class KMap(PrivacyModel):
    """Its k."""

    name = "k-map"
    title = "k-map"
    help = "at least k people of a population share every combination of quasi-identifiers"
    survives = True
    needs = "population"

    k_map: int | None = integer(
        default=None, at_least=1, upto=10**9, symbol="K", help="minimum people of the population per class"
    )

    def allows(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have k people."""
        assert self.k_map is not None
        return judged & (groups.population >= self.k_map)


@dataclass(frozen=True, kw_only=True)
class AverageRisk(PrivacyModel):
    """Its limit."""

    name = "average-risk"
    title = "average risk"
    help = "the number of classes per row (the average risk of a row) is at most a limit"
    average_risk: float | None = real(
        default=None, above=0, upto=1, symbol="R", help="maximum number of classes per row (the average risk of a row)"
    )

    def suffices(self, problem: Problem, groups: Groups, judged: Truths) -> Truths:
        """Return which classes have so many rows that a table of such classes is allowed."""
        assert self.average_risk is not None
        return judged & (groups.sizes * self.average_risk >= 1 - ROUNDING)

    def whole(self, problem: Problem, groups: Groups, kept: Truths) -> Truths | None:
        """Return which classes remain: the smallest are suppressed, all of one size together, until it holds."""
        assert self.average_risk is not None
        sizes, number = np.unique(groups.sizes[kept], return_counts=True)
        rows = np.cumsum((sizes * number)[::-1])[::-1]
        classes = np.cumsum(number[::-1])[::-1]
        holds = np.flatnonzero(classes <= self.average_risk * rows + ROUNDING)
        return kept & (groups.sizes >= sizes[holds[0]]) if len(holds) else None


MODELS: tuple[type[PrivacyModel], ...] = (
    KAnonymity,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    Closeness,
    Likeness,
    Presence,
    KMap,
    AverageRisk,
)


def models_of(given: Mapping[str, Any]) -> tuple[PrivacyModel, ...]:
    """Return every model with those of its parameters that are given, by name."""
    return tuple(model(**{n: v for n, v in given.items() if n in model.declared()}) for model in MODELS)
