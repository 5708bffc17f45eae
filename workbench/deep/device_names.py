"""The devices that a network can be trained on, by name; nothing of it needs torch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from workbench.params import InputError, ParameterError
from workbench.params.field import ChoiceField

AUTO, CPU, CUDA = DEVICES = ("auto", "cpu", "cuda")
ALL = "all"
"""Every GPU there is, in a list of devices."""

_NUMBERED = re.compile(r"cuda:(0|[1-9][0-9]{0,2})\Z")


@dataclass(frozen=True, kw_only=True)
class DeviceField(ChoiceField):
    """One of :data:`DEVICES`, or a GPU by its number."""

    choices: tuple[str, ...] = DEVICES

    def expected(self) -> str:
        """Return what a value must be, in words."""
        return f"one of {', '.join(self.choices)}, or a GPU by its number, such as cuda:1"

    def _check(self, value: Any, name: str) -> str:
        if isinstance(value, str) and _NUMBERED.match(value):
            return value
        return super()._check(value, name)


def parse_devices(words: str, gpus: int) -> tuple[str, ...]:
    """Return the devices of a list such as ``cuda:0,cuda:1``, in its order; ``all`` is every GPU.

    A device may be named several times: so many processes then share it.

    Raises:
        ParameterError: a word is not a device.
        InputError: a device is not there.
    """
    named = [word.strip() for word in words.split(",")]
    if named == [ALL]:
        named = [f"{CUDA}:{number}" for number in range(gpus)]
        if not named:
            raise InputError("there is no CUDA device", "--devices all", "use --jobs N on the processor")
    for name in named:
        if name not in (CPU, CUDA) and not _NUMBERED.match(name):
            raise ParameterError(
                f"{name!r} is not a device", "--devices", "give a list such as cuda:0,cuda:1, or all for every GPU"
            )
        require_device(name, gpus, "--devices")
    return tuple(named)


def require_device(name: str, gpus: int, option: str = "--device") -> None:
    """Raise :class:`InputError` if the device ``name`` is not there, of ``gpus`` GPUs."""
    if name in (AUTO, CPU):
        return
    if gpus == 0:
        raise InputError("there is no CUDA device", f"{option} {name}", "use --device cpu or auto")
    number = 0 if name == CUDA else int(name.removeprefix(f"{CUDA}:"))
    if number >= gpus:
        there = f"{CUDA}:0" if gpus == 1 else f"{CUDA}:0 to {CUDA}:{gpus - 1}"
        raise InputError(f"there is no device {name}", f"{option} {name}", f"use {there}, or cpu")
