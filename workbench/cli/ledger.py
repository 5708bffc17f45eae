"""``workbench ledger``: the account of every dataset."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, read_options
from workbench.cli.tables import add_data, add_ledger, columns_text, existing_ledger, figure, keep_inputs, read_data
from workbench.data.read import ReadOptions, read_table
from workbench.params import CheckFailedError
from workbench.params.field import RealField
from workbench.privacy.event import exact
from workbench.privacy.table import EPSILON_MOST
from workbench.release.account import Account, Release
from workbench.release.atomic import write_output
from workbench.release.fingerprint import fingerprint
from workbench.release.ledger import Ledger
from workbench.release.recover import recover
from workbench.signals import Notice

_EPSILON = RealField(help="the cap: ε of all releases of this dataset together", above=0, upto=EPSILON_MOST)
_DELTA = RealField(help="the cap of δ (default: the first release with δ > 0 sets it)", at_least=0, below=1)


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="cap|show|verify|export|version")
    cap = actions.add_parser("cap", help="set the cap of a dataset", allow_abbrev=False)
    add_data(cap)
    cap.add_argument("--epsilon", required=True, metavar="ε", help=_EPSILON.help)
    cap.add_argument("--delta", metavar="δ", help=_DELTA.help)
    version = actions.add_parser("version", help="let a newer table share the account of an older", allow_abbrev=False)
    add_data(version)
    version.add_argument("--of", required=True, metavar="OLD", help="the older table")
    export = actions.add_parser("export", help="write every entry as JSON", allow_abbrev=False)
    export.add_argument("-o", "--output", type=Path, metavar="OUT", help="the file (default: standard output)")
    others = [
        actions.add_parser("show", help="every release and cap", allow_abbrev=False),
        actions.add_parser("verify", help="check the hash chain", allow_abbrev=False),
    ]
    for sub in (cap, version, export, *others):
        add_ledger(sub)
        sub.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.action == "verify":
        return _verify(options)
    with Ledger.open(options.ledger) as ledger:
        for sentence in recover(ledger):
            context.emit(Notice("info", sentence))
        if options.action == "cap":
            return _cap(options, context, ledger)
        if options.action == "version":
            return _version(options, context, ledger)
        result = _show(ledger)
        if options.action == "export":
            result["chain"] = [vars(e) for e in ledger.entries()]
            if options.output is not None:
                keep_inputs(options.output, ledger.path)
                write_output(options.output, json.dumps(result, indent=2).encode())
                result["output"] = str(options.output)
        return result


def _show(ledger: Ledger) -> dict[str, Any]:
    return {
        "entries": [_entry(r) for r in ledger.releases()],
        "caps": {dataset: float(cap) for dataset, cap in ledger.caps().items()},
        "ok": not ledger.verify(),
        "ledger": str(ledger.path),
    }


def _entry(release: Release) -> dict[str, Any]:
    return {
        "release_id": release.release_id,
        "dataset": release.dataset,
        "epsilon": float(release.epsilon),
        "delta": float(release.delta),
        "status": release.status,
        "time": release.time,
        "work": release.body.get("work", ""),
    }


def _verify(options: argparse.Namespace) -> dict[str, Any]:
    try:
        ledger = Ledger.open(existing_ledger(options.ledger))
    except CheckFailedError as error:
        return {"entries": [], "caps": {}, "ok": False, "problems": [str(error)], "ledger": str(options.ledger)}
    with ledger:
        problems = ledger.verify()
        if problems:
            return {"entries": [], "caps": {}, "ok": False, "problems": problems, "ledger": str(ledger.path)}
        return {**_show(ledger), "problems": []}


def _cap(options: argparse.Namespace, context: Context, ledger: Ledger) -> dict[str, Any]:
    epsilon = exact(_EPSILON.parse(options.epsilon, "--epsilon"))
    delta = None if options.delta is None else exact(_DELTA.parse(options.delta, "--delta"))
    dataset = fingerprint(read_data(options, context), ledger.key)
    return {**_show_account(ledger.set_cap(dataset, epsilon, delta)), **_show(ledger)}


def _version(options: argparse.Namespace, context: Context, ledger: Ledger) -> dict[str, Any]:
    new = fingerprint(read_data(options, context), ledger.key)
    # Both are read alike: what a person says about the newer table holds for the older one of the same make.
    older = read_table(options.of, read_options(options, ReadOptions), cancel=context.cancel)
    old = fingerprint(older, ledger.key)
    account = ledger.account(ledger.link_version(new, old))
    return {**_show_account(account), **_show(ledger)}


def _show_account(account: Account) -> dict[str, Any]:
    used = account.spent[0] + account.reserved[0]
    return {
        "dataset": account.dataset,
        "cap_epsilon": None if account.standing_cap is None else float(account.standing_cap[0]),
        "cap_delta": None
        if account.standing_cap is None or account.standing_cap[1] is None
        else float(account.standing_cap[1]),
        "spent_epsilon": float(used),
        "remaining_epsilon": None if account.remaining is None else float(account.remaining),
    }


def _text(result: Mapping[str, Any]) -> str:
    if result.get("problems"):
        return "\n".join(["the ledger is NOT as it was written:", *(f"  {p}" for p in result["problems"])])
    if "chain" in result and "output" not in result:
        return json.dumps(result, indent=2)
    lines = [f"ledger {result['ledger']}: hash chain ok" if result["ok"] else f"ledger {result['ledger']}: BROKEN"]
    if "spent_epsilon" in result:
        cap, left = result["cap_epsilon"], result["remaining_epsilon"]
        told = f"cap {figure(cap)}, {figure(left)} remain" if cap is not None else "no cap yet"
        lines.append(f"dataset {result['dataset']}: {told}, {figure(result['spent_epsilon'])} spent or reserved")
    rows = [
        (e["time"][:19], e["release_id"], e["dataset"][:12], figure(e["epsilon"]), figure(e["delta"]), e["status"])
        for e in result["entries"]
    ]
    if rows:
        header = ("time (UTC)", "release", "dataset", "epsilon", "delta", "status")
        lines += ["", columns_text(header, rows, right=(3, 4))]
    if result["caps"]:
        caps = [(dataset[:12], figure(cap)) for dataset, cap in result["caps"].items()]
        lines += ["", columns_text(("dataset", "cap epsilon"), caps, right=(1,))]
    return "\n".join(lines)


COMMAND = Command(
    name="ledger",
    help="the durable account of every dataset: cap, show, verify, export, version",
    example="workbench ledger cap sample:people --epsilon 5 --ledger trial.sqlite",
    configure=_configure,
    run=_run,
    text=_text,
)
