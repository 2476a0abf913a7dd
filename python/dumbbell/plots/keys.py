"""Varied keys as pictures show them: title and unit, values as numbers in one unit or as categories, labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import units
from dumbbell.results import axis

from . import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.results.load import Result

#: Numbers that span this or more get a logarithmic axis: a decade.
DECADE = 10

#: Titles of keys that words alone do not say; {} stands for what is in brackets.
_TITLES = {
    "path.rate": "Rate",
    "path.rtt": "RTT",
    "path.buffer": "Buffer",
    "path.loss": "Random loss",
    "path.qdisc": "Queue discipline",
    "path.up.qdisc": "Queue discipline of the way up",
    "path.burst": "Burst of the token bucket",
    "path.jitter": "Jitter",
    "path.jitter.spread": "Jitter",
    "path.up.rate": "Rate of the way up",
    "path.up.buffer": "Buffer of the way up",
    "path.up.loss": "Loss on the way up",
    "path.ack.rate": "ACK path rate",
    "path.ack.buffer": "ACK path buffer",
    "path.ack.loss": "Loss of ACKs",
    "path.policer.rate": "Policer rate",
    "path.policer.burst": "Policer burst",
    "duration": "Duration",
    "seed": "Seed",
    "host.ecn": "ECN",
    "host.qdisc": "Queue discipline of the hosts",
    "host.start_jitter": "Start jitter",
    "record.every": "Sample interval",
}
_FLOW_TITLES = {
    "cca": "Controller",
    "rtt": "RTT",
    "count": "Number of flows",
    "start": "Start",
    "stop": "Stop",
    "size": "Transfer size",
    "spacing": "Time between starts",
    "max_rate": "Pacing cap",
    "transport": "Transport",
    "loss": "Random loss",
    "preset": "Preset",
    "arrivals.rate": "Arrivals",
    "workload.response": "Size of a response",
    "transport.payload": "Payload of a packet",
}
_WORDS = {
    "rtt": "RTT",
    "ecn": "ECN",
    "ack": "ACK",
    "qdisc": "queue discipline",
    "cca": "controller",
    "tso": "TSO",
    "nic": "NIC",
    "gro": "GRO",
    "hz": "HZ",
    "arp": "ARP",
}


#: The pseudo-key of a folder that holds several scenarios.
SCENARIO = "scenario"
#: The key by which runs of several folders differ.
FOLDER = "folder"


class VariedKey(NamedTuple):
    """A varied key with its values, or several whose values go in step."""

    key: str
    title: str
    """What it is, without its unit."""
    unit: str
    values: tuple[Any, ...]
    """As written, in the order of their appearance."""
    numbers: tuple[float, ...]
    """The values in `unit`; empty for categories."""
    parts: tuple[VariedKey, ...] = ()
    """Keys whose values go in step, where there are several: a value is then one of each."""
    is_scattered: bool = False
    """Other keys take other values at each point, so that no line leads from one to the next."""
    beside: tuple[VariedKey, ...] = ()
    """Those other keys, of a sample: they have numbers, and no place in the figure."""

    def value_of(self, run: Result) -> Any:
        """The value that a run has."""
        if self.parts:
            return tuple(run.vary[part.key] for part in self.parts)
        return run.name if self.key == SCENARIO else run.vary[self.key]

    @property
    def table(self) -> int | None:
        """Number of the [[flow]] table whose key it is."""
        match = re.match(r"flow\[(\d+)\]", self.key)
        return int(match[1]) if match else None

    @property
    def is_cca(self) -> bool:
        """True if it is the controller of a [[flow]] table, or of several at once."""
        return bool(re.fullmatch(r"flow(\[\d+\])?\.cca", self.key))

    @property
    def axis_title(self) -> str:
        """Title with unit, as in ``ACK path rate (Mbit/s)``."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def is_logarithmic(self) -> bool:
        """True if its numbers span more than a decade, none below zero."""
        positive = [number for number in self.numbers if number > 0]
        return bool(positive) and min(self.numbers) >= 0 and max(positive) >= DECADE * min(positive)

    def position(self, value: Any) -> float:
        """Position of a value on an axis: its number, or its place among the categories."""
        index = self.values.index(value)
        return self.numbers[index] if self.numbers else float(index)

    def trait(self, value: Any) -> look.Trait:
        """A value as what may tell lines apart."""
        if self.is_cca:
            return look.Trait(str(value), is_cca=True)
        return look.Trait(self.values.index(value), self.position(value) if self.numbers else None)

    def text(self, value: Any) -> str:
        """A value on a tick, without unit."""
        if self.parts:
            return ", ".join(f"{part.text(each)} {part.unit}".rstrip() for part, each in zip(self.parts, value))
        if self.numbers:
            return f"{self.numbers[self.values.index(value)]:g}"
        if isinstance(value, bool):
            return "on" if value else "off"
        if self.is_cca:
            return look.name(value)
        return kinds[self.values.index(value)] if (kinds := self._kinds) else units.value_text(value)

    @property
    def _kinds(self) -> list[str]:
        """The kinds of queue disciplines, where these tell its values apart."""
        kinds = [str(value.get("kind")) if isinstance(value, dict) else str(value) for value in self.values]
        return kinds if self.key.endswith("qdisc") and len(set(kinds)) == len(kinds) else []

    def phrase(self, value: Any) -> str:
        """A value in a label, as in ``buffer 2 BDP`` or ``fq_codel``."""
        if self.parts:
            return ", ".join(part.phrase(each) for part, each in zip(self.parts, value))
        if self.numbers:
            unit = f" {self.unit}" if self.unit and "/" not in self.unit[:2] else ""
            return f"{_lower(self.title)} {self.text(value)}{unit}"
        if self.key in ("path.qdisc", "scenario") or self.is_cca:
            return self.text(value)
        return f"{_lower(self.title)} {self.text(value)}"

    @property
    def range_text(self) -> str:
        """From its smallest number to its largest, as in ``RTT 5 to 200 ms``."""
        return f"{_lower(self.title)} {min(self.numbers):.3g} to {max(self.numbers):.3g} {self.unit}".rstrip()


def of(key: str, runs: Sequence[Result], values: Sequence[Any] | None = None) -> VariedKey:
    """The key as those of these runs vary it that have it."""
    runs = [run for run in runs if key in run.vary] or runs
    distinct: list[Any] = []
    for value in [run.vary[key] for run in runs] if values is None else values:
        if value not in distinct:
            distinct.append(value)
    title, unit = _title(key, runs)
    read = axis.read(key, distinct)
    if read is None:
        return VariedKey(key, title, "", tuple(distinct), ())
    return VariedKey(key, title, unit or read.unit, tuple(distinct), read.numbers)


def in_step(parts: Sequence[VariedKey], runs: Sequence[Result]) -> VariedKey:
    """Keys whose values go in step, as one."""
    title = ", ".join([parts[0].title, *(_lower(part.title) for part in parts[1:])])
    values = tuple(dict.fromkeys(tuple(part.values.index(run.vary[part.key]) for part in parts) for run in runs))
    named = tuple(tuple(part.values[i] for part, i in zip(parts, value)) for value in values)
    return VariedKey("+".join(part.key for part in parts), title, "", named, (), tuple(parts))


def _title(key: str, runs: Sequence[Result]) -> tuple[str, str]:
    """Title, and the unit where the key itself decides it."""
    key = re.sub(r"^path\.impair\[\d+\]\.", "path.", key)
    if key in _TITLES:
        return _TITLES[key], ""
    match = re.fullmatch(r"flow(?:\[(\d+)\])?\.(.+)", key)
    if match:
        table, rest = int(match[1] or 0), match[2]
        whose = _whose(table, runs) if match[1] else ""
        if rest.startswith("params."):
            name = rest.removeprefix("params.")
            return f"{name}{whose}", _param_unit(table, name, runs)
        return (_FLOW_TITLES.get(rest) or _words(rest)) + whose, ""
    match = re.fullmatch(r"link\[(\d+)\]\.(.+)", key)
    if match:
        names = {run.plan.extra_link(int(match[1])).name for run in runs}
        return f"{_words(match[2])} of {f'link {names.pop()}' if len(names) == 1 else f'link[{match[1]}]'}", ""
    return _words(key.removeprefix("path.").removeprefix("host.")), ""


def _whose(table: int, runs: Sequence[Result]) -> str:
    """`` of CUBIC`` where runs have several tables."""
    from . import groups

    of_runs = [groups.of(run) for run in runs]
    if max(map(len, of_runs)) < 2:
        return ""
    labels = {group.label for of_run in of_runs for group in of_run if group.table == table}
    return f" of {labels.pop()}" if len(labels) == 1 else f" of flow[{table}]"


def _param_unit(table: int, name: str, runs: Sequence[Result]) -> str:
    from dumbbell import controllers

    from . import groups

    for group in groups.of(runs[0]):
        if group.table == table:
            known = controllers.known().get(group.cca)
            return known.params[name].unit if known and name in known.params else ""
    return ""


def _words(path: str) -> str:
    words = [_WORDS.get(word, word) for word in re.split(r"[._]", path)]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def _lower(title: str) -> str:
    """A title inside a sentence: its first word in small letters unless it is an abbreviation."""
    head = title.split(maxsplit=1)[0] if title else ""
    return title if head.isupper() or not head.isalpha() else title[:1].lower() + title[1:]
