"""The rules of the house that ruff, mypy and import-linter do not know: ``python packaging/house_rules.py``.

Each rule takes the tree and returns what breaks it, one sentence per fault. Only the standard library is needed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

LONGEST_FILE = 700
TOP_LEVEL = {
    *(".ci", ".gitattributes", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "KNOWN-LIMITS.md", "LICENSE"),
    *("README.md", "packaging", "pyproject.toml", "resources", "tests", "workbench"),
}
CATALOGUES = {
    "workbench/privacy/local/mechanisms": "MECHANISMS",
    "workbench/privacy/local/frequency": "ORACLES",
    "workbench/learners": "LEARNERS",
    "workbench/synth": "SYNTHESISERS",
    "workbench/deep/networks": "NETWORKS",
    "workbench/studies/quality": "SCORES",
    "workbench/risk/measures": "MEASURES",
    "workbench/risk/attacks": "ATTACKS",
    "workbench/data/sources": "SOURCES",
    "workbench/cli": "COMMANDS",
    "workbench/render": "FIGURES",
}
LISTS = {
    "workbench/risk/generalise/models.py": "MODELS",
    "workbench/risk/generalise/losses.py": "LOSSES",
    "workbench/risk/hierarchies/builders.py": "BUILDERS",
    "workbench/risk/measures/population.py": "POPULATION_MODELS",
    "workbench/risk/membership.py": "GUESSES",
}
"""Files that hold a list and everything that it lists."""

TEXT = {".py", ".md", ".toml", ".txt", ".sh", ".json", ".cfg", ".yaml", ".yml"}
# Spelt in halves, so that this file keeps its own rule.
POSTPONED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


@dataclass(frozen=True)
class Tree:
    """The files that belong to the project.

    Attributes:
        root: the top folder.
        files: their paths relative to it.
    """

    root: Path
    files: tuple[PurePosixPath, ...]

    def text(self, file: PurePosixPath) -> str:
        """Return the text of ``file``."""
        return (self.root / file).read_text("utf-8")

    def python(self, under: str = "") -> list[PurePosixPath]:
        """Return the Python files, or those in the folder ``under`` and below."""
        return [f for f in self.files if f.suffix == ".py" and (not under or PurePosixPath(under) in f.parents)]


def tree(root: Path) -> Tree:
    """Return the files of the checkout at ``root`` that git does not ignore; all visible ones without git."""
    listed: list[str] = []
    try:
        # A clone that belongs to somebody else, as in a container, is read all the same.
        git = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z"]
        git += ["--cached", "--others", "--exclude-standard"]  # also those that are not added yet
        done = subprocess.run(git, capture_output=True, text=True, encoding="utf-8")
        listed = done.stdout.split("\0") if done.returncode == 0 else []
    except FileNotFoundError:
        pass  # no git on this machine: the folder is read instead
    files = [PurePosixPath(name) for name in listed if name and (root / name).is_file()]
    if not files:
        found = (f.relative_to(root) for f in root.rglob("*") if f.is_file())
        files = [PurePosixPath(f.as_posix()) for f in found if not ignored(f)]
    return Tree(root, tuple(sorted(files)))


def ignored(file: Path) -> bool:
    """Return whether a file of a folder without git is a product of working in it."""
    products = {"__pycache__", "results", "build", "dist"}
    return any(p in products or p.endswith(".egg-info") or (p.startswith(".") and p != ".ci") for p in file.parts[:-1])


def short_files(tree: Tree) -> Iterator[str]:
    """Every Python file can be read in one sitting."""
    for file in tree.python():
        lines = len(tree.text(file).splitlines())
        if lines > LONGEST_FILE:
            yield f"{file} has {lines} lines; split it below {LONGEST_FILE}"


MOST_LINES, MOST_PARAMETERS = 60, 8
_INTERFACE = "the keyword arguments of workbench.api are its interface"
_RUN = "what is done, and beside it jobs, progress, cancel and journal as keywords"
MANY = {
    **dict.fromkeys(
        (
            *("api/central:synthesize", "api/central:statistics", "api/central:publish", "api/generalized:generalize"),
            *("api/networks:train", "api/plans:plan", "api/plans:solve", "api/rappor:encode", "api/studies:curve"),
            *("api/studies:why", "api/tables:release"),
        ),
        _INTERFACE,
    ),
    "deep/table_kernel:logistic": "a compiled loop over arrays, which cannot be put into one object",
    "gui/pages/utility/tasks:study": _RUN,
    "rappor/simulate:simulate": _RUN,
    "release/risk_report:risk_report": _RUN,
    "sanitize/plan_template:draft": "facts of a table, each of which a caller may have or not, as keywords",
    "studies/curve:run_curve": _RUN,
}
"""Functions with more parameters, and why. Nothing excuses more lines."""


def short_functions(tree: Tree) -> Iterator[str]:
    """Every function can be read at a glance; one that takes more parameters says why."""
    excused = set()
    for file in tree.python("workbench"):
        for node in ast.walk(ast.parse(tree.text(file))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            words = (node.body[0].end_lineno or 0) - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
            lines = (node.end_lineno or 0) - node.lineno + 1 - words
            given = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            parameters = len([name for name in given if name not in ("self", "cls")])
            name = f"{file.relative_to('workbench').with_suffix('')}:{node.name}"
            if parameters > MOST_PARAMETERS:
                excused.add(name)
            if lines > MOST_LINES or (parameters > MOST_PARAMETERS and name not in MANY):
                what = f"{lines} lines without its docstring and {parameters} parameters"
                yield f"{file}:{node.lineno} {node.name} has {what}; split it, or give a reason for the latter in MANY"
    for name in MANY:
        if name not in excused and PurePosixPath(f"workbench/{name.partition(':')[0]}.py") in tree.files:
            yield f"MANY excuses {name}, which needs no excuse; remove it"


def allowed_top_level(tree: Tree) -> Iterator[str]:
    """The top folder holds what one expects there, and nothing else."""
    for name in sorted({f.parts[0] for f in tree.files} - TOP_LEVEL):
        yield f"{name} is not one of the names allowed in the top folder; move it below one of them"


def nothing_postponed(tree: Tree) -> Iterator[str]:
    """Nothing is left for later in a comment."""
    for file in tree.files:
        if file.suffix not in TEXT and file.suffix:
            continue
        try:
            lines = tree.text(file).splitlines()
        except UnicodeDecodeError:
            continue  # a picture or a test's binary input
        for number, line in enumerate(lines, 1):
            found = POSTPONED.search(line)
            if found:
                yield f"{file}:{number} postpones something ({found[0]}); do it, or say it in KNOWN-LIMITS.md"


def distinct_test_names(tree: Tree) -> Iterator[str]:
    """No two test files share a name: pytest imports them by it, as their folders are no packages."""
    places: dict[str, PurePosixPath] = {}
    for file in tree.python("tests"):
        first = places.setdefault(file.name, file)
        if first != file and file.name != "conftest.py":
            yield f"{file} has the name of {first}; rename one"


def charters(tree: Tree) -> Iterator[str]:
    """Every package says in one line what it is for."""
    for file in tree.python("workbench"):
        if file.name != "__init__.py":
            continue
        first, _, _ = (ast.get_docstring(ast.parse(tree.text(file))) or "").partition("\n")
        if not first.endswith(".") or len(first.split()) < 3:
            yield f"{file} does not begin with a one-line charter: a docstring that ends with a full stop"


def described_methods(tree: Tree) -> Iterator[str]:
    """Every public method below the window says what it does, or overrides one of this program that does."""
    classes = [
        (file, node)
        for file in tree.python("workbench")
        if "gui" not in file.parts  # most of its methods override those of Qt or of the page frame
        for node in ast.parse(tree.text(file)).body
        if isinstance(node, ast.ClassDef)
    ]
    said: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for _, node in classes:
        said[node.name] |= {m.name for m in node.body if isinstance(m, ast.FunctionDef) and ast.get_docstring(m)}
        bases[node.name] |= {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases} - {
            node.name
        }

    def says(name: str, method: str) -> bool:
        return method in said[name] or any(says(base, method) for base in bases[name])

    for file, node in classes:
        for method in node.body if node.name[0] != "_" else ():
            if not isinstance(method, ast.FunctionDef) or method.name[0] == "_" or says(node.name, method.name):
                continue
            if ast.unparse(method.body[-1]) != "...":
                yield f"{file}:{method.lineno} {node.name}.{method.name} has no docstring, and overrides none that has"


def every_folder_is_a_package(tree: Tree) -> Iterator[str]:
    """No folder of the program lacks its ``__init__``, and packaging/ has none, as it would shadow a library."""
    folders = {file.parent for file in tree.python("workbench")}
    for folder in sorted(folders):
        if folder / "__init__.py" not in tree.files:
            yield f"{folder} has no __init__.py with its charter"
    if PurePosixPath("packaging/__init__.py") in tree.files:
        yield "packaging/__init__.py would shadow the library of that name; remove it"


def reasons_of_dependencies(tree: Tree) -> Iterator[str]:
    """Each dependency comes with the reason why it is there, in pyproject."""
    text = tree.text(PurePosixPath("pyproject.toml"))
    project = tomllib.loads(text)["project"]
    groups = project.get("optional-dependencies", {})
    for requirement in (*project.get("dependencies", ()), *(r for group in groups.values() for r in group)):
        lines = [line for line in text.splitlines() if f'"{requirement}"' in line]
        if not any(re.search(r"#\s*\S+", line.split(f'"{requirement}"', 1)[1]) for line in lines):
            yield f'pyproject.toml does not say why "{requirement}" is there; add a comment on its line'


def pinned(tree: Tree) -> Iterator[str]:
    """Every dependency has an exact version in the constraints, which name no registry and no build of one machine."""
    constraints = tree.text(PurePosixPath("packaging/constraints.txt"))
    pins = [line for line in constraints.splitlines() if line.strip() and not line.startswith("#")]
    for pin in pins:
        if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", pin):
            yield f"packaging/constraints.txt: {pin!r} is not an exact version (name==version, no build suffix)"
        elif re.match(r"nvidia|cuda|triton", pin):
            yield f"packaging/constraints.txt: {pin} ties the set-up to one kind of graphics card; remove it"
    if not pins or not pins[0].startswith("torch=="):
        yield "packaging/constraints.txt does not begin with torch, which must be constrained first"
    project = tomllib.loads(tree.text(PurePosixPath("pyproject.toml")))["project"]
    groups = project.get("optional-dependencies", {}).values()
    known = {pin.split("==")[0] for pin in pins}
    for requirement in (*project.get("dependencies", ()), *(r for group in groups for r in group)):
        found = re.match(r"[A-Za-z0-9._-]+", requirement)
        if found and re.sub(r"[-_.]+", "-", found[0]).lower() not in known:
            yield f"packaging/constraints.txt has no version for {found[0]}, which pyproject.toml asks for"


def catalogues(tree: Tree) -> Iterator[str]:
    """What is found by a list is in the list: mechanisms, learners, synthesisers, commands, figures."""
    for folder, name in CATALOGUES.items():
        here = {f.stem: f for f in tree.python(folder) if f.parent == PurePosixPath(folder)}
        # A folder with its __init__ is one module of the list, too.
        below = [f for f in tree.python(folder) if f.name == "__init__.py" and f.parent.parent == PurePosixPath(folder)]
        here |= {f.parent.name: f for f in below}
        modules = {stem: ast.parse(tree.text(file)) for stem, file in here.items()}
        place, listing = next(
            ((stem, found) for stem, module in modules.items() if (found := assigned(module, name))), ("__init__", None)
        )
        kind = element_of(listing) if listing else ""
        listed = modules_of(modules[place], listing, folder) if listing else set()
        for stem in sorted(modules):
            if describes(modules[stem], name.removesuffix("S"), kind) and stem not in listed:
                yield f"{folder}/{stem}.py is not listed in {name} of {folder}/{place}.py; add it there"
        for stem in sorted(listed - set(modules)):
            yield f"{name} of {folder}/{place}.py lists {stem}, but there is no {folder}/{stem}.py"


def descriptors(tree: Tree) -> Iterator[str]:
    """Each of several descriptors in one file is in the list, too."""
    for file, name in LISTS.items():
        if PurePosixPath(file) not in tree.files:
            continue
        module = ast.parse(tree.text(PurePosixPath(file)))
        listing = assigned(module, name)
        if listing is None:
            yield f"{file} has no list {name}"
        else:
            here, named = kept_by(module, listing), names_in(module, listing)
            yield from (f"{one} of {file} is not listed in {name}" for one in here if one not in named)
    for folder, name in CATALOGUES.items():
        place = PurePosixPath(folder, "__init__.py")
        module = ast.parse(tree.text(place) if place in tree.files else "")
        listing = assigned(module, name)
        if listing is None or element_of(listing) in ("", "str"):
            continue
        named = names_in(module, listing)
        for beside in (f for f in tree.python(folder) if f.parent == place.parent):
            here = kept_by(ast.parse(tree.text(beside)), listing)
            if any(one in named for one in here):  # else the file as a whole is missing
                yield from (f"{one} of {beside} is not listed in {name} of {place}" for one in here if one not in named)


def names_in(module: ast.Module, listing: ast.Assign | ast.AnnAssign) -> set[str]:
    """Return what the entries of a list are called where they are made."""
    imported = [alias for node in ast.walk(module) if isinstance(node, ast.ImportFrom) for alias in node.names]
    origins = {alias.asname or alias.name: alias.name for alias in imported}
    nodes = list(ast.walk(listing.value)) if listing.value else []
    found = [n.id if isinstance(n, ast.Name) else n.attr for n in nodes if isinstance(n, ast.Name | ast.Attribute)]
    return {origins.get(name, name) for name in found}


def kept_by(module: ast.Module, listing: ast.Assign | ast.AnnAssign) -> list[str]:
    """Return the values at the top of ``module`` that are what ``listing`` lists; of a list of classes, the classes."""
    kind, found = element_of(listing), []
    classes = isinstance(listing, ast.AnnAssign) and "type[" in ast.unparse(listing.annotation)
    for statement in module.body:
        if classes and isinstance(statement, ast.ClassDef) and kind in [ast.unparse(base) for base in statement.bases]:
            found.append(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            stated = ast.unparse(statement.annotation) if isinstance(statement, ast.AnnAssign) else ""
            made = ast.unparse(statement.value.func) if isinstance(statement.value, ast.Call) else ""
            if isinstance(target, ast.Name) and kind in (stated, made.rpartition(".")[2]):
                found.append(target.id)
    return found


def assigned(module: ast.Module, name: str) -> ast.Assign | ast.AnnAssign | None:
    """Return the statement that binds ``name`` at the top of ``module``."""
    for statement in module.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if name in [t.id for t in targets if isinstance(t, ast.Name)]:
            return statement
    return None


def element_of(listing: ast.Assign | ast.AnnAssign) -> str:
    """Return T of ``name: tuple[T, ...]`` or ``dict[T, …]``; empty where the statement does not say."""
    annotation = ast.unparse(listing.annotation) if isinstance(listing, ast.AnnAssign) else ""
    found = re.match(r"(?:tuple|dict)\[(?:type\[)?(\w+)\]?, ", annotation)
    return found[1] if found else ""


def modules_of(module: ast.Module, listing: ast.Assign | ast.AnnAssign, folder: str) -> set[str]:
    """Return the names of the modules that the entries of a catalogue come from.

    An entry names its module by its import (``from folder.grr import GRR`` or ``from folder import grr``, then
    ``grr.GRR``), or by a string: the module's name in a list of strings or as a key, ``workbench.folder.module``
    elsewhere (``:name`` may follow).
    """
    origins: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inside = (node.module or "").removeprefix(folder.replace("/", ".") + ".").partition(".")[0]
                origins[alias.asname or alias.name] = alias.name if alias.name.islower() else inside
    found: set[str] = set()
    value = listing.value
    entries = [key for key in value.keys if key] if isinstance(value, ast.Dict) else [value] if value else []
    for node in (node for entry in entries for node in ast.walk(entry)):
        if isinstance(node, ast.Name) and node.id in origins:
            found.add(origins[node.id])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            package, _, stem = node.value.partition(":")[0].rpartition(".")
            if package.startswith("workbench.") or element_of(listing) == "str":
                found.add(stem)
    return found


def describes(module: ast.Module, constant: str, kind: str) -> bool:
    """Return whether ``module`` holds something to be listed: ``constant``, or a value or class of ``kind``."""
    if assigned(module, constant):
        return True
    values = [s.value for s in module.body if isinstance(s, ast.Assign | ast.AnnAssign)]
    makers = [ast.unparse(value.func).rpartition(".")[2] for value in values if isinstance(value, ast.Call)]
    bases = [ast.unparse(base) for s in module.body if isinstance(s, ast.ClassDef) for base in s.bases]
    return bool(kind) and kind in (*makers, *bases)


RULES: tuple[Callable[[Tree], Iterator[str]], ...] = (
    short_files,
    short_functions,
    allowed_top_level,
    nothing_postponed,
    distinct_test_names,
    charters,
    described_methods,
    every_folder_is_a_package,
    reasons_of_dependencies,
    pinned,
    catalogues,
    descriptors,
)


def main() -> int:
    """Print every fault of this checkout; return 1 where there is one."""
    here = tree(Path(__file__).resolve().parent.parent)
    faults = [fault for rule in RULES for fault in rule(here)]
    print("\n".join(faults) if faults else f"{len(here.files)} files keep {len(RULES)} rules")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
