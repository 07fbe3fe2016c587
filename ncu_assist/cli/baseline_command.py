"""``ncu-assist baseline``: set, show or clear the run that ``@baseline`` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import note_damages, write_result

if TYPE_CHECKING:
    from ncu_assist.analysis.archive import BaselineInForce


@click.group("baseline")
def command() -> None:
    """Set, show or clear the run that @baseline names. `diff` and `gate` compare others with it.

    A baseline is one run, not a version. After `baseline set v6`, @baseline stays that run, with its times and its
    source, even if v6 is edited or measured again. Run `baseline set v6` again to move it. Each kernel has its own
    baseline. Until one is set, it is the current v0. It is stored in reports/KERNEL/baseline.json, next to the runs.
    """


@command.command("set")
@click.argument("reference", shell_complete=completing.references)
@options.kernel_name
@options.as_json
def set_(reference: str, kernel: str | None, as_json: bool) -> int:
    """Make the run that REFERENCE names now the baseline of its kernel.

    REFERENCE is [KERNEL/]VERSION[@RUN], @last or @best. A report file must be imported first.
    """
    from ncu_assist.pipeline.baselines import pin
    from ncu_assist.pipeline.listing import beside

    project = options.current_project()
    found = pin(project, reference, kernel)
    note_damages(beside(project, reference, found.run.run) if found.run else ())
    return _show(found, as_json)


@command.command("show")
@click.argument("kernel", required=False, shell_complete=completing.kernels)
@options.as_json
def show(kernel: str | None, as_json: bool) -> int:
    """Show which run is the baseline of KERNEL, and since when.

    Without KERNEL, shows the baseline of every kernel. Exit code 2 or 7 if a run that was set is gone or damaged.
    """
    from ncu_assist.pipeline.baselines import all_in_force, baseline_of

    if kernel is not None:
        return _show(baseline_of(options.current_project(), kernel), as_json)
    from ncu_assist.render.json.archive import baselines_json
    from ncu_assist.render.terminal.archive import baselines_text
    from ncu_assist.store import Store

    project = options.current_project()
    every = all_in_force(project)
    note_damages(Store(project.reports).unreadable())
    write_result(every, as_json, baselines_json, baselines_text)
    return max((one.exit_code for one in every), default=0)


@command.command("clear")
@click.argument("kernel", shell_complete=completing.kernels)
@options.as_json
def clear(kernel: str, as_json: bool) -> int:
    """Forget the baseline of KERNEL: @baseline is v0 again. No run is deleted."""
    from ncu_assist.pipeline.baselines import unpin

    return _show(unpin(options.current_project(), kernel), as_json)


def _show(baseline: BaselineInForce, as_json: bool) -> int:
    from ncu_assist.render.json.archive import baseline_json
    from ncu_assist.render.terminal.archive import baseline_text

    write_result(baseline, as_json, baseline_json, baseline_text)
    return 0
