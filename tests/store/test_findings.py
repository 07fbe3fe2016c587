"""What was said of a run stays what was said: findings.json round, and every way in which it can be damaged."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from factories import make_run, metrics_frame, save_run

from ncu_assist.errors import DamagedData
from ncu_assist.record import FileFact, encode
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.findings import FINDINGS, Findings, Judged, StoredFinding, decode_findings, findings_json

FAULT = StoredFinding("pipe-bound", "high", 5e4, 2.0, {"pipe": "xu"}, assumed=True)
NOTHING_LEFT = StoredFinding("launch-bound", "high", 1e5, None)
ONE = Judged("small", True, 0, "add_one_kernel", 1e5, (FAULT, NOTHING_LEFT), ("barrier-stall",))
SAID = Findings("0.0.9", ("pipe-bound", "launch-bound", "barrier-stall"), (ONE,), "c0de")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "reports")


def saved(store: Store, said: bytes | None = None) -> StoredRun:
    files = {FINDINGS: findings_json(SAID) if said is None else said}
    return save_run(store, make_run(), metrics_frame(), **files)


def with_other_bytes(stored: StoredRun, said: bytes) -> None:
    """Change the file, and the record too, so that its hash is right."""
    (stored.folder / FINDINGS).write_bytes(said)
    fact = FileFact(len(said), hashlib.sha256(said).hexdigest())
    record = encode(replace(stored.run, files={**stored.run.files, FINDINGS: fact}, digest=""))
    (stored.folder / "run.json").write_bytes(record)


def problems(store: Store) -> list[str]:
    return [damage.problem for damage in store.verify()]


def test_they_come_back_as_they_were(store: Store) -> None:
    stored = saved(store)
    assert stored.findings() == SAID
    assert FINDINGS in stored.run.files
    assert SAID.of_workload("small") == ONE
    assert SAID.of_workload("odd") is None
    assert store.verify() == []


def test_a_single_launch_does_not_stand_for_its_workload() -> None:
    launch = replace(ONE, whole=False)
    whole = replace(ONE, launch=None, kernel=None)
    assert Findings("0", (), (launch, whole)).of_workload("small") == whole


def test_an_older_run_has_none(store: Store) -> None:
    stored = save_run(store, make_run(), metrics_frame())
    assert stored.findings() is None
    assert store.verify() == []
    (stored.folder / FINDINGS).write_bytes(findings_json(SAID))
    assert stored.findings() is None
    assert problems(store) == ["findings.json is not a file of this run"]


def test_a_changed_figure_is_damage(store: Store) -> None:
    stored = saved(store)
    path = stored.folder / FINDINGS
    path.write_bytes(path.read_bytes().replace(b"2.0", b"9.0"))
    with pytest.raises(DamagedData, match=r"findings\.json was changed after it was written"):
        stored.findings()
    assert problems(store) == ["findings.json was changed after it was written (its hash differs)"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b'{"schema": "ncu-assist.findings/1"}', "cannot be read"),
        (findings_json(SAID).replace(b"50000.0", b'"much"'), "cannot be read"),
        (findings_json(SAID).replace(b"findings/1", b"other/1"), "this version reads 'ncu-assist.findings/1'"),
    ],
)
def test_what_is_not_findings_is_damage_under_a_right_hash_too(store: Store, said: bytes, why: str) -> None:
    with_other_bytes(saved(store), said)
    (stored,) = store.runs()
    with pytest.raises(DamagedData, match=f"findings.json.*{why}"):
        stored.findings()
    (problem,) = problems(store)
    assert why in problem
    assert not problem.startswith("add_one/")


@pytest.mark.parametrize("other", [replace(ONE, launch=7), replace(ONE, kernel="other"), replace(ONE, workload="odd")])
def test_findings_of_other_launches_are_damage(store: Store, other: Judged) -> None:
    saved(store, findings_json(replace(SAID, judged=(other,))))
    assert problems(store) == ["findings.json names launches that run.json does not list"]


def test_a_later_field_is_no_damage() -> None:
    said = findings_json(SAID).replace(b'"tool"', b'"more": [], "tool"')
    assert decode_findings(said, FINDINGS) == SAID
