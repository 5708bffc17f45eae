"""Loops that are compiled at their first call and cached on disk.

On small networks most of a step's time goes into starting operations; a loop that does ten of them starts once.

Compiled code on disk is used only if it was made of what would be compiled now. The files that Numba itself keeps do
not promise that. Their index is written before the code that it names, so that a process that is killed in between, or
a full disk, leaves a new index that names old code. A damaged file ends every later run. And what a loop takes from
another module is not looked at. Here each file begins with a digest of itself and of all that it was made of, and one
with any other digest is as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

_DIGEST_BYTES = 32
_PLAIN = (bool, int, float, str, tuple, np.generic)


class KeptCode(FunctionCache):  # type: ignore[misc]
    """Where the compiled code of one function is kept, in the folder that Numba chooses: one file for each signature.

    A file that cannot be read or written is done without: the function is then compiled again at the next start.
    """

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        """Find the folder.

        Raises:
            RuntimeError: there is no folder that can be written.
        """
        super().__init__(function)
        self._function, self._options = function, options

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for ``sig``, types of arguments; ``None`` if nothing is kept that fits."""
        target_context.refresh()
        made_of, path = self._place(sig, target_context.codegen())
        try:
            held = path.read_bytes()
        except OSError:
            return None
        digest, code = held[:_DIGEST_BYTES], held[_DIGEST_BYTES:]
        if digest != hashlib.sha256(made_of + code).digest():
            return None
        return self._impl.rebuild(target_context, pickle.loads(code))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for ``sig``; readers see all of it or nothing."""
        if not self._impl.check_cachable(data):
            return
        made_of, path = self._place(sig, data.codegen)
        code = dumps(self._impl.reduce(data))
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            part.write_bytes(hashlib.sha256(made_of + code).digest() + code)
            part.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()

    def _place(self, sig: Any, codegen: Any) -> tuple[bytes, Path]:
        """Return the digest of what code for ``sig`` on this processor is made of, and the file that keeps it."""
        kind = repr((sig, codegen.magic_tuple()))
        made_of = hashlib.sha256(f"{kind}\n{self._source}".encode()).digest()
        name = f"{self._impl.filename_base}.{hashlib.sha256(kind.encode()).hexdigest()[:16]}.nbc"
        return made_of, Path(self.cache_path) / name

    @cached_property
    def _source(self) -> str:
        versions = f"numba {numba.__version__}, llvmlite {metadata.version('llvmlite')}, numpy {np.__version__}"
        return "\n".join([versions, _stated(self._options), *described(self._function)])


def described(function: FunctionType) -> Iterator[str]:
    """Yield what decides how ``function`` is compiled: its code, and the values that it finds in its module.

    Raises:
        TypeError: it uses something whose changes cannot be detected.
    """
    code = function.__code__
    if function.__closure__ or any(isinstance(constant, CodeType) for constant in code.co_consts):
        raise TypeError(f"{function.__qualname__} has functions within or around it, which cannot be kept")
    yield repr((function.__qualname__, code.co_code, code.co_consts, code.co_names, code.co_varnames))
    yield repr(function.__defaults__)
    for name in code.co_names:
        if name not in function.__globals__:
            continue
        value = function.__globals__[name]
        if isinstance(value, _PLAIN):
            yield f"{name} = {type(value).__name__} {value!r}"
        elif isinstance(value, ModuleType):
            yield f"{name} = {value.__name__}"
        elif hasattr(value, "py_func"):
            yield f"{name}: {_stated(value.targetoptions)}"
            yield from described(value.py_func)
        else:
            raise TypeError(f"{function.__qualname__} uses {name}, a {type(value).__name__}, which cannot be kept")


def _stated(options: dict[str, Any]) -> str:
    """Return options as text that is the same in every process."""
    return repr({name: sorted(value) if isinstance(value, set) else value for name, value in sorted(options.items())})


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

    The bounds of :mod:`workbench.deep.clipping_factors` hold for any order, and for products that are added without
    having been rounded. NaN and ∞ keep their meaning: a test for them is done as it is written.
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

    In any order, what is small and separated from a large number would be joined with it again.
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
