"""Generalisation hierarchies: the label of each value at each level, and builders."""

from workbench.risk.hierarchies.builders import BUILDERS, Builder, builder
from workbench.risk.hierarchies.hierarchy import ANY, Hierarchy, file_name, read_hierarchy

__all__ = ["ANY", "BUILDERS", "Builder", "Hierarchy", "builder", "file_name", "read_hierarchy"]
