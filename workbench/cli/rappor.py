"""``workbench rappor``: reports of a column, their sum, the candidate map, decoding, and simulation."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, flag_of, read_options
from workbench.cli.kind_command import Asked, KindCommand
from workbench.cli.tables import (
    add_ledger,
    columns_text,
    figure,
    keep_inputs,
    note_study,
    read_data,
)
from workbench.data.read import SAMPLE_PREFIX, ReadOptions, read_table
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.params.field import ChoiceField, IntegerField, RealField
from workbench.privacy.rappor.account import cost
from workbench.privacy.rappor.bloom import BasicBits, Bits, BloomBits
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.candidates import map_bytes, read_candidates, read_map
from workbench.rappor.decode import decode
from workbench.rappor.distributions import form, observed
from workbench.rappor.files import count_bytes, read_counts, read_parameters
from workbench.rappor.reports import read_sum
from workbench.rappor.results import result_bytes, summary
from workbench.rappor.simulate import preset, score, simulate, with_extra
from workbench.release.atomic import write_output
from workbench.release.kinds import kind
from workbench.release.path import Released
from workbench.sanitize.plan import Plan
from workbench.signals import Notice

_CORRECTION = ChoiceField(choices=("bonferroni", "fdr"), help="bonferroni, or fdr (Benjamini and Hochberg)")
_ALPHA = RealField(above=0, below=1, symbol="α", help="chance of a false discovery, or expected share of them")
_REPORTS = IntegerField(at_least=1, upto=20_000_000, help="number of clients, each with one report")
_VALUES = IntegerField(at_least=2, upto=100_000, help="number of distinct values of --distribution")
_EXTRA = IntegerField(at_least=0, upto=100_000, help="candidates that nobody has, for false discoveries")
_SEED = IntegerField(at_least=0, upto=2**63 - 1, help="seed of everything that is drawn")
_TOP = 20


_PUBLISHED = {"encoding": "utf-8", "delimiter": ",", "quote": '"', "decimal": ".", "header": "yes"}
"""How a file is read for which neither a plan nor an option says otherwise: as the published files are written."""


def _configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="encode|sum|map|decode|simulate")
    subs = {
        name: actions.add_parser(name, help=stated)
        for name, stated in (
            ("encode", _ENCODE.kind.help),
            ("sum", "add reports up: for each cohort its reports and the count of each bit"),
            ("map", "which bits each candidate sets"),
            ("decode", "which candidates occur, and how often"),
            ("simulate", "a collection from end to end on made-up clients; releases nothing"),
        )
    }
    _ENCODE.configure(subs["encode"])
    subs["encode"].add_argument("--seed", dest="seed_refused", help=argparse.SUPPRESS)
    subs["sum"].add_argument("reports_file", type=Path, metavar="REPORTS", help="reports, as encode writes them")
    subs["map"].add_argument("candidates", type=Path, metavar="CANDIDATES", help="one candidate string a line")
    subs["decode"].add_argument("--counts", required=True, type=Path, metavar="FILE", help="counts, as sum writes them")
    subs["decode"].add_argument("--map", required=True, type=Path, metavar="FILE", help="map, as map writes it")
    for name, written in (("sum", "COUNTS"), ("map", "MAP"), ("decode", "RESULT")):
        subs[name].add_argument("--params", required=True, type=Path, metavar="FILE", help="CSV: k,h,m,p,q,f")
        subs[name].add_argument(
            "-o", "--output", required=True, type=Path, metavar=written, help="the CSV that is written"
        )
    subs["map"].add_argument("--basic", action="store_true", help="each candidate has a bit of its own")
    _configure_simulate(subs["simulate"])
    for name in ("decode", "simulate"):
        subs[name].add_argument("--correction", metavar="NAME", default="bonferroni", help=_CORRECTION.help)
        subs[name].add_argument("--alpha", metavar="α", default="0.05", help=f"{_ALPHA.help} (default 0.05)")


def _configure_simulate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--preset", metavar="NAME", help="normal or exponential, each with its parameters")
    parser.add_argument("--distribution", metavar="NAME", help="normal, exponential or zipf")
    parser.add_argument("--data", metavar="DATA", help="take the distribution from a table instead (private)")
    parser.add_argument("--column", metavar="COL", help="the column of --data")
    parser.add_argument("--values", metavar="N", help=f"{_VALUES.help} (default 100)")
    parser.add_argument("--reports", metavar="N", help=_REPORTS.help)
    parser.add_argument("--extra", metavar="N", help=_EXTRA.help)
    parser.add_argument("--params", type=Path, metavar="FILE", help="CSV: k,h,m,p,q,f; or one by one:")
    add_options(parser, RapporParameters)
    parser.add_argument("--basic", action="store_true", help="each candidate has a bit of its own: h = m = 1")
    parser.add_argument("--seed", metavar="N", default="1", help=f"{_SEED.help} (default 1)")
    parser.add_argument("-o", "--output", type=Path, metavar="RESULT", help="write the decoded strings as CSV")
    add_ledger(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    return {"of": options.action, **_ACTIONS[options.action][0](options, context)}


def _text(result: Mapping[str, Any]) -> str:
    return _ACTIONS[result["of"]][1](result)


def _epsilons(parameters: RapporParameters) -> dict[str, Any]:
    """Return both ε; ``null`` stands for an infinite one, which JSON cannot hold."""
    bound = cost(parameters)
    return {
        "epsilon_permanent": None if bound.permanent == float("inf") else bound.permanent,
        "epsilon_one": None if bound.one == float("inf") else bound.one,
    }


def _epsilon_text(result: Mapping[str, Any]) -> str:
    one, permanent = (
        "infinite" if result[key] is None else f"{result[key]:.10g}" for key in ("epsilon_one", "epsilon_permanent")
    )
    return f"epsilon of one report {one}, of any number of reports of one client {permanent}"


class _Encode(KindCommand):
    def table(self, options: argparse.Namespace, context: Context, plan: Plan | None) -> Table:
        """Return the table; without a plan it is read as the published files are, where no option says otherwise."""
        stated = read_options(options, ReadOptions)
        if plan is None and not options.data.startswith(SAMPLE_PREFIX):
            for name, usual in _PUBLISHED.items():
                if getattr(stated, name) is None:
                    setattr(options, f"{ReadOptions.__name__}.{name}", usual)
        return read_data(options, context, plan)

    def facts(self, asked: Asked, done: Released | None, context: Context) -> dict[str, Any]:
        assert done is not None
        stated = done.document["request"]
        found = {name: stated.get(name) for name in ("column", "client", "cohort")}
        reports = stated.get("reports", 1)
        if found["cohort"] is not None:
            what = f"the cohorts of the column {found['cohort']!r} are published as they are"
            context.emit(Notice("warning", what))
        return {
            **found,
            "reports": done.document["method"]["reports"],
            "reports_each": reports,
            **{name: stated[name] for name in ("epsilon_permanent", "epsilon_one")},
            "epsilon_exact": cost(RapporParameters(**stated["parameters"]), reports).exact,
        }

    def what(self, result: Mapping[str, Any]) -> str:
        return f"{result['reports']} reports of the column {result['column']}"


_ENCODE = _Encode(kind("rappor"))


def _sum(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    keep_inputs(options.output, options.params, options.reports_file)
    parameters = read_parameters(options.params)
    counts = read_sum(options.reports_file, parameters, context.emit, context.cancel)
    write_output(options.output, count_bytes(counts))
    return {
        "reports": counts.total,
        "cohorts": parameters.m,
        "cohort_reports": counts.reports.tolist(),
        "output": str(options.output),
        **_epsilons(parameters),
    }


def _sum_text(result: Mapping[str, Any]) -> str:
    stated = f"{result['reports']} reports of {result['cohorts']} cohorts are summed in {result['output']}"
    return f"{stated}\n{_epsilon_text(result)}"


def _map(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    keep_inputs(options.output, options.params, options.candidates)
    parameters = read_parameters(options.params)
    strings = read_candidates(options.candidates)
    bits: Bits = BasicBits(parameters, strings) if options.basic else BloomBits(parameters)
    write_output(options.output, map_bytes(strings, bits))
    return {
        "candidates": len(strings),
        "bits": parameters.m * parameters.h,
        "output": str(options.output),
        **_epsilons(parameters),
    }


def _map_text(result: Mapping[str, Any]) -> str:
    return f"{result['candidates']} candidates with {result['bits']} bits each are mapped in {result['output']}"


def _judged(options: argparse.Namespace) -> tuple[str, float]:
    return _CORRECTION.parse(options.correction, "--correction"), _ALPHA.parse(options.alpha, "--alpha")


def _decode(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    keep_inputs(options.output, options.params, options.counts, options.map)
    correction, alpha = _judged(options)
    parameters = read_parameters(options.params)
    counts = read_counts(options.counts, parameters)
    candidates = read_map(options.map, parameters)
    found = decode(counts, candidates, alpha, context.emit, context.cancel)
    write_output(options.output, result_bytes(found, correction))
    return {**summary(found, correction), "output": str(options.output), **_epsilons(parameters)}


def _decode_text(result: Mapping[str, Any]) -> str:
    return f"{_found_text(result)}\nresults {result['output']}\n{_epsilon_text(result)}"


def _found_text(result: Mapping[str, Any]) -> str:
    found = result["strings"]
    rows = [
        [
            s["string"][:40],
            _percent(s["estimate"]),
            f"{_percent(s['low'])} to {_percent(s['high'])}",
            figure(s["p_value"]),
        ]
        for s in found[:_TOP]
    ]
    more = [f"and {len(found) - _TOP} more"] if len(found) > _TOP else []
    stated = "Bonferroni" if result["correction"] == "bonferroni" else "Benjamini and Hochberg"
    return "\n".join(
        [
            f"{result['detected']} of {result['candidates']} candidates are found in "
            f"{result['reports']} reports ({stated})",
            *([columns_text(["string", "share", "95 % interval", "p"], rows, right=(1, 2, 3))] if rows else []),
            *more,
            f"share of the reports that no candidate explains: {_unexplained(result)}",
        ]
    )


def _unexplained(result: Mapping[str, Any]) -> str:
    """Return the 95 % interval of the unexplained share, within 0 and 1."""
    share, half = result["unexplained"], 1.96 * result["unexplained_std_error"]
    low, high = (min(max(end, 0.0), 1.0) for end in (share - half, share + half))
    return f"{_percent(low)} to {_percent(high)}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _simulate(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    correction, alpha = _judged(options)
    parameters, distribution, reports, candidates = _experiment(options, context)
    if options.output is not None:
        keep_inputs(options.output, options.params, options.data, options.ledger)
    made = simulate(
        parameters,
        distribution,
        reports,
        candidates,
        seed=_SEED.parse(options.seed, "--seed"),
        basic=options.basic,
        alpha=alpha,
        emit=context.emit,
        cancel=context.cancel,
    )
    if options.output is not None:
        write_output(options.output, result_bytes(made.decoded, correction))
    found = score(made, correction)
    truth = dict(zip(made.decoded.strings, made.truth.tolist(), strict=True))
    stated = summary(made.decoded, correction)
    stated["strings"] = [{**s, "true": truth[s["string"]]} for s in stated["strings"]]
    return {
        **stated,
        "distribution": distribution.name,
        "private": options.data is not None,
        "parameters": {name: getattr(parameters, name) for name in parameters.declared()},
        "missed": found.missed,
        "false_discoveries": found.false,
        "coverage": found.coverage,
        **({"output": str(options.output)} if options.output is not None else {}),
        **_epsilons(parameters),
    }


def _experiment(options: argparse.Namespace, context: Context) -> tuple[RapporParameters, Any, int, tuple[str, ...]]:
    """Return parameters, distribution, reports and candidates of a simulation."""
    sources = [options.preset, options.distribution, options.data]
    if sum(source is not None for source in sources) != 1:
        raise ParameterError(
            "the true distribution is not named once", hint="give --preset, --distribution, or --data and --column"
        )
    if (options.data is None) != (options.column is None):
        raise ParameterError("--data and --column belong together", hint="give both")
    base = preset(options.preset) if options.preset is not None else None
    if options.preset is not None and options.values is not None:
        raise ParameterError("--values is for --distribution", hint="leave it out")
    parameters = _parameters(options, base.parameters if base is not None else RapporParameters())
    if base is not None:
        distribution = base.distribution
    elif options.data is not None:
        table = read_table(options.data, cancel=context.cancel)
        distribution = observed(table.column(options.column).to_list(), f"the column {options.column}")
        note_study(options, context, table, "rappor")
    else:
        values = 100 if options.values is None else _VALUES.parse(options.values, "--values")
        distribution = form(options.distribution, values)
    usual = 100_000 if base is None else base.reports
    reports = usual if options.reports is None else _REPORTS.parse(options.reports, "--reports")
    extra = (0 if base is None else base.extra) if options.extra is None else _EXTRA.parse(options.extra, "--extra")
    return parameters, distribution, reports, with_extra(distribution, extra)


def _parameters(options: argparse.Namespace, base: RapporParameters) -> RapporParameters:
    """Return the parameters of --params or ``base``, with those that are given one by one."""
    declared = RapporParameters.declared()
    given = {
        name: declared[name].parse(value, flag_of(RapporParameters, name))
        for name in declared
        if (value := getattr(options, f"RapporParameters.{name}")) is not None
    }
    chosen = base if options.params is None else read_parameters(options.params)
    return RapporParameters(**{name: getattr(chosen, name) for name in declared} | given)


def _simulate_text(result: Mapping[str, Any]) -> str:
    private = "private – not for release" if result["private"] else "simulated: contains no real data"
    return "\n".join(
        [
            f"{result['distribution']}, {result['reports']} reports ({private})",
            _found_text(result),
            f"missed {result['missed']}, false discoveries {result['false_discoveries']}, "
            f"{100 * result['coverage']:.0f} % of the 95 % intervals hold the true share",
            _epsilon_text(result),
        ]
    )


_ACTIONS: dict[
    str, tuple[Callable[[argparse.Namespace, Context], dict[str, Any]], Callable[[Mapping[str, Any]], str]]
] = {
    "encode": (_ENCODE.run, lambda result: f"{_ENCODE.text(result)}\n{_epsilon_text(result)}"),
    "sum": (_sum, _sum_text),
    "map": (_map, lambda result: f"{_map_text(result)}\n{_epsilon_text(result)}"),
    "decode": (_decode, _decode_text),
    "simulate": (_simulate, _simulate_text),
}

COMMAND = Command(
    name="rappor",
    help="RAPPOR: release reports of a column, sum, map and decode them, or simulate a collection",
    example="workbench rappor simulate --preset normal --reports 10000",
    configure=_configure,
    run=_run,
    text=_text,
)
