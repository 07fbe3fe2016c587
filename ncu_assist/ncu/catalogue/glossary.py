"""The words of the field and of this tool, each with what it means: for `explain` and the glossary of the site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class GlossaryEntry:
    """One word, or several for one thing, and what it means."""

    name: str
    text: str
    type: Literal["word", "warning"] = "word"  # the warning of a measurement


_TEXTS = {
    "kernel": "what is computed: a folder with a spec, a reference and versions. In CUDA, also the function on the GPU",
    "version": (
        "one source file that computes the kernel: `v<number>_<idea>.cu` or `.py` in its folder. A `.cu` file has a "
        "launcher. A `.py` file, for Triton and torch, has a function with the kernel's name that takes the inputs "
        "and then the outputs, and writes into the outputs. `Baseline` at the start of its first comment marks the "
        "version of a library or framework"
    ),
    "launcher": (
        'the function of a `.cu` version that is called: `extern "C" cudaError_t KERNEL(…, cudaStream_t stream)`. It '
        "takes pointers and, for integers, `long long`, in the order of `arguments` in kernel.toml. It launches on "
        "the stream and returns `cudaGetLastError()`"
    ),
    "kernel.toml": (
        "what a kernel computes, as data: inputs, outputs, arguments of the launcher, workloads, tolerance, bytes, "
        "operations. `explain --schema kernel.toml` explains each key"
    ),
    "reference.py": (
        "the inputs and the correct results of a kernel. `make_inputs(workload, seed, device)` gets a dict of the "
        "workload's integers, `dtype` and `name`, and returns a tuple of tensors in the order of `inputs`. "
        "`reference(*inputs)` returns a tuple of the outputs, in float64 if it can"
    ),
    "project": (
        "the nearest parent folder with `kernels/`, or with `[tool.ncu-assist]` in pyproject.toml; otherwise the "
        "current folder"
    ),
    "archive": "all runs of a project, in `reports/`: times, counters, reports of ncu, sources, pages",
    "bench": (
        "versions timed against each other in alternation, round by round, after a check of their results. A verdict "
        "comes from a bench"
    ),
    "cold": "of times: L2 was emptied before each call, so that the data comes from DRAM (`--flush`)",
    "workload": "a size and a dtype at which the kernel is measured",
    "run": "one version, measured once: times, counters, report, source",
    "launch": "one kernel launch on the GPU; ncu's reports call it an action or a result",
    "baseline": "the run or version that others are compared with. Default: v0",
    "candidate": "the other side of a comparison",
    "parent": (
        "the version that a version was made from: `parent: v1` in its first comment, otherwise the last version "
        "before it that is not a library's"
    ),
    "triage": "where the time of a whole program goes, by kernel and shape: `ncu-assist triage -- python train.py`",
    "peer": "a version that is a library or a framework: its first comment begins with `Baseline`",
    "verdict": "faster, slower, same or unclear, from repeated timing",
    "unclear": (
        "a verdict with one of two causes. The 99 % interval of the speed-up reaches across 0.5 %, and more rounds "
        "may settle it. Or the two times differ by less than two ticks of the timer, and more rounds cannot"
    ),
    "improved, regressed, changed": (
        "of a counter in a diff that differs by more than its noise: it got better, it got worse, or neither "
        "direction is known to be better"
    ),
    "noise": "how much a time or a counter varies between runs of the same code. A smaller difference is not a change",
    "undecided": (
        "of a counter in a diff: it differs by at least half of its noise but not by more than its noise, so the "
        "difference may be noise"
    ),
    "side effect": "a counter that got worse on a resource that does not set the time: it does not explain a slow-down",
    "metric": "a named value that ncu counts. A key is this tool's name for the same value on every chip",
    "rollup": "the ending of ncu's names: `.sum`, `.avg`, `.max`, `.per_second`, `.pct_of_peak_sustained_elapsed`",
    "rule": "a test of counters for one cause of lost time",
    "finding": "what a rule found: id, evidence, lines, estimated speed-up",
    "focus metric": "the metric that a finding is about",
    "severity, high, medium, low": (
        "of a finding: the part of the time that a fix could save: high from 30 %, medium from 10 %, low from 2 %. "
        "`info` is less, or nothing is wrong. It does not say how certain the finding is"
    ),
    "estimated": (
        "of a speed-up: the most that the counters allow for the change that the advice names; *if the fault were "
        "gone* is for more than that change. Only a measurement of the fix is certain"
    ),
    "assumed": "based on a rate that was not measured on this GPU, or on a guess that is named",
    "diagnosis": "the first finding: what a good engineer would change first",
    "floor": (
        "the least time that the bytes and operations of the workload allow, at the best rates that were measured. A "
        "time can be slightly below it, for example if results are still in L2"
    ),
    "to floor": "a time divided by the floor: at 2x it takes twice as long as necessary",
    "of copy": (
        "the time of a device copy of the same bytes, divided by the time of the version: 100 % is as fast as the copy"
    ),
    "geomean": "the geometric mean of several speed-ups: for 2x and 0.5x it is 1x",
    "ceiling": "what a unit of this GPU reached in a measurement; *assumed* if it was not measured",
    "SOL, SOL throughput, speed of light": "the percentage of a unit's peak. Not bandwidth",
    "bandwidth": "bytes a second",
    "SM": "streaming multiprocessor: runs blocks, with its own L1, shared memory and registers; an H200 has 132",
    "warp": "32 threads of a block that execute an instruction together",
    "block": "threads of a launch that run on one SM, share its shared memory and can wait for one another",
    "grid": "the blocks of a launch. Blocks start as SMs have room, in no promised order",
    "cluster": (
        "blocks that run at the same time on SMs next to each other and reach each other's shared memory (Hopper)"
    ),
    "lane": "one of the 32 threads of a warp",
    "sector": (
        "32 bytes, the unit of transfer between L1, L2 and DRAM. 32 lanes that read 4 adjacent bytes each touch 4 "
        "sectors"
    ),
    "coalesced": "neighbouring lanes use neighbouring addresses, so a request touches as few sectors as its bytes need",
    "unverified": (
        "of a report: neither ncu's log nor the hash of the capture is there, so nothing shows that the report is as "
        "ncu wrote it. A changed digit would not be noticed"
    ),
    "remark": "a finding whose fix could save less than 2 % of the time: `info` in JSON",
    "clocks base": "ncu held the SM clock at its base (--clock-control base, its default); the times are at that clock",
    "request": "one instruction of a warp that asks for memory",
    "wavefront": (
        "one pass of a request through the L1 or shared memory pipeline. 32 lanes that read 4 adjacent bytes each in "
        "shared memory take 1; with 128 bytes from lane to lane they take 32"
    ),
    "bank conflict": (
        "lanes of a warp ask for different words of one of the 32 banks of shared memory, and are served one after "
        "the other"
    ),
    "instruction issue": (
        "an SM has four schedulers, and each issues at most one instruction a cycle. Instruction issue is the limit "
        "if instructions of several kinds fill these slots although no pipe is full"
    ),
    "excess": "sectors or wavefronts beyond what the bytes need",
    "warp stall reason": (
        "why a warp could not issue its next instruction. `long scoreboard`: it waits for data from L1, L2 or DRAM. "
        "`wait`: for its own previous instruction, a fixed number of cycles. `barrier`: for other warps. ncu counts "
        "waits for `mbarrier` and `wgmma` under other reasons; they are separate here"
    ),
    "mbarrier": (
        "a barrier in shared memory that counts arrivals and the bytes that TMA brings. As a stall reason of lines: "
        "waits for its phase to end, which ncu counts as `long scoreboard`"
    ),
    "wgmma": (
        "matrix instructions of four warps together, which take operands from shared memory (Hopper; HGMMA in SASS). "
        "As a stall reason of lines: waits for them to end, which ncu counts as `barrier`"
    ),
    "cluster barrier": (
        "where blocks of a cluster wait for one another. As a stall reason of lines: waits there, which ncu counts as "
        "`barrier`"
    ),
    "dispatch stall": (
        "a warp waits because the dispatcher holds back an instruction that was selected: `explain dispatch_stall`"
    ),
    "latency bound": (
        "no unit is busy enough to be the limit: warps wait, and there are too few of them to fill the time"
    ),
    "memory bound, compute bound": (
        "a unit that moves data sets the time, or one that computes: `bound by` names the unit. Where none is busy, "
        "the kernel is bound by latency"
    ),
    "roofline": (
        "operations a second over operations per byte. A kernel lies below a slope, the rate of a memory, and below a "
        "ceiling, the rate of a unit; the page of a run draws it"
    ),
    "occupancy": (
        "the warps on an SM, as a part of those that it can hold. Theoretical: by resources. Achieved: as counted. 16 "
        "warps of 64 are 25 %"
    ),
    "ILP, instruction-level parallelism": (
        "independent instructions of one warp, which issue without waiting for each other's results. Like more warps, "
        "it hides latency"
    ),
    "register": "the fastest storage, of one thread alone. The threads of an SM share its 65,536 registers",
    "shared memory": "memory inside an SM for the threads of a block, as fast as L1 and in the same array",
    "hit rate, cache hit": "what a cache had, as a part of what it was asked for. More hits need not save time",
    "scoreboard": (
        "keeps account of results that are still to come. `long scoreboard`: from L1, L2 or DRAM. `short scoreboard`: "
        "from shared memory and special functions"
    ),
    "fusion": "several kernels as one: what one hands to the next stays in registers and spares a way to DRAM and back",
    "CUDA graph": "launches that are recorded once and started together, which spares most of the time between them",
    "mma": "a matrix instruction of one warp on tensor cores (HMMA in SASS); `wgmma` is that of four warps",
    "cp.async": "copies from global to shared memory while the warp goes on, past the registers (Ampere)",
    "tensor core": "the part of an SM that multiplies small matrices, by far the fastest way to multiply and add",
    "tile": "the part of a matrix that a block, a warp or an instruction works on",
    "stage": (
        "one of several buffers in shared memory: while the tile in one is multiplied, the next tiles are loaded into "
        "others"
    ),
    "TMA": "Tensor Memory Accelerator: copies a tile between global and shared memory with one instruction (Hopper)",
    "TMEM": (
        "tensor memory: 256 kB in each SM of compute capability 10.x and 11.x, not 12.x. `tcgen05.mma` keeps its sums "
        "there, so that they take no registers"
    ),
    "DRAM": "the memory of the GPU: large, and the farthest from the SMs",
    "DRAM rows": (
        "DRAM opens a row before it reads or writes in it, and rows open at a limited rate: single sectors at random "
        "places reach 54 % of the peak of an H200, whole lines 90 %"
    ),
    "L1": "the cache of an SM, in the same memory as its shared memory",
    "L2": "the cache that all SMs share; what it does not have comes from DRAM",
    "SASS": "the instructions of the GPU itself, which the compiler generates from the source",
    "wave": "as many blocks as the GPU holds at once; the last wave is the tail",
    "bytes in flight": "the bytes of loads that have not arrived yet; Little's law asks for latency times bandwidth",
    "replay, pass": "ncu runs a launch several times, once a pass, because not all counters fit into one",
    "clock control": "ncu locks the SM clock to its base. `none` leaves it free",
    "cache control": "ncu flushes the caches before each pass. `none` leaves them",
    "of floor": "the floor divided by the time of the version, if operations set the floor: 100 % is at the floor",
    "of link": (
        "the time of a copy of the same bytes over the host link, divided by the time of the version: 100 % is as "
        "fast as the copy"
    ),
    "share_of_floor": (
        "in tables of Python: the floor divided by the median. 1 is at the floor. More is possible, because the rates "
        "of a floor are measured and can be exceeded"
    ),
    "before": "in tables of Python: the version that a row is compared with, its parent",
    "bound by": (
        "the resource that sets the time: the busiest one if it is at 60 % of its peak or more, otherwise latency. A "
        "diagnosis considers what each unit can reach, and may name another"
    ),
    "latency": (
        "how long a result takes to arrive. A kernel is *bound by latency* if no unit is busy and its warps wait"
    ),
    "issue slots": "a scheduler can issue one instruction a cycle; each of these chances is a slot",
    "could win, most to win": (
        "of a launch: its time minus the time that would remain after its first finding is fixed, as estimated. For a "
        "launch without a finding this is zero, however slow it is"
    ),
    "fault": "a finding of severity low or more: what a rule reports as wrong",
    "hottest": "of a source line: it has the most samples of warps. The line that wastes traffic may be another",
    "appeared, vanished, replaced": (
        "of a source line in a diff: only one of the two texts has it. Replaced: side by side, the other text has a "
        "different line in its place"
    ),
    "started, stopped": "of a source line in a diff: both texts have it, and only one side executed it",
    "kept, moved": (
        "of a source line in a diff: both sides executed it, among the same lines or elsewhere. It took *more* or "
        "*less* time, or has *more excess* or *less excess* (sectors, wavefronts) whatever its time did"
    ),
    "left": "of a source line on the page of a diff: the new version spends most of its remaining time there",
    "tick": (
        "the step of the GPU's timer, 32 ns on an H200: each time is a multiple of it. Versions less than two ticks "
        "apart are never called faster or slower, however many rounds there are. Two ticks are 1.6 % at 4 µs, and "
        "from 13 µs on less than the 0.5 % of the verdict"
    ),
    "round, rounds": (
        "in a bench: each version timed once, in a new random order. Default: 100 (`--rounds`). Four times the rounds "
        "make the 99 % interval half as wide. No number of rounds makes it narrower than two ticks of the timer, or "
        "finds less than 0.5 %"
    ),
    "alone, together, both fixed": (
        "of findings: what one fix wins while the other faults stay, and what both win. Faults hide behind each "
        "other, so both together may win more than the product of each alone"
    ),
    "@last, @best, @baseline": (
        "names of runs: the last one, the run of the fastest checked version, the baseline; also `KERNEL@best` or "
        "`KERNEL/@best`. `@last:10` is a window of ten runs, for `gate --against`"
    ),
    "exit code, exit codes": (
        "how a command ended: 0 done, 1 a bug, 2 usage, 3 a regression, 4 unclear or not measured, 5 build, check or "
        "profiling failed, 6 environment, 7 damaged data, 8 model or network, 130 interrupted"
    ),
    "paired": "of samples: both versions were timed in the same round of one bench, so each round gives a ratio",
    "late": (
        "of a sample: the stream was not held long enough, so the time contains CPU time. A late sample is left out"
    ),
    "own, library, own / library": (
        "own versions are your steps; libraries are peers. *own / library* is how much faster the fastest own version "
        "is: a verdict in `history` and on pages, the ratio of two medians in `list`"
    ),
    "ladder": "the versions of a kernel in order, each against its parent: `history`, and the page of the kernel",
    "worklog": "the README of a kernel's folder: idea, prediction and outcome of each version",
    "sweep": "workloads that differ in one integer only, such as the size of a block: one line for each value",
    "spill": (
        "a value for which no register is left and that is stored in local memory, that is in L1, L2 and DRAM; "
        "`explain register-spill`"
    ),
    "what-if": (
        "the occupancy with another block size, register count or amount of shared memory: `show --json` "
        "(`occupancy_curves`), and a drawing on the page of a run"
    ),
    "samples_not_issued": (
        "in tables of lines: samples of warps that could not issue, that is of waits. `samples` also counts those "
        "that issued"
    ),
    "per launch": (
        "of a value: the launches run different functions, so each launch has its own value and there is none for all"
    ),
    "pipe": "a unit of an SM that executes one kind of instruction: FMA, ALU, FP64, tensor, XU, LSU",
    "MIO": "memory input/output: the queue of an SM to shared memory, special functions and dynamic branches",
    "A/A": "the same code compared with itself: any difference is noise",
    "draft": "a version that a model wrote and that has not been accepted yet",
    "source, live, recorded, imported": (
        "where a run comes from. Live: measured into this archive, on the GPU that the run names, which need not be "
        "in this machine. Recorded: shipped with the repository. Imported: from somebody's report"
    ),
}
GLOSSARY: dict[str, GlossaryEntry] = {
    word: GlossaryEntry(name, text) for name, text in _TEXTS.items() for word in name.lower().split(", ")
}
_ALSO_CALLED = {
    "bw": "bandwidth",
    "coalescing": "coalesced",
    "hbm": "dram",
    "kernel launch": "launch",
    "occ": "occupancy",
    "reg": "register",
    "regs": "register",
    "shmem": "shared memory",
    "smem": "shared memory",
    "spilling": "spill",
    "streaming multiprocessor": "sm",
    "tensor memory": "tmem",
    "thread block": "block",
    "thread block cluster": "cluster",
    "vram": "dram",
}
GLOSSARY |= {word: GLOSSARY[known] for word, known in _ALSO_CALLED.items()}
