"""What a launch is called that is no kernel: names that a report and the record of a run share."""

from __future__ import annotations

RANGE, COMMAND_LIST, GRAPH = "range", "command list", "graph"
NOT_KERNELS = (RANGE, COMMAND_LIST, GRAPH)
