"""The environment of a program in the sandbox: what it needs by name, and nothing that could be a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ncu_assist.executors.sandbox.plan import HOME

KEPT = frozenset({"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "NCU_ASSIST_ARCH", "MAX_JOBS"})
KEPT_PREFIXES = (
    *("LC_", "CUDA_", "NVIDIA_", "NVCC_", "NCCL_", "TRITON_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_"),
    *("PYTHON", "OMP_", "MKL_"),
)
SECRET = re.compile("KEY|TOKEN|SECRET|PASS(?!ES)|CREDENTIAL|AUTH|COOKIE|PRIVATE", re.IGNORECASE)
CACHES = (  # only of use where they can be written; else each program falls back to HOME
    *("TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_DUMP_DIR", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR"),
    *("CUDA_CACHE_PATH", "TORCH_HOME", "PYTHONPYCACHEPREFIX"),
)
USER = "sandbox"  # the user id inside has no name that getpass could find


def scrubbed(env: Mapping[str, str], writable: tuple[Path, ...], also: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what is kept of an environment, with a home and a temporary folder that exist inside.

    TMPDIR stays where it lies in a writable folder. ``also`` names further variables to keep.
    """
    kept = {name: value for name, value in env.items() if name in also or _is_kept(name)}
    for name in CACHES:
        if name in kept and not _is_below(kept[name], writable):
            del kept[name]
    temporary = env.get("TMPDIR", "")
    own = temporary if _is_below(temporary, writable) else "/tmp"
    return {**kept, "HOME": str(HOME), "TMPDIR": own, "USER": USER, "LOGNAME": USER}


def _is_kept(name: str) -> bool:
    return (name in KEPT or name.startswith(KEPT_PREFIXES)) and not SECRET.search(name)


def _is_below(path: str, folders: tuple[Path, ...]) -> bool:
    return bool(path) and any(Path(path).is_relative_to(folder) for folder in folders)
