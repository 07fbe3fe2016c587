"""GPUs of other machines: a Dask cluster that somebody runs, joined by workers of ours and asked by commands.

Whoever reaches a scheduler without TLS can run programs on all of its workers. So one that others can reach is refused
unless it was asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import platform
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ncu_assist.environment import VISIBLE, query_gpus
from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.pipeline.gpu_workers import (
    START_LIMIT_S,
    GpuSlot,
    GpuWorkers,
    chosen_slots,
    dask_settings,
    need_dask,
    worker_options,
)
from ncu_assist.steps import Reporter

ANSWER_S = 10.0  # until a scheduler says who it is
GONE_S = 600.0  # a scheduler that is lost may be restarted so long before a command gives up
AGAIN_S = 2.0  # between two attempts of a worker to reach one
OPEN = "--allow-open-scheduler"


def address_of(where: str) -> str:
    """Return the address of a scheduler: as it was given, or as the file says that Dask's scheduler wrote.

    Raises EnvironmentProblem for a file that is not there, or not whole yet.
    """
    if "://" in where:
        return where
    try:
        address = json.loads(Path(where).read_text(encoding="utf-8"))["address"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "name an address such as tcp://HOST:8786, or the file of dask scheduler --scheduler-file FILE"
        raise EnvironmentProblem(f"{where} is not a scheduler: {error}", hint) from error
    return str(address)


def _is_open(address: str) -> bool:
    """Tell whether others than those who have an account on the scheduler's machine can give it orders."""
    protocol, _, rest = address.partition("://")
    host = rest.rpartition(":")[0].strip("[]")
    if protocol == "tls" or host == "localhost":
        return False
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return True


def _refuse_open(address: str, is_allowed: bool) -> None:
    if _is_open(address) and not is_allowed:
        said = f"the scheduler at {address} has no TLS: anyone who reaches it can run programs on its workers"
        raise UsageProblem(said, f"use tls:// with certificates (docs/guide/cluster.md), an SSH tunnel, or {OPEN}")


async def _asked(address: str, is_allowed: bool) -> None:
    """Ask a scheduler who it is. Raises EnvironmentProblem where none answers, UsageProblem for one that is open."""
    from distributed import Security
    from distributed.core import rpc

    _refuse_open(address, is_allowed)
    secured = Security().get_connection_args("client") if address.startswith("tls://") else {}
    if secured and secured.get("ssl_context") is None:
        said = f"{address} requires TLS, and Dask has no certificates here"
        raise UsageProblem(said, "set DASK_DISTRIBUTED__COMM__TLS__CA_FILE and the others in docs/guide/cluster.md")
    try:
        async with rpc(address, connection_args=secured, timeout=ANSWER_S) as scheduler:
            identity = await asyncio.wait_for(scheduler.identity(n_workers=0), ANSWER_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise EnvironmentProblem(
            f"no scheduler answers at {address}: {error}", f"dask scheduler at {address}"
        ) from error
    _refuse_open(str(identity["address"]), is_allowed)  # where it listens; the way there may be a tunnel


@contextlib.contextmanager
def cluster_workers(where: str, is_open_allowed: bool, reporter: Reporter) -> Iterator[GpuWorkers]:
    """Hold the connection to a cluster, with at least one worker that has a GPU.

    Raises EnvironmentProblem where scheduler or workers are missing, UsageProblem for one that anybody can give orders.
    """
    need_dask()
    import dask
    from distributed import Client, Security

    address = address_of(where)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set(dask_settings()):
        with ThreadPoolExecutor(1) as apart:  # in a notebook this thread has a loop that runs already
            apart.submit(asyncio.run, _asked(address, is_open_allowed)).result()
        security = Security() if address.startswith("tls://") else None
        with Client(address, security=security, timeout=GONE_S, set_as_default=False) as client:
            place = GpuWorkers(client, is_away=True)
            reporter.status("waiting for a worker with a GPU")
            place.wait(START_LIMIT_S)
            chips = place.chips
            if not chips:
                said = f"the cluster at {address} has no worker with a GPU and this version of ncu-assist"
                raise EnvironmentProblem(said, f"ncu-assist worker {where}")
            for chip, releases in chips.items():
                ncu = ", ".join(sorted({f"ncu {one}" if one else "no ncu" for one in releases}))
                reporter.note(f"{len(releases)} x {chip}, {ncu}")
            try:
                yield place
            finally:
                place.close()


def serve(where: str, gpus: str, is_open_allowed: bool, reporter: Reporter) -> None:
    """Be workers of a cluster, one a GPU, until Ctrl-C; where the scheduler is lost, wait until one is there again.

    Raises UsageProblem, EnvironmentProblem where there are no GPUs.
    """
    need_dask()
    import dask

    slots = chosen_slots(gpus, query_gpus()[1], os.environ.get(VISIBLE))
    if "://" in where:
        _refuse_open(where, is_open_allowed)
    folder = Path(tempfile.mkdtemp(prefix="ncu-assist-worker-"))
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        with dask.config.set(dask_settings()):
            asyncio.run(_serve(where, slots, is_open_allowed, folder, reporter))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _serve(where: str, slots: Sequence[GpuSlot], is_allowed: bool, folder: Path, reporter: Reporter) -> None:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        missed = ""
        while True:
            try:
                address = address_of(where)
                await _asked(address, is_allowed)
            except EnvironmentProblem as problem:
                if problem.message != missed:
                    reporter.note(f"{problem.message}; trying again")
                missed = problem.message
            else:
                missed = ""
                await _work(address, slots, folder, reporter)
                reporter.note(f"the scheduler at {address} is gone; waiting for it")
            await asyncio.sleep(AGAIN_S)


async def _work(address: str, slots: Sequence[GpuSlot], folder: Path, reporter: Reporter) -> None:
    """Work for a scheduler until it is gone."""
    from distributed import Nanny

    host, nannies = platform.node(), list[Any]()
    try:
        for slot in slots:
            nannies.append(Nanny(address, **{**worker_options(slot, folder), "name": f"{host} {slot.name}"}))
        await asyncio.gather(*nannies)
        for nanny, slot in zip(nannies, slots, strict=True):
            reporter.note(f"{slot.name} ({slot.chip}) serves {nanny.scheduler_addr}")
        await asyncio.gather(*(nanny.finished() for nanny in nannies))
    except (OSError, TimeoutError) as error:
        reporter.note(f"the scheduler at {address} refuses this worker: {error}")
    finally:
        await asyncio.gather(*(nanny.close() for nanny in nannies), return_exceptions=True)
