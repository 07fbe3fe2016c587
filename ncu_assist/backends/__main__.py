"""The building process: ``python -m ncu_assist.backends REQUEST.json`` builds versions and leaves the outcomes."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from ncu_assist.backends import build_versions
from ncu_assist.backends.building import OUTCOMES, PROBLEM, BuildProblem, BuildRequest, encode
from ncu_assist.errors import NcuAssistError
from ncu_assist.spec_file import read_kernel


def main(path: Path) -> int:
    """Build what the request names and return 0, or the exit code of what kept it from being built."""
    request = msgspec.json.decode(path.read_bytes(), type=BuildRequest)
    kernel, out = read_kernel(Path(request.kernel_folder)), Path(request.out)
    try:
        outcomes = build_versions(kernel, [kernel.version(name) for name in request.versions], Path(request.work))
    except NcuAssistError as error:
        (out / PROBLEM).write_bytes(msgspec.json.encode(BuildProblem(error.message, error.hint, error.exit_code)))
        return error.exit_code
    (out / OUTCOMES).write_bytes(encode(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
