"""What a person writes: the scenario file, or the same tables in Python. `plan.py` turns it into what an engine runs.

    name = "bbr-vs-cubic"
    duration = "120s"

    [path]
    rate = "40Mbps"
    rtt = "40ms"
    buffer = ["0.5bdp", "1bdp", "10bdp"]     # a list in place of a value varies it

    [[flow]]
    cca = "cubic"

    [[flow]]
    cca = "bbr"
    start = "847ms"

Every quantity carries its unit; unknown keys are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from . import units
from .declare import SWITCH, Choice, Each, Key, Kind, Sub, Table, build, key, whole
from .errors import ScenarioError, wrong
from .schedule import FORM, RateOrCourse
from .units import UnitError

Text = str | list[str]
"""One value, or a list of values to vary."""


def _quantity(parse: Any, units_: list[str], number: str = units.NUMBER) -> Kind:
    pattern = rf"^\s*{number}\s*({'|'.join(units_)})\s*$"
    return Kind(parse, {"type": "string", "pattern": pattern})


def _above_zero(parse: Any, wanted: str) -> Any:
    def check(value: object) -> Any:
        amount = parse(value)
        if amount == 0:
            raise UnitError(f"{wanted}, above zero")
        return amount

    return check


def _within(parse: Any, wanted: str, low: int, high: int, limits: str) -> Any:
    def check(value: object) -> Any:
        amount = parse(value)
        if not low <= amount <= high:
            raise UnitError(f"{wanted}, {limits}")
        return amount

    return check


def _tick(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1 or 1000 % value:
        raise UnitError("ticks per second that divide 1000, such as 1000, 250 or 100")
    return value


def _word(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 80 or not set(value) <= _NAME or value[0] in ".-":
        raise UnitError('a name of letters, digits, ".", "_" and "-" (it names folders), 80 at most')
    return value


def _controller(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UnitError('the name of a congestion controller, such as "cubic" (`dumbbell cca list`)')
    return value


def _or_auto(value: object) -> int:
    return 0 if value == "auto" else _above_zero(units.size_bytes, units.SIZE + ' or "auto"')(value)


def _burst(value: object) -> int:
    size = units.size_bytes(value)
    if size < units.FRAME_BYTES:
        raise UnitError(f"{units.SIZE}, at least one packet of {units.FRAME_BYTES} bytes")
    return size


_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_NS, _BPS, _BYTES = list(units.NS), list(units.BPS), list(units.BYTES)
NAME = Kind(_word, {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]{0,79}$"})
CONTROLLER = Kind(_controller, {"type": "string", "minLength": 1})
RATE = _quantity(_within(units.rate_bps, units.RATE, 1_000, 10**12, "1kbps to 1Tbps"), _BPS)
SPAN = _quantity(units.span_ns, _NS)
SPAN_ABOVE_ZERO = _quantity(_above_zero(units.span_ns, units.SPAN), _NS)
SIZE = _quantity(_within(units.size_bytes, units.SIZE, 1, 2**42 - 1, "above zero and below 4 TiB"), _BYTES)
RTT = _quantity(_within(units.span_ns, units.SPAN, 1, 60 * 10**9, "above zero and at most 60s"), _NS)
DURATION = _quantity(_within(units.span_ns, units.SPAN, 1, 24 * 3600 * 10**9, "above zero and at most 24h"), _NS)
EVERY = _quantity(_within(units.span_ns, units.SPAN, 1_000, 24 * 3600 * 10**9, "from 1us to 24h"), _NS)
TICK = Kind(_tick, {"enum": [n for n in range(1, 1001) if 1000 % n == 0]})
BURST = _quantity(_burst, _BYTES)
BUFFER = _quantity(_above_zero(units.buffer, units.BUFFER), ["bdp", "BDP", *_BYTES, *_NS])
LOSS = Kind(
    units.loss_ppb,
    {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": rf"^\s*{units.NUMBER}\s*%?\s*$"}]},
)
SOCKET_BUFFER = Kind(_or_auto, {"anyOf": [{"const": "auto"}, SIZE.schema]})


class Qdisc(Table):
    """A queue discipline with its settings, where a name alone is not enough."""

    AT = "path.qdisc"

    kind: str = key(Choice("fifo"), "queue discipline", varies=False)


class _QdiscKind(Kind):
    """A name, or a table with `kind`."""

    def __init__(self) -> None:
        super().__init__(lambda value: value["kind"] if isinstance(value, Mapping) else value, {})
        self.schema = {"anyOf": [Choice("fifo").schema, {"$ref": "#/$defs/Qdisc"}]}

    def take(self, value: object, at: str) -> Any:
        if isinstance(value, Qdisc):
            return {"kind": value.kind}
        named = value.get("kind") if isinstance(value, Mapping) else value
        Choice("fifo").take(named, at)
        if isinstance(value, Mapping):
            build(Qdisc, value, at)
        return value


class Jitter(Table):
    """Random variation of the one-way delay, data direction; a delay below zero counts as zero."""

    AT = "jitter"

    kind: Text = key(Choice("uniform", "gaussian"), "distribution: uniform over delay +- spread, or normal", default="uniform")
    spread: Text = key(SPAN, "half width of a uniform distribution, standard deviation of a Gaussian one")
    reorder: bool | list[bool] = key(SWITCH, "whether packets may overtake one another, as in netem; false keeps them in order", default=True)


class Path(Table):
    """The bottleneck, and what is common to all flows."""

    AT = "path"

    rate: str | dict[str, Any] | list[str | dict[str, Any]] = key(
        RateOrCourse(RATE),
        "rate of the bottleneck; counts bytes on the wire, 1514 a full segment; or its course, such as " + FORM + ", whose first rate the BDP refers to",
    )
    rtt: Text | None = key(RTT, "two-way propagation delay of flows that set none of their own, and the RTT of the BDP", default=None)
    buffer: Text = key(BUFFER, "drop-tail limit of the bottleneck's queue: BDP multiples (rate x rtt of this table), wire bytes, packets, or time at the rate")
    qdisc: str | Qdisc | list[str | Qdisc] | dict[str, Any] = key(_QdiscKind(), "queue discipline of the bottleneck", default="fifo")
    loss: str | float | list[str | float] = key(LOSS, "random loss, data direction, before the bottleneck", default=0)
    jitter: Jitter | dict[str, Any] | None = key(Sub(Jitter), "delay variation of flows that set none of their own", default=None)
    burst: Text = key(BURST, "depth of the bottleneck's token bucket; two full frames, as small as tbf gets", default="3028B")


class Host(Table):
    """How the end hosts are set."""

    AT = "host"

    qdisc: Text = key(Choice("fq", "pfifo"), "queue discipline of the senders: fq paces, pfifo leaves pacing to TCP", default="fq")
    tso: bool | list[bool] = key(SWITCH, "sends of several segments that leave back to back, sized by the pacing rate", default=True)
    gro: bool | list[bool] = key(SWITCH, "whether receivers see merged segments, and so send fewer ACKs", default=False)
    ecn: bool | list[bool] = key(SWITCH, "whether connections negotiate ECN (RFC 3168)", default=False)
    hz: int | list[int] = key(TICK, "ticks per second that jiffies-based rules count in", default=1000)
    rcvbuf: Text = key(SOCKET_BUFFER, "receive buffer of a socket; auto grows with the flow and never limits it in practice", default="auto")
    sndbuf: Text = key(SOCKET_BUFFER, "send buffer of a socket; auto as for rcvbuf", default="auto")
    delayed_ack: bool | list[bool] = key(SWITCH, "whether receivers delay ACKs (RFC 1122, 4.2.3.2); false: one per segment", default=True)
    arp: bool | list[bool] = key(
        SWITCH,
        "whether hosts meet for the first time, as on a fresh testbed: ARP crosses the path's delay once each way before a flow's first packet",
        default=True,
    )
    start_jitter: Text = key(SPAN, "each flow starts up to this much later, at random: what tells repetitions apart that nothing else does", default="0s")


class _Params(Kind):
    """Controller parameters: whole numbers by name, whose names and ranges the controller knows (`plan.py` asks it)."""

    def __init__(self) -> None:
        value = {"anyOf": [{"type": "integer"}, {"type": "array", "minItems": 1, "items": {"type": "integer"}}]}
        super().__init__(lambda given: given, {"type": "object", "additionalProperties": value})
        self.value = Key(whole(-(2**63), 2**63 - 1), "", default=None, varies=True)

    def take(self, value: object, at: str) -> Any:
        if not isinstance(value, Mapping):
            raise wrong(at, value, "a table of the controller's parameters (`dumbbell cca show NAME`)")
        return {str(name): self.value.take(item, f"{at}.{name}") for name, item in value.items()}


class Flow(Table):
    """One flow, or `count` equal ones."""

    AT = "flow"

    cca: Text = key(CONTROLLER, "congestion controller (`dumbbell cca list`)")
    count: int | list[int] = key(whole(1, 100_000), "how many such flows", default=1)
    rtt: Text | None = key(RTT, "two-way propagation delay; overrides path.rtt", default=None)
    start: Text = key(SPAN, "when the flow opens its connection", default="0s")
    spacing: Text = key(SPAN, "time between the starts of the `count` flows", default="0s")
    stop: Text | None = key(SPAN_ABOVE_ZERO, "when the sender stops; the end of the run unless given", default=None)
    size: Text | None = key(SIZE, "payload to transfer; endless unless given", default=None)
    loss: str | float | list[str | float] | None = key(LOSS, "random loss, data direction; overrides path.loss", default=None)
    jitter: Jitter | dict[str, Any] | None = key(Sub(Jitter), "delay variation; overrides path.jitter", default=None)
    max_rate: Text | None = key(RATE, "largest pacing rate, as fq maxrate sets it", default=None)
    params: dict[str, int | list[int]] | None = key(_Params(), "parameters of the controller", default=None, varies=False)


class Record(Table):
    """What a run writes beside its summary and flow table."""

    AT = "record"

    every: Text = key(EVERY, "time between samples", default="100ms")
    samples: bool | list[bool] = key(SWITCH, "table of each flow's state at every sample time", default=True, varies=False)
    queue: bool | list[bool] = key(SWITCH, "table of the bottleneck's state at every sample time", default=True, varies=False)
    events: bool | list[bool] = key(SWITCH, "table of state changes, losses and timeouts", default=True, varies=False)
    pcap: bool | list[bool] = key(SWITCH, "capture of every packet at the senders", default=False, varies=False)


class Scenario(Table):
    """An experiment: a path, the flows that share it, and for how long."""

    name: str = key(NAME, "name of the experiment, and of result folders; the name of its file unless given", default="scenario", varies=False)
    duration: Text = key(DURATION, "simulated time of a run")
    seed: int | list[int] = key(whole(0, 2**53 - 1), "seed of everything random", default=1)
    repetitions: int = key(whole(1, 100_000), "runs per combination, each with a seed of its own", default=1, varies=False)
    path: Path | dict[str, Any] = key(Sub(Path), "the [path] table", varies=False)
    host: Host | dict[str, Any] = key(Sub(Host), "the [host] table", default=Host(), varies=False)
    flow: list[Flow] | tuple[Flow, ...] | list[dict[str, Any]] = key(Each(Flow), "at least one [[flow]] table", varies=False)
    record: Record | dict[str, Any] = key(Sub(Record), "the [record] table", default=Record(), varies=False)


def from_dict(given: Mapping[str, object]) -> Scenario:
    """The scenario that these nested dictionaries describe; raises ScenarioError."""
    return build(Scenario, given, "")


def from_text(text: str, *, name: str = "scenario", overrides: tuple[str, ...] = ()) -> Scenario:
    """The scenario in a TOML text, after overrides such as ``path.rate=10Mbps``; `name` serves when the text gives none."""
    import tomllib

    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError("", f"not TOML: {error}") from None
    for override in overrides:
        _override(given, override)
    given.setdefault("name", name)
    return from_dict(given)


class Given(NamedTuple):
    """A scenario with its text as given, and the file that it came from if any."""

    scenario: Scenario
    text: str
    source: str = ""


def from_file(path: str | FilePath, *, overrides: tuple[str, ...] = ()) -> Given:
    """The scenario in a TOML file; raises ScenarioError that names the file."""
    path = FilePath(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError("", error.strerror or str(error), source=str(path)) from None
    except UnicodeDecodeError:
        raise ScenarioError("", "not TOML: not UTF-8 text", source=str(path)) from None
    try:
        return Given(from_text(text, name=_file_name(path), overrides=overrides), text, str(path))
    except ScenarioError as error:
        raise error.under(str(path)) from None


def _file_name(path: FilePath) -> str:
    kept = "".join(c if c in _NAME else "-" for c in path.stem).lstrip(".-")[:80]
    return kept or "scenario"


def _override(given: dict[str, Any], override: str) -> None:
    """Set one key of the raw tables, from ``path.rate=10Mbps`` or ``flow[1].cca=bbr``; the value is TOML, or a bare word."""
    import re
    import tomllib

    where, equals, text = override.partition("=")
    steps = re.findall(r"([A-Za-z_]\w*)(?:\[(\d{1,6})\])?(?:\.|$)", where.strip())
    if not equals or not steps or ".".join(n + (f"[{i}]" if i else "") for n, i in steps) != where.strip():
        raise ScenarioError("", f'--set: got "{override}", wanted KEY=VALUE, such as path.rate=10Mbps or flow[1].cca=bbr')
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    table: Any = given
    for name, index in steps[:-1]:
        table = table.setdefault(name, {})
        if index:
            if not isinstance(table, list) or int(index) >= len(table):
                raise ScenarioError(where.strip(), f"--set: there is no {name}[{index}]")
            table = table[int(index)]
        if not isinstance(table, dict):
            raise ScenarioError(where.strip(), f"--set: {name} is not a table" + ("; say which, as in flow[0]" if name == "flow" else ""))
    table[steps[-1][0]] = value
