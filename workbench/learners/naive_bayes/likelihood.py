"""Class-conditional densities of one attribute, from noisy sums with known noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.data.schema import Attribute
from workbench.learners.denoise import Doubles, cell_probabilities, class_means, near_mean, positive_mean
from workbench.learners.encoding import blocks, bounds_of
from workbench.privacy.central.sums import scaled

LEAST_VARIANCE = 1e-9
"""In squared half-ranges; a class whose values are all one cell has a narrow density, not an infinite one."""

_OWN_SPREAD = 0.5
"""How far a class's variance usually lies from the common one, as a part of it; chosen like the other defaults."""


@dataclass(frozen=True)
class ClassSizes:
    """Estimated sizes of the classes (k,) and the variance that the noise left in each (k,)."""

    sizes: Doubles
    variance: Doubles


@dataclass(frozen=True)
class GaussianDensity:
    """One normal density a class, in the attribute's own units."""

    attribute: Attribute  # public facts; values outside the bounds are clamped to them, as in training
    means: Doubles  # of each class (k,), in half-ranges from the centre of the bounds
    variances: Doubles  # of each class (k,), in squared half-ranges
    presence: Doubles | None  # P(present | class) and P(missing | class) (k, 2), where the attribute may be missing

    def log_density(self, column: Doubles) -> Doubles:
        """Return log p(x | class) of each row (n, k); a missing value has the probability of being missing."""
        found: Doubles = log_densities([self], column[:, None])[0]
        return found


def log_densities(densities: Sequence[GaussianDensity], X: Doubles) -> Doubles:
    """Return :meth:`GaussianDensity.log_density` of each column of X (n, c), as (c, n, k)."""
    lower, upper = (bound[:, None] for bound in bounds_of(density.attribute for density in densities))
    z = scaled(X.T, lower, upper)[..., None]
    means = np.stack([density.means for density in densities])[:, None]
    variances = np.stack([density.variances for density in densities])[:, None]
    found = -0.5 * (np.log(2 * np.pi * variances) + (z - means) ** 2 / variances)
    found -= np.log(upper / 2 - lower / 2)[..., None]
    for place, density in enumerate(densities):
        if density.presence is not None:
            known = np.log(np.maximum(density.presence, LEAST_VARIANCE))
            found[place] = np.where(np.isnan(z[place]), known[:, 1], found[place] + known[:, 0])
    return found


@dataclass(frozen=True)
class CellDensity:
    """One distribution over the cells of a categorical attribute a class (k, v); each row sums to 1."""

    attribute: Attribute
    probabilities: Doubles

    def log_density(self, column: Doubles) -> Doubles:
        """Return log P(x | class) of each row (n, k)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities).T[column.astype(np.int64)])


def smoothed(probabilities: Doubles, sizes: Doubles, pseudo_count: float) -> Doubles:
    """Return (n_c·p + α)/(n_c + α·v): Lidstone smoothing with ``pseudo_count`` rows a cell."""
    weight = sizes[:, None] + pseudo_count * probabilities.shape[1]
    return np.asarray((sizes[:, None] * probabilities + pseudo_count) / np.maximum(weight, LEAST_VARIANCE))


def histogram_cells(noisy: Sequence[int], classes: ClassSizes, variance: float) -> Doubles:
    """Return P(cell | class) (k, v) from a released histogram, class slowest."""
    counts = np.array(noisy, dtype=np.float64).reshape(len(classes.sizes), -1)
    return cell_probabilities(counts, classes.sizes, classes.variance, variance)


def gaussian_moments(
    sums: Doubles,
    complements: Doubles,
    classes: ClassSizes,
    variance: Doubles,
    spread: float,
    typical_variance: float,
) -> tuple[Doubles, Doubles]:
    """Return means and variances of the classes (c, k), (c, k), in half-ranges, from released moment sums of columns.

    The variance is E[z²] − mean², with Σz² = n − 2Σt. With noise, it is a positive posterior mean drawn towards
    ``typical_variance`` (pooled over the classes) and from there to each class's own, where its sum was asked for, as
    far as that is clearer than its noise; to it is added what the mean's variance still is, so that an attribute with
    little information has little weight.

    Args:
        sums: Σi of each column and class (c, k), in units of K.
        complements: Σt of each class (c, k) or of all rows (c, 1), in units of K.
        classes: rows of each class in which the attribute is present, (c, k) each.
        variance: of the noise of each sum (c, 1), in units of K²; all 0 without noise.
        spread: prior deviation of class means about the common mean, in half-ranges.
        typical_variance: public prior mean of the variance within a class, in squared half-ranges.
    """
    sizes, terms = classes.sizes, complements.shape[1]
    raw = sums / sizes
    mean_variance = (variance + np.clip(raw, -1, 1) ** 2 * classes.variance) / sizes**2
    means, left, weight = class_means(raw, mean_variance, spread)
    total = sizes.sum(axis=1, keepdims=True)
    share = sizes / total
    per_class = sums.shape == complements.shape
    if not variance.any() and per_class:
        return means, np.maximum(1 - 2 * complements / sizes - means**2, LEAST_VARIANCE)

    # Two parts of noise: 2Σt/n, and the squared means, whose derivative is 2·mean.
    of_means = 4 * (share**2 * means**2 * mean_variance * weight**2).sum(axis=1, keepdims=True)
    deviation = np.sqrt(4 * terms * variance / total**2 + of_means)
    within = 1 - 2 * complements.sum(axis=1, keepdims=True) / total - (share * means**2).sum(axis=1, keepdims=True)
    variances = positive_mean(within, deviation, typical_variance)
    if per_class:
        own = 1 - 2 * complements / sizes - means**2
        own_deviation = np.sqrt((4 + 4 * means**2) * variance + (1 - own) ** 2 * classes.variance) / sizes
        variances = near_mean(own, own_deviation, np.maximum(variances, LEAST_VARIANCE), _OWN_SPREAD)
    return means, np.maximum(variances + left, LEAST_VARIANCE)


def present_sizes(classes: ClassSizes, presence: Doubles | None, variance: float) -> ClassSizes:
    """Return the rows of each class in which the attribute is present."""
    if presence is None:
        return classes
    present = np.maximum(classes.sizes * presence[:, 0], LEAST_VARIANCE)
    if variance > 0:
        present = np.maximum(present, 0.5)
    return ClassSizes(present, classes.variance * presence[:, 0] ** 2 + variance)


Density = GaussianDensity | CellDensity


def class_chances(sizes: Doubles, densities: Mapping[int, Density], columns: Doubles) -> Doubles:
    """Return P(class | row) (n, k); a row that is impossible in every class gets the class sizes."""
    joint = joint_log_likelihood(sizes, densities, columns)
    impossible = ~np.isfinite(joint).any(axis=1)
    joint[impossible] = np.log(sizes)
    odds = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def joint_log_likelihood(sizes: Doubles, densities: Mapping[int, Density], columns: Doubles) -> Doubles:
    """Return log P(class) + Σ log p(x_j | class) of each row (n, k)."""
    found = np.tile(np.log(sizes / sizes.sum()), (len(columns), 1))
    lines = {j: density for j, density in densities.items() if isinstance(density, GaussianDensity)}
    for block in blocks(len(columns)):
        part, total = columns[block], found[block]
        of_lines = dict(zip(lines, log_densities([*lines.values()], part[:, [*lines]]) if lines else (), strict=True))
        for j, density in densities.items():
            total += of_lines[j] if j in of_lines else density.log_density(part[:, j])
    return found
