"""What learners ask beyond numbers: an event in smaller ones, and what noise costs nobody."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from workbench.privacy.accounting.event import Composed, Cost, PureDp, ZeroConcentrated
from workbench.work.ask import Ask, UndeclaredError
from workbench.work.noise import Exact, Study, uncharged


def opened(*events: PureDp | ZeroConcentrated) -> Ask:
    return Study(np.random.default_rng(0)).ask(Cost(Decimal(1), Decimal(0), Composed(events)))


def parts(*amounts: str) -> list[PureDp]:
    return [PureDp(Decimal(amount), f"part {i}") for i, amount in enumerate(amounts)]


def test_an_event_is_served_in_smaller_ones_each_once() -> None:
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
def test_parts_that_are_more_than_the_whole_are_refused(amounts: tuple[str, ...]) -> None:
    with pytest.raises(UndeclaredError):
        opened(PureDp(Decimal("0.3"), "whole")).into("whole", parts(*amounts))


def test_an_event_of_another_kind_or_of_no_declaration_has_no_parts() -> None:
    with pytest.raises(UndeclaredError, match="not declared"):
        opened().into("whole", parts("0.1"))
    with pytest.raises(UndeclaredError):
        opened(ZeroConcentrated(Decimal("0.3"), "whole")).into("whole", parts("0.1"))


def test_without_noise_parts_need_no_declaration() -> None:
    part = Exact().ask(None).into("whole", parts("0.1"))
    assert part("part 0", [4], 1) == [4]
    part.finish()


def test_what_nothing_was_reserved_for_serves_nothing() -> None:
    noise = uncharged()
    assert noise.releasable
    with pytest.raises(AssertionError, match="nothing was reserved"):
        noise.ask(Cost(Decimal(1), Decimal(0), Composed((PureDp(Decimal(1), "x"),))))
