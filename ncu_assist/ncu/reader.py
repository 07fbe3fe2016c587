"""Run as a child process: read a report through NVIDIA's reader and write its values into a folder.

NVIDIA's reader can abort the interpreter on a damaged file, so it never runs in the process of a command. What is
written is as plain as it gets (JSON and one array of doubles): the child then starts in a tenth of the time that a
data-frame library would take.
"""

from __future__ import annotations

import json
import resource
import sys
from array import array
from pathlib import Path
from typing import Any

LAUNCHES, VALUES = "launches.json", "values.f64"
NAN = float("nan")
KINDS = {1: "ok", 2: "optimization", 3: "warning", 4: "error"}  # ncu_report.MsgType
SPEEDUPS = {1: "local", 2: "global"}  # ncu_report.SpeedupType


def main(arguments: list[str]) -> int:
    """Read PATH within MEMORY bytes of address space and write launches.json and values.f64 into FOLDER."""
    path, folder, memory = arguments
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    import ncu_report

    context = ncu_report.load_report(path)
    reading = _Reading(ncu_report)
    launches = [reading.launch(action) for part in context for action in part]
    with (Path(folder) / VALUES).open("wb") as out:
        reading.values.tofile(out)
    document = {
        "launches": launches,
        "name_lists": reading.name_lists,
        "texts": list(reading.texts),
        "units": reading.units,
    }
    (Path(folder) / LAUNCHES).write_text(json.dumps(document), encoding="utf-8")
    return 0


class _Reading:
    """The values of all launches in one array, and the lists of names and the long texts that launches share."""

    def __init__(self, ncu_report: Any) -> None:
        self.values = array("d")
        self.name_lists: list[list[str]] = []
        self.units: dict[str, str] = {}
        self.texts: dict[str, int] = {}  # each text and its number, in the order of the numbers
        self._report = ncu_report
        self._metric = ncu_report.IMetric

    def launch(self, action: Any) -> dict[str, Any]:
        """Add the values of one launch and return its other facts."""
        names = sorted(action.metric_names())
        return {
            "kernel": action.name(),
            "signature": action.name(self._report.IAction.NameBase_DEMANGLED),
            "ranges": _push_pop_ranges(action),
            "names": self._name_list(names),
            "texts": self._add_values(action, names),
            "rules": [self._rule(rule) for rule in action.rule_results_as_dicts()],
        }

    def _name_list(self, names: list[str]) -> int:
        if names not in self.name_lists:
            self.name_lists.append(names)
        return self.name_lists.index(names)

    def _add_values(self, action: Any, names: list[str]) -> dict[int, int]:
        """Append a double for each name, NaN for texts and for what has no value; return text numbers by position."""
        texts: dict[int, int] = {}
        by_name, has_value, kind, as_double = (
            action.metric_by_name,
            self._metric.has_value,
            self._metric.kind,
            self._metric.as_double,
        )
        text_kind, add = self._metric.ValueKind_STRING, self.values.append
        for position, name in enumerate(names):
            metric = by_name(name)
            if name not in self.units:
                self.units[name] = metric.unit()
            if not has_value(metric):
                add(NAN)
            elif kind(metric) == text_kind:
                texts[position] = self.texts.setdefault(metric.as_string(), len(self.texts))
                add(NAN)
            else:
                add(as_double(metric))
        return texts

    def _rule(self, rule: dict[str, Any]) -> dict[str, Any]:
        """Return a rule result without its tables; reports of 2022 have no speed-up estimate."""
        message, speedup = rule.get("rule_message") or {}, rule.get("speedup_estimation") or {}
        return {
            "rule": rule.get("rule_identifier"),
            "section": rule.get("section_identifier"),
            "title": message.get("title") or rule.get("name"),
            "message": message.get("message"),
            "kind": KINDS.get(message.get("type", 0)),
            "speedup_type": SPEEDUPS.get(speedup.get("type", 0)),
            "speedup_pct": speedup.get("speedup"),
            "focus_metrics": [metric["name"] for metric in rule.get("focus_metrics") or []],
        }


def _push_pop_ranges(action: Any) -> list[str]:
    """Return the names of the push/pop ranges of the default domain, outermost first."""
    state = action.nvtx_state()
    if state is None or 0 not in list(state.domains()):
        return []
    return list(state.domain_by_id(0).push_pop_ranges())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
