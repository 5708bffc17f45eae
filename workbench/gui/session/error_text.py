"""Errors as the window says them: the ways out are its fields and buttons, not options and keys of a plan's file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from workbench.gui.style.language import capital, tr, tr_later, tr_sentence
from workbench.params import WorkbenchError
from workbench.params import remedies as way
from workbench.params.remedies import Remedy

if TYPE_CHECKING:
    from workbench.data.columns.profile import Suspicion

_QUOTED = re.compile(r"'[a-z0-9]+(?:-[a-z0-9]+)*'")  # what may be the name of a network

_FACTS = {
    "date_order": tr_later("choose under “day or month first”"),
    "other": tr_later("choose one under “if a value is not listed”"),
    "missing_codes": tr_later("declare it under “codes for missing”"),
    "missing": tr_later("choose “keep as ‘missing’” under “if a value is missing”"),
    "kind": tr_later("choose another kind"),
    "lower": tr_later("declare the lower bound from public facts"),
    "upper": tr_later("declare the upper bound from public facts"),
    "domain": tr_later("list its values"),
}
"""Where a fact of a column is declared."""

_INVALID = {
    "values": tr_later("tick “replace invalid values” in Data, Columns"),
    "rows": tr_later("press “Replace invalid values” below"),
}


def _option(about: Mapping[str, str]) -> str:
    option, value, doing = about["option"], about.get("value", ""), about.get("doing", "")
    if doing:
        way = tr_sentence(doing)
    else:
        way = tr("set {option} to {value}", option=option, value=value) if value else tr("set {option}", option=option)
    if not about.get("condition"):
        return tr("{way} under “How it is read”", way=way)
    return tr("{way} under “How it is read” if {condition}", way=way, condition=tr_sentence(about["condition"]))


_GIVEN = {
    "weights": tr_later("choose their file under “weights”: safetensors or a state dict of torch"),
    "weights of the card": tr_later("choose their file; its SHA-256 is on the card"),
    "category": tr_later("choose the kind category, whose values can be found"),
    "ask": tr_later("choose a file of public rows under “rows to predict”"),
    "join": tr_later("press “Join a second table…” in Data"),
    "noise": tr_later("enter a privacy budget, ε, or a noise, σ"),
    "target": tr_later("choose the column to predict in Data, Questions, or the method mst"),
}
"""What to do in the window where a command would be given an option, by the name of that option."""


def _less(about: Mapping[str, str]) -> str:
    """Return to spend less; nothing where no ε is left, so that no less would do."""
    if about.get("remains"):
        return tr("use what remains")
    return tr("spend less") if about.get("quantity") == "delta" else ""


_WORDS: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    way.DECLARE: lambda about: tr(_FACTS[about["key"]]),
    way.STATE_OPTION: _option,
    way.GIVE: lambda about: tr(_GIVEN[about["what"]]),
    way.ADD_VALUE: lambda about: tr("add it to the list of values"),
    way.LIST_VALUES: lambda about: tr("list its values"),
    way.REPLACE_INVALID: lambda about: tr(_INVALID[about["of"]]),
    way.STATE_ACCOUNT: lambda about: tr("enter “{name}” under “Account's public name”", name=about["name"]),
    way.NAME_ACCOUNT: lambda about: tr("press “Name the account…”"),
    way.CHARGE_ACCOUNT: lambda about: (
        tr("enter “{name}” under “Account's public name” to charge that account", name=about["name"])
        if about["name"]
        else tr(
            "open that table and name its account, then enter the name here under “Account's public name” to charge it"
        )
    ),
    way.OTHER_TABLE: lambda about: tr("press “It is another table…” in Release, Settings"),
    way.CONFIRM_GUESSES: lambda about: tr("confirm them in Data, Columns"),
    way.PROTECT: lambda about: tr("protect a column in Release, Columns"),
    way.RAISE_CAP: lambda about: tr("raise the cap of {letter}", letter=_letters(about["quantity"])),
    way.SHARE_ACCOUNT: lambda about: tr("let both tables share one account in the ledger, and raise its cap"),
    way.REPLACE_OUTPUT: lambda about: tr("remove it first"),
    way.SPEND_LESS: _less,
}
"""What to click or type for each kind of way out; plain text reads the same everywhere."""


def _letters(quantity: str) -> str:
    return {"epsilon": "ε", "delta": "δ"}.get(quantity) or tr("ε and δ")


def way_out(remedy: Remedy) -> str:
    """Return what to do in the window."""
    words = _WORDS.get(remedy.kind)
    return tr_sentence(remedy.text) if words is None else words(remedy.about)


def ways_out(remedies: Iterable[Remedy]) -> str:
    """Return what can be done in the window, as one clause; empty if there is nothing."""
    ways = list(dict.fromkeys(filter(None, map(way_out, remedies))))
    return tr("{ways}, or {last}", ways=", ".join(ways[:-1]), last=ways[-1]) if len(ways) > 1 else "".join(ways)


def in_the_window(error: WorkbenchError) -> str:
    """Return an error with the ways out that the window has; ε and δ are named by their letters, as in every field."""
    return _lettered(error.worded(ways_out(error.remedies), tr_sentence))


def _lettered(stated: str) -> str:
    """Return what the command line calls epsilon and delta by the letters, and exponents as fields show them."""
    lettered = re.sub(r"\b(epsilon|delta) (?=(?:=|such as) )", lambda found: f"{_letters(found[1])} ", stated)
    return re.sub(r"(?<=\d)e-0(?=\d)", "e-", lettered)


def without_place(error: WorkbenchError) -> str:
    """Return the same where the place is plain from where it is said."""
    what, ways = tr_sentence(error.what), ways_out(error.remedies)
    stated = f"{what} {capital(ways)}" if ways and what.endswith("?") else "; ".join(filter(None, (what, ways)))
    return _lettered(stated)


def titled(text: str) -> str:
    """Return a text with the title of each network in place of the name that commands have for it."""
    if not _QUOTED.search(text):
        return text
    from workbench.deep.networks import NETWORKS

    for entry in NETWORKS:
        text = text.replace(repr(entry.name), f"“{tr_sentence(entry.title)}”")
    return text


def sentence(error: WorkbenchError) -> str:
    """Return an error as the window says it: a capital first, a full stop last."""
    text = titled(in_the_window(error))
    return capital(text) + ("" if text.endswith((".", "…", "!")) else ".")


def suspicion_text(suspicion: Suspicion) -> str:
    """Return what was seen in a column and what to do about it in the window."""
    why = tr_sentence(suspicion.why)
    return f"{why}; {way_out(suspicion.hint)}" if suspicion.hint is not None else why
