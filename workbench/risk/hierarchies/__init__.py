"""Generalisation hierarchies: what each value of a column becomes at each level, and ways to make one."""

from workbench.risk.hierarchies.builders import BUILDERS, Builder, builder
from workbench.risk.hierarchies.hierarchy import ANY, Hierarchy, file_name, read_hierarchy

__all__ = ["ANY", "BUILDERS", "Builder", "Hierarchy", "builder", "file_name", "read_hierarchy"]
