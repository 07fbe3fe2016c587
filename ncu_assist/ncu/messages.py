"""From the parsed messages of a report to facts: launches with their NVTX ranges and rules, metrics, the session."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report_file
from ncu_assist.ncu.contents import INSTANCE_COLUMNS, NO_ID, NO_TEXT, LaunchFacts, RuleFacts, SessionFacts
from ncu_assist.ncu.report_file import Block, Bytes, Entry
from ncu_assist.ncu.source.contents import ACCESS, SECTORS_BY_ACCESS
from ncu_assist.record import COMMAND_LIST, GRAPH, RANGE

PACKAGE = "report"
# The numbers that protocol buffers give to types, in descriptor.proto.
TYPES = {"double": 1, "float": 2, "uint64": 4, "string": 9, "message": 11, "bytes": 12, "uint32": 13, "enum": 13}
OPTIONAL, REPEATED = 1, 3
KIND = "kind"  # the choice that a value is: one of its fields is set, or none

# The fields of a message: number, a star where they repeat, type, name. A result holds different numbers by its kind.
# All fields of a message stand here, also those that are looked at later or never, these as bytes: written again, a
# message has to be what was read, or a field of it was lost, doubled or turned into another one. A number that may be
# negative is a uint64: its ten bytes stay what they are.
KERNEL = (
    "1 uint32 thread; 2 uint64 call; 3 uint64 program; 4 uint64 id; 5 string mangled; 6 string function; "
    "7 string demangled; 8 uint32 dimensions; 9 bytes offset; 10 Size grid; 11 Size block; 12 bytes comments; "
    "13* Metric metrics; 14 uint64 created; 15 bytes source; 16 enum api; 17* bytes sections; 18* bytes notes; "
    "19* bytes rules; 20 uint32 unsupported; 21 bytes nvtx; 22 uint32 context; 23 uint32 stream; 24 bytes series; "
    "25 bytes clocks; 26 bytes context_name; 27 bytes stream_name; 28 bytes cpu_stack; 29 enum scope; 30 uint32 green; "
    "31 bytes renamed; 32 bytes python_stack; 33 bytes profiler_part; 34 bytes sampler_part; 35 float kernel_driver"
)
OTHER = (  # the start of a range, a command list or a graph
    "1 uint32 thread; 2 uint64 call; 3 bytes comments; 4* Metric metrics; 5 uint64 created; 6 enum api; "
    "7* bytes sections; 8* bytes notes; 9 uint32 unsupported; 10 bytes nvtx; 11 uint32 context; "
)
NAMED = "12 uint32 stream; 13 bytes clocks; 14 bytes context_name; 15 bytes stream_name; 16 bytes cpu_stack; "
MESSAGES = {
    "Value": "1 string text; 2 float float; 3 double double; 4 uint32 uint32; 5 uint64 uint64",
    "Metric": "1 uint32 name; 2 Value value; 3* bytes instances; 4 enum category",
    "Instance": "1 Value id; 2 Value value",
    "InstancedMetric": "1 uint32 name; 2 Value value; 3* Instance instances; 4 enum category",
    "Size": "1 uint64 x; 2 uint64 y; 3 uint64 z",
    "RuleMessage": "1 string text; 2 enum kind; 3 uint64 id; 4 string title",
    "FocusMetric": "1 uint64 message; 2 string name; 3 double value; 4 enum severity; 5 string info",
    "Speedup": "1 enum kind; 2 double percent",
    "RuleItem": "1 RuleMessage message; 2 bytes table; 3 bytes bars; 4 bytes histogram; 5 bytes lines; "
    "6 bytes proposal; 7 bytes roofline; 8* FocusMetric focus; 9 bytes source; 10 Speedup speedup; 11 bytes suffixes; "
    "12* bytes tables",
    "RuleBody": "1* RuleItem items",
    "Rule": "1 string rule; 2 string name; 3 RuleBody body; 4 string section; 5* bytes markers",
    "PushPopRange": "1 string name; 2 bytes attributes; 3 uint64 call; 4 uint64 id",
    "PushPopDomain": "1 uint64 id; 3* PushPopRange stack",
    "StartEndRange": "1 uint64 id; 2 string name; 3 bytes attributes; 4 uint64 call; 5 uint32 thread",
    "StartEndDomain": "1 uint64 id; 3* StartEndRange ranges",
    "Domain": "1 uint64 id; 2 string name; 3* bytes strings; 4* bytes tables",
    "Thread": "1 uint32 id; 2* PushPopDomain domains",
    "Nvtx": "1* Domain domains; 2* Thread threads; 3* StartEndDomain start_end; 4 uint64 default; 5 enum scope",
    "Kernel": KERNEL,
    "Range": OTHER + "12 bytes clocks; 13 bytes context_name; 14 bytes cpu_stack; 15* uint64 sources; 16 uint32 green; "
    "17 bytes python_stack; 18 bytes profiler_part; 19 bytes sampler_part; 20* bytes rules; 21 float kernel_driver",
    "CommandList": OTHER + NAMED + "17* uint64 sources; 18 string display; 19 uint32 dimensions; 20* bytes launches; "
    "21* bytes rules; 22 bytes python_stack; 23 bytes profiler_part; 24 bytes sampler_part; 25 float kernel_driver",
    "Graph": OTHER + NAMED + "17* uint64 sources; 18 uint32 green; 19 bytes python_stack; 20 bytes profiler_part; "
    "21 bytes sampler_part; 22* bytes rules; 23 float kernel_driver",
    "Version": "1 string program; 2 string version",
    "System": "1 bytes system; 2 bytes build; 3 bytes processor; 4 bytes architecture; 5 string computer; "
    "6 enum platform; 7* bytes addresses",
    "Settings": "1 uint32 nvtx; 2 uint32 no_range; 3 uint32 from_start; 4 bytes activity; 5 bytes filter; "
    "6 bytes other; 7 string sections; 8 string clock_control; 9 bytes sampling; 10 uint32 source; "
    "11 string replay_mode; 12 uint32 cpu_stack; 13 bytes pm_sampling; 14 bytes stack_types; 15 bytes boost; "
    "16 uint32 sass",
    "Session": "1 uint32 process; 2 uint64 created; 3 System host; 4 bytes target; 5 bytes properties; "
    "6* bytes attributes; 7 bytes comments; 8* Version versions; 9 bytes executable; 10 Settings settings; "
    "11 string command",
    "Strings": "1* string strings",
    "Process": "1 uint32 id; 2 string host; 3 string name",
    "Header": "1 uint32 sources; 2 uint32 results; 3 Session session; 4 Strings strings; 5 uint32 payload; "
    "6 Process process; 7 uint32 ranges; 8 uint32 command_lists; 9 uint32 graphs",
}


def message_classes() -> dict[str, Any]:
    """Return the class of each message by its name in MESSAGES."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="report.proto", package=PACKAGE, syntax="proto2")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(";"):
            _add_field(message, *field.split())
    _make_choice(file.message_type[0])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in MESSAGES}


def _add_field(message: Any, number: str, kind: str, name: str) -> None:
    label = REPEATED if number.endswith("*") else OPTIONAL
    field = message.field.add(name=name, number=int(number.rstrip("*")), label=label)
    field.type = TYPES.get(kind, TYPES["message"])
    if kind not in TYPES:
        field.type_name = f".{PACKAGE}.{kind}"


def _make_choice(value: Any) -> None:
    """Put the fields of a value into one choice: then the parser can say which is set."""
    value.oneof_decl.add(name=KIND)
    for field in value.field:
        field.oneof_index = 0


UNKNOWN_FIELDS = "it has unknown fields: it is from a newer Nsight Compute, or damaged"
UNNAMED_DOMAIN = "it has NVTX ranges of a domain without a name: ranges may be assigned wrongly"
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
# What ncu counts of loads and of stores, where its memory tables were collected.
APART = tuple(f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{verb}.ratio" for verb in ("ld", "st"))
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

    def checked(self, data: Bytes, entry: Entry) -> Any:
        """Return the message of a result whose fields were checked before, by ``result``."""
        return self._parsed(RESULT_MESSAGES[entry.kind], data[entry.start : entry.end], _place(entry))

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

    def instances(self, data: Bytes, entry: Entry, wanted: Set[int]) -> list[Any]:
        """Return the metrics of a result with these numbers as names, with their instances."""
        metrics = self.result(data, entry).metrics
        return [
            self._whole("InstancedMetric", one.SerializeToString(), f"metric {one.name} of the {_place(entry)}")
            for one in metrics
            if one.name in wanted
        ]

    def by_access(self, metrics: Sequence[Any], numbers: Mapping[str, int]) -> list[Any]:
        """Return SECTORS_BY_ACCESS of a launch as further metrics; ``numbers`` are those of all names.

        None where ncu counted loads and stores apart, or the report does not say what each instruction did.
        """
        names = {name for name, _ in SECTORS_BY_ACCESS.values()} | {ACCESS}
        own = {one.name: one for one in metrics}
        if not names <= numbers.keys() or not own.keys() >= {numbers[name] for name in names}:
            return []
        if any(numbers.get(name) in own for name in APART):
            return []
        found = {name: self._by_address(own[numbers[name]]) for name in names}
        counted = all(found[name] or not number_of(own[numbers[name]].value) for name in names - {ACCESS})
        if not counted or (any(found[name] for name in names) and not found[ACCESS]):
            return []
        made = []
        for name, (counter, access) in SECTORS_BY_ACCESS.items():
            total = sum(count for address, count in found[counter].items() if found[ACCESS].get(address) == access)
            made.append(self._classes["Metric"](name=numbers[name], value={"double": total}))
        return made

    def _by_address(self, metric: Any) -> dict[int, float]:
        """Return the values of a metric by the address of the instruction that they are of."""
        found = (self._ordered("Instance", raw, "value of an instruction") for raw in metric.instances)
        return {one.id.uint64: number_of(one.value) for one in found}

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
        message = self._parsed(name, raw, place)
        if message.SerializeToString() != raw:
            raise DamagedData(f"the report is damaged: the fields of the {place} are not in order")
        return message

    def _parsed(self, name: str, raw: bytes, place: str) -> Any:
        try:
            return self._classes[name].FromString(raw)
        except DecodeError as error:
            raise DamagedData(f"the report is damaged: the {place} cannot be parsed") from error


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
            raise DamagedData(f"the report is damaged: a launch has the impossible size {' x '.join(map(str, axes))}")
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
        raise DamagedData("the report is damaged: an estimated speed-up is not a number")
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
            raise DamagedData(f"the report is damaged: launch {index} has the impossible size 0 x 0 x 0")
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


MAX_SHORT = 0x7F  # the longest field whose length takes one byte
# ncu 2025.3.1 writes some of these twice, with one value: the last three, of the machine, for a replayed range.
OFTEN_DOUBLE = ("profiler__", "sass__", "c2clink__", "numa__", "nvlink__")


# How the metrics of a launch go into its list of names, for launches that hold them in the same order: the number of
# the list, which metric comes where and the reverse, and the metrics that stand again later with where.
MetricPlan = tuple[int, list[int], dict[int, int], list[tuple[int, int]]]


class MetricTable:
    """The metrics of all launches: lists of names and texts that launches share, and notes on what is odd."""

    def __init__(self) -> None:
        self.strings: list[str] = []  # the names of metrics, as the blocks of the file add them
        self.name_lists: list[tuple[str, ...]] = []
        self.texts: dict[str, int] = {}  # each text and its number, in the order of the numbers
        self.doubles: set[str] = set()  # names that stand twice and are not known to
        self.differing: set[str] = set()  # names that stand twice, with different values
        self.unknown: set[str] = set()  # names of metrics whose value has a type that is not known here
        self._plans: dict[tuple[int, ...], MetricPlan] = {}

    def add_names(self, strings: Iterable[str]) -> None:
        """Append the names that a block brings; raises DamagedData for what cannot be one."""
        new = list(strings)
        for name in new:
            if not isinstance(name, str) or not name.isprintable() or not name:
                raise DamagedData("the report is damaged: the name of a metric is not a name")
        self.strings += new

    def add(self, metrics: Sequence[Any], values: array[float]) -> tuple[int, dict[int, int]]:
        """Append the values of one launch, sorted by name; return its list of names and its texts by position.

        A name may stand twice: ncu writes some so, with one value, and where passes measured one anew, with two. The
        last counts, as with NVIDIA's reader.
        """
        names, order, position, doubles = self._plan(tuple([metric.name for metric in metrics]))
        own, texts, unknown = _values(metrics)
        self.unknown |= {self.strings[metrics[place].name] for place in unknown}
        values.extend([own[i] for i in order])
        for i, j in doubles:
            if (own[i] != own[j] and (own[i] == own[i] or own[j] == own[j])) or texts.get(i) != texts.get(j):
                self.differing.add(self.strings[metrics[i].name])
        known = self.texts
        return names, {position[i]: known.setdefault(t, len(known)) for i, t in texts.items() if i in position}

    def _plan(self, ids: tuple[int, ...]) -> MetricPlan:
        if ids not in self._plans:
            if ids and max(ids) >= len(self.strings):
                raise DamagedData("the report is damaged: a metric has a name that is not in the report")
            found = [self.strings[number] for number in ids]
            place = {name: i for i, name in enumerate(found)}
            doubles = [(i, place[name]) for i, name in enumerate(found) if place[name] != i]
            self.doubles |= {found[i] for i, _ in doubles if not found[i].startswith(OFTEN_DOUBLE)}
            names = tuple(sorted(place))
            if names not in self.name_lists:
                self.name_lists.append(names)
            order = [place[name] for name in names]
            position = {i: p for p, i in enumerate(order)}
            self._plans[ids] = self.name_lists.index(names), order, position, doubles
        return self._plans[ids]


def number_of(value: Any) -> float:
    """Return the number of a value; 0 where it has none."""
    number: float = value.double or value.uint64 or value.uint32 or value.float  # at most one is set, the others are 0
    return number


def _values(metrics: Iterable[Any]) -> tuple[list[float], dict[int, str], list[int]]:
    """Return the number of each metric, NaN for texts and for what has no value; the texts by position.

    And the positions of values whose type is not known here.
    """
    numbers: list[float] = []
    texts: dict[int, str] = {}
    unknown: list[int] = []
    for metric in metrics:
        value = metric.value
        number = value.double or value.uint64 or value.uint32 or value.float  # as in number_of: a call takes as long
        if not number:
            kind = value.WhichOneof(KIND)
            if kind is None:
                if _is_unknown(metric):
                    unknown.append(len(numbers))
                number = NAN
            elif kind == "text":
                texts[len(numbers)], number = value.text, NAN
        numbers.append(number)
    return numbers, texts, unknown


def _is_unknown(metric: Any) -> bool:
    """Tell whether the value of a metric without one has a type not known here; raises DamagedData where it is lost."""
    if metric.value.ByteSize() or len(UnknownFieldSet(metric)):
        return True
    if metric.instances and not _is_instance(metric.instances[0]):
        raise DamagedData("the report is damaged: the value of a metric is in the wrong place")
    return False


def _is_instance(raw: bytes) -> bool:
    """Tell whether this may be an instance: an identifier or none, then a value, in the fields 1 and 2."""
    behind_id = 2 + raw[1] if raw[:1] == b"\n" and len(raw) > 1 else 0
    return behind_id > MAX_SHORT or raw[behind_id : behind_id + 1] == b"\x12"


class InstanceTable:
    """The instances of all launches as columns; texts are numbers in ``texts``."""

    def __init__(self) -> None:
        self.columns: dict[str, array[Any]] = {name: array(code) for name, code in INSTANCE_COLUMNS.items()}
        self.texts: dict[str, int] = {}

    def add(self, launch: int, metrics: Any, strings: list[str]) -> None:
        """Append the instances of one launch, in the order of the file; a metric that stands twice counts once."""
        done = set()
        for metric in metrics:
            if metric.name not in done:
                self._add_metric(launch, self._number(strings[metric.name]), metric.instances)
            done.add(metric.name)

    def _add_metric(self, launch: int, metric: int, instances: Any) -> None:
        ids = [self._scalar(one.id) for one in instances]
        values = [self._scalar(one.value) for one in instances]
        new = {
            "launch": [launch] * len(ids),
            "metric": [metric] * len(ids),
            "instance": range(len(ids)),
            "id": [NO_ID if number != number else int(number) for number, _ in ids],
            "id_text": [text for _, text in ids],
            "value": [number for number, _ in values],
            "text": [text for _, text in values],
        }
        for name, column in self.columns.items():
            column.extend(new[name])

    def _scalar(self, value: Any) -> tuple[float, int]:
        """Return the number of a value, NaN where it has none, and the number of its text."""
        number = number_of(value)
        if number:
            return number, NO_TEXT
        kind = value.WhichOneof(KIND)
        if kind == "text":
            return NAN, self._number(value.text)
        return (NAN if kind is None else 0), NO_TEXT

    def _number(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def write(self, folder: Path) -> None:
        """Write each column into a file of its name."""
        for name, column in self.columns.items():
            with (folder / name).open("wb") as out:
                column.tofile(out)
