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
    "kernel": (
        "what is computed: a folder with a spec, a reference and versions. Also, with CUDA, the function on the GPU"
    ),
    "version": (
        "one source file that computes the kernel: `v<number>_<idea>.cu` or `.py` in its folder. A `.cu` file has a "
        "launcher; a `.py` file, for Triton and torch, a function called like the kernel, which takes the inputs, then "
        "the outputs, and writes into these. `Baseline` at the start of its first comment: a library's or a framework's"
    ),
    "launcher": (
        'the function of a `.cu` version that is called: `extern "C" cudaError_t KERNEL(…, cudaStream_t stream)`, with '
        "pointers and, for integers, `long long`, in the order of `arguments` in kernel.toml. It launches on the "
        "stream, and returns `cudaGetLastError()`"
    ),
    "kernel.toml": (
        "what a kernel computes, as data: inputs, outputs, arguments of the launcher, workloads, tolerance, bytes, "
        "operations; what each key means: `explain --schema kernel.toml`"
    ),
    "reference.py": (
        "inputs and right results of a kernel. `make_inputs(workload, seed, device)` gets a dict of the workload's "
        "integers, `dtype` and `name`, and returns a tuple of tensors, in the order of `inputs`; `reference(*inputs)` "
        "returns a tuple of the outputs, in float64 where it can"
    ),
    "project": (
        "the nearest folder upwards with `kernels/`, or with `[tool.ncu-assist]` in pyproject.toml; else where one "
        "stands"
    ),
    "archive": "all runs of a project, in `reports/`: times, counters, reports of ncu, sources, pages",
    "bench": (
        "versions timed against each other, in turns, round by round, after a check of their results; what a verdict "
        "is of"
    ),
    "cold": "of times: L2 was emptied before each call, so that data come from DRAM (`--flush`)",
    "workload": "a size and a dtype at which the kernel is measured",
    "run": "one version, measured once: times, counters, report, source",
    "launch": "one kernel launch on the GPU; ncu's reports call it an action or a result",
    "baseline": "the run or version that others are compared with; v0 unless set",
    "candidate": "the other side of a comparison",
    "parent": (
        "the version that a version was made from: `parent: v1` in its first comment, else the last one before it that "
        "is no library's"
    ),
    "triage": "where the time of a whole program goes, by kernel and shape: `ncu-assist triage -- python train.py`",
    "peer": "a version that is a library or a framework: its first comment begins with `Baseline`",
    "verdict": "faster, slower, same or unclear, from repeated timing",
    "unclear": (
        "a verdict: the 99 % interval of the speed-up reaches across 0.5 %, which more rounds "
        "may settle; or the two are less than two ticks of the timer apart, which they cannot"
    ),
    "improved, regressed, changed": (
        "what a diff says of a counter beyond its noise: to the better, to the worse, or neither is known to be better"
    ),
    "noise": "how far a time or a counter strays between runs of the same code; what differs by less is no change",
    "undecided": (
        "of a counter in a diff: it differs by half of its noise or more, but not by more than that: it may be noise"
    ),
    "side effect": "a counter that got worse, but not of what binds: it explains no slow-down",
    "metric": "a value with a name that ncu counts; a key is our name for the same thing on every chip",
    "rollup": "the ending of ncu's names: `.sum`, `.avg`, `.max`, `.per_second`, `.pct_of_peak_sustained_elapsed`",
    "rule": "a test of counters for one cause of lost time",
    "finding": "what a rule found: id, evidence, lines, estimated speed-up",
    "focus metric": "the metric that a finding is about",
    "severity, high, medium, low": (
        "of a finding: the part of the time that a fix could save, from 30 %, from 10 %, from 2 %; `info`: less, or "
        "nothing is wrong. Not how certain it is"
    ),
    "estimated": "of a speed-up: up to so much, by what the counters allow; only a measurement of the fix is certain",
    "assumed": "rests on a rate that was not measured on this GPU, or on a guess that is named",
    "diagnosis": "the first finding: what a good engineer would change first",
    "floor": (
        "the least time that bytes and operations of the workload allow; rates are the best that were measured, so "
        "that a time can lie a little under it, as where results are still in L2"
    ),
    "to floor": "a time over the floor: at 2x it takes twice as long as it has to",
    "of copy": "time of a device copy of the same bytes over the time of the version: 100 % is as fast",
    "geomean": "geometric mean of several speed-ups: of 2x and 0.5x it is 1x",
    "ceiling": "what a unit of this GPU was measured to reach; *assumed* where it was not measured",
    "SOL throughput, speed of light": "per cent of the peak of a unit. Not bandwidth",
    "bandwidth": "bytes a second",
    "SM": "streaming multiprocessor: runs blocks, with its own L1, shared memory and registers; an H200 has 132",
    "warp": "32 threads of a block that execute an instruction together",
    "lane": "one of the 32 threads of a warp",
    "sector": (
        "32 bytes, the unit of transfer between L1, L2 and DRAM; 32 lanes that read 4 bytes side by side touch "
        "4 sectors"
    ),
    "coalesced": "neighbouring lanes use neighbouring addresses: a request touches as few sectors as its bytes need",
    "unverified": (
        "of a report: nothing here can tell that it is as ncu wrote it, as there is neither ncu's log nor the hash of "
        "the capture; a changed digit would not be seen"
    ),
    "remark": "a finding whose fix could save less than 2 % of the time: `info` in JSON",
    "clocks base": "ncu held the SM clock at its base (--clock-control base, its default); times are of that clock",
    "request": "one instruction of a warp that asks for memory",
    "wavefront": (
        "one pass of a request through the L1 or shared memory pipeline; 32 lanes that read 4 bytes side by side in "
        "shared memory take 1, with 128 bytes from lane to lane 32"
    ),
    "bank conflict": (
        "lanes of a warp ask for different words of one of the 32 banks of shared memory: one waits for the other"
    ),
    "instruction issue": (
        "an SM has four schedulers, each of which issues at most one instruction a cycle: it binds where instructions "
        "of several kinds fill these slots, though no pipe is full"
    ),
    "excess": "sectors or wavefronts beyond what the bytes need",
    "warp stall reason": (
        "why a warp could not issue its next instruction. `long scoreboard`: for data from L1, L2 or DRAM; `wait`: for "
        "its own instruction before, of a fixed number of cycles; `barrier`: for other warps; waits for `mbarrier` and "
        "`wgmma`, which ncu counts under other reasons, are told apart here"
    ),
    "mbarrier": (
        "a barrier in shared memory that counts arrivals and the bytes that TMA brings. As a stall reason of lines: "
        "waits for its phase to end; ncu counts that as `long scoreboard`"
    ),
    "wgmma": (
        "matrix instructions of four warps together, which take operands from shared memory (Hopper; HGMMA in SASS). "
        "As a stall reason of lines: waits for them to end; ncu counts that as `barrier`"
    ),
    "cluster barrier": (
        "where blocks of a cluster wait for one another. As a stall reason of lines; ncu counts it as `barrier`"
    ),
    "dispatch stall": "a warp waits as the dispatcher holds back a chosen instruction: `explain dispatch_stall`",
    "latency bound": "no unit is busy enough to be the limit: warps wait, and there are too few to fill the time",
    "occupancy": (
        "warps on an SM of those it can hold; theoretical by resources, achieved as counted; 16 warps where 64 fit "
        "are 25 %"
    ),
    "tensor core": "the part of an SM that multiplies small matrices; by far the fastest way to multiply and add",
    "tile": "the part of a matrix that a block, a warp or an instruction works at",
    "stage": (
        "one of several buffers in shared memory: while the tile in one is multiplied, others are filled with the next"
    ),
    "TMA": "Tensor Memory Accelerator: copies a tile between global and shared memory by one instruction (Hopper)",
    "DRAM": "the memory of the GPU: large, and the farthest from the SMs",
    "L1": "the cache of an SM, in the same memory as its shared memory",
    "L2": "the cache that all SMs share; what is not there comes from DRAM",
    "SASS": "the instructions of the GPU itself, which the compiler made of the source",
    "wave": "as many blocks as the GPU holds at once; the tail is the last one",
    "bytes in flight": "loads under way; Little's law asks for latency times bandwidth",
    "replay, pass": "ncu runs a launch several times, a pass, as not all counters fit into one",
    "clock control": "ncu locks the SM clock to base unless told `none`",
    "cache control": "ncu flushes caches before each pass unless told `none`",
    "of floor": "the floor over the time of the version, where operations set the floor: 100 % is at the floor",
    "of link": "time of a copy over the host link of the same bytes over the time of the version: 100 % is as fast",
    "share_of_floor": (
        "in tables of Python: the floor over the median; 1 is at the floor, and more is possible, as rates of a "
        "floor are measured and can be beaten"
    ),
    "before": "in tables of Python: the version that a row is compared with, its parent",
    "bound by": (
        "the resource that sets the time: the busiest one from 60 % of its peak on, else latency. A diagnosis "
        "weighs what can be reached, and may name another"
    ),
    "latency": (
        "how long an answer takes to come; a kernel is *bound by latency* where no unit is busy and its warps wait"
    ),
    "issue slots": "a scheduler can issue one instruction a cycle: each such chance is a slot",
    "could win, most to win": (
        "of a launch: its time, less what its first finding estimates to be left; a launch without a finding "
        "that is known could win nothing, however slow it is"
    ),
    "fault": "a finding of severity low or more: what a rule says is wrong",
    "hottest": "of a source line: where warps were sampled most; a line that wastes traffic may be another",
    "appeared, vanished, replaced": (
        "of a source line in a diff: it stands in the text of one of the two only; replaced, where both texts side "
        "by side show another in its place"
    ),
    "started, stopped": "of a source line in a diff: it stands in both texts, and only one side executed it",
    "kept, moved": (
        "of a source line in a diff: both sides executed it, among the same lines or elsewhere; it took *more* or "
        "*less* time, or has *more excess* or *less excess* (sectors, wavefronts) whatever its time did"
    ),
    "left": "of a source line on the page of a diff: where the most time of the new version is left",
    "tick": (
        "the step of the GPU's timer, 32 ns on an H200: each time is a multiple of it. Versions less than two "
        "ticks apart are never called faster or slower, whatever the rounds: that is 1.6 % at 4 µs, and from 13 µs on "
        "less than the 0.5 % of the verdict"
    ),
    "round, rounds": (
        "in a bench: each version timed once, in an order drawn anew; 100 unless `--rounds` says otherwise. Four "
        "times the rounds make the 99 % interval half as wide; none make it less than two ticks of the timer, or "
        "find less than 0.5 %"
    ),
    "alone, together, both fixed": (
        "of findings: what one fix wins while the other faults stay, and what both win. Faults hide behind each "
        "other, so that together may be more than the product of both alone"
    ),
    "@last, @best, @baseline": (
        "names of runs: the last one, that of the fastest checked version, the baseline; also `KERNEL@best` or "
        "`KERNEL/@best`. `@last:10` is a window of ten runs, under `gate --against`"
    ),
    "exit code, exit codes": (
        "what a command ends with: 0 done, 1 a bug, 2 usage, 3 a regression, 4 unclear or not measured, 5 build, "
        "check or profiling failed, 6 environment, 7 damaged data, 8 model or network, 130 interrupted"
    ),
    "paired": ("of samples: both versions were timed in the same round of one bench, so that each round gives a ratio"),
    "late": (
        "of a sample: the stream was not held long enough, so that the time holds some of the CPU's; it is left out"
    ),
    "own, library, own / library": (
        "own versions are your steps; libraries are peers. *own / library* is how much faster the fastest own one "
        "is: a verdict in `history` and on pages, the ratio of two medians in `list`"
    ),
    "ladder": "the versions of a kernel in order, each against its parent: `history`, and the page of the kernel",
    "worklog": "the README of a kernel's folder: idea, prediction and outcome of each version",
    "sweep": "workloads that differ in one integer only, as sizes of a block: one line a value",
    "spill": (
        "a value that has no register left and is stored in local memory, which lies in L1, L2 and DRAM; "
        "`explain register-spill`"
    ),
    "what-if": (
        "what occupancy would be with another block size, register count or shared memory: `show --json` "
        "(`occupancy_curves`), and the page of a run draws it"
    ),
    "samples_not_issued": (
        "in tables of lines: samples of warps that could not issue, which are the waits; `samples` counts "
        "those that issued, too"
    ),
    "per launch": "of a value: launches run different functions, so that it is told of each and not of all together",
    "pipe": "a unit of an SM that executes one kind of instructions: FMA, ALU, FP64, tensor, XU, LSU",
    "MIO": "memory input/output: the queue of an SM to shared memory, special functions and dynamic branches",
    "A/A": "the same code compared with itself: all that differs is noise",
    "draft": "a version that a model wrote and that is not accepted yet",
    "source, live, recorded, imported": (
        "where a run is from: live, measured into this archive, on the GPU that the run names, which need not be in "
        "this machine; recorded, shipped with the repository; imported, from a report of somebody"
    ),
}
GLOSSARY: dict[str, GlossaryEntry] = {
    word: GlossaryEntry(name, text) for name, text in _TEXTS.items() for word in name.lower().split(", ")
}
