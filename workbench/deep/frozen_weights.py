"""Parameters of a user's network that do not learn (``requires_grad=False``): public constants, held in its file."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from workbench.params import ParameterError

MOST_BYTES = 2**31  # the largest file of weights that is read

_NAMES = "_frozen_names"
_FLOAT = 4


def freeze(network: nn.Module, name: str) -> None:
    """Make the parameters of ``network`` that do not learn buffers: no engine has gradients or noise for them.

    Args:
        network: changed in place.
        name: its name for a person.

    Raises:
        ParameterError: no parameter learns, a frozen one has no single precision, or a file cannot hold all of them.
    """
    own = [(layer, key, p) for layer in network.modules() for key, p in layer._parameters.items() if p is not None]
    constant = [(layer, key, p) for layer, key, p in own if not p.requires_grad]
    if own and len(constant) == len(own):
        raise ParameterError(f"all weights of {name} are frozen", hint="make at least one layer trainable")
    made: dict[Tensor, Tensor] = {}  # one that several layers share stays one
    for layer, key, p in constant:
        if p.dtype != torch.float32:
            raise ParameterError(
                f"the frozen weight {key} of {name} has the data type {p.dtype}", hint="make it float32, or a buffer"
            )
        delattr(layer, key)
        layer.register_buffer(key, made.setdefault(p, p.detach()))
        setattr(layer, _NAMES, (*getattr(layer, _NAMES, ()), key))
    if constant and _FLOAT * sum(t.numel() for t in weights(network).values()) > MOST_BYTES:
        raise ParameterError(f"{name} has more numbers than fit into a model's file (2 GiB)", hint="make it smaller")


def frozen_names(layer: nn.Module) -> tuple[str, ...]:
    """Return the names of the frozen weights of ``layer`` itself."""
    found: tuple[str, ...] = getattr(layer, _NAMES, ())
    return found


def frozen(network: nn.Module) -> dict[str, Tensor]:
    """Return the frozen weights by name; one that several layers share has the name that it has first."""
    named = {id(t): (f"{place}.{key}".lstrip("."), t) for place, key, t in reversed(_held(network))}
    return dict(reversed(named.values()))


def weights(network: nn.Module) -> dict[str, Tensor]:
    """Return what the file of a model holds, by name: the parameters, then the frozen weights."""
    return {**dict(network.named_parameters()), **frozen(network)}


def _held(network: nn.Module) -> list[tuple[str, str, Tensor]]:
    return [
        (place, key, layer.get_buffer(key)) for place, layer in network.named_modules() for key in frozen_names(layer)
    ]
