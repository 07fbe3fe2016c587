"""The messages of a report, as a protocol buffer schema.

Field numbers are those of the format that Nsight Compute documents in its folder extras/FileFormat; the names are ours.
Everything is optional here, for a damaged report has to be told apart by what it lacks and not by an exception.
"""

from __future__ import annotations

from typing import Any

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
WITH_INSTANCES = ("Kernel", "Range", "CommandList", "Graph")  # each also as one whose metrics are InstancedMetric
MESSAGES |= {f"{name}Instances": MESSAGES[name].replace(" Metric ", " InstancedMetric ") for name in WITH_INSTANCES}


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
