"""ncu's own source page of the recorded reports, as data: what our frames are held against."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ncu_assist.ncu.compressed import read_plain

DATA = Path(__file__).parent.parent / "data"

# Our columns and what the page calls them. Its lanes per instruction are cut to whole numbers.
COLUMNS = {
    "samples": "# Samples",
    "samples_not_issued": "Warp Stall Sampling (Not-issued Samples)",
    "instructions": "Instructions Executed",
    "thread_instructions": "Thread Instructions Executed",
    "predicated_on_thread_instructions": "Predicated-On Thread Instructions Executed",
    "threads_per_instruction": "Avg. Threads Executed",
    "predicated_on_threads_per_instruction": "Avg. Predicated-On Threads Executed",
    "divergent_branches": "Divergent Branches",
    "tag_requests": "L1 Tag Requests Global",
    "wavefronts": "L1 Wavefronts Shared",
    "wavefronts_ideal": "L1 Wavefronts Shared Ideal",
    "wavefronts_excessive": "L1 Wavefronts Shared Excessive",
    "sectors": "L2 Theoretical Sectors Global",
    "sectors_ideal": "L2 Theoretical Sectors Global Ideal",
    "sectors_excessive": "L2 Theoretical Sectors Global Excessive",
    "memory_space": "Address Space",
    "memory_access": "Access Operation",
    "memory_access_bits": "Access Size",
}
SHORT = {
    "dispatch": "dispatch_stall",
    "imc": "imc_miss",
    "lg": "lg_throttle",
    "long_sb": "long_scoreboard",
    "math": "math_pipe_throttle",
    "mio": "mio_throttle",
    "no_inst": "no_instructions",
    "short_sb": "short_scoreboard",
    "sleep": "sleeping",
    "tex": "tex_throttle",
}  # the page's spelling of stall reasons


@dataclass(frozen=True)
class Table:
    """One table of the page: its title, and its cells by column, in the order of the rows."""

    title: tuple[str, ...]
    names: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def column(self, name: str) -> list[str]:
        return [row[self.names.index(name)] for row in self.rows]

    def stalls(self) -> dict[str, str]:
        """Return our column of each stall reason on the page."""
        found = {}
        for name in self.names:
            if name.startswith("stall_"):
                reason, _, rest = name.removeprefix("stall_").partition(" ")
                found["stall_" + SHORT.get(reason, reason) + ("_not_issued" if rest else "")] = name
        return found


def tables(name: str) -> list[Table]:
    """Return the tables of a page: of SASS one a launch, of lines one a launch and file."""
    found: list[Table] = []
    titles: list[str] = []
    for text in read_plain(DATA / name).decode().splitlines():
        row = text.rstrip(",")[1:-1].split('","')  # ncu does not escape the quotes inside a line of source
        if len(row) < 4:  # a name and its value
            titles.append(row[1])
        elif row[0] in ("Address", "Line No"):
            found.append(Table(tuple(titles), row))
            titles = []
        else:
            found[-1].rows.append(row)
    return found
