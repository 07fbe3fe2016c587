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
from ncu_assist.analysis.ladder import KernelOutcome, TuneOutcome, Values, combination_name
from ncu_assist.environment import gpu_here
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.executors.local import Local
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
# `constexpr int BM = 128, BN = 64;`, `#define BM 128`, and in Python `BM = 128` or `BM: tl.constexpr = 128`: each up to
# the value, which has to be a number as a whole. They are looked for where comments and strings are blank.
CONSTANT = r"\b(?:constexpr|const)\b[^;{{}}()]*?\b{name}\s*=(?!=)\s*"
DEFINE = r"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+(?=\S)"
ASSIGNED = r"^{name}(?:[ \t]*:[^=\n]+)?[ \t]*=(?!=)[ \t]*"
WHOLE = r"(0|[1-9]\d*)"  # a number with another 0 in front is octal in C++
CONSTANT_VALUE = re.compile(rf"{WHOLE}(?=\s*[,;])")
DEFINE_VALUE = re.compile(rf"{WHOLE}(?=[ \t\r]*$)", re.MULTILINE)
ASSIGNED_VALUE = re.compile(rf"(?:tl\.constexpr\([ \t]*{WHOLE}[ \t]*\)|{WHOLE})(?=[ \t\r]*(?:;|$))", re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
SAID_VALUE = re.compile(r"(?:\([^()\n]*\)|[^,;\n])*")
# By the end of a file's name: a number (1'024 opens no character), a comment in `comment`, or a string. What is not
# closed goes on to the end.
WORDS = {
    ".cu": re.compile(
        r"(?P<number>\b\d(?:'?[\w.])*)|(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))"
        r'|R"([^()\\\s]{0,16})\(.*?(?:\)\3"|\Z)|"(?:\\.|[^"\\\n])*"?|' + r"'(?:\\.|[^'\\\n])*'?",
        re.DOTALL,
    ),
    ".py": re.compile(
        r"(?P<number>(?!))|(?P<comment>#[^\n]*)"
        r"""|(\"{3}|'{3})(?:\\.|.)*?(?:\3|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""",
        re.DOTALL,
    ),
}
NUMBER = re.compile(r"(?:constexpr|const)\s+(?:unsigned\s+)?(?:int|long long|unsigned|std::size_t|auto)\s([^;(){}]+);")
NAMED_NUMBER = re.compile(r"([A-Z]\w*)\s*=\s*(\d+)\s*(?:,|$)")
# What would take time off by the first finding, by what a constant is called.
STAGES = re.compile(r"STAGE|DEPTH|BUFFER|AHEAD|PIPE|UNROLL|VEC|PACK")
TILES = re.compile(r"TILE|^B[MNK]$|BLOCK|ROWS|COLS|GROUP|WARPS|THREADS")
MORE_STAGES = ("low-bytes-in-flight", "tensor-underfed", "unexplained")
SMALLER = ("low-occupancy", "grid-underfill", "tail-effect", "workload-imbalance", "register-spill", "barrier-stall")
LARGER = ("l2-bound", "l1-bound", "redundant-traffic", "shared-bank-conflict", "launch-bound", "pipe-bound")


def tune(project: Project, request: MeasureRequest, values: str, keep: bool, reporter: Reporter) -> TuneOutcome:
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
    if job.settings.device == "cuda" and type(job.executor) is Local:
        gpu_here()  # before anything is built, and after mistakes, which need none to be seen
    with tempfile.TemporaryDirectory(prefix="ncu-assist-tune-") as folder:
        copy = Project(Path(folder), project.settings)
        copy_folder(project, job.kernel.folder, copy)
        (project.work / "build").mkdir(parents=True, exist_ok=True)
        copy.work.mkdir(parents=True, exist_ok=True)
        (copy.work / "build").symlink_to((project.work / "build").resolve())  # what was built once is built
        names = _write(copy.kernels / job.kernel.name, version, text, combinations)
        said = _Words(version, dict(zip(names, combinations, strict=True)), reporter)
        outcome = said.measured(_raced(job, copy, names))
        rows = {row.version: row for row in outcome.versions}
        found = TuneOutcome(
            job.kernel.name,
            version.name,
            workload.name,
            job.settings.rounds,
            tuple((one, rows[name]) for one, name in zip(combinations, names, strict=True)),
        )
        found = _confirmed(found, job, copy, said)
    if keep and found.winner is not None:
        if version.path.read_bytes().decode("utf-8", "surrogateescape") != text:
            raise StageFailed(f"{version.path.name} was edited meanwhile, so nothing is written", "tune it again")
        written = with_values(text, version.path.suffix, found.winner)
        version.path.write_bytes(written.encode("utf-8", "surrogateescape"))
        found = replace(found, kept=version.path)
    return found


class _Words:
    """Says combinations as who asked for them knows them, ``v9 with BM=64``: as versions they are in the copy alone."""

    def __init__(self, version: Version, combinations: Mapping[str, Values], reporter: Reporter) -> None:
        self._reporter = reporter
        self._known = {name: combination_name(version.name, values) for name, values in combinations.items()}
        self._known |= {f"{name}{version.path.suffix}": version.path.name for name in combinations}  # the same lines
        ends = re.escape(version.path.suffix)
        self._names = re.compile(rf"\b(?:{'|'.join(map(re.escape, combinations))})(?:{ends})?(?!\w)")

    def note(self, text: str) -> None:
        self._reporter.note(self._of(text))

    def status(self, text: str) -> None:
        self._reporter.status(self._of(text))

    def measured(self, job: MeasureJob) -> KernelOutcome:
        """Measure a job; what failed is told without the names of the copy, also by what is raised."""
        try:
            outcome = measure(job, self)
        except (StageFailed, EnvironmentProblem) as error:
            hint = "" if self._names.search(error.hint) else error.hint  # it would name what is not there
            raise type(error)(self._of(error.message), hint) from error
        rows = (replace(row, failure=self._of(row.failure), skipped=self._of(row.skipped)) for row in outcome.versions)
        return replace(outcome, versions=tuple(rows))

    def _of(self, text: str) -> str:
        return self._names.sub(lambda found: self._known[found[0]], text)


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
    """Return where the number of a constant stands, which has to be defined once, and as nothing but that number."""
    code = _code(text, suffix)
    forms, form = [(ASSIGNED, ASSIGNED_VALUE, code)], f"{name} = 64"
    if suffix == ".cu":
        plain = DIRECTIVE.sub(lambda found: " " * len(found[0]), code)
        forms, form = [(CONSTANT, CONSTANT_VALUE, plain), (DEFINE, DEFINE_VALUE, code)], f"constexpr int {name} = 64;"
    places = [
        (found.end(), value.match(where, found.end()))
        for start, value, where in forms
        for found in re.finditer(start.format(name=name), where, re.MULTILINE)
    ]
    if len(places) != 1:
        count = f"{len(places)} constants" if places else "no constant"
        raise UsageProblem(f"the source has {count} {name} with a number to change", f"write once: {form}")
    at, number = places[0]
    if number is None:
        said = SAID_VALUE.match(code, at)
        ends = at + len(said[0].rstrip()) if said else at  # before a comment
        value = " ".join(text[at:ends].split())
        raise UsageProblem(f"{name} is '{value}' in the source, no whole number to change", f"write: {form}")
    return number.span(number.lastindex or 0)


def _code(text: str, suffix: str) -> str:
    """Return a source of the same length whose comments are blanks and whose strings are quotation marks."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found["number"] else (" " if found["comment"] else '"') * len(found[0])

    return WORDS[suffix].sub(blank, text)


def _from_comment(version: Version, proposed: Mapping[str, tuple[int, ...]], why: str) -> dict[str, tuple[int, ...]]:
    lines = TUNE_LINE.findall(header_comment(version.path.read_bytes(), version.path.suffix))
    if lines:
        return parsed(" ".join(lines))
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
        for line in NUMBER.findall(_code(text, version.path.suffix))
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


def _confirmed(found: TuneOutcome, job: MeasureJob, copy: Project, said: _Words) -> TuneOutcome:
    """Return the outcome with the verdict of the fastest other combination against the file's values.

    It is of a bench of its own: the fastest of many looks faster than it is in the bench that it was chosen by.
    """
    own = found.rows[0][1]
    others = [row for _, row in found.ranked if row is not own]
    if not others or found.timing(own) is None:
        return found
    said.status("the fastest and the file's, once more")
    versions = said.measured(_raced(job, copy, [own.version, others[0].version], race=False)).versions
    runs = {row.version: row.run for row in versions if row.run and not row.failure}
    before, after = runs.get(own.version), runs.get(others[0].version)
    if before is None or after is None:
        return found
    return replace(found, diff=diff_runs(before, after, DiffOptions(found.workload)))
