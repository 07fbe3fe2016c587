import json
from dataclasses import replace

import pytest

from ncu_assist.errors import DamagedData
from ncu_assist.record import (
    ROUNDED,
    Check,
    Device,
    HostMemory,
    Run,
    Toolchain,
    WorkloadFacts,
    content_digest,
    decode,
    encode,
)


def run() -> Run:
    workload = WorkloadFacts("b1", "float32", {"n": 4}, 32, 4)
    check = Check("b1", True, "", (1, 2), 1e-7, 2e-7)
    return Run(
        run_id="20260101T000000Z-abcd", kernel="k", version="v1_a", source="live", created="2026-01-01T00:00:00Z",
        tool="0.1.0", machine=None, source_sha256="00", verified=True, device=None, toolchain=Toolchain(python="3.12"),
        workloads=(workload,), checks=(check,),
    )  # fmt: skip


def test_a_run_survives_its_file() -> None:
    back = decode(encode(run()))
    assert back.workloads == run().workloads
    assert back.checks == run().checks


def test_a_run_from_before_host_memory_reads_as_before() -> None:
    written = json.loads(encode(run()))
    del written["host_memory"]
    for workload in written["workloads"]:
        del workload["host_bytes"]
    written["digest"] = content_digest(json.dumps(written).encode())
    back = decode(json.dumps(written).encode())
    assert back.host_memory is None
    assert back.workloads == run().workloads
    memory = HostMemory(("x",), True, (0,), 0, None, 5, 16)
    assert decode(encode(replace(run(), host_memory=memory))).host_memory == memory


@pytest.mark.parametrize(
    ("old", "name"),
    [
        ("GeForce RTX 3090", "NVIDIA GeForce RTX 3090"),
        ("A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"),
        ("NVIDIA H200", "NVIDIA H200"),
        ("Tesla T4", "Tesla T4"),
        ("NVIDIA Tesla T4", "Tesla T4"),
        ("unknown GPU", "unknown GPU"),
        ("", ""),
    ],
)
def test_a_gpu_has_one_name_by_any_driver_also_in_runs_that_have_the_other(old: str, name: str) -> None:
    device = Device(old, "", "8.6", 82, None, None, "460.32")
    assert replace(run(), device=device).gpu == name
    written = json.loads(encode(replace(run(), device=device)))
    written["device"]["name"] = old
    written["digest"] = content_digest(json.dumps(written).encode())
    assert decode(json.dumps(written).encode()).gpu == name


@pytest.mark.parametrize(
    ("note", "untimed", "silent", "rounded"),
    [
        ("no time on b1, b2: every sample was late", {"b1", "b2"}, (), False),
        ("launched no kernel on b1, b2: nothing to count", set(), ("b1", "b2"), False),
        ("launched no kernel: nothing to count", set(), ("b1",), False),
        (ROUNDED, set(), (), True),
        ("read from a CSV export: values are rounded, and rules, instances and source are not in it", set(), (), True),
        ("another note: of no kernel", set(), (), False),
    ],
)
def test_what_an_older_run_says_in_a_note_alone_is_read_from_it(
    note: str, untimed: set[str], silent: tuple[str, ...], rounded: bool
) -> None:
    back = decode(encode(replace(run(), notes=(note,))))
    assert (back.untimed, back.silent, back.rounded) == (dict.fromkeys(untimed, note), silent, rounded)


def test_what_decides_is_no_wording_of_a_note() -> None:
    told = replace(run(), notes=("reworded",), untimed={"b1": "reworded"}, silent=("b2",), rounded=True)
    back = decode(encode(told))
    assert (back.untimed, back.silent, back.rounded) == ({"b1": "reworded"}, ("b2",), True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'"passed": true', b'"passed": false', "changed after it was written"),
        (b'"passed": true', b'"passed": 7', "cannot be read"),
        (b"ncu-assist.run/1", b"ncu-assist.other/1", "has schema"),
        (b"ncu-assist.run/1", b"ncu-assist.run/9", "written by a newer ncu-assist"),
        (b"}", b"", "cannot be read"),
    ],
)
def test_a_changed_file_is_damaged(old: bytes, new: bytes, words: str) -> None:
    with pytest.raises(DamagedData, match=words):
        decode(encode(run()).replace(old, new, 1))


def test_other_spaces_and_escapes_are_the_same_record() -> None:
    run = Run("r", "k", "v", "live", "2026", "0", None, None, True, None, Toolchain(), (), notes=("µs",))
    written = decode(encode(run))
    for data in (json.dumps(json.loads(encode(run)), indent=3), json.dumps(json.loads(encode(run)))):
        assert decode(data.encode()) == written
    with pytest.raises(DamagedData):
        decode(encode(run).replace("µs".encode(), b"ms"))
