"""Estimates of the original table from a released one: frequencies and means, corrected for noise, with intervals."""

from workbench.sanitize.estimates.column import ColumnEstimate, estimate_column, estimate_names, estimate_numbers
from workbench.sanitize.estimates.interval import Interval

__all__ = ["ColumnEstimate", "Interval", "estimate_column", "estimate_names", "estimate_numbers"]
