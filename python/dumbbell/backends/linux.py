"""Real hosts: the kernel's TCP and iperf3 in network namespaces, with the simulator's own path between them in real
time.

`--on bpf` is the same with every flow's controller ours, also where the kernel has one of that name.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.errors import EngineError, ScenarioError
from dumbbell.scenario.warn import NEED_MARKS

from .folder import ResultFolder

if TYPE_CHECKING:
    from dumbbell.runs.plan_types import Plan

    from .request import Request

#: Controllers that the running kernel offers to every network namespace.
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
#: include/uapi/linux/time.h.
_CLOCK_MONOTONIC_COARSE = 6


def prepare() -> None:
    """Make sure that this process may make namespaces: without root by moving into a user namespace, which it must do
    before it has threads.
    """
    from dumbbell import _native

    if os.name == "posix" and os.geteuid() != 0:
        try:
            _native.enter_user_namespace()
        except _native.EmulatorError as error:
            raise EngineError(str(error)) from None


def check(request: Request) -> None:
    """Raise ScenarioError for what of a plan real hosts cannot do, EngineError where no namespaces can be made."""
    from dumbbell import _native

    prepare()
    if request.own:
        raise ScenarioError(
            "--cca", f"files are not taken with --on {request.on}, only controllers that the kernel or this build has"
        )
    planned = request.planned
    try:
        _native.emulate(json.dumps(planned.plan), None, ".")
    except _native.PlanError as error:
        raise ScenarioError("", str(error), source=planned.name) from None
    wanted(planned.plan, ours=_is_ours(request))


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan into `folder`, as `sim.run` does, and return its manifest."""
    from dumbbell import _native

    check(request)
    plan = request.planned.plan
    with ResultFolder(request, folder) as made:
        with controllers(plan, ours=_is_ours(request)) as names:
            outcome = json.loads(_native.emulate(json.dumps(plan), names, str(made.path), request.progress))
        refused = list(_refused_ecn(plan))
        more = {"emulator": outcome["emulator"]}
        return made.finish(outcome["summary"], hz=_kernel_hz(), warnings=refused, more=more)


def _refused_ecn(plan: Plan) -> Iterator[str]:
    """Flows whose SYN is ECN-capable, as their controller wants it: `tcp_ecn_create_request` refuses ECN to these
    where the receiver's own controller does not need it.
    """
    for cca in dict.fromkeys(flow["cca"] for flow in plan["flows"] if flow["cca"] in NEED_MARKS):
        yield (
            f"flow.cca: {cca} runs without ECN here, because its receiver has another controller: its packets are"
            " marked instead of dropped, and it does not see the marks; --on sim has ECN at both ends"
        )


def _is_ours(request: Request) -> bool:
    """Whether every flow has our controller."""
    return request.on == "bpf"


def _kernel_hz() -> int:
    """Ticks per second of the kernel: its coarse clock advances with them."""
    return round(1 / time.clock_getres(_CLOCK_MONOTONIC_COARSE))


class _Wanted(NamedTuple):
    """A flow's controller: the kernel's of this name, or ours with these parameters, which is to be loaded."""

    cca: str
    is_ours: bool
    params: frozenset[tuple[str, int]] = frozenset()


def wanted(plan: Plan, *, ours: bool = False) -> list[_Wanted]:
    """Of each flow: one that sets parameters, or that the kernel lacks, is ours, and with `ours` every one. Raises
    ScenarioError for one that there is not.
    """
    from dumbbell import kernel

    available = AVAILABLE.read_text().split() if AVAILABLE.exists() else []
    built_in = kernel.built_in()
    found = []
    for i, flow in enumerate(plan["flows"]):
        cca, at = flow["cca"], f"flow[{i}].cca"
        is_ours = ours or cca not in available or bool(flow["params"])
        if is_ours and cca not in built_in:
            raise ScenarioError(
                at,
                f'got "{cca}", wanted one that the kernel has ({", ".join(available)}) or that this build can load'
                f" ({', '.join(built_in)})",
            )
        if is_ours and (os.geteuid() != 0 or not _is_initial_user_namespace()):
            raise ScenarioError(
                at, f'got "{cca}", wanted one that the kernel has ({", ".join(available)}); root could load it'
            )
        found.append(_Wanted(cca, is_ours, frozenset(flow["params"].items())))
    return found


def _is_initial_user_namespace() -> bool:
    """Whether root here is root of the machine: the map of users then is the whole range."""
    try:
        return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    except OSError:
        return False


@contextmanager
def controllers(plan: Plan, *, ours: bool = False) -> Iterator[list[str]]:
    """Load ours for as long as the run lasts; the kernel's name of each flow's controller. Runs at once do not meet:
    each has names of its own.
    """
    from dumbbell import kernel

    flows = wanted(plan, ours=ours)
    with ExitStack() as stack:

        def kernel_name(one: _Wanted) -> str:
            return (
                stack.enter_context(kernel.load(one.cca, dict(one.params), numbered=True)).kernel_name
                if one.is_ours
                else one.cca
            )

        names = {one: kernel_name(one) for one in dict.fromkeys(flows)}
        yield [names[one] for one in flows]
