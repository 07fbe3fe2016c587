"""Where the modules of older layouts went, for scripts that imported them: an import of one says so."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

PACKAGE = "ncu_assist."
# Old to new, below ncu_assist; of a package with all that was in it.
MOVED = {
    "columns": "frame.columns",
    "diff": "analysis.diff",
    "drafts": "store.drafts",
    "gate": "analysis.gate",
    "lineage": "versions",
    "outcome": "analysis",
    "expression": "spec",
    "misnamed": "sources",
    "executors.gpu": "executors.local",
    "executors.lock": "executors.local",
    "backends.launcher": "backends.cuda",
    "backends.ninja": "backends.nvcc",
    "backends.symbols": "backends.cuda",
    "executors.sandbox.executor": "executors.sandbox",
    "executors.sandbox.syscalls": "executors.sandbox.runners",
    "harness.arguments": "harness.buffers",
    "harness.bench_stage": "harness.bench",
    "harness.compare": "harness.check",
    "harness.hold": "harness.stopwatch",
    "harness.numa": "harness.host_memory",
    "harness.nvml": "harness.facts",
    "harness.profile": "harness.session",
    "harness.request_file": "harness.request",
    "store.kernel_files": "store.folders",
    "store.machine": "store.matching",
    "store.sample_counts": "store.archive",
    "store.verifying": "store.archive",
    "ncu.catalogue.access_ways": "ncu.catalogue.access_metrics",
    "ncu.catalogue.available_names": "ncu.catalogue.recorded_names",
    "ncu.catalogue.compute_ways": "ncu.catalogue.compute_metrics",
    "ncu.catalogue.derived_ways": "ncu.catalogue.derived",
    "ncu.catalogue.memory_ways": "ncu.catalogue.memory_metrics",
    "ncu.catalogue.metric_units": "ncu.catalogue.recorded_names",
    "ncu.catalogue.name_parts": "ncu.catalogue.spelling",
    "ncu.catalogue.nvprof_names": "ncu.catalogue.mistaken_names",
    "ncu.catalogue.possible": "ncu.catalogue.rows",
    "ncu.catalogue.speed_ways": "ncu.catalogue.speed_metrics",
    "ncu.catalogue.warp_ways": "ncu.catalogue.warp_metrics",
    "ncu.catalogue.ways": "ncu.catalogue.metric",
    "ncu.command_line": "ncu.command",
    "ncu.csv_page.kernel": "ncu.csv_page.launches",
    "ncu.csv_page.metric_rows": "ncu.csv_page.export",
    "ncu.csv_page.ranges": "ncu.csv_page.launches",
    "ncu.csv_page.rows": "ncu.csv_page.text",
    "ncu.csv_page.units": "ncu.csv_page.values",
    "ncu.hot_spots": "ncu.line_sums",
    "ncu.instances": "ncu.metric_table",
    "ncu.launch_sizes": "ncu.messages",
    "ncu.memory_limit": "ncu.child",
    "ncu.nvidia": "ncu.reader",
    "ncu.session_texts": "ncu.blanking",
    "ncu.source_costs": "ncu.code",
    "ncu.trimming": "ncu.blanking",
    "pipeline.ancestry": "pipeline.history",
    "pipeline.bare_report": "pipeline.opened_reports",
    "pipeline.close_look": "pipeline.showing",
    "pipeline.floors": "pipeline.history",
    "pipeline.foreign_run": "pipeline.importing",
    "pipeline.gate_now": "pipeline.gate_sides",
    "pipeline.gpus": "pipeline.doctor",
    "pipeline.identity": "pipeline.pages.readable",
    "pipeline.judging": "pipeline.derived",
    "pipeline.kept_code": "pipeline.derived",
    "pipeline.opened_run": "pipeline.opened_reports",
    "pipeline.pages.files": "pipeline.pages.writing",
    "pipeline.pages.ladder": "pipeline.pages.index",
    "pipeline.progress": "pipeline.profiling",
    "pipeline.repeated_runs": "pipeline.reading",
    "pipeline.replaying": "pipeline.planning",
    "pipeline.silence": "pipeline.profiling",
    "pipeline.sweeps": "pipeline.history",
    "pipeline.timings": "pipeline.archiving",
    "frame.adding_up": "frame.combined",
    "frame.lazy": "frame.combined",
    "frame.used": "frame.of_runs",
    "render.facts": "analysis.run_view",
    "render.history": "analysis.history",
    "render.ladder": "analysis.ladder",
    "render.predictions": "analysis.predictions",
    "render.throughputs": "analysis.run_view",
    "render.html.memory_links": "analysis.memory_flows",
    "render.html.roofline_numbers": "analysis.roofline",
    "render.yardstick": "analysis.yardstick",
    "suggest.asking": "suggest.session",
    "suggest.talk": "suggest.drafting",
    "suggest.wish": "suggest.request",
    "verdict.clocks": "verdict.samples",
    "verdict.correlation": "verdict.interval",
    "verdict.likely": "verdict.samples",
    "verdict.paired": "verdict.deciding",
    "verdict.reasons": "verdict.records",
    "verdict.robust": "verdict.unpaired",
    "verdict.ticks": "verdict.samples",
    "suggest.conversation": "suggest.drafting",
    "suggest.reply.citing": "suggest.reply.form",
    "suggest.evidence.cleaning": "suggest.evidence.task",
    "suggest.evidence.findings": "suggest.evidence.counters",
    "suggest.evidence.story": "suggest.evidence.gathering",
    "suggest.model.key": "suggest.model.endpoint",
    "suggest.proof.stages": "suggest.proof.prover",
    "suggest.acting": "suggest.session",
    "suggest.rounds": "suggest.session",
    "pipeline.ceilings_exchange": "pipeline.known_ceilings",
    "pipeline.ceilings_known": "pipeline.known_ceilings",
    "pipeline.foreign": "pipeline.importing",
    "pipeline.pages.asked": "pipeline.pages.writing",
    "rules.model.own_lines": "rules.model.places",
}
WORDS = "change draft gate history l2 launch line metric why"
MODEL = "blame bounds diagnosis dram facts of_run places shape traffic"
MOVED |= dict.fromkeys([f"render.{name}_words" for name in WORDS.split()], "render.words")
MOVED |= dict.fromkeys([f"rules.{name}" for name in MODEL.split()], "rules.model")


class MovedModules:
    """A finder at the end of ``sys.meta_path``: it finds nothing, and says of a moved module where it is."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raise ModuleNotFoundError with the new name for a module of an older layout."""
        name = fullname.removeprefix(PACKAGE)
        if name != fullname and name in MOVED:
            message = f"{fullname} is now {PACKAGE}{MOVED[name]}; what scripts need is in ncu_assist itself"
            raise ModuleNotFoundError(message, name=fullname)
