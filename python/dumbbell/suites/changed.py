"""Changes that a reader asks for when a suite runs: the scale, keys of scenarios, repetitions, some places alone.

Whatever is made of changed runs says so, in the words of `Changed.told`; `Changed.options` are those of the command.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.scenario import source

from .places import Case, SuiteError, matches

if TYPE_CHECKING:
    from .places import Place

_QUANTITY = re.compile(r"([0-9.]+)\s*([A-Za-z]+)")


class Changed(NamedTuple):
    """The changes; none by default."""

    scale: float = 1.0
    """Factor on rates, for back ends that cannot carry the paper's; buffers in BDP follow. It applies to the number of
    flows too if that gives whole numbers in all cases of an entry, and to sizes and rates of flows if not."""
    overrides: tuple[str, ...] = ()
    """Keys of all scenarios with their values: ``host.ecn=true``."""
    at: Mapping[str, Any] = {}
    """The places that run: ``{"buffer_bdp": [1, 10]}``; all unless given."""

    @classmethod
    def of(
        cls, scale: float = 1.0, overrides: Iterable[str] = (), repetitions: int | None = None, at: Iterable[str] = ()
    ) -> Changed:
        """Read the options of `dumbbell reproduce`; raises ScenarioError for one without a value."""
        more = () if repetitions is None else (f"repetitions={repetitions}",)
        return cls(scale, (*overrides, *more), dict(_axis(text) for text in at))

    def __bool__(self) -> bool:
        return self != Changed()

    @property
    def options(self) -> list[str]:
        """Words of `dumbbell reproduce` that change the same."""
        words = [] if self.scale == 1 else [f"--scale {self.scale:g}"]
        for text in self.overrides:
            key, _, value = text.partition("=")
            words.append(f"--repetitions {value}" if key == "repetitions" else f"--set {quote(text)}")
        return words + [f"--at {quote(f'{axis}={_listed(value)}')}" for axis, value in self.at.items()]

    @property
    def told(self) -> str:
        """The changes in words; empty if there are none."""
        said = []
        if self.scale != 1:
            said.append(f"run at {self.scale:g} of the paper's rates and drawn at the paper's scale")
        said += [f"changed: {text.replace('=', ' = ', 1)}" for text in self.overrides]
        return "; ".join(said + [f"at {axis} {_listed(value)} alone" for axis, value in self.at.items()])

    def chosen(self, name: str, cases: Iterable[Case], *, is_asked: bool = True) -> list[Case]:
        """The cases of an entry that run. Raises ScenarioError where none does, or where it lacks the axis. One that is
        not asked for by itself, and lacks the axis, runs at all its places; one that has it, and not these places, not
        at all.
        """
        places: list[Place] = []
        chosen = []
        for case in cases:
            places.append(case.at)
            if self._runs(case.at, is_asked=is_asked):
                chosen.append(case)
        if self.at and not places:
            raise wrong("--at", _listed(self.at), f"an entry with runs: {name} has none")
        if self.at and not chosen and is_asked:
            known = {axis: list(dict.fromkeys(place[_bare(axis)] for place in places)) for axis in self.at}
            raise wrong("--at", _listed(self.at), f"places of {name}: {_listed(known)}")
        return chosen

    def scaled(self, case: Case, *, with_flows: bool) -> Case:
        """A case at the scale; raises ScenarioError where it has none."""
        return case._replace(scenario=scaled(case.scenario, self.scale, with_flows=with_flows))

    def _runs(self, place: Place, *, is_asked: bool) -> bool:
        axes = {axis: value for axis, value in self.at.items() if is_asked or _bare(axis) in place}
        try:
            return matches(place, axes)
        except SuiteError:
            known = ", ".join(place) or "none"
            raise wrong("--at", ", ".join(axes), f"axes of the figure: {known}", list(place)) from None


#: Nothing.
UNCHANGED = Changed()


def override(tables: dict[str, Any], overrides: Sequence[str], *, placing: Collection[str] = ()) -> None:
    """Set keys of the tables of a scenario. Raises ScenarioError for one that names the line, or that varies: but for
    one that only follows another in `together`, and is none of the `placing` ones, which place a case on the axes.
    """
    for text in overrides:
        key = text.partition("=")[0].strip()
        if isinstance(value_at(tables, key), list) and key != "flow" and not _leaves(tables, key, placing):
            raise ScenarioError("--set", f"{key} varies in the figure; --at AXIS=VALUE runs some of its places")
        if key.rpartition(".")[2] in ("cca", "name"):
            raise ScenarioError("--set", f"{key} makes the line of the figure what it is: wanted another key")
        source.override(tables, text)
        if isinstance(value_at(tables, key), list):
            raise ScenarioError("--set", f"{key} has several values; wanted one: the places of a figure are its own")


def _leaves(tables: dict[str, Any], key: str, placing: Collection[str]) -> bool:
    """Take a key out of the group that it goes in step with; false where it is in none, or places the cases."""
    group = next((own for own in tables.get("together", ()) if key in own and len(own) > 1), None)
    if group is None or key in placing:
        return False
    group.remove(key)
    if len(group) == 1:
        tables["together"].remove(group)
    return True


def value_at(tables: Any, key: str) -> Any:
    """The value of a key such as ``flow[0].count``; None where there is none."""
    for step in re.split(r"[.\[]", key.replace("]", "")):
        if isinstance(tables, Mapping):
            tables = tables.get(step)
        elif isinstance(tables, list) and step.isdigit() and int(step) < len(tables):
            tables = tables[int(step)]
        else:
            return None
    return tables


def has_scalable_flows(cases: Sequence[Case], factor: float) -> bool:
    """True if the number of flows of every table of all cases, times the factor, is a whole number."""
    counts = [flow.get("count", 1) for case in cases for flow in case.scenario["flow"]]
    return factor != 1 and all(
        isinstance(count, int) and round(count * factor) >= 1 and abs(count * factor - round(count * factor)) < 1e-9
        for count in counts
    )


def scaled(scenario: Mapping[str, Any], factor: float, *, with_flows: bool = False) -> dict[str, Any]:
    """A scenario at other rates: the bottleneck's rate and burst times a factor, and either the number of flows or
    their sizes and largest rates. Raises ScenarioError where the rate is not one number.
    """
    if factor == 1:
        return dict(scenario)
    path = scenario["path"]
    if not isinstance(path["rate"], str) or not str(path.get("buffer", "1bdp")).endswith("bdp"):
        raise wrong("--scale", factor, "1 for figures whose rate changes, or whose buffer is not in BDP")
    if with_flows:
        flows = [{**flow, "count": round(flow.get("count", 1) * factor)} for flow in scenario["flow"]]
    else:
        flows = [_times(flow, ("size", "max_rate"), factor) for flow in scenario["flow"]]
    return {**scenario, "path": _times(path, ("rate", "burst"), factor), "flow": flows}


def _times(table: Mapping[str, Any], keys: Iterable[str], factor: float) -> dict[str, Any]:
    scaled_table = dict(table)
    for key in keys:
        quantity = _QUANTITY.fullmatch(str(scaled_table.get(key, "")))
        if quantity:
            scaled_table[key] = f"{float(quantity[1]) * factor:.10g}{quantity[2]}"
    return scaled_table


def _axis(text: str) -> tuple[str, Any]:
    """``buffer_bdp=1,10`` as an axis and its places; a number where it is one."""
    axis, equals, values = text.partition("=")
    if not axis or not equals or not values:
        raise ScenarioError("--at", f'got "{text}", wanted AXIS=VALUE[,VALUE...], such as buffer_bdp=1,10')
    if axis.endswith(("_min", "_max")):
        return axis, _read(values)
    return axis, [_read(value) for value in values.split(",")]


def _read(text: str) -> Any:
    """A value as TOML has it; any other text stands for itself."""
    try:
        return source.one_value(text)
    except (ValueError, RecursionError):
        return text


def _bare(axis: str) -> str:
    return axis[:-4] if axis.endswith(("_min", "_max")) else axis


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{axis}={_listed(places)}" for axis, places in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
