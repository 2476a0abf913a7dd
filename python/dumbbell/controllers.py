"""The congestion controllers that the engine has, with their parameters, as it describes them itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from .errors import unknown_key, wrong
from .files import make_folder

#: Longest name of a controller in the kernel, bytes (TCP_CA_NAME_MAX less the closing zero).
NAME_MAX = 15


class Param(NamedTuple):
    """A parameter of a controller; `minimum` and `maximum` are both allowed."""

    name: str
    default: int
    minimum: int
    maximum: int
    unit: str
    doc: str


class Preset(NamedTuple):
    """Values of some of a controller's parameters, under a name."""

    name: str
    doc: str
    values: dict[str, int]


class Variable(NamedTuple):
    """A variable that a controller declares, for `variables.parquet`; `words` are those of its values, if any."""

    name: str
    unit: str
    words: list[str]
    doc: str


class Controller(NamedTuple):
    """A congestion controller: `doc` is the head comment of its source, `summary` that comment's first sentence."""

    name: str
    summary: str
    doc: str
    license: str
    params: dict[str, Param]
    states: list[str]
    priv_bytes: int
    presets: Mapping[str, Preset] = MappingProxyType({})
    needs_marks: bool = False
    """It answers to the number of CE marks, as DCTCP does."""
    variables: Mapping[str, Variable] = MappingProxyType({})


class Facts(NamedTuple):
    """Facts of a controller, from the head of its C file (`Facts:`)."""

    name: str = ""
    """As the field writes it."""
    family: str = ""
    """The controllers whose model it shares; empty where it stands alone."""
    needs_marks: bool = False
    """It answers to the number of CE marks."""
    sends_ect1: bool = False
    """It sends ECT(1) where its peer has accurate ECN."""
    is_steady: bool = False
    """It draws no random number; another may."""


@cache
def facts() -> dict[str, Facts]:
    """Facts of each built-in controller, by its name."""
    from . import _native

    return {name: _facts(said) for name, said in _native.facts().items()}


def facts_of(name: str) -> Facts:
    """Facts of a controller; empty ones of one that is not built in."""
    return facts().get(name, Facts())


def _facts(said: Mapping[str, str]) -> Facts:
    return Facts(
        said.get("name", ""),
        said.get("family", ""),
        needs_marks=said.get("needs") == "marks",
        sends_ect1=said.get("sends") == "ECT(1)",
        is_steady=said.get("draws") == "nothing",
    )


def write_headers(folder: Path) -> None:
    """Write the headers that controllers in C include, each whole or not at all; raises OSError."""
    import tempfile

    from . import _native

    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()  # it may be named by a link; nothing below it is one
    with tempfile.TemporaryDirectory(prefix=".dumbbell-", dir=folder) as beside:
        _native.write_headers(beside)
        for file in sorted(path for path in Path(beside).rglob("*") if path.is_file()):
            place = folder / file.relative_to(beside)
            for above in reversed(file.relative_to(beside).parents[:-1]):
                make_folder(folder / above)
            file.replace(place)


@cache
def known() -> dict[str, Controller]:
    """All controllers by name, in the engine's order."""
    import json

    from . import _native

    return {item["name"]: from_item(item) for item in json.loads(_native.controllers())}


@cache
def _names() -> frozenset[str]:
    """Names of all controllers, without what each of them is, which takes two milliseconds to read."""
    from . import _native

    return frozenset(name.removeprefix("cca/") for name in _native.digests() if name.startswith("cca/"))


def from_item(item: dict[str, Any]) -> Controller:
    """A controller as the engine describes it."""
    params = {
        p["name"]: Param(p["name"], p["default"], p["min"], p["max"], p["unit"], p["doc"]) for p in item["params"]
    }
    presets = {p["name"]: Preset(p["name"], p["doc"], dict(p["values"])) for p in item.get("presets", ())}
    return Controller(
        item["name"],
        item["summary"],
        item["doc"],
        item["license"],
        params,
        item["states"],
        item["priv_bytes"],
        presets,
        item.get("needs_marks", False),
        {v["name"]: Variable(v["name"], v["unit"], v["words"], v["doc"]) for v in item.get("variables", ())},
    )


#: Controllers that are policies, and how to get them.
_POLICIES = {
    "kestrel": "its policy, which comes with the package: --cca kestrel loads it (docs/kestrel.md)",
    "orca": "its policy file: `dumbbell policy import CHECKPOINT` makes it of the authors' network (docs/policies.md),"
    " --cca orca.safetensors loads it",
}
#: What begins the names of controllers in quinn's interface.
QUINN = "quinn:"
#: quinn's own controllers, which come with `transport = "quinn"` and run nowhere else; their source is quinn-proto.
_OF_QUINN = {
    "quinn:bbr": "BBR of quinn, after Google's QUIC; its pacing rate has no effect",
    "quinn:cubic": "CUBIC of quinn (RFC 8312), in bytes",
    "quinn:newreno": "NewReno of quinn (RFC 9002), in bytes",
}


def with_quinn(controllers: Mapping[str, Controller] | None = None) -> Mapping[str, Controller]:
    """`controllers`, the built-in ones unless given, and quinn's own."""
    own = {name: Controller(name, what, what, "MIT OR Apache-2.0", {}, [], 0, {}) for name, what in _OF_QUINN.items()}
    return {**(known() if controllers is None else controllers), **own}


def check(name: str, params: Mapping[str, int], at: str, controllers: Mapping[str, Controller] | None = None) -> None:
    """Raise ScenarioError unless the controller and all its given parameters exist, in range; `at` is the flow's key
    path.

    `controllers` are those that there are: the built-in ones unless given.
    """
    if controllers is None and not params and name in _names():
        return
    controllers = known() if controllers is None else controllers
    if name not in controllers and name in _POLICIES:
        raise wrong(f"{at}.cca", name, _POLICIES[name])
    if name not in controllers:
        there = ", ".join(f'"{n}"' for n in controllers)
        raise wrong(
            f"{at}.cca", name, f"one of: {there}, or one of your own (`dumbbell run --cca FILE`)", list(controllers)
        )
    declared = controllers[name].params
    for given, value in params.items():
        if given not in declared:
            if not declared:
                raise wrong(f"{at}.params.{given}", value, f"no parameters: {name} has none")
            raise unknown_key(f"{at}.params", given, list(declared))
        param = declared[given]
        is_switch = (param.minimum, param.maximum) == (0, 1)
        if (
            not isinstance(value, int)
            or not param.minimum <= value <= param.maximum
            or (isinstance(value, bool) and not is_switch)
        ):
            unit = f" ({param.unit})" if param.unit else ""
            wanted = f"a whole number from {param.minimum} to {param.maximum}{unit}"
            raise wrong(f"{at}.params.{given}", value, wanted + _in_units(value, param))


def _in_units(value: float, param: Param) -> str:
    """Guess the number that was meant in units of one, where the parameter counts in parts of it (unit "1/256")."""
    head, _, parts = param.unit.partition("/")
    if head != "1" or not parts.isdecimal() or abs(value) > param.maximum:
        return ""
    whole = round(value * int(parts))
    return f"; did you mean {whole} ({value:g} x {parts})?" if param.minimum <= whole <= param.maximum else ""


def is_of_linux(preset: str) -> bool:
    """True for a preset that stands for a controller as an older Linux has it, such as ``linux-4.9``."""
    return preset.startswith("linux-")


def with_preset(
    name: str,
    preset: str | None,
    params: Mapping[str, int],
    at: str,
    controllers: Mapping[str, Controller] | None = None,
) -> dict[str, int]:
    """The parameters of a flow, checked: those of the preset, and over them those given; true and false as 1 and 0."""
    check(name, params, at, controllers)
    params = {key: int(value) for key, value in params.items()}
    if preset is None:
        return params
    presets = (known() if controllers is None else controllers)[name].presets
    if preset not in presets:
        wanted = "one of: " + ", ".join(f'"{n}"' for n in presets) if presets else f"no preset: {name} has none"
        raise wrong(f"{at}.preset", preset, wanted, list(presets))
    return {**presets[preset].values, **params}
