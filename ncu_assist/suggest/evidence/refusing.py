"""Which runs no prompt can be made of, and why: no kernel folder, no source, no counters, a wrong result."""

from __future__ import annotations

from pathlib import PurePath

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.harness.exam.workloads import refuse_host_inputs
from ncu_assist.pipeline.bare_report import BareReport
from ncu_assist.project import Project
from ncu_assist.render.escape import one_line
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import StoredRun
from ncu_assist.store.naming import short_name

NOT_CODE = ("kernel.toml", "reference.py")


def kernel_of(project: Project, stored: StoredRun) -> Kernel:
    """Return the kernel folder that a run is of.

    Raises UsageProblem for a run of a program that has none, or of a kernel whose drafts cannot be examined.
    """
    run = stored.run
    foreign = isinstance(stored, BareReport) or run.source_sha256 is None
    if foreign or run.kernel not in kernel_names(project):
        what = "is a report of another program" if foreign else f"has no folder kernels/{one_line(run.kernel)}"
        message = f"{one_line(stored.reference)} {what}: a draft needs a kernel folder that says what is to be computed"
        raise UsageProblem(message, "ncu-assist list")
    kernel = load_kernel(project, run.kernel)
    if run.version not in [one.name for one in kernel.versions]:
        raise UsageProblem(f"kernels/{run.kernel} has no {run.version} any more", f"ncu-assist suggest {run.kernel}")
    refuse_host_inputs(kernel)
    return kernel


def chosen_workload(stored: StoredRun, kernel: Kernel, wanted: str | None) -> str:
    """Return the workload wanted, else the default one, else the first that has counters.

    Raises UsageProblem for a workload that does not exist, that has no counters, or on which the check failed.
    """
    run, names = stored.run, [one.name for one in kernel.workloads]
    if wanted is not None and wanted not in names:
        raise UsageProblem(f"{kernel.name} has no workload '{wanted}'; {did_you_mean(wanted, names)}")
    counted = {launch.workload for launch in run.launches}
    order = [wanted] if wanted else [kernel.default_workload.name, *names]
    found = next((name for name in order if name in counted), None)
    command = f"ncu-assist profile {kernel.name} {short_name(run.version)}"
    if found is None:
        on = f" on {wanted}" if wanted else ""
        lacks = "launches no kernel and so has" if run.launched_nothing else "has"
        message = f"{stored.reference} {lacks} no counters{on}: without them a prompt would be a guess"
        raise UsageProblem(message, f"{command} --workload {wanted}" if wanted else command)
    failed = next((one for one in run.checks if not one.passed), None)
    if failed is not None:
        message = f"{stored.reference} gives wrong results on {failed.workload}: {one_line(failed.reason)}"
        raise UsageProblem(f"{message}; a draft starts from a version that is right", f"ncu-assist check {kernel.name}")
    return found


def sources_of(stored: StoredRun) -> dict[str, str]:
    """Return the code of a version by file name, its own first; raises UsageProblem for a run that keeps none."""
    found = {name: text for name, text in stored.source_texts().items() if name not in NOT_CODE}
    own = next(iter(found), "")
    if PurePath(own).stem != stored.run.version:
        raise UsageProblem(f"{stored.reference} keeps no source", f"ncu-assist profile {stored.run.kernel}")
    return found
