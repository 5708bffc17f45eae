"""Noise made on the device: the library's ChaCha20 bit for bit, Gaussian numbers, and never one of them twice."""

from __future__ import annotations

import copy
import math
import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cryptography.hazmat.primitives.ciphers import Cipher  # noqa: E402
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy import stats  # noqa: E402

from workbench.deep.device import device_noise  # noqa: E402
from workbench.deep.device.chacha20 import key_words, keystream  # noqa: E402
from workbench.deep.device.device_noise import DeviceNoise, KeyStream, fill_with_gaussians, require_chacha20  # noqa: E402
from workbench.params import ParameterError, WorkbenchError  # noqa: E402
from workbench.privacy.entropy import OsEntropy, SeededEntropy  # noqa: E402

FALSE_ALARM = 1e-6
AT_ONCE = 2**13


class Keys:
    """Keys that a test knows, and how many were taken."""

    releasable = True

    def __init__(self) -> None:
        self.given: list[bytes] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        self.given.append(os.urandom(8 * count))
        return np.frombuffer(self.given[-1], dtype=np.uint64)


def library(key: bytes, block: int, blocks: int) -> bytes:
    stream = Cipher(ChaCha20(key, block.to_bytes(4, "little") + bytes(12)), mode=None).encryptor()
    return stream.update(bytes(64 * blocks))


@pytest.mark.parametrize("block", [0, 1, 2**24 - 7, 2**31 - 5, 2**32 - 40])
def test_the_keystream_is_the_library_s_bit_for_bit(block: int) -> None:
    key = os.urandom(32)
    first = torch.tensor([block if block < 2**31 else block - 2**32], dtype=torch.int32)
    assert keystream(key_words(key), first, 33).numpy().tobytes() == library(key, block, 33)


def test_the_published_example_of_the_cipher() -> None:
    """RFC 8439, A.1, test vector 1: the key of zeros."""
    found = keystream(key_words(bytes(32)), torch.zeros(1, dtype=torch.int32), 1).numpy().tobytes()
    assert found.hex().startswith("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")


def test_a_stream_goes_through_the_blocks_of_its_key_and_takes_another_before_they_are_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_noise, "_BLOCKS_OF_A_KEY", 40)
    keys = Keys()
    stream = KeyStream("cpu", 16, keys)
    for key, block in [(0, 0), (0, 16), (1, 0), (1, 16), (2, 0)]:
        stream.advance()
        stream.make()
        assert len(keys.given) == key + 1
        assert stream.words.numpy().tobytes() == library(keys.given[key], block, 16)
    assert len(set(keys.given)) == 3


def test_a_forked_process_takes_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys()
    noise = DeviceNoise(1.0, "cpu", keys, at_once=16)
    before, after = torch.zeros(3, dtype=torch.float64), torch.zeros(16, dtype=torch.float64)
    noise.add_to(before)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    noise.add_to(after)
    assert len(keys.given) == 2
    assert not np.intersect1d(before.numpy(), after.numpy()).size


def test_noise_cannot_be_copied() -> None:
    noise = DeviceNoise(1.0, "cpu", at_once=16)
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(noise)
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(noise)


def test_the_numbers_are_those_of_the_published_transform() -> None:
    """√(−2 ln u)·(cos 2πv, sin 2πv), u and v worked out from the words in whole numbers."""
    keys = Keys()
    size = 2**10
    found = torch.zeros(size, dtype=torch.float64)
    DeviceNoise(2.5, "cpu", keys, at_once=size).add_to(found)
    compared = 2 * size // 8  # two fills at the start, which are used for nothing
    words = [int(w) for w in np.frombuffer(library(keys.given[0], compared, size // 8), dtype="<u8")]
    half = size // 2
    for k, (one, two) in enumerate(zip(words[:half], words[half:], strict=True)):
        u = Fraction(((one >> 11) << 22) + ((one % 2**11) << 11) + two % 2**11 + 1, 2**75)
        radius = 2.5 * math.sqrt(-2 * math.log(u))
        turn = 2 * math.pi * (two >> 11) / 2**53
        assert float(found[k]) == pytest.approx(radius * math.cos(turn), rel=1e-9, abs=1e-12)
        assert float(found[half + k]) == pytest.approx(radius * math.sin(turn), rel=1e-9, abs=1e-12)


def test_the_ends_of_the_uniform_numbers_give_finite_noise() -> None:
    numbers = torch.zeros(16, dtype=torch.float64)
    fill_with_gaussians(numbers, torch.zeros(32, dtype=torch.int32), 1.0)
    assert float(numbers[0]) == pytest.approx(math.sqrt(2 * 75 * math.log(2)), rel=1e-12)
    assert float(numbers[8]) == 0
    fill_with_gaussians(numbers, torch.full((32,), -1, dtype=torch.int32), 1.0)
    assert not numbers.any(), "u = 1"


def test_the_noise_has_its_scale_is_independent_and_never_repeats() -> None:
    scale, noise = 3.0, DeviceNoise(3.0, "cpu", at_once=AT_ONCE)
    drawn = []
    for size in [3, AT_ONCE, 2 * AT_ONCE + 5, 1, 100_000 - 3 * AT_ONCE - 9]:
        total = torch.zeros(size, dtype=torch.float64)
        noise.add_to(total)
        drawn.append(total.numpy())
    sample = np.concatenate(drawn) / scale
    assert len(np.unique(sample)) == len(sample) == 100_000
    low, high = stats.chi2.ppf([FALSE_ALARM / 4, 1 - FALSE_ALARM / 4], len(sample))
    assert low < float((sample**2).sum()) < high
    assert stats.kstest(sample, "norm").pvalue > FALSE_ALARM / 2
    bound = stats.norm.isf(FALSE_ALARM / 4) / math.sqrt(len(sample))
    fills = len(sample) // AT_ONCE
    half = sample[: fills * AT_ONCE].reshape(fills, 2, -1)
    assert abs(np.mean(sample[1:] * sample[:-1])) < bound
    assert abs(np.mean(half[:, 0] * half[:, 1])) < 2 * bound, "the cosine and the sine of a pair"


def test_noise_is_added_to_what_is_there() -> None:
    noise = DeviceNoise(1e-9, "cpu", at_once=16)
    total = torch.arange(50, dtype=torch.float64)
    noise.add_to(total)
    np.testing.assert_allclose(total.numpy(), np.arange(50), atol=1e-7)
    assert (total.numpy() != np.arange(50)).any()


def test_seeded_keys_make_noise_that_is_the_same_again_and_cannot_be_released() -> None:
    one, two = (torch.zeros(20, dtype=torch.float64) for _ in range(2))
    for total in (one, two):
        seeded = DeviceNoise(1.0, "cpu", SeededEntropy(5), at_once=16)
        seeded.add_to(total)
        assert not seeded.releasable
    assert torch.equal(one, two)
    assert DeviceNoise(1.0, "cpu", OsEntropy(), at_once=16).releasable


def test_a_device_that_computes_another_cipher_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require_chacha20("cpu")
    monkeypatch.setattr(device_noise, "keystream", lambda *given: keystream(*given).bitwise_xor_(1))
    with pytest.raises(WorkbenchError, match="does not compute ChaCha20"):
        DeviceNoise(1.0, "cpu", at_once=16)


Function = Callable[[], None]


def broken(how: str, when: Callable[[], bool] = lambda: True) -> Callable[[Function], Function]:
    """A recorder whose replays do not do what was recorded, as soon as ``when`` says so."""

    def record(function: Function) -> Function:
        noise = cast("Any", function).__self__
        calls: list[int] = []

        def replay() -> None:
            calls.append(1)
            first = noise._stream._first
            right = first.clone()
            if how == "repeats the first block":
                noise._first_of_all = getattr(noise, "_first_of_all", right)
                first.copy_(noise._first_of_all)
            if not when() or how not in ("does nothing", "is stale") or (how == "is stale" and len(calls) == 1):
                function()
            if when():
                halved = {"leaves out half": slice(8, None), "is too small": slice(None)}.get(how, slice(0))
                noise._numbers[halved] *= 0.5
            first.copy_(right)

        return replay

    return record


HOW = ("does nothing", "is stale", "repeats the first block", "leaves out half", "is too small")


@pytest.mark.parametrize("how", HOW)
def test_a_replay_that_makes_other_noise_is_noticed_and_left_aside(how: str) -> None:
    noise = DeviceNoise(1.0, "cpu", at_once=16, repeat=broken(how))
    assert noise.replay_differs
    drawn = torch.zeros(100, dtype=torch.float64)
    noise.add_to(drawn)
    assert drawn.all()
    assert len(drawn.unique()) == 100
    noise.require_made()


def test_a_replay_that_makes_the_same_noise_is_used() -> None:
    calls: list[int] = []

    def record(function: Function) -> Function:
        def replay() -> None:
            calls.append(1)
            function()

        return replay

    noise = DeviceNoise(1.0, "cpu", at_once=16, repeat=record)
    assert not noise.replay_differs
    before = len(calls)
    noise.add_to(torch.zeros(32, dtype=torch.float64))
    assert len(calls) == before + 2


@pytest.mark.parametrize("how", ["does nothing", "is stale", "is too small"])
def test_a_replay_that_goes_wrong_later_is_noticed_before_anything_is_kept_and_at_the_next_key(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_noise, "_BLOCKS_OF_A_KEY", 12)
    late: list[int] = []
    noise = DeviceNoise(1.0, "cpu", at_once=16, repeat=broken(how, lambda: bool(late)))
    assert not noise.replay_differs
    noise.add_to(torch.zeros(16, dtype=torch.float64))
    noise.require_made()
    late.append(1)
    noise.add_to(torch.zeros(16, dtype=torch.float64))
    with pytest.raises(WorkbenchError, match="does not make the noise"):
        noise.require_made()
    with pytest.raises(WorkbenchError, match="does not make the noise"):
        noise.add_to(torch.zeros(64, dtype=torch.float64))


def test_every_new_key_is_compared_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the numbers that are listed, so that only the comparison of whole fills can see it."""
    monkeypatch.setattr(device_noise, "_BLOCKS_OF_A_KEY", 24)
    late: list[int] = []
    noise = DeviceNoise(1.0, "cpu", at_once=32, repeat=broken("leaves out half", lambda: bool(late)))
    noise.add_to(torch.zeros(4 * 32, dtype=torch.float64))
    late.append(1)
    with pytest.raises(WorkbenchError, match="does not make the noise"):
        noise.add_to(torch.zeros(32, dtype=torch.float64))


@pytest.mark.parametrize("numbers", [0.5, math.nan])
def test_a_device_that_makes_other_noise_in_order_is_refused(numbers: float, monkeypatch: pytest.MonkeyPatch) -> None:
    right = DeviceNoise._make

    def wrong(self: DeviceNoise) -> None:
        right(self)
        self._numbers[-1] *= numbers

    monkeypatch.setattr(DeviceNoise, "_make", wrong)
    with pytest.raises(WorkbenchError, match=r"does not make the noise that it should \(cpu\)"):
        DeviceNoise(1.0, "cpu", at_once=16)


def test_the_list_of_fills_is_compared_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_noise, "_FILLS_LISTED", 3)
    late: list[int] = []
    noise = DeviceNoise(1.0, "cpu", at_once=16, repeat=broken("does nothing", lambda: bool(late)))
    noise.add_to(torch.zeros(7 * 16, dtype=torch.float64))
    late.append(1)
    noise.add_to(torch.zeros(2 * 16, dtype=torch.float64))
    with pytest.raises(WorkbenchError, match="does not make the noise"):
        noise.add_to(torch.zeros(16, dtype=torch.float64))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_impossible_scales_are_refused(scale: float) -> None:
    with pytest.raises(ParameterError, match="scale"):
        DeviceNoise(scale, "cpu", at_once=16)


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ParameterError, match="multiple of 16"):
        DeviceNoise(1.0, "cpu", at_once=24)
    with pytest.raises(ParameterError, match="blocks at once"):
        KeyStream("cpu", 0)
