"""Record what compute-sanitizer says of the versions of a kernel: the data behind tests/data/sanitizer.

usage: python benchmarks/record_sanitizer.py KERNEL TARGET_FOLDER [AT_ONCE]             (in a project, on a GPU)

Runs every version under every tool, ``AT_ONCE`` at the same time (4 unless given), and writes <version>-<tool>.txt with
the tool's own lines; prints a line each: what was found, and the seconds.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ncu_assist.backends import backend_of, build_versions
from ncu_assist.executors.local import Local
from ncu_assist.harness.request import Artifact, write_request
from ncu_assist.harness.sanitizer import TOOLS, SanitizerRequest, sanitize, sanitized_workloads
from ncu_assist.project import find_project
from ncu_assist.render.words.sanitizer import clean_words, result_words
from ncu_assist.spec_file import load_kernel

LIMIT_S = 120.0


def main(name: str, target: Path, at_once: int = 4) -> int:
    project = find_project(Path.cwd())
    kernel, work = load_kernel(project, name), target.resolve() / "work"
    builds = build_versions(kernel, kernel.versions, project.work)
    jobs = []
    for version in kernel.versions:
        artifact = builds[version.name].artifact
        assert artifact is not None, builds[version.name].log
        names = tuple(one.name for one in sanitized_workloads(kernel, version, kernel.workloads))
        built = Artifact(version.name, backend_of(version.path).name, str(artifact.resolve()))
        request = SanitizerRequest(str(kernel.folder), built, names, 1, str(work / version.name))
        write_request(request)
        jobs += [(request, tool) for tool in TOOLS]

    def run(job: tuple[SanitizerRequest, str]) -> str:
        request, tool = job
        version = request.artifact.version
        alone = Local(folder=work / f"{version}-{tool}")  # a lock of its own: nothing is timed here
        result = sanitize(request, tool, alone, project.root, LIMIT_S)
        own = [line for line in result.log.splitlines(keepends=True) if line.startswith("=========")]
        (target / f"{version}-{tool}.txt").write_text("".join(own), encoding="utf-8")
        (work / f"{version}-{tool}.whole.txt").write_text(result.log, encoding="utf-8")
        return f"{version:28} {result.seconds:5.1f} s  {result_words(result) or clean_words([result])}"

    with ThreadPoolExecutor(at_once) as pool:
        for line in pool.map(run, jobs):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])))
