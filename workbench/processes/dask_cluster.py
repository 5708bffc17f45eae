"""A connection to a Dask cluster that runs the same versions as this program."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

from workbench.params import WorkbenchError
from workbench.processes.dask_address import ClusterLostError
from workbench.processes.dask_worker import Versions, different, versions

CONNECT = 5.0  # seconds in which the scheduler has to answer

ANSWER = 30.0
"""Seconds in which its workers have to: they answer late while they compute for others, or take over for a dead one."""

TLS = "distributed.comm.tls"  # where Dask's configuration names certificates


LEAVE = 0.5  # seconds to take leave of the scheduler; it also notices when the connection is gone


@contextlib.asynccontextmanager
async def connected(address: str) -> AsyncIterator[Any]:
    """Give a client of the scheduler at ``address``, for the running event loop; it is closed at the end.

    What the client asked for and is still on the cluster (results, scattered data) is released there as it leaves.

    Raises:
        WorkbenchError: no scheduler answers, or Dask's own configuration refuses the address.
    """
    from distributed import Client
    from distributed.versions import VersionMismatchWarning

    # The versions that matter are compared below, and said in one sentence.
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)
    client = None
    try:
        try:
            client = Client(address, asynchronous=True, timeout=CONNECT, set_as_default=False, name="workbench")
        except Exception:  # noqa: BLE001 - certificates that are not there, or no certificates
            raise WorkbenchError("Dask's own configuration cannot be used", address, f"see {TLS} in it") from None
        try:
            await asyncio.wait_for(_started(client), CONNECT + 1)
        except TypeError:
            raise WorkbenchError(
                "no certificates are configured for tls://", address, f"name them in Dask's own configuration: {TLS}"
            ) from None
        except RuntimeError:
            raise WorkbenchError("Dask's own configuration requires encryption", address, "use tls://") from None
        except Exception:  # noqa: BLE001 - whatever answers there may answer anything
            raise ClusterLostError(
                "no Dask scheduler answers", address, "check the address, and that the scheduler is running"
            ) from None
        yield client
    finally:
        if client is not None:
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await asyncio.wait_for(client.close(), LEAVE)


async def _started(client: Any) -> None:
    await client


async def workers_of(client: Any, address: str) -> tuple[str, ...]:
    """Return the addresses of the workers, all of which have the versions of this program.

    Raises:
        WorkbenchError: there is no worker, or the scheduler or a worker has other versions.
    """
    here = versions()
    try:
        of_scheduler = await asyncio.wait_for(client.run_on_scheduler(versions), CONNECT)
    except OSError:
        raise ClusterLostError("the scheduler does not answer", address, "check if it is busy or stopped") from None
    except Exception as error:  # noqa: BLE001 - it has no workbench, or refuses to run a function
        of_scheduler = error
    _compare(f"the scheduler {address}", of_scheduler, here)
    try:
        found = await asyncio.wait_for(client.run(versions, on_error="return"), ANSWER)
    except OSError:
        raise ClusterLostError("the workers do not answer", address, "check if they are busy or stopped") from None
    # A worker that ended while it was asked has no version; Dask goes on with the others.
    found = {worker: stated for worker, stated in found.items() if not isinstance(stated, OSError)}
    if not found:
        raise ClusterLostError("the scheduler has no worker", address, f"start one: dask worker {address} --nthreads 1")
    for worker, stated in found.items():
        _compare(f"the worker {worker}", stated, here)
    return tuple(found)


def _compare(place: str, stated: Versions | BaseException, here: Versions) -> None:
    if isinstance(stated, BaseException):
        raise WorkbenchError(
            f"{place} does not run this version of the workbench ({here['workbench']})",
            hint="install the same versions there",
        )
    other = different(place, stated, here)
    if other is not None:
        raise other


@contextlib.contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep what this thread logs from every handler: Dask logs exceptions whole, with the values in their texts."""
    own = threading.get_ident()

    def from_another_thread(record: logging.LogRecord) -> bool:
        return record.thread != own

    loggers = [
        logging.getLogger(),
        *(v for v in logging.Logger.manager.loggerDict.values() if isinstance(v, logging.Logger)),
    ]
    handlers = {handler for logger in loggers for handler in logger.handlers}
    if logging.lastResort is not None:
        handlers.add(logging.lastResort)
    for handler in handlers:
        handler.addFilter(from_another_thread)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(from_another_thread)
