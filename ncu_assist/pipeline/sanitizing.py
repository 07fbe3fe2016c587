"""The stage that runs versions under compute-sanitizer: a process a version and tool, what each says kept in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ncu_assist.executors.base import Executor
from ncu_assist.harness.client import child_folder
from ncu_assist.harness.request import HarnessRequest
from ncu_assist.harness.sanitizer import (
    Sanitized,
    SanitizerRequest,
    find_sanitizer,
    sanitize,
    write_sanitizer_request,
)
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.render.words.sanitizer import clean_words, result_words
from ncu_assist.spec import Workload

LIMIT_S = 240.0  # of a version and tool: it takes 5 to 12 s where the workloads are small
FOLDER = "sanitizer"


def sanitize_versions(
    request: HarnessRequest,
    tools: Sequence[str],
    workloads: Mapping[str, Sequence[Workload]],
    executor: Executor,
    reporter: Reporter,
) -> dict[str, tuple[Sanitized, ...]]:
    """Return what each tool found in each built version on its ``workloads``; versions without any are left out.

    The tool's own words go to files below the request's folder. Raises EnvironmentProblem where there is no
    compute-sanitizer, or no GPU for it.
    """
    program, found = find_sanitizer(), dict[str, tuple[Sanitized, ...]]()
    for artifact in (one for one in request.artifacts if workloads.get(one.version)):
        names = tuple(one.name for one in workloads[artifact.version])
        folder = Path(request.out) / FOLDER / artifact.version
        asked = SanitizerRequest(
            request.kernel_folder, artifact, names, request.seeds[0], str(folder), request.settings.device
        )
        write_sanitizer_request(asked)
        results = []
        for tool in tools:
            reporter.status(f"{tool}: {artifact.version} {', '.join(names)}")
            result = sanitize(asked, tool, executor, child_folder(request), LIMIT_S, program)
            log = folder / f"{tool}.txt"
            log.write_text(result.log, encoding="utf-8")
            if said := result_words(result):
                reporter.note(f"{artifact.version}: {said}; its words: {os.path.relpath(log)}")
            results.append(result)
        found[artifact.version] = tuple(results)
        if clean := clean_words(results):
            reporter.note(f"{artifact.version}: {clean}")
    return found
