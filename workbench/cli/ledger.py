"""``workbench ledger``: the privacy budget of every table."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import (
    add_data,
    add_ledger,
    columns_text,
    existing_ledger,
    figure,
    read_other,
    report_notices,
)
from workbench.data.images.image_reader import is_image_set, read_images
from workbench.data.table import Table
from workbench.params import CheckFailedError, InputError, ParameterError, WorkbenchError, counted, one_line
from workbench.params.amounts import left, limit, paid
from workbench.params.remedies import run
from workbench.release.atomic import write_output
from workbench.release.ledger.composition import FILTER, SUM
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import PERSON
from workbench.release.ledger.state import GROUP
from workbench.release.ledger.summary import Caps, account_facts, summary
from workbench.release.part_files import refuse_replacing_inputs
from workbench.release.recover import recover
from workbench.signals import Notice

GENERALISED = "Generalised tables, with no ε: not differential privacy:"
SHOWN = "Private figures were shown at no cost; cards and certificates of later releases of the table state this:"
_OR_ACCOUNT = "or an account by its name, or by its digits in `ledger show`"

_ACTIONS = {
    "cap": "set the cap of a dataset",
    "show": "list releases (all, or those of DATA), accounts with cap and remaining budget, and private figures shown",
    "verify": "check that no entry was altered or removed",
    "export": "write every entry as JSON",
    "version": "make a newer version of a table share the account of the older one",
    "group": "let two tables about the same people share one account",
    "separate": "declare that two tables with similar rows or columns are different tables",
    "name": "give the account of a dataset a public name",
    "count": "choose how releases of a dataset are composed",
    "backup": "write a full copy of the ledger and its key",
    "move": "move the ledger; the old file can charge no more releases",
    "merge": "take over the accounts of another ledger, which can then charge no more releases",
    "accept": "accept a ledger that is older than the last one seen on this computer",
}
_OTHER_TABLE = {
    "version": ("--of", "OLD", "older"),
    "separate": ("--from", "OLD", "other"),
    "group": ("--with", "OTHER", "other"),
}
_COUNTS = "the sum of epsilon, or a Rényi filter, which charges less than the sum for many small releases"


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(_ACTIONS))
    subs = {name: actions.add_parser(name, help=stated) for name, stated in _ACTIONS.items()}
    for verb in ("cap", "count", *_OTHER_TABLE):
        add_data(subs[verb])
    for verb, (flag, metavar, which) in _OTHER_TABLE.items():
        where = "in the ledger" if verb == "group" else _OR_ACCOUNT
        subs[verb].add_argument(flag, required=True, dest="of", metavar=metavar, help=f"the {which} table, {where}")
    add_options(subs["cap"], Caps)
    subs["count"].add_argument("--by", required=True, choices=(SUM, FILTER), help=_COUNTS)
    for verb in ("backup", "move"):
        subs[verb].add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the new file")
    subs["merge"].add_argument("other", type=Path, metavar="OTHER", help="the ledger that becomes part of this one")
    add_data(subs["name"], more=f"; {_OR_ACCOUNT}")
    add_data(subs["show"], required=False, more=f"; {_OR_ACCOUNT}; without one every account is shown")
    stated = "the name; certificates of plans with this name show it and the total"
    subs["name"].add_argument("name", metavar="NAME", help=stated)
    subs["export"].add_argument("-o", "--output", type=Path, metavar="OUT", help="the file (default: standard output)")
    for sub in subs.values():
        add_ledger(sub)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.action == "verify":
        return _verify(options)
    if options.action in ("show", "export"):
        with _read(options) as ledger:
            return _shown(options, context, ledger) if options.action == "show" else _export(options, ledger)
    if options.action in ("backup", "move"):
        return _copied(options)
    if options.action in ("merge", "accept"):
        return _merged(options) if options.action == "merge" else _accepted(options)
    with Ledger.open(options.ledger) as ledger:
        for sentence in recover(ledger):
            context.emit(Notice("info", sentence))
        account = _CHANGES[options.action](options, context, ledger)
        return {**account_facts(ledger, account), **summary(ledger, account), "data": options.data}


def _data(path: str, options: argparse.Namespace, context: Context) -> Table:
    """Return the table or the images that ``path`` names; report choices that the reader made."""
    if is_image_set(path):
        return read_images(path, emit=context.emit, cancel=context.cancel)
    return report_notices(read_other(path, options, context, None), context)


def _copied(options: argparse.Namespace) -> dict[str, Any]:
    path = existing_ledger(options.ledger)
    with Ledger.open(path) as ledger:
        target = ledger.back_up(options.output) if options.action == "backup" else ledger.move(options.output)
    with Ledger.read(target) as copied:
        return {**summary(copied), "output": str(target), "done": options.action}


def _merged(options: argparse.Namespace) -> dict[str, Any]:
    path, other = existing_ledger(options.ledger), existing_ledger(options.other)
    with Ledger.open(path) as ledger, Ledger.open(other) as taken:
        stated = vars(ledger.merge(taken))
        return {**summary(ledger), "merged": {**stated, "ledger": str(taken.path)}}


def _accepted(options: argparse.Namespace) -> dict[str, Any]:
    with Ledger.open(existing_ledger(options.ledger)) as ledger:
        mark = ledger.accept()
        return {**summary(ledger), "accepted": {"missing": mark.seq, "time": mark.time}}


def _two_tables(options: argparse.Namespace, context: Context, ledger: Ledger) -> tuple[Identity, Identity | str]:
    new = ledger.identify(_data(options.data, options, context))
    return new, _known(options.of, options, context, ledger)  # both are read with the same options


def _known(stated: str, options: argparse.Namespace, context: Context, ledger: Ledger) -> Identity | str:
    """Return the marks of a table, or the account that is called so where there is no such file."""
    account = "" if os.path.exists(stated) else ledger.account_labelled(stated)
    return account or ledger.identify(_data(stated, options, context))


def _read(options: argparse.Namespace) -> Ledger:
    """Return the ledger; of a file that is none, say how the account of a table is shown."""
    try:
        return Ledger.read(existing_ledger(options.ledger))
    except InputError as error:
        if error.code != "ledger-unusable":
            raise
        shows = run("see the account of a table with", "ledger", "show", str(options.ledger))
        raise InputError(error.what, error.where, (*error.remedies, shows), code=error.code) from None


def _is_ledger(data: str) -> bool:
    if not os.path.isfile(data) or not os.path.getsize(data):
        return False
    try:
        Ledger.read(Path(data)).close()
    except WorkbenchError:
        return False
    return True


def _shown(options: argparse.Namespace, context: Context, ledger: Ledger) -> dict[str, Any]:
    """Return what the ledger holds of DATA, which is read and not recorded; of every table where none is named."""
    if options.data is None:
        return summary(ledger)
    if _is_ledger(options.data):
        ways = run("show all of it with", "ledger", "show", "--ledger", options.data)
        raise ParameterError("this is a ledger, not a table", options.data, ways)
    known = _known(options.data, options, context, ledger)
    account = known if isinstance(known, str) else ledger.find(known).account
    if not account:
        what = "the ledger has no account for this table"
        raise InputError(what, options.data, "its first release, or a cap, creates one", code="no-account")
    return {**account_facts(ledger, account), **summary(ledger, account), "data": options.data}


def _export(options: argparse.Namespace, ledger: Ledger) -> dict[str, Any]:
    result = {**summary(ledger), "chain": [vars(e) for e in ledger.entries()]}
    if options.output is not None:
        refuse_replacing_inputs(options.output, ledger.path)
        write_output(options.output, json.dumps(result, indent=2).encode())
        result["output"] = str(options.output)
    return result


def _verify(options: argparse.Namespace) -> dict[str, Any]:
    empty: dict[str, Any] = {"entries": [], "caps": {}, "accounts": [], "figures": [], "generalised": []}
    nothing = {**empty, "ok": False, "ledger": str(options.ledger)}
    try:
        with Ledger.read(existing_ledger(options.ledger)) as ledger:
            problems = ledger.verify()
            mark = ledger.seen()
            seen = None if mark is None else {"entry": mark.seq, "time": mark.time}
            return {**(nothing if problems else summary(ledger)), "problems": problems, "seen": seen}
    except CheckFailedError as error:
        return {**nothing, "problems": [str(error)]}


def _text(result: Mapping[str, Any]) -> str:
    if result.get("problems"):
        return "\n".join(["the ledger was altered or damaged:", *(f"  {p}" for p in result["problems"])])
    if "chain" in result and "output" not in result:
        return json.dumps(result, indent=2)
    lines = [
        f"ledger {result['ledger']}: no entry has been altered or removed"
        if result["ok"]
        else f"ledger {result['ledger']}: BROKEN"
    ]
    if "spent_epsilon" in result:
        stated = _cap(result, "epsilon") or "no cap yet"
        if result["cap_delta"] is not None:
            stated += f" (delta: {_cap(result, 'delta')})"
        called = _known_as(result["account"] or result.get("data", ""), result["dataset"])
        whom = ", for each person" if result["unit"] == PERSON else ""
        lines.append(f"{called}: {stated}, {paid(result['spent_epsilon'])} spent or reserved{whom}")
        if result["group"]:
            lines.append(f"  {counted(result['tables'], 'table')} about the same people share this account")
        if result["count"]["method"] == FILTER:
            order, delta = result["count"]["order"], figure(float(result["count"]["delta"]))
            lines.append(f"  counted by a Rényi filter of order {order}, for which delta = {delta} is set aside")
    if "problems" in result:
        seen = result["seen"]
        lines.append(
            f"  it has the newest entry that this computer has seen (entry {seen['entry']})"
            if seen
            else "  this computer has not charged it before, so an older copy of it would not be noticed"
        )
    if "merged" in result:
        stated = result["merged"]
        lines.append(
            f"merged from {stated['ledger']}: {counted(stated['releases'], 'release')} and "
            f"{counted(stated['tables'], 'table')}, beside {counted(stated['shared'], 'release')} that both held; "
            "that ledger charges no more"
        )
    if "accepted" in result:
        lines.append(f"accepted: this ledger goes on without entry {result['accepted']['missing']}, and records it")
        lines.append("what it held as reserved is charged: the entries that are missing may have charged it")
    if "done" in result:
        lines.append(f"{'copied' if result['done'] == 'backup' else 'moved'} to {result['output']}, with its key")
    return "\n".join([*lines, *_tables(result)])


def _tables(result: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (
            _moment(e["time"]),
            e["release_id"],
            _known_as(e["called"], e["dataset"]),
            paid(e["epsilon"]),
            paid(e["delta"]),
            f"{e['status']}, of both tables" if "tables" in e else e["status"],
            Path(e["output"]).name or "–",
        )
        for e in result["entries"]
    ]
    if rows:
        header = ("time (UTC)", "release", "dataset", "epsilon", "delta", "status", "output")
        yield from ("", columns_text(header, rows, right=(3, 4)))
    if result["caps"] and "spent_epsilon" not in result:
        persons = any(account["unit"] == PERSON for account in result["accounts"])
        titles = ["account", "cap epsilon", "spent or reserved", "remaining", "delta of its cap"]
        titles += ["for each"] if persons else []
        accounts = [
            (
                _known_as(a["account"], a["dataset"]),
                *_epsilons(a),
                _delta(a["spent_delta"], a["cap_delta"]),
                *((a["unit"],) if persons else ()),
            )
            for a in result["accounts"]
        ]
        yield from ("", columns_text(titles, accounts, right=(1, 2, 3, 4)))
    figures = [(_moment(f["time"]), _known_as(f["called"], f["dataset"]), f["shown"]) for f in result["figures"]]
    if figures:
        yield from ("", SHOWN, columns_text(("first shown (UTC)", "dataset", "private figures"), figures))
    stated = result["generalised"]
    tables = [(_moment(t["time"]), _known_as(t["called"], t["dataset"]), one_line(t["output"])) for t in stated]
    if tables:
        yield from ("", GENERALISED, columns_text(("published (UTC)", "dataset", "file"), tables))


def _moment(time: str) -> str:
    return time[:19].replace("T", " ")


def _cap(account: Mapping[str, Any], quantity: str) -> str:
    """Return a cap and what remains of it; empty where the next release sets it."""
    cap, remaining = account[f"cap_{quantity}"], account[f"remaining_{quantity}"]
    return "" if cap is None else f"cap {limit(cap, remaining)}, {left(remaining)} remain"


def _epsilons(account: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return cap, spent and remaining ε, with dashes where the next release sets the cap."""
    cap, spent, remaining = (account[f"{key}_epsilon"] for key in ("cap", "spent", "remaining"))
    return ("–", paid(spent), "–") if cap is None else (limit(cap, remaining), paid(spent), left(remaining))


def _delta(spent: float, cap: float | None) -> str:
    return "–" if cap is None and not spent else f"{paid(spent)} of {'–' if cap is None else left(cap)}"


def _known_as(called: str, dataset: str) -> str:
    """Return what a person calls a dataset, with enough of its id to distinguish two of the same name."""
    return f"{called} ({dataset[:6]})" if called else f"dataset {dataset[:6]}"


_CHANGES: dict[str, Callable[[argparse.Namespace, Context, Ledger], str]] = {
    "cap": lambda options, context, ledger: read_options(options, Caps).set(
        ledger, ledger.identify(_data(options.data, options, context))
    ),
    "version": lambda options, context, ledger: ledger.link_version(*_two_tables(options, context, ledger)),
    "group": lambda options, context, ledger: ledger.link_version(*_two_tables(options, context, ledger), GROUP),
    "separate": lambda options, context, ledger: ledger.separate(*_two_tables(options, context, ledger)),
    "name": lambda options, context, ledger: ledger.set_name(
        _known(options.data, options, context, ledger), options.name
    ),
    "count": lambda options, context, ledger: (
        ledger.count_by(ledger.identify(_data(options.data, options, context)), options.by).dataset
    ),
}

COMMAND = Command("workbench ledger cap sample:people --epsilon 5 --ledger trial.sqlite", _configure, _run, _text)
