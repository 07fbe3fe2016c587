"""What is worked out of a run when it is archived and kept in its folder: what the rules say of it, and its code.

Later the findings are what the rules said then, and pages need no disassembler.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from ncu_assist.analysis.run_view import shown_workload
from ncu_assist.ceilings import ceilings_of
from ncu_assist.ceilings.storage import FOLDER
from ncu_assist.errors import DamagedData, NcuAssistError
from ncu_assist.frame import combine_tables
from ncu_assist.ncu import compressed
from ncu_assist.ncu.line_sums import longest, most_of_time
from ncu_assist.ncu.report import Report
from ncu_assist.ncu.source.contents import COUNTERS, NO_FILE, LaunchSource
from ncu_assist.ncu.source.kept import KeptCode, launches_of, packed, unpacked
from ncu_assist.ncu.source.reading import read_source
from ncu_assist.record import Launch, Run
from ncu_assist.rules.model.of_run import NO_SASS, Instructions, LaunchSass, findings_of, judged
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.answers import Answers, signs
from ncu_assist.store.findings import FINDINGS, Findings, Judged, findings_json
from ncu_assist.store.parquet import used_columns
from ncu_assist.store.reading import CODE, METRICS, REPORTS


def shown_launches(run: Run, records: Sequence[Launch], places: Sequence[int]) -> list[int]:
    """Return of these launches, by their places among ``records``, those whose code is shown.

    Of the launches of one call those are left out that take little of its time; of a foreign program none is.
    """
    return (most_of_time if run.workloads else longest)(records, places)


def code_files(
    run: Run, files: Mapping[str, bytes | Path], only: str | None = None, opened: Report | None = None
) -> dict[str, bytes]:
    """Return the code of the launches that a run's page shows, by the name of its file.

    ``files`` are those of the run; its report, which may be ``opened``, holds the launches of the workload ``only``,
    all when None. Nothing where there is no report, where the page shows none of its launches, and where the code
    cannot be read: no measurement is lost for that, and whoever reads the report later is told why.
    """
    report = next((files[name] for name in REPORTS if name in files), None)
    shown = shown_workload(run, None)
    records = [one for one in run.launches if only in (None, one.workload)]
    places = [place for place, one in enumerate(records) if shown in (None, one.workload)]
    if report is None or not places:
        return {}
    try:
        kept = _read(report, shown_launches(run, records, places), opened)
    except (NcuAssistError, OSError):
        return {}
    return {CODE: kept} if kept else {}


def _read(report: bytes | Path, places: Sequence[int], opened: Report | None) -> bytes | None:
    """Return the code of some launches of a report as a file of a run."""
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as name:
        path = report if isinstance(report, Path) else Path(name) / REPORTS[0]
        if isinstance(report, bytes):
            path.write_bytes(report)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if opened is not None:
            return packed(opened.source(places).found, digest)
        return packed(read_source(compressed.plain_file(path, Path(name)), places, name=path.name).found, digest)


@dataclass(frozen=True)
class KnownReport(Report):
    """A report of a run: code that its folder keeps is not read from the report again."""

    stored: StoredRun | None = None

    def _read_code(self, launches: Collection[int]) -> Sequence[LaunchSource]:
        return self._kept(launches) or super()._read_code(launches)

    def _kept(self, wanted: Collection[int]) -> Sequence[LaunchSource] | None:
        code = self.stored.code() if self.stored else None
        if code is None:
            return None
        kernels = dict(enumerate(one.kernel for one in self.records))
        if any(kernels.get(one.launch) != one.kernel for one in code.launches):
            raise DamagedData(f"{CODE} has other launches than the report next to it", "ncu-assist verify")
        return launches_of(code, wanted)


def with_code(report: Report, stored: StoredRun) -> Report:
    """Return the report of a stored run that answers from the code in the run's folder, where it keeps some."""
    given = {one.name: getattr(report, one.name) for one in fields(Report)}
    return KnownReport(**given, stored=stored)


# Options of nvcc that may turn optimisation off, as they may be written
MAY_BE_SLOW = re.compile(r"(?<!\S)(?:-G|--device-debug)(?!\S)|-(?:O ?|-opt-level[ =])0\b")


def kept_sass(run: Run, code: Callable[[], KeptCode | None]) -> LaunchSass:
    """Return the code that the folder of a whole run keeps, for the rules to tell how it was built.

    None of it where that is no question: of versions that were built here without an option against optimisation.
    """
    is_built_here = run.source != "imported" and bool(run.workloads)
    if is_built_here and not MAY_BE_SLOW.search(run.toolchain.nvcc_options or ""):
        return NO_SASS
    kept = code()
    found = placed(kept, run, run, shown_workload(run, None)) if kept else {}
    if kept is None or not found:
        return NO_SASS
    read: dict[int, Instructions] = {}
    for one in launches_of(kept, set(found)) or ():
        sass = [text for function in one.functions for text in function.sass]
        counted = dict(zip(one.metrics, one.values, strict=True)).get(COUNTERS["instructions"])
        numbers = [number for function in one.functions for number in function.files]
        files = ["" if number == NO_FILE else one.files[number].name for number in numbers]
        read[found[one.launch].index] = sass, [0.0] * len(sass) if counted is None else counted.tolist(), files
    return LaunchSass.of(read, run.launches)


def placed(code: KeptCode, run: Run, whole: Run, workload: str | None) -> dict[int, Launch]:
    """Return the launches of kept code, by their numbers in it, empty if they are not the launches shown.

    Kept code is of the workload shown by default, and numbered like the launches of that workload or of all.
    """
    own = [one for one in run.launches if workload in (None, one.workload)]
    is_default = workload == shown_workload(run, None, whole)
    for numbered in (whole.launches, own) if is_default else (whole.launches,):
        found = {one.launch: numbered[one.launch] for one in code.launches if one.launch < len(numbered)}
        fits = (found.get(one.launch) in own and found[one.launch].kernel == one.kernel for one in code.launches)
        if all(fits):
            return found
    return {}


def save_judged(store: Store, run: Run, files: Mapping[str, bytes | Path], opened: Report | None = None) -> StoredRun:
    """Save a run and, where it has counters, its findings and its code beside them. Raises as Store.save does.

    ``opened`` is its report, if it is read already. A rule that fails costs no measurement: the run is saved without
    findings, and a note of it says why.
    """
    metrics = files.get(METRICS)
    if not isinstance(metrics, bytes):
        return store.save(run, files)
    code = code_files(run, files, opened=opened)
    try:
        ceilings = ceilings_of(run.device, store.reports)
        sass = kept_sass(run, lambda: unpacked(code[CODE], CODE) if code else None)
        found = findings_of(run, used_columns(metrics, METRICS).by_launch(), ceilings, sass)
    except Exception as error:  # whatever a bug in a rule raises; show and history meet it again and do not hide it
        note = f"its findings could not be computed and are not stored: {type(error).__name__}: {error}"
        return store.save(replace(run, notes=(*run.notes, note)), {**files, **code})
    return store.save(run, {**files, FINDINGS: findings_json(found), **code})


def findings_now(stored: StoredRun, reports: Path) -> Findings:
    """Return what the rules of this version say of a run; ``reports`` is its archive, for the ceilings of its GPU.

    Raises DamagedData for files that were changed.
    """
    sass = kept_sass(stored.whole, stored.code)
    return findings_of(stored.run, stored.by_launch(), ceilings_of(stored.run.device, reports), sass)


def judged_now(stored: StoredRun, workload: str | None, reports: Path, answers: Answers | None = None) -> Judged | None:
    """Return what the rules of this version say of a workload of a run that keeps no findings; None where it does.

    ``reports`` is its archive, for the ceilings of its GPU; ``answers`` may have it. Raises DamagedData for files
    that were changed.
    """
    run = stored.run
    if not run.launches or stored.findings() is not None:
        return None

    def judge() -> Judged | None:
        combined = combine_tables(run, stored.by_launch(), workload)
        return judged(run, combined, ceilings_of(run.device, reports), code=kept_sass(stored.whole, stored.code))

    if answers is None:
        return judge()
    more = [workload or "", *signs(sorted((reports / FOLDER).glob("*/*.json")))]
    return answers.of("judged", [stored], more, Judged | None, judge)  # type: ignore[arg-type]
