"""``ncu-assist worker``: lend the GPUs of this machine to a cluster."""

from __future__ import annotations

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import progress


@click.command("worker")
@click.argument("scheduler", metavar="tcp://HOST:PORT|tls://HOST:PORT|FILE")
@click.option("--gpus", default="all", show_default=True, metavar="all|N|0,1", help="GPUs to lend.")
@options.allow_open
def command(scheduler: str, gpus: str, allow_open: bool) -> int:
    """Run one worker per GPU at a Dask scheduler, for commands with --cluster, until Ctrl-C.

    The scheduler is given by its address or its scheduler FILE. A worker builds, checks, times and profiles what it is
    sent, in its own folder, which is removed at the end. If the scheduler is lost, the worker waits for it to come
    back.
    """
    from ncu_assist.pipeline.cluster import serve

    with progress() as reporter:
        serve(scheduler, gpus, allow_open, reporter)
    return 0
