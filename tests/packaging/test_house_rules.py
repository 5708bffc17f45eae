"""The rules of the house: this checkout keeps them, and each of them finds a planted fault."""

import shutil
import subprocess
from pathlib import Path, PurePosixPath

import house_rules
import pytest
from house_rules import RULES, Tree

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = "# why\ntorch==2.13.0\n\nnumpy==2.4.6\npyside6-essentials==6.10.2\n"
PYPROJECT = """[project]
dependencies = [
    "numpy>=2",  # columns
    "PySide6_Essentials>=6.10",  # the window
]
[project.optional-dependencies]
deep = ["torch>=2.13"]  # networks
"""
GRR = "MECHANISM_FILE = True\nGRR = Mechanism(name='grr')\n"
RISK = {"workbench/risk/__init__.py": '"""What others could learn."""\n'}
API = {"workbench/api/__init__.py": '"""The same from Python."""\n'}
SAYS = 'class A:\n    def of(self):\n        "What of."\n'
MANY = "a, b, c, d, e, f, g, h, i"
SOUND = {
    "workbench/__init__.py": '"""A sound little workbench."""\n',
    "workbench/privacy/__init__.py": '"""What a mechanism is."""\n',
    "workbench/privacy/local/mechanisms/__init__.py": '"""Mechanisms, one file each."""\n'
    "from workbench.privacy.local.mechanisms.grr import GRR as ONE\n\nMECHANISMS: tuple[Mechanism, ...] = (ONE,)\n",
    "workbench/privacy/local/mechanisms/grr.py": GRR,
    "workbench/privacy/local/mechanisms/base.py": "class Mechanism: ...\n",
    "workbench/cli/__init__.py": '"""One file per command."""\n',
    "workbench/cli/catalogue.py": 'COMMANDS: dict[str, str] = {"plan": "make a plan"}\nLATER = ("rappor",)\n',
    "workbench/cli/plan.py": "COMMAND = Command(name='plan')\n",
    "pyproject.toml": PYPROJECT,
    "packaging/constraints.txt": CONSTRAINTS,
    "packaging/dev.py": "",
    ".ci/run": "#!/bin/sh\n",
}


def plant(folder: Path, changes: dict[str, str | None]) -> Tree:
    """Write a sound checkout with ``changes`` (None: without that file)."""
    for name, text in (SOUND | changes).items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
    return house_rules.tree(folder)


def faults(tree: Tree) -> list[str]:
    return [fault for rule in RULES for fault in rule(tree)]


def test_this_checkout_keeps_every_rule():
    assert faults(house_rules.tree(ROOT)) == []


def test_every_list_that_is_looked_at_is_there():
    for folder in house_rules.CATALOGUES:
        assert (ROOT / folder / "__init__.py").is_file()
    for file in house_rules.LISTS:
        assert (ROOT / file).is_file()


def test_a_sound_checkout_has_no_fault(tmp_path):
    overrides = {"workbench/a.py": f"{SAYS}class B(A):\n    def of(self): return 1\n"}
    assert faults(plant(tmp_path, overrides)) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"workbench/long.py": "x = 1\n" * 701}, "workbench/long.py has 701 lines"),
        ({"tests/test_long.py": "x = 1\n" * 800}, "tests/test_long.py has 800 lines"),
        ({"workbench/long.py": "def f():\n" + "    x = 1\n" * 61}, "workbench/long.py:1 f has 62 lines"),
        (
            {"workbench/many.py": "def f(a, b, c, d, e, g, h, *, i, j): ...\n"},
            "f has 1 lines without its docstring and 9",
        ),
        ({"workbench/api/rappor.py": "def encode(a, b): ...\n", **API}, "excuses api/rappor:encode, which needs no"),
        (
            {"workbench/api/rappor.py": f"def encode({MANY}):\n" + "    x = 1\n" * 61, **API},
            "encode has 62 lines without its docstring and 9",
        ),
        ({"notes.txt": "mine"}, "notes.txt is not one of the names allowed in the top folder"),
        ({"docs/index.md": "mine"}, "docs is not one of the names allowed in the top folder"),
        ({"workbench/later.py": "# TO" + "DO: this\n"}, "workbench/later.py:1 postpones something"),
        ({"README.md": "fine\nFIX" + "ME\n"}, "README.md:2 postpones something"),
        ({"tests/a/test_x.py": "", "tests/b/test_x.py": ""}, "tests/b/test_x.py has the name of tests/a/test_x.py"),
        ({"workbench/__init__.py": ""}, "workbench/__init__.py does not begin with a one-line charter"),
        ({"workbench/__init__.py": '"""Words without an end"""'}, "workbench/__init__.py does not begin"),
        ({"workbench/a.py": "class A:\n    def of(self): return 1\n"}, "workbench/a.py:2 A.of has no docstring"),
        ({"workbench/a.py": f"{SAYS}class B(A):\n    def at(self): return 1\n"}, "a.py:5 B.at has no docstring"),
        ({"workbench/data/table_reader.py": "x = 1\n"}, "workbench/data has no __init__.py"),
        ({"packaging/__init__.py": ""}, "would shadow the library"),
        ({"pyproject.toml": PYPROJECT.replace("  # columns", "")}, 'does not say why "numpy>=2" is there'),
        ({"pyproject.toml": PYPROJECT.replace("  # networks", "  #")}, 'does not say why "torch>=2.13" is there'),
        ({"pyproject.toml": PYPROJECT.replace("numpy>=2", "scipy>=1")}, "has no version for scipy"),
        ({"packaging/constraints.txt": CONSTRAINTS + "scipy>=1.17\n"}, "'scipy>=1.17' is not an exact version"),
        ({"packaging/constraints.txt": CONSTRAINTS.replace("13.0", "13.0+cpu")}, "'torch==2.13.0+cpu' is not an exact"),
        ({"packaging/constraints.txt": CONSTRAINTS + "--index-url x\n"}, "'--index-url x' is not an exact version"),
        ({"packaging/constraints.txt": CONSTRAINTS + "nvidia-nccl==2.0\n"}, "one kind of graphics card"),
        ({"packaging/constraints.txt": "numpy==2.4.6\n" + CONSTRAINTS}, "does not begin with torch"),
        (
            {"workbench/privacy/local/mechanisms/warner.py": "WARNER = Mechanism(name='warner')\n"},
            "workbench/privacy/local/mechanisms/warner.py is not listed in MECHANISMS",
        ),
        (
            {"workbench/privacy/local/mechanisms/warner.py": "WARNER: Mechanism = base.Mechanism()\n"},
            "workbench/privacy/local/mechanisms/warner.py is not listed in MECHANISMS",
        ),
        ({"workbench/cli/curve.py": "COMMAND = Command()\n"}, "workbench/cli/curve.py is not listed in COMMANDS"),
        ({"workbench/cli/rappor.py": "COMMAND = Command()\n"}, "workbench/cli/rappor.py is not listed in COMMANDS"),
        ({"workbench/cli/plan.py": None}, "lists plan, but there is no workbench/cli/plan.py"),
        (
            {
                "workbench/learners/__init__.py": '"""Private models, listed."""\n',
                "workbench/learners/trees.py": "LEARNER = 1\n",
            },
            "workbench/learners/trees.py is not listed in LEARNERS",
        ),
        (
            {"workbench/privacy/local/mechanisms/grr.py": GRR + "WARNER = Mechanism(name='warner')\n"},
            "WARNER of workbench/privacy/local/mechanisms/grr.py is not listed in MECHANISMS",
        ),
        (
            {
                "workbench/risk/membership.py": "A = Guess()\nB: Guess = made()\nGUESSES: tuple[Guess, ...] = (A,)\n",
                **RISK,
            },
            "B of workbench/risk/membership.py is not listed in GUESSES",
        ),
        (
            {
                "workbench/risk/generalise/models.py": "class A(PrivacyModel): ...\nclass B(PrivacyModel): ...\n"
                "MODELS: tuple[type[PrivacyModel], ...] = (B,)\n",
                "workbench/risk/generalise/__init__.py": '"""Tables made more general."""\n',
                **RISK,
            },
            "A of workbench/risk/generalise/models.py is not listed in MODELS",
        ),
        (
            {"workbench/risk/membership.py": "A = Guess()\n", **RISK},
            "workbench/risk/membership.py has no list GUESSES",
        ),
    ],
)
def test_a_planted_fault_is_found(tmp_path, changes, fault):
    found = faults(plant(tmp_path, changes))
    assert len(found) == 1, found
    assert fault in found[0]


def test_what_git_does_not_ignore_counts_though_it_was_not_added_yet(tmp_path):
    if not shutil.which("git"):
        pytest.skip("there is no git on this machine")
    plant(tmp_path, {"mine.csv": "private", ".gitignore": "mine.csv\n", "new.py": "", "gone.py": ""})
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", *(set(SOUND) | {"gone.py"})], check=True)
    (tmp_path / "gone.py").unlink()
    assert {str(file) for file in house_rules.tree(tmp_path).files} == {*SOUND, ".gitignore", "new.py"}


def test_without_git_what_working_in_the_folder_left_is_passed_over(tmp_path):
    left = [".venv/lib/x.py", "workbench/__pycache__/x.py", "results/a/x.py", ".mypy_cache/x.json", "it.egg-info/x"]
    tree = plant(tmp_path, dict.fromkeys(left, "x"))
    assert {str(file) for file in tree.files} == set(SOUND)


def test_a_binary_file_is_passed_over(tmp_path):
    tree = plant(tmp_path, {})
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources" / "odd.txt").write_bytes(b"\xff\xfe\x00")
    assert faults(Tree(tree.root, (*tree.files, PurePosixPath("resources/odd.txt")))) == []


def test_the_program_prints_its_verdict(monkeypatch, capsys):
    monkeypatch.setattr(house_rules, "RULES", (lambda tree: iter(()),))
    assert house_rules.main() == 0
    assert "files keep 1 rules" in capsys.readouterr().out
    monkeypatch.setattr(house_rules, "RULES", (lambda tree: iter(["planted"]),))
    assert house_rules.main() == 1
    assert capsys.readouterr().out == "planted\n"
