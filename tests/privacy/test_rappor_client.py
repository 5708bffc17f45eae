"""The client: published vectors, exact bits, the auditor on one report and on fifty of one client."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from published_client import PublishedClient, bloom, hmac_drbg, masks
from scipy.stats import binom

from workbench.params import ParameterError
from workbench.privacy.audit import epsilon_lower
from workbench.privacy.entropy import Entropy, OsEntropy, SeededEntropy
from workbench.privacy.rappor.bits import (
    BasicBits,
    BloomBits,
    biased,
    cohorts,
    filters,
    instant_answers,
    packed,
    permanent_answers,
    unpacked,
)
from workbench.privacy.rappor.parameters import ONE, RapporParameters, cost

ALPHA = 1e-7
PAIR = ("b", "e")
"""Values that share no bit of a filter of 8: bits 2 and 7, and bits 3 and 0."""


@pytest.fixture(scope="module")
def vectors(shared_data: Path) -> dict[str, Any]:
    found = json.loads((shared_data / "rappor" / "golden_vectors.json").read_text("utf-8"))
    return {vector["id"]: vector for vector in found["vectors"]}


def test_the_published_python_client(vectors: dict[str, Any]) -> None:
    vector = vectors["py_encode"]
    parameters = RapporParameters(**vector["params"])
    cycle = vector["mock_uniform_cycle"]
    p_bits, q_bits = (
        sum((cycle[i % len(cycle)] < chance) << i for i in range(parameters.k))
        for chance in (parameters.p, parameters.q)
    )
    client = PublishedClient(parameters, vector["cohort"], vector["secret"].encode())
    assert client.report(vector["word"].encode(), p_bits, q_bits) == vector["expected_irr"]
    assert client.permanent(b"abc") == client.permanent(b"abc")


def test_the_published_hashes(vectors: dict[str, Any]) -> None:
    assert hashlib.md5(b"test", usedforsecurity=False).hexdigest() == vectors["md5_test"]["expected_hex"]
    for name in ("hmac_key_value", "hmac_key_empty", "hmac_key_nul", "hmac_key_nul_a"):
        message = bytes.fromhex(vectors[name]["message_hex"])
        assert hmac.new(b"key", message, hashlib.sha256).hexdigest() == vectors[name]["expected_hex"]
        coins, used = masks(b"key", message, 0.5, 32)
        digest = bytes.fromhex(vectors[name]["expected_hex"])
        assert coins == sum((byte & 1) << i for i, byte in enumerate(digest))
        assert used == sum((byte >> 1 < 64) << i for i, byte in enumerate(digest))
    text = vectors["hmac_drbg_text"]
    seed = (text["key"] + text["value"]).encode()
    assert hmac_drbg(seed, text["output_bytes"]).hex() == text["expected_hex"]
    nist = vectors["hmac_drbg_nist"]
    assert hmac_drbg(bytes.fromhex(nist["provided_data_hex"]), nist["output_bytes"]).hex() == nist["expected_hex"]


def test_the_filter_is_the_published_one() -> None:
    parameters = RapporParameters(k=128, h=2, m=16)
    values = ["abc", "Grüße", "x" * 500]
    codes, where = np.repeat(np.arange(3), 16), np.tile(np.arange(16), 3)
    made, place = filters(BloomBits(parameters), values, codes, where)
    for code, cohort, row in zip(codes.tolist(), where.tolist(), unpacked(made[place], 128), strict=True):
        filled = bloom(values[code].encode(), cohort, parameters)
        assert filled == sum(int(bit) << j for j, bit in enumerate(row))


def test_an_empty_value_sets_no_bit() -> None:
    parameters = RapporParameters(k=16, h=2, m=4)
    made, place = filters(BloomBits(parameters), ["a"], np.array([0, -1, 0, -1]), np.array([1, 1, 2, 0]))
    assert unpacked(made[place], 16).sum(axis=1).tolist()[1::2] == [0, 0]
    assert unpacked(made[place], 16).sum(axis=1).min() == 0
    assert unpacked(made[place], 16)[[0, 2]].sum() > 0


def test_basic_bits_are_one_for_each_value() -> None:
    parameters = RapporParameters(k=5, h=1, m=1)
    values = ["a", "b", "c", "d", "e"]
    made, place = filters(BasicBits(parameters, values), values, np.arange(5), np.zeros(5, dtype=np.int64))
    assert (unpacked(made[place], 5) == np.eye(5)).all()
    with pytest.raises(ParameterError, match="not in the public list"):
        BasicBits(parameters, values).of(["f"], np.zeros(1, dtype=np.int64))
    with pytest.raises(ParameterError, match="6 values need as many bits"):
        BasicBits(parameters, [*values, "f"])
    with pytest.raises(ParameterError, match="h = 1 and m = 1"):
        BasicBits(RapporParameters(k=5, h=2, m=1), values)
    with pytest.raises(ParameterError, match="k = 257"):
        BloomBits(RapporParameters(k=257))


class Fixed:
    """Entropy whose words are given."""

    releasable = False

    def __init__(self, words: list[int]) -> None:
        self._words = words

    def words(self, count: int) -> np.ndarray[Any, Any]:
        taken, self._words = self._words[:count], self._words[count:]
        return np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize("one", [0, 1, ONE // 2, 3 << 61, 0x9234_5678_9ABC_DEF1, ONE - 1, ONE])
@pytest.mark.parametrize("zero", [0, ONE // 4, 0x1234_5678_9ABC_DEF0, ONE])
def test_each_bit_is_a_comparison_of_64_digits(one: int, zero: int) -> None:
    # Digit d of number i is bit i of the d-th word: the numbers are compared with their thresholds one by one.
    random = np.random.default_rng(5)
    numbers = [int(n) for n in random.integers(0, 2**64, 60, dtype=np.uint64)]
    numbers += [one % ONE, max(one - 1, 0), zero % ONE, max(zero - 1, 0)]
    words = [sum((number >> digit & 1) << i for i, number in enumerate(numbers)) for digit in range(63, -1, -1)]
    bits = random.integers(0, 2, 64).astype(bool)
    drawn = unpacked(biased(packed(bits[None, :]), one, zero, Fixed(words)), 64)[0]
    assert drawn.tolist() == [
        int(number < (one if bit else zero)) for number, bit in zip(numbers, bits.tolist(), strict=True)
    ]


@pytest.mark.parametrize("k", [1, 7, 8, 9, 64, 100, 128])
@pytest.mark.parametrize("entropy", [OsEntropy(), SeededEntropy(1)], ids=["released", "seeded"])
def test_bits_have_their_probabilities(k: int, entropy: Entropy) -> None:
    parameters = RapporParameters(k=k, h=1, m=1, p=0.3, q=0.8, f=0.4)
    n = 400_000 // k
    bits = np.zeros((n, k), dtype=bool)
    bits[::2] = True
    permanent = permanent_answers(packed(bits), parameters, entropy)
    reports = unpacked(instant_answers(permanent, parameters, entropy), k)
    for rows, chance in ((reports[::2], parameters.q_star), (reports[1::2], parameters.p_star)):
        low, high = binom.ppf([1e-8, 1 - 1e-8], rows.size, chance)
        assert low <= rows.sum() <= high
    if k % 8:
        assert (permanent[:, -1] >> (k % 8) == 0).all()


def test_cohorts_are_uniform() -> None:
    for m in (1, 3, 16, 4096):
        where = cohorts(200_000, RapporParameters(m=m), OsEntropy())
        counts = np.bincount(where, minlength=m)
        low, high = binom.ppf([1e-8 / m, 1 - 1e-8 / m], 200_000, 1 / m)
        assert low <= counts.min()
        assert counts.max() <= high


def answers(value: str, reports: int, count: int, entropy: Entropy, parameters: RapporParameters) -> Any:
    """Sums of ``reports`` reports of ``count`` clients with one value and one permanent answer each, bit by bit."""
    made, place = filters(
        BloomBits(parameters), [value], np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    )
    kept = permanent_answers(made[place], parameters, entropy)
    total = np.zeros((count, parameters.k), dtype=np.int64)
    for _ in range(reports):
        total += unpacked(instant_answers(kept, parameters, entropy), parameters.k)
    return total


@pytest.mark.parametrize(("reports", "count"), [(1, 100_000), (50, 30_000)])
def test_the_auditor_sees_no_more_than_the_cost(reports: int, count: int) -> None:
    parameters = RapporParameters(k=8, h=2, m=1, p=0.5, q=0.75, f=0.5)
    bound = cost(parameters, reports)
    one, other = PAIR
    bits = BloomBits(parameters)
    sets = [set(bits.of([v], np.zeros(1, dtype=np.int64))[0].tolist()) for v in (one, other)]
    assert len(sets[0]) == len(sets[1]) == 2
    assert not sets[0] & sets[1]
    for entropy in (OsEntropy(), SeededEntropy(7)):
        found = epsilon_lower(
            *(answers(value, reports, count, entropy, parameters) for value in (one, other)), alpha=ALPHA
        )
        assert found.epsilon <= bound.charged <= bound.permanent
        assert not found.refutes(bound.exact)
        # The auditor is not blind: most of the cost is really there.
        assert found.epsilon > 0.6 * bound.exact


def test_a_fresh_permanent_answer_for_each_report_is_caught() -> None:
    # The planted wrong client: it tosses its permanent coins anew for every report, and so tells more than ε∞.
    parameters = RapporParameters(k=8, h=2, m=1, p=0.0, q=1.0, f=0.75)
    entropy = SeededEntropy(3)
    sums = []
    for value in PAIR:
        total = np.zeros((60_000, 8), dtype=np.int64)
        for _ in range(4):
            total += answers(value, 1, 60_000, entropy, parameters)
        sums.append(total)
    assert epsilon_lower(*sums, alpha=ALPHA).refutes(cost(parameters, 4).permanent)
