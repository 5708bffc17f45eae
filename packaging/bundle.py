"""``dev.py bundle``: what is handed out, into ``dist/``.

A folder with program, Python and libraries, the same packed, a folder for an AppImage, and the wheel; in each folder
what it contains (``sbom.json``) and under which licences (``licences.txt``).
"""

from __future__ import annotations

import ast
import os
import platform
import shutil
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import environment as environments
import failure
import qt_libraries
from console import Progress, say, stream
from environment import Environment
from failure import SetupError

NAME = "privacy-workbench"
# Large, or of no use without a Python to call them. Whoever wants them installs the wheel (linux/READ-ME.txt).
# readline is under the GPL; without a prompt nobody needs it.
LEFT_OUT = (
    *("torch", "numba", "llvmlite", "xgboost", "dask", "distributed", "pandas", "pytest", "hypothesis"),
    *("tkinter", "IPython", "matplotlib", "readline", "curses", "idlelib", "lib2to3"),
)
RUNTIME_PACKAGES = ("libsquashfuse-dev", "libfuse3-dev", "zlib1g-dev", "liblzma-dev", "liblz4-dev", "libzstd-dev")
LINKED = (*RUNTIME_PACKAGES, "libc6-dev")
"""What is in the runtime's file, which is linked statically."""
RUNTIME_FLAGS = ("-Os", "-Wall", "-static", "-I/usr/include/fuse3", "-I/usr/include/squashfuse")
RUNTIME_LIBRARIES = ("-lsquashfuse_ll", "-lsquashfuse", "-lfuse3", "-lz", "-llzma", "-llz4", "-lzstd", "-lpthread")
RUNTIME_NEEDS = ("/usr/include/squashfuse/ll.h", "/usr/include/fuse3/fuse_lowlevel.h")
QUICKLY = ("-Xcompression-level", "6")
APPIMAGE_MARK = b"AI\x02"
"""Says in the head of a program that it is an AppImage of type 2."""
ICON = """
import sys
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
image = QImage(512, 512, QImage.Format.Format_ARGB32)
image.fill(Qt.GlobalColor.transparent)
painter = QPainter(image)
QSvgRenderer(sys.argv[1]).render(painter)
painter.end()
sys.exit(not image.save(sys.argv[2]))
"""


@dataclass(frozen=True)
class Bundle:
    """A bundle of one checkout.

    Attributes:
        environment: what it is made from.
    """

    environment: Environment

    @property
    def root(self) -> Path:
        """The top folder of the checkout."""
        return self.environment.root

    @property
    def dist(self) -> Path:
        """Where everything goes that is handed out."""
        return self.root / "dist"

    @property
    def work(self) -> Path:
        """Where PyInstaller works."""
        return self.root / "build" / "bundle"

    @property
    def folder(self) -> Path:
        """The program with all that it needs."""
        return self.dist / NAME

    @property
    def title(self) -> str:
        """Name, version and kind of computer, as packed files are called."""
        return f"{NAME}-{version(self.root)}-{platform.machine().lower()}"

    def run(self, what: str, *words: str | Path) -> str:
        """Run a program politely; return its output, which also goes to the log of the environment.

        Raises:
            SetupError: it failed.
        """
        polite = ["nice"] if shutil.which("nice") else []
        log = self.environment.log
        status, output = stream(
            [*polite, *words],
            log=log,
            env=self.environment.variables() | {"QT_QPA_PLATFORM": "offscreen"},
            cwd=self.root,
            progress=Progress(what),
        )
        if status:
            raise failure.from_output(what, output, log)
        return output


def version(root: Path) -> str:
    """Return the version of the workbench in ``root``."""
    module = ast.parse((root / "workbench" / "__init__.py").read_text("utf-8"))
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise SetupError("workbench/__init__.py has no __version__")


def make(root: Path) -> int:
    """Set up, then make everything; return 0."""
    bundle = Bundle(Environment(root, *environments.BUNDLED))
    environments.ensure(bundle.environment)
    lacking = qt_libraries.ensure(qt_libraries.OFFSCREEN, bundle.environment.log)
    if lacking:
        raise SetupError("PyInstaller asks Qt what it needs", hint=qt_libraries.advice(lacking))
    bundle.dist.mkdir(exist_ok=True)
    with timed("program"):
        freeze(bundle)
    with timed("wheel"):
        wheel = build_wheel(bundle)
    with timed("what it contains"):
        python = bundle.environment.python
        linked = LINKED if has_runtime() else ()
        bundle.run("listing", python, root / "packaging" / "contents.py", bundle.folder, bundle.dist, *linked)
    add_papers(bundle, wheel)
    with timed("packing"):
        made = [pack(bundle)]
    if sys.platform.startswith("linux"):
        made += app_image(bundle)
    for path in (bundle.folder, *made, wheel, bundle.dist / "sbom.json", bundle.dist / "licences.txt"):
        say(f"  {failure.in_words(environments.size(path) if path.is_dir() else path.stat().st_size):>8}  {path}")
    return 0


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say afterwards how long the block took."""
    began = time.monotonic()
    yield
    say(f"{what}: {time.monotonic() - began:.0f} s")


def frozen_by(bundle: Bundle, tools: Sequence[str]) -> list[str | Path]:
    """Return the words that call PyInstaller; ``tools`` are modules that are installed only to make bundles."""
    recipe = bundle.root / "packaging" / "pyinstaller"
    words: list[str | Path] = [bundle.environment.python, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    words += ["--clean"]  # what was read before a file changed is not told from what was read after that
    words += ["--onedir", "--name", "workbench", "--icon", bundle.work / "icon.png"]
    words += ["--distpath", bundle.work, "--workpath", bundle.work / "work", "--specpath", bundle.work]
    words += ["--additional-hooks-dir", recipe]
    if sys.platform == "win32":
        words += ["--hide-console", "hide-early"]  # one program for window and terminal
    if sys.platform == "darwin":
        words += ["--windowed", "--osx-bundle-identifier", NAME]  # the app beside the folder (macos/make_app.sh)
    for module in (*LEFT_OUT, *tools):
        words += ["--exclude-module", module]
    return [*words, recipe / "start.py"]


def freeze(bundle: Bundle) -> None:
    """Make the folder of the program."""
    bundle.work.mkdir(parents=True, exist_ok=True)
    drawing = bundle.root / "packaging" / "linux" / f"{NAME}.svg"
    bundle.run("drawing the icon", bundle.environment.python, "-c", ICON, drawing, bundle.work / "icon.png")
    asking = bundle.root / "packaging" / "contents.py"
    tools = bundle.run("looking for tools", bundle.environment.python, asking, "--tools").split()
    bundle.run("PyInstaller", *frozen_by(bundle, tools))
    shutil.rmtree(bundle.folder, ignore_errors=True)
    shutil.move(bundle.work / "workbench", bundle.folder)


def build_wheel(bundle: Bundle) -> Path:
    """Make the wheel and return its path."""
    for former in bundle.dist.glob("privacy_workbench-*.whl"):
        former.unlink()
    python = bundle.environment.python
    bundle.run("pip wheel", python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", bundle.dist, ".")
    return next(bundle.dist.glob("privacy_workbench-*.whl"))


def add_papers(bundle: Bundle, wheel: Path) -> None:
    """Put into the folder what a person and a desktop read, from licences to the menu entry, and the wheel."""
    folder, linux = bundle.folder, bundle.root / "packaging" / "linux"
    for path in (bundle.root / "LICENSE", bundle.dist / "licences.txt", bundle.dist / "sbom.json", wheel):
        shutil.copy(path, folder)
    shutil.copy(bundle.work / "icon.png", folder / f"{NAME}.png")
    if not sys.platform.startswith("linux"):
        return
    text = (linux / "READ-ME.txt").read_text("utf-8")
    for place in (folder, bundle.dist):  # who has the AppImage alone cannot look into it
        (place / "READ-ME.txt").write_text(text.replace("WHEEL", wheel.name), "utf-8")
    shutil.copy(linux / "install.sh", folder)
    add_desktop_files(linux, folder / "share")


def add_desktop_files(linux: Path, share: Path) -> None:
    """Put menu entry, icon and file type where a desktop looks for them below ``share``."""
    for suffix, place in (
        ("desktop", "applications"),
        ("svg", "icons/hicolor/scalable/apps"),
        ("xml", "mime/packages"),
    ):
        (share / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(linux / f"{NAME}.{suffix}", share / place)


def pack(bundle: Bundle) -> Path:
    """Pack the folder into one file, as this system's people expect it, and return its path."""
    if sys.platform == "win32":
        packed = bundle.dist / f"{bundle.title}.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(bundle.folder.rglob("*")):
                archive.write(path, path.relative_to(bundle.dist))
        return packed
    packed = bundle.dist / f"{bundle.title}.tar.gz"
    with tarfile.open(packed, "w:gz", compresslevel=6) as archive:
        archive.add(bundle.folder, NAME, filter=nobodys)
    return packed


def nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return a member of an archive that does not say who made it."""
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def has_runtime() -> bool:
    """Return whether an AppImage can be made without its tool and is to be."""
    programs = shutil.which("appimagetool") is None and shutil.which("mksquashfs") and shutil.which("gcc")
    return bool(programs) and all(Path(part).exists() for part in RUNTIME_NEEDS)


def put_together(bundle: Bundle, app: Path, image: Path) -> None:
    """Make an AppImage without its tool: our own runtime, and behind it the packed folder."""
    runtime, packed = bundle.work / "runtime", bundle.work / "app.squashfs"
    bundle.work.mkdir(parents=True, exist_ok=True)
    source = bundle.root / "packaging" / "linux" / "runtime.c"
    bundle.run("compiling the runtime", "gcc", *RUNTIME_FLAGS, source, "-o", runtime, *RUNTIME_LIBRARIES)
    packed.unlink(missing_ok=True)
    bundle.run(
        "packing", "mksquashfs", app, packed, "-comp", "zstd", "-root-owned", "-noappend", "-no-progress", *QUICKLY
    )
    with image.open("wb") as whole:
        head = bytearray(runtime.read_bytes())
        head[8:11] = APPIMAGE_MARK
        whole.write(head)
        with packed.open("rb") as folder:
            shutil.copyfileobj(folder, whole, 1 << 20)
    packed.unlink()
    image.chmod(0o755)


def app_image(bundle: Bundle) -> list[Path]:
    """Lay out the folder of an AppImage, and make that where this can be done; return what was made."""
    linux, app = bundle.root / "packaging" / "linux", bundle.dist / f"{NAME}.AppDir"
    shutil.rmtree(app, ignore_errors=True)
    # Links in place of copies: the files are half a gigabyte and nobody changes them.
    shutil.copytree(bundle.folder, app / "usr" / "lib" / NAME, symlinks=True, copy_function=os.link)
    add_desktop_files(linux, app / "usr" / "share")
    for name in ("AppRun", f"{NAME}.desktop", f"{NAME}.svg"):
        shutil.copy(linux / name, app)
    image = bundle.dist / f"{bundle.title}.AppImage"
    if shutil.which("appimagetool"):
        with timed("AppImage"):
            bundle.run("appimagetool", "appimagetool", app, image)
    elif has_runtime():
        with timed("AppImage"):
            put_together(bundle, app, image)
    else:
        say(f"No AppImage: appimagetool is not on the PATH. With it: appimagetool {app}")
        say("or, on Debian: apt install gcc squashfs-tools libsquashfuse-dev libfuse3-dev, and dev.py bundle again")
        return [app]
    return [app, image]
