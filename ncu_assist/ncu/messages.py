"""From the parsed messages of a report to facts: launches with their NVTX ranges and rules, metrics, the session."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from ncu_assist.errors import DamagedData
from ncu_assist.launch_names import COMMAND_LIST, GRAPH, RANGE
from ncu_assist.ncu import report_file
from ncu_assist.ncu.contents import LaunchFacts, RuleFacts, SessionFacts
from ncu_assist.ncu.report_file import Block, Entry
from ncu_assist.ncu.report_schema import message_classes
from ncu_assist.ncu.wire import Bytes

UNKNOWN_FIELDS = "it has fields that are not known here: of a newer Nsight Compute, or damaged"
UNNAMED_DOMAIN = "it has NVTX ranges of a domain that it does not name: which range is whose may be wrong"
NOT_UTF8 = "the report is damaged: a text in it is not UTF-8"
RESULT_MESSAGES = {
    report_file.RESULTS: "Kernel",
    report_file.RANGES: "Range",
    report_file.COMMAND_LISTS: "CommandList",
    report_file.GRAPHS: "Graph",
}
NAMES_OF_OTHERS = {report_file.RANGES: RANGE, report_file.COMMAND_LISTS: COMMAND_LIST, report_file.GRAPHS: GRAPH}
RULE_KINDS = {1: "ok", 2: "warning", 3: "error", 4: "optimization"}
SPEEDUPS = {1: "local", 2: "global"}
DEFAULT_DOMAIN = 0
NO_SIZE = (0, 0, 0)  # of a range, a list or a graph, and of a kernel that was interrupted
LONGEST_AXIS = 2**31 - 1  # of a grid, says the CUDA programming guide; a block has at most 1024 threads
LAST_SECOND = 2**33  # since 1970: the year 2242


class Messages:
    """Parses the messages of one report, and keeps in words what is odd about them and yet no damage."""

    def __init__(self) -> None:
        self._classes = message_classes()
        self.odd: set[str] = set()

    def header(self, data: Bytes, block: Block) -> Any:
        """Return the header of a block. Raises DamagedData when it is none, or not as it was written."""
        return self._whole(
            "Header", data[block.header_start : block.header_end], f"header at byte {block.header_start}"
        )

    def result(self, data: Bytes, entry: Entry) -> Any:
        """Return the message of a result. Raises DamagedData where its fields are not those that were written."""
        result = self._ordered(RESULT_MESSAGES[entry.kind], data[entry.start : entry.end], _place(entry))
        if len(UnknownFieldSet(result)):  # only its own: to look into all metrics would take a third longer
            self.odd.add(UNKNOWN_FIELDS)
        return result

    def nvtx(self, result: Any) -> Any:
        """Return the NVTX state of a result."""
        nvtx = self._whole("Nvtx", result.nvtx, "NVTX state of a launch")
        used = {domain.id for thread in nvtx.threads for domain in thread.domains} | {d.id for d in nvtx.start_end}
        if not used <= {domain.id for domain in nvtx.domains}:
            self.odd.add(UNNAMED_DOMAIN)
        return nvtx

    def rules(self, result: Any) -> list[Any]:
        """Return what NVIDIA's rules said of a result."""
        return [self._whole("Rule", rule, "finding of a rule") for rule in result.rules]

    def instances(self, data: Bytes, entry: Entry) -> Any:
        """Return the metrics of a result with their instances."""
        return self._whole(f"{RESULT_MESSAGES[entry.kind]}Instances", data[entry.start : entry.end], _place(entry))

    def _whole(self, name: str, raw: bytes, place: str) -> Any:
        """Return a message; whether it has unknown fields, at any depth, is told."""
        message = self._ordered(name, raw, place)
        message.DiscardUnknownFields()
        if message.ByteSize() != len(raw):
            self.odd.add(UNKNOWN_FIELDS)
        return message

    def _ordered(self, name: str, raw: bytes, place: str) -> Any:
        """Return a message that, written again, is what was read.

        Unknown fields are written last, where those of a newer ncu stand too; anywhere else they were another field.
        """
        try:
            message = self._classes[name].FromString(raw)
        except DecodeError as error:
            raise DamagedData(f"the report is damaged: the {place} cannot be parsed") from error
        if message.SerializeToString() != raw:
            raise DamagedData(f"the report is damaged: the fields of the {place} are not in order")
        return message


def _place(entry: Entry) -> str:
    return f"launch at byte {entry.start}"


def launch_facts(
    messages: Messages, kind: int, result: Any, process: int | None, values: tuple[int, dict[int, int]]
) -> LaunchFacts:
    """Return what a result says of its launch; a result that is no kernel is called by what it is."""
    is_kernel = kind == report_file.RESULTS
    nvtx = messages.nvtx(result)
    grid, block = _sizes(result) if is_kernel else (NO_SIZE, NO_SIZE)
    return LaunchFacts(
        kernel=result.function if is_kernel else NAMES_OF_OTHERS[kind],
        signature=(result.demangled or result.mangled) if is_kernel else NAMES_OF_OTHERS[kind],
        mangled=result.mangled if is_kernel else NAMES_OF_OTHERS[kind],
        grid=grid,
        block=block,
        process=process,
        context=result.context if result.HasField("context") else None,
        stream=result.stream if kind != report_file.RANGES and result.HasField("stream") else None,
        ranges=tuple(_push_pop(nvtx, result.thread, own=True)),
        domain_ranges=tuple(_push_pop(nvtx, result.thread, own=False)),
        start_end_ranges=tuple(_start_end(nvtx)),
        names=values[0],
        texts=values[1],
        rules=tuple(_rules(messages.rules(result))),
    )


def _sizes(result: Any) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return grid and block of a kernel: all zeros where it was interrupted, which its metrics have to bear out."""
    sizes = tuple((size.x, size.y, size.z) for size in (result.grid, result.block))
    if sizes == (NO_SIZE, NO_SIZE):
        return NO_SIZE, NO_SIZE
    for axes in sizes:
        if not all(0 < axis <= LONGEST_AXIS for axis in axes):
            raise DamagedData(f"the report is damaged: no kernel is launched with {' x '.join(map(str, axes))}")
    return sizes[0], sizes[1]


def _push_pop(nvtx: Any, thread: int, own: bool) -> Iterator[str]:
    """Yield the push/pop ranges of the default domain, or those of the others, of the thread that launched."""
    names = {domain.id: domain.name for domain in nvtx.domains}
    threads = [t for t in nvtx.threads if t.id == thread] or nvtx.threads
    for domain in (domain for t in threads for domain in t.domains):
        if (domain.id == DEFAULT_DOMAIN) == own:
            yield from (_in_domain(one.name, names, domain.id) for one in domain.stack)


def _start_end(nvtx: Any) -> Iterator[str]:
    names = {domain.id: domain.name for domain in nvtx.domains}
    for domain in nvtx.start_end:
        yield from (_in_domain(one.name, names, domain.id) for one in domain.ranges)


def _in_domain(name: str | bytes, names: dict[int, str | bytes], domain: int) -> str:
    own = _legible(name)
    return own if domain == DEFAULT_DOMAIN else f"{_legible(names.get(domain, str(domain)))}:{own}"


def _legible(name: str | bytes) -> str:
    """Return the name of a range, which a program may give in any encoding; the parser leaves what is not UTF-8."""
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


def _rules(rules: Iterable[Any]) -> Iterator[RuleFacts]:
    """Yield one finding for each item of a rule; one without a message points at lines only, a silent rule has none."""
    for rule in rules:
        for item in rule.body.items:
            says, estimates = item.HasField("message"), item.HasField("speedup")
            yield RuleFacts(
                rule=rule.rule,
                section=rule.section or None,
                title=item.message.title or rule.name,
                message=item.message.text if says else None,
                kind=RULE_KINDS.get(item.message.kind) if says else None,
                speedup_type=SPEEDUPS.get(item.speedup.kind) if estimates else None,
                speedup_pct=_finite(item.speedup.percent) if estimates else None,
                focus_metrics=tuple(metric.name for metric in item.focus),
            )


def _finite(percent: float) -> float:
    if not math.isfinite(percent):
        raise DamagedData("the report is damaged: an estimated speed-up is no number")
    return percent


def session_facts(headers: Iterable[Any]) -> SessionFacts:
    """Return what the headers of all blocks say of the session."""
    versions: dict[str, str] = {}
    found: dict[str, Any] = {}
    for session in (header.session for header in headers):
        versions |= {_sound(one.program): _sound(one.version) for one in session.versions}
        if session.created > LAST_SECOND:
            raise DamagedData("the report is damaged: it says that it was made after the year 2242")
        settings = session.settings
        said = {
            "clock_control": settings.clock_control,
            "replay_mode": settings.replay_mode,
            "sections": settings.sections,
            "command": session.command,
            "host": session.host.computer,
            "created": session.created,
        }
        found |= {name: value for name, value in said.items() if value}
    return SessionFacts(versions, **found)


def _sound(text: str | bytes) -> str:
    if not isinstance(text, str):
        raise DamagedData(NOT_UTF8)
    return text


BLOCKS, THREADS = "launch__grid_size", "launch__block_size"  # of a grid and of a block, in reports of every release
# What a kernel's launch says twice: the metric, the field and, of a size, which of the three.
SAID_TWICE: dict[str, tuple[str, int | None]] = {
    f"launch__{what}_dim_{axis}": (what, i) for what in ("grid", "block") for i, axis in enumerate("xyz")
}
SAID_TWICE |= {"launch__context_id": ("context", None), "launch__stream_id": ("stream", None)}
NAN = float("nan")
Number = Callable[[str], float | None]  # a metric of one launch by name; None where it has none


def checked_sizes(
    launches: Sequence[LaunchFacts], name_lists: Sequence[Sequence[str]], values: array[float]
) -> tuple[LaunchFacts, ...]:
    """Return the launches with their grids in blocks; ``values`` as in Contents.

    Raises DamagedData where the fields of a kernel's launch and its metrics differ.
    """
    start, found = 0, []
    for index, one in enumerate(launches):
        names = name_lists[one.names]
        found.append(_checked(index, one, partial(_number, names, values, start)) if one.is_kernel else one)
        start += len(names)
    return tuple(found)


def _number(names: Sequence[str], values: array[float], start: int, name: str) -> float | None:
    place = bisect_left(names, name)
    value = values[start + place] if place < len(names) and names[place] == name else NAN
    return value if value == value else None


def _checked(index: int, one: LaunchFacts, number: Number) -> LaunchFacts:
    if one.interrupted:
        if number(BLOCKS) is not None or number(THREADS) is not None:
            raise DamagedData(f"the report is damaged: no kernel is launched with 0 x 0 x 0, as launch {index}")
        return one
    one = _in_blocks(one, number)
    said: list[tuple[str, str, object, float]] = []
    for name, (field, axis) in SAID_TWICE.items():
        value = getattr(one, field)
        said.append((name, field, value, value if axis is None else value[axis]))
    said += [(BLOCKS, "grid", one.grid, prod(one.grid)), (THREADS, "block", one.block, prod(one.block))]
    for name, field, shown, value in said:
        metric = number(name)
        if metric is not None and metric != value:
            raise DamagedData(f"the report is damaged: {field} of launch {index} is {shown}, its {name} is {metric:g}")
    return one


def _in_blocks(one: LaunchFacts, number: Number) -> LaunchFacts:
    """Return a launch with its grid in blocks: ncu 2019 and 2020 write it in threads, and the number of blocks too."""
    x, y, z = (threads // size for threads, size in zip(one.grid, one.block, strict=True))
    in_threads = one.grid == (x * one.block[0], y * one.block[1], z * one.block[2])
    return replace(one, grid=(x, y, z)) if in_threads and number(BLOCKS) == x * y * z else one
