"""Every combination of a version's tunable values, built in parallel, checked, and raced in one bench.

A combination is a version of its own in a copy of the kernel folder: the same source with other numbers. So whatever
builds, checks and times versions does it for combinations, in every language.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.ladder import TuneOutcome, Values
from ncu_assist.errors import StageFailed, UsageProblem
from ncu_assist.pipeline.measuring import MeasureJob, measure
from ncu_assist.pipeline.planning import MeasureRequest, plan
from ncu_assist.pipeline.watching import copy_folder
from ncu_assist.project import Project
from ncu_assist.rules.low_occupancy import SHORT_BLOCKS
from ncu_assist.sources import COMMENT_SIGNS, header_comment, source_sha256
from ncu_assist.spec import Kernel, Version
from ncu_assist.spec_file import read_kernel
from ncu_assist.steps import Reporter
from ncu_assist.store import Store
from ncu_assist.store.choosing import newest_of_source

TUNE_LINE = re.compile(r"^[ \t]*tune:[ \t]*(.+)$", re.MULTILINE)  # in the first comment
ENTRY = re.compile(r"([A-Za-z_]\w*)=(\d+(?:,\d+)*)")
EXAMPLE = "BM=64,128 STAGES=3,4"
MOST = 256  # combinations: nvcc takes a second or more for each on a core
# `constexpr int BM = 128, BN = 64;`, `#define BM 128`, and in Python `BM = 128` or `BM: tl.constexpr = 128`.
CONSTANT = r"(?:^|[;{{}}])[^;{{}}#]*?\b(?:constexpr|const)\b[^;{{}}()]*?\b{name}\s*=\s*(\d+)\b(?=\s*[,;])"
DEFINE = r"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+(\d+)\b"
ASSIGNED = r"^{name}(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*(?:tl\.constexpr\()?(\d+)\b"
NUMBER = re.compile(r"(?:constexpr|const)\s+(?:unsigned\s+)?(?:int|long long|unsigned|std::size_t|auto)\s([^;(){}]+);")
NAMED_NUMBER = re.compile(r"([A-Z]\w*)\s*=\s*(\d+)\s*(?:,|$)")
# What would take time off by the first finding, by what a constant is called.
STAGES = re.compile(r"STAGE|DEPTH|BUFFER|AHEAD|PIPE|UNROLL|VEC|PACK")
TILES = re.compile(r"TILE|^B[MNK]$|BLOCK|ROWS|COLS|GROUP|WARPS|THREADS")
MORE_STAGES = ("low-bytes-in-flight", "tensor-underfed", "unexplained")
SMALLER = ("low-occupancy", "grid-underfill", "tail-effect", "workload-imbalance", "register-spill", "barrier-stall")
LARGER = ("l2-bound", "l1-bound", "redundant-traffic", "shared-bank-conflict", "launch-bound", "pipe-bound")


def tune(
    project: Project,
    request: MeasureRequest,
    values: str,
    keep: bool,
    reporter: Reporter,
) -> TuneOutcome:
    """Race the combinations of one version; ``values`` are those to try, empty: what its first comment says.

    With ``keep`` the values of the fastest are written into the version's file where they are faster than the file's.
    Raises UsageProblem for a version without values to try, with those that its last diagnosis proposes.
    """
    job = plan(project, request, ("check", "bench"), reporter=reporter)
    version, workload = job.versions[0], job.workloads[0]
    text = version.path.read_bytes().decode("utf-8", "surrogateescape")
    proposed, why = proposals(project, job.kernel, version, text)
    tried = parsed(values) if values else _from_comment(version, proposed, why)
    own = {name: _number(text, version.path.suffix, name) for name in tried}
    if proposed and not set(proposed) <= set(tried):
        reporter.note(f"{version.short}: {why}; also try: {in_words(proposed)}")
    every = [dict(zip(tried, one, strict=True)) for one in itertools.product(*tried.values())]
    combinations = [own, *(one for one in every if one != own)]
    if len(combinations) > MOST:
        raise UsageProblem(f"{len(combinations)} combinations are more than {MOST}", "try fewer values at a time")
    with tempfile.TemporaryDirectory(prefix="ncu-assist-tune-") as folder:
        copy = Project(Path(folder), project.settings)
        copy_folder(project, job.kernel.folder, copy)
        (project.work / "build").mkdir(parents=True, exist_ok=True)
        copy.work.mkdir(parents=True, exist_ok=True)
        (copy.work / "build").symlink_to((project.work / "build").resolve())  # what was built once is built
        names = _write(copy.kernels / job.kernel.name, version, text, combinations)
        outcome = measure(_raced(job, copy, names), reporter)
        rows = {row.version: row for row in outcome.versions}
        found = TuneOutcome(
            job.kernel.name,
            version.name,
            workload.name,
            job.settings.rounds,
            tuple((one, rows[name]) for one, name in zip(combinations, names, strict=True)),
        )
        found = _confirmed(found, job, copy, reporter)
    if keep and found.winner is not None:
        if version.path.read_bytes().decode("utf-8", "surrogateescape") != text:
            raise StageFailed(f"{version.path.name} was edited meanwhile, so nothing is written", "tune it again")
        written = with_values(text, version.path.suffix, found.winner)
        version.path.write_bytes(written.encode("utf-8", "surrogateescape"))
        found = replace(found, kept=version.path)
    return found


def parsed(text: str) -> dict[str, tuple[int, ...]]:
    """Return the values to try by name, of ``BM=64,128 STAGES=3,4``; raises UsageProblem for anything else."""
    found: dict[str, tuple[int, ...]] = {}
    for word in re.sub(r"\s*([=,])\s*", r"\1", text).split():
        match = ENTRY.fullmatch(word)
        if match is None or match[1] in found:
            problem = "is named twice" if match else "is not a name with whole numbers"
            raise UsageProblem(f"'{word}' {problem}", EXAMPLE)
        found[match[1]] = tuple(dict.fromkeys(int(one) for one in match[2].split(",")))
    return found


def in_words(values: Mapping[str, tuple[int, ...]]) -> str:
    """Return values as ``parsed`` takes them."""
    return " ".join(f"{name}={','.join(map(str, some))}" for name, some in values.items())


def with_values(text: str, suffix: str, values: Values) -> str:
    """Return a source with other numbers for some of its constants. Raises UsageProblem as ``tune`` does."""
    for name, number in values.items():
        at, end = _place(text, suffix, name)
        text = f"{text[:at]}{number}{text[end:]}"
    return text


def _number(text: str, suffix: str, name: str) -> int:
    at, end = _place(text, suffix, name)
    return int(text[at:end])


def _place(text: str, suffix: str, name: str) -> tuple[int, int]:
    """Return where the number of a constant stands, which has to be defined once."""
    forms = (CONSTANT, DEFINE) if suffix == ".cu" else (ASSIGNED,)
    places = {match.span(1) for one in forms for match in re.finditer(one.format(name=name), text, re.MULTILINE)}
    if len(places) != 1:
        form = f"constexpr int {name} = 64;" if suffix == ".cu" else f"{name} = 64"
        count = "no constant" if not places else f"{len(places)} constants"
        raise UsageProblem(f"the source has {count} {name} with a number to change", f"write once: {form}")
    return places.pop()


def _from_comment(version: Version, proposed: Mapping[str, tuple[int, ...]], why: str) -> dict[str, tuple[int, ...]]:
    match = TUNE_LINE.search(header_comment(version.path.read_bytes(), version.path.suffix))
    if match:
        return parsed(match[1])
    sign = COMMENT_SIGNS[version.path.suffix]
    said = f"; {why}" if proposed else ""
    line = f"{sign} tune: {in_words(proposed) or EXAMPLE}"
    raise UsageProblem(
        f"the first comment of {version.path.name} lists no values to try{said}", f"add the line: {line}"
    )


def proposals(project: Project, kernel: Kernel, version: Version, text: str) -> tuple[dict[str, tuple[int, ...]], str]:
    """Return the values that the diagnosis of a version's last run proposes for its constants, and why.

    Nothing where no run of its source has findings, or its constants are called like nothing that helps against the
    first. A proposal is what is there, halved and doubled: which way it goes is for the race to say.
    """
    stored = newest_of_source(Store(project.reports).runs(kernel.name, version.name), source_sha256(version.path))
    found = stored.findings() if stored else None
    ranked = [one for judged in found.judged for one in judged.findings] if found else []
    if not ranked:
        return {}, ""
    rule, are_short = ranked[0].rule, SHORT_BLOCKS in ranked[0].detail.values()
    names = dict(
        named
        for line in NUMBER.findall(text)
        for named in ((one[0], int(one[1])) for one in NAMED_NUMBER.findall(line))
    )
    form = STAGES if rule in MORE_STAGES else TILES if rule in SMALLER or rule in LARGER else None
    chosen = {name: number for name, number in names.items() if form and form.search(name) and number > 0}
    made = {name: _around(number, form is STAGES) for name, number in chosen.items()}
    is_smaller = rule in SMALLER and not are_short
    way = "more in flight" if rule in MORE_STAGES else "a smaller shape" if is_smaller else "a larger shape"
    return made, f"its diagnosis is {rule}, and {way} may help"


def _around(number: int, step: bool) -> tuple[int, ...]:
    if step and number < 8:
        return tuple(dict.fromkeys((max(1, number - 1), number, number + 1)))
    return tuple(dict.fromkeys((max(1, number // 2), number, number * 2)))


def _write(folder: Path, version: Version, text: str, combinations: list[dict[str, int]]) -> list[str]:
    """Write the combinations as versions of a copied folder, in the place of its own versions; return their names."""
    for one in read_kernel(folder).versions:
        if one.path.name == version.path.name:
            one.path.unlink()
    first = 1 + max((one.number for one in read_kernel(folder).versions), default=version.number)
    names = []
    for number, values in enumerate(combinations, max(first, version.number)):
        idea = "_".join(f"{name}{value}" for name, value in values.items())
        names.append(f"v{number}_{idea}")
        path = folder / f"{names[-1]}{version.path.suffix}"
        path.write_bytes(with_values(text, version.path.suffix, values).encode("utf-8", "surrogateescape"))
    return names


def _raced(job: MeasureJob, copy: Project, names: list[str], race: bool = True) -> MeasureJob:
    kernel = read_kernel(copy.kernels / job.kernel.name)
    workloads = tuple(replace(one, versions=()) for one in job.workloads)  # a combination has another number
    chosen = tuple(kernel.version(name) for name in names)
    settings = replace(job.settings, race=names[0] if race else "")
    return replace(job, project=copy, kernel=kernel, versions=chosen, workloads=workloads, settings=settings)


def _confirmed(found: TuneOutcome, job: MeasureJob, copy: Project, reporter: Reporter) -> TuneOutcome:
    """Return the outcome with the verdict of the fastest other combination against the file's values.

    It is of a bench of its own: the fastest of many looks faster than it is in the bench that it was chosen by.
    """
    own = found.rows[0][1]
    others = [row for _, row in found.ranked if row is not own]
    if not others or found.timing(own) is None:
        return found
    reporter.status("the fastest and the file's, once more")
    versions = measure(_raced(job, copy, [own.version, others[0].version], race=False), reporter).versions
    runs = {row.version: row.run for row in versions if row.run and not row.failure}
    before, after = runs.get(own.version), runs.get(others[0].version)
    if before is None or after is None:
        return found
    return replace(found, diff=diff_runs(before, after, DiffOptions(found.workload)))
