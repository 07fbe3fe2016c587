"""What strangers do first, as scripts that run from an empty folder with the wheel alone; a fake ncu for the GPU.

``bash -e tests/journeys/NAME.sh`` in an empty folder, with ``ncu-assist`` on PATH, is the same journey by hand. On a
machine with a GPU, WITH_GPU=1 takes it to the end.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from fakes.fake_ncu import install
from traced import chrome_trace, fake_torch

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "tests" / "data" / "transpose_full_h200_2025.3.1.ncu-rep.zst"
JOURNEYS = sorted(path.name for path in (ROOT / "tests" / "journeys").glob("*.sh"))
NEEDS_NVCC = ("own_cu.sh", "two_cu.sh")
MADE = {  # what lies in the folder afterwards
    "own_cu.sh": ["reports/vector_add/v1", "reports/vector_add/v2"],
    "own_python.sh": ["reports/train/v1", "reports/step/v1"],
    "triage.sh": [
        "triage.html",
        "triage.json",
        "reports/train_vectorized_elementwise_kernel_512x1x1/v1",
    ],
    "two_cu.sh": ["kernels/scale/kernel.toml"],
    "report.sh": ["page.html", "lines.csv", "reports/theirs/v1"],
    "demo.sh": ["ncu-assist-demo/prompt.md", "ncu-assist-demo/reports/softmax/index.html"],
}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel: what it depends on is looked up in ours, where an editable install is not seen."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    made = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(made, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv


@pytest.mark.slow
def test_the_environment_has_the_wheel_and_no_checkout(installed: Path, tmp_path: Path) -> None:
    code = "import ncu_assist, click; print(ncu_assist.__file__)"
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [installed / "bin" / "python", "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout.startswith(str(installed)), done.stderr
    (package,) = installed.glob("lib/python*/site-packages/ncu_assist")
    forms = {path.name for path in package.glob("demo/kernels/lightning_decode/*")}
    assert forms > {"kernel.toml", "reference.py"}, "for new --like"
    assert ".SS triage" in (installed / "share" / "man" / "man1" / "ncu-assist.1").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_from_an_empty_folder(name: str, tmp_path: Path, installed: Path) -> None:
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if name in NEEDS_NVCC and nvcc is None:
        pytest.skip("there is no nvcc")
    tools, folder = tmp_path / "bin", tmp_path / "empty"
    folder.mkdir()
    install(tools)
    path = os.pathsep.join([str(tools), str(installed / "bin"), os.environ["PATH"]])
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env |= {"PATH": path, "CUDA_VISIBLE_DEVICES": "", "REPORT": str(REPORT)}
    if name == "triage.sh":  # its program runs: with a torch that stands in
        env |= fake_torch(tmp_path / "site", chrome_trace())
    script = ROOT / "tests" / "journeys" / name
    done = subprocess.run(["bash", "-e", str(script)], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert [one for one in MADE[name] if not (folder / one).exists()] == []
    if name == "triage.sh":
        assert json.loads((folder / "triage.json").read_text())["launches"] == 6


def test_the_guide_says_what_is_typed() -> None:
    """The table of journeys counts the commands that each script types."""
    guide = (ROOT / "docs" / "guide" / "programs.md").read_text()
    for name in JOURNEYS:
        text = (ROOT / "tests" / "journeys" / name).read_text()
        typed = len(re.findall(r"^(?:    )?ncu-assist ", text, re.MULTILINE))
        row = re.search(rf"^\| `{re.escape(name)}` \|[^|]*\| (\d+) \|", guide, re.MULTILINE)
        assert row, f"{name} has no row"
        assert int(row[1]) == typed, name
