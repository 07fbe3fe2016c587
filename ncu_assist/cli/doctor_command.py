"""``ncu-assist doctor``: what this machine has and lacks for measuring."""

from __future__ import annotations

from dataclasses import replace

import click

from ncu_assist.cli import options
from ncu_assist.cli.console import progress, write_result
from ncu_assist.environment import Examination
from ncu_assist.errors import EnvironmentProblem, for_this_python


@click.command("doctor")
@click.option("--strict", is_flag=True, help="Exit with code 6 also if something optional is missing.")
@options.as_json
def command(strict: bool, as_json: bool) -> int:
    """Check what this machine has and lacks for measuring, with a fix for each problem.

    Profiles one kernel to prove that the counters can be read. Exit code 6 if measuring is impossible. Recorded and
    imported runs can be read on any machine.
    """
    from ncu_assist.pipeline.doctor import examine
    from ncu_assist.render.json.machine import doctor_json
    from ncu_assist.render.terminal.machine import doctor_text
    from ncu_assist.suggest.model.endpoint import endpoint_condition

    with progress() as reporter:
        reporter.status("checking driver, GPU, ncu, compiler and counters")
        found = examine({"model": endpoint_condition}).conditions
    examination = Examination(tuple(replace(one, fix=for_this_python(one.fix)) for one in found))
    write_result(examination, as_json, doctor_json, doctor_text)
    is_fine = examination.is_complete if strict else examination.can_measure
    return 0 if is_fine else EnvironmentProblem.exit_code
