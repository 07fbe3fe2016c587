"""Puts into its job folder whatever could lead its reader astray, and tries to change what was measured before."""

# ruff: noqa: T201

import os
import sys
from pathlib import Path

job, record, given = map(Path, sys.argv[1:])
for path in (record, given):
    for attempt in (lambda p: p.write_text("faster"), lambda p: p.unlink(), lambda p: p.chmod(0o777)):
        try:
            attempt(path)
            print("changed", path)
        except OSError as error:
            print("kept", error.strerror)
(job / "result.json").unlink()
(job / "result.json").symlink_to("/etc/passwd")
os.mkfifo(job / "fifo.json")
(job / "folder.json").mkdir()
(job / "out").symlink_to(record.parent)
with (job / "sparse.json").open("wb") as file:
    file.truncate(4 << 20)
program = job / "as_root"
program.write_bytes(Path("/bin/sh").read_bytes())
program.chmod(0o6755)
(job / "honest.json").write_text("{}")
print("done")
