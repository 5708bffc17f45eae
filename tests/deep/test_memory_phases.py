"""Memory by phase follows from shapes, and the largest batch is the largest that fits."""

from dataclasses import replace

import pytest

from workbench.deep.memory import PHASES, Setting, largest_batch, peak, phases, tensors
from workbench.deep.networks import network
from workbench.params import ParameterError

MIB = 2**20


def setting(name: str = "mlp", inputs: int = 8, **changes: object) -> Setting:
    given = {"classes": 2, "batch": 64, **changes}
    return Setting(network(name), inputs, **given)  # type: ignore[arg-type]


def test_the_phases_of_a_small_network_are_its_tensors():
    found = phases(setting("logistic", private=False))
    parameters = 4 * (8 * 2 + 2)
    batch = 64 * (4 * 8 + 8)
    assert found == {
        "model": parameters,
        "batch": parameters + batch,
        "backward": parameters + batch + 4 * 64 * 4 * 2 + parameters,
        "step": parameters + batch,
    }
    private = phases(setting("logistic"))
    assert private["step"] == parameters + batch + parameters + 2 * 2 * parameters, "noise is double precision"
    assert tuple(private) == PHASES


def test_privacy_and_slots_and_rows_cost_memory():
    plain, private = setting(private=False), setting()
    assert peak(plain) < peak(private)
    assert phases(replace(plain, slots=2))["model"] == 3 * phases(plain)["model"]
    assert peak(setting(batch=128)) > peak(setting())
    cnn = setting("mnist-cnn", 784, classes=10)
    assert phases(cnn)["backward"] > 1.5 * phases(replace(cnn, private=False))["backward"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("private", [True, False])
def test_the_largest_batch_is_the_last_that_fits(device, private):
    asked = setting(private=private, batch=1)
    most = largest_batch(asked, 50 * MIB, device)
    assert most > 64
    assert peak(replace(asked, batch=most), device) <= 50 * MIB < peak(replace(asked, batch=most + 1), device)
    assert largest_batch(asked, 1000, device) == 0


def test_a_private_run_on_the_processor_holds_few_rows_whatever_the_batch():
    cnn = setting("mnist-cnn", 784, classes=10, batch=96)
    more = replace(cnn, batch=4096)
    held = [sum(tensors(s)["backward"]) for s in (cnn, more)]
    assert held[0] == held[1]
    assert sum(tensors(more, "cuda")["backward"]) > 10 * held[0]


def test_a_gpu_reserves_segments_and_so_its_curve_has_steps():
    sizes = [phases(setting("logistic", 1000, batch=b, private=False), "cuda") for b in range(100, 3000, 100)]
    batches = [s["batch"] for s in sizes]
    assert all(s % (2 * MIB) == 0 for s in batches)
    assert 23 * MIB > max(batches[:26]) > 10 * batches[0], "from 1 MiB on a tensor takes a segment of 20"
    assert len(set(batches)) < len(batches) / 3, "many batches share a step"
    small, large = phases(setting(batch=2), "cuda"), phases(setting("logistic", 3_000_000, batch=1), "cuda")
    assert small["model"] == 2 * MIB, "one shared segment"
    assert large["model"] == 24 * MIB, "24,000,008 bytes in whole multiples of 2 MiB"
    assert all(a <= b for a, b in zip(large.values(), list(large.values())[1:], strict=False)), "it never gives back"


def test_impossible_sizes_are_refused():
    with pytest.raises(ParameterError, match="not a valid set-up"):
        setting(batch=0)
