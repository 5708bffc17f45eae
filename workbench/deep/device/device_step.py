"""The private step on one device: its host only says what is next and never waits for the device."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.deep.book_keeping import BookKeepingClippedSum
from workbench.deep.clipping import ClippedSum, StepSums
from workbench.deep.device.chunk_rows import ChunkRows, SentRows, rows_on
from workbench.deep.device.device_noise import NUMBERS_AT_ONCE, DeviceNoise
from workbench.deep.device.drawn_ahead import Batch, DrawnAhead, chunk_size
from workbench.deep.device.precision import FLOAT32
from workbench.deep.device.replay import Recorder, in_order, recorder_for
from workbench.deep.device.static_sum import StaticClippedSum, in_single_precision
from workbench.deep.device_names import CPU
from workbench.deep.factors import FLAT, NORMS
from workbench.deep.memory import out_of_memory
from workbench.deep.plan import REPLAYED_STEPS, DpSgdPlan, Schedule
from workbench.deep.poisson import PoissonSampler
from workbench.params import WorkbenchError
from workbench.privacy.entropy import Entropy, OsEntropy
from workbench.signals.events import Emit, Notice, ignore

_TOLERANCE = 1e-3
"""How far a replayed sum may be from the same sum in order, relative to its size: reduced precision included."""

_SEED = 11
REPLAYED = "the steps are replayed as CUDA graphs"
IN_ORDER = "CUDA graphs cannot be used here ({}); the operations of a step are started one by one, which is slower"


Load = Callable[[Tensor, Tensor], None]
"""Fills a chunk with the rows at places, given on the device and in the memory of the host."""


def serves(plan: DpSgdPlan, device: str, engine: ClippedSum) -> bool:
    """Return whether a run of ``plan`` on ``device``, whose network ``engine`` would serve there, takes this step.

    Only where the plan asks for it: nobody has yet run it on a GPU, and a guarantee is not to rest on that. The
    processor has faster engines of its own; a network whose rows are differentiated one by one cannot be static.
    """
    return plan.gpu_steps == REPLAYED_STEPS and device != CPU and isinstance(engine, BookKeepingClippedSum)


@dataclass(frozen=True)
class Way:
    """How a step is computed; nothing of it changes what the step is.

    Attributes:
        physical_batch: most rows in memory at once.
        rule: how rows are clipped.
        precision: of the passes.
        measure: whether loss and accuracy are wanted.
        recorder: records operations; by default CUDA graphs on a GPU, and none elsewhere.
        numbers_at_once: numbers of noise that are made at once.
    """

    physical_batch: int
    rule: str = FLAT
    precision: str = FLOAT32
    measure: bool = True
    recorder: Recorder | None = None
    numbers_at_once: int = NUMBERS_AT_ONCE


class DevicePrivateStep:
    """Sampling, clipping and noise from one schedule, as :class:`workbench.deep.trainer.PrivateStep`.

    Rows of a step are drawn on the host, many steps ahead; they are summed chunk by chunk in shapes that never change;
    noise is made on the device. Where memory runs out, the same batch is summed again in chunks of half as many rows:
    noise is added to a finished sum alone, so a sum that was not finished has shown nothing.

    Attributes:
        sampler: draws the rows.
        noise: makes the noise.
        batch: expected rows of a batch.
        physical_batch: rows in memory at most.
        how: a sentence on how the steps are computed, once the first one was.
    """

    def __init__(
        self,
        network: nn.Module,
        schedule: Schedule,
        way: Way,
        coins: Entropy | None = None,
        keys: Entropy | None = None,
        emit: Emit = ignore,
        enter: Callable[[str], None] = lambda phase: None,
    ) -> None:
        """Make the step of ``schedule``.

        Args:
            network: its parameters are read at every step; it is on the device.
            schedule: what the privacy of the run depends on.
            way: how it is computed.
            coins: entropy of the sampler, the operating system's by default.
            keys: entropy of the keys of the noise, the operating system's by default.
            emit: hears how steps are computed, and a notice at every halving.
            enter: hears the name of each phase of a step as it begins.

        Raises:
            ParameterError: the physical batch or the scale of the noise is not possible.
            WorkbenchError: the device does not make the noise that it should.
        """
        self._network, self._clip, self._way, self._emit = network, schedule.clip, way, emit
        self._enter = enter
        self._device = next(network.parameters()).device
        self._record = way.recorder or recorder_for(self._device)
        self.batch = schedule.batch
        self.physical_batch = way.physical_batch
        self.sampler = PoissonSampler(schedule.rows, schedule.event.sample_rate, coins or OsEntropy())
        self.how = ""
        self._why = ""
        self.noise = DeviceNoise(
            schedule.noise_scale, self._device, keys, at_once=way.numbers_at_once, repeat=self._repeated
        )
        if self.noise.replay_differs:
            self._why = "a replay did not make the same noise"
        self._chunk = chunk_size(schedule.batch, way.physical_batch, schedule.rows)
        self._ahead = DrawnAhead(self.sampler, schedule.batch, self._chunk, self._device)
        self._rows: ChunkRows | None = None
        self._of: tuple[Tensor, Tensor] | None = None
        self._sum: StaticClippedSum | None = None
        self._add: Callable[[], None] | None = None
        self._load: Load | None = None

    def step(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> tuple[Tensor, StepSums]:
        """Return (Σ clipped + N(0, σ²C²))/batch, shape (P,), and the private sums; an empty batch is noise only.

        Both are on the device. The first is in single precision and lies where the next step sums; the sum without
        noise is nowhere any more.

        Args:
            inputs: all rows (n, …); the same tensor at every step.
            targets: their classes (n,).
            measure: whether rows, loss and accuracy are wanted.
        """
        self._enter("batch")
        if self._rows is None or self._of is None or self._of[0] is not inputs or self._of[1] is not targets:
            self._rows, self._of = rows_on(self._device, inputs, targets), (inputs, targets)
            self._sum = self._add = self._load = None
        batch = self._ahead.next()
        self._enter("backward")
        while True:
            try:
                made = self._made(tuple(inputs.shape[1:]))
                self._summed(made, batch, measure=measure)
                break
            except (MemoryError, RuntimeError) as error:
                if not out_of_memory(error) or self._chunk <= 1:
                    raise
                traceback.clear_frames(error.__traceback__)  # they hold the batch; what follows needs the room
            batch = self._halve(batch)
        self._enter("step")
        gradient = self._finished(made)
        rows, loss, correct = made.stated.clone().unbind() if measure else (0, 0.0, 0)
        return gradient, StepSums(gradient, rows, loss, correct, measured=measure)

    def _finished(self, made: StaticClippedSum) -> Tensor:
        """Return the noisy gradient of a finished sum; the sum is used once, so it may be changed in place."""
        self.noise.add_to(made.total)
        return in_single_precision(made.total.div_(self.batch))

    def _summed(self, made: StaticClippedSum, batch: Batch, *, measure: bool) -> None:
        """Sum the chunks of a batch; nothing waits for the device."""
        load, add = self._load, self._add
        assert load is not None
        assert add is not None
        on_norms = getattr(NORMS, "on_norms", None) if measure else None
        made.begin()
        for places, here in zip(batch.places, batch.here, strict=True):
            load(places, here)
            add()
            if on_norms is not None:
                on_norms(made.squares)

    def _halve(self, batch: Batch) -> Batch:
        self._chunk = self.physical_batch = self._chunk // 2
        self._sum = self._add = self._load = None
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        rows = "row" if self._chunk == 1 else "rows"
        stated = f"memory was short: {self._chunk:,} {rows} at once from now on; the result and its cost are the same"
        self._emit(Notice("warning", stated))
        return self._ahead.cut(batch, self._chunk)

    def _made(self, row: tuple[int, ...]) -> StaticClippedSum:
        """Return the sum for chunks of the present size, recorded where that can be done.

        Raises:
            WorkbenchError: a step of generated rows does not give what it should, in order neither.
        """
        if self._sum is None:
            made = StaticClippedSum(
                self._network,
                self._clip,
                row,
                self._chunk,
                rule=self._way.rule,
                precision=self._way.precision,
                measure=self._way.measure,
            )
            self._fill_with_generated_rows(made)
            self._add, self._load = self._repeated(made.add), self._loading(made)
            if not self._why:
                self._why = self._fault(made)
            if self._why:  # one fault, and nothing is replayed any more: a step is computed in one way
                self._add, self._load = made.add, self._loading(made)
                self.noise.in_order()
                if self._fault(made):
                    raise WorkbenchError(
                        "the device does not compute a step as it should",
                        str(self._device),
                        "train with --device cpu, or update PyTorch",
                    )
            self._sum = made
            if self._record is not in_order:
                self.how = IN_ORDER.format(self._why) if self._why else REPLAYED
                self._emit(Notice("info", self.how))
        return self._sum

    def _fault(self, made: StaticClippedSum) -> str:
        """Compare the parts of a step, and whole steps of nobody's rows, with the operations in order and the library.

        Returns:
            What is wrong; empty if nothing is.
        """
        load, add = self._load, self._add
        assert load is not None
        assert add is not None
        if not self._reads_the_rows(made, load):
            return "a replay did not read the same rows"
        self._fill_with_generated_rows(made)
        sums = []
        for function in (made.add, add):
            made.begin()
            function()
            sums.append(made.total.cpu().clone())  # on the processor it is the sum itself
        expected, replayed = sums
        tolerance = _TOLERANCE * max(float(expected.norm()), 1e-12)
        if not float((expected - replayed).norm()) <= tolerance:
            return "a replay did not give the same sum"
        nowhere = torch.full((self._chunk,), -1, dtype=torch.int64)

        def whole_step() -> Tensor:
            made.begin()
            add()
            return self._finished(made)

        nothing = torch.zeros_like(expected)
        for base, off in ((expected, tolerance), (nothing, 0.0), (nothing, 0.0)):
            if not self.noise.leaves_in(whole_step, base, self.batch, off):
                return "a replayed step did not add its noise to the same sum"
            load(nowhere.to(self._device), nowhere)
        made.begin()
        return ""

    def _reads_the_rows(self, made: StaticClippedSum, load: Load) -> bool:
        """Return whether ``load`` fills the chunk as the operations in order do, bit for bit."""
        rows, generator = self._rows, torch.Generator().manual_seed(_SEED)
        assert rows is not None
        assert self._of is not None
        for _ in range(2):
            here = torch.randint(-1, len(self._of[1]), (self._chunk,), generator=generator)
            places = here.to(self._device)
            load(places, here)
            inputs, targets = made.inputs.cpu(), made.targets.cpu()
            inputs, targets = inputs.clone(), targets.clone()  # else they are the same memory on the processor
            rows.fill(made.inputs, made.targets, places, here)
            # As whole numbers, because a row may hold what is not a number.
            same = torch.equal(inputs.view(torch.int32), made.inputs.cpu().view(torch.int32))
            if not same or not torch.equal(targets, made.targets.cpu()):
                return False
        return True

    def _loading(self, made: StaticClippedSum) -> Load:
        """Return what fills the chunk; rows that are on the device are found there by a recording."""
        rows = self._rows
        assert rows is not None
        if isinstance(rows, SentRows):
            return lambda places, here: rows.fill(made.inputs, made.targets, places, here)
        fixed = torch.full((self._chunk,), -1, dtype=torch.int64, device=self._device)
        fill = self._repeated(lambda: rows.fill(made.inputs, made.targets, fixed, fixed))

        def load(places: Tensor, _here: Tensor) -> None:
            fixed.copy_(places)
            fill()

        return load

    def _repeated(self, function: Callable[[], None]) -> Callable[[], None]:
        """Return ``function`` recorded, or itself where that fails or failed before; the reason is kept."""
        if self._why:
            return function
        try:
            return self._record(function)
        except RuntimeError as error:
            if out_of_memory(error):
                raise
            # The first line alone, and only its kind: what a library says may go on for pages.
            self._why = f"recording failed, {type(error).__name__}"
            return function

    def _fill_with_generated_rows(self, made: StaticClippedSum) -> None:
        """Fill the chunk with rows that are nobody's, the last of them empty."""
        generator = torch.Generator().manual_seed(_SEED)
        made.inputs.copy_(torch.rand(made.inputs.shape, generator=generator))
        made.targets.zero_()
        if len(made.targets) > 1:
            made.targets[-1] = -1
