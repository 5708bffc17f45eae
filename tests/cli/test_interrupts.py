"""Ctrl+C ends every command at once with exit code 4, whatever it is doing, and leaves nothing behind."""

import json
import signal
import subprocess
import sys
import time

import pytest

from workbench.cli.catalogue import COMMANDS, load
from workbench.release.ledger.ledger import Ledger

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")

LONG = 120
"""Seconds of a call that looks at nothing: whoever waits for its end is noticed, however busy the machine is."""

MUCH_LESS = LONG / 4

_STARTED = "import os, signal, sys, time; import workbench.__main__ as program\n"
_RUN = "signal.signal(signal.SIGINT, program._quit); os.write(2, b'!'); sys.argv = ['workbench', *{words!r}]\n"
_GO = "sys.exit(program.entry())\n"

_STUCK = """
import dataclasses, importlib
module = importlib.import_module('workbench.cli.{name}')
def stuck(options, context):
    os.write(2, b'#')
    time.sleep({long})
module.COMMAND = dataclasses.replace(module.COMMAND, run=stuck, configure=lambda parser: None)
"""


def interrupted(
    script: str, mark: bytes, after: float = 0.0, number: int = signal.SIGINT
) -> tuple[int, str, str, float]:
    """Run ``script``, send the signal so long ``after`` it has written ``mark``; return code, output, seconds."""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    seen = b""
    while not seen.endswith(mark):
        byte = process.stderr.read(1)
        if not byte:
            break
        seen += byte
    time.sleep(after)
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=2 * LONG)
    return process.returncode, out.decode(), err.decode(), time.monotonic() - began


def program(*words: str, before: str = "") -> str:
    """Return a script that runs a command, after ``before``."""
    return _STARTED + before + _RUN.format(words=list(words)) + _GO


SOME = ("forecast", "sanitize", "describe")
ALL = [
    pytest.param(name, marks=[] if name in SOME else [pytest.mark.slow])
    for name in COMMANDS
    if not load(name).foreground
]


@pytest.mark.parametrize("name", ALL)
def test_a_command_that_is_in_one_long_call_is_ended(folder, name):
    code, out, err, seconds = interrupted(program(name, before=_STUCK.format(name=name, long=LONG)), b"#")
    assert (code, out, err) == (4, "", f"error: {name} was cancelled\n")
    assert seconds < MUCH_LESS


@pytest.mark.parametrize("after", [0.0, *(pytest.param(s, marks=pytest.mark.slow) for s in (0.02, 0.1, 0.3, 0.6))])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == "forecast" else [pytest.mark.slow]) for n in COMMANDS]
)
def test_an_interrupt_at_any_moment_of_a_start_is_no_traceback(folder, name, after):
    words = {"samples": ["--json"], "gui": ["--help"], "forecast": ["--plan", "plan.toml"]}.get(name, ["--help"])
    code, _, err, seconds = interrupted(program(name, *words), b"!", after)
    assert code in (0, 4), err
    assert "Traceback" not in err
    assert err in ("", "error: cancelled\n", f"error: {name} was cancelled\n") or code == 0
    assert seconds < MUCH_LESS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("looks", [False, True])
def test_a_release_that_is_cut_off_costs_nothing_and_leaves_nothing(folder, looks, number):
    """Its draw is one call that never looks, or looks again and again: reserved, its place secured, not charged."""
    waits = "while True: given[-1].check(); time.sleep(0.001)" if looks else f"time.sleep({LONG})"
    before = (
        "import workbench.release.rows_work as door\n"
        "def stuck(*given):\n"
        "    os.write(2, b'#')\n"
        f"    {waits}\n"
        "door.draw_prepared = stuck\n"
    )
    words = ["sanitize", "people.csv", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "ledger.sqlite"]
    code, out, err, seconds = interrupted(program(*words, before=before), b"#", number=number)
    assert (code, out) == (4, "")
    assert err.endswith("error: sanitize was cancelled\n")
    assert seconds < MUCH_LESS
    assert {p.name for p in folder.iterdir()} == {"people.csv", "plan.toml", "ledger.sqlite", "ledger.sqlite.key"}
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert [r.status for r in ledger.releases()] == ["void"]
        assert ledger.verify() == []


def test_files_that_are_given_their_names_are_waited_for(folder):
    """The certificate has its name and the table has not: the program ends when both have."""
    before = (
        "from workbench.release.part_files import DrawFile\n"
        "real = DrawFile.publish\n"
        "def slow(part): os.write(2, b'#'); time.sleep(1.5); real(part)\n"
        "DrawFile.publish = slow\n"
    )
    words = ["sanitize", "people.csv", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "ledger.sqlite", "--json"]
    code, out, err, _ = interrupted(program(*words, before=before), b"#")
    assert code == 0, err
    assert json.loads(out)["output"] == "out.csv"
    assert not list(folder.glob("*.part"))
    assert (folder / "out.csv").exists()
