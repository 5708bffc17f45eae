"""Bounds rest on this: a person who was released and one of the control set may change places in what is asked."""

from __future__ import annotations

import numpy as np
import polars as pl

from workbench.data.table import Table
from workbench.risk.attacks import attack
from workbench.risk.attacks.base import Subject
from workbench.risk.attacks.common_columns import common_columns
from workbench.risk.attacks.reconstruction import Reconstruction, _of_rows
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore


def table(**columns: object) -> Table:
    return Table(pl.DataFrame({name: np.asarray(v).astype(str) for name, v in columns.items()}), "t.csv")


def test_the_questions_of_a_reconstruction_are_made_of_the_control_set_too() -> None:
    """Else a person who was released meets more questions of her own than one who was not."""
    rng = np.random.default_rng(0)
    numbers = np.r_[0, 9, rng.integers(1, 9, 48)]
    cells = {"a": numbers, "b": np.where(np.arange(50) < 40, "here", "there"), "bit": rng.integers(0, 2, 50)}
    people, others = (table(**{n: v[part] for n, v in cells.items()}) for part in (slice(40), slice(40, 50)))
    shared = common_columns([people, people, others])
    asked = _of_rows(shared, ["a", "b"], 2, 1.0, Reconstruction(secret="bit"), np.random.default_rng(1))[0]
    of_others = asked.strangers.any(axis=1) & ~asked.people.any(axis=1)
    assert of_others.any()


def test_how_near_a_guess_must_be_does_not_depend_on_who_was_released() -> None:
    """Twenty different numbers in one table and one more in the other: a guess within 5 % is right in both orders."""
    key = np.arange(40)
    one, other = 1000 + 50 * (key % 20), 1000 + 50 * (key % 21)
    released = table(key=key, secret=one * 1.01)
    tables = table(key=key, secret=one), table(key=key, secret=other)
    found = []
    for original, control in (tables, tables[::-1]):
        subject = Subject(release=released, tables={"original": original, "control": control})
        chosen = attack("inference")
        found.append(chosen.run(subject, chosen.asked()(secret="secret"), ignore, CancelToken()))
    assert found[0].main.value == 1.0
    assert found[1].control is not None
    assert found[1].control.value == found[0].main.value
