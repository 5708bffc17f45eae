"""The environment in ``.venv``: made once, known to be whole by a stamp, mended or remade where it is not.

The stamp is written last. It holds the recipe (what the environment was made from) and the names of everything that
the set-up put there, so that an interrupted, outdated or damaged environment is told from a whole one by reading two
folders, which takes milliseconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apt
import failure
from console import Progress, say, stream
from failure import SetupError

EXTRAS = ("api", "boost", "deep", "dist", "formats", "sql", "dev")
BUNDLED = (".venv-bundle", ("bundle",))
"""Folder and extras of the environment that bundles are made from: what is not installed there cannot slip in."""
# What a set-up writes: 2.5 GB installed (measured on Linux with the CPU build of torch) and the archives.
NEEDED_BYTES = 3_200_000_000
KEPT = {"setup.lock", "setup.log"}
# Run by the environment's own Python: its version, and the metadata of what pip did not finish. pip writes a
# RECORD that names INSTALLER last of all; compiled files may come and go.
PROBE = """
import importlib.metadata as metadata, json, os, sys
half = []
for found in metadata.distributions():
    record = found.read_text("RECORD") or ""
    lost = [f for f in found.files or () if not str(f).endswith(".pyc") and not os.path.exists(found.locate_file(f))]
    if "INSTALLER," not in record or lost:
        half.append(str(found._path))
import pip
print(json.dumps({"version": list(sys.version_info[:2]), "half": half, "pip": os.path.dirname(pip.__file__)}))
"""


@dataclass(frozen=True)
class Environment:
    """The environment of one checkout.

    Attributes:
        root: the top folder of the checkout.
        name: of its folder there.
        extras: of the workbench, which are installed with it.
    """

    root: Path
    name: str = ".venv"
    extras: tuple[str, ...] = EXTRAS

    @property
    def folder(self) -> Path:
        """Where the environment is."""
        return self.root / self.name

    @property
    def scripts(self) -> Path:
        """The folder of its programs."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.program("python")

    @property
    def packages(self) -> Path:
        """The folder of its installed packages."""
        if os.name == "nt":
            return self.folder / "Lib" / "site-packages"
        return self.folder / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"

    @property
    def stamp(self) -> Path:
        """The file that says that a set-up was finished."""
        return self.folder / "setup.stamp"

    @property
    def log(self) -> Path:
        """Everything that the last set-up printed."""
        return self.folder / "setup.log"

    def program(self, name: str) -> Path:
        """Return the path of the installed program ``name``."""
        return self.scripts / (f"{name}.exe" if os.name == "nt" else name)

    def variables(self) -> dict[str, str]:
        """Return the variables for the environment's programs: yours, without what bends Python or pip elsewhere."""
        bent = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "__PYVENV_LAUNCHER__"}
        kept = {name: value for name, value in os.environ.items() if name not in bent}
        return kept | {
            "PIP_USER": "0",
            "PIP_NO_INPUT": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            "VIRTUAL_ENV": str(self.folder),
            "PATH": os.pathsep.join([str(self.scripts), kept.get("PATH", os.defpath)]),
        }

    def recipe(self) -> str:
        """Return a digest of everything that the environment is made from."""
        pyproject = tomllib.loads((self.root / "pyproject.toml").read_text("utf-8"))
        parts = {
            "constraints": (self.root / "packaging" / "constraints.txt").read_text("utf-8"),
            "pyproject": [pyproject["build-system"], pyproject["project"], pyproject["tool"]["hatch"]],
            "extras": self.extras,
            "python": [*sys.version_info[:2], sys.implementation.name, sys.platform, platform.machine()],
            # Programs and the editable install name the folder, so a moved checkout is another recipe.
            "root": str(self.root),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def contents(self) -> list[str]:
        """Return what stands in the folders of packages and programs, by name."""
        names = [
            f"{folder.name}/{entry}"
            for folder in (self.packages, self.scripts)
            if folder.is_dir()
            for entry in os.listdir(folder)
        ]
        return sorted(name for name in names if not name.endswith("__pycache__"))

    def is_ready(self) -> bool:
        """Return whether a finished set-up of the present recipe stands and nothing of it has gone."""
        try:
            stamp = json.loads(self.stamp.read_text("utf-8"))
        except (OSError, ValueError):
            return False
        # ``exists`` follows the link: a Python that was uninstalled leaves it dangling.
        whole = isinstance(stamp, dict) and self.python.exists() and (self.folder / "pyvenv.cfg").exists()
        return whole and stamp.get("recipe") == self.recipe() and set(stamp["contents"]) <= set(self.contents())


def ensure(environment: Environment) -> None:
    """Set the environment up where it is not ready.

    Raises:
        SetupError: it cannot be set up; what was done so far stays and the next call goes on from there.
    """
    if environment.is_ready():
        return
    folder = environment.folder
    try:
        folder.mkdir(exist_ok=True)
        with locked(folder / "setup.lock") as lock:
            if environment.is_ready():  # another run has just done it
                return
            environment.stamp.unlink(missing_ok=True)
            set_up(environment, lock)
    except FileExistsError as error:
        raise SetupError("the environment needs a folder", f"{folder} is a file", "move it away") from error
    except OSError as error:
        raise failure.from_os(error, folder) from error


def set_up(environment: Environment, lock: int) -> None:
    """Make or mend the environment, install everything and write the stamp; the caller holds the lock."""
    say(f"Setting up {environment.folder}: once, a few minutes")
    standing = size(environment.folder)
    if shutil.disk_usage(environment.folder).free + standing < NEEDED_BYTES:
        raise failure.disk_full(environment.folder, NEEDED_BYTES - standing)
    environment.log.write_bytes(b"")
    half_installed = probe(environment)
    if half_installed is None:
        remake(environment, lock)
    else:
        # Without its metadata a package counts as absent, so pip lays it down again, whole.
        for metadata in half_installed:
            shutil.rmtree(metadata)
        for left_over in environment.packages.glob("~*"):
            shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
    install(environment, lock)
    partial = environment.stamp.with_suffix(".part")
    partial.write_text(json.dumps({"recipe": environment.recipe(), "contents": environment.contents()}), "utf-8")
    partial.replace(environment.stamp)
    say("Ready")


def probe(environment: Environment) -> list[Path] | None:
    """Return the metadata folders of half-installed packages; None where the environment itself is broken."""
    if not environment.python.exists():
        return None
    try:
        done = subprocess.run(
            [environment.python, "-I", "-c", PROBE],
            capture_output=True,
            text=True,
            timeout=300,
            env=environment.variables(),
        )
        said = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    half = [Path(metadata) for metadata in said["half"]]
    broken_pip = any(metadata.name.startswith("pip-") for metadata in half)
    at_home = environment.folder in Path(said["pip"]).parents
    return half if said["version"] == list(sys.version_info[:2]) and at_home and not broken_pip else None


def remake(environment: Environment, lock: int) -> None:
    """Make an empty environment, in place of whatever is there."""
    if not makes_environments() and apt.may_install():
        apt.install(["python{}.{}-venv".format(*sys.version_info[:2])], environment.log)
    if not makes_environments():
        raise failure.without_venv()
    folder = environment.folder
    for entry in folder.iterdir():
        if entry.name in KEPT:
            continue
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    # A virtual environment's own Python would be a link into what is remade here.
    base = getattr(sys, "_base_executable", "") or sys.executable
    status, output = stream(
        [base, "-m", "venv", folder],
        log=environment.log,
        env={name: value for name, value in environment.variables().items() if name != "VIRTUAL_ENV"},
        cwd=environment.root,
        lock=lock,
        progress=Progress("making an empty environment"),
    )
    if status and "ensurepip" in output and not failure.DISK.search(output):
        raise failure.without_venv()
    if status:
        raise failure.from_output("venv", output, environment.log)


def makes_environments() -> bool:
    """Return whether this Python has what makes an environment (Debian ships that apart)."""
    importlib.invalidate_caches()
    return all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))


def install(environment: Environment, lock: int) -> None:
    """Install the workbench, editable, and everything it needs at the versions of the constraints."""
    # On the environment's own disk: the system's folder of temporary files is often too small for torch.
    temporary = environment.folder / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        status, output = stream(
            [
                *(
                    environment.python,
                    "-m",
                    "pip",
                    "install",
                    "--no-compile",
                    "--progress-bar",
                    "off",
                    "--retries",
                    "3",
                ),
                *("-c", Path("packaging", "constraints.txt"), "-e", f".[{','.join(environment.extras)}]"),
            ],
            log=environment.log,
            env=environment.variables() | {"TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)},
            cwd=environment.root,
            lock=lock,
            progress=Progress("installing"),
        )
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    if status:
        raise failure.from_output("pip", output, environment.log)
    # pip compiles on one core and the tests of every package, too: three times as long. The status tells nothing, as
    # some packages carry templates that are no Python.
    stream(
        [environment.python, "-m", "compileall", "-q", "-j", "0", "-x", r"[/\\]tests?[/\\]", environment.packages],
        log=environment.log,
        env=environment.variables(),
        cwd=environment.root,
        lock=lock,
        progress=Progress("compiling"),
    )


def size(folder: Path) -> int:
    """Return the bytes of all files under ``folder``."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """Hold the lock ``path`` (its descriptor is given); wait where another run holds it.

    The system frees it when its holder dies, so a killed set-up never blocks the next one.
    """
    with path.open("a+b") as file:
        if not try_lock(file.fileno(), wait=False):
            say("Another run is setting this folder up: waiting for it")
            try_lock(file.fileno(), wait=True)
        yield file.fileno()


if sys.platform == "win32":
    import msvcrt
    import time

    def try_lock(descriptor: int, *, wait: bool) -> bool:
        """Lock the file; return whether it is locked now."""
        while True:
            try:
                os.lseek(descriptor, 0, os.SEEK_SET)
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                time.sleep(0.5)
            else:
                return True

else:
    import fcntl

    def try_lock(descriptor: int, *, wait: bool) -> bool:
        """Lock the file; return whether it is locked now."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True
