"""Real hosts: the kernel's TCP and iperf3 in network namespaces, with the simulator's own path between them in real
time.

`--on bpf` is the same with every flow's controller ours, also where the kernel has one of that name.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.controllers import facts_of
from dumbbell.errors import EngineError, ScenarioError, wrong

from .folder import ResultFolder

if TYPE_CHECKING:
    from dumbbell.plan.types import FlowPlan, Plan
    from dumbbell.scenario.own import Own

    from .request import Request

#: Controllers that the running kernel offers to every network namespace.
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
#: Which ECN connections negotiate, and the number of accurate ECN (Documentation/networking/ip-sysctl.rst).
ECN_SYSCTL, ACCURATE_ECN = "/proc/sys/net/ipv4/tcp_ecn", b"3"
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
    planned = request.planned
    if _is_ours(request):
        for i, flow in enumerate(planned.plan["flows"]):
            if _is_quinn(flow):
                accepted = "tcp with --on bpf, whose controllers are the kernel's; --on linux and sim run quinn"
                raise ScenarioError(f"flow[{i}].transport", f'got "quinn", wanted {accepted}', source=planned.name)
    try:
        _native.emulate(json.dumps(planned.plan), None, ".")
    except _native.PlanError as error:
        raise ScenarioError("", str(error), source=planned.name) from None
    refuse_ecn(request)
    wanted(planned.plan, ours=_is_ours(request), own=request.own)


def refuse_ecn(request: Request) -> None:
    """Raise ScenarioError for accurate ECN where this kernel's TCP has none. It is asked as the hosts are told: by
    writing the number to a namespace, which is gone with the question.
    """
    if request.planned.plan["host"]["ecn"] != "accurate" or _has_accurate_ecn():
        return
    raise wrong(
        "host.ecn", "accurate", "false or classic: this kernel's TCP has no accurate ECN; --on sim has it"
    ).under(request.planned.name)


@cache
def _has_accurate_ecn() -> bool:
    """True if the kernel takes the number of accurate ECN; yes where it cannot be asked."""
    write = (
        "import os, sys\n"
        f"try: os.write(os.open({ECN_SYSCTL!r}, os.O_WRONLY), {ACCURATE_ECN!r})\n"
        "except OSError as error: sys.exit(error.errno)"
    )
    try:
        asked = subprocess.run(["unshare", "-n", sys.executable, "-ISc", write], capture_output=True, check=False)
    except OSError:
        return True
    return asked.returncode != errno.EINVAL


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan into `folder`, as `sim.run` does, and return its manifest."""
    from dumbbell import _native

    check(request)
    plan = request.planned.plan
    with ResultFolder(request, folder) as results:
        with controllers(plan, ours=_is_ours(request), own=request.own) as names:
            told = request.progress, request.watch
            outcome = json.loads(_native.emulate(json.dumps(plan), names, str(results.path), *told))
        more = {"emulator": outcome["emulator"]}
        warnings = list(ecn_warnings(plan))
        # Controllers inside quinn count in the ticks that the scenario says.
        hz = None if all(map(_is_quinn, plan["flows"])) else _kernel_hz()
        return results.finish(outcome["summary"], controllers=request.own.record(), hz=hz, warnings=warnings, more=more)


def warnings(request: Request) -> list[str]:
    """Warnings that every result of this plan has."""
    return list(ecn_warnings(request.planned.plan))


def ecn_warnings(plan: Plan) -> Iterator[str]:
    """Warnings for ECN controllers on Linux: only the kernel's own DCTCP makes the receiver echo every mark, and ECT(1)
    cannot be sent.
    """
    ccas = dict.fromkeys(flow["cca"] for flow in plan["flows"] if facts_of(flow["cca"]).needs_marks)
    available = AVAILABLE.read_text().split() if AVAILABLE.exists() else []
    for cca in ccas:
        if cca not in available and plan["host"]["ecn"] != "accurate":
            yield (
                f"flow.cca: {cca}: its receiver echoes a mark until it hears of the reduction (RFC 3168), because this"
                " kernel has no DCTCP of its own, whose receiver echoes each mark: its window is smaller than with"
                " --on sim"
            )
        if facts_of(cca).sends_ect1:
            yield f"flow.cca: {cca} sends ECT(0) here: no controller of a kernel sends ECT(1), as it does with --on sim"


def _is_ours(request: Request) -> bool:
    """True if every flow has our controller."""
    return request.on == "bpf"


def _is_quinn(flow: FlowPlan) -> bool:
    return str(flow["transport"]["kind"]) == "quinn"


def _kernel_hz() -> int:
    """Ticks per second of the kernel: its coarse clock advances with them."""
    return round(1 / time.clock_getres(_CLOCK_MONOTONIC_COARSE))


class _Wanted(NamedTuple):
    """A flow's controller: the kernel's of this name, or ours with these parameters, which is to be loaded: one that is
    built in, or the C file that `cca` then is the path of.
    """

    cca: str
    is_ours: bool
    params: frozenset[tuple[str, int]] = frozenset()


def wanted(plan: Plan, *, ours: bool = False, own: Own | None = None) -> list[_Wanted]:
    """Controller of each flow. One of the user's `own`, one with parameters, and one that the kernel lacks is ours;
    with `ours` every one is. Raises ScenarioError for an unknown one, and for one that the kernel cannot take.
    """
    from dumbbell import kernel

    available = AVAILABLE.read_text().split() if AVAILABLE.exists() else []
    built_in = kernel.built_in()
    listed = []
    for i, flow in enumerate(plan["flows"]):
        cca, at = flow["cca"], f"flow[{i}].cca"
        if _is_quinn(flow):
            if own and cca in own.sources and own.sources[cca].program:
                raise ScenarioError(
                    at, f'got "{cca}" of a program, wanted a controller of this engine; --on sim has it'
                )
            # quinn's own, or ours inside it: the engine knows both, and no kernel takes part.
            listed.append(_Wanted(cca, is_ours=False))
            continue
        file = own.for_bpf(cca, at) if own and cca in own.sources else None
        is_ours = ours or file is not None or cca not in available or bool(flow["params"])
        if is_ours and file is None and cca not in built_in:
            raise ScenarioError(
                at,
                f'got "{cca}", wanted one that the kernel has ({", ".join(available)}) or that this build can load'
                f" ({', '.join(built_in)})",
            )
        if is_ours and (os.geteuid() != 0 or not _is_initial_user_namespace()):
            raise ScenarioError(
                at, f'got "{cca}", wanted one that the kernel has ({", ".join(available)}); root could load it'
            )
        listed.append(_Wanted(file or cca, is_ours, frozenset(flow["params"].items())))
    return listed


def _is_initial_user_namespace() -> bool:
    """True if root here is root of the machine: the map of users then is the whole range."""
    try:
        return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    except OSError:
        return False


@contextmanager
def controllers(plan: Plan, *, ours: bool = False, own: Own | None = None) -> Iterator[list[str]]:
    """Load ours for as long as the run lasts; the kernel's name of each flow's controller. Runs at once do not meet:
    each has names of its own.
    """
    from dumbbell import kernel

    flows = wanted(plan, ours=ours, own=own)
    with ExitStack() as stack:

        def kernel_name(needed: _Wanted) -> str:
            return (
                stack.enter_context(kernel.load(needed.cca, dict(needed.params), numbered=True)).kernel_name
                if needed.is_ours
                else needed.cca
            )

        names = {needed: kernel_name(needed) for needed in dict.fromkeys(flows)}
        yield [names[needed] for needed in flows]
