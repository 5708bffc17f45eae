"""Try the bundle where there is no Python: ``sudo python3 packaging/try_bundle.py``, after ``dev.py bundle``.

It lays out the least Debian with the six libraries that every desktop has and FUSE, below ``build/bare-root``, unpacks
``dist/*.tar.gz`` there and does the main job and a few more in it, as a user without rights; then the shorter half of
them by the AppImage, mounted and unpacked. It needs Linux, root and debootstrap. The exit status is 1 where a step
fails.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from qt_libraries import OFFSCREEN

ROOT = Path(__file__).resolve().parent.parent
SUITE = "bookworm"
PROGRAM = "/opt/privacy-workbench/workbench"
IMAGE = "/opt/privacy-workbench.AppImage"
WAYS = {"mounted": {}, "unpacked": {"APPIMAGE_EXTRACT_AND_RUN": "1"}}
"""How an AppImage gets at its files, and the variables that make it do so."""
NOBODY = 1000
WINDOW_SECONDS = 12
OF_OFFSCREEN = "This plugin does not support propagateSizeHints"
"""What Qt says of every window without a screen."""
KILLED = 128 + 15
"""Exit status of a program that SIGTERM ends."""


@dataclass(frozen=True)
class Step:
    """One call of the program.

    Attributes:
        words: of its command line.
        files: it must have written.
        status: its exit status.
        says: a part of what it prints, on either stream.
    """

    words: str
    files: tuple[str, ...] = ()
    status: int = 0
    says: str = ""


STEPS = (
    Step("--version"),
    Step("help window", says="window"),
    Step("plan sample:people --epsilon 3 --target label -o plan.toml", ("plan.toml",)),
    Step("forecast --plan plan.toml --rows 2000"),
    Step("sanitize sample:people --plan plan.toml -o out.csv", ("out.csv", "out.csv.certificate.json")),
    Step("verify out.csv"),
    Step("estimate out.csv"),
    Step("ledger cap sample:people --epsilon 99"),
    Step("certificate out.csv --pdf out.pdf --html out.html", ("out.pdf", "out.html")),
    Step("sanitize sample:people --plan plan.toml -o out.parquet", ("out.parquet",)),
    Step("verify out.parquet"),
    Step("describe out.parquet"),  # read by a process of its own
    Step("synthesize sample:people --plan plan.toml --epsilon 3 --target label -o synthetic.csv", ("synthetic.csv",)),
    Step("verify synthetic.csv"),
    Step(
        "statistics sample:people --plan plan.toml --epsilon 3 --mean age --histogram label -o figures.csv",
        ("figures.csv",),
    ),
    Step("plan sample:iris --epsilon 3 --target species -o iris.toml"),
    Step("ledger cap sample:iris --epsilon 99"),
    Step("fit sample:iris --target species --model naive-bayes --epsilon 3 --bounds iris.toml -o model", ("model",)),
    Step("verify model"),
    Step("predict sample:iris --model model -o predicted.csv", ("predicted.csv",)),
    Step("fit sample:iris --target species --model random-forest --epsilon 3 --bounds iris.toml -o forest"),
    # Worker processes, and a picture drawn by another one.
    Step(
        "curve sample:iris --target species --bounds iris.toml --epsilons 1,3 --repeats 4 --jobs 2 "
        "-o curve.csv --plot curve.png",
        ("curve.csv", "curve.png"),
    ),
    Step(
        "dpsgd sample:iris --target species --bounds iris.toml --network mlp --epsilon 3 --delta 1e-3 --batch 16 "
        "--epochs 1 --lr 0.5 --clip 1 -o network",
        status=2,
        says=".whl[deep]",
    ),
    Step("ledger verify"),
    Step("nonsense", status=2, says="is not known"),
)
BY_IMAGE = (
    Step("--version"),
    Step("sanitize sample:people --plan plan.toml --ledger WAY.sqlite -o WAY.csv", ("WAY.csv",)),
    Step("verify WAY.csv"),
    Step("nonsense", status=2, says="is not known"),
)


def lay_out(root: Path) -> None:
    """Make the bare system where it is not there yet, and unpack the bundle in it."""
    if not (root / "etc" / "debian_version").exists():
        libraries = ",".join([*OFFSCREEN.values(), "fuse3"])
        print(f"laying out {root} (debootstrap)", flush=True)
        words = ["debootstrap", "--variant=minbase", f"--include={libraries}", SUITE, str(root)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        # To mount, a user needs a name, and the list of what is mounted.
        subprocess.run(["chroot", str(root), "useradd", "--uid", str(NOBODY), "somebody"], check=True)
        (root / "etc" / "mtab").symlink_to("/proc/self/mounts")
    (packed,) = (ROOT / "dist").glob("privacy-workbench-*.tar.gz")
    shutil.rmtree(root / "opt" / "privacy-workbench", ignore_errors=True)
    with tarfile.open(packed) as archive:
        archive.extractall(root / "opt", filter="tar")
    for image in (ROOT / "dist").glob("privacy-workbench-*.AppImage"):
        shutil.copy(image, root / IMAGE.lstrip("/"))
    fuse = root / "dev" / "fuse"
    if not fuse.exists():
        os.mknod(fuse, stat.S_IFCHR, os.makedev(10, 229))
        fuse.chmod(0o666)
    home = root / "home" / "somebody"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    os.chown(home, NOBODY, NOBODY)


def inside(root: Path, line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in the bare system as a user without rights, in processes that see no others."""
    given = {"HOME": "/home/somebody", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **variables}
    enter = ["chroot", f"--userspec={NOBODY}:{NOBODY}", str(root), "env", "-i"]
    enter += [f"{name}={value}" for name, value in given.items()]
    enter += ["sh", "-c", f"cd ~ && {line}"]
    proc, shared = shlex.quote(str(root / "proc")), shlex.quote(str(root / "dev" / "shm"))
    mounted = f"mount -t proc proc {proc} && mount -t tmpfs tmpfs {shared} && exec {shlex.join(enter)}"
    words = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", mounted]
    return subprocess.run(words, capture_output=True, text=True, timeout=900)


def faults_of(step: Step, root: Path, program: str = PROGRAM, **variables: str) -> Iterator[str]:
    """Do one step, print how long it took, and yield what is wrong with it."""
    began = time.monotonic()
    done = inside(root, f"{program} {step.words}", **variables)
    print(f"{time.monotonic() - began:6.1f} s  exit {done.returncode}  {Path(program).name} {step.words}", flush=True)
    if done.returncode != step.status:
        yield f"exit status {done.returncode} in place of {step.status}: {(done.stderr or done.stdout).strip()[-500:]}"
    if step.says not in done.stdout + done.stderr:
        yield f"{step.says!r} is not in what it prints: {(done.stderr or done.stdout).strip()[-500:]}"
    if "Traceback" in done.stderr:
        yield f"a traceback: {done.stderr.strip()[-500:]}"
    for name in step.files:
        if not (root / "home" / "somebody" / name).exists():
            yield f"it did not write {name}"


def faults_of_image(way: str, root: Path) -> Iterator[str]:
    """Do some steps by the AppImage, and yield what is wrong with them and what it leaves behind."""
    for step in BY_IMAGE:
        files = tuple(name.replace("WAY", way) for name in step.files)
        own = replace(step, words=step.words.replace("WAY", way), files=files)
        yield from faults_of(own, root, IMAGE, **WAYS[way])
    yield from faults_of_window(root, IMAGE, "mounted\n" if way == "mounted" else "", **WAYS[way])
    left = [path.name for path in (root / "tmp").glob(".mount_*")]
    if left:
        yield f"it leaves {left} behind"


def faults_of_window(root: Path, program: str = PROGRAM, prints: str = "", **variables: str) -> Iterator[str]:
    """Open the window on a table without a screen, end it by SIGTERM, and yield what is wrong."""
    line = (
        f"(sleep {WINDOW_SECONDS // 2}; grep -q /tmp/.mount_ /proc/mounts && echo mounted) & "
        f"timeout --preserve-status -s TERM {WINDOW_SECONDS} {program} gui --sample people; ended=$?; sleep 2; "
        "cat /proc/[0-9]*/comm | grep workbench; exit $ended"
    )
    done = inside(root, line, QT_QPA_PLATFORM="offscreen", **variables)
    print(f"{WINDOW_SECONDS:6.1f} s  exit {done.returncode}  the window, ended by SIGTERM", flush=True)
    if done.returncode != KILLED:
        yield f"exit status {done.returncode} in place of {KILLED}"
    lines = [line for line in done.stderr.splitlines() if not line.startswith(OF_OFFSCREEN)]
    if lines:
        yield f"it complains: {lines[-5:]}"
    if done.stdout != prints:
        yield f"{done.stdout!r} in place of {prints!r}: how it got at its files, and processes that go on after its end"
    log = root / "home" / "somebody" / ".local" / "state" / "privacy-workbench" / "log" / "workbench.log"
    if log.exists():
        yield f"it logged a fault: {log.read_text('utf-8')[-500:]}"


def faults_of_install(root: Path) -> Iterator[str]:
    """Install it for one person, call it by the link, remove it again, and yield what is wrong."""
    script, link = f"{Path(PROGRAM).parent}/install.sh", ".local/bin/workbench"
    entry = ".local/share/applications/privacy-workbench.desktop"
    line = f"sh {script} && {link} --version && grep -q '^Exec=\"{PROGRAM}\" gui' {entry}"
    line += f" && sh {script} --remove && test ! -e {link} && test ! -e {entry} && test -x {PROGRAM}"
    done = inside(root, line)
    print(f"        exit {done.returncode}  install.sh, and install.sh --remove", flush=True)
    if done.returncode:
        yield f"exit status {done.returncode}: {(done.stdout + done.stderr)[-500:]}"


def main() -> int:
    """Try everything; return 1 where something is wrong, 2 where it cannot be tried here."""
    if os.geteuid() or not shutil.which("debootstrap"):
        print("error: this needs root and debootstrap (apt-get install debootstrap)", file=sys.stderr)
        return 2
    root = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else ROOT / "build" / "bare-root"
    lay_out(root)
    if inside(root, "command -v python3 || command -v python").returncode == 0:
        print("error: there is a Python in the bare system, which would prove nothing", file=sys.stderr)
        return 2
    faults = [f"{step.words}: {fault}" for step in STEPS for fault in faults_of(step, root)]
    faults += [f"the window: {fault}" for fault in faults_of_window(root)]
    ways = WAYS if (root / IMAGE.lstrip("/")).exists() else {}
    faults += [f"the AppImage, {way}: {fault}" for way in ways for fault in faults_of_image(way, root)]
    faults += [f"install.sh: {fault}" for fault in faults_of_install(root)]
    done = len(STEPS) + 2 + len(ways) * (len(BY_IMAGE) + 1)
    print("\n".join(faults) if faults else f"{done} steps went well without Python")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
