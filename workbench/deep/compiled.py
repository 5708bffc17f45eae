"""Loops that are compiled when they are first called, and kept on disk (:mod:`workbench.deep.kept_code`).

On small networks most of a step's time goes into starting operations; a loop that does ten of them starts once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np

from workbench.deep.kept_code import KeptCode

Function = TypeVar("Function", bound=Callable[..., Any])

_THIS_ORDER = {"contract", "nsz"}
_ANY_ORDER = {*_THIS_ORDER, "reassoc", "arcp"}

_ONE, _HALF, _LOG2E = np.float32(1), np.float32(0.5), np.float32(1.4426950408889634)
_HIGH, _LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_C6, _C5, _C4 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_C3, _C2, _C1 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_LEAST, _MOST = np.float32(-87), np.float32(88)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)


def loops(function: Function) -> Function:
    """Compile loops in which sums may be taken in any order, so that they run on all lanes of the processor.

    The bounds of :mod:`workbench.deep.factors` hold for any order, and for products that are added without having been
    rounded. NaN and ∞ keep their meaning: a test for them is done as it is written.
    """
    return _kept(function, fastmath=_ANY_ORDER, error_model="numpy", nogil=True)


def as_written(function: Function) -> Function:
    """Compile loops whose arithmetic is done to the letter."""
    return _kept(function, error_model="numpy", nogil=True)


def _kept(function: Function, **options: Any) -> Function:
    """Compile ``function`` and keep what is compiled; where there is no folder for it, compile it at every start."""
    compiled: Any = numba.njit(**options)(function)
    with contextlib.suppress(RuntimeError):
        compiled._cache = KeptCode(cast("FunctionType", function), options)
    return cast("Function", compiled)


def within(function: Function) -> Function:
    """Compile a part of other loops, to be written out in each of them, in the order in which it is written.

    In any order, what is small and taken apart from a large number would be joined with it again.
    """
    compiled: Function = numba.njit(fastmath=_THIS_ORDER, error_model="numpy", forceinline=True)(function)
    return compiled


@within
def exp(x: np.float32) -> np.float32:
    """Return e to the power of x in single precision, to a unit in its last place, as if x were within −87 and 88.

    ln 2 in two parts and a polynomial for the remainder, as in Cephes' ``expf``: the library's takes one number at a
    time, this one all lanes. NaN gives NaN.
    """
    x = min(max(x, _LEAST), _MOST)
    whole = np.int32(np.floor(x * _LOG2E + _HALF))
    power = np.float32(whole)
    rest = x - power * _HIGH - power * _LOW
    sum_ = ((((_C6 * rest + _C5) * rest + _C4) * rest + _C3) * rest + _C2) * rest + _C1
    sum_ = sum_ * rest * rest + rest + _ONE
    scaled: np.float32 = sum_ * np.int32((whole + _BIAS) << _MANTISSA).view(np.float32)
    return scaled
