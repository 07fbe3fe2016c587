"""Looks for a key in the files it is told, in the environment, and in what other processes were started with."""

# ruff: noqa: T201, PTH208

import os
import sys
from pathlib import Path

texts = [str(dict(os.environ))]
for name in [*sys.argv[1:], *map(str, Path("/proc").glob("[0-9]*/environ"))]:
    try:
        texts.append(Path(name).read_text(errors="replace"))
    except OSError as error:
        texts.append(f"{name}: {error}")
for folder in ("/", "/root", "/home", "/tmp", "/run"):
    texts += [f"{folder}: {names}" for names in [os.listdir(folder) if os.access(folder, os.R_OK) else []]]
print("looked at", len(texts))
print("\n".join(texts))
