"""The keys of the parts of a path are the engine's own: their defaults, ranges and names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dumbbell import _native, from_dict, plan
from dumbbell.errors import ScenarioError
from dumbbell.scenario import settings
from dumbbell.scenario.qdiscs import Qdisc

PARTS: dict[str, dict[str, Any]] = {part["kind"]: part for part in json.loads(_native.parts())}
DISCIPLINES = [kind for kind in Qdisc.FORMS if kind != "fifo"]
NUMBERS = [(kind, field) for kind in DISCIPLINES for field in PARTS[kind]["fields"] if field["unit"] == "number"]


def planned(qdisc: dict[str, Any]) -> dict[str, Any]:
    path = {"rate": "40Mbps", "rtt": "40ms", "buffer": "1bdp", "qdisc": qdisc}
    made = plan.runs(from_dict({"duration": "1s", "path": path, "flow": [{"cca": "cubic"}]}))[0].plan
    return dict(made["links"][0]["qdisc"])


@pytest.mark.parametrize("kind", DISCIPLINES)
def test_a_plan_says_every_setting_of_a_discipline_and_leaves_each_at_the_engines_default(kind: str) -> None:
    made = planned({"kind": kind})
    fields = PARTS[kind]["fields"]
    assert set(made) == {"kind", *(field["key"] for field in fields)}
    for field in fields:
        if field["unit"] != "link" and not field["is_required"]:
            assert made[field["key"]] == field["default"], field["key"]


@pytest.mark.parametrize(("kind", "field"), NUMBERS, ids=[f"{kind}.{field['name']}" for kind, field in NUMBERS])
def test_a_number_out_of_the_engines_range_is_refused_at_its_key(kind: str, field: dict[str, Any]) -> None:
    with pytest.raises(
        ScenarioError, match=rf"^path\.qdisc\.{field['name']}: .* from {field['min']} to {field['max']}"
    ):
        planned({"kind": kind, field["name"]: field["max"] + 1})
    assert planned({"kind": kind, field["name"]: field["max"]})[field["key"]] == field["max"]


def test_the_engine_refuses_what_is_out_of_range_by_the_key_of_the_plan(tmp_path: Any) -> None:
    path = {"rate": "40Mbps", "rtt": "40ms", "qdisc": "fq_codel"}
    made = plan.runs(from_dict({"duration": "1s", "path": path, "flow": [{"cca": "cubic"}]}))[0].plan
    made["links"][0]["qdisc"]["flows"] = 0
    with pytest.raises(_native.PlanError, match=r"qdisc\.flows: must be 1 to 65536, got 0$"):
        _native.run(json.dumps(made), str(tmp_path))


def test_impairments_have_the_engines_defaults_too() -> None:
    for kind, part in PARTS.items():
        table = getattr(settings, "".join(map(str.capitalize, kind.split("_"))) + "Settings", None)
        if table is None:
            assert kind == "fifo"
            continue
        made = table.ENGINE
        assert set(made.values()) == {field["key"] for field in part["fields"] if field["unit"] != "link"}
        for field in part["fields"]:
            name = next((mine for mine, key in made.items() if key == field["key"]), None)
            if name is None or field["is_required"] or kind in Qdisc.FORMS:
                continue
            spec = table.KEYS[name]
            value = None if spec.default is None else spec.kind.take(spec.default, name)
            assert value == field["default"], f"{kind}.{name}"
