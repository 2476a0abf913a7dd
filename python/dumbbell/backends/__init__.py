"""Back ends: each turns a plan into a result folder. None is imported before it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dumbbell.errors import EngineError, ScenarioError, show, wrong
from dumbbell.plan import moments
from dumbbell.scenario.file import EXTRA

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .request import Request


class Kind(NamedTuple):
    """Facts of a back end that are known before its module is imported.

    Attributes
    ----------
    module
        The module of the package that has `check` and `run`, as `Backend` describes them.
    is_exact
        Whether a run depends on its plan alone, so that repetitions which draw no random number are the same run.
    is_real_time
        Whether a run takes as long as its duration says.
    jobs, jobs_max
        How many runs go at once unless ``--jobs`` says otherwise (None: one per core), and at most (None: any number).
    has_hosts
        Whether ``--on`` names hosts after a colon.
    has_kernels
        Whether the run is one of a kernel that this package builds: ``--on`` may name it after a colon, as ``uml:6.1``,
        and the module has `kernel_of`, which gives the digest of it.
    packets_per_cpu_s
        How many packets it delivers in a second of a processor, where a run does not take its duration. Measured on a
        2-core Xeon virtual machine: the simulator 2.0 million with 100 CUBIC flows at 1 Gbit/s, 2.6 million with BBR
        and CUBIC at 100 Mbit/s, 5.9 million in the demo (`make bench` measures it on the machine at hand); Linux in
        virtual time 30,000 to 60,000.
    has_workers
        Whether the module has `workers`, which says how many runs go at once unless ``--jobs`` does.
    sources
        What of this package makes its tables, where that is not the engine.
    text
        How ``--on`` names it and what it is, for the help.
    extra
        What of `EXTRA` it can record: what senders of a real stack have taken for lost, and when, nobody tells; modules
        are asked for their variables, and for what limits their sockets, in virtual Linux only.
    has_states
        Whether controllers tell their states, because they are not the kernel's own.
    estimates_queue
        Whether the waiting time of a queue is its backlog over the rate, because `tc` tells none.
    recorded
        What a manifest calls it; its own name unless given.
    decides
        Keys that its hosts decide, whatever a suite's entry says of the paper's hosts (`suites/of_hosts.py`).
    stack
        Of real kernels: back ends with the same one differ in nothing but their kernel, or in the origin of their
        controllers.
    """

    module: str
    is_exact: bool = False
    is_real_time: bool = True
    jobs: int | None = 1
    jobs_max: int | None = None
    has_hosts: bool = False
    has_kernels: bool = False
    packets_per_cpu_s: int = 3_000_000
    has_workers: bool = False
    sources: tuple[str, ...] = ("backends",)
    text: str = ""
    extra: tuple[str, ...] = ()
    has_states: bool = False
    estimates_queue: bool = False
    stack: str = ""
    recorded: str = ""
    decides: tuple[str, ...] = ()


#: Linux in virtual time, whose tables are made by what turns a plan into a guest and its files into tables.
_UML = Kind(
    "uml.backend",
    is_real_time=False,
    jobs=None,
    packets_per_cpu_s=40_000,
    has_kernels=True,
    sources=("uml", "backends/tc.py", "backends/script.py", "backends/tables.py"),
    text="uml: an unmodified Linux in virtual time (docs/uml.md)",
    estimates_queue=True,
    extra=("variables", "limits"),
    stack="uml",
)
_OURS = "the same with our controllers only"

#: The back ends by their names, as ``--on`` takes them.
KINDS = {
    "sim": Kind(
        "backends.sim",
        is_exact=True,
        is_real_time=False,
        jobs=None,
        text="sim (default)",
        extra=EXTRA,
        has_states=True,
    ),
    "linux": Kind(
        "backends.linux",
        text="linux: the kernel's TCP and iperf3 over the same path in real time",
        stack="linux",
        decides=("host.nic",),
    ),
    "bpf": Kind("backends.linux", text=f"bpf: {_OURS}", has_states=True, stack="linux", decides=("host.nic",)),
    "uml": _UML,
    "uml-ours": _UML._replace(text=f"uml-ours: {_OURS}", has_states=True),
    "netem": Kind(
        "backends.netem",
        jobs_max=1,
        text="netem: over this kernel's own tbf and netem",
        estimates_queue=True,
        decides=("record.pcap",),
    ),
    "ssh": Kind(
        "backends.ssh",
        jobs_max=1,
        has_hosts=True,
        text="ssh://SENDER,RECEIVER: between two hosts, with the queue at the receiver (docs/hosts.md)",
        estimates_queue=True,
        decides=("flow.preset", "host.nic", "record.pcap"),
    ),
    "ray": Kind(
        "backends.cluster",
        is_exact=True,
        is_real_time=False,
        jobs=None,
        has_hosts=True,
        has_workers=True,
        text="ray://, ray://HOST:PORT: the simulator on a cluster of Ray (docs/sweep.md)",
        extra=EXTRA,
        has_states=True,
        recorded="sim",
    ),
}


class Backend(Protocol):
    """The module of a back end. It may also have ``warnings(request) -> list[str]``: warnings of its results that are
    known before these are made.
    """

    def check(self, request: Request) -> None:
        """Raise ScenarioError for what of a plan this back end cannot do, EngineError for what this machine lacks."""

    def run(self, request: Request, folder: Path) -> dict[str, Any]:
        """Run a plan into `folder`, which must not exist yet, and return its manifest."""


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run a plan on its back end into `folder`, which must not exist yet, and return its manifest."""
    _refuse(request)
    return _module(request.on).run(request, folder)


def lacking(request: Request) -> str:
    """Say what this machine lacks for a run, as the run would; other hosts are not asked.

    Raises ScenarioError for what of the plan its back end cannot do, whatever this machine has.
    """
    _refuse(request)
    if kind(request.on).has_hosts:
        return ""
    try:
        _module(request.on).check(request)
    except EngineError as error:
        return str(error)
    return ""


def warnings(request: Request) -> list[str]:
    """Warnings of a result that follow from its plan alone."""
    said = getattr(_module(request.on), "warnings", None)
    return said(request) if said else []


def kernel_of(request: Request) -> str:
    """The digest of the kernel that a run needs; raises EngineError where there is none."""
    module: Any = _module(request.on)
    digest: str = module.kernel_of(request)
    return digest


def _refuse(request: Request) -> None:
    """Raise ScenarioError for what of a plan this back end cannot do: moments, tables, receivers that misbehave."""
    entries = moments.of(request.planned.plan)
    if entries and request.on != "sim":
        raise wrong(entries[0]["key"], entries[0]["text"], f"times with --on {request.on}; --on sim finds moments")
    for name in EXTRA:
        if request.planned.plan["record"].get(name) and name not in kind(request.on).extra:
            raise ScenarioError(f"record.{name}", f"got true, wanted false with --on {request.on}; --on sim has it")
    for i, flow in enumerate(request.planned.plan["flows"]):
        if "receiver" in flow and not kind(request.on).is_exact:
            accepted = f"none with --on {request.on}: the kernel's receiver keeps the rules; --on sim has others"
            raise wrong(f"flow[{i}].receiver", flow["receiver"]["kind"], accepted).under(request.planned.name)


def kind(on: str, option: str = "--on") -> Kind:
    """Facts of the back end that ``--on`` or another option names; raises ScenarioError for one that does not exist."""
    name, colon, _ = on.partition(":")
    known = KINDS.get(name)
    if known is None or (colon and not (known.has_hosts or known.has_kernels)):
        raise wrong(option, on, f"one of: {', '.join(map(show, KINDS))}", list(KINDS))
    return known


def recorded(on: str) -> str:
    """What a manifest calls a back end: on a cluster it is the simulator that runs."""
    return kind(on).recorded or on


def share_stack(names: Iterable[str]) -> bool:
    """True if these back ends differ in nothing but their kernel, or the origin of their controllers."""
    stacks = {KINDS[name].stack if name in KINDS else "" for name in (on.partition(":")[0] for on in names)}
    return len(stacks) == 1 and "" not in stacks


def _module(on: str) -> Backend:
    module: Any = import_module(f"dumbbell.{kind(on).module}")
    backend: Backend = module
    return backend


def workers(on: str, requests: Iterable[Request], wanted: int | None) -> int | None:
    """Number of these runs that go at once, None for one per core. Raises ScenarioError for a plan that this back end
    cannot run, before anything starts.
    """
    which = kind(on)
    if which.jobs_max and (wanted or 1) > which.jobs_max:
        raise ScenarioError(
            "--jobs",
            f"got {wanted}, wanted {which.jobs_max} with --on {on.partition(':')[0]}: runs at once would disturb each"
            " other",
        )
    module: Any = _module(on)
    for request in requests:
        _refuse(request)
        try:
            module.check(request)
        except ScenarioError as error:
            from dumbbell.scenario.source import as_written  # only where there is an error

            raise as_written(error, request.scenario_text, request.overrides) from None
    return wanted or (module.workers(on) if which.has_workers else which.jobs)
