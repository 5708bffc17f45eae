"""The study of memory: hidden units × batch × reduction × private or not, in four phases; reads no data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.deep.memory import PHASES, Setting, largest_batch, memory_pool_outgrown, phases
from workbench.deep.networks.images import Pixels
from workbench.deep.networks.network import Network
from workbench.deep.plan import CPU, CUDA, DEVICE_TITLES, OPTIMIZER_TITLES
from workbench.params import ParameterError, Parameters, choice, integer, real, text
from workbench.params.codec import csv_bytes
from workbench.params.field import IntegerField
from workbench.signals.cancel import NEVER, CancelToken

YES, NO, BOTH = "yes", "no", "both"
SLOTS = {"sgd": 0, "momentum": 1, "adam": 2}
MOST_SETTINGS = 5_000
MOST_JUMPS = 3  # jumps that are explained, the steepest ones: the others have the same reason

MB = 1e6
_SIDES = 3
_LISTED = IntegerField(help="whole numbers with commas between them", at_least=1, upto=10**6)

SEGMENTS = (
    "On a GPU the figures are what PyTorch reserves: it asks the driver for segments of 2 and 20 MiB, and for whole "
    "multiples of 2 MiB beyond, and keeps them. So the curve jumps where a tensor outgrows a segment, which with "
    "doubled sizes happens at powers of two."
)


@dataclass(frozen=True, kw_only=True)
class MemoryStudy(Parameters):
    """Which settings are compared; lists are whole numbers with commas between them."""

    shape: str = text(
        default="1,28,28",
        title="numbers per row",
        help="how many numbers a row has, such as 8, or channels, height and width of an image, such as 3,128,128",
    )
    classes: int = integer(default=10, at_least=2, upto=10**6, help="how many classes there are")
    batches: str = text(
        default="16,32,64,128,256,512,1024",
        title="batches",
        help="how many rows are in memory at once; each number is one point of the chart",
    )
    hidden: str | None = text(
        default=None, title="hidden units", help="widths of the hidden layers, each compared", empty="its own"
    )
    reductions: str = text(
        default="1", help="factors to divide the sides of an image by, such as 1,2,4; 1 changes nothing"
    )
    private: str = choice(
        choices=(BOTH, YES, NO),
        default=BOTH,
        title="privacy",
        help="yes clips each row and adds noise, no is ordinary training, both compares them",
    )
    device: str = choice(
        choices=(CPU, CUDA), titles=DEVICE_TITLES, default=CPU, help="where it is trained: processor or GPU"
    )
    optimizer: str = choice(
        choices=tuple(SLOTS),
        titles=OPTIMIZER_TITLES,
        default="sgd",
        help="the optimiser's state for each weight takes memory, too",
    )
    fit: float | None = real(
        default=None,
        above=0,
        upto=1e9,
        title="fit into, MB",
        help="how much memory there is for training; if empty, what this computer has free now",
        empty="free now",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.inputs
        for field in ("batches", "hidden", "reductions"):
            self.numbers(field)

    @property
    def inputs(self) -> int:
        """The numbers of a row; of an image they know their shape."""
        sides = _numbers(self.shape, "shape")
        if len(sides) == 1:
            return sides[0]
        return pixels(sides, self.shape, "shape")

    def numbers(self, field: str) -> list[int]:
        """Return one of the lists; empty where it is not given."""
        given = getattr(self, field)
        return [] if given is None else _numbers(given, field)


@dataclass(frozen=True)
class StudyLine:
    """One setting without its batch: a line of the chart."""

    network: Network
    reduction: int
    private: bool

    @property
    def hidden(self) -> str:
        """The hidden units as the file writes them."""
        return "-".join(map(str, self.network.hidden))


@dataclass(frozen=True)
class StudyRow:
    """The memory of one setting."""

    line: StudyLine  # what it is but for its batch
    batch: int  # rows in memory at once
    device: str  # `cpu` or `cuda`
    phases: dict[str, int]  # bytes in use in each phase

    @property
    def peak(self) -> int:
        """The most bytes in use."""
        return max(self.phases.values())

    def plain(self) -> dict[str, Any]:
        """Return the row as the CSV has it."""
        return {
            "network": self.line.network.name,
            "hidden": self.line.hidden,
            "reduction": self.line.reduction,
            "batch": self.batch,
            "private": YES if self.line.private else NO,
            "device": self.device,
            **{f"{name}_bytes": self.phases[name] for name in PHASES},
            "peak_bytes": self.peak,
        }


@dataclass(frozen=True)
class StudyResult:
    """A finished study."""

    rows: tuple[StudyRow, ...]  # line by line, each by its batches in ascending order
    largest: dict[StudyLine, int]  # the most rows at once that fit, by line; empty where no memory was named
    fit: int | None  # the bytes that they were to fit in
    remarks: tuple[str, ...]  # sentences on what was left out, and why the curve has steps

    @property
    def lines(self) -> tuple[StudyLine, ...]:
        """The lines, in their order."""
        return tuple(dict.fromkeys(row.line for row in self.rows))

    def of(self, line: StudyLine) -> list[StudyRow]:
        """Return the rows of one line."""
        return [row for row in self.rows if row.line == line]


def study_lines(
    network: Network, hidden: Sequence[int], reductions: Sequence[int], ways: Sequence[bool]
) -> list[StudyLine]:
    """Return every combination for one network; one without hidden units has nothing to vary there."""
    own = network.hidden
    widths = [(units,) * len(own) for units in hidden] if own and hidden else [own]
    return [
        StudyLine(replace(network, hidden=units), reduction, private)
        for units in widths
        for reduction in reductions or [1]
        for private in ways
    ]


def setting_of(line: StudyLine, inputs: int, classes: int, batch: int, slots: int) -> Setting:
    """Return what is trained."""
    return Setting(line.network, reduced(inputs, line.reduction), classes, batch, line.private, slots)


def compare(
    study: MemoryStudy,
    networks: Sequence[Network],
    fit: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    cancel: CancelToken = NEVER,
) -> StudyResult:
    """Return the memory of every combination; what a network cannot read is left out with a remark.

    ``fit`` are bytes that a training is to fit in; ``progress`` receives (done, total) settings.

    Raises:
        ParameterError: there is no network, there are too many settings, or no network reads such rows.
    """
    hidden, batches = study.numbers("hidden"), sorted(set(study.numbers("batches")))
    ways = [way for way in (False, True) if study.private in (BOTH, YES if way else NO)]
    lines = [line for network in networks for line in study_lines(network, hidden, study.numbers("reductions"), ways)]
    total = len(lines) * len(batches)
    if not networks:
        raise ParameterError("no network is chosen", hint="choose at least one")
    if total > MOST_SETTINGS:
        raise ParameterError(f"{total:,} settings are too many", hint=f"compare at most {MOST_SETTINGS:,} at once")
    rows: list[StudyRow] = []
    largest: dict[StudyLine, int] = {}
    remarks, refused = [], None
    if hidden:
        remarks += [f"{n.name} has no hidden units to vary." for n in networks if not n.hidden]
    for at, line in enumerate(lines):
        try:
            for number, batch in enumerate(batches):
                cancel.check()
                progress(at * len(batches) + number, total)
                case = setting_of(line, study.inputs, study.classes, batch, SLOTS[study.optimizer])
                rows.append(StudyRow(line, batch, study.device, phases(case, study.device)))
            if fit is not None:
                largest[line] = largest_batch(case, fit, study.device)
        except ParameterError as error:
            refused = error
            remarks.append(f"Left out: {error.what}.")
    if not rows:
        assert refused is not None
        raise refused
    result = StudyResult(tuple(rows), largest, fit, tuple(dict.fromkeys(remarks)))
    return replace(result, remarks=(*result.remarks, *_steps_of(study, result)))


def study_bytes(rows: Sequence[StudyRow]) -> bytes:
    """Return the study as a CSV file: what is private and what is not are below each other."""
    settings = dict.fromkeys((row.line.network.name, row.line.hidden, row.line.reduction) for row in rows)
    order = {key: at for at, key in enumerate(settings)}
    batches = {batch: at for at, batch in enumerate(dict.fromkeys(row.batch for row in rows))}

    def place(row: StudyRow) -> tuple[int, int, bool]:
        line = row.line
        return order[line.network.name, line.hidden, line.reduction], batches[row.batch], line.private

    plain = [row.plain() for row in sorted(rows, key=place)]
    return csv_bytes([plain[0], *(row.values() for row in plain)])


def reduced(inputs: int, reduction: int) -> int:
    """Return the numbers of an image whose sides were divided by ``reduction``."""
    if isinstance(inputs, Pixels):
        channels, height, width = inputs.shape
        return Pixels(channels, max(1, height // reduction), max(1, width // reduction))
    return max(1, inputs // reduction**2)


def pixels(sides: Sequence[int], given: str, where: str) -> Pixels:
    """Return the numbers of an image of these sides.

    Raises:
        ParameterError: they are not three.
    """
    if len(sides) != _SIDES:
        raise ParameterError(
            f"{given!r} is not the shape of an image", where, "give channels,height,width", field="shape"
        )
    return Pixels(*sides)


def listed_numbers(given: str, where: str) -> list[int]:
    """Return whole numbers with commas between them.

    Raises:
        ParameterError: there is something else in the list.
    """
    return [_LISTED.parse(part.strip(), where) for part in given.split(",")]


def _numbers(given: str, field: str) -> list[int]:
    try:
        return listed_numbers(given, field)
    except ParameterError as error:
        raise ParameterError(
            f"{given!r} is not a list of whole numbers", field, "write them with commas between", field=field
        ) from error


def _steps_of(study: MemoryStudy, result: StudyResult) -> Iterator[str]:
    """Yield why the curves have steps, or where they become flat."""
    if study.device == CUDA:
        yield SEGMENTS
        steepest = sorted(_jumps(study, result), reverse=True)[:MOST_JUMPS]
        yield from (stated for _, stated in steepest)
        return
    yield "On the processor, memory is allocated in pages of 4 KiB: the curves have no jumps."
    held: dict[int, list[str]] = {}
    for line in result.lines:
        most = line.network.rows_at_once()
        if line.private and most < max(row.batch for row in result.of(line)):
            held.setdefault(most, []).append(line.network.title)
    for most, names in held.items():
        yield (
            f"With privacy, at most {most:,} rows are in memory at once there, so beyond that only the batch itself "
            f"grows: {', '.join(dict.fromkeys(names))}."
        )


def _jumps(study: MemoryStudy, result: StudyResult) -> Iterator[tuple[float, str]]:
    """Yield the steepest jump of every line that has one, as a factor, and which tensor outgrew what."""
    for line in result.lines:
        steepest, stated = 1.0, ""
        for one, other in itertools.pairwise(result.of(line)):
            fewer, more = (
                setting_of(line, study.inputs, study.classes, row.batch, SLOTS[study.optimizer]) for row in (one, other)
            )
            crossed = memory_pool_outgrown(fewer, more)
            if crossed is not None and other.peak / one.peak > steepest:
                steepest = other.peak / one.peak
                stated = (
                    f"{line_name(line, result.lines)} jumps from {one.peak / MB:.0f} to {other.peak / MB:.0f} MB "
                    f"between {one.batch:,} and {other.batch:,} rows: {crossed}."
                )
        if stated:
            yield steepest, stated


def line_name(line: StudyLine, among: Sequence[StudyLine]) -> str:
    """Return a short name of a line, by what is not the same in all of ``among``."""
    parts = [(line.network.short or line.network.title).removesuffix(", DP-SGD")]  # all of them are
    if len({(other.network.name, other.hidden) for other in among}) > len({o.network.name for o in among}):
        parts.append(f"{line.hidden} hidden" if line.hidden else "")
    if len({other.reduction for other in among}) > 1:
        parts.append(f"sides ÷ {line.reduction}")
    if len({other.private for other in among}) > 1:
        parts.append("private" if line.private else "not private")
    return ", ".join(filter(None, parts))
