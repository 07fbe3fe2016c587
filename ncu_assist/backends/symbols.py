"""Whether a shared object has the function that is called in it, told from the file: nothing of it is run."""

from __future__ import annotations

import struct
from pathlib import Path

from ncu_assist.spec import Kernel

MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian
DYNAMIC_SYMBOLS, FUNCTION, LOCAL = 11, 2, 0  # SHT_DYNSYM, STT_FUNC, STB_LOCAL of the System V ABI
SECTION, SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


def lacking_launcher(artifact: Path, kernel: Kernel) -> str:
    """Return why the launcher cannot be called, with what to write; empty where it can, or the file is no ELF file."""
    functions = exported_functions(artifact)
    if functions is None or kernel.name in functions:
        return ""
    mangled = [name for name in functions if name.startswith("_Z") and f"{len(kernel.name)}{kernel.name}" in name]
    plain = [name for name in functions if not name.startswith("_")]
    if mangled:
        found = f'it has it with C++ linkage only, as {mangled[0]}: extern "C" is missing'
    elif plain:
        found = f"the functions it has are {', '.join(plain[:5])}"
    else:
        found = 'it has no function with extern "C"'
    written = f'extern "C" cudaError_t {kernel.name}({", ".join(kernel.arguments)}, cudaStream_t stream)'
    return f"it compiles, but has no function {kernel.name} to call; {found}; write: {written}"


def exported_functions(path: Path) -> tuple[str, ...] | None:
    """Return the functions that a shared object defines for others, sorted; None for what is no ELF file or is cut."""
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        return None
    try:
        (at,), (count,) = struct.unpack_from("<Q", data, 0x28), struct.unpack_from("<H", data, 0x3C)
        sections = [SECTION.unpack_from(data, at + number * SECTION.size) for number in range(count)]
        found: set[str] = set()
        for _, kind, _, _, start, size, link, *_ in sections:
            if kind != DYNAMIC_SYMBOLS:
                continue
            texts = sections[link][4]
            for entry in range(start, start + size, SYMBOL.size):
                name, info, _, section, _, _ = SYMBOL.unpack_from(data, entry)
                if info & 0xF == FUNCTION and info >> 4 != LOCAL and section:
                    found.add(data[texts + name : data.index(b"\0", texts + name)].decode("utf-8", "replace"))
    except (struct.error, IndexError, ValueError):
        return None
    return tuple(sorted(found))
