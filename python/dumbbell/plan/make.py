"""Scenario x varied values x repetition -> plans: absolute, explicit integers, which is all that an engine sees.

Order of runs: the first key written varies slowest, then the second, and so on; repetitions vary fastest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import controllers, units
from dumbbell.errors import ScenarioError, together, wrong
from dumbbell.scenario import arrivals, recorded, schedule
from dumbbell.scenario.declare import is_written, raw, raw_at, replaced
from dumbbell.scenario.file import EXTRA, Flow, Limits, Path, Record, Scenario
from dumbbell.scenario.host import INITIAL_WINDOW, Host
from dumbbell.scenario.impairments import WindowedLoss
from dumbbell.scenario.measure import Measure
from dumbbell.scenario.names import Facts, names
from dumbbell.scenario.receivers import OptimisticAcks
from dumbbell.scenario.routes import BOTTLENECK, Link, Up
from dumbbell.scenario.workloads import DATAGRAM_MAX, OnOff, Paced, Probes, Udp

from . import moments, routes, warn
from .planned import Case, Planned
from .types import HostPlan, RecordPlan

if TYPE_CHECKING:
    from .types import FlowPlan, LinkPlan, MeasurePlan, Plan, ProbePlan, Settings

#: Most flows of a run; a port number each (RFC 6335 leaves 49151 user ports), and memory for their tables.
FLOWS_MAX = 49_151

#: Most steps of delays and losses in a plan: some 100 MB of text.
STEPS_MAX = 4_000_000

Known = Mapping[str, controllers.Controller]
"""Controllers by name."""

_MASK64 = 2**64 - 1


def derived_seed(seed: int, repetition: int) -> int:
    """Seed of a repetition: the given seed for repetition 0, else SplitMix64 of both, cut to 53 bits so that JSON and
    TOML keep it exact.

    SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, Fig. 17.
    """
    if repetition == 0:
        return seed
    z = (seed + repetition * 0x9E3779B97F4A7C15) & _MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK64
    return (z ^ (z >> 31)) & (2**53 - 1)


def cases(scenario: Scenario) -> list[Case]:
    """Every combination of the varied values (the full grid, but for what goes together), in the documented order."""
    axes = scenario.axes
    count = prod(len(axis.points) for axis in axes) * scenario.repetitions
    most = scenario.limits.runs
    if count > most:
        names = [" + ".join(axis.keys) for axis in axes]
        what = " x ".join(names + (["repetitions"] if scenario.repetitions > 1 else []))
        raise wrong("limits.runs", most, f"as many as there are runs: {count} ({what})")
    listed = []
    alone = replaced(scenario, ("together",), ((), ())) if scenario.together else scenario
    for combination in product(*(axis.points for axis in axes)):
        case, vary = alone, {}
        for point in combination:
            vary.update(point.vary)
            for place, value in point.changes:
                case = replaced(case, place, value)
        listed.append(_settled(vary, case))
    return listed


def _settled(vary: dict[str, Any], case: Scenario) -> Case:
    """The case with the values of its recordings in the place of their names."""
    if not any(recorded.named(case)):
        return Case(vary, case)
    from dumbbell.scenario import traced  # rarely needed, and start-up counts

    return Case(vary, traced.settled(case), tuple(traced.warnings(case)))


def runs(scenario: Scenario, known: Known | None = None, *, once: bool = False) -> list[Planned]:
    """Every run of the scenario, in order; raises ScenarioError for contradictions and impossible values.

    `known` are the controllers that there are: the built-in ones unless given. `once`: of repetitions that cannot
    differ in the simulator, only the first is kept.
    """
    return list(each(scenario, known, once=once))


def each(scenario: Scenario, known: Known | None = None, *, once: bool = False) -> Iterator[Planned]:
    """These runs one by one, each planned when it is asked for."""
    number = 0
    together = tuple(axis.keys for axis in scenario.axes if len(axis.keys) > 1)
    for vary, case, noted in cases(scenario):
        base = plan(case, known)
        warnings = [*noted, *warn.of_case(case, base)]
        repetitions = scenario.repetitions
        if once and repetitions > 1 and not _draws(case) and not warn.is_random(base):
            repetitions = 1
            warnings.append(warn.once(scenario))
        for repetition in range(repetitions):
            seed = derived_seed(base["seed"], repetition)
            planned = {**base, "seed": seed} if repetition == 0 or not _draws(case) else plan(case, known, seed=seed)
            yield Planned(number, scenario.name, vary, repetition, planned, tuple(warnings), together)
            number += 1


def _why_none(case: Scenario, *, has_probes: bool) -> str:
    """Why a run has no flow."""
    if has_probes:
        return "got probes only, wanted a [[flow]] with a controller as well"
    if all(flow.count == 0 for flow in case.flow):
        return "got count = 0 in every [[flow]] of this run, wanted a flow in one of them"
    return "no flow arrives before the end of the run"


def _draws(case: Scenario) -> bool:
    """True if the plan itself depends on the seed."""
    return case.host.start_jitter > 0 or any(flow.arrivals is not None for flow in case.flow)


def plan(case: Scenario, known: Known | None = None, *, seed: int | None = None) -> Plan:
    """The plan of a scenario without varied values; its own seed unless another is given."""
    path, record, duration = case.path, case.record, case.duration
    seed = case.seed if seed is None else seed
    links = routes.named(case.link)
    tables = [
        _Flows(flow, path, duration, links, f"flow[{i}]", seed, case.folder, case.limits)
        for i, flow in enumerate(case.flow)
    ]
    called = _named(tables)
    flows: list[FlowPlan] = []
    probes: list[ProbePlan] = []
    errors: list[ScenarioError] = []
    for number, table in enumerate(tables):
        try:
            if isinstance(table.flow.workload, Probes):
                probes += table.probes(called[number], number, table.flow.workload.probe)
                continue
            flows += table.plan(called[number], number, known, FLOWS_MAX - len(flows))
        except ScenarioError as error:
            errors += error.errors
        if len(flows) > FLOWS_MAX:
            raise ScenarioError("flow", f"{len(flows)} flows in all, wanted at most {FLOWS_MAX}")
    data_links, ack_links = _links(case, errors)
    errors += _late_starts(case)
    errors += _strange_losses(case)
    if errors:
        raise together(_once(errors))
    _check_steps(flows)
    if not flows:
        raise ScenarioError("flow", _why_none(case, has_probes=bool(probes)))
    if len(flows) * (duration // record.every) > case.limits.samples:
        raise wrong(
            "record.every",
            raw_at(record, "every"),
            f"at most {case.limits.samples} rows (flows x duration / every), which limits.samples raises",
        )
    whole: Plan = {
        "name": case.name,
        "seed": seed,
        "duration_ns": duration,
        "sample_ns": record.every,
        "measure": _measure(case.measure, duration, record),
        "links": data_links,
        "ack_links": ack_links,
        "host": _host(case.host),
        "flows": _spread_starts(flows, case.host.start_jitter, seed),
        "record": _record(record),
        "limits": {"events_per_s": case.limits.events, "memory_bytes": case.limits.memory},
    }
    if probes:
        whole["probes"] = probes
    return moments.noted(whole, controllers.known() if known is None else known)


def _record(record: Record) -> RecordPlan:
    """Recorded tables, by the engine's names, which are those of the keys; those of `EXTRA` only where asked for."""
    names = [name for name in RecordPlan.__annotations__ if name not in EXTRA or getattr(record, name)]
    kept: Any = {name: getattr(record, name) for name in names}
    return kept  # type: ignore[no-any-return]


def _late_starts(case: Scenario) -> list[ScenarioError]:
    """Errors in the random part of the starts."""
    if case.host.start_jitter <= case.duration:
        return []
    most = f"at most the duration ({units.span_text(case.duration)}), after which no flow can start"
    return [wrong("host.start_jitter", raw_at(case.host, "start_jitter"), most)]


def _strange_losses(case: Scenario) -> list[ScenarioError]:
    """Errors of losses that are of one flow: there is none of its name, or they are a flow's own already."""
    named, up = case.path.way_up
    ways: list[tuple[str, Path | Up]] = [("path", case.path), *([] if up is None else [(named, up)])]
    listed: list[tuple[str, object]] = [(f"{at}.loss", way.loss) for at, way in ways]
    listed += [(f"{at}.impair[{i}]", part) for at, way in ways for i, part in enumerate(way.impair or ())]
    names = [flow.name for flow in case.flow if flow.name is not None]
    wanted = "the name of a [[flow]] table" + (f", one of: {', '.join(names)}" if names else "; none has a name")
    strange = [
        wrong(f"{at}.flow", loss.flow, wanted, names)
        for at, loss in listed
        if isinstance(loss, WindowedLoss) and loss.flow is not None and loss.flow not in names
    ]
    own: list[tuple[str, object]] = [(f"flow[{i}].loss", flow.loss) for i, flow in enumerate(case.flow)]
    own += [(f"flow[{i}].impair[{k}]", p) for i, flow in enumerate(case.flow) for k, p in enumerate(flow.impair or ())]
    return strange + [
        wrong(f"{at}.flow", loss.flow, "no such key here: the loss is of this flow's data already")
        for at, loss in own
        if isinstance(loss, WindowedLoss) and loss.flow is not None
    ]


def _check_steps(flows: list[FlowPlan]) -> None:
    """Each flow has its own copy of the steps of its delay and loss."""
    count = sum(len(stage.get("steps", ())) for flow in flows for stage in (*flow["forward"], *flow["back"]))
    if count > STEPS_MAX:
        raise ScenarioError(
            "path.rtt",
            f"comes to {count} steps of delay and loss in {len(flows)} flows, wanted {STEPS_MAX} at most: fewer flows,"
            " a shorter run, or a recording with fewer values",
        )


def _measure(measure: Measure | None, duration: int, record: Record) -> MeasurePlan | None:
    """The part of the run that figures cover, which are made of the samples in it."""
    if measure is None:
        return None
    begin, end = measure.from_, duration if measure.to is None else measure.to
    if end > duration:
        raise wrong("measure.to", raw_at(measure, "to"), f"up to the end of the run ({units.span_text(duration)})")
    if begin >= end:
        raise wrong(
            "measure.from",
            raw_at(measure, "from"),
            f"before the end of what is measured ({units.span_text(end)})",
        )
    inside = end // record.every - -(-begin // record.every) + 1 + (end == duration and end % record.every > 0)
    if inside < 2 and record.samples:
        raise wrong(
            "record.every",
            raw_at(record, "every"),
            f"two sample times or more between {units.span_text(begin)} and {units.span_text(end)}, which are measured",
        )
    return {"from_ns": begin, "to_ns": end}


def _named(tables: list[_Flows]) -> list[str]:
    """Names of the flows of each table; raises ScenarioError where two are called the same."""
    given = [table.flow.name for table in tables]
    for i, name in enumerate(given):
        if name is not None and name in given[:i]:
            raise wrong(
                f"{tables[i].at}.name", name, f"a name of its own, because {tables[given.index(name)].at} has this one"
            )
    return names([table.facts() for table in tables], given)


def _links(case: Scenario, errors: list[ScenarioError]) -> tuple[list[LinkPlan], list[LinkPlan]]:
    """The links of the way down, the bottleneck first, and that of the way up; what is wrong with them is added
    to `errors`.
    """
    rtt = None if case.path.rtt is None else schedule.nominal(case.path.rtt)

    # QUIC pads what opens a connection to a full frame.
    has_frames = any(flow.transport.FORM not in ("tcp", "udp") or flow.direction == "up" for flow in case.flow)

    def made(table: Path | Link | Up, name: str, at: str) -> Iterator[LinkPlan]:
        packet_bytes = units.FRAME_BYTES if has_frames or not isinstance(table, Up) else routes.ACK_BYTES
        try:
            yield routes.link(table, name, at, rtt, case.folder, packet_bytes=packet_bytes)
        except ScenarioError as error:
            errors.extend(error.errors)

    data = [*made(case.path, BOTTLENECK, "path")]
    for i, further in enumerate(case.link):
        data += made(further, further.name, f"link[{i}]")
    at, up = case.path.way_up
    if up is None or up.rate is None:
        errors += [] if up is None else _without_link(up, at)
        return data, []
    return data, [*made(up, at.removeprefix("path."), at)]


def _without_link(up: Up, at: str) -> list[ScenarioError]:
    """Errors for keys of a link that the way up lacks."""
    wanted = f"{at}.rate with it: without a rate there is no link"
    names = ("buffer", "qdisc", "burst", "link_header", "policer")
    return [wrong(f"{at}.{name}", raw_at(up, name), wanted) for name in names if is_written(up, name)]


def _once(errors: list[ScenarioError]) -> list[ScenarioError]:
    """Each error once: several flows may run into the same one of the path."""
    return list({str(error): error for error in errors}.values())


def _spread_starts(flows: list[FlowPlan], spread: int, seed: int) -> list[FlowPlan]:
    """The flows, each start moved by up to `spread`, drawn from the run's seed and the flow's number alone."""
    if not spread:
        return flows
    import hashlib  # rarely needed, and start-up counts

    moved: list[FlowPlan] = []
    for i, flow in enumerate(flows):
        draw = int.from_bytes(hashlib.sha256(f"{seed}/flow{i}.start".encode()).digest()[:8], "big")
        most = flow["stop_ns"] - flow["start_ns"] - 1
        moved.append({**flow, "start_ns": flow["start_ns"] + min(draw % (spread + 1), most)})
    return moved


def bdp_bytes(path: Path, rate_bps: int) -> int | None:
    """Bandwidth-delay product at a rate, rounded down; None where the path has no RTT."""
    return None if path.rtt is None else rate_bps * schedule.nominal(path.rtt) // (8 * 10**9)


#: Keys of the hosts in a plan that are truths where people write one of two words.
_SHARED = {"shared_receiver": "receivers", "shared_processor": "processors"}


def _host(host: Host) -> HostPlan:
    """The hosts as the engine declares them: its names are those of the keys, and sizes say that they are bytes."""
    hosts: Any = {
        name: getattr(host, _SHARED[name]) == "one" if name in _SHARED else getattr(host, name.removesuffix("_bytes"))
        for name in HostPlan.__annotations__
    }
    if host.initial_window == INITIAL_WINDOW:
        del hosts["initial_window"]
    return hosts  # type: ignore[no-any-return]


class _Flows(NamedTuple):
    """One [[flow]] table on its way into a plan."""

    flow: Flow
    path: Path
    duration: int
    links: dict[str, tuple[int, int]]
    at: str
    seed: int
    folder: FilePath
    limits: Limits

    def probes(self, name: str, number: int, every: int) -> list[ProbePlan]:
        """Its series of probes: `count` of them."""
        flow, route = self.flow, self._route()
        for key in ("cca", "size", "arrivals", "transport", "max_rate", "host", "receiver", "preset", "params"):
            if is_written(flow, key):
                raise wrong(f"{self.at}.{key}", raw_at(flow, key), "no such key next to probes, which are datagrams")
        probe: ProbePlan = {
            "name": name,
            "table": number,
            "direction": flow.direction,
            "rtt_ns": route.rtt_ns,
            "forward": route.forward,
            "back": route.back,
            "start_ns": 0,
            "stop_ns": self.duration if flow.stop is None else flow.stop,
            "every_ns": every,
        }
        return [{**probe, "start_ns": start} for start in self._times()]

    def _route(self) -> routes.Route:
        flow, at = self.flow, self.at
        rtt = self.path.rtt if flow.rtt is None else flow.rtt
        up = self.path.way_up[1]
        if flow.rtt is not None and self.path.delay is not None:
            wanted = "no RTT of its own next to path.delay, which is the delay down of all flows"
            raise wrong(f"{at}.rtt", raw_at(flow, "rtt"), wanted)
        if rtt is None and (self.path.delay is None or up is None or up.delay is None):
            raise ScenarioError(
                f"{at}.rtt", "missing, and there is no path.rtt (or path.delay with path.up.delay) to fall back on"
            )
        return routes.route(flow, self.path, 0 if rtt is None else rtt, self.links, at)

    def plan(self, name: str, number: int, known: Known | None, most: int) -> list[FlowPlan]:
        """Its flows: `count` of them, or those that arrive."""
        flow, at = self.flow, self.at
        self._check_hosts()
        self._check_udp()
        cca, params = self._controller(known)
        starts = self._times()
        route = self._route()
        hosts: Any = {} if flow.host is None else flow.host.plan()
        planned: FlowPlan = {
            "name": name,
            "table": number,
            "cca": cca,
            "params": params,
            "transport": flow.transport.plan(),
            "rtt_ns": route.rtt_ns,
            "forward": route.forward,
            "back": route.back,
            "stop_ns": self.duration if flow.stop is None else flow.stop,
            "size_bytes": flow.size,
            "workload": self._workload(),
            "max_rate_bps": flow.max_rate,
            "host": hosts,
            "start_ns": 0,
        }
        if flow.direction == "up":
            planned["direction"] = "up"
        if receiver := self._receiver():
            planned["receiver"] = receiver
        if flow.arrivals is not None:
            arrived = arrivals.expand(
                flow.arrivals, starts[0], planned["stop_ns"], seed=self.seed, at=at, folder=self.folder, most=most
            )
            return [{**planned, "start_ns": start, "size_bytes": size} for start, size in arrived]
        return [{**planned, "start_ns": start} for start in starts]

    def _controller(self, known: Known | None) -> tuple[str, dict[str, int]]:
        """Its controller and the parameters; an empty name where nothing controls it."""
        flow, at = self.flow, self.at
        if not flow.has_controller:
            return "", {}
        quinn = controllers.with_quinn(known) if flow.transport.FORM == "quinn" else None
        if quinn is None and flow.cca.startswith(controllers.QUINN):
            raise wrong(f"{at}.cca", flow.cca, 'this controller with transport = "quinn", whose interface it has')
        params = controllers.with_preset(flow.cca, flow.preset, flow.params or {}, at, quinn or known)
        if quinn is not None and quinn[flow.cca].needs_marks:
            accepted = 'a controller that needs no number of CE marks, which quinn tells none, or transport = "tcp"'
            raise wrong(f"{at}.cca", flow.cca, accepted)
        return flow.cca, params

    def _check_udp(self) -> None:
        """Raise ScenarioError for keys that UDP does not have, and for messages that are no datagrams."""
        flow, at, work = self.flow, self.at, self.flow.workload
        if not isinstance(flow.transport, Udp):
            return
        for name in ("cca", "size", "arrivals", "max_rate", "host", "preset", "params"):
            if is_written(flow, name):
                raise wrong(
                    f"{at}.{name}", raw_at(flow, name), "no such key next to transport udp, which nothing controls"
                )
        wanted = (
            'messages at a rate, each a datagram: { kind = "paced", rate = "10Mbps", message = "1200B" }, or on_off'
        )
        if work is None:
            raise ScenarioError(f"{at}.workload", f"missing next to transport udp: {wanted}")
        if not isinstance(work, (Paced, OnOff)) or work.rate is None:
            raise wrong(f"{at}.workload", raw(work), f"{wanted} with a rate, next to transport udp")
        if work.message > DATAGRAM_MAX:
            raise wrong(
                f"{at}.workload.message",
                raw_at(work, "message"),
                f"at most {DATAGRAM_MAX}B: a message is a datagram of UDP",
            )

    def _receiver(self) -> dict[str, Any]:
        """Its receiver, if it misbehaves; raises ScenarioError where its transport or its application excludes that."""
        flow, at = self.flow, f"{self.at}.receiver"
        planned = flow.receiver.plan()
        if planned and flow.transport.FORM != "tcp":
            raise wrong(at, raw_at(flow, "receiver"), "none but over TCP: acknowledgements of QUIC name packets")
        if isinstance(flow.receiver, OptimisticAcks) and flow.workload is not None:
            accepted = "a transfer without workload: a message whose parts are missing has no end"
            raise wrong(at, raw_at(flow, "receiver"), accepted)
        return planned

    def _check_hosts(self) -> None:
        """Raise ScenarioError for settings of TCP's hosts on a flow that quinn carries, and for two initial windows."""
        flow = self.flow
        if flow.host is None:
            return
        given = flow.host.initial_window
        if given is not None and getattr(flow.transport, "initial_window", None) is not None:
            accepted = "one initial window: that of flow.transport, or that of flow.host"
            raise wrong(f"{self.at}.host.initial_window", given, accepted)
        for name in flow.host.plan() if flow.transport.FORM == "quinn" else ():
            if name not in ("hz", "ecn", "initial_window"):
                written = name.removesuffix("_bytes")
                accepted = "hz, ecn and initial_window only with transport quinn, which has no TCP below it"
                raise wrong(f"{self.at}.host.{written}", raw_at(flow.host, written), accepted)

    def facts(self) -> Facts:
        """Facts that tell its flows from those of other tables with the same controller."""
        flow, rtt = self.flow, raw_at(self.path if self.flow.rtt is None else self.flow, "rtt")
        rtt = "" if rtt is None else rtt
        if flow.arrivals is not None:
            application = "short flows"
        elif flow.workload is not None:
            application = flow.workload.FORM.replace("_", " ")
        else:
            application = "" if flow.size is None else _close(units.bytes_text(flow.size))
        return (
            self._called(),
            flow.direction,
            "" if flow.transport.FORM == "tcp" or not flow.has_controller else flow.transport.FORM,
            _close(units.value_text(rtt)),
            f"from {_close(units.span_text(flow.start))}" if flow.start else "",
            "" if flow.stop is None else f"until {_close(units.span_text(flow.stop))}",
            application,
            "via " + "+".join(flow.via) if is_written(flow, "via") else "",
            flow.receiver.FORM.replace("_", " ") if flow.receiver.plan() else "",
            flow.preset or "",
            " ".join(f"{name}={value}" for name, value in (flow.params or {}).items()),
            "" if flow.host is None else " ".join(f"{name}={value}" for name, value in flow.host.plan().items()),
            "" if flow.max_rate is None else f"at most {_close(units.rate_text(flow.max_rate))}",
        )

    def _called(self) -> str:
        """What the name of its flows begins with: their controller, or what they are without one."""
        if self.flow.has_controller:
            return self.flow.cca
        return "probes" if isinstance(self.flow.workload, Probes) else self.flow.transport.FORM

    def _times(self) -> list[int]:
        """Starts of its flows."""
        flow, at, duration = self.flow, self.at, self.duration
        last = flow.start + (flow.count - 1) * flow.spacing
        if last >= duration:
            which = "start" if flow.start >= duration else "spacing"
            raise wrong(
                f"{at}.{which}",
                raw_at(flow, which),
                f"every start before the end of the run ({units.span_text(duration)})",
            )
        if flow.stop is not None and not last < flow.stop <= duration:
            wanted = (
                f"after the last start ({units.span_text(last)}), up to the end of the run"
                f" ({units.span_text(duration)})"
            )
            raise wrong(f"{at}.stop", raw_at(flow, "stop"), wanted)
        return [flow.start + i * flow.spacing for i in range(flow.count)]

    def _workload(self) -> Settings | None:
        """Workload of its application; raises ScenarioError if other keys exclude it."""
        flow, at = self.flow, self.at
        if flow.arrivals is not None:
            for name in ("size", "workload", "count", "spacing"):
                if is_written(flow, name):
                    raise wrong(
                        f"{at}.{name}",
                        raw_at(flow, name),
                        "no such key next to arrivals, which has its own sizes and times",
                    )
        if flow.workload is None:
            return None
        if flow.size is not None:
            raise wrong(f"{at}.size", raw_at(flow, "size"), "no size next to workload")
        if flow.transport.FORM == "quic":
            accepted = 'transport = "tcp" or "quinn": the simplified QUIC carries one transfer'
            raise wrong(f"{at}.workload", raw(flow.workload), accepted)
        workload = flow.workload.plan()
        if flow.transport.FORM == "quinn" and workload["kind"] == "on_off" and workload["rate_bps"] is None:
            accepted = "on times with a rate: a stream of quinn cannot take back what was written when one ends"
            raise wrong(f"{at}.workload", raw(flow.workload), accepted)
        self._check_pauses(workload)
        rate, size = workload.get("rate_bps"), workload.get("message_bytes")
        if rate and size and rate > self.limits.messages * size * 8:
            wanted = f"at most {self.limits.messages} messages per second, which limits.messages raises"
            raise wrong(f"{at}.workload", raw(flow.workload), f"{wanted} (it comes to {rate // (8 * size)})")
        return workload

    def _check_pauses(self, workload: Settings) -> None:
        """Raise ScenarioError for on and off times so short that a run would do nothing else."""
        if workload["kind"] != "on_off":
            return
        times = 10**9 // max(workload["on"]["ns"] + workload["off"]["ns"], 1)
        if times > self.limits.messages:
            wanted = f"at most {self.limits.messages} on times per second, which limits.messages raises"
            raise wrong(f"{self.at}.workload", raw(self.flow.workload), f"{wanted} (it comes to {times})")


def _close(quantity: str) -> str:
    """A quantity as one word: ``50ms``."""
    return quantity.replace(" ", "")
