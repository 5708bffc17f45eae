"""Run the plan of this bundle again: ``python rerun.py DATA -o OUT``.

It needs the private table and the privacy workbench. The new release draws new random values: it is another file, and
it is charged to the ledger like any other. `--show` prints the command and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run the command of ``rerun.json`` on a table."""
    folder = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="run the plan of this bundle again; it is charged anew")
    parser.add_argument("data", metavar="DATA", help="the private table (of a model made from a release: that release)")
    parser.add_argument("--join", metavar="FILE", help="the second private table, where one was joined")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the new release")
    parser.add_argument("--workbench", default="workbench", help="how the program is called (default: workbench)")
    parser.add_argument("--plan", help="another plan than plan.toml, such as the steward's own with all its values")
    parser.add_argument("--ledger", help="the ledger that is charged (default: the program's own)")
    parser.add_argument("--show", action="store_true", help="print the command and run nothing")
    options = parser.parse_args()
    places = {"DATA": options.data, "PLAN": options.plan or str(folder / "plan.toml"), "OUT": options.output}
    told = json.loads((folder / "rerun.json").read_text("utf-8"))
    if "@JOIN" in told["command"] and options.join is None:
        parser.error("a second table was joined: name it with --join FILE")
    places |= {"JOIN": options.join}
    places |= {name: str(folder / name) for name in told["files"]}
    words = [places.get(word[1:], word) if word.startswith("@") else word for word in told["command"]]
    command = [*shlex.split(options.workbench), *words]
    if options.ledger:
        command += ["--ledger", options.ledger]
    print(shlex.join(command))
    return 0 if options.show else subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
