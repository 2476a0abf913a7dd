"""The engine: simulated path and transport, in Rust and C."""

from collections.abc import Callable
from typing import Any, final

__all__ = [
    "MANIFEST_VERSION",
    "SCHEMA_VERSION",
    "BuildError",
    "ControllerError",
    "EmulatorError",
    "Episodes",
    "KernelController",
    "KernelError",
    "PlanError",
    "Policy",
    "Rollouts",
    "Sample",
    "_panic_in_next_run",
    "agent",
    "build",
    "check",
    "controllers",
    "digests",
    "emulate",
    "end_with_parent",
    "enter_user_namespace",
    "facts",
    "host_sysctls",
    "indented",
    "iperf3_bytes",
    "iperf3_clients",
    "is_bpf_program",
    "kernel_built_in",
    "kernel_left_over",
    "kernel_load",
    "kernel_loaded",
    "kernel_name",
    "kernel_refusal",
    "kernel_set",
    "kernel_status",
    "kernel_unload",
    "parts",
    "path_course",
    "python_calls",
    "radio_course",
    "radio_trace",
    "run",
    "shell",
    "version",
    "write_bytes",
    "write_headers",
    "write_measured",
    "write_sources",
]

MANIFEST_VERSION: int
"""Version of the manifest, which holds the plan."""
SCHEMA_VERSION: int
"""Version of the tables."""

class PlanError(ValueError):
    """A plan that the engine cannot run; the message names the field."""

class BuildError(ValueError):
    """A controller of one's own that does not compile or load; the message names file and line."""

class ControllerError(RuntimeError):
    """A controller of one's own failed: an exception in Python, which is the cause of this one, or a crash in C."""

class EmulatorError(RuntimeError):
    """What the emulator needs is not there: rights, devices, programs."""

class KernelError(RuntimeError):
    """The kernel has not got, or not changed, a controller: (text, whether the caller's input is wrong, the unknown name
    and the names that exist, or None).
    """

@final
class KernelController:
    """A controller in the running kernel that this process holds; it is unloaded when this is collected."""

    @property
    def name(self) -> str:
        """The name that its source gives it."""

    @property
    def kernel_name(self) -> str:
        """What the kernel calls it, as for TCP_CONGESTION."""

    @property
    def renewed(self) -> list[str]:
        """Network namespaces whose default was an earlier load of the name, and is this one now; empty: the caller's."""

    def keep(self) -> None:
        """Leave it registered when the process ends, until `kernel_unload`."""

    def unload(self) -> None:
        """Take it away from new sockets; once is enough. Nothing to do after `keep`."""

@final
class Sample:
    """What a Python controller is told of one ACK, loss or timeout. Segments carry `mss` bytes of payload; totals count
    from the start and wrap at 2^32.

    Fields about the ACK are zero or None in `init`, `on_loss` and `on_timeout`.
    """

    @property
    def now_us(self) -> int:
        """Time, microseconds."""

    @property
    def cwnd(self) -> int:
        """Congestion window in force, segments."""

    @property
    def pacing_rate(self) -> int | None:
        """Pacing rate in force, payload bit/s; None: not paced."""

    @property
    def in_flight(self) -> int:
        """Segments in flight after this ACK."""

    @property
    def prior_in_flight(self) -> int:
        """Segments in flight before this ACK."""

    @property
    def acked(self) -> int:
        """Segments that this ACK newly acknowledges, selectively or not."""

    @property
    def lost(self) -> int:
        """Segments that this ACK lets TCP mark lost."""

    @property
    def rtt_us(self) -> int | None:
        """Round-trip time of the newest segment acknowledged, microseconds; None: no sample."""

    @property
    def min_rtt_us(self) -> int | None:
        """Least round-trip time of the last 300 s, microseconds; None before the first sample."""

    @property
    def srtt_us(self) -> int | None:
        """Smoothed round-trip time (RFC 6298), microseconds; None before the first sample."""

    @property
    def delivered(self) -> int | None:
        """Segments delivered over `interval_us`; None: no valid sample."""

    @property
    def interval_us(self) -> int | None:
        """Time over which `delivered` was counted, microseconds; None: no valid sample."""

    @property
    def delivery_rate(self) -> int | None:
        """`delivered` over `interval_us` as payload bit/s (draft-cheng-iccrg-delivery-rate-estimation); None: no valid
        sample.
        """

    @property
    def delivered_total(self) -> int:
        """Segments delivered so far; the handshake counts as one."""

    @property
    def delivered_at_send(self) -> int:
        """`delivered_total` when the sampled segment was sent: a round has passed when this reaches the total at its
        start.
        """

    @property
    def lost_total(self) -> int:
        """Segments marked lost so far."""

    @property
    def ce_total(self) -> int:
        """Segments delivered under ECN echoes so far."""

    @property
    def sent_in_flight(self) -> int:
        """Segments in flight when the sampled segment was sent, itself included."""

    @property
    def lost_since_sent(self) -> int:
        """Segments marked lost since the sampled segment was sent."""

    @property
    def is_app_limited(self) -> bool:
        """The sampled segment was sent while the application had too little to send."""

    @property
    def is_ece(self) -> bool:
        """The ACK echoes a congestion mark (ECN)."""

    @property
    def mss(self) -> int:
        """Payload of a full segment, bytes."""

    @property
    def state(self) -> str:
        """State of loss recovery: Open, Disorder, CWR, Recovery or Loss."""

@final
class Episodes:
    """Worlds that pause where a flow asks what its window is to be, and are stepped together with the GIL released.
    Nothing is written.
    """

    def __new__(cls, count: int, threads: int) -> Episodes:
        """`count` worlds, none of which has begun; steps of several go on in as many threads as `threads`."""

    def begin(self, world: int, plan_json: str, agents: list[int]) -> None:
        """Begin an episode of a plan; the flows of these numbers ask. Raises PlanError."""

    def answer(self, world: int, flow: int, percent: int) -> None:
        """Set the flow's window, `age_us` after its last reading, to so much of what it was then. Without an answer it
        stays. Raises IndexError for a world that has not begun.
        """

    def step(self, which: list[int]) -> bytes:
        """Run each of these worlds until a flow asks or ends, or to its end: a row of 376 bytes for each, in their
        order, little-endian (`dumbbell.gym.readings.ROW`). Raises IndexError for a world that has not begun,
        RuntimeError for one that costs more than its plan allows.
        """

@final
class Policy:
    """A policy whose tables are data: the arithmetic of cca/orca/network.h."""

    def __new__(
        cls,
        layers: list[tuple[list[int], list[int], int, str, int]],
        tanh: list[int],
        thresholds: list[int],
        first: int,
    ) -> Policy:
        """Of each layer weights row by row, bias, bits after the point, kind, and slope below zero; raises ValueError
        for shapes that do not fit.
        """

    def answer(self, states: list[list[int]]) -> list[int]:
        """Return the percentage for each row of 70 signals in 1/65536."""

@final
class Rollouts:
    """Plans that policies are tried on."""

    def __new__(cls, plans: list[tuple[str, list[int], int]]) -> Rollouts:
        """Of each plan the flows that ask, and the rate that rewards are measured by, bytes/s; 0: the largest that the
        flow has seen, as Orca's. Raises PlanError.
        """

    def run(self, policies: list[Policy], jobs: list[tuple[int, int, int]], threads: int) -> list[tuple[int, int]]:
        """Run each (number of a policy, number of a plan, seed): how many readings were answered, and the sum of their
        rewards, each times the length of its period, in us / 65536. The same for any number of threads.
        """

def agent() -> str:
    """The controller of flows that ask, as an element of the list of `controllers`."""

def build(source: str, folder: str, hz: int) -> str:
    """Compile a controller of one's own into `folder` (existing, empty) and describe it as JSON.

    The keys are those of `controllers`, and library, symbol (null for a kernel module), compiler, companions (files
    linked along).

    Raises
    ------
    BuildError
        There is no compiler, or the source does not compile, link or start: (the first error, with file and line, and
        all that a Linux module lacks; headers that the simulator lacks; other names that it lacks).
    """

def write_headers(folder: str) -> None:
    """Write the headers that C controllers include: ``folder/cca/include`` (cca.h) and ``folder/kernel`` (for Linux
    modules).
    """

def write_sources(folder: str) -> None:
    """Write what kernel modules are compiled from: the controllers in ``folder/cca``, and the headers that they
    include.
    """

def kernel_name(name: str) -> str:
    """What a kernel calls a controller: ``bbr_hsr`` for ``bbr-hsr``, and ``d_cubic`` where Linux has one of that name."""

def parts() -> str:
    """What can be set of each part of a path, as a JSON list: ``kind``, ``text`` and ``fields`` with ``name``, ``key`` (in
    a plan), ``text``, ``unit``, ``words``, ``min``, ``max``, ``default`` and ``is_required``.
    """

def radio_course(radio: str, mobility: str, mean_bps: int, length_ms: int, seed: int) -> list[tuple[int, int]]:
    """Capacity of a synthetic radio link as (ns, bit/s) in steps of 20 ms, which begins anew after its length.

    `radio` is ``lte`` or ``wifi``, `mobility` ``stationary`` or ``mobile``. Raises ValueError for other words, and for
    a mean outside 100 kbit/s to 10 Gbit/s or a length outside 1 s to 24 h.
    """

def radio_trace(radio: str, mobility: str, mean_bps: int, length_ms: int, seed: int) -> str:
    """The same link as the text of a Mahimahi trace, with what happens below 20 ms: grants of the cell, or aggregates
    between others' turns.
    """

def path_course(kind: str, mobility: str, mean_bps: int, length_ms: int, seed: int) -> list[tuple[int, int, int]]:
    """Rate in bit/s, RTT in ns and share of losses in 10^-9 of a synthetic path, a row for each 20 ms.

    `kind` is ``leo`` or ``5g``; `mobility` counts for the latter. Raises ValueError as `radio_course`.
    """

def _panic_in_next_run() -> None:
    """For tests: the next run ends by a panic of the engine."""

def check(plan_json: str) -> None:
    """Check a plan without running it; the names of its controllers are not looked at. Raises PlanError."""

def run(
    plan_json: str,
    out_dir: str,
    progress: Callable[[int, int], None] | None = None,
    own: dict[str, Any] | None = None,
    watch: Callable[[str], object] | None = None,
) -> str:
    """Run one plan in the calling thread, with the GIL released, and return its summary as JSON. With a shared object
    among `own`, the thread forks a process for the run and waits for it, so that what goes wrong in C ends the run only.

    Parameters
    ----------
    plan_json
        The plan: absolute, explicit integers (`dumbbell.plan.plan`).
    out_dir
        An existing, empty folder; the Parquet tables (and ``trace.pcap`` if asked for) are written into it.
    progress
        Called about every 50 ms of work with (simulated nanoseconds, delivered packets). An exception that it raises
        stops the run and propagates.
    own
        Controllers of one's own by name, instead of built-in ones: (library, symbol) from `build`, or a callable that
        takes a flow's params as keywords and returns an object with ``on_ack``. An exception of such an object ends the
        run.
    watch
        Called before `progress`, and at the end, with the rows that the tables got since, as JSON: ``samples`` with time
        (us), flow, delivered bytes, sent bytes, cwnd, in flight, RTT (us or null), the controller's state and the
        smoothed RTT; ``queue`` with time (us), link, sojourn time (us), packets dropped and marked so far. Not with a shared object
        among `own`.

    Raises
    ------
    PlanError
        The plan is refused.
    ControllerError
        A Python controller raised an exception, or a shared object crashed or did not return from a hook.
    RuntimeError
        A table could not be written.
    """

def write_measured(
    measured_json: str, out_dir: str, *, samples: bool = True, queue: bool = True, events: bool = True
) -> str:
    """Write the tables of a run that was measured elsewhere into `out_dir` and return its summary as JSON, as `run`
    does.

    The JSON has ``totals`` (crates/record/src/report/totals.rs, RunTotals) and columns of equal length by name for
    ``samples``, ``queue`` and ``events``; a column that may be null can be left out. A table that is switched off gets
    its schema and no row.

    Raises
    ------
    ValueError
        It is no such JSON; the message names table, column and row.
    RuntimeError
        A table could not be written.
    """

def controllers() -> str:
    """The congestion controllers as a JSON list: name, doc, summary, license, params, states, priv_bytes."""

def facts() -> dict[str, dict[str, str]]:
    """What each controller's head comment says for programs to read, by its name: ``name``, ``family``, ``look``,
    ``draws``, ``sends``; ``needs`` is ``marks`` where it answers to their number. What is not said is left out.
    """

def digests() -> dict[str, str]:
    """Digests of the sources of this build: ``engine`` (all that a simulated run passes through but the controllers),
    ``cca/NAME`` (of a controller, with the files that it shares with its variants), ``modules`` (what makes a controller
    a kernel module), ``all`` (everything).
    """

def version() -> str:
    """Version of the engine."""

def end_with_parent() -> None:
    """Let the system kill this process when the thread that forked it has ended; on Linux."""

def indented(json: str) -> str:
    """What `json.dumps` writes with ``indent=1``, from what it writes with the separators "," and ":"."""

def python_calls() -> list[tuple[int, str, float]]:
    """Hooks of controllers in Python that have not returned: the thread that each is in, as `threading.get_ident` names
    it, the hook, and how long ago it was called, s.
    """

def is_bpf_program(text: str) -> bool:
    """Whether this is the text of a BPF program of a congestion control, as the kernel's selftests have them."""

def kernel_built_in() -> list[tuple[str, str]]:
    """Names of the controllers that are built in for BPF, and the kernel's for them; none if this was built without
    clang.
    """

def kernel_load(
    source: str, params: list[tuple[str, str]], *, numbered: bool, name: str | None = None
) -> KernelController:
    """Register a controller with these parameters: one built in, by name, or a C source in our style (``.c``); under
    `name`, its own name or a numbered one.

    Raises
    ------
    KernelError
        It is not known, does not compile, is refused by the verifier, or the process may not.
    """

def kernel_refusal(source: str) -> str | None:
    """The compiler's error for a C source in our style that cannot be compiled for BPF, and therefore not be loaded into
    a kernel; None for one that can, and where there is no clang to ask.
    """

def kernel_left_over() -> list[str]:
    """The kernel's names whose pins a process that was killed has left, until the next load."""

def kernel_loaded() -> list[tuple[str, str, bool]]:
    """Name, the kernel's name, and whether it stays when its process ends, of each controller that is loaded."""

def kernel_status(name: str | None = None) -> str:
    """Loaded controllers, or one of them, as a JSON list: name, kernel_name, is_kept, params, sockets, default_of
    (`dumbbell.kernel.Status`).
    """

def kernel_set(name: str, params: list[tuple[str, str]]) -> None:
    """Change parameters of a loaded controller, all or none; its sockets obey from their next ACK."""

def kernel_unload(name: str) -> str:
    """Take a controller away; how things stood just before, as JSON (an element of `kernel_status`)."""

def emulate(
    plan_json: str,
    controllers: list[str] | None,
    out_dir: str,
    progress: Callable[[int, int], Any] | None = None,
    watch: Callable[[str], object] | None = None,
) -> str:
    """Run a plan with real hosts in real time and write its tables into `out_dir`, with the GIL released; without
    `controllers` only look whether it could.

    `controllers` are the kernel's names of the flows' controllers. `watch` is called as by `run`. Returns JSON: the summary, of the same form as
    `run`'s, and how the emulator did. Raises PlanError for what real hosts cannot do, EmulatorError for what is
    missing, and whatever `progress` raises.
    """

def host_sysctls(plan_json: str) -> list[tuple[str, str]]:
    """Kernel parameters of senders and receivers, as a plan wants them."""

def iperf3_clients(plan_json: str, ends: list[tuple[str, str, int, int]], ccas: list[str]) -> list[list[str]]:
    """Arguments of iperf3 at the sender of each flow: `ends` are source, target, the server's port and that of the
    data; `ccas` the kernel's names.
    """

def iperf3_bytes(size: int) -> int:
    """Payload of a finite flow of iperf3's as its connection carries it: whole writes, and what iperf3 sends first."""

def write_bytes(traffic: str, size: int | None = None) -> int:
    """Bytes that the sender of a flow of `size` bytes, or of one without an end, writes at a time; `traffic` is
    ``host.traffic``.
    """

def shell(plan_json: str, command: list[str], commands: list[str], forwards: list[str]) -> str:
    """Run `command` behind the path of a plan, shell `commands` and forwarded ports (``PORT=HOST:PORT``) at its far
    end; JSON with its exit status.
    """

def enter_user_namespace() -> None:
    """Move this process, which must have one thread, into a user namespace where it may make network namespaces; raises
    EmulatorError.
    """
