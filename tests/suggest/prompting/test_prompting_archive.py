"""Kept prompts: one that an earlier version wrote is read, one that was changed is not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ncu_assist.errors import DamagedData
from ncu_assist.suggest.evidence.records import Evidence
from ncu_assist.suggest.prompting import PromptArchive, build_prompt


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_one_whose_evidence_had_fewer_fields_is_read(tmp_path: Path, v6: Evidence) -> None:
    PromptArchive(tmp_path).keep(build_prompt(v6))
    (path,) = (tmp_path / "lightning_decode" / "suggest").glob("prompt-*.json")
    written = json.loads(path.read_text())
    for chapter in written["evidence"]["story"]:
        del chapter["proved"], chapter["disproved"]
    id = f"prompt-{hashlib.sha256(compact(written['evidence']).encode()).hexdigest()[:12]}"
    earlier = path.with_name(f"{id}.json")
    earlier.write_text(compact({**written, "id": id}))
    assert PromptArchive(tmp_path).find(id).evidence == v6
    earlier.write_text(earlier.read_text().replace('"version":"v6_coalesced_store"', '"version":"v7"', 1))
    with pytest.raises(DamagedData, match="was changed after it was written"):
        PromptArchive(tmp_path).find(id)
