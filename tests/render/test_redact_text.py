"""What identifies goes, whatever it looks like; code, links and figures stay."""

from __future__ import annotations

import random
import re

import pytest

from ncu_assist.render.redact import (
    IPV4,
    IPV6,
    LOCAL_HOST,
    MAC,
    MAIL,
    NOBODY,
    PATHS,
    SUSPECT,
    URL,
    Identity,
    file_name,
    redact_command,
    redact_mangled,
    redact_text,
)

KNOWN = Identity(hosts=("gpu17.corp.example.com", "gpu17"), users=("Alice Smith", "alice"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@source:/home/alice/proj/k.cu:12@ has", "@source:<path>/k.cu:12@ has"),
        ("/opt/tools/ncu --export /tmp/out", "<path>/ncu --export <path>"),
        ("see /a/b/k.cu.", "see <path>/k.cu."),
        ("x >/srv/eve/out.log 2>/srv/eve/err.log", "x ><path>/out.log 2><path>/err.log"),
        ("LD=/a/b:/c/d/e.so", "LD=<path>:<path>/e.so"),
        ('#include "/srv/eve smith/k.h"', '#include "<path>/k.h"'),
        ("f<main::{lambda at /srv/eve/k.cu:12:3}>(int)", "f<main::{lambda at <path>/k.cu:12:3}>(int)"),
        ("/home/eve", "<path>"),
        ("/scratch/eve.jones", "<path>"),
        ("~/srv/k.cu ~eve/a/b.cu", "<path>/k.cu <path>/b.cu"),
        (r"C:\Users\Eve Jones\proj\k.cu:3 now", "<path>/k.cu:3 now"),
        ("D:/srv/eve/k.cu", "<path>/k.cu"),
        (r"\\fileserver\share\dir\k.cu", "<path>/k.cu"),
        (r"\\wsl$\home\eve", "<path>"),
    ],
)
def test_of_an_absolute_path_the_name_of_a_file_stays(text: str, expected: str) -> None:
    assert redact_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.20.30.40:8080", "<address>:8080"),
        ("fe80::b39:551:8040:674%eno1", "<address>"),
        ("2001:db8:1a2:2860:73aa:73da:4329:4c78", "<address>"),
        ("aa:bb:cc:dd:ee:ff", "<address>"),
        ("eve.j@example.org wrote", "<user>@<host> wrote"),
        ("node1.svc.cluster.local", "<host>"),
        ("http://wiki.example.com/~eve and ssh://eve@box/x", "http://<host> and ssh://<host>"),
        ("file:///srv/eve/k.cu", "<path>/k.cu"),
        ("on gpu17:22, GPU17 or gpu17.corp.example.com", "on <host>:22, <host> or <host>"),
        ("alice, alice_gemm and Alice Smith", "<user>, <user>_gemm and <user>"),
    ],
)
def test_hosts_users_and_addresses_go(text: str, expected: str) -> None:
    assert redact_text(text, KNOWN) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://docs.nvidia.com/cuda/index.html#occupancy",
        "byte/s and/or 1/2, 16 warps/scheduler",
        "x = (a+b)/n/m; y = a[i]/b/c; // done",
        "./kernels/k.cu ../up/y.cu kernels/v1/k.cu",
        "127.0.0.1 ::1 2025.3.1.0 580.159.04",
        "void ops::scale<float, (int)2>(T1 *, int) fa::add(int) dead::beef",
        "@section:WarpStateStats:Warp State Statistics@",
        "32@lo((fun + .L_x)) @P0 BRA desc[UR4][R2.64+0x10]",
        "~Foo() { } p.local(x) malices gpu170",
        "",
    ],
)
def test_code_links_versions_and_loopback_stay(text: str) -> None:
    assert redact_text(text, KNOWN) == text


def test_lines_between_others_are_redacted_as_alone() -> None:
    lines = [
        "#include <cuda.h>",
        "// by alice, see /home/alice/notes/k.cu",
        "float x = 1.5f; // a::b",
        "",
        "ssh eve@box",
        "alice();",
    ]
    assert redact_text("\n".join(lines), KNOWN) == "\n".join(redact_text(line, KNOWN) for line in lines)
    assert redact_text("\r\n".join(lines), KNOWN) == "\r\n".join(redact_text(line, KNOWN) for line in lines)


PARTS = {  # of which what a pattern finds is made
    URL: ["http://", "org", "a", ":", "/", "@", "file://"],
    MAIL: ["a", "x1", "@", ".", "-", "org"],
    PATHS: ["/", "\\", ":", "~", ".", ",", "a", "k.cu", "C:", "Users", "srv", "$", '"', "'", "(", " "],
    MAC: ["aa:0F", ":9c:01", "-11-22", "33-44", "-", " "],
    IPV6: ["2001", "fe80", "FD12", ":", "aa", ".", "%"],
    IPV4: ["10.", "255.", "7", ".3.4", "-", " "],
    LOCAL_HOST: ["a.", "x1.", "lan", "local", "corp", "internal", "-"],
}


@pytest.mark.parametrize("pattern", PARTS, ids=lambda one: one.pattern[:12])
def test_no_line_that_a_pattern_changes_is_passed_over(pattern: re.Pattern[str]) -> None:
    draw, found = random.Random(1), 0
    for _ in range(5_000):
        text = "".join(draw.choices([*PARTS[pattern], "\n"], k=12))
        for match in pattern.finditer(text):
            found += 1
            assert "\n" not in match[0]
            line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
            assert SUSPECT.search(line), line
    assert found > 10


def test_a_redacted_text_stays_as_it_is() -> None:
    text = "alice@example.org on gpu17 http://x.org/y /home/alice/k.cu 10.1.2.3"
    once = redact_text(text, KNOWN)
    assert redact_text(once, KNOWN) == once


def test_a_command_loses_variables_logins_and_secrets() -> None:
    command = "HF_TOKEN=hf_abc USER='eve j' ncu --set full -DTILE=32 --api-key abc --user=eve ssh eve@box t.py --lr 1"
    assert redact_command(command) == (
        "HF_TOKEN=<value> USER=<value> ncu --set full -DTILE=32 --api-key <value> --user=<value> "
        "ssh <user>@<host> t.py --lr 1"
    )


def test_a_source_file_keeps_its_name_whatever_its_ending() -> None:
    assert file_name("/srv/eve jones/kernel.idea") == "<path>/kernel.idea"
    assert file_name(r"C:\work\k") == "<path>/k"
    assert file_name("kernels/k.cu") == "kernels/k.cu"


def test_in_a_mangled_name_letters_stand_on_either_side() -> None:
    assert redact_mangled("_ZN5alice4gemmEPf", KNOWN) == "_ZN5<user>4gemmEPf"


def test_names_are_found_where_they_are_given_away() -> None:
    found = Identity.of(
        hosts=["xx", "gpu17.example.com"],
        commands=["USER=bob HOSTNAME=node3 ssh carol@login1", "DISPLAY=:0"],
        texts=["at /data/home/dave/k.cu", r"C:\Users\Eve Jones\k.cu", "page/home/button", "kernel@plt"],
    )
    assert set(found.hosts) == {"gpu17.example.com", "gpu17", "node3", "login1"}
    assert set(found.users) == {"bob", "carol", "dave", "Eve Jones"}


@pytest.mark.parametrize("name", ["root", "ubuntu", "max", "sum", "x", "xxxxxx", "ab"])
def test_names_that_say_nothing_are_left_alone(name: str) -> None:
    assert Identity.of(commands=[f"USER={name}"]) == NOBODY


@pytest.mark.slow
@pytest.mark.parametrize("part", ["/a", "a@", "1.", "\\", "a:", "C:\\ ", "~/", "/", "A_", "--a-", '"/a', "fe80:"])
def test_a_megabyte_of_anything_is_quick(part: str) -> None:
    """About a second; what grows with the square takes hours, which the time limit of all tests ends."""
    text = part * (1_000_000 // len(part))
    redact_command(text, KNOWN)
    Identity.of([], [text], [text])
