"""The public Python API: what `show`, `diff` and `profile` answer, and reports in pandas, for scripts and notebooks.

References are those of the command line: ``kernel/version@run``, ``@last``, ``@best``, or the path of a report. The
project is the one that the current folder stands in, unless ``project`` names a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_assist.analysis.diff import Diff, DiffOptions
from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.project import Project, find_project
from ncu_assist.store import Store, StoredRun
from ncu_assist.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.pipeline.archive_frames import ArchiveFrames

__all__ = ["ProfiledKernel", "RunComparison", "RunSummary", "archive", "diff", "profile", "read_report", "show"]
Place = str | Path | None
Pair = tuple[StoredRun, StoredRun]


@dataclass(frozen=True)
class RunSummary:
    """What `show` says of a run: ``view`` has its facts; text, JSON and page are made of it when they are asked for."""

    view: RunView
    stored: StoredRun = field(repr=False)
    project: Project = field(repr=False)

    @property
    def metrics(self) -> pd.DataFrame:
        """The metrics, one row a launch and metric: launch, metric, value, text, unit."""
        return self.stored.metrics()

    def to_text(self) -> str:
        """Return what the terminal shows."""
        from ncu_assist.render.terminal import Style, show_text

        return show_text(self.view, Style())

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ncu_assist.render.json import show_json

        return show_json(self.view)

    def to_html(self, redact: bool = True) -> str:
        """Return the page of the run, whole in one file; ``redact`` takes out who measured it and where."""
        from ncu_assist.pipeline.pages.run import run_page

        return run_page(self.stored, Store(self.project.reports), linked=False, redact=redact)


@dataclass(frozen=True)
class RunComparison:
    """What `diff` says of two runs: ``diff`` has all of it, ``verdict`` which is faster."""

    diff: Diff
    runs: Pair = field(repr=False)
    project: Project = field(repr=False)
    options: DiffOptions = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        return self.diff.verdict

    def to_text(self) -> str:
        """Return what the terminal shows."""
        from ncu_assist.render.terminal import Style, diff_text

        return diff_text(self.diff, Style())

    def to_markdown(self) -> str:
        """Return the comment for a pull request."""
        from ncu_assist.render.markdown import diff_markdown

        return diff_markdown(self.diff)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ncu_assist.render.json import diff_json

        return diff_json(self.diff)

    def to_html(self, redact: bool = True) -> str:
        """Return the page, whole in one file; ``redact`` takes out who measured the runs and where."""
        from ncu_assist.pipeline.pages.diff import diff_page

        return diff_page(self.runs, Store(self.project.reports), self.options, redact=redact)


@dataclass(frozen=True)
class ProfiledKernel:
    """What `profile` came to: ``outcome`` has a run of each version, or why there is none."""

    outcome: KernelOutcome

    def to_text(self) -> str:
        """Return what the terminal shows."""
        from ncu_assist.render.terminal import Style, outcome_text

        return outcome_text(self.outcome, Style())

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        from ncu_assist.render.json import outcome_json

        return outcome_json(self.outcome, "profile")


Reference = str | Path | RunSummary | Report


def show(
    reference: Reference = "@last",
    *,
    workload: str | None = None,
    kernel: str | None = None,
    lines: bool = False,
    project: Place = None,
) -> RunSummary:
    """Return what `show` says of a run; ``lines`` reads its report again, for the source lines of each finding.

    Raises UsageProblem for a reference that names nothing, DamagedData for a run whose files were changed.
    """
    from ncu_assist.pipeline.opened_reports import named
    from ncu_assist.pipeline.showing import gather

    where = _project(project)
    (stored,) = named(where, (_text(reference),), kernel)
    view = gather(stored, workload, Store(where.reports), lines=lines, every=True)
    return RunSummary(view, stored, where)


def diff(
    baseline: Reference,
    candidate: Reference = "@last",
    *,
    workload: str | None = None,
    kernel: str | None = None,
    every: bool = False,
    force: bool = False,
    project: Place = None,
) -> RunComparison:
    """Return which of two runs is faster, by how much and why; ``every`` compares all metrics.

    ``force`` compares what cannot be compared, and says so. Raises as ``show`` does.
    """
    from ncu_assist.pipeline.reading import compare_runs, two_named

    where = _project(project)
    wish = DiffOptions(workload, None, force, every)
    runs, options = two_named(where, (_text(baseline), _text(candidate)), kernel, wish)
    return RunComparison(compare_runs(runs, options), runs, where, options)


def archive(*, project: Place = None) -> ArchiveFrames:
    """Return the runs of the project as tables: ``runs``, ``timings``, ``findings``."""
    from ncu_assist.pipeline.archive_frames import archive_frames

    return archive_frames(Store(_project(project).reports))


def profile(
    kernel: str,
    versions: Sequence[str] = (),
    *,
    workload: str | None = None,
    section_set: str = "full",
    rounds: int | None = None,
    repeats: int = 1,
    project: Place = None,
) -> ProfiledKernel:
    """Build, check, time and profile versions of a kernel, all unless named, and archive a run of each.

    Where there is no GPU or no ncu, recorded runs answer. Raises UsageProblem for a kernel, version or workload that
    does not exist, EnvironmentProblem where nothing can be measured and nothing is recorded.
    """
    from ncu_assist.ncu.command import ProfileOptions
    from ncu_assist.pipeline import planning

    request = planning.MeasureRequest(kernel, tuple(versions), workload, rounds, repeats=repeats)
    return ProfiledKernel(planning.profile(_project(project), request, ProfileOptions(section_set), _Silent()))


class _Silent:
    """A reporter that says nothing."""

    def note(self, text: str) -> None:
        """Drop a line that would stay."""

    def status(self, text: str) -> None:
        """Drop a live line."""


def _project(place: Place) -> Project:
    return find_project(Path.cwd() if place is None else Path(place))


def _text(reference: Reference) -> str:
    """Return a reference as it would be typed; that of a run in the archive names this very run."""
    if isinstance(reference, RunSummary):
        return reference.stored.reference
    return str(reference.path if isinstance(reference, Report) else reference)
