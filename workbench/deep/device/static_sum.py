"""The clipped sum of a chunk whose number of rows never changes, without reading anything back from the device.

A place without a row is a row of zeros that contributes nothing, so every chunk runs the same operations on the same
shapes: it can be captured once and replayed.

**No row moves the sum by more than C, whatever the precision of the passes.** Let xₗ and gₗ be the numbers that the
passes left of row i in layer l, however they were computed: they are functions of that row and of the parameters, as
the number of rows and their places are the same with the row present or empty. The gradient that the row stands for
is then *defined* as wᵢ: for a linear layer at one position the outer product gₗxₗᵀ of those very numbers, for any other
layer the numbers that its rule made and that lie in memory. So:

1. ‖wᵢ‖² is computed in double precision from those numbers (bfloat16 is widened, which is exact): for an outer product
   (‖xₗ‖² + 1)·‖gₗ‖². Its relative error is below 2⁻²⁰ for any size that fits into memory.
2. Rows with a norm of xₗ or gₗ above 2⁴⁰, of a layer's gradient above 2⁸⁰, or not a number, are left out, so a factor
   fᵢ is at least 2⁻¹⁰¹·C/√K and neither it nor the numbers that matter are lost below the smallest ones of single
   precision. What underflow takes is below 2⁻¹⁰⁰.
3. fᵢ is rounded to single precision, and Σ fᵢwᵢ is computed in IEEE single precision, at most 128 rows at a time, by
   products whose inputs are not rounded again (TF32 is switched off around them). By the lemma of
   :mod:`workbench.deep.factors` for so many rows, clipping at C′ = C/((1 + 2γ₁₇)(1 + 2bγ_{b+4})) keeps what a row moves
   below C: 2γ₁₇ also covers the rounding of the norm (2⁻²⁰) and of the factor.
4. Those sums are added in double precision. With m of them the rounding moves by at most 2m·m·2⁻⁵³ of C, which is below
   2⁻²⁰ up to m = 2¹⁶, eight million rows in a step: C is made smaller by that before 3.
5. Where the gradients of a layer are too large to be kept, they are made twice, and the second time may differ in its
   last digits. So the row is scaled again by min(1, norm at first / norm now), and 1 to 3 hold for what is summed.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from workbench.deep.book_keeping import BookKeepingClippedSum, KeptLayer, as_named, in_memory, known_layers, numbers
from workbench.deep.device.precision import FLOAT32, TF32, full_precision, passes_in
from workbench.deep.factors import FLAT, LEAST_SINGLE, MOST_SINGLE, NORMS, SinglePrecision
from workbench.deep.layer_rules import RowGradients, rule_of, single_position
from workbench.deep.row_chunks import chunks

SUMMED_AT_ONCE = 128
"""Rows of one single-precision sum: what its rounding takes from C grows with their square (.2 % here)."""

_OF_MANY_SUMS = 1 - 2.0**-20
_MOST_SQUARE, _MOST_PRODUCT = 2.0**80, 2.0**160
_NUMBERS_AT_ONCE = 10**7
"""Numbers of rows' gradients of one layer that are in memory at once (40 MB), and of what they are made of."""

_NUMBERS_OF_A_PRODUCT = 2**22
"""Numbers of a sum that are made at once (16 MB) before they are added in double precision."""


def can_be_static(network: nn.Module, clip: float) -> bool:
    """Return whether :class:`StaticClippedSum` serves ``network`` at the clipping norm ``clip``."""
    single = all(p.dtype == torch.float32 for p in network.parameters())
    return single and LEAST_SINGLE <= clip <= MOST_SINGLE and known_layers(network)


class StaticClippedSum(BookKeepingClippedSum):
    """Clipped sums of chunks of one size, from tensors at fixed places into tensors at fixed places.

    Attributes:
        inputs: the rows of the chunk (b, …), to be filled; zeros where there is no row.
        targets: their classes (b,), −1 where there is no row.
        total: what :meth:`add` adds to, shape (P,), double precision.
        stated: number of rows, sum of losses, rows classified right, added up (3,), double precision.
        squares: squared norms of the last chunk, layer by layer (b, K), double precision.
    """

    def __init__(
        self,
        network: nn.Module,
        clip: float,
        row: tuple[int, ...],
        rows: int,
        *,
        rule: str = FLAT,
        precision: str = FLOAT32,
        measure: bool = True,
    ) -> None:
        """Bind the sum to a network for which :func:`can_be_static` holds.

        Args:
            network: its parameters are read at every call, where they lie now.
            clip: the clipping norm C.
            row: the shape of a row.
            rows: rows of a chunk, b.
            rule: how rows are clipped, one of :data:`workbench.deep.factors.CLIPPINGS`.
            precision: of the passes, one of :data:`workbench.deep.device.precision.PRECISIONS`.
            measure: whether loss and accuracy are wanted, too.
        """
        super().__init__(network, clip, rows, rule=rule)
        self._precision = precision
        self._measure = measure
        self.clipping = SinglePrecision(rule, clip * _OF_MANY_SUMS, 1)
        device = next(network.parameters()).device
        self.inputs = torch.zeros(rows, *row, device=device)
        self.targets = torch.full((rows,), -1, dtype=torch.int64, device=device)
        self.total = torch.zeros(self._size, dtype=torch.float64, device=device)
        self.stated = torch.zeros(3, dtype=torch.float64, device=device)
        self.squares = torch.zeros(rows, len(self._layers), dtype=torch.float64, device=device)

    def begin(self) -> None:
        """Set the sums to zero."""
        self.total.zero_()
        self.stated.zero_()

    def add(self) -> None:
        """Add the sums of the chunk; reads nothing back from the device, so that it can be replayed."""
        present = self.targets >= 0
        with passes_in(self._precision, self.inputs.device):
            logits, losses = self._tried(self.inputs, self.targets, present)
        with torch.no_grad():
            if self._measure:
                right = (logits.argmax(1) == self.targets).logical_and_(present)
                self.stated[0].add_(present.sum())
                self.stated[1].add_(losses.sum(dtype=torch.float64))
                self.stated[2].add_(right.sum())
            self._add(present)
        self._forget()

    def _add(self, present: Tensor) -> None:
        """Add Σ fᵢwᵢ of the rows that passed."""
        kept: list[list[RowGradients] | None] = []
        for place, layer in enumerate(self._layers):
            gradients, squares = self._norms(layer)
            kept.append(gradients)
            self.squares[:, place].copy_(squares)
        factors = self._factors(present)
        for place, (layer, gradients) in enumerate(zip(self._layers, kept, strict=True)):
            factor = factors[:, min(place, factors.shape[1] - 1)]
            if single_position(layer.module, _inputs(layer)):
                self._add_products(layer, factor)
            elif gradients is not None:
                for part, found in zip(self._portions_of(layer), gradients, strict=True):
                    self._add_kept(layer, found, factor[part])
            else:
                self._add_again(layer, factor, self.squares[:, place])

    def _factors(self, present: Tensor) -> Tensor:
        """Return the factors (b, 1) or (b, K), in double precision; 0 for what is left out."""
        on_norms, NORMS.on_norms = (
            getattr(NORMS, "on_norms", None),
            None,
        )  # whoever replays this tells of the norms himself
        try:
            rule = self.clipping.of(min(len(present), SUMMED_AT_ONCE))
            factors = rule.factors(torch.where(self.squares <= _MOST_PRODUCT, self.squares, torch.inf))
        finally:
            NORMS.on_norms = on_norms
        return torch.where(present.unsqueeze(1), factors, 0.0)

    def _norms(self, layer: KeptLayer) -> tuple[list[RowGradients] | None, Tensor]:
        """Return the rows' gradients, where they fit into memory, and their squared norms; too large ones are ∞."""
        x, g = _inputs(layer), _slopes(layer)
        if single_position(layer.module, x):
            one, two = _squares(x), _squares(g)
            fits = (one <= _MOST_SQUARE).logical_and_(two <= _MOST_SQUARE)  # false of what is not a number, too
            one = one.add_(1) if layer.module.bias is not None else one
            return None, torch.where(fits, one.mul_(two), torch.inf)
        fits_whole = numbers(layer) * len(self.targets) <= _NUMBERS_AT_ONCE
        kept, squares = [], []
        for part in self._portions_of(layer):
            gradients = self._gradients(layer, part)
            squares.append(_squares_of(gradients))
            if fits_whole:
                kept.append(gradients)
            del gradients  # else they are held while those of the next part are made
        return kept if fits_whole else None, torch.cat(squares)

    def _gradients(self, layer: KeptLayer, part: slice) -> RowGradients:
        """Return the gradients of some rows, in single precision."""
        rule = rule_of(layer.module)
        assert rule is not None
        x, g = _inputs(layer)[part], _slopes(layer)[part]
        with passes_in(FLOAT32 if self._precision == FLOAT32 else TF32, g.device):
            return rule(layer.module, x.float() if x.is_floating_point() else x, g.float())

    def _portions_of(self, layer: KeptLayer) -> list[slice]:
        """Return the parts of the chunk whose gradients are made at once."""
        of_row = numbers(layer) + _patches(layer)
        return chunks(len(self.targets), max(1, _NUMBERS_AT_ONCE // of_row))

    def _add_products(self, layer: KeptLayer, factor: Tensor) -> None:
        """Add Σ fᵢgᵢxᵢᵀ of a linear layer at one position."""
        x, g, places = _inputs(layer), _slopes(layer), layer.parameters
        single = factor.float()
        for part in chunks(len(x), SUMMED_AT_ONCE):
            used = (single[part] > 0).unsqueeze(1)
            inputs = torch.where(used, x[part].float(), 0.0)
            scaled = torch.where(used, g[part].float(), 0.0).mul_(single[part].unsqueeze(1))
            there = self.total[places["weight"]].view(scaled.shape[1], inputs.shape[1])
            lines = max(1, _NUMBERS_OF_A_PRODUCT // inputs.shape[1])
            for some in chunks(len(there), lines):
                with full_precision():
                    there[some].add_(torch.mm(scaled[:, some].T, inputs))
            if "bias" in places:
                self.total[places["bias"]].add_(scaled.sum(0))

    def _add_kept(self, layer: KeptLayer, gradients: RowGradients, factor: Tensor) -> None:
        """Add Σ fᵢwᵢ of rows' gradients in memory."""
        single = factor.float()
        for part in chunks(len(single), SUMMED_AT_ONCE):
            weights, left_out = single[part], (single[part] <= 0).unsqueeze(1)
            for name, place in layer.parameters.items():
                w = gradients[name]
                dense = in_memory(w)[part]
                flat = dense.flatten(1).masked_fill_(left_out, 0.0)  # in place: it is used once
                with full_precision():
                    line = weights @ flat
                there = self.total[place].view(w.shape[1:])
                there.add_(as_named(line.view(dense.shape[1:]), w))

    def _add_again(self, layer: KeptLayer, factor: Tensor, squares: Tensor) -> None:
        """Add Σ fᵢwᵢ of rows' gradients that are made a second time, none of them longer than the first time."""
        for part in self._portions_of(layer):
            gradients = self._gradients(layer, part)
            again = _squares_of(gradients)
            shorter = torch.where(again <= squares[part], 1.0, (squares[part] / again).sqrt_())
            self._add_kept(layer, gradients, torch.nan_to_num_(factor[part] * shorter, nan=0.0))


def in_single_precision(total: Tensor) -> Tensor:
    """Return the numbers of ``total`` (P,), double precision, rounded, in the memory that they had."""
    single = total.view(torch.float32)[: len(total)]
    # The numbers from a on lie at 8a bytes and go to 4a: a part that is copied first overwrites none of the later ones.
    for start in range(0, len(total), _NUMBERS_OF_A_PRODUCT):
        part = slice(start, start + _NUMBERS_OF_A_PRODUCT)
        single[part].copy_(total[part].to(torch.float32))
    return single


def _inputs(layer: KeptLayer) -> Tensor:
    assert layer.inputs is not None
    return layer.inputs


def _slopes(layer: KeptLayer) -> Tensor:
    assert layer.outputs is not None
    return layer.outputs


def _patches(layer: KeptLayer) -> int:
    """Return the numbers of a row's patches, of which a convolution makes its gradient."""
    module = layer.module
    if not isinstance(module, nn.Conv1d | nn.Conv2d):
        return 0
    places = _slopes(layer)[0].numel() // module.out_channels
    return places * module.weight[0].numel() * module.groups


def _squares(rows: Tensor) -> Tensor:
    """Return the squared norms (b,) of rows (b, d), in double precision."""
    squares: Tensor = torch.linalg.vector_norm(rows.float(), dim=1, dtype=torch.float64).square_()
    return squares


def _squares_of(gradients: RowGradients) -> Tensor:
    """Return the squared norms (b,) of rows' gradients of a layer, in double precision."""
    return torch.stack(list(_each(gradients))).sum(0)


def _each(gradients: RowGradients) -> Iterator[Tensor]:
    for w in gradients.values():
        yield _squares(in_memory(w).flatten(1))
