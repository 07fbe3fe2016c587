"""How few SMs fill the link: a project with a version a grid of v6's code, and a number of SMs and slots of v10's.

usage: python benchmarks/fast_h2d_sms.py FOLDER (from the project's root)

`ncu-assist bench fast_h2d` in FOLDER interleaves them in one bench. Pieces are v10 with each token fetched in two
copies, to the next line of 128 bytes and from there: whether bulk copies ask for whole lines by themselves.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path("kernels/fast_h2d")
GRIDS = ((1, 1024), (2, 1024), (4, 1024), (8, 1024), (32, 256))  # blocks, threads
RINGS = (*((sms, 2, 160) for sms in (1, 2, 3, 4, 5, 6, 8, 12, 16)), (1, 2, 32), (8, 2, 64))  # SMs, slots, threads
IN_PIECES = ((1, 2, 160), (8, 2, 160))
RING = ("BLOCKS", "SLOTS", "MOST_THREADS")
GRID_IN = r"long long grid,\s+long long block, cudaStream_t stream\) \{"
PIECES = """
__device__ inline void copy_in(void* shared, const void* global, unsigned bytes, unsigned long long* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     in_shared(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(in_shared(barrier))
                 : "memory");
}
__device__ inline void fetch_pieces(unsigned char* shared, const unsigned char* global, unsigned bytes,
                                    unsigned long long* barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(barrier)), "r"(bytes)
                 : "memory");
    const unsigned ahead = min(bytes, static_cast<unsigned>(-reinterpret_cast<size_t>(global) % 128));
    if (ahead) copy_in(shared, global, ahead, barrier);
    if (bytes > ahead) copy_in(shared + ahead, global + ahead, bytes - ahead, barrier);
}
"""


def main(root: Path) -> None:
    """Write the project; a folder that is there is replaced."""
    folder = root / "kernels" / "fast_h2d"
    shutil.rmtree(root, ignore_errors=True)
    folder.mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.ncu-assist]\nrounds = 40\n", encoding="utf-8")
    for name in ("reference.py", "bulk_copy.cuh", "kernel.toml"):
        shutil.copy(SOURCE / name, folder)
    for number, (name, code) in enumerate(_versions()):
        (folder / f"v{number}_{name}.cu").write_text(code, encoding="utf-8")


def _versions() -> Iterator[tuple[str, str]]:
    lines, bulk = _source("line_aligned"), _source("bulk_copies")
    for grid, block in GRIDS:
        fixed = f"long long, long long, cudaStream_t stream) {{\n    const long long grid = {grid}, block = {block};"
        yield f"lines_{grid}x{block}", _changed(GRID_IN, fixed, lines)
    for ring in RINGS:
        yield f"bulk_{_name(ring)}", _with_ring(bulk, ring)
    pieces = _changed(r"\bfetch\(", "fetch_pieces(", bulk, 2)
    pieces = pieces.replace("constexpr int BLOCKS", f"{PIECES}constexpr int BLOCKS")
    for ring in IN_PIECES:
        yield f"pieces_{_name(ring)}", _with_ring(pieces, ring)


def _source(idea: str) -> str:
    (path,) = SOURCE.glob(f"v*_{idea}.cu")
    return path.read_text(encoding="utf-8")


def _name(ring: tuple[int, int, int]) -> str:
    return f"{ring[0]}sm_{ring[2]}x{ring[1]}"


def _with_ring(code: str, ring: tuple[int, int, int]) -> str:
    for name, value in zip(RING, ring, strict=True):
        code = _changed(rf"(constexpr int {name} = )\d+", rf"\g<1>{value}", code)
    return code


def _changed(pattern: str, text: str, code: str, times: int = 1) -> str:
    code, found = re.subn(pattern, text, code)
    assert found == times, (pattern, found)
    return code


if __name__ == "__main__":
    main(Path(sys.argv[1]))
