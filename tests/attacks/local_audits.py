"""Audits of RAPPOR reports, of answers kept on disk, and of reports of the frequency oracles."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import released_ask
from audits import Audit, Fault, ignored
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.privacy.entropy import OsEntropy
from workbench.privacy.local.frequency import OLH, ORACLES, OracleKind
from workbench.privacy.rappor.bits import BloomBits, filters, unpacked
from workbench.privacy.rappor.parameters import RapporParameters, cost
from workbench.rappor import collection
from workbench.rappor.collection import Collection
from workbench.release.rappor.rappor_work import rappor_work
from workbench.signals.cancel import CancelToken

VALUES = ("yes", "never")
Clients = dict[str, Sequence[str | None]]


def table_of(columns: Clients) -> Table:
    return Table(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), "clients.csv")


def reports_of(data: bytes, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Return (client, cohort, bits) of each line of a released file; bit 0 is the last character."""
    lines = pl.read_csv(data, schema_overrides={"rappor": pl.String})
    bits = np.frombuffer("".join(lines["rappor"].to_list()).encode(), np.uint8).reshape(-1, k) - ord("0")
    return lines["client"].to_numpy(), lines["cohort"].to_numpy(), bits[:, ::-1]


def released(parameters: RapporParameters, asked: Collection, columns: Clients, answers: Path | None = None) -> bytes:
    """Return the bytes of the file that the release of these clients writes."""
    table = table_of(columns)
    work = rappor_work(parameters, asked, table.rows, answers=answers)
    return work.run(table, released_ask(work.events), ignored, CancelToken()).whole


def no_coins(patch: pytest.MonkeyPatch) -> None:
    """The permanent answer is the Bloom filter itself."""
    patch.setattr(collection, "permanent_answers", lambda filled, parameters, entropy: filled.copy())


def answers_as_they_are(patch: pytest.MonkeyPatch) -> None:
    """A report is the permanent answer itself."""
    patch.setattr(collection, "instant_answers", lambda answers, parameters, entropy: answers.copy())


NO_COINS = Fault("no permanent coins", plant=no_coins)
NO_INSTANT_COINS = Fault("no coins of the single report", plant=answers_as_they_are)


def client_reports(reports: int, missing: bool) -> Audit:
    """An audit of all reports of one client in one file: of its value, or of another (or of none)."""
    parameters = RapporParameters(k=16, h=2, m=1, p=0.3, q=0.7, f=0.5)
    asked = Collection(column="v", client="c", reports=reports)
    other = None if missing else VALUES[1]
    once = np.zeros(2, dtype=np.int64)
    made, place = filters(BloomBits(parameters), VALUES, np.arange(2), once)
    telling = np.flatnonzero(unpacked(made[place], parameters.k).sum(axis=0) == 1)

    def outputs(gone: bool, samples: int, fault: Fault) -> NDArray[Any]:
        names = [str(i) for i in range(samples) for _ in range(reports)]
        values = [other if gone else VALUES[0]] * len(names)
        client, _, bits = reports_of(released(parameters, asked, {"v": values, "c": names}), parameters.k)
        sums = np.zeros((samples, parameters.k), dtype=np.int64)
        np.add.at(sums, client, bits)
        code = np.zeros(samples, dtype=np.int64)
        for bit in telling:  # how often each bit that tells the values apart was 1, as one number
            code = code * (reports + 1) + sums[:, bit]
        return code

    claim = cost(parameters, reports)
    row = "a client's value is missing" if missing else "a client has a different value"
    name = f"rappor: {reports} report{'s' * (reports > 1)} of a client"
    fault, least = (NO_INSTANT_COINS, 0.5) if missing else (NO_COINS, 1.0)
    return Audit(name, row, claim.charged, 60_000, outputs, (fault,), 0.0, least)


def coins_anew(patch: pytest.MonkeyPatch) -> None:
    """Nothing is recalled: the permanent coins are tossed anew in each release."""
    patch.setattr(collection, "_recalled", lambda clients, memory, keys, where: {})


RELEASES = 8


def kept_answers() -> Audit:
    """An audit of clients that come back in each of many releases: their cohorts, which are public, link the files."""
    parameters = RapporParameters(k=32, h=1, m=4096, p=0.2, q=0.8, f=0.5)
    asked = Collection(column="v", client="c", cohort="h")
    cohorts = [str(i) for i in range(parameters.m)]
    where = np.arange(parameters.m)
    own, other = (
        unpacked(made[place], parameters.k)
        for made, place in (
            filters(BloomBits(parameters), [value], np.zeros(parameters.m, dtype=np.int64), where) for value in VALUES
        )
    )
    kept_separate = (own != other).any(axis=1)

    def outputs(gone: bool, samples: int, fault: Fault) -> NDArray[Any]:
        found = []
        for _ in range(0, samples, int(kept_separate.sum())):
            with tempfile.TemporaryDirectory() as folder:
                columns = {"v": [VALUES[gone]] * len(cohorts), "c": cohorts, "h": cohorts}
                sums = np.zeros((parameters.m, parameters.k), dtype=np.int64)
                for _ in range(RELEASES):
                    _, cohort, bits = reports_of(
                        released(parameters, asked, columns, Path(folder) / "answers"), parameters.k
                    )
                    np.add.at(sums, cohort, bits)
                found.append(np.stack([(sums * own).sum(axis=1), (sums * other).sum(axis=1)], axis=1)[kept_separate])
        return np.concatenate(found)[:samples]

    claim = cost(parameters).permanent
    name = f"rappor: a client in {RELEASES} releases, answers kept"
    faults = (Fault("permanent coins tossed anew", plant=coins_anew), NO_COINS)
    return Audit(name, "a client has a different value (claim ε∞)", claim, 8_000, outputs, faults, 0.0, 0.5)


def oracle(kind: OracleKind) -> Audit:
    """An audit of single reports of a frequency oracle: which of two values they support."""

    def outputs(gone: bool, samples: int, fault: Fault) -> NDArray[Any]:
        made: Any = kind.build(4, fault.times)
        reports = made.encode(np.full(samples, int(gone)), OsEntropy())
        if kind is OLH:
            cells = [made.hashed(reports[:, :2], np.full(samples, v)) == reports[:, 2] for v in (0, 1)]
        else:
            cells = [reports[:, 0], reports[:, 1]]
        return 2 * cells[0].astype(np.int64) + cells[1]

    claim = kind.build(4, 1.0).exact_epsilon
    faults = (Fault("drawn at 1.25·ε", times=1.25),)
    return Audit(f"{kind.name}: a report", "a client has a different value", claim, 60_000, outputs, faults, 0.0, 0.8)


LOCAL = (
    client_reports(1, missing=False),
    client_reports(1, missing=True),
    client_reports(5, missing=False),
    kept_answers(),
    *(oracle(kind) for kind in ORACLES),
)
