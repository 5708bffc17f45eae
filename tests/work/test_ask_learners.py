"""What learners ask beyond numbers: an event in smaller ones, and what noise costs nobody."""

import ast
import functools
import importlib
import inspect
import pkgutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench.release
from workbench.params import BudgetRefusedError, ParameterError
from workbench.privacy.accounting.event import Composed, Cost, PureDp, ZeroConcentrated
from workbench.privacy.central import laplace
from workbench.work.ask import Ask, UndeclaredError
from workbench.work.noise import Charged, Exact, Study, uncharged


def opened(*events: PureDp | ZeroConcentrated) -> Ask:
    return Study(np.random.default_rng(0)).ask(Cost(Decimal(1), Decimal(0), Composed(events)))


def parts(*amounts: str) -> list[PureDp]:
    return [PureDp(Decimal(amount), f"part {i}") for i, amount in enumerate(amounts)]


def test_an_event_is_served_in_smaller_ones_each_once():
    ask = opened(PureDp(Decimal("0.3"), "whole"))
    part = ask.into("whole", parts("0.1", "0.2"))
    ask.finish()
    assert len(part("part 0", [1, 2], 1)) == 2
    with pytest.raises(UndeclaredError, match="part 1"):
        part.finish()
    with pytest.raises(UndeclaredError, match="asked before"):
        part("part 0", [1], 1)
    with pytest.raises(UndeclaredError, match="asked before"):
        ask.into("whole", parts("0.1"))


@pytest.mark.parametrize("amounts", [("0.3", "1e-40"), ("0.31",), ("0.4", "-0.1"), ("0.1", "0"), ("NaN",)])
def test_parts_that_are_more_than_the_whole_are_refused(amounts):
    with pytest.raises(UndeclaredError):
        opened(PureDp(Decimal("0.3"), "whole")).into("whole", parts(*amounts))


def test_an_event_of_another_kind_or_of_no_declaration_has_no_parts():
    with pytest.raises(UndeclaredError, match="not declared"):
        opened().into("whole", parts("0.1"))
    with pytest.raises(UndeclaredError):
        opened(ZeroConcentrated(Decimal("0.3"), "whole")).into("whole", parts("0.1"))


def test_without_noise_parts_need_no_declaration():
    part = Exact().ask(None).into("whole", parts("0.1"))
    assert part("part 0", [4], 1) == [4]
    part.finish()


def test_what_nothing_was_reserved_for_serves_nothing():
    noise = uncharged()
    assert noise.releasable
    with pytest.raises(AssertionError, match="no budget was reserved"):
        noise.ask(Cost(Decimal(1), Decimal(0), Composed((PureDp(Decimal(1), "x"),))))


# -- Where noise comes from: a charge, a seed or nowhere; and that nothing else in the program makes any --------------


ROOT = Path(workbench.__file__).parent
COST = Cost(Decimal("0.5"), Decimal(0), PureDp(Decimal("0.5"), "a"))

MAKER = "workbench.work.noise"
DRAWS = {"ReleasedNoise", "StudyNoise"}


def makers(module: ast.Module) -> set[str]:
    """Return which noise a module can make: what draws by its mere name, what is exact by being called."""
    found = set()
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) if name in DRAWS:
                found.add(name)
            case ast.Call(func=ast.Name(id="NoNoise") | ast.Attribute(attr="NoNoise")):
                found.add("NoNoise")
    return found


@functools.cache
def sources() -> dict[str, ast.Module]:
    """The modules in which a name of noise or of coins stands; the others are not parsed."""
    named = {".".join(file.relative_to(ROOT.parent).with_suffix("").parts): file for file in ROOT.rglob("*.py")}
    texts = {name.removesuffix(".__init__"): file.read_text("utf-8") for name, file in named.items()}
    words = (*DRAWS, "NoNoise", "coins")
    return {name: ast.parse(text) for name, text in texts.items() if any(word in text for word in words)}


COINS = {
    "workbench.deep.canaries",  # which canaries are in a run
    "workbench.deep.private_step",  # the batches, which the event counts with
    "workbench.release.rappor.rappor_work",  # only whether they are the system's: answers that are kept must be
    "workbench.release.rows_on_workers",  # the order of rows
    "workbench.release.spilled_rows",  # the order of rows
    "workbench.release.synthetic.synthesis_work",  # values within the cells of synthetic rows
    "workbench.sanitize.engine",  # the order of rows
    "workbench.synth.synthesis",  # rows of a fitted model
    "workbench.work.ask",
}
"""Who reads random bits that are not paid for, and what they are for: never for a value of a row."""


def test_who_reads_free_random_bits_is_listed():
    found = {
        name
        for name, module in sources().items()
        if any(isinstance(node, ast.Attribute) and node.attr == "coins" for node in ast.walk(module))
    }
    assert found == COINS


def test_nothing_but_the_sources_of_noise_makes_any():
    found = {name for name, module in sources().items() if makers(module)}
    assert found == {MAKER}


@pytest.mark.parametrize(
    "source",
    [
        "from workbench.privacy.central.laplace import ReleasedNoise",
        "from workbench.privacy.central.laplace import StudyNoise as Quiet",
        "import workbench.privacy.central.laplace as noise\nnoise.ReleasedNoise()",
        "from workbench.privacy.central.central_noise import NoNoise\nnoise = NoNoise()",
    ],
)
def test_noise_that_is_made_elsewhere_is_found(source):
    assert makers(ast.parse(source))


# -- a charge comes first ---------------------------------------------------------------------------------------------


def poison(patch: pytest.MonkeyPatch) -> None:
    """No noise of a release can be made, nor drawn."""

    def never(*arguments: Any, **keys: Any) -> Any:
        raise AssertionError("noise of a release was made before its charge")

    for name in ("__init__", "integers", "gaussian", "below", "words"):
        patch.setattr(laplace.ReleasedNoise, name, never)


def test_a_refused_charge_opens_no_question(monkeypatch):
    poison(monkeypatch)

    def refused(cost: Cost) -> None:
        raise BudgetRefusedError("no budget is left")

    with pytest.raises(BudgetRefusedError, match="no budget"):
        Charged(refused).ask(COST)
    with pytest.raises(ParameterError, match="no finite privacy cost"):
        Charged(refused).ask(None)


def test_the_whole_cost_is_charged_once_before_the_first_question(monkeypatch):
    charged: list[Cost] = []
    with monkeypatch.context() as patch:
        poison(patch)
        with pytest.raises(AssertionError, match="before its charge"):
            Charged(charged.append).ask(COST)
    assert charged == [COST]
    ask = Charged(charged.append).ask(COST)
    assert (ask.releasable, ask.private) == (True, True)
    assert len(ask("a", [0] * 3, 1)) == 3
    assert charged == [COST, COST]


# -- a study is never released ----------------------------------------------------------------------------------------


def study() -> Study:
    return Study(np.random.default_rng(3))


@pytest.mark.parametrize(("noise", "name"), [(study(), "study"), (Exact(), "none")])
def test_answers_of_a_study_are_marked(noise, name):
    assert (noise.name, noise.releasable, noise.ask(COST).releasable) == (name, False, False)


def test_a_study_is_the_same_again_and_counts_what_it_would_cost():
    counted: list[Cost] = []
    one, two = (Study(np.random.default_rng(3), charge=counted.append).ask(COST)("a", [0] * 64, 1) for _ in range(2))
    assert one == two
    assert counted == [COST, COST]
    with pytest.raises(ParameterError, match="declares its cost"):
        study().ask(None)


def test_no_release_takes_noise_or_answers_from_outside():
    """A study's answers have no way into a file: what writes one makes its own Ask, and that charges first."""
    kinds = ("release_path", "rows_work", "statistics", "synthetic", "rappor")
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(workbench.release.__path__, "workbench.release.")
        if found.name.split(".")[2] in kinds and not found.ispkg
    ]
    functions = [f for m in modules for _, f in inspect.getmembers(m, inspect.isfunction) if f.__module__ == m.__name__]
    assert any(f.__name__ == "release_prepared" for f in functions)
    for function in (f for f in functions if not f.__name__.startswith("_")):
        taken = {str(p.annotation) for p in inspect.signature(function).parameters.values()}
        assert not taken & {"Ask", "Noise", "CentralNoise", "WorkOutput"}, function
    used = inspect.getsource(importlib.import_module("workbench.release.release_path"))
    assert used.count("Charged(") == used.count(").ask(work.cost())") == 1
