"""One run of two hosts with detached sessions, from start to result folder: what `netem` and `ssh` share."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.controllers import facts_of
from dumbbell.errors import EngineError, ScenarioError

from . import script, tc
from .collected import Collected
from .folder import ResultFolder
from .session import GIVE_UP_S, Session, again, remove_all

if TYPE_CHECKING:
    from dumbbell.plan.types import Plan

    from .request import Progress, Request

#: How far ahead both hosts are told when a run begins, s: longer than telling takes.
_AHEAD_S, _AHEAD_REMOTE_S = 1.0, 8.0
#: How long hosts may take to be ready, s, and a sender to end after its run.
_READY_S, _ENDING_S = 60.0, 30.0


class Pair(NamedTuple):
    """Both sessions and their scripts."""

    sender: Session
    receiver: Session
    sender_script: str
    receiver_script: str
    queues: Sequence[script.Queue]
    skew_ns: int = 0


def refuse(request: Request) -> None:
    """Raise ScenarioError for what two real hosts and a shaper of the kernel cannot do."""
    plan, backend = request.planned.plan, request.backend
    try:
        if request.own:
            raise ScenarioError(
                "--cca",
                f"files are not taken with --on {backend}, only controllers that the kernel or this build has; --on"
                " linux and bpf take C files that include cca.h",
            )
        if len(plan["flows"]) > script.FLOWS_MAX:
            raise ScenarioError(
                "flow", f"{len(plan['flows'])} flows in all, wanted at most {script.FLOWS_MAX} with --on {backend}"
            )
        if plan["record"]["pcap"]:
            raise ScenarioError(
                "record.pcap", f"got true, wanted false with --on {backend}; run tcpdump on a host instead"
            )
        _refuse_ways(plan, backend)
        own = ("ecn", "initial_window") if backend == "netem" else ("initial_window",)
        script.refuse_hosts(plan, own, f"with --on {backend}")
        tc.refuse(plan["links"][0])
        tc.leaf(plan["links"][0]["qdisc"])
        for i, flow in enumerate(plan["flows"]):
            kind = flow["transport"]["kind"]
            if kind != "tcp":
                others = "--on linux and sim run quinn" if kind == "quinn" else "--on sim has it"
                problem = f"got {kind}, wanted tcp with --on {backend}, whose hosts run iperf3; {others}"
                raise ScenarioError(f"flow[{i}].transport", problem)
            if flow["workload"] is not None:
                raise ScenarioError(f"flow[{i}].workload", "got one, wanted none: iperf3 makes plain transfers")
    except ScenarioError as error:
        raise error.under(request.planned.name) from None


def _refuse_ways(plan: Plan, backend: str) -> None:
    for links, name in ((plan["links"][1:], "link"), (plan["ack_links"][1:], "path.up")):
        if links:
            raise ScenarioError(
                name,
                f"got one more, wanted none with --on {backend}: there is one bottleneck each way; --on linux and uml"
                " have more",
            )
    for link in plan["ack_links"]:
        with tc.keys_of(f"path.{link['name']}"):
            tc.refuse(link)
            tc.leaf(link["qdisc"])
    for i, flow in enumerate(plan["flows"]):
        if facts_of(flow["cca"]).needs_marks and backend == "ssh" and script.host_of(plan, i)["ecn"] == "off":
            raise ScenarioError(
                f"flow[{i}].cca",
                f"{flow['cca']} needs host.ecn = true with --on ssh: iperf3 asks for the controller when the connection"
                " is open, and nobody else asks for ECN",
            )


def explained(error: EngineError) -> EngineError:
    """The same error, naming the kernel's module that a command lacks."""
    text = str(error)
    if "kind is unknown" in text or "Unknown device type" in text or "Operation not supported" in text:
        at = max(text.find("tc qdisc"), text.find("ip link"))
        missing = tc.module(text[at:].partition(":  ")[0].partition(": Error")[0]) if at >= 0 else None
        if missing:
            return EngineError(f"{text} (the kernel has no module {missing})")
    return error


def run(
    request: Request, folder: Path, pair: Pair, *, more: Callable[[Collected], tuple[dict[str, Any], list[str]]]
) -> dict[str, Any]:
    """Run both scripts, collect, write the result folder, and leave nothing on the hosts; `more` gives further keys and
    warnings of the manifest.
    """
    plan = request.planned.plan
    try:
        with ResultFolder(request, folder) as results:
            left = _conduct(plan, pair, results.path / "raw", request.progress)
            collected = Collected(plan, results.path / "raw", queues=pair.queues, skew_ns=pair.skew_ns)
            summary = collected.write(results.path)
            keys, warnings = more(collected)
            _keep_reports(results.path / "raw", results.path / "iperf3")
            return results.finish(summary, warnings=[*warnings, *left], more=keys)
    except EngineError as error:
        raise explained(error) from None


def _keep_reports(raw: Path, into: Path) -> None:
    """Keep iperf3's reports, which the tables do not hold, of the raw data."""
    into.mkdir()
    for path in sorted(raw.glob("*/[0-9]*.json"), key=lambda path: path.name):
        path.rename(into / path.name)
    shutil.rmtree(raw)


def _conduct(plan: Plan, pair: Pair, raw: Path, progress: Progress) -> list[str]:
    """Both sessions from claim to removal, which happens however this ends; says what could not be removed."""
    claimed: list[Session] = []
    try:
        for session in (pair.receiver, pair.sender):
            session.claim()
            claimed.append(session)
        if script.is_two_way(plan):
            _conduct_both(plan, pair, raw, progress)
        else:
            _conduct_one_way(plan, pair, raw, progress)
    finally:
        left = remove_all(claimed)
    return left


def _conduct_one_way(plan: Plan, pair: Pair, raw: Path, progress: Progress) -> None:
    """The sender begins when the receiver is ready."""
    pair.receiver.launch(pair.receiver_script)
    pair.receiver.wait("ready", until=time.monotonic() + _READY_S, tick=lambda: progress(0, 0))
    pair.sender.launch(pair.sender_script)
    began = time.monotonic()

    def tick() -> None:
        progress(min(int((time.monotonic() - began) * 1e9), plan["duration_ns"]), 0)

    patience = plan["duration_ns"] / 1e9 + _ENDING_S
    grace = GIVE_UP_S if pair.sender.host.is_remote else 0.0
    pair.sender.wait("done", until=began + patience + grace, tick=tick)
    raw.mkdir()
    until = time.monotonic() + grace
    again(lambda: pair.receiver.tell("stop"), until=until)
    pair.receiver.wait("done", until=time.monotonic() + _ENDING_S + grace, tick=tick)
    for name, session in (("sender", pair.sender), ("receiver", pair.receiver)):
        again(lambda session=session, name=name: session.collect(raw / name), until=until)  # type: ignore[misc]


def _conduct_both(plan: Plan, pair: Pair, raw: Path, progress: Progress) -> None:
    """Hosts that both send begin at a time that both are told, and stay until both are over."""
    both = (("receiver", pair.receiver, pair.receiver_script), ("sender", pair.sender, pair.sender_script))
    for _, session, text in both:
        session.launch(text)
        session.wait("ready", until=time.monotonic() + _READY_S, tick=lambda: progress(0, 0))
    ahead_s = _AHEAD_REMOTE_S if pair.sender.host.is_remote else _AHEAD_S
    t0 = pair.sender.clock_ns() + round(ahead_s * 1e9)
    pair.sender.tell("go", str(t0))
    pair.receiver.tell("go", str(t0 + pair.skew_ns))
    began = time.monotonic() + ahead_s

    def tick() -> None:
        progress(min(max(int((time.monotonic() - began) * 1e9), 0), plan["duration_ns"]), 0)

    grace = GIVE_UP_S if pair.sender.host.is_remote else 0.0
    until = began + plan["duration_ns"] / 1e9 + _ENDING_S + grace
    for word, told in (("over", "leave"), ("done", "")):
        for _, session, _ in both:
            session.wait(word, until=until, tick=tick)
        for _, session, _ in both if told else ():
            again(lambda session=session: session.tell("leave"), until=until)  # type: ignore[misc]
    raw.mkdir()
    for name, session, _ in both:
        again(lambda session=session, name=name: session.collect(raw / name), until=until)  # type: ignore[misc]
