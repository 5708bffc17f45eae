"""Groups of categories, and groups of groups: Bremen → north → Germany → *."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.params import ParameterError, Parameters, texts
from workbench.risk.hierarchies.builder import Builder


@dataclass(frozen=True, kw_only=True)
class Tree(Parameters):
    """The groups."""

    groups: tuple[str, ...] = texts(
        default=(),
        repeated=True,
        help="a group with its members, NAME = member | member; a member is a value or a group that is listed too",
    )


def _levels(given: Tree, values: Sequence[str]) -> list[Sequence[str]]:
    parent: dict[str, str] = {}
    for group in given.groups:
        name, equals, members = (part.strip() for part in group.partition("="))
        if not name or not equals:
            raise ParameterError(f"the group {group!r} has no name or no members", "groups", "write NAME = a | b")
        for member in (part.strip() for part in members.split("|")):
            if parent.setdefault(member, name) != name:
                raise ParameterError(f"{member!r} is in two groups: {parent[member]!r} and {name!r}", "groups")
    paths = {value: _path(value, parent) for value in values}
    depth = max((len(path) for path in paths.values()), default=1)
    # A value with fewer groups above it keeps its highest one until the others have reached theirs.
    return [[paths[value][min(level, len(paths[value]) - 1)] for value in values] for level in range(1, depth)]


def _path(value: str, parent: dict[str, str]) -> list[str]:
    path = [value]
    while path[-1] in parent:
        path.append(parent[path[-1]])
        if path[-1] in path[:-1]:
            raise ParameterError(f"the group {path[-1]!r} contains itself", "groups", "take it out of its members")
    return path


TREE = Builder(
    name="tree",
    title="category tree",
    help="categories are joined into groups, and groups into larger ones",
    parameters=Tree,
    levels=_levels,
)
