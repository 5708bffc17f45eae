"""The main job on one table: in the window where a display answers, else headless into ``results/``."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shlex
import socket
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from console import call, say
from environment import Environment
from failure import SetupError

SAMPLE, SAMPLE_TARGET = "people", "label"
EPSILON = "3"
MODEL = "naive-bayes"
MECHANISM = "staircase"
EPSILONS = "0.1:100:7"
REPEATS = "5"
PUBLIC_FACTS = ("lower", "upper", "domain")
CONTENTS = {
    "plan.toml": "the plan: what is protected, how, and its public bounds",
    "released.csv": "the released table",
    "released.csv.certificate.json": "what it cost and what it guarantees",
    "ledger.sqlite": "the ledger of this trial",
    "private/curve.csv": "accuracy against epsilon (private, not for release)",
    "private/curve.png": "its picture (private, not for release)",
}


def display_answers(variables: dict[str, str] | None = None) -> bool:
    """Return whether there is a display that takes windows (on Linux: one whose socket answers)."""
    if not sys.platform.startswith("linux"):
        return True
    names = dict(os.environ) if variables is None else variables
    wayland = names.get("WAYLAND_DISPLAY")
    # An absolute name stands alone: that is how joining paths works.
    if wayland and answers(str(Path(names.get("XDG_RUNTIME_DIR", "/run"), wayland))):
        return True
    x11 = re.fullmatch(r"(?P<host>[^:]*):(?P<number>\d+)(?:\.\d+)?", names.get("DISPLAY", ""))
    if not x11:
        return False
    if x11["host"] in ("", "unix"):
        local = f"/tmp/.X11-unix/X{x11['number']}"
        return answers(local) or answers("\0" + local)
    return answers((x11["host"], 6000 + int(x11["number"])))


def answers(address: str | tuple[str, int]) -> bool:
    """Return whether something accepts connections at ``address``, a socket's path or a host and a port."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(address)
        except OSError:
            return False
    return True


def has_window(root: Path) -> bool:
    """Return whether this version of the workbench has its window."""
    return (root / "workbench" / "gui" / "__init__.py").is_file()


def open_window(environment: Environment, table: Path | None) -> int:
    """Open the window on ``table`` or the sample; return its exit status, negative where it was killed."""
    where = [str(table)] if table else ["--sample", SAMPLE]
    return call([environment.program("workbench"), "gui", *where], env=environment.variables(), cwd=environment.root)


def unfilled(plan: dict[str, Any]) -> list[str]:
    """Return the places of a plan that are still to be filled in, such as ``lower of Age``."""
    return [
        f"{key} of {column.get('name')}"
        for column in plan.get("column", ())
        for key in PUBLIC_FACTS
        if column.get(key) == "?"
    ]


def guessed(plan: dict[str, Any]) -> list[str]:
    """Return what of a plan was guessed from the rows and nobody has confirmed: columns, and the file."""
    columns = [str(column.get("name")) for column in plan.get("column", ()) if column.get("origin") == "guess"]
    return [*columns, *(["how the file is read"] if plan.get("reading", {}).get("origin") == "guess" else [])]


def target_of(plan: dict[str, Any]) -> str | None:
    """Return the attribute that the plan marks as the target."""
    return next((column["name"] for column in plan.get("column", ()) if column.get("role") == "target"), None)


@dataclass(frozen=True)
class MainJob:
    """A plan, a release and the curve of accuracy against ε, headless.

    The sample is public: each run gets a folder and a ledger of its own, so that trying the program spends nobody's
    account. A table of yours is charged to your ledger, and its folder is found again: the plan that you filled in is
    used, and a release that exists is not drawn a second time, which would be a second charge.

    Attributes:
        environment: where the program is installed.
        table: the file; None for the bundled sample.
        target: the attribute to predict; None to take the one that the plan marks.
        picture: whether Qt can draw here.
        display: whether a window could be opened here.
        now: the clock.
    """

    environment: Environment
    table: Path | None = None
    target: str | None = None
    picture: bool = True
    display: bool = False
    now: Callable[[], datetime] = datetime.now

    @property
    def data(self) -> str:
        """The table as the command line names it."""
        return str(self.table) if self.table else f"sample:{SAMPLE}"

    @cached_property
    def folder(self) -> Path:
        """Where the results go."""
        results = self.environment.root / "results"
        if self.table:
            place = hashlib.sha256(str(self.table).encode()).hexdigest()[:6]
            return results / f"{self.table.stem}-{place}"
        first = results / f"{SAMPLE}-{self.now():%Y-%m-%d-%H%M%S}"
        others = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
        return next(folder for folder in itertools.chain([first], others) if not folder.exists())

    @property
    def plan(self) -> Path:
        """The plan file."""
        return self.folder / "plan.toml"

    @property
    def released(self) -> Path:
        """The released table."""
        return self.folder / "released.csv"

    @property
    def ledger(self) -> list[str]:
        """The option that names the ledger."""
        return [] if self.table else ["--ledger", str(self.folder / "ledger.sqlite")]

    def run(self) -> int:
        """Do it; return the exit status: 0 done, 2 the plan waits for the person, else that of what failed."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError("the results cannot be written", f"{self.folder}: {error.strerror}") from error
        say(f"Main job without the window on {self.data}; results in {self.folder}")
        status = self.write_plan()
        if status:
            return status
        plan = tomllib.loads(self.plan.read_text("utf-8"))
        waiting = unfilled(plan)
        if waiting:
            return self.ask_for(waiting)
        unconfirmed = guessed(plan)
        if unconfirmed:
            return self.ask_to_confirm(unconfirmed)
        target = self.target or target_of(plan)
        for title, arguments in self.steps(target):
            status = self.step(title, *arguments)
            if status:
                say(f"Stopped at this step: {title}. What was done before is in {self.folder}")
                return status
        self.notify(target)
        return 0

    def write_plan(self) -> int:
        """Write a plan where there is none yet."""
        if self.plan.exists():
            say(f"Using the plan {self.plan}")
            return 0
        chosen = self.target or (None if self.table else SAMPLE_TARGET)
        target = ["--target", chosen] if chosen else []
        return self.step("Plan", "plan", self.data, "--epsilon", EPSILON, *target, "-o", str(self.plan))

    def ask_for(self, waiting: list[str]) -> int:
        """Say what the plan lacks: bounds come from public knowledge, never from the table itself."""
        print(
            f"error: the plan waits for public bounds and domains: {', '.join(waiting)} ({self.plan}); "
            f'replace each "?" by what is publicly known, never by what the table holds, then: {self.again}',
            file=sys.stderr,
        )
        return 2

    def ask_to_confirm(self, unconfirmed: list[str]) -> int:
        """Say what was guessed: only the person can say that it is right and public knowledge."""
        program = self.environment.program("workbench").relative_to(self.environment.root)
        shown = ", ".join(unconfirmed[:4]) + (f" and {len(unconfirmed) - 4} more" if len(unconfirmed) > 4 else "")
        print(
            f"error: the plan contains unconfirmed guesses from the rows: {shown} ({self.plan}); check them "
            f"in the file, then: {program} plan --confirm {shlex.quote(str(self.plan))} && {self.again}",
            file=sys.stderr,
        )
        return 2

    @property
    def again(self) -> str:
        """The command line that runs this once more."""
        return f"python3 packaging/dev.py run {shlex.quote(str(self.table))}" if self.table else "run this again"

    def steps(self, target: str | None) -> Iterator[tuple[str, list[str]]]:
        """Yield what follows the plan: a title and the arguments of the command line."""
        plan, released = str(self.plan), str(self.released)
        yield "Forecast, from the plan alone", ["forecast", "--plan", plan]
        if self.released.exists():
            say(f"\nThe release of an earlier run stands ({released}). Another draw is another charge: for that,")
            say("move it away and raise the cap with `workbench ledger cap`")
        else:
            yield "Release", ["sanitize", self.data, "--plan", plan, "-o", released, *self.ledger]
        yield "Verify the release against its certificate", ["verify", released]
        if target:
            regimes = f"none,sanitized:{MECHANISM},private"
            study = ["--model", MODEL, "--regimes", regimes, "--epsilons", EPSILONS, "--repeats", REPEATS]
            private = self.folder / "private"  # apart from what may leave the house
            private.mkdir(exist_ok=True)
            plot = ["--plot", str(private / "curve.png")] if self.picture else []
            output = ["-o", str(private / "curve.csv"), *plot]
            yield (
                "Accuracy against epsilon (private, not for release)",
                ["curve", self.data, "--target", target, "--bounds", plan, *study, *output],
            )

    def step(self, title: str, *arguments: str) -> int:
        """Run one command of the workbench; return its exit status."""
        say(f"\n== {title}")
        return call(
            [self.environment.program("workbench"), *arguments],
            env=self.environment.variables(),
            cwd=self.environment.root,
        )

    def notify(self, target: str | None) -> None:
        """Say where everything is and what comes next."""
        program = self.environment.program("workbench").relative_to(self.environment.root)
        say(f"\nDone. The results are in {self.folder}:")
        for name, meaning in CONTENTS.items():
            if (self.folder / name).exists():
                say(f"  {name:31} {meaning}")
        if not target:
            say('No curve: give the attribute to predict with --target, or mark it in the plan with role = "target"')
        if not self.picture:
            say("No picture of the curve: the system libraries named above are missing")
        if not has_window(self.environment.root):
            say("The window comes in the next version; until then: " + f"{program} --help")
        elif not self.display:
            say(f"To open the window, on a machine with a display: {program} gui")
