"""The scenario file, or the same tables in Python. `plan/make.py` turns it into plans that an engine runs.

    name = "bbr-vs-cubic"
    duration = "120s"

    [path]
    rate = "40Mbps"
    rtt = "40ms"
    buffer = ["0.5bdp", "1bdp", "10bdp"]     # a list instead of a value varies it

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
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import ScenarioError, wrong
from dumbbell.units import UnitError

from . import axes, schedule
from .arrivals import Arrivals
from .axes import Axis
from .declare import Each, Forms, Key, Sub, Table, build, key, raw
from .expect import EXPECT_MAX, Expect
from .host import FlowHost, Host
from .impairments import LOSS, SHARE_OF, Jitter, Reorder, Slot
from .kinds import (
    BUFFER,
    CONTROLLER,
    DEPTH,
    DURATION,
    EVERY,
    LABEL,
    LINK_HEADER,
    NAME,
    NAME_LETTERS,
    RATE,
    SIZE,
    SPAN,
    SPAN_ABOVE_ZERO,
    size,
)
from .measure import Measure
from .plain_kinds import SWITCH, Choice, Kind, whole
from .qdiscs import BUFFER_DOC, Qdisc
from .receivers import Receiver
from .routes import BOTTLENECK, IMPAIR, VIA, Ack, Link, Policer, Up
from .workloads import Probes, Transport, Udp, Workload

if TYPE_CHECKING:
    from .impairments import AnyLoss, AnyShare, MaybeLoss
    from .keytypes import (
        AnyRate,
        Fixed,
        MaybeBuffer,
        MaybeQuantity,
        MaybeRtt,
        MaybeSubTable,
        MaybeWord,
        Number,
        Quantity,
        SubTable,
        Switch,
        Tables,
        Word,
    )
    from .qdiscs import AnyQdisc
    from .routes import Impair


class Path(Table):
    """The bottleneck and the way down, and what is common to all flows."""

    AT = "path"

    rate: AnyRate = key(
        schedule.RATE,
        "rate of the bottleneck; counts bytes on the wire, 1514 per full segment; or in steps, "
        + schedule.FORM
        + ', whose first rate the BDP refers to; or a Mahimahi trace, { trace = "file", repeat = true, opportunity ='
        ' "1514B" }, or a synthetic radio link, '
        + '{ lte = "stationary" | "mobile", mean = "8Mbps", length = "60s", seed = 1 } or wifi instead of lte, or a'
        " recorded table, as path.rtt, to whose mean it refers",
    )
    rtt: MaybeRtt = key(
        schedule.RTT,
        "two-way propagation delay of flows without their own rtt, and the RTT of the BDP; or in steps, "
        + schedule.RTT_FORM
        + ', or a recording, { trace = "path.csv", repeat = true } (docs/recordings.md), whose mean the BDP refers to',
        default=None,
    )
    delay: MaybeRtt = key(
        schedule.DELAY,
        "one-way delay of what goes down; default: half of the flow's RTT; or in steps or recorded, as path.rtt",
        default=None,
    )
    buffer: MaybeBuffer = key(BUFFER, BUFFER_DOC, default=None)
    qdisc: AnyQdisc = key(
        Forms(Qdisc, words=True),
        "queue discipline of the bottleneck, by its name or as a table with its settings",
        default="fifo",
    )
    policer: MaybeSubTable[Policer] = key(Sub(Policer), "a policer in front of the bottleneck's queue", default=None)
    loss: AnyLoss = key(
        LOSS, "loss of what goes down, before the bottleneck: a share, or a table with a model", default=0
    )
    jitter: MaybeSubTable[Jitter] = key(
        Sub(Jitter), "delay variation of flows that set none of their own", default=None
    )
    duplicate: AnyShare = key(SHARE_OF, "share of packets that arrive twice, or { rate, correlation }", default=0)
    corrupt: AnyShare = key(SHARE_OF, "share of packets that arrive damaged, or { rate, correlation }", default=0)
    reorder: MaybeSubTable[Reorder] = key(Sub(Reorder), "packets that skip the delay", default=None)
    slot: MaybeSubTable[Slot] = key(
        Sub(Slot),
        "slots in which alone packets leave the delay, as netem has them; each flow has slots of its own",
        default=None,
    )
    impair: Impair = key(
        IMPAIR,
        "an ordered chain of impairments instead of loss, jitter, duplicate, corrupt, reorder and slot",
        default=None,
        varies=False,
    )
    burst: Quantity = key(
        DEPTH,
        "depth of the bottleneck's token bucket; two full frames, the minimum of tbf; 0B: a serial line as ns-3's,"
        " which drops a packet unless 1500 bytes of the queue are free",
        default="3028B",
    )
    link_header: Quantity = key(
        LINK_HEADER,
        "bytes in front of an IP packet on the bottleneck, which its rate and buffer count: 14B Ethernet, 2B PPP,"
        " 22B PPPoE; with drop tail only",
        default="14B",
    )
    up: MaybeSubTable[Up] = key(
        Sub(Up),
        "the way up, of acknowledgements and of flows that go up: the [path.up] table",
        default=None,
        varies=False,
    )
    ack: MaybeSubTable[Ack] = key(Sub(Ack), "the same by its former name, [path.ack]", default=None, varies=False)

    def check(self) -> None:
        """Raise ScenarioError where the way up is there twice."""
        if self.up is not None and self.ack is not None:
            raise wrong("path.ack", raw(self.ack), "no such table next to [path.up], which is the same way")

    @property
    def way_up(self) -> tuple[str, Up | None]:
        """The table of the way up, and its name."""
        return ("path.up", self.up) if self.ack is None else ("path.ack", self.ack)


def _param(value: object) -> object:
    """A number, or true or false; the controller knows whether it is in its range, and says so of a fraction too."""
    if not isinstance(value, (int, float)) or not abs(value) < 2**63:
        raise UnitError("a whole number that the controller takes (`dumbbell cca show NAME`)")
    return value


class _Params(Kind):
    """Controller parameters: whole numbers by name, whose names and ranges the controller knows (`plan.py` asks it)."""

    def __init__(self) -> None:
        single = {"type": ["integer", "boolean"]}
        value = {"anyOf": [single, {"type": "array", "minItems": 1, "items": single}]}
        self.schema = {"type": "object", "additionalProperties": value}
        self.value: Key[Any, int] = Key(Kind(_param, single), "", default=None, varies=True)

    def take(self, value: object, at: str) -> dict[str, int]:
        if not isinstance(value, Mapping):
            raise wrong(at, value, "a table of the controller's parameters (`dumbbell cca show NAME`)")
        for name in value:
            if not isinstance(name, str) or not name.isidentifier() or len(name) > 80:
                raise wrong(at, name, "names of parameters (`dumbbell cca show NAME`)")
        return {name: self.value.take(item, f"{at}.{name}")[0] for name, item in value.items()}


class Flow(Table):
    """One flow, or `count` equal ones."""

    AT = "flow"

    name: Fixed[str | None] = key(
        LABEL,
        "name of its flows in tables, figures and legends; default: the controller's name, and what distinguishes"
        " the table from others with it",
        default=None,
        varies=False,
    )
    EXCUSED = frozenset({"cca"})

    cca: Word = key(CONTROLLER, "congestion controller (`dumbbell cca list`); none of probes and of udp")
    direction: Word = key(
        Choice("down", "up"),
        "which way its data go: down, across the links of `via`, or up, across the link of [path.up]; its"
        " acknowledgements go the other way",
        default="down",
    )
    count: Number = key(whole(0, 100_000), "number of such flows; 0: none, as in the baseline of a list", default=1)
    rtt: MaybeRtt = key(schedule.RTT, "two-way propagation delay; overrides path.rtt", default=None)
    start: Quantity = key(SPAN, "when the flow opens its connection", default="0s")
    spacing: Quantity = key(SPAN, "time between the starts of the `count` flows", default="0s")
    stop: MaybeQuantity = key(SPAN_ABOVE_ZERO, "when the sender stops; default: the end of the run", default=None)
    size: MaybeQuantity = key(SIZE, "payload to transfer; default: unlimited", default=None)
    workload: MaybeSubTable[Workload] = key(
        Forms(Workload),
        'what the application does, instead of one transfer: { kind = "on_off" | "paced" | "request_response", ... },'
        ' or { probe = "10ms" }, which measures latency under load',
        default=None,
    )
    arrivals: MaybeSubTable[Arrivals] = key(
        Sub(Arrivals), "flows like this one open at random times, each with its own size", default=None
    )
    transport: Key[str | Transport | dict[str, Any] | list[Any], Transport] = key(
        Forms(Transport, words=True), "what carries the flow", default="tcp"
    )
    via: Key[Any, tuple[str, ...]] = key(
        VIA,
        "links of the way down that it crosses, by name, in this order; the link of [path] is called bottleneck",
        default=(BOTTLENECK,),
        varies=False,
    )
    loss: MaybeLoss = key(LOSS, "loss of its data; overrides path.loss (up: path.up.loss)", default=None)
    jitter: MaybeSubTable[Jitter] = key(
        Sub(Jitter), "delay variation of its data; overrides path.jitter (up: path.up.jitter)", default=None
    )
    impair: Impair = key(
        IMPAIR, "an ordered chain of impairments of its data; overrides path.impair", default=None, varies=False
    )
    max_rate: MaybeQuantity = key(RATE, "largest pacing rate, as fq maxrate sets it", default=None)
    host: MaybeSubTable[FlowHost] = key(
        Sub(FlowHost),
        "settings of its hosts that differ from [host]: ecn, qdisc, tso, nic, gro, hz, rcvbuf, sndbuf, initial_window",
        default=None,
    )
    receiver: Key[str | Receiver | dict[str, Any] | list[Any], Receiver] = key(
        Forms(Receiver, words=True),
        'whether its receiver keeps the rules of TCP, or breaks them: "ack_division", "optimistic_acks" or'
        ' "dupack_spoofing", also as a table with a number; in the simulator',
        default="honest",
    )
    preset: MaybeWord = key(
        NAME,
        "a set of the controller's parameters, such as chromium (`dumbbell cca show NAME`); params override it",
        default=None,
    )
    params: Key[dict[str, int | list[int]] | list[dict[str, int]] | None, dict[str, int] | None] = key(
        _Params(),
        "parameters of the controller; also a list of such tables, to go together with a list of controllers",
        default=None,
    )

    @property
    def has_controller(self) -> bool:
        """False of probes and of UDP, which nothing controls."""
        return not isinstance(self.workload, Probes) and not isinstance(self.transport, Udp)

    def excused(self) -> frozenset[str]:
        """What nothing controls needs no controller."""
        return frozenset() if self.has_controller else self.EXCUSED


#: Most [[flow]] and [[link]] tables; `count` and `arrivals` make more flows than one would write.
FLOW_TABLES_MAX, LINKS_MAX = 10_000, 1_000


class Limits(Table):
    """What a scenario may cost before it is refused, or a run ends itself with an error: what is beyond is a slip, or
    is to be asked for here.
    """

    AT = "limits"

    runs: Fixed[int] = key(
        whole(1, 10**7), "runs of the whole grid, repetitions included", default=100_000, varies=False
    )
    events: Fixed[int] = key(
        whole(1, 2**53),
        "events of the simulator per simulated second; 100 Gbit/s of full packets take about 50 million",
        default=100_000_000,
        varies=False,
    )
    memory: Key[str, int] = key(
        size("1MB", "1000GB"),
        "memory of a run for packets on the path and for messages; with --jobs N, each of N runs may take it",
        default="4GiB",
        varies=False,
    )
    messages: Fixed[int] = key(
        whole(1, 10**9), "messages per second of a paced or on-off application", default=1_000_000, varies=False
    )
    samples: Fixed[int] = key(
        whole(1, 10**12),
        "sample rows of a run (flows x duration / record.every); 10^8 take about 20 GB",
        default=100_000_000,
        varies=False,
    )


#: Keys of [record] that a plan has only where they are true, so that the plans of others stay as they were.
EXTRA = ("qlog", "variables", "limits")


class Record(Table):
    """What a run writes in addition to its summary and flow table."""

    AT = "record"

    every: Quantity = key(EVERY, "time between samples", default="100ms")
    samples: Switch = key(SWITCH, "table of each flow's state at every sample time", default=True, varies=False)
    queue: Switch = key(SWITCH, "table of the bottleneck's state at every sample time", default=True, varies=False)
    events: Switch = key(SWITCH, "table of state changes, losses and timeouts", default=True, varies=False)
    pcap: Switch = key(SWITCH, "capture of every packet at the senders", default=False, varies=False)
    qlog: Switch = key(
        SWITCH,
        "qlog of the senders: packets of QUIC, recovery of all flows; simulator only",
        default=False,
        varies=False,
    )
    variables: Switch = key(
        SWITCH,
        "table of what controllers declare (max_bw, rounds, bounds, undo values, why slow start ended), when it"
        " changes; simulator, and --on uml at every sample",
        default=False,
        varies=False,
    )
    limits: Switch = key(
        SWITCH,
        "table of what limits each flow when: application, windows, buffers, pacing, recovery; simulator, and --on uml"
        " at every sample",
        default=False,
        varies=False,
    )
    states: Switch = key(
        SWITCH,
        "on real hosts: ask our own controllers for their state at every sample; this locks the socket for some 17 us",
        default=True,
        varies=False,
    )


class Scenario(Table):
    """An experiment: a path, the flows that share it, and for how long."""

    name: Fixed[str] = key(
        NAME,
        "name of the experiment, and of result folders; default: the name of its file",
        default="scenario",
        varies=False,
    )
    duration: Quantity = key(DURATION, "simulated time of a run")
    seed: Number = key(whole(0, 2**53 - 1), "seed of everything random", default=1)
    repetitions: Fixed[int] = key(
        whole(1, 100_000), "runs per combination, each with a seed of its own", default=1, varies=False
    )
    together: Key[list[list[str]], tuple[tuple[str, ...], ...]] = key(
        axes.TOGETHER,
        "keys whose lists of values go in step instead of making a grid, as lists of keys; `flow.cca`, without a"
        " number, is the key of every [[flow]] table that has a list there",
        default=(),
        varies=False,
    )
    path: SubTable[Path] = key(Sub(Path), "the [path] table", varies=False)
    link: Tables[Link] = key(
        Each(Link, minimum=0, most=LINKS_MAX),
        "further links of the data direction, [[link]] tables",
        default=(),
        varies=False,
    )
    host: SubTable[Host] = key(Sub(Host), "the [host] table", default=Host(), varies=False)
    flow: Tables[Flow] = key(Each(Flow, most=FLOW_TABLES_MAX), "at least one [[flow]] table", varies=False)
    measure: MaybeSubTable[Measure] = key(
        Sub(Measure), "the [measure] table: the part of a run that figures cover", default=None, varies=False
    )
    record: SubTable[Record] = key(Sub(Record), "the [record] table", default=Record(), varies=False)
    limits: SubTable[Limits] = key(Sub(Limits), "the [limits] table", default=Limits(), varies=False)
    expect: Tables[Expect] = key(
        Each(Expect, minimum=0, most=EXPECT_MAX),
        "what the runs have to show, [[expect]] tables, which `dumbbell test` judges",
        default=(),
        varies=False,
    )

    def check(self) -> None:
        """Raise ScenarioError for lists that cannot go together, and for a value that one has twice."""
        _ = self.axes

    @property
    def axes(self) -> list[Axis]:
        """Axes of what varies, in the order in which the first keys are written."""
        return axes.of(self, self.together)

    @property
    def folder(self) -> FilePath:
        """Folder of the files that it names: its own folder, or the current one."""
        folder: FilePath = self.__dict__.get("_folder", FilePath())
        return folder


def from_dict(given: Mapping[str, object], *, folder: str | FilePath = "") -> Scenario:
    """The scenario that these nested dictionaries describe; files that it names are looked for in `folder`. Raises
    ScenarioError.
    """
    return build(Scenario, given, "", _folder=FilePath(folder))


def from_text(
    text: str, *, name: str = "scenario", overrides: tuple[str, ...] = (), folder: str | FilePath = ""
) -> Scenario:
    """The scenario in a TOML text, after overrides such as ``path.rate=10Mbps``; `name` serves when the text gives
    none.
    """
    from . import source

    given = source.tables(text, overrides)
    given.setdefault("name", name)
    try:
        return from_dict(given, folder=folder)
    except ScenarioError as error:
        raise source.placed(error, text, "", overrides) from None


class Given(NamedTuple):
    """A scenario with its text as given, and the file that it came from if any."""

    scenario: Scenario
    text: str
    source: str = ""


def from_file(path: str | FilePath, *, overrides: tuple[str, ...] = ()) -> Given:
    """The scenario in a TOML file, or in that of ``gallery:NAME``; raises ScenarioError that names the file and the
    lines.
    """
    from . import source

    path = source.located(path)
    text = source.read(path)
    try:
        return Given(
            from_text(text, name=source.file_name(path, NAME_LETTERS), overrides=overrides, folder=path.parent),
            text,
            str(path),
        )
    except ScenarioError as error:
        raise error.under(str(path)) from None
