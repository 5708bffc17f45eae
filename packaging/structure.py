"""The structure of the program by its imports: ``python packaging/structure.py [PACKAGE] [--arrows]``.

A room is a folder or a file directly in the package (the pages of the window are rooms of their own). An arrow means
that one room imports another. A room stands one floor above the highest room that it imports. A circle is a set of
rooms, or of files, that import each other. The exit code is 1 where there is a circle of files, a circle of rooms in
the package, or a page that imports another. Only the standard library is needed.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPENED = {"workbench.gui.pages"}
"""Folders whose children are rooms of the package around them."""


def main(arguments: list[str]) -> int:
    """Print rooms, floors, arrows and circles of a package; return 1 where something is tied that should not be."""
    package = next((a for a in arguments if not a.startswith("-")), "workbench")
    modules = modules_of(ROOT / "workbench")
    arrows: dict[str, set[str]] = defaultdict(set)
    files: dict[str, set[str]] = {}
    for name, path in modules.items():
        files[name] = imports(path, name, set(modules))
        here = room(name, package)
        for other in files[name]:
            there = room(other, package)
            if here and there and here != there:
                arrows[here].add(there)
    rooms = {r for name in modules if (r := room(name, package))}
    rings = circles(rooms, arrows)
    floors = heights(rooms, arrows, rings)
    for floor in range(max(floors.values(), default=0), 0, -1):
        for name in sorted(r for r in rooms if floors[r] == floor):
            sys.stdout.write(f"floor {floor}  {name}\n")
            if "--arrows" in arguments:
                sys.stdout.writelines(f"         -> {other}\n" for other in sorted(arrows[name]))
    tied = circles(set(modules), files)
    for ring in (*rings, *tied):
        sys.stdout.write(f"circle: {', '.join(sorted(ring))}\n")
    between = pages_that_meet(files)
    for one, other in between:
        sys.stdout.write(f"a page imports another: {one} -> {other}\n")
    count = sum(len(found) for found in arrows.values())
    sys.stdout.write(
        f"{package}: {len(rooms)} rooms, {max(floors.values(), default=0)} floors, {count} arrows, "
        f"{len(rings)} circles of rooms; {len(tied)} circles of files in the whole program\n"
    )
    return 1 if tied or rings or between else 0


def pages_that_meet(files: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the modules of one page that import a module of another; a page is a folder below an opened one."""
    found = []
    for opened in sorted(OPENED):
        below = {name: name.removeprefix(opened + ".").split(".") for name in files if name.startswith(opened + ".")}
        page_of = {name: parts[0] for name, parts in below.items() if len(parts) > 1}
        found += [
            (name, other)
            for name in sorted(page_of)
            for other in sorted(files[name])
            if other in page_of and page_of[other] != page_of[name]
        ]
    return found


def modules_of(folder: Path) -> dict[str, Path]:
    """Return every module below ``folder`` by its name, without those that only hand names on or say a charter."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if parts[-1] != "__init__" or defines(path):
            found[name] = path
    return found


def defines(path: Path) -> bool:
    """Return whether a module does more than import."""
    body = ast.parse(path.read_text("utf-8")).body
    return any(not isinstance(node, ast.Expr | ast.Import | ast.ImportFrom) for node in body)


def imports(path: Path, own: str, known: set[str]) -> set[str]:
    """Return the modules of the program that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [full if (full := f"{node.module}.{alias.name}") in known else node.module for alias in node.names]
        found.update(name for name in names if name in known and name != own)
    return found


def room(module: str, package: str) -> str:
    """Return the room of ``package`` that a module lies in; empty where it lies elsewhere."""
    if not module.startswith(package + "."):
        return ""
    name = package + "." + module.removeprefix(package + ".").partition(".")[0]
    if name in OPENED and module != name:
        name += "." + module.removeprefix(name + ".").partition(".")[0]
    return name


def circles(rooms: set[str], arrows: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of two or more that reach each other."""
    reach = {name: reached(name, arrows) for name in rooms}
    rings: list[set[str]] = []
    for name in sorted(rooms):
        ring = {other for other in reach[name] if name in reach.get(other, ())} | {name}
        if len(ring) > 1 and ring not in rings:
            rings.append(ring)
    return rings


def reached(start: str, arrows: dict[str, set[str]]) -> set[str]:
    """Return what can be reached from ``start``."""
    found: set[str] = set()
    left = list(arrows.get(start, ()))
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(arrows.get(name, ()))
    return found


def heights(rooms: set[str], arrows: dict[str, set[str]], rings: list[set[str]]) -> dict[str, int]:
    """Return the floor of each room; those of a circle share one."""
    together = {name: frozenset(ring) for ring in rings for name in ring}
    known: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in known:
            same = together.get(name, frozenset({name}))
            below = {other for member in same for other in arrows.get(member, ()) if other not in same}
            known.update(dict.fromkeys(same, 1 + max((height(other) for other in below), default=0)))
        return known[name]

    return {name: height(name) for name in rooms}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
