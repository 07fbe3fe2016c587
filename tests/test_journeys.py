"""What strangers do first, as scripts that run from an empty folder: with the fake ncu where a GPU is needed.

``bash -e tests/journeys/NAME.sh`` in an empty folder, with ``ncu-assist`` on PATH, is the same journey with a wheel. On
a machine with a GPU, WITH_GPU=1 takes it to the end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.fake_ncu import install

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "tests" / "data" / "transpose_full_h200_2025.3.1.ncu-rep.zst"
JOURNEYS = sorted(path.name for path in (ROOT / "tests" / "journeys").glob("*.sh"))
NEEDS_NVCC = ("own_cu.sh", "two_cu.sh")
MADE = {  # what lies in the folder afterwards
    "own_cu.sh": ["reports/vector_add/v1", "reports/vector_add/v2"],
    "own_python.sh": ["reports/train/v1", "reports/step/v1"],
    "two_cu.sh": ["kernels/scale/kernel.toml"],
    "report.sh": ["page.html", "lines.csv", "reports/theirs/v1"],
    "demo.sh": ["ncu-assist-demo/prompt.md", "ncu-assist-demo/reports/softmax/index.html"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_from_an_empty_folder(name: str, tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if name in NEEDS_NVCC and nvcc is None:
        pytest.skip("there is no nvcc")
    tools, folder = tmp_path / "bin", tmp_path / "empty"
    folder.mkdir()
    install(tools)
    ours = tools / "ncu-assist"
    ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ncu_assist "$@"\n')
    ours.chmod(0o755)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "REPORT": str(REPORT)}
    script = ROOT / "tests" / "journeys" / name
    done = subprocess.run(["bash", "-e", str(script)], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert [one for one in MADE[name] if not (folder / one).exists()] == []
