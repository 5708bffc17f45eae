"""A network that is code of the user, named ``package.module:factory``; it runs only where the user trusts it."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.deep import networks
from workbench.deep.networks.images import Pixels
from workbench.deep.networks.network import INITIAL_SEED, UNBOUNDED, Network
from workbench.params import InputError, ParameterError

if TYPE_CHECKING:
    from torch import Tensor, nn

CONVERT = "convert_batchnorm"  # the field of a plan that puts GroupNorm in the place of layers that mix rows

_NAMED = 4
_TRIED = 3  # generated rows on which a module is tried: an engine is compared on so many

SENTENCE = (
    "the network {name} is code of the person who trained it: the guarantee assumes that its output for a row is a "
    "function of that row and of the weights alone, which was checked on generated rows only, and that its first and "
    "frozen weights are public: not learned from private rows"
)


@dataclass(frozen=True, slots=True)
class UserNetwork(Network):
    """A module of the user's."""

    # Makes it; called without arguments, or with those of `inputs`, `shape` and `classes` that it names: the numbers of
    # a row, its shape where it is an image (channels, height, width), the classes.
    factory: Callable[..., Any] = dict
    code: str = ""  # SHA-256 of the file that the factory is from; empty where there is none
    converts: bool = False  # whether a GroupNorm takes the place of each layer that mixes rows

    def configured(self, options: Mapping[str, Any]) -> UserNetwork:
        return replace(self, converts=bool(options[CONVERT]))

    @property
    def beyond(self) -> str:
        return SENTENCE.format(name=self.name)

    def facts(self) -> dict[str, Any]:
        return {"code_sha256": self.code, **({CONVERT: True} if self.converts else {})}

    def from_facts(self, stated: Any, weights: Path | None) -> UserNetwork:
        """Return the network, if its code is still that of the card."""
        if not isinstance(stated, dict) or stated.get("code_sha256") != self.code:
            raise InputError(
                "the code of the network was changed since it was trained", self.name, "use the former code"
            )
        return replace(self, converts=stated.get(CONVERT) is True)

    def remarks(self, inputs: int, classes: int) -> tuple[str, ...]:
        """Return what conversion and the mode of a prediction change of the module that the code makes."""
        from workbench.deep.frozen_weights import freeze, frozen, frozen_names
        from workbench.deep.mixing_layers import dropouts, mixing

        made = self._module(inputs, classes)
        stated, norms, dropped = [], mixing(made) if self.converts else [], dropouts(made)
        if norms:
            replaced = f"GroupNorm of the same channels replaces {_listed(norms)}, which would mix the rows of a batch"
            stated.append(replaced)
        if dropped:
            stated.append(f"dropout is off, because the network trains in the mode of a prediction: {_listed(dropped)}")
        freeze(made.float(), self.name)
        constant = [(name, layer) for name, layer in made.named_modules() if frozen_names(layer)]
        if constant:
            count = sum(t.numel() for t in frozen(made).values())
            stated.append(f"{count} frozen weights are taken as public, and the file holds them: {_listed(constant)}")
        return tuple(stated)

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return inputs and classes: what is between them is the module's own affair."""
        return (inputs, classes)

    def parameters(self, inputs: int, classes: int) -> int:
        return sum(p.numel() for p in self.build(inputs, classes).parameters())

    def frozen_weights(self, inputs: int, classes: int) -> int:
        from workbench.deep.frozen_weights import frozen

        return sum(t.numel() for t in frozen(self.build(inputs, classes)).values())

    def held_by_row(self, inputs: int, classes: int) -> int:
        """Return the numbers that a step holds for each row: all layers' outputs four times, and a row's gradient.

        Of embeddings a row's gradient is no larger than their output, if each layer of the network is a known one.
        """
        import torch
        from torch import nn

        from workbench.deep.book_keeping import known_layers

        module, seen = self.build(inputs, classes), [0]

        def count(_: nn.Module, __: Any, output: Any) -> None:
            seen[0] += output.numel() if isinstance(output, torch.Tensor) else 0

        for layer in module.modules():
            layer.register_forward_hook(count)
        with torch.no_grad():
            module(torch.zeros(1, inputs))
        known = known_layers(module)
        made = [m for m in module.modules() if not (known and type(m) is nn.Embedding)]
        return 4 * seen[0] + sum(p.numel() for m in made for p in m.parameters(recurse=False))

    def rows_at_once(self) -> int:
        """Return what bounds no physical batch: which engine it has is not known before it runs."""
        return UNBOUNDED

    def example(self, inputs: int) -> Tensor | None:
        """Return generated rows, on which engines are compared and mixed rows are found."""
        import torch

        return torch.rand(_TRIED, inputs, generator=torch.Generator().manual_seed(INITIAL_SEED)) * 2 - 1

    def build(self, inputs: int, classes: int) -> nn.Sequential:
        """Return the module, its first weights drawn from a public seed; rows (n, inputs) become images before it.

        It is in the mode of a prediction for good, and trains in it: a layer that in training mixes rows, or keeps
        a mean of them, does not do so. Dropout is off. Frozen parameters are buffers.

        Raises:
            ParameterError: the factory fails, makes no module, or one that does not give a logit for each class.
        """
        from torch import nn

        from workbench.deep.frozen_weights import freeze

        recurrent = (nn.RNN, nn.LSTM, nn.GRU)
        shape = inputs.shape if isinstance(inputs, Pixels) else (int(inputs),)
        made = self._module(inputs, classes)
        if self.converts:
            from workbench.deep.mixing_layers import converted

            made = converted(made)
        freeze(made.float(), self.name)
        front: list[nn.Module] = [nn.Unflatten(1, shape)] if len(shape) > 1 else []
        module = nn.Sequential(*front, made)
        for layer in module.modules():  # not by eval(), which the code may have replaced
            # The library's own recurrent layers do the same in both modes, and a GPU trains them in this one only.
            layer.training = bool(type(layer) in recurrent and layer.dropout == 0)
        self._require_logits(module, inputs, classes)
        return module

    def _module(self, inputs: int, classes: int) -> nn.Module:
        """Return what the code makes, as it makes it; its first weights are public."""
        import torch
        from torch import nn

        shape = inputs.shape if isinstance(inputs, Pixels) else (int(inputs),)
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(INITIAL_SEED)
                made = self._made(inputs=int(inputs), shape=shape, classes=classes)
        except Exception as error:  # noqa: BLE001 - it is the user's code
            raise ParameterError(
                f"the factory {self.name} failed: {type(error).__name__}: {error}", hint="correct it"
            ) from None
        if not isinstance(made, nn.Module):
            raise ParameterError(f"{self.name} does not return a torch.nn.Module", hint="return a torch.nn.Module")
        return made

    def _made(self, **stated: Any) -> Any:
        known = inspect.signature(self.factory).parameters
        return self.factory(**{name: value for name, value in stated.items() if name in known})

    def _require_logits(self, module: nn.Module, inputs: int, classes: int) -> None:
        import torch

        try:
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                found = tuple(module(torch.zeros(2, inputs)).shape)
        except Exception as error:  # noqa: BLE001 - it is the user's code
            raise ParameterError(
                f"{self.name} fails on rows of {inputs} numbers: {type(error).__name__}: {error}",
                hint="its factory can take inputs, shape and classes as arguments",
            ) from None
        if found != (2, classes):
            raise ParameterError(
                f"{self.name} returns {found} for 2 rows, not a logit for each of the {classes} classes",
                hint="give its last layer one output per class",
            )


def trust(name: str) -> UserNetwork:
    """Import ``package.module:factory`` from the current folder or the path, and let plans and cards name it.

    The code runs with all rights of the person who calls this.

    Raises:
        ParameterError: there is no such code, or it fails.
    """
    module, _, factory = name.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), factory)
    except Exception as error:  # noqa: BLE001 - it is the user's code
        raise ParameterError(
            f"the network {name} cannot be imported: {type(error).__name__}: {error}",
            hint="write it as package.module:factory, from a package of the current folder or of the environment",
        ) from None
    if not callable(found):
        raise ParameterError(f"{name} cannot be called", hint="give a function or a class that makes a torch.nn.Module")
    made = UserNetwork(
        name,
        name,
        "Your own code.",
        short=factory,
        options=(CONVERT,),
        factory=found,
        code=_code(sys.modules[found.__module__]),
    )
    networks.TRUSTED[name] = made
    return made


def _listed(layers: Sequence[tuple[str, nn.Module]]) -> str:
    """Return layers as ``the layers 1 (BatchNorm2d) and 4 (BatchNorm2d)``, the first few by name."""
    names = [f"{name or 'whole'} ({type(layer).__name__})" for name, layer in layers]
    shown = names[:_NAMED] + ([f"{len(names) - _NAMED} more"] if len(names) > _NAMED else [])
    return f"the layers {', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else f"the layer {shown[0]}"


def _code(module: Any) -> str:
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
