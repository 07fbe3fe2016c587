"""Nothing in a blanked report names a machine, and every value in it is what it was."""

from __future__ import annotations

import re
from pathlib import Path

import blanking
import pytest
from ncu.nvidia_reader import everything

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu import report_file
from ncu_assist.ncu.compressed import read_plain

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
FOLDER = re.compile(rb"p1x{20,}(?=[/\0])")  # what blanking made of the source folder in the recorded report
SECRET_FOLDER = b"/home/alice/secret-project/kernels"
# None of these may stand in a report that is committed. Short ones turn up in machine code and are not looked for.
FORBIDDEN = re.compile(
    rb"/(?:home|root|tmp|usr|opt|mnt|workspace|pytorch|var)/[\w.+-]+|alice|swordfish|sk-[A-Za-z0-9]{20}"
)


def revealing(blanked: bytes) -> bytes:
    """Return the recorded report as it was before it was blanked, with a folder and a host of our own."""
    data = blanked
    for filler in set(FOLDER.findall(blanked)):
        data = data.replace(filler, SECRET_FOLDER.ljust(len(filler), b"z"))
    host = next(
        at
        for block in report_file.blocks(data)
        for at in [data.find(b"\x2a\x02xx", block.header_start, block.header_end)]
        if at > 0
    )
    return data[: host + 2] + b"vm" + data[host + 4 :]


@pytest.fixture
def revealed(full: bytes) -> bytes:
    data = revealing(full)
    assert b"alice" in data
    return data


def test_host_and_paths_are_found_wherever_they_are(revealed: bytes) -> None:
    names = blanking.identifying_strings(revealed)
    assert ("host", "vm") in [(kind, text) for kind, text, _ in names]
    paths = {text for kind, text, _ in names if kind == "path"}
    assert any(path.endswith("/transpose.cu") for path in paths)
    assert any(not path.endswith(".cu") for path in paths), "the folder in the cubin's line table"
    for _, text, at in names:
        assert revealed[at : at + len(text)] == text.encode()


def test_a_blanked_report_reads_as_before(revealed: bytes, tmp_path: Path) -> None:
    blanked = blanking.blank(revealed)
    assert len(blanked) == len(revealed)
    assert b"alice" not in blanked
    assert blanking.leftovers(blanked, ["alice", "secret-project"]) == ()
    before, after = tmp_path / "before.ncu-rep", tmp_path / "after.ncu-rep"
    before.write_bytes(revealed)
    after.write_bytes(blanked)
    known = everything(before)
    assert known[0]["lines"][0][2][0] == "transpose.cu"  # type: ignore[index]
    found = everything(after)
    for old, new in zip(known, found, strict=True):
        assert {k: v for k, v in new.items() if k != "rules"} == {k: v for k, v in old.items() if k != "rules"}
        assert len(new["rules"]) == len(old["rules"])  # type: ignore[arg-type]


def test_blanking_twice_changes_nothing(revealed: bytes) -> None:
    blanked = blanking.blank(revealed)
    assert blanking.blank(blanked) == blanked


def test_secrets_go_wherever_they_stand(full: bytes) -> None:
    assert blanking.leftovers(full, ["Three small kernels"]) == ("Three small kernels",)
    assert b"Three small kernels" not in blanking.blank(full, ["Three small kernels"])


@pytest.mark.parametrize("secret", ["vm", "dram__bytes"])
def test_a_secret_that_cannot_be_removed_is_said(full: bytes, secret: str) -> None:
    with pytest.raises(UsageProblem, match=secret):
        blanking.blank(full, [secret])


def test_folders_of_one_length_stay_apart() -> None:
    assert blanking._folder_filler(b"/aaaaa", 1) != blanking._folder_filler(b"/bbbbb", 2)
    assert len(blanking._folder_filler(b"/abc", 12345)) == 4


def test_reports_of_2022_are_blanked_with_their_environment(old_report: Path) -> None:
    data = read_plain(old_report)
    kinds = {kind for kind, *_ in blanking.identifying_strings(data)}
    assert {"host", "system", "address", "process", "command line", "launch settings"} <= kinds
    blanked = blanking.blank(data)
    assert blanking.leftovers(blanked, ["lcedt", "parallel_forall"]) == ()
    assert report_file.metric_counts(blanked) == report_file.metric_counts(data)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.ncu-rep.zst")), ids=lambda path: path.name)
def test_recorded_reports_name_no_machine(path: Path) -> None:
    data = read_plain(path)
    assert blanking.leftovers(data) == ()
    assert FORBIDDEN.findall(data) == []
