"""Noise for a handful of central numbers (counts, sums) from a maintained library with proved samplers."""

from workbench.privacy.central.central_noise import CentralNoise, NoNoise
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise

__all__ = ["CentralNoise", "NoNoise", "ReleasedNoise", "StudyNoise"]
