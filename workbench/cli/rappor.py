"""``workbench rappor``: reports of a column, their sum, the candidate map, decoding, and simulation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, given_options, read_options
from workbench.cli.common_options import (
    add_ledger,
    columns_text,
    figure,
    filled,
    read_data,
    report_notices,
    require_used,
)
from workbench.cli.kind_command import Asked, KindCommand
from workbench.cli.study_options import note_study
from workbench.data.reading_options import merge_options
from workbench.data.table import Table
from workbench.data.table_reader import ReadOptions, read_table
from workbench.params.amounts import counted, paid
from workbench.privacy.rappor.bits import BasicBits, Bits, BloomBits
from workbench.privacy.rappor.parameters import RapporParameters, cost, epsilons
from workbench.rappor.candidates import map_bytes, read_candidates, read_map
from workbench.rappor.decode import Judged, decode, result_bytes, summary
from workbench.rappor.files import count_bytes, read_counts, read_parameters
from workbench.rappor.reports import read_sum
from workbench.rappor.simulate import Distribution, Experiment, observed, score, simulate
from workbench.release.atomic import write_output
from workbench.release.kinds import kind
from workbench.release.part_files import refuse_replacing_inputs
from workbench.release.release_path import Released
from workbench.sanitize.plan import Plan
from workbench.signals import Notice

_TOP = 20

_PUBLISHED = ReadOptions(encoding="utf-8", delimiter=",", quote='"', decimal=".", header="yes")
"""How a file is read for which neither a plan nor an option says otherwise: as the published files are written."""

ENCODE, SUM, MAP, DECODE, SIMULATE = "encode", "sum", "map", "decode", "simulate"


class _Encode(KindCommand):
    def table(self, options: argparse.Namespace, context: Context, plan: Plan | None) -> Table:
        """Return the table; without a plan it is read as the published files are, where no option says otherwise."""
        if plan is not None:
            return read_data(options, context, plan)
        require_used(options, options.data)
        how = merge_options(read_options(options, ReadOptions), _PUBLISHED)
        return report_notices(read_table(options.data, how, cancel=context.cancel), context)

    def facts(self, asked: Asked, done: Released | None, context: Context) -> dict[str, Any]:
        assert done is not None
        stated = done.document["request"]
        found = {name: stated.get(name) for name in ("column", "client", "cohort")}
        reports = stated.get("reports", 1)
        if found["cohort"] is not None:
            what = f"the cohorts of the column {found['cohort']!r} are published unchanged"
            context.emit(Notice("warning", what))
        return {
            **found,
            "reports": done.document["method"]["reports"],
            "reports_each": reports,
            **{name: stated[name] for name in ("epsilon_permanent", "epsilon_one")},
            "epsilon_exact": cost(RapporParameters(**stated["parameters"]), reports).exact,
        }

    def what(self, result: Mapping[str, Any]) -> str:
        return f"{counted(result['reports'], 'report')} of the column {result['column']}"


_ENCODE = _Encode(kind("rappor"))


def _configure(parser: argparse.ArgumentParser) -> None:
    help_of = {
        ENCODE: _ENCODE.kind.help,
        SUM: "aggregate reports: the number of reports and bit counts for each cohort",
        MAP: "make the map of candidates to bits",
        DECODE: "decode: which candidates occur, and how often",
        SIMULATE: "simulate a whole collection with generated clients; releases nothing",
    }
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(help_of))
    subs = {name: actions.add_parser(name, help=stated) for name, stated in help_of.items()}
    _ENCODE.configure(subs[ENCODE])
    subs[ENCODE].add_argument("--seed", dest="seed_refused", help=argparse.SUPPRESS)
    subs[SUM].add_argument("reports_file", type=Path, metavar="REPORTS", help="reports, as encode writes them")
    subs[MAP].add_argument("candidates", type=Path, metavar="CANDIDATES", help="one candidate string a line")
    subs[DECODE].add_argument("--counts", required=True, type=Path, metavar="FILE", help="counts, as sum writes them")
    subs[DECODE].add_argument("--map", required=True, type=Path, metavar="FILE", help="map, as map writes it")
    for name, written in ((SUM, "COUNTS"), (MAP, "MAP"), (DECODE, "RESULT")):
        subs[name].add_argument("--params", required=True, type=Path, metavar="FILE", help="CSV: k,h,m,p,q,f")
        subs[name].add_argument(
            "-o", "--output", required=True, type=Path, metavar=written, help="the CSV that is written"
        )
    subs[MAP].add_argument("--basic", action="store_true", help="each candidate has a bit of its own")
    simulation = subs[SIMULATE]
    add_options(simulation, Experiment)
    simulation.add_argument("--params", type=Path, metavar="FILE", help="CSV: k,h,m,p,q,f; or one by one:")
    add_options(simulation, RapporParameters)
    simulation.add_argument("-o", "--output", type=Path, metavar="RESULT", help="write the decoded strings as CSV")
    add_ledger(simulation)
    for name in (DECODE, SIMULATE):
        add_options(subs[name], Judged)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.action == ENCODE:
        return {"of": ENCODE, **_ENCODE.run(options, context)}
    if options.action == SIMULATE:
        return {"of": SIMULATE, **_simulate(options, context)}
    parameters = read_parameters(options.params)
    data, result = {SUM: _sum, MAP: _map, DECODE: _decode}[options.action](options, context, parameters)
    write_output(options.output, data)
    return {"of": options.action, **result, "output": str(options.output), **epsilons(parameters)}


def _sum(options: argparse.Namespace, context: Context, parameters: RapporParameters) -> tuple[bytes, dict[str, Any]]:
    refuse_replacing_inputs(options.output, options.params, options.reports_file)
    counts = read_sum(options.reports_file, parameters, context.emit, context.cancel)
    stated = {"reports": counts.total, "cohorts": parameters.m, "cohort_reports": counts.reports.tolist()}
    return count_bytes(counts), stated


def _map(options: argparse.Namespace, context: Context, parameters: RapporParameters) -> tuple[bytes, dict[str, Any]]:
    refuse_replacing_inputs(options.output, options.params, options.candidates)
    strings = read_candidates(options.candidates)
    bits: Bits = BasicBits(parameters, strings) if options.basic else BloomBits(parameters)
    return map_bytes(strings, bits), {"candidates": len(strings), "bits": parameters.m * parameters.h}


def _decode(
    options: argparse.Namespace, context: Context, parameters: RapporParameters
) -> tuple[bytes, dict[str, Any]]:
    refuse_replacing_inputs(options.output, options.params, options.counts, options.map)
    judged = read_options(options, Judged)
    counts, candidates = read_counts(options.counts, parameters), read_map(options.map, parameters)
    found = decode(counts, candidates, judged.alpha, context.emit, context.cancel)
    return result_bytes(found, judged.correction), summary(found, judged.correction)


def _simulate(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    judged, asked = read_options(options, Judged), read_options(options, Experiment)
    if options.params is not None:
        base = read_parameters(options.params)
    else:
        base = asked.base.parameters if asked.base is not None else RapporParameters()
    parameters = RapporParameters(**{**vars(base), **given_options(options, RapporParameters)})
    found = None if asked.data is None else _observed(options, context, asked.data, str(asked.column))
    distribution, reports, candidates = asked.made(found)
    if options.output is not None:
        refuse_replacing_inputs(options.output, options.params, asked.data, options.ledger)
    made = simulate(
        parameters,
        distribution,
        reports,
        candidates,
        seed=asked.seed,
        basic=asked.basic,
        alpha=judged.alpha,
        emit=context.emit,
        cancel=context.cancel,
    )
    if options.output is not None:
        write_output(options.output, result_bytes(made.decoded, judged.correction))
    scored, stated = score(made, judged.correction), summary(made.decoded, judged.correction)
    truth = dict(zip(made.decoded.strings, made.truth.tolist(), strict=True))
    return {
        **stated,
        "strings": [{**s, "true": truth[s["string"]]} for s in stated["strings"]],
        "distribution": distribution.name,
        "private": asked.data is not None,
        "parameters": vars(parameters),
        "missed": scored.missed,
        "false_discoveries": scored.false,
        "coverage": scored.coverage,
        **({"output": str(options.output)} if options.output is not None else {}),
        **epsilons(parameters),
    }


def _observed(options: argparse.Namespace, context: Context, data: str, column: str) -> Distribution:
    table = read_table(data, cancel=context.cancel)
    found = observed(table.column(column).to_list(), f"the column {column}")
    note_study(options, context, table, "rappor")
    return found


_WORDS = {
    SUM: "the sums of {reports:n report} in {cohorts:n cohort} are in {output}",
    MAP: "the map of {candidates:n candidate} with {bits:n bit} each is in {output}",
    DECODE: "{found}\nresults {output}",
    SIMULATE: "{distribution}, {reports:n report} ({badge})\n{found}\n"
    "missed {missed}, false discoveries {false_discoveries}, {covered} % of the 95 % intervals contain the true share",
}


def _text(result: Mapping[str, Any]) -> str:
    of = result["of"]
    more = {"found": _found(result)} if of in (DECODE, SIMULATE) else {}
    if of == SIMULATE:
        more["covered"] = f"{100 * result['coverage']:.0f}"
        more["badge"] = "private – not for release" if result["private"] else "simulated: contains no real data"
    text = _ENCODE.text(result) if of == ENCODE else filled(_WORDS[of], {**result, **more})
    one, permanent = (
        "infinite" if result[key] is None else paid(result[key]) for key in ("epsilon_one", "epsilon_permanent")
    )
    return f"{text}\nepsilon of one report {one}, of any number of reports of one client {permanent}"


def _found(result: Mapping[str, Any]) -> str:
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
    by = "Bonferroni" if result["correction"] == "bonferroni" else "Benjamini and Hochberg"
    share, half = result["unexplained"], 1.96 * result["unexplained_std_error"]
    low, high = (min(max(end, 0.0), 1.0) for end in (share - half, share + half))
    return "\n".join(
        [
            filled("{detected} of {candidates:n candidate} found in {reports:n report}", result) + f" ({by})",
            *([columns_text(["string", "share", "95 % interval", "p"], rows, right=(1, 2, 3))] if rows else []),
            *([f"and {len(found) - _TOP} more"] if len(found) > _TOP else []),
            f"share of reports not explained by any candidate: {_percent(low)} to {_percent(high)}",
        ]
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


COMMAND = Command("workbench rappor simulate --preset normal --reports 10000", _configure, _run, _text)
