"""Compiled code on disk, which is used only if it was made of what would be compiled now.

The files that Numba itself keeps do not promise that. Their index is written before the code that it names, so that a
process that is killed in between, or a full disk, leaves a new index that names old code. A damaged file ends every
later run. And what a loop takes from another module is not looked at. Here each file begins with a digest of itself
and of all that it was made of, and one with any other digest is as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
from collections.abc import Iterator
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

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
        TypeError: it uses something of which one cannot tell whether it changed.
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
