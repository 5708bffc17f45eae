"""``workbench memory``: memory needed to train a network, by phase; reads no data."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import columns_text
from workbench.cli.model_options import one_of
from workbench.deep import networks
from workbench.deep.memory import Setting, largest_batch, phases
from workbench.deep.memory_study import (
    MB,
    NO,
    SEGMENTS,
    SLOTS,
    YES,
    StudyRow,
    listed_numbers,
    pixels,
    setting_of,
    study_bytes,
    study_lines,
)
from workbench.deep.networks import network
from workbench.params import ParameterError, Parameters, choice, counted, integer, text
from workbench.release.atomic import write_output


@dataclass(frozen=True, kw_only=True)
class MemoryOptions(Parameters):
    """What is trained, and where."""

    network: str = text(help="the network")
    batch: int = integer(at_least=1, upto=10**8, help="rows in memory at once (batch)")
    device: str = choice(choices=("cpu", "cuda"), default="cpu", help="device for training")
    private: str = choice(choices=(YES, NO), default=YES, help="with clipping and noise, or without")
    optimizer: str = choice(choices=("sgd", "momentum", "adam"), default="sgd", help="the optimiser")
    columns: int | None = integer(
        default=None, at_least=1, upto=10**7, help="numbers of a row", empty="8, or those of a small image"
    )
    shape: str | None = text(
        default=None, help="channels, height and width of an image, such as 3,32,32", empty="set by the columns"
    )
    classes: int = integer(default=10, at_least=2, upto=10**6, help="number of classes")
    fit: int | None = integer(
        default=None,
        at_least=1,
        upto=2**60,
        unit="bytes",
        help="find the largest batch that fits this memory",
        empty="not set",
    )


def _configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, MemoryOptions, listed={"network": one_of(networks.NETWORKS)})
    study = parser.add_argument_group("a study: every combination, with and without privacy, as CSV")
    study.add_argument("--batches", metavar="B,B,…", help="rows in memory at once (batch)")
    study.add_argument("--hidden", metavar="H,H,…", help="hidden units, in place of the network's own")
    study.add_argument("--reductions", metavar="R,R,…", help="factors by which the sides of an image are reduced")
    study.add_argument("-o", "--output", type=Path, metavar="CSV", help="where the study is written")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    asked = read_options(options, MemoryOptions)
    chosen = network(asked.network)
    inputs = asked.columns or chosen.usual_inputs
    if asked.shape is not None:
        inputs = pixels(listed_numbers(asked.shape, "--shape"), asked.shape, "--shape")
    setting = Setting(chosen, inputs, asked.classes, asked.batch, asked.private == YES, slots=SLOTS[asked.optimizer])
    found = phases(setting, asked.device)
    stated: dict[str, Any] = {
        "network": chosen.name,
        "batch": asked.batch,
        "device": asked.device,
        "private": setting.private,
        "phases": found,
        "peak_bytes": max(found.values()),
        "largest_batch": None if asked.fit is None else largest_batch(setting, asked.fit, asked.device),
    }
    if options.output is None:
        if options.batches or options.hidden or options.reductions:
            raise ParameterError("a study needs an output", "-o", "add -o FILE.csv")
        return stated
    rows = _study(options, setting, asked.device)
    write_output(options.output, study_bytes(rows))
    return {**stated, "output": str(options.output), "rows": len(rows)}


def _study(options: argparse.Namespace, setting: Setting, device: str) -> list[StudyRow]:
    if options.hidden and not setting.network.hidden:
        raise ParameterError(
            f"the network {setting.network.name!r} has no hidden units to vary", "--hidden", "use --network mlp"
        )
    hidden, reductions = _numbers(options.hidden, "--hidden"), _numbers(options.reductions, "--reductions")
    batches = _numbers(options.batches, "--batches") or [setting.batch]
    return [
        StudyRow(
            line, batch, device, phases(setting_of(line, setting.inputs, setting.classes, batch, setting.slots), device)
        )
        for line in study_lines(setting.network, hidden, reductions, (False, True))
        for batch in batches
    ]


def _numbers(given: str | None, flag: str) -> list[int]:
    return [] if given is None else listed_numbers(given, flag)


def _text(result: Mapping[str, Any]) -> str:
    way = "with" if result["private"] else "without"
    lines = [
        f"{result['network']}, {counted(result['batch'], 'row')} at once, {way} privacy, on {result['device']}: "
        f"{result['peak_bytes'] / MB:.1f} MB at most, excluding the data and PyTorch itself",
        columns_text(
            ["phase", "MB in use"], [[n, f"{size / MB:.2f}"] for n, size in result["phases"].items()], right=[1]
        ),
    ]
    if result["largest_batch"] is not None:
        lines.append(f"most rows at once that fit: {result['largest_batch']:,}")
    if result["device"] == "cuda":
        lines.append(SEGMENTS)
    if "output" in result:
        lines.append(f"{result['rows']} settings in {result['output']}")
    return "\n".join(lines)


COMMAND = Command("workbench memory --network mlp --batch 256 --fit 100000000", _configure, _run, _text)
