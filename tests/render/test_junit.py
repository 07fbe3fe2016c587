"""A gate as JUnit's XML: what fails, what errs, what passes, and text from outside."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as xml

from gated import BOTH, LARGE, NO_CONFLICTS, SMALL, Archive, judged

from ncu_assist.analysis.gate import Gate, GateSet, NotMeasured, Unmeasured
from ncu_assist.record import Check
from ncu_assist.render.junit import junit


def suites(*gates: Gate | NotMeasured) -> list[xml.Element]:
    root = xml.fromstring(junit(GateSet("main", gates)))
    assert root.tag == "testsuites"
    return list(root)


def test_each_limit_on_each_workload_is_a_case(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.save("v0_torch", BOTH, {})
    archive.save("v1_own", {SMALL: 1.2e5, LARGE: 1e6}, {})
    (suite,) = suites(judged(archive, "v1", "time:2%", NO_CONFLICTS))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "0")
    (failure,) = suite.iter("failure")
    assert failure.get("type") == "regression"
    assert re.search(r"time 2 %: \+[\d.]+ % \(99 % interval \+[\d.]+ to \+[\d.]+\)", str(failure.get("message")))
    kept = [str(case.findtext("system-out")) for case in suite.iter("testcase") if case.find("failure") is None]
    assert any(re.fullmatch(r"[+-]?[\d.]+ % \(99 % interval .* to .*\)", said) for said in kept)
    assert {case.get("classname") for case in suite.iter("testcase")} == {"add_one.v1_own"}


def test_what_is_unclear_or_not_measured_is_an_error(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.save("v0_torch", {SMALL: 1e5}, {})
    archive.save("v1_own", {SMALL: 0}, {})
    lost = NotMeasured(archive.store.runs("add_one", "v0_torch")[0], Unmeasured("add_one", "v2_new"), "profile it")
    unclear, missing = suites(judged(archive, "v1"), lost)
    assert [one.get("type") for one in unclear.iter("error")] == ["unclear"]
    (error,) = missing.iter("error")
    assert error.get("type") == "not measured"
    assert error.text == "try: profile it"


def test_text_from_outside_breaks_no_xml(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    evil = "]]><x a='\x1b[2J\ufffe"
    archive.save("v0_torch", {SMALL: 1e5})
    archive.save("v1_own", {SMALL: 1e5}, checks=(Check(SMALL, False, evil, (0,), None, None),))
    (suite,) = suites(judged(archive, "v1"))
    (failure,) = suite.iter("failure")
    assert "\\x1b" in str(failure.get("message"))


def test_names_of_cases_do_not_depend_on_the_baseline(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.save("v0_torch", {SMALL: 1e5})
    archive.save("v1_own", {SMALL: 1.1e5})
    archive.save("v2_new", {SMALL: 1e5})
    suites_of = [suites(judged(archive, "v2", against=against))[0] for against in ("v0", "v1")]
    first, second = ([case.get("name") for case in suite.iter("testcase")] for suite in suites_of)
    assert first == second == ["small: time 2 %"]
    assert [suite.get("name") for suite in suites_of] == ["add_one/v2 against v0", "add_one/v2 against v1"]
