"""The child process that builds one torch extension: ``python -m … SOURCE FOLDER``; its output is the build log."""

from __future__ import annotations

import sys
from pathlib import Path

CUDA_FLAGS = ("-O3", "-lineinfo", "-Xptxas", "-v")


def build(source: Path, folder: Path) -> None:
    """Build ``source`` into ``folder/<name of folder>.so``; raises what cpp_extension raises."""
    from torch.utils import cpp_extension

    cpp_extension.load(
        name=folder.name,
        sources=[str(source)],
        build_directory=str(folder),
        extra_cflags=["-O3"],
        extra_cuda_cflags=[*CUDA_FLAGS],
        verbose=True,
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
