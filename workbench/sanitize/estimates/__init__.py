"""What a released table says of the original one: frequencies and means, corrected for the noise, with intervals."""

from workbench.sanitize.estimates.column import ColumnEstimate, estimate_column, estimate_names, estimate_numbers
from workbench.sanitize.estimates.interval import Interval

__all__ = ["ColumnEstimate", "Interval", "estimate_column", "estimate_names", "estimate_numbers"]
