"""The house as it is imported: Qt only where it belongs, a light command line, layers that point one way."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DRAWS = ("workbench.gui", "workbench.render")
HEAVY = ("torch", "numba", "sklearn", "scipy.stats", "opendp.prelude", "dp_accounting", "PySide6")

IMPORT_WITHOUT_QT = """
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("PySide6", "shiboken6"):
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Blocked())
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error)
"""
IMPORT_AND_LIST = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(*(name for name in sys.argv[2:] if name in sys.modules))
"""


def modules() -> list[str]:
    """Return every module of the program by its dotted name."""
    files = (f.relative_to(ROOT).with_suffix("") for f in (ROOT / "workbench").rglob("*.py"))
    return sorted(".".join(f.parts).removesuffix(".__init__") for f in files if f.name != "__main__")


def python(code: str, *arguments: str) -> str:
    """Run ``code`` in a Python of its own; return what it printed."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_module_that_does_not_draw_works_without_qt():
    others = [name for name in modules() if not name.startswith(DRAWS)]
    assert len(others) > 30
    assert python(IMPORT_WITHOUT_QT, *others) == ""


def test_qt_is_really_blocked_in_that_test():
    assert "is blocked" in python(IMPORT_WITHOUT_QT, "PySide6.QtCore")


@pytest.mark.parametrize("name", ["workbench.cli", "workbench.cli.main", "workbench.__main__"])
def test_the_command_line_starts_light(name):
    assert python(IMPORT_AND_LIST, name, *HEAVY) == ""


def test_heavy_libraries_are_really_seen_in_that_test():
    assert python(IMPORT_AND_LIST, "PySide6.QtCore", *HEAVY) == "PySide6"


def test_each_command_shows_its_help_without_heavy_libraries():
    code = (
        "import sys\n"
        "from workbench.cli.catalogue import COMMANDS, load\n"
        "from workbench.cli.main import parser_of\n"
        "for name in COMMANDS:\n"
        "    assert 'example' in parser_of(load(name)).format_help(), name\n"
        "print(*(name for name in sys.argv[1:] if name in sys.modules))\n"
    )
    assert python(code, *HEAVY) == ""


def test_every_package_is_a_layer():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(c for c in contracts if c["type"] == "layers")
    assert layers["exhaustive"] is True
    named = {part.strip("() ") for line in layers["layers"] for part in line.split("|")}
    packages = {f.parent.name for f in (ROOT / "workbench").glob("*/__init__.py")}
    assert packages <= named


PLANTED = [
    ("params.planted", "workbench.release", "layers point one way"),
    ("sanitize.planted", "workbench.deep", "layers point one way"),
    ("synth.planted", "workbench.sanitize", "layers point one way"),
    ("data.planted", "PySide6", "Qt only in gui and render"),
    ("learners.planted", "torch", "torch and numba only in deep"),
    ("learners.another", "numba", "torch and numba only in deep"),
    ("privacy.planted", "polars", "privacy knows neither tables nor windows"),
    ("work.planted", "workbench.privacy.central.laplace", "central noise is drawn by Ask alone"),
    ("gui.planted", "dp_accounting", "dp-accounting is imported whole and in one place"),
]


def test_imports_against_the_layers_are_found(tmp_path):
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    linter = tomllib.loads(project)["tool"]["importlinter"]
    excepted = [line for contract in linter["contracts"] for line in contract.get("ignore_imports", ())]

    def write(module: str, text: str = "") -> None:
        path = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    layers = next(contract["layers"] for contract in linter["contracts"] if contract["type"] == "layers")
    packages = [part.strip() for line in layers for part in line.split("|") if part.strip() != "__main__"]
    for module in ("__init__", "__main__", *(f"{package}.__init__" for package in packages)):
        write(f"workbench.{module}")
    for module in ("privacy.central.__init__", "privacy.central.laplace", "privacy.accounting.__init__"):
        write(f"workbench.{module}")
    for line in excepted:
        importer, _, imported = line.partition(" -> ")
        write(importer, f"import {imported}\n")
    (tmp_path / "pyproject.toml").write_text(project, "utf-8")
    assert lint_imports(tmp_path)[0] == 0
    for module, imported, _ in PLANTED:
        write(f"workbench.{module}", f"import {imported}\n")
    status, printed = lint_imports(tmp_path)
    assert status == 1
    for module, imported, contract in PLANTED:
        assert f"{contract} BROKEN" in printed
        assert f"workbench.{module} -> {imported}" in printed


def lint_imports(folder: Path) -> tuple[int, str]:
    """Run import-linter on the workbench of ``folder``; return its exit status and what it printed."""
    code = "from importlinter.cli import lint_imports_command as main; main()"
    variables = dict(os.environ, PYTHONPATH=str(folder), COLUMNS="200")
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=variables,
        encoding="utf-8",
    )
    return done.returncode, done.stdout + done.stderr


def test_the_list_of_slow_tests_names_tests_that_exist():
    folder = Path(__file__).parent
    for line in (folder / "slow_tests.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            file, _, name = line.partition("::")
            assert (folder / file).is_file(), line
            function = name.partition("[")[0]
            assert f"def {function}(" in (folder / file).read_text("utf-8") or not function, line
