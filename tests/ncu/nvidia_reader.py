"""Everything NVIDIA's reader says about a report, for comparing two of them. Run as a program: the reader can abort."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ncu_assist import process


def everything(path: Path) -> list[dict[str, object]]:
    """Return all facts of each launch: metrics with instances, NVTX ranges, rules, SASS and source lines."""
    done = process.run([sys.executable, __file__, str(path)], timeout_s=300)
    assert done.exit_code == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def _metric(metric) -> list[object]:  # type: ignore[no-untyped-def]
    ids = metric.correlation_ids() if metric.has_correlation_ids() else None
    count = metric.num_instances()
    return [
        repr(metric.value()) if metric.has_value() else None,
        metric.unit(),
        [repr(metric.value(i)) for i in range(count)],
        [repr(ids.value(i)) for i in range(count)] if ids is not None else [],
    ]


def _lines(action) -> list[object]:  # type: ignore[no-untyped-def]
    ids = action.metric_by_name("inst_executed").correlation_ids() if action.metric_by_name("inst_executed") else None
    found: list[object] = []
    for i in range(ids.num_instances() if ids else 0):
        pc = ids.as_uint64(i)
        source = action.source_info(pc)
        found.append([pc, action.sass_by_pc(pc), source and [Path(source.file_name()).name, source.line()]])
    return found


def _launch(action) -> dict[str, object]:  # type: ignore[no-untyped-def]
    state = action.nvtx_state()
    files = action.source_files()
    return {
        "names": [action.name(base) for base in range(3)],
        "ranges": [list(state.domain_by_id(i).push_pop_ranges()) for i in state.domains()] if state else [],
        "metrics": {name: _metric(action.metric_by_name(name)) for name in action.metric_names()},
        "rules": action.rule_results_as_dicts(),
        "lines": _lines(action),
        "files": sorted([Path(name).name, files[name]] for name in files),
    }


if __name__ == "__main__":
    import ncu_report

    launches = [_launch(action) for part in ncu_report.load_report(sys.argv[1]) for action in part]
    sys.stdout.write(json.dumps(launches, default=str))
