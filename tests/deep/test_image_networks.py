"""Networks on images: any shape that fits, frozen weights from a file, code of the user."""

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workbench.data.images.image_set import ImageSet  # noqa: E402
from workbench.deep import networks  # noqa: E402
from workbench.deep.book_keeping import BookKeepingClippedSum  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum  # noqa: E402
from workbench.deep.features import ImageFeatures, TableData  # noqa: E402
from workbench.deep.memory import predict  # noqa: E402
from workbench.deep.model import TrainedModel  # noqa: E402
from workbench.deep.networks import network, vgg16_head  # noqa: E402
from workbench.deep.networks.images import Pixels  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.trainer import train  # noqa: E402
from workbench.deep.user_network import trust  # noqa: E402
from workbench.params import InputError, ParameterError  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

SMALL = ((8,), (8,), (8,), (8,), (6,))


def images(rows: int = 48, side: int = 16, channels: int = 3, period: int = 2) -> ImageSet:
    """Two classes: noise, and bright stripes of ``period`` lines."""
    codes = np.arange(rows) % 2
    noise = np.random.default_rng(1).integers(0, 60, (rows, channels, side, side))
    stripes = 150 * (np.arange(side) // period % 2)[:, None] * codes[:, None, None, None]
    return ImageSet.of((noise + stripes).astype(np.uint8), codes, ("plain", "striped"), "made")


def plan(name: str, **more: object) -> DpSgdPlan:
    told = {"noise": 0.5, "delta": 1e-3, "batch": 24, "epochs": 8, "lr": 0.5, "clip": 1.0, "accountant": "rdp", **more}
    return DpSgdPlan.from_plain({"network": name, **told})


def trained(of: ImageSet, asked: DpSgdPlan) -> float:
    data = TableData(ImageFeatures.of(of), of)
    return TrainedModel.of(train(asked, data, Charged(lambda cost: None))).accuracy(data)


def vgg_weights(file: Path) -> Path:
    """Write random weights of the stages that :mod:`vgg16_head` has now."""
    from safetensors.torch import save_file

    generator, state, before, position = torch.Generator().manual_seed(0), {}, 3, 0
    for stage in vgg16_head.STAGES:
        for channels in stage:
            state[f"features.{position}.weight"] = torch.randn(channels, before, 3, 3, generator=generator) * 0.2
            state[f"features.{position}.bias"] = torch.zeros(channels)
            before, position = channels, position + 2
        position += 1
    save_file(state, file) if file.suffix == ".safetensors" else torch.save(state, file)
    return file


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.deep.feature_cache.user_cache", lambda part: tmp_path / "kept")
    return tmp_path / "kept"


@pytest.mark.parametrize("name", ["logistic", pytest.param("cifar-cnn", marks=pytest.mark.slow)])
def test_networks_learn_from_images(name, kept):
    assert trained(images(), plan(name)) > 0.9
    assert not kept.exists()


def test_features_of_a_frozen_part_are_kept_and_change_nothing(kept):
    seen = []
    for _ in range(2):
        seen.append(trained(images(), plan("scatter-linear", noise=0.1, lr=0.1)))
        assert len(list(kept.rglob("*.features"))) == 1
    assert min(seen) > 0.9


@pytest.mark.slow
def test_the_convolutional_network_has_six_convolutions_and_an_engine_of_its_own_rows():
    known, inputs = network("cifar-cnn"), Pixels(3, 32, 32)
    assert known.parameters(inputs, 10) == 551_466
    assert pickle.loads(pickle.dumps(inputs)).shape == (3, 32, 32)
    module = known.build(Pixels(3, 8, 8), 3)
    example = torch.rand(3, 192, generator=torch.Generator().manual_seed(0)) * 2 - 1
    assert isinstance(engine_for(module, 1.0, 8, example=example), BookKeepingClippedSum)


def test_networks_refuse_images_that_they_cannot_read():
    with pytest.raises(ParameterError, match="multiples of 4, not 10 × 8"):
        network("scatter-linear").parameters(Pixels(3, 10, 8), 2)
    with pytest.raises(ParameterError, match="8 × 8 pixels or more, not 4 × 8"):
        network("cifar-cnn").parameters(Pixels(3, 4, 8), 2)
    with pytest.raises(ParameterError, match="28 by 28 pixels, not 3 × 28 × 28 numbers"):
        network("mnist-cnn").parameters(Pixels(3, 28, 28), 2)
    features = ImageFeatures.of(images())
    with pytest.raises(InputError, match="the images are 8 × 8 colour, the network reads 16 × 16 colour"):
        features.inputs(images(side=8))


@pytest.mark.parametrize("ending", [".safetensors", ".pt"])
def test_the_head_of_vgg16_learns_on_frozen_weights_of_a_file(ending, tmp_path, kept, monkeypatch):
    monkeypatch.setattr(vgg16_head, "STAGES", SMALL)
    file = vgg_weights(tmp_path / f"weights{ending}")
    asked = plan("vgg16-head", weights=str(file), reduction="2", epochs=60, noise=0.05, lr=0.1)
    known = asked.architecture
    assert known.widths(Pixels(3, 64, 64), 2) == (6, 512, 2)
    assert trained(images(side=64, period=32), asked) > 0.9
    assert predict(asked, ImageFeatures.of(images(side=64)), 48).peak > 0
    again = network("vgg16-head").from_facts(known.facts(), file)
    assert again.frozen == known.frozen
    assert "was taken as public" in again.beyond
    assert hashlib.sha256(file.read_bytes()).hexdigest() in again.beyond
    with pytest.raises(ParameterError, match="smaller reduction"):
        known.parameters(Pixels(3, 32, 32), 2)
    with pytest.raises(InputError, match="do not match their checksum"):
        _ = plan("vgg16-head", weights=str(file), weights_sha256="0" * 64).architecture
    file.write_bytes(b"nothing")
    with pytest.raises(InputError, match="contains no weights"):
        plan("vgg16-head", weights=str(file)).architecture.prepared(torch.zeros(1, 3, 32, 32))


def test_vgg16_has_the_published_shape_and_pickled_code_is_refused(tmp_path):
    assert [len(stage) for stage in vgg16_head.STAGES] == [2, 2, 3, 3, 3]
    known = network("vgg16-head")
    assert known.parameters(Pixels(3, 224, 224), 12) == (25_088 + 1) * 512 + 513 * 12

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return exec, ("raise SystemExit",)

    torch.save({"features.0.weight": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(InputError, match="contains no weights"):
        plan("vgg16-head", weights=str(tmp_path / "evil.pt")).architecture.prepared(torch.zeros(1, 3, 32, 32))
    torch.save({"features.0.weight": torch.zeros(2)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match=r"0\.weight is missing or wrong"):
        plan("vgg16-head", weights=str(tmp_path / "other.pt")).architecture.prepared(torch.zeros(1, 3, 32, 32))


CODE = """
import torch
from torch import nn

class Mixing(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.inner = nn.Linear(inputs, classes)
    def forward(self, rows):
        rows = rows.flatten(1)
        return self.inner(rows - rows.mean(0))

class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
    def train(self, mode=True):
        return super().train(True)
    def forward(self, rows):
        if not self.training:
            return rows - self.mean
        self.mean.lerp_(rows.detach().mean(0), 0.1)
        return (rows - rows.mean(0)) * 3

def own_norm(inputs, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 8), Norm(8), nn.Tanh(), nn.Linear(8, classes))

class Counting(nn.Module):
    def forward(self, rows):
        self.seen = getattr(self, "seen", 0) + rows.detach().flatten(1).sum() / 1e4
        return rows + self.seen

def counting(inputs, classes):
    return nn.Sequential(Counting(), nn.Flatten(), nn.Linear(inputs, classes))

def image_net(shape, classes):
    return nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.Tanh(), nn.Flatten(), nn.LazyLinear(classes))

def plain(inputs, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, classes))

def normed(shape, classes):
    return nn.Sequential(nn.BatchNorm2d(shape[0]), nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], classes))

def broken(inputs, classes):
    raise ValueError("no")

def other():
    return nn.Sequential(nn.Flatten(), nn.Linear(768, 5))

nothing = 3
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "my_networks.py").write_text(CODE, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(networks, "TRUSTED", {})
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    return "my_networks"


def test_code_of_the_user_trains_once_it_is_trusted(code):
    with pytest.raises(ParameterError, match="add --trust-code"):
        plan(f"{code}:plain")
    known = trust(f"{code}:plain")
    assert trained(images(side=8), plan(f"{code}:plain")) > 0.9
    assert predict(plan(f"{code}:plain"), ImageFeatures.of(images()), 48).peak > 0
    assert known.name in known.beyond
    first, second = (known.build(Pixels(3, 8, 8), 2).state_dict() for _ in range(2))
    assert all(torch.equal(first[key], second[key]) for key in first)
    with pytest.raises(InputError, match="code of the network was changed"):
        known.from_facts({"code_sha256": "0"}, None)


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("Mixing", "mixes the rows of a batch"),
        ("counting", "stores something about the rows"),
        ("normed", r"BatchNorm2d\) mixes the rows.*GroupNorm"),
        ("broken", "ValueError: no"),
        ("other", "not a logit for each of the 2 classes"),
        ("nothing", "cannot be called"),
        ("absent", "cannot be imported: AttributeError"),
    ],
)
def test_code_that_mixes_rows_or_makes_no_network_is_refused_before_the_charge(code, factory, said):
    charged = []
    of = images()

    def run() -> None:
        trust(f"{code}:{factory}")
        train(plan(f"{code}:{factory}"), TableData(ImageFeatures.of(of), of), Charged(charged.append))

    with pytest.raises(ParameterError, match=said):
        run()
    assert charged == []


def test_emptying_a_row_moves_the_sum_of_code_with_a_norm_of_its_own_by_at_most_the_clipping_norm(code):
    """In training such a layer mixes rows, so code never trains in that mode, whatever it makes of ``train()``."""
    known, inputs = trust(f"{code}:own_norm"), Pixels(3, 4, 4)
    module = known.build(inputs, 2)
    engine = engine_for(module, 1.0, 8, example=known.example(inputs))
    x = known.example(inputs).repeat(3, 1)[:8]
    x[0] = 1.0
    y = torch.arange(8) % 2
    whole = engine(x, y).total.double().clone()
    x[0], y[0] = 0.0, -1
    assert 0 < float((whole - engine(x, y).total.double()).norm()) <= 1
    assert not any(layer.training for layer in module.modules())
    assert not next(module.buffers()).any(), "nothing is kept of the rows"


def test_the_engine_of_code_is_compared_with_the_plain_one(code):
    known = trust(f"{code}:image_net")
    with pytest.raises(ParameterError, match="image_net"):
        known.parameters(8, 2)
    plain = trust(f"{code}:plain")
    inputs = Pixels(3, 8, 8)
    engine = engine_for(plain.build(inputs, 2), 1.0, 8, example=plain.example(inputs))
    assert not isinstance(engine, PerRowClippedSum)
