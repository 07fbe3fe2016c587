"""The child under compute-sanitizer: ``python -m ncu_assist.harness.sanitized REQUEST.json``.

It makes the inputs on the host, so that no kernel but the version's own runs, and calls it once a workload, with
outputs that nobody has filled.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from ncu_assist.errors import StageFailed
from ncu_assist.harness import accelerator, events
from ncu_assist.harness.events import CONTEXT_LOST, Event, exit_code_of
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.harness.request import read_request
from ncu_assist.harness.sanitizer import STAGE, SanitizerRequest
from ncu_assist.spec import Workload
from ncu_assist.spec_file import read_kernel

POLL_S = 0.01
SET_S = 60.0  # the examiner imports torch, as this process did, and makes the inputs


def main(path: Path) -> int:
    """Call the version on each workload and return the exit code."""
    return exit_code_of(lambda: _run(read_request(path, SanitizerRequest)))


def _run(request: SanitizerRequest) -> int:
    accelerator.open_device(request.device)
    from ncu_assist.backends import BACKENDS
    from ncu_assist.backends.python import add_to_path

    kernel, version = read_kernel(Path(request.kernel_folder)), request.artifact.version
    add_to_path(kernel.folder)
    made = _inputs(request)
    call = BACKENDS[request.artifact.backend].load(Path(request.artifact.path), kernel)
    for workload in (one for one in kernel.workloads if one.name in request.workloads):
        events.emit(Event("begin", STAGE, version, workload.name))
        inputs = made(workload)
        outputs = Problem(kernel, workload, None, request.device).outputs()
        try:
            call(inputs, outputs, workload.integers)
            accelerator.synchronize(request.device)
        except Exception as error:
            events.emit(Event("failed", STAGE, version, workload.name, text=accelerator.describe(error)))
            if accelerator.is_dead(request.device):
                return CONTEXT_LOST
            continue
        events.emit(Event("end", STAGE, version, workload.name))
    return 0


def _inputs(request: SanitizerRequest) -> Callable[[Workload], Tensors]:
    """Return what makes the inputs of a workload: an exam's questions, else reference.py on the host."""
    if request.questions:
        return _of_exam(Path(request.questions), request.device)
    import torch

    from ncu_assist.backends.python import import_file

    kernel = read_kernel(Path(request.kernel_folder))
    module = import_file(kernel.reference)

    def of_reference(workload: Workload) -> Tensors:
        given = Problem(kernel, workload, module, "cpu").inputs(request.seed)
        return tuple(one.to(request.device) if isinstance(one, torch.Tensor) else one for one in given)

    return of_reference


def _of_exam(folder: Path, device: str) -> Callable[[Workload], Tensors]:
    import msgspec

    from ncu_assist.harness.exam import tensor_files
    from ncu_assist.harness.exam.plan import QUESTIONS, ExamQuestion

    deadline = time.monotonic() + SET_S
    while not (folder / QUESTIONS).is_file():
        if time.monotonic() > deadline:
            raise StageFailed("the questions of the exam did not come")
        time.sleep(POLL_S)
    questions = msgspec.json.decode((folder / QUESTIONS).read_bytes(), type=tuple[ExamQuestion, ...])

    def of_question(workload: Workload) -> Tensors:
        first = next((one for one in questions if one.workload == workload.name), None)
        if first is None:
            raise StageFailed(f"the exam asks nothing on {workload.name}")
        return tuple(tensor_files.read_input(given, folder, device) for given in first.inputs)

    return of_question


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
