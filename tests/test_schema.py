"""The JSON Schema is fresh, and agrees with the parser."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conftest import ROOT
from dumbbell import controllers, from_file, plan
from dumbbell.scenario import schema
from test_scenario_errors import BASE, CASES, toml

GALLERY = sorted((ROOT / "scenarios").glob("*.toml"))

#: Errors that a schema cannot see, because they depend on two keys, on arithmetic, or on the engine.
BEYOND_A_SCHEMA = (
    "comes to", "as well", "fall back", "end of the run", 'such as "40Mbps" (bps', "above zero", "101%", "a/b",
        "first R", "first r", "another part",
    "no such key", "either", "a name of its own", "more than min", "path.buffer: missing", "link[0].buffer: missing",
    "l9", "no size next", "in all",
    "varies already", "value once", "from 100B", "at least one packet", "/s (", "us apart", "as many as there are runs",
        "outages end", "without a rate", "at most the duration",
    "together with p", "a flow in one of them", "a finite number",
)  # fmt: skip


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema.Draft202012Validator.check_schema(schema.schema())
    return jsonschema.Draft202012Validator(schema.schema())


def test_the_schema_file_is_fresh() -> None:
    path = ROOT / "python" / "dumbbell" / "scenario" / "schema.json"
    assert path.read_text() == schema.text(), "run: dumbbell schema > python/dumbbell/scenario/schema.json"


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_gallery_scenario_is_valid_refers_to_the_schema_and_plans(path: Path, validator: Any) -> None:
    text = path.read_text()
    assert text.startswith("#:schema ../python/dumbbell/scenario/schema.json\n")
    validator.validate(tomllib.loads(text))
    scenario = from_file(path).scenario
    assert scenario.name == path.stem
    assert plan.runs(scenario)


@pytest.mark.parametrize(
    ("changes", "message"), [c for c in CASES if c[1] and not any(word in c[1] for word in BEYOND_A_SCHEMA)]
)
def test_what_the_parser_refuses_by_its_form_the_schema_refuses_too(
    changes: dict[str, str | None], message: str, validator: Any
) -> None:
    assert not validator.is_valid(tomllib.loads(toml(changes))), message


def test_the_scenario_of_the_error_tests_is_valid(validator: Any) -> None:
    validator.validate(tomllib.loads(toml({})))
    assert BASE


def test_an_editor_is_told_the_names_of_controllers_presets_and_parameters(validator: Any) -> None:
    keys = schema.schema()["$defs"]["Flow"]["properties"]
    assert keys["cca"]["anyOf"][0]["anyOf"][0]["enum"] == list(controllers.known())
    assert keys["preset"]["anyOf"][0]["anyOf"][0]["enum"] == ["chromium", "chromium-2019", "linux-4.9", "paper"]
    params = {name for one in controllers.known().values() for name in one.params}
    assert set(keys["params"]["anyOf"][0]["properties"]) == params
    assert keys["params"]["anyOf"][0]["properties"]["hystart"]["description"] == "of cubic"
    own = {"cca": ["cubic", "mine"], "params": {"beta": [717, 800], "mine": 3}}
    validator.validate({"duration": "1s", "path": {"rate": "1Mbps"}, "flow": [own]})
    refused = {"duration": "1s", "path": {"rate": "1Mbps"}, "flow": [{"cca": "cubic", "params": {"beta": "717"}}]}
    assert not validator.is_valid(refused)


def test_every_key_has_a_text() -> None:
    for name, table in [("scenario", schema.schema()), *schema.schema()["$defs"].items()]:
        for key, value in table.get("properties", {}).items():
            assert len(value["description"]) > 10 or key in ("path", "host", "flow", "record", "kind"), (name, key)


def test_the_command_prints_the_same(cli: Any) -> None:
    assert json.loads(cli("schema").stdout) == schema.schema()


def test_names_that_are_known_without_a_description_are_those_of_all_controllers() -> None:
    assert controllers._names() == set(controllers.known())
