#!/usr/bin/env python3
"""Drive the real window through the main job and write numbered screenshots of every step.

    .venv/bin/python packaging/tour.py [--out FOLDER] [--route NAME …] [--theme NAME …] [--size WxH …] [--readme]

One process and one empty home for every combination of route, theme and size, so that each tour begins as a new user
does and no tour touches the ledger of the person who runs it. Without a display it starts its own (Xvfb) or, where
there is none, draws without a screen. ``--readme`` also replaces the pictures that the README shows.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THEMES = ("light", "dark")
SIZES = ("1280x800", "2560x1440")
ROUTES = ("people", "worth", "diabetes", "iris")
DIABETES = ROOT.parent / "shared" / "data" / "diabetes.csv"
"""The Pima table, which the program does not ship; its tour is left out where it is not beside the checkout."""

README = {"worth": {"what-to-release": "window-ways"}}
"""Which screenshots of each route the README shows, and the first part of their names there."""

PATIENCE_S = 1200


def main() -> int:
    """Take every tour that was asked for; return how many failed."""
    asked = options()
    if asked.inside:
        return walk(asked)
    asked.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for route, theme, size in itertools.product(asked.route, asked.theme, asked.size):
        if route == "diabetes" and not asked.diabetes.is_file():
            print(f"left out: {route} ({asked.diabetes} is not there; name the table with --diabetes)")
            continue
        folder = asked.out / f"{route}-{theme}-{size}"
        status = take(asked, route, theme, size, folder)
        failed += status != 0
        print(f"{'done' if status == 0 else 'FAILED'}: {folder} ({len(list(folder.glob('*.png')))} pictures)")
    if asked.readme and not failed:
        publish(asked.out)
    return min(failed, 100)


def options() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "tour", help="folder of the pictures")
    parser.add_argument("--route", nargs="+", choices=ROUTES, default=list(ROUTES))
    parser.add_argument("--theme", nargs="+", choices=THEMES, default=list(THEMES))
    parser.add_argument("--size", nargs="+", default=list(SIZES), metavar="WxH")
    parser.add_argument("--diabetes", type=Path, default=DIABETES, help="the Pima diabetes table")
    parser.add_argument("--readme", action="store_true", help="replace the README's pictures too")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # this process has the window
    return parser.parse_args()


def take(asked: argparse.Namespace, route: str, theme: str, size: str, folder: Path) -> int:
    """Take one tour in a process of its own; return its exit status."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="tour-") as home, display(size) as screen:
        names = ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA", "APPDATA")
        surroundings = {**os.environ, **dict.fromkeys(names, home), **screen}
        surroundings["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        command = [sys.executable, __file__, "--inside", "--out", str(folder.absolute()), "--route", route]
        command += ["--theme", theme, "--size", size]
        if route == "diabetes":
            # A copy: what is released goes beside the table it was made from.
            command += ["--diabetes", shutil.copy(asked.diabetes, home)]
        try:
            return subprocess.run(command, env=surroundings, timeout=PATIENCE_S, check=False).returncode
        except subprocess.TimeoutExpired:
            print(f"the tour {route} took more than {PATIENCE_S} seconds")
            return 1


@contextlib.contextmanager
def display(size: str) -> Iterator[dict[str, str]]:
    """Give the environment of a screen of ``size``: a virtual X server, or none where that is not installed."""
    server = shutil.which("Xvfb") if sys.platform.startswith("linux") else None
    if server is None:
        yield {} if sys.platform in ("win32", "darwin") else {"QT_QPA_PLATFORM": "offscreen"}
        return
    read, write = os.pipe()
    # The server itself picks a free number and writes it, once it takes connections.
    command = [server, "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp"]
    process = subprocess.Popen(command, pass_fds=(write,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        if not number:
            raise SystemExit("the virtual screen did not start: try Xvfb by hand")
        yield {"DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
    finally:
        process.terminate()
        process.wait(timeout=10)


def walk(asked: argparse.Namespace) -> int:
    """Take one tour in this process."""
    import tour_routes
    from tour_guide import Guide, LostError

    width, height = (int(part) for part in asked.size[0].split("x"))
    guide = Guide(asked.out, asked.theme[0], (width, height))
    try:
        if asked.route[0] == "diabetes":
            tour_routes.diabetes(guide, asked.diabetes)
        else:
            getattr(tour_routes, asked.route[0])(guide)
    except LostError as problem:
        print(f"lost after picture {guide.taken}: {problem}")
        return 1
    finally:
        guide.leave()
    return 0


def publish(out: Path) -> None:
    """Copy the README's pictures into the resources."""
    pictures = ROOT / "resources" / "pictures"
    for (route, names), theme in itertools.product(README.items(), THEMES):
        for taken, name in names.items():
            for found in (out / f"{route}-{theme}-{SIZES[0]}").glob(f"*-{taken}.png"):
                shutil.copyfile(found, pictures / f"{name}-{theme}.png")


if __name__ == "__main__":
    sys.exit(main())
