"""The client, by published vectors and exact bits; and what RAPPOR costs."""

import hashlib
import hmac
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_client import PublishedClient, bloom, hmac_drbg, masks
from scipy.stats import binom

from workbench.params import ParameterError
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.privacy.rappor.bits import (
    BasicBits,
    BloomBits,
    biased,
    cohorts,
    filters,
    instant_answers,
    permanent_answers,
    unpacked,
)
from workbench.privacy.rappor.parameters import ONE, RapporParameters, cost, permanent_epsilon, single_epsilon


@pytest.fixture(scope="module")
def vectors(shared_data):
    found = json.loads((shared_data / "rappor" / "golden_vectors.json").read_text("utf-8"))
    return {vector["id"]: vector for vector in found["vectors"]}


def test_the_published_python_client(vectors):
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


def test_the_published_hashes(vectors):
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


def test_the_filter_is_the_published_one():
    parameters = RapporParameters(k=128, h=2, m=16)
    values = ["abc", "Grüße", "x" * 500]
    codes, where = np.repeat(np.arange(3), 16), np.tile(np.arange(16), 3)
    made, place = filters(BloomBits(parameters), values, codes, where)
    for code, cohort, row in zip(codes.tolist(), where.tolist(), unpacked(made[place], 128), strict=True):
        filled = bloom(values[code].encode(), cohort, parameters)
        assert filled == sum(int(bit) << j for j, bit in enumerate(row))


def test_an_empty_value_sets_no_bit():
    parameters = RapporParameters(k=16, h=2, m=4)
    made, place = filters(BloomBits(parameters), ["a"], np.array([0, -1, 0, -1]), np.array([1, 1, 2, 0]))
    assert unpacked(made[place], 16).sum(axis=1).tolist()[1::2] == [0, 0]
    assert unpacked(made[place], 16).sum(axis=1).min() == 0
    assert unpacked(made[place], 16)[[0, 2]].sum() > 0


def test_basic_bits_are_one_for_each_value():
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
def test_each_bit_is_a_comparison_of_64_digits(one, zero):
    # Digit d of number i is bit i of the d-th word: the numbers are compared with their thresholds one by one.
    random = np.random.default_rng(5)
    numbers = [int(n) for n in random.integers(0, 2**64, 60, dtype=np.uint64)]
    numbers += [one % ONE, max(one - 1, 0), zero % ONE, max(zero - 1, 0)]
    words = [sum((number >> digit & 1) << i for i, number in enumerate(numbers)) for digit in range(63, -1, -1)]
    bits = random.integers(0, 2, 64).astype(bool)
    drawn = unpacked(biased(np.packbits(bits[None, :], axis=1, bitorder="little"), one, zero, Fixed(words)), 64)[0]
    assert drawn.tolist() == [
        int(number < (one if bit else zero)) for number, bit in zip(numbers, bits.tolist(), strict=True)
    ]


@pytest.mark.parametrize("k", [1, 7, 8, 9, 64, 100, 128])
@pytest.mark.parametrize("entropy", [OsEntropy(), SeededEntropy(1)], ids=["released", "seeded"])
def test_bits_have_their_probabilities(k, entropy):
    parameters = RapporParameters(k=k, h=1, m=1, p=0.3, q=0.8, f=0.4)
    n = 400_000 // k
    bits = np.zeros((n, k), dtype=bool)
    bits[::2] = True
    permanent = permanent_answers(np.packbits(bits, axis=1, bitorder="little"), parameters, entropy)
    reports = unpacked(instant_answers(permanent, parameters, entropy), k)
    for rows, chance in ((reports[::2], parameters.q_star), (reports[1::2], parameters.p_star)):
        low, high = binom.ppf([1e-8, 1 - 1e-8], rows.size, chance)
        assert low <= rows.sum() <= high
    if k % 8:
        assert (permanent[:, -1] >> (k % 8) == 0).all()


def test_cohorts_are_uniform():
    for m in (1, 3, 16, 4096):
        where = cohorts(200_000, RapporParameters(m=m), OsEntropy())
        counts = np.bincount(where, minlength=m)
        low, high = binom.ppf([1e-8 / m, 1 - 1e-8 / m], 200_000, 1 / m)
        assert low <= counts.min()
        assert counts.max() <= high


# -- What RAPPOR costs: the published figures, and brute force over every report of tiny collections ------------------


chances = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9, 1.0])
noisy = st.sampled_from([0.05, 0.25, 0.5, 0.75, 0.9])


def test_the_golden_values(golden_entries):
    seen = 0
    for entry in golden_entries:
        of, inputs = entry["name"], dict(entry["inputs"])
        if not of.startswith("rappor_") or of == "rappor_decode_t":
            continue
        parameters = RapporParameters(**{"k": 8, **inputs})
        found = {
            "rappor_q_star": parameters.q_star,
            "rappor_p_star": parameters.p_star,
            "rappor_eps1": single_epsilon(parameters),
            "rappor_eps_inf": permanent_epsilon(parameters),
        }[of]
        assert found == pytest.approx(entry["value"], abs=1e-11)
        seen += 1
    assert seen == 11


def test_the_figures_of_the_issue():
    parameters = RapporParameters(f=0.5, p=0.5, q=0.75, h=2)
    assert (parameters.q_star, parameters.p_star) == (0.6875, 0.5625)
    one = cost(parameters)
    assert one.one == pytest.approx(1.0742858642, abs=5e-11)
    assert one.permanent == pytest.approx(4.3944491547, abs=5e-11)
    assert cost(parameters, 3).charged == pytest.approx(3 * one.one)
    assert cost(parameters, 50).charged == one.permanent
    assert cost(parameters).decimal() == Decimal("1.074286")


@given(f=noisy, p=chances, q=chances, reports=st.integers(1, 4))
def test_the_exact_cost_is_that_of_every_sequence_of_reports(f, p, q, reports):
    if p == q:
        return
    # Two values with one bit each of their own: reports of two bits.
    parameters = RapporParameters(k=2, h=1, m=1, f=f, p=p, q=q)

    def chance(bit: int, seen: tuple[int, ...]) -> float:
        total = 0.0
        for kept, weight in ((bit, 1 - f / 2), (1 - bit, f / 2)):
            one = q if kept else p
            total += weight * math.prod(one if s else 1 - one for s in seen)
        return total

    worst = 0.0
    for first, second in itertools.product(itertools.product((0, 1), repeat=reports), repeat=2):
        own, other = chance(1, first) * chance(0, second), chance(0, first) * chance(1, second)
        if own > 0:
            worst = max(worst, math.inf if other == 0 else math.log(own / other))
    found = cost(parameters, reports)
    assert found.exact == pytest.approx(worst, rel=1e-9)
    assert worst <= found.exact * (1 + 1e-9)
    assert found.exact <= found.charged


def test_no_coin_toss_bounds_nothing_in_the_long_run():
    once = cost(RapporParameters(f=0, p=0.5, q=0.75), 1)
    assert math.isinf(once.permanent)
    assert once.charged == pytest.approx(2 * math.log(3))
    assert cost(RapporParameters(f=0, p=0.5, q=0.75), 10).charged == pytest.approx(20 * math.log(3))


@pytest.mark.parametrize(("p", "q"), [(0.0, 1.0), (0.5, 1.0), (0.0, 0.75)])
def test_an_infinite_cost_is_never_charged(p, q):
    endless = cost(RapporParameters(f=0, p=p, q=q), 1)
    assert math.isinf(endless.charged)
    with pytest.raises(ParameterError, match="infinite epsilon"):
        endless.decimal()


@given(f=noisy, p=chances, q=chances)
def test_the_integers_never_tell_more_than_the_parameters(f, p, q):
    if p == q:
        return
    parameters = RapporParameters(f=f, p=p, q=q)
    one, zero = parameters.permanent_integers()
    assert one + zero == ONE
    assert zero / ONE >= f / 2 * (1 - 1e-15)
    high, low = parameters.instant_integers()
    assert abs(high - low) <= abs(Fraction(q) - Fraction(p)) * ONE + 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"p": 0.5, "q": 0.5}, "a report would contain no information"),
        ({"f": 1.0}, "a coin toss"),
        ({"h": 3, "k": 2}, "hash functions"),
        ({"p": 1.5}, "p = 1.5"),
        ({"k": 0}, "k = 0"),
        ({"f": math.nan}, "f = nan"),
    ],
)
def test_impossible_parameters_are_refused(given, told):
    with pytest.raises(ParameterError, match=told):
        RapporParameters(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("reports", [0, -1, 1_000_001, True])
def test_an_impossible_number_of_reports_is_refused(reports):
    with pytest.raises(ParameterError, match="reports of a client"):
        cost(RapporParameters(), reports)
