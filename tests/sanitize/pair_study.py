"""Simulated releases of known rows: how often the intervals of quantiles and correlations hold the truth."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms import mechanism
from workbench.sanitize.estimates.pairs import NoisyColumn, estimate_correlation
from workbench.sanitize.estimates.quantiles import QuantileTests, estimate_quantiles

RHO = 0.6

QUARTILES = 0.25, 0.5, 0.75


@dataclass(frozen=True)
class Held:
    """One setting.

    Attributes:
        setting: in words.
        intervals: how many were simulated.
        misses: how many did not hold the truth.
        width: their mean width as a part of the possible range.
        hidden: the part of them that were told as hidden by the noise.
    """

    setting: str
    intervals: int
    misses: int
    width: float
    hidden: float

    @property
    def coverage(self) -> float:
        """The part that held the truth."""
        return 1 - self.misses / self.intervals


def two_columns(shape: str, rows: int, cells: int) -> np.ndarray:
    """Return (rows, 2) cells of two columns with a correlation of about 0.6; the same rows at every call."""
    z = np.random.default_rng([rows, cells, len(shape)]).standard_normal((rows, 2))
    z[:, 1] = RHO * z[:, 0] + np.sqrt(1 - RHO**2) * z[:, 1]
    values = np.exp(0.9 * z) * 0.07 if shape == "skewed" else ndtr(z)
    return np.clip(np.round(values * (cells - 1)), 0, cells - 1).astype(np.int64)


def answers_of(chances: np.ndarray, truth: np.ndarray, random: np.random.Generator) -> np.ndarray:
    out = np.empty(len(truth), dtype=np.int64)
    for cell in np.unique(truth):
        here = np.flatnonzero(truth == cell)
        p = chances[cell] / chances[cell].sum()
        out[here] = random.choice(len(p), size=len(here), p=p)
    return out


def study(
    name: str, epsilon: float, shape: str, rows: int, cells: int, repeats: int, *, ends: bool = False
) -> tuple[Held, Held]:
    """Simulate releases of two columns; return what became of the quartiles and of the correlation.

    With ``ends`` the quantiles' intervals are computed whole; otherwise only whether they hold the truth, which is the
    same (tested) and takes a tenth of the time; their width is then not known.
    """
    grid = Cells.line(0, 1, cells)
    table = mechanism(name).build(grid, epsilon)
    chances = table.probabilities()
    held = two_columns(shape, rows, cells)
    assert grid.values is not None
    truth = float(np.corrcoef(grid.values[held].T)[0, 1])
    quartiles = [int(np.sort(held[:, 0])[int(np.ceil(q * rows)) - 1]) for q in QUARTILES]
    random = np.random.default_rng([rows, cells, int(epsilon * 100), len(name), len(shape)])
    missed, wide, dark = [0, 0], [0.0, 0.0], [0, 0]
    for at in range(repeats):
        a, b = (answers_of(chances, held[:, side], random) for side in (0, 1))
        counts = np.bincount(a, minlength=chances.shape[1])
        tests = QuantileTests(table, grid, counts, 0.95)
        missed[0] += sum(not tests.admits(j, q) for j, q in zip(quartiles, QUARTILES, strict=True))
        if ends or at < 4:
            found = estimate_quantiles("x", grid, table, counts, QUARTILES, 0.95)
            wide[0] += sum(q.high - q.low for q in found) / 3
            dark[0] += sum(q.hidden for q in found)
        pair = estimate_correlation(NoisyColumn("a", grid, table, a), NoisyColumn("b", grid, table, b), 0.95)
        missed[1] += not pair.low <= truth <= pair.high
        wide[1] += (pair.high - pair.low) / 2
        dark[1] += pair.hidden
    setting = f"{name}, ε = {epsilon:g}, {shape}, {rows:,} rows"
    looked = repeats if ends else min(repeats, 4)
    return (
        Held(setting, 3 * repeats, missed[0], wide[0] / looked, dark[0] / looked / 3),
        Held(setting, repeats, missed[1], wide[1] / repeats, dark[1] / repeats),
    )
