"""The JSON Schemas: every command and file has one, every key is described, and what is written is as they say."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from jsonschema import Draft202012Validator
from schemas import held, validator

from ncu_assist import record, spec_file
from ncu_assist.ceilings import storage
from ncu_assist.cli import COMMANDS, cli
from ncu_assist.render.json.keys import MEANINGS
from ncu_assist.render.json.schemas import ANSWERS, FILES, described_objects, schema_of
from ncu_assist.store import findings

ROOT = Path(__file__).parents[2]
NAMES = [*ANSWERS, *FILES]


def with_json(command: click.Command) -> bool:
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return any(one.name == "as_json" for one in command.params) or any(map(with_json, below))


def test_every_command_with_json_has_a_schema() -> None:
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in COMMANDS}
    missing = [name for name, one in commands.items() if one and with_json(one) and name not in ANSWERS]
    below = {name: getattr(commands[name], "commands", {}) for name in missing}
    assert [
        name for name in missing if not below[name] or {f"{name}-{one}" for one in below[name]} - set(ANSWERS)
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_describes_every_key(name: str) -> None:
    Draft202012Validator.check_schema(schema_of(name))
    keys = [(title, key, one) for title, made in described_objects(name) for key, one in made["properties"].items()]
    assert [f"{title}.{key}" for title, key, one in keys if not one["description"]] == []
    assert [f"{title}.{key}" for title, key, one in keys if has_number(one) and not one.get("unit")] == []


def has_number(said: Any) -> bool:
    """Whether a key holds a number that is no count."""
    if isinstance(said, dict):
        return said.get("type") == "number" or any(has_number(one) for key, one in said.items() if key != "description")
    return isinstance(said, list) and any(map(has_number, said))


def test_no_meaning_is_of_a_key_that_is_gone() -> None:
    used = {
        f"{title}.{key}" if f"{title}.{key}" in MEANINGS else key
        for name in NAMES
        for title, made in described_objects(name)
        for key in made["properties"]
    }
    assert set(MEANINGS) - used == set()


@pytest.mark.parametrize("change", [{"more": 1}, {"runs": "two"}])
def test_another_key_and_another_type_are_refused(change: dict[str, Any]) -> None:
    answer = {"schema": "ncu-assist.verify/1", "runs": 2, "drafts": 0, "damaged": []}
    assert held(answer) is answer
    with pytest.raises(AssertionError, match=r"more|two"):
        held(answer | change)
    damage = {"path": "k/v/r", "problem": "is missing", "is_newer": False, "folder": "reports"}
    held(answer | {"damaged": [damage]})
    with pytest.raises(AssertionError, match="more"):
        held(answer | {"damaged": [damage | {"more": 1}]})
    with pytest.raises(AssertionError, match="required"):
        held({name: value for name, value in answer.items() if name != "runs"})


def recorded(pattern: str) -> Iterator[Any]:
    for path in sorted((ROOT / "reports").glob(pattern)):
        yield msgspec.json.decode(path.read_bytes())


@pytest.mark.parametrize(("name", "files"), [("run.json", "*/*/*/run.json"), ("findings.json", "*/*/*/findings.json")])
def test_what_is_archived_is_as_its_schema_says(name: str, files: str) -> None:
    found = list(recorded(files))
    assert len(found) > 100
    assert [wrong.message for one in found for wrong in validator(name).iter_errors(one)] == []


def test_ceilings_and_drafts_are_as_their_schemas_say() -> None:
    measured = [msgspec.json.decode(path.read_bytes()) for path in sorted(storage.SHIPPED.glob("*.json"))]
    drafts = list(recorded("*/suggest/*/draft.json"))
    assert measured
    assert drafts
    assert [wrong.message for one in measured for wrong in validator("ceilings.json").iter_errors(one)] == []
    assert [wrong.message for one in drafts for wrong in validator("draft.json").iter_errors(one)] == []


def test_kernel_folders_are_as_their_schema_says() -> None:
    found = [tomllib.loads(path.read_text()) for path in sorted((ROOT / "kernels").glob("*/kernel.toml"))]
    assert found
    assert [wrong.message for one in found for wrong in validator("kernel.toml").iter_errors(one)] == []
    schema = schema_of("kernel.toml")
    assert set(schema["properties"]) == {*spec_file.KEYS, *spec_file.OPTIONAL}
    assert set(schema["required"]) == set(spec_file.KEYS)
    for title, keys in (
        ("OutputKeys", spec_file.OUTPUT_KEYS),
        ("ToleranceKeys", spec_file.TOLERANCE_KEYS),
        ("HostKeys", spec_file.HOST_KEYS),
    ):
        assert schema["$defs"][title]["required"] == list(keys)


def test_a_file_names_the_schema_that_its_reader_knows() -> None:
    for name, known in (("run.json", record.SCHEMA), ("findings.json", findings.SCHEMA)):
        assert schema_of(name)["properties"]["schema"]["const"] == known
