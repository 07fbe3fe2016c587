"""Nothing that names a machine or a person gets into the evidence, wherever it stands."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from kernel_folder import PYTHON_VERSION, TOML
from suggest.recorded import made_project

from ncu_assist.render.redact import Identity
from ncu_assist.store.drafts import Claim, Draft
from ncu_assist.suggest.evidence.gathering import evidence, failed_of
from ncu_assist.suggest.evidence.task import Cleaner
from ncu_assist.suggest.model import ToolLimits
from ncu_assist.suggest.session import RedactedTools

SECRETS = ("/home/alice/kernels", "alice", "gpu-node-17", "10.1.2.3", "carol@example.org")
SOURCE = f"""# Changes: tuned on gpu-node-17 by alice, see /home/alice/kernels/notes and carol@example.org at 10.1.2.3
{PYTHON_VERSION}# last seen in /home/alice/kernels/old.py
"""


def test_nothing_of_it_is_left(tmp_path: Path) -> None:
    toml = TOML.replace("adds one", "adds one, as in /home/alice/kernels/spec")
    names = Identity.of(["gpu-node-17"])
    found = evidence(made_project(tmp_path, SOURCE, toml), "add_one/v1", identity=names)
    text = repr(dataclasses.asdict(found))
    for secret in (*SECRETS, str(tmp_path)):
        assert secret not in text, secret
    assert found.source.redacted == 2
    assert len(found.source.lines) == SOURCE.count("\n")


def test_by_default_the_names_of_this_machine_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "gpu-node-17")
    monkeypatch.setattr("getpass.getuser", lambda: "alice")
    found = evidence(made_project(tmp_path, "# by alice on gpu-node-17\n" + PYTHON_VERSION), "add_one/v1")
    assert found.source.lines[0] == "# by <user> on <host>"


def test_code_keeps_its_lines_and_loses_what_cannot_be_seen() -> None:
    assert Cleaner().code("a\r\n\x0cb\u2028c\n\nd\n") == ("a", "\\x0cb\\u2028c", "", "d")


def test_failed_drafts_are_told_in_order_and_redacted() -> None:
    def draft(name: str, fate: str, created: str, kernel: str = "add_one", source: str = "5c1e") -> Draft:
        claim = Claim("x", f"change of {name} in /home/alice/kernels\nand more", "slug")
        return Draft(
            name, kernel, "add_one/v1_torch@r", created, "m", "model", 1, 1, "d", claim, ".py", "", source, fate,  # type: ignore[arg-type]
            "wrong on small",
        )  # fmt: skip

    drafts = [
        draft("b", "rejected", "2026-02"), draft("a", "rejected", "2026-01"), draft("c", "kept", "2026-03"),
        draft("d", "rejected", "2026-03", "other"), draft("e", "drafted", "2026-03"),
        draft("f", "rejected", "2026-03", source=""),  # an edit matched nothing: the idea was never tried
    ]  # fmt: skip
    found = failed_of(drafts, "add_one", Cleaner())
    assert [(one.id, one.parent, one.reason) for one in found] == [
        ("a", "v1_torch", "wrong on small"),
        ("b", "v1_torch", "wrong on small"),
    ]
    assert found[0].change == "change of a in <path> and more"


class Echo:
    """A tool that says what it was given."""

    about, offered, limits = "", (), ToolLimits()

    def call(self, name: str, arguments: str) -> str:
        return arguments


def test_what_a_tool_answers_a_model_is_redacted_too() -> None:
    tools = RedactedTools(Echo(), Cleaner(Identity.of(["gpu-node-17"], ["USER=alice"])))
    said = tools.call("lines", SOURCE)
    assert not [secret for secret in SECRETS if secret in said]
    assert "torch.add(x, 1.0, out=y)" in said
