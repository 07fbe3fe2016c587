"""The child process: ``python -m ncu_assist.harness.ceilings REQUEST.json``; progress on stdout, results in files."""

from __future__ import annotations

import sys
from pathlib import Path

from ncu_assist.harness import accelerator, ceilings, events, results
from ncu_assist.harness.events import CONTEXT_LOST, Event, exit_code_of
from ncu_assist.harness.request import read_request

STAGE = "ceilings"


def main(path: Path) -> int:
    """Measure what the request asks for and return the exit code: 0, or the one of the error that was reported."""
    return exit_code_of(lambda: _run(read_request(path, ceilings.CeilingsRequest)))


def _run(request: ceilings.CeilingsRequest) -> int:
    accelerator.open_device("cuda")
    from ncu_assist.harness.ceilings.workbench import Workbench
    from ncu_assist.harness.facts import Nvml, device_facts, gpu_uuid, toolchain

    events.emit(Event("ready"))
    out, nvml = Path(request.out), Nvml(gpu_uuid("cuda"))
    before = nvml.temperature_c()
    facts = results.MeasurementFacts(toolchain(request.nvcc), device_facts("cuda", nvml))
    results.write_facts(out, facts)
    bench = Workbench(request)
    for index, probe in enumerate(request.probes, 1):
        events.emit(Event("begin", STAGE, probe.id, index=index, total=len(request.probes)))
        ceilings.append(out, _measured(bench, probe))
        if accelerator.is_dead("cuda"):
            return CONTEXT_LOST
    after = nvml.temperature_c()
    heat = None if before is None or after is None else (before, after)
    results.write_facts(out, results.MeasurementFacts(facts.toolchain, facts.device, heat, nvml.throttle_reasons()))
    return 0


def _measured(bench: object, probe: ceilings.Probe) -> ceilings.ProbeResult:
    from ncu_assist.harness.ceilings.workbench import Workbench

    assert isinstance(bench, Workbench)
    try:
        return bench.measure(probe)
    except Exception as error:
        words = accelerator.describe(error)
        error.__traceback__ = None  # its frames hold tensors
        return ceilings.ProbeResult(probe, problem=words)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
