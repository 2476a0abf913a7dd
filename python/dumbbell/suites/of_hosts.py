"""Settings of an entry's hosts that a back end's own hosts decide: they are left out of the runs, and whatever is made
of these says so. A key that the reader set stays, and the back end says whether it can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dumbbell import backends, controllers

#: Keys of a table: whether hosts cannot take a value, and what there is without it.
_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "host.nic": (
        lambda nic: nic == "virtual",
        "the hosts' own interfaces instead of host.nic = virtual: a packet of the queue need not be a whole send",
    ),
    "record.pcap": (bool, "no capture is kept: RTTs are those of every sample, smoothed as the kernel tells them"),
}


def adapted(scenario: Mapping[str, Any], on: str, overrides: Sequence[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """A scenario without what the hosts of a back end decide, and what was left out, in words."""
    decided = set(backends.kind(on).decides) - {_key(text) for text in overrides}
    tables, remarks = dict(scenario), list[str]()
    if "flow.preset" in decided:
        tables["flow"] = [_without_preset(flow, remarks) for flow in scenario["flow"]]
    for key, (is_meant, remark) in _KEYS.items():
        name, last = key.split(".")
        if key in decided and is_meant(scenario.get(name, {}).get(last)):
            tables[name] = {other: value for other, value in scenario[name].items() if other != last}
            remarks.append(remark)
    return tables, remarks


def _without_preset(flow: Mapping[str, Any], remarks: list[str]) -> dict[str, Any]:
    """A [[flow]] table without the preset that stands for an older Linux; others make the line what it is."""
    preset = flow.get("preset")
    if not isinstance(preset, str) or not controllers.is_of_linux(preset):
        return dict(flow)
    remarks.append(f"the hosts' own {flow['cca']} instead of preset {preset}")
    return {key: value for key, value in flow.items() if key != "preset"}


def _key(override: str) -> str:
    """The key of ``flow[0].preset=linux-4.9``, for all flows."""
    key = override.partition("=")[0].strip()
    return "flow.preset" if key.startswith("flow[") and key.endswith("].preset") else key
