"""The optimal search against the enumeration of every node, for every model and loss."""

from typing import Any

import generalise_tables as small
import numpy as np
import pytest

from workbench.params import InputError
from workbench.risk.distances import DISTANCES
from workbench.risk.generalise.generalised import cells, local
from workbench.risk.generalise.losses import LOSSES, loss
from workbench.risk.generalise.models import (
    MODELS,
    AverageRisk,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    KMap,
    Likeness,
    Presence,
    PrivacyModel,
    RecursiveDiversity,
)
from workbench.risk.generalise.problem import Problem
from workbench.risk.generalise.search import Goal, Search, greedy, optimal

SEEDS = range(200)


def drawn(name: str, rng: np.random.Generator) -> PrivacyModel:
    """Return a model with random parameters that some nodes of a small table fulfil."""
    made: dict[str, Any] = {
        "k-anonymity": lambda: KAnonymity(k=int(rng.integers(1, 8))),
        "distinct-l-diversity": lambda: DistinctDiversity(l=int(rng.integers(1, 4))),
        "entropy-l-diversity": lambda: EntropyDiversity(entropy_l=float(rng.uniform(1, 2.5))),
        "recursive-l-diversity": lambda: RecursiveDiversity(recursive_c=float(rng.uniform(0.5, 4)), recursive_l=2),
        "t-closeness": lambda: Closeness(
            t=float(rng.uniform(0.05, 0.6)), distance=list(DISTANCES)[int(rng.integers(0, 3))]
        ),
        "beta-likeness": lambda: Likeness(beta=float(rng.uniform(0.2, 3)), enhanced=bool(rng.integers(0, 2))),
        "delta-presence": lambda: Presence(
            presence_upto=float(rng.uniform(0.5, 1)), presence_from=float(rng.choice([0, 0.1, 0.3]))
        ),
        "k-map": lambda: KMap(k_map=int(rng.integers(1, 10))),
        "average-risk": lambda: AverageRisk(average_risk=float(rng.uniform(0.1, 0.6))),
    }
    model: PrivacyModel = made[name]()
    return model


def limit_of(rng: np.random.Generator, problem: Problem) -> int:
    return int(rng.choice([0, 0, 0.1, 0.3, 1.0]) * problem.rows)


def compared(names: list[str], loss_name: str, seed: int) -> bool:
    """Compare both searches on one random table; return whether it has an allowed node."""
    rng = np.random.default_rng([seed, 7])
    problem, case = small.random_case(seed, population=True)
    models = [(name, drawn(name, rng)) for name in names]
    limit = limit_of(rng, problem)
    search = Search(problem, Goal(models=tuple(m for _, m in models), limit=limit, loss=loss(loss_name)))
    expected = small.by_enumeration(models, loss_name, limit, case)
    if expected is None:
        with pytest.raises(InputError, match="no generalisation"):
            optimal(search)
        return False
    outcome = optimal(search)
    least, nodes = expected
    assert search.best is not None
    assert search.best[0] == pytest.approx(least, abs=1e-9)
    assert outcome.levels in nodes
    kept, gone = small.judged(models, case, outcome.levels)  # type: ignore[misc, arg-type]
    assert outcome.suppressed == len(gone)
    assert sorted(outcome.sizes) == sorted(map(len, kept))
    return True


@pytest.mark.parametrize("loss_name", [one.name for one in LOSSES])
@pytest.mark.parametrize("model", [one.name for one in MODELS])
def test_the_optimum_is_that_of_the_enumeration(model, loss_name):
    # One in ten here; all 200 for every pair in the slow test below.
    found = sum(compared([model], loss_name, seed) for seed in SEEDS[::20])
    assert found > 2


@pytest.mark.slow
@pytest.mark.parametrize("loss_name", [one.name for one in LOSSES])
@pytest.mark.parametrize("model", [one.name for one in MODELS])
def test_the_optimum_is_that_of_the_enumeration_on_200_lattices(model, loss_name):
    assert sum(compared([model], loss_name, seed) for seed in SEEDS) > 60


def test_combined_models_have_the_optimum_of_the_enumeration():
    names = [one.name for one in MODELS]
    found = 0
    for seed in SEEDS[::4]:
        rng = np.random.default_rng([seed, 3])
        chosen = ["k-anonymity", *rng.choice(names[1:], size=int(rng.integers(1, 3)), replace=False)]
        found += compared(chosen, LOSSES[seed % len(LOSSES)].name, seed)
    assert found > 10


@pytest.mark.parametrize("method", [greedy, local, cells])
def test_heuristics_keep_every_model_and_the_limit(method):
    found = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 5])
        problem, _ = small.random_case(seed, population=True)
        models = tuple(drawn(name, rng) for name in ("k-anonymity", "distinct-l-diversity", "t-closeness"))
        limit = limit_of(rng, problem)
        search = Search(problem, Goal(models=models, limit=limit, loss=LOSSES[0]))
        try:
            outcome = method(search)
        except InputError:
            with pytest.raises(InputError):
                optimal(Search(problem, search.goal))
            continue
        found += 1
        assert outcome.suppressed <= limit
        for model in models:
            assert model.allows(problem, outcome.groups, outcome.kept)[outcome.kept].all()
    assert found > 20


@pytest.mark.parametrize("method", [local, cells])
def test_recoding_reaches_an_average_risk_that_the_whole_table_must_have(method):
    recoded = 0
    for seed in range(40):
        problem, _ = small.random_case(seed, population=False)
        models = (AverageRisk(average_risk=0.25),)
        goal = Goal(models=models, limit=0, loss=LOSSES[0])
        outcome = method(Search(problem, goal))
        assert outcome.suppressed == 0
        assert len(outcome.sizes) <= 0.25 * problem.rows + 1e-9
        recoded += len(outcome.sizes) > 1
    assert recoded > 20  # not all rows at the top


@pytest.mark.parametrize("method", [local, cells])
@pytest.mark.parametrize("name", ["k-map", "delta-presence"])
def test_recoding_counts_each_of_the_population_in_one_class(name, method):
    found = 0
    for seed in range(60):
        problem, case = small.random_case(seed, population=True)
        rng = np.random.default_rng([seed, 11])
        model, limit = drawn(name, rng), limit_of(rng, problem)
        try:
            outcome = method(Search(problem, Goal(models=(model,), limit=limit, loss=LOSSES[0])))
        except InputError:
            assert not small.fits_at(case, model, problem.top), "what is allowed at the top is found"
            continue
        found += 1
        groups, kept = outcome.groups, outcome.kept
        assert outcome.suppressed <= limit
        assert groups.population.sum() == len(next(iter(case["people"].values())))
        for at in np.flatnonzero(kept):
            levels = outcome.levels[groups.first[at]]
            label = [
                h.levels[up][problem.columns[q][groups.first[at]]]
                for q, (h, up) in enumerate(zip(problem.hierarchies, levels, strict=True))
            ]
            alike = small.labels(case, tuple(levels), case["people"]).count(tuple(label))
            assert groups.population[at] <= alike, "people who may be in the class by what is published"
            if isinstance(model, KMap):
                assert groups.population[at] >= (model.k_map or 0)
            else:
                assert isinstance(model, Presence)
                share = groups.sizes[at] / groups.population[at]
                assert model.presence_from - 1e-9 <= share <= (model.presence_upto or 0) + 1e-9
        if isinstance(model, Presence) and model.presence_from > 0:
            assert kept[groups.population > 0].all(), "nobody is known to be absent"
    assert found > 20


def test_the_heuristic_is_exact_where_it_reaches_every_node_and_ends_where_it_does_not(monkeypatch):
    for seed in range(60):
        rng = np.random.default_rng([seed, 13])
        problem, _ = small.random_case(seed, population=True)
        models = tuple(drawn(name, rng) for name in ("k-anonymity", MODELS[seed % len(MODELS)].name))
        goal = Goal(models=models, limit=limit_of(rng, problem), loss=LOSSES[seed % len(LOSSES)])
        quick, whole = Search(problem, goal), Search(problem, goal)
        try:
            greedy(quick)
        except InputError:
            with pytest.raises(InputError):
                optimal(whole)
            continue
        optimal(whole)
        assert quick.best is not None
        assert whole.best is not None
        assert quick.best[0] == pytest.approx(whole.best[0], abs=1e-12)
    monkeypatch.setattr("workbench.risk.generalise.search.MOST_TRIED", 3)
    problem, _ = small.random_case(1, population=False)
    search = Search(problem, Goal(models=(KAnonymity(k=2),), limit=0, loss=LOSSES[0]))
    greedy(search)
    assert len(search.tried) < problem.nodes


def test_local_recoding_loses_no_more_than_the_best_full_domain_on_most_tables():
    better = 0
    for seed in range(40):
        problem, _ = small.random_case(seed, population=False)
        goal = Goal(models=(KAnonymity(k=3),), limit=0, loss=LOSSES[0])
        full, own = Search(problem, goal), Search(problem, goal)
        optimal(full)
        local(own)
        assert full.best is not None
        assert own.best is not None
        better += own.best[0] <= full.best[0] + 1e-12
    assert better >= 30
