"""The steps of action.yml run as a runner does: each ``run`` as it stands there, by bash, with what it is given."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ncu_assist import process

ROOT = Path(__file__).parents[1]
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")
TERM = re.compile(r"(?P<call>always\(\))|(?P<name>[\w.-]+) == '(?P<value>[^']*)'")


@dataclass
class Acted:
    """What a job came to: the name of each step that ran with its exit code, what they said, and the files it left."""

    codes: dict[str, int] = field(default_factory=dict)
    said: str = ""
    summary: str = ""
    comments: str = ""

    @property
    def is_green(self) -> bool:
        return not any(self.codes.values())


def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text()))


def act(
    folder: Path,
    scratch: Path,
    inputs: Mapping[str, str],
    event: str = "pull_request",
    fork: bool = False,
    before: str = "",
    ref: str = "main",
) -> Acted:
    """Run the action in a checkout.

    ``fork``: the token that it has may write no comment. ``before`` is what the branch ``ref`` was before a push.
    """
    scratch.mkdir(parents=True)
    made, done = action(), Acted()
    given = {name: str(one.get("default", "")) for name, one in made["inputs"].items()} | dict(inputs)
    known = {f"inputs.{name}": value for name, value in given.items()} | {
        "github.event.number": "7",
        "github.event.before": before,
        "github.event.repository.default_branch": "main",
    }
    files = {name: scratch / name for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.touch()
    _programs(scratch / "bin", fork, folder.parent / "comments")
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT")},
        **{name: str(path) for name, path in files.items()},
        "PATH": f"{scratch / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GITHUB_EVENT_NAME": event,
        "GITHUB_BASE_REF": "main" if event == "pull_request" else "",
        "GITHUB_REF_NAME": ref if event == "push" else "7/merge",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_REPOSITORY": "OWNER/kernels",
        "CUDA_VISIBLE_DEVICES": "",
    }
    for step in made["runs"]["steps"]:
        if "run" not in step or not _goes(step.get("if", ""), known, done.is_green):
            continue
        own = {name: _filled(value, known) for name, value in step.get("env", {}).items()}
        script = scratch / "step.sh"
        script.write_text(step["run"])
        argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        ended = process.run(
            argv,
            env={**env, **_pairs(files["GITHUB_ENV"]), **own},
            cwd=folder / _filled(step.get("working-directory", "."), known),
            timeout_s=300,
        )
        done.codes[step["name"]] = ended.exit_code
        done.said += ended.stdout + ended.stderr
        if "id" in step:
            outputs = _pairs(files["GITHUB_OUTPUT"])
            known |= {f"steps.{step['id']}.outputs.{name}": value for name, value in outputs.items()}
    done.summary = files["GITHUB_STEP_SUMMARY"].read_text()
    comments = folder.parent / "comments"
    done.comments = comments.read_text() if comments.exists() else ""
    return done


def _filled(text: object, known: Mapping[str, str]) -> str:
    return EXPRESSION.sub(lambda match: known.get(match[1], ""), str(text))


def _goes(condition: str, known: Mapping[str, str], is_green: bool) -> bool:
    """Tell whether a step runs: conditions here are terms of ``always()`` and of an equality, joined by ``&&``."""
    terms = [TERM.fullmatch(term.strip()) for term in condition.split("&&")] if condition else []
    assert all(terms), f"not understood: {condition}"
    wanted = all(known.get(term["name"], "") == term["value"] for term in terms if term and term["name"])
    return wanted and (is_green or any(term["call"] for term in terms if term))


def _pairs(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


def _programs(folder: Path, fork: bool, place: Path) -> None:
    """Write ``ncu-assist`` as it is here, and a ``gh`` that notes what it would send, or refuses as for a fork.

    There is one comment, at ``place``, which the next job finds. ``python3 -m pip`` only says what it would install.
    """
    folder.mkdir()
    refusal = "echo 'GraphQL: Resource not accessible by integration' >&2; exit 1"
    sends = f"""
case "$*" in
*--jq*) if [ -e {place} ]; then echo 42; fi ;;
*PATCH*issues/comments/42*body=@*|*POST*issues/7/comments*body=@*)
  last="${{*: -1:1}}"; cat "${{last#body=@}}" > {place} ;;
*) exit 1 ;;
esac"""
    programs = {
        "ncu-assist": f'exec {sys.executable} -m ncu_assist "$@"',
        "gh": refusal if fork else sends,
        "python3": 'echo "python3 $*"',
    }
    for name, script in programs.items():
        path = folder / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IEXEC)


def steps() -> Iterator[dict[str, Any]]:
    yield from action()["runs"]["steps"]
