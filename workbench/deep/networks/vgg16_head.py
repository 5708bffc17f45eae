"""VGG16 with frozen convolutions, whose public weights are in a local file, and a head that is trained privately."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.deep.networks.images import Pixels, as_image, image_shape
from workbench.deep.networks.network import Network, begun
from workbench.params import InputError, ParameterError
from workbench.params.remedies import give

if TYPE_CHECKING:
    from torch import Tensor, nn


STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
"""Channels of the 3 × 3 convolutions of each stage, which ends by halving the sides (Simonyan & Zisserman 2015)."""

HIDDEN = 512
REDUCTIONS = ("1", "2", "4")
_STEP = 1 << len(STAGES)
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's channels: how the published weights expect their input."""

_AT_ONCE = 1 << 18  # pixels that pass the convolutions at once

_MOST_BYTES = 2**31
_FROZEN = 4 * 14_714_688  # bytes of the weights of the convolutions

_SAFETENSORS = ".safetensors"

BEYOND = (
    "the file of weights (SHA-256 {checksum}) was taken as public: the guarantee does not cover what it learned of "
    "these rows, if it did"
)


@dataclass(frozen=True, slots=True)
class VggHead(Network):
    """VGG16's convolutions, frozen, then 512 hidden units (tanh) and a logit for each class."""

    usual_inputs: ClassVar[int] = Pixels(3, _STEP, _STEP)

    weights: str = ""  # the file of the convolutions' weights: safetensors, or a state dict of torch
    checksum: str = ""  # its SHA-256
    reduction: int = 1  # by how much the sides of the images are reduced first: 1, 2 or 4

    def configured(self, options: Mapping[str, Any]) -> VggHead:
        """Return the network with the weights and the reduction of a plan.

        Raises:
            ParameterError: the plan names no weights.
            InputError: the file cannot be read, or has another checksum than the plan says.
        """
        if options["weights"] is None:
            raise ParameterError(
                f"the network “{self.title}” needs the public weights of VGG16",
                hint=give(
                    "weights",
                    "give their file, safetensors or a PyTorch state dict (--weights FILE)",
                    python="give their file, safetensors or a PyTorch state dict (weights=)",
                ),
                field="weights",
            )
        return self.with_weights(options["weights"], options["weights_sha256"], int(options["reduction"]))

    def with_weights(self, file: str, checksum: str | None, reduction: int) -> VggHead:
        """Return the network with the weights in ``file``, whose SHA-256 is ``checksum`` where one is given."""
        found = _checksum(file)
        if checksum is not None and checksum.lower() != found:
            raise InputError("the weights do not match their checksum", file, "give the file with this checksum")
        return replace(self, weights=file, checksum=found, reduction=reduction)

    def facts(self) -> dict[str, Any]:
        """Return what a card says of the frozen part."""
        return {"weights_sha256": self.checksum, "reduction": self.reduction}

    def from_facts(self, stated: Any, weights: Path | None) -> VggHead:
        if weights is None:
            raise InputError(
                f"the network “{self.title}” needs the public weights that it was trained on",
                hint=give(
                    "weights of the card",
                    "give --weights FILE; its SHA-256 is on the card",
                    python="give weights=; its SHA-256 is on the card",
                ),
            )
        if not isinstance(stated, dict) or str(stated.get("reduction")) not in REDUCTIONS:
            raise ParameterError("the card does not describe the frozen part", hint="get the original folder")
        return self.with_weights(str(weights), str(stated.get("weights_sha256")), int(stated["reduction"]))

    @property
    def beyond(self) -> str:
        return BEYOND.format(checksum=self.checksum)

    @property
    def frozen(self) -> str:
        return f"vgg16 {self.checksum} reduced {self.reduction}"

    def prepared_width(self, inputs: int) -> int:
        _, height, width = self._reduced(image_shape(self.title, inputs))
        return STAGES[-1][-1] * (height // _STEP) * (width // _STEP)

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the features, the hidden units and the classes."""
        return (self.prepared_width(inputs), *self.hidden, classes)

    def preparing(self) -> int:
        """Return the bytes of the frozen weights and of what a convolution reads and writes, twice over."""
        return _FROZEN + 4 * 4 * STAGES[0][0] * _AT_ONCE

    def prepared(self, inputs: Tensor) -> Tensor:
        """Return the features (n, 512·h/32·w/32) of images in [−1, 1], each by itself."""
        import torch

        shape = as_image(self.name, inputs)
        self._reduced(shape)
        convolutions = _convolutions(self.weights, self.checksum).to(inputs.device)
        mean, deviation = (torch.tensor(v, device=inputs.device).view(1, 3, 1, 1) for v in (_MEAN, _DEVIATION))
        parts = []
        step = max(1, _AT_ONCE // (shape[1] * shape[2]))
        with torch.no_grad():
            for start in range(0, max(1, len(inputs)), step):
                images = inputs[start : start + step].reshape(-1, *shape)
                if self.reduction > 1:
                    images = torch.nn.functional.avg_pool2d(images, self.reduction)
                images = ((images + 1) / 2).expand(-1, 3, -1, -1)
                parts.append(convolutions((images - mean) / deviation).flatten(1))
        return torch.cat(parts)

    def build(self, inputs: int, classes: int) -> nn.Sequential:
        import torch
        from torch import nn

        with torch.device("meta"):
            features, hidden = self.prepared_width(inputs), self.hidden[0]
            head = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, classes))
        return begun(head)

    def _reduced(self, shape: tuple[int, int, int]) -> tuple[int, int, int]:
        channels, height, width = shape
        height, width = height // self.reduction, width // self.reduction
        if height < _STEP or width < _STEP:
            raise ParameterError(
                f"the network “{self.title}” reads images of {_STEP} × {_STEP} pixels or more, not {height} × {width}",
                hint="use a smaller reduction, or larger images",
                field="reduction",
            )
        return channels, height, width


def _checksum(file: str) -> str:
    try:
        stated = Path(file).stat()
        return _sha256(file, stated.st_mtime_ns, stated.st_size)
    except OSError as error:
        raise InputError(f"the weights cannot be read: {error.strerror}", file, "check the path") from None


@lru_cache(maxsize=4)
def _sha256(file: str, _: int, size: int) -> str:
    if size > _MOST_BYTES:
        raise InputError("the file of weights is larger than 2 GiB", file, "give the weights of VGG16")
    digest = hashlib.sha256()
    with Path(file).open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _convolutions(file: str, checksum: str) -> nn.Sequential:
    """Return the frozen part; the file is read once."""
    import torch
    from torch import nn

    data = Path(file).read_bytes()
    if hashlib.sha256(data).hexdigest() != checksum:
        raise InputError("the weights were changed while the program ran", file, "run again")
    found = _state(file, data)
    layers: list[nn.Module] = []
    before = 3
    with torch.device("meta"):
        for stage in STAGES:
            for channels in stage:
                layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU()]
                before = channels
            layers.append(nn.MaxPool2d(2))
    module = nn.Sequential(*layers).to_empty(device="cpu")
    # Published state dicts name the layers "features.0.weight"; a file of this part alone names them "0.weight".
    state = {}
    for name, expected in module.state_dict().items():
        given = found.get(f"features.{name}", found.get(name))
        if not isinstance(given, torch.Tensor) or given.shape != expected.shape or not torch.isfinite(given).all():
            raise InputError(f"the file is not VGG16's weights: {name} is missing or wrong", file, "give other weights")
        state[name] = given.float()
    module.load_state_dict(state)
    return module.eval().requires_grad_(requires_grad=False)


def _state(file: str, data: bytes) -> dict[str, Any]:
    """Return the tensors of a file by name; neither format can run code."""
    import torch

    try:
        if file.lower().endswith(_SAFETENSORS):
            from safetensors.torch import load

            return dict(load(data))
        found = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except (ValueError, RuntimeError, KeyError, EOFError, pickle.UnpicklingError):
        raise InputError("the file contains no weights", file, "give safetensors or a PyTorch state dict") from None
    except Exception as error:
        if type(error).__name__ != "SafetensorError":
            raise
        raise InputError("the file contains no weights", file, "give safetensors or a PyTorch state dict") from None
    if not isinstance(found, dict):
        raise InputError("the file contains no state dict", file, "save module.state_dict()")
    return found


VGG16_HEAD = VggHead(
    "vgg16-head",
    "VGG16 with a private head",
    "It classifies by features that VGG16 learned from public images; you provide the file of its weights.",
    short="VGG16, DP-SGD",
    hidden=(HIDDEN,),
    options=("weights", "weights_sha256", "reduction"),
)
