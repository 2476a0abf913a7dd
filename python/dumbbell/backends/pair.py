"""One run of two hosts with detached sessions, from start to result folder: what `netem` and `ssh` share."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import EngineError, ScenarioError

from . import script, tc
from .collected import Collected
from .folder import ResultFolder
from .session import GIVE_UP_S, Session, again, remove_all

if TYPE_CHECKING:
    from dumbbell.runs.plan_types import Plan

    from .request import Progress, Request

#: How long hosts may take to be ready, s, and a sender to end after its run.
_READY_S, _ENDING_S = 60.0, 30.0


class Pair(NamedTuple):
    """Both sessions and their scripts."""

    sender: Session
    receiver: Session
    sender_script: str
    receiver_script: str
    handle: str
    skew_ns: int = 0


def refuse(request: Request) -> None:
    """Raise ScenarioError for what two real hosts and a shaper of the kernel cannot do."""
    plan, backend = request.planned.plan, request.backend
    try:
        if request.own:
            raise ScenarioError(
                "--cca", f"files are not taken with --on {backend}, only controllers that the kernel or this build has"
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
        script.refuse_hosts(plan, ("ecn",) if backend == "netem" else (), f"with --on {backend}")
        tc.refuse(plan["links"][0])
        tc.leaf(plan["links"][0]["qdisc"])
        for i, flow in enumerate(plan["flows"]):
            if flow["transport"]["kind"] != "tcp":
                raise ScenarioError(
                    f"flow[{i}].transport", f"got {flow['transport']['kind']}, wanted tcp, the kernel's own"
                )
            if flow["workload"] is not None:
                raise ScenarioError(f"flow[{i}].workload", "got one, wanted none: iperf3 makes plain transfers")
    except ScenarioError as error:
        raise error.under(request.planned.name) from None


def _refuse_ways(plan: Plan, backend: str) -> None:
    for i, flow in enumerate(plan["flows"]):
        if flow.get("direction") == "up":
            raise ScenarioError(
                f"flow[{i}].direction", f"got up, wanted down with --on {backend}; --on sim and uml have both"
            )
    if plan.get("probes"):
        raise ScenarioError("flow.workload", f"got probes, wanted none with --on {backend}; --on sim and uml have them")
    up = f"path.{plan['ack_links'][0]['name']}" if plan["ack_links"] else ""
    for links, name in ((plan["links"][1:], "link"), (plan["ack_links"], up)):
        if links:
            raise ScenarioError(
                name, f"got one, wanted none with --on {backend}: there is one bottleneck; --on linux has more"
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
        with ResultFolder(request, folder) as made:
            left = _conduct(plan, pair, made.path / "raw", request.progress)
            collected = Collected(plan, made.path / "raw", handle=pair.handle, skew_ns=pair.skew_ns)
            summary = collected.write(made.path)
            keys, warnings = more(collected)
            _keep_reports(made.path / "raw", made.path / "iperf3")
            return made.finish(summary, warnings=[*warnings, *left], more=keys)
    except EngineError as error:
        raise explained(error) from None


def _keep_reports(raw: Path, into: Path) -> None:
    """Of the raw data keep what the tables do not hold: iperf3's reports."""
    into.mkdir()
    for path in sorted(raw.glob("*/[0-9]*.json")):
        path.rename(into / path.name)
    shutil.rmtree(raw)


def _conduct(plan: Plan, pair: Pair, raw: Path, progress: Progress) -> list[str]:
    """Both sessions from claim to removal, which happens however this ends; says what could not be removed."""
    claimed: list[Session] = []
    try:
        for session in (pair.receiver, pair.sender):
            session.claim()
            claimed.append(session)
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
        again(pair.receiver.tell_to_stop, until=until)
        pair.receiver.wait("done", until=time.monotonic() + _ENDING_S + grace, tick=tick)
        for name, session in (("sender", pair.sender), ("receiver", pair.receiver)):
            again(lambda session=session, name=name: session.collect(raw / name), until=until)  # type: ignore[misc]
    finally:
        left = remove_all(claimed)
    return left
