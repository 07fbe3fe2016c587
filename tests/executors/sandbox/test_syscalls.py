"""The filter of system calls, as the kernel applies it inside and as it would on another processor."""

from __future__ import annotations

import platform
import struct
import sys

import pytest
from executors.sandbox.conftest import Scene

from ncu_assist.executors.sandbox import plan
from ncu_assist.executors.sandbox.plan import call_filter

TRIES = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def code(result):
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "done"
for number in {numbers}:
    print(number, code(libc.syscall(number, -1, 0, 0, 0, 0)))
print("clone", code(libc.syscall({clone}, 0x10000000 | 17, 0, 0, 0, 0)))
"""


def run(steps: bytes, number: int, argument: int, architecture: int) -> int:
    """Interpret a filter as the kernel would."""
    program = [struct.unpack_from("HBBI", steps, at) for at in range(0, len(steps), 8)]
    words = {plan.NUMBER: number, plan.ARCHITECTURE: architecture, plan.FIRST_ARGUMENT: argument}
    at = loaded = 0
    while True:
        code, if_so, if_not, value = program[at]
        at += 1
        if code == plan.RETURN:
            return int(value)
        if code == plan.LOAD:
            loaded = words[value]
            continue
        holds = {plan.EQUAL: loaded == value, plan.AT_LEAST: loaded >= value}
        at += if_so if holds.get(code, bool(loaded & value)) else if_not


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_is_allowed_and_what_is_not(machine: str) -> None:
    steps, own = call_filter(machine), plan.AUDIT[machine]
    assert {run(steps, number, 0, own) & ~0xFFF for number in plan.REFUSED[machine]} == {plan.REFUSE}
    assert run(steps, plan.CLONE3, 0, own) == plan.REFUSE | 38
    assert run(steps, 0, 0, 0x40000003) == plan.REFUSE | 38, "calls of 32-bit programs have other numbers"
    clone, door = plan.CLONE[machine], plan.SOCKET[machine]
    assert run(steps, clone, 0x3D0F00, own) == plan.ALLOW, "a thread"
    assert run(steps, clone, plan.NEW_USER | 17, own) == plan.REFUSE | 1
    assert {family for family in range(50) if run(steps, door, family, own) == plan.ALLOW} == {1, 2, 10, 16}
    others = set(range(450)) - {*plan.REFUSED[machine], plan.CLONE3, door}
    assert {run(steps, number, 0, own) for number in others} == {plan.ALLOW}


def test_an_unknown_processor_has_no_filter() -> None:
    with pytest.raises(KeyError):
        call_filter("riscv64")


def test_the_kernel_applies_it(scene: Scene) -> None:
    machine = platform.machine()
    code = TRIES.format(numbers=plan.REFUSED[machine], clone=plan.CLONE[machine])
    done = scene.sandbox().run([sys.executable, "-c", code], cwd=scene.job)
    assert {line.split()[1] for line in done.stdout.splitlines()} == {"EPERM"}, done.stdout + done.stderr
