"""Our controllers in the running Linux kernel, by BPF: load, look, change while flows run, unload. Needs root;
docs/kernel.md.

with dumbbell.kernel.load("bbr2", {"loss_thresh": 10}) as controller:
    ...  # any socket may ask for controller.kernel_name, "bbr2"
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import DumbbellError, nearest

if TYPE_CHECKING:
    from types import TracebackType


class KernelError(DumbbellError):
    """The kernel has not got, or not changed, a controller."""

    def __init__(self, text: str, *, is_input: bool = False) -> None:
        self.is_input = is_input
        super().__init__(text)


class Param(NamedTuple):
    """A parameter of a loaded controller; `min` and `max` are both allowed."""

    name: str
    value: int
    default: int
    min: int
    max: int
    unit: str
    doc: str


#: Segments that a connection has sent when it counts as one that sends: more than requests, answers and iperf3's
#: control connection do.
_SENT_MIN = 50


class Estimates(NamedTuple):
    """Report of the controller on a socket; None where it does not, or not yet, as for a receiver, whose controller has
    no ACK of data to estimate from. Gains are in 1/256, bounds in segments.
    """

    state: str | None
    bw_bps: int | None
    min_rtt_us: int | None
    pacing_gain: int | None
    cwnd_gain: int | None
    inflight_lo: int | None
    inflight_hi: int | None


class Socket(NamedTuple):
    """A socket that uses a controller.

    `netns` is the name for ``ip netns``, ``pid N`` without one, and empty for the caller's namespace; windows,
    `in_flight`, `delivered`, `lost` and `retrans` count segments of `mss` bytes; rates count payload bits. Sockets that
    outlived an earlier load of the same name have another `instance`.
    """

    netns: str
    local: str
    remote: str
    instance: str
    is_listening: bool
    tcp_state: str
    uid: int
    cwnd: int
    ssthresh: int | None
    in_flight: int
    mss: int
    srtt_us: int | None
    tcp_min_rtt_us: int | None
    pacing_rate_bps: int | None
    delivered: int
    lost: int
    retrans: int
    estimates: Estimates

    @property
    def is_sending(self) -> bool:
        """True if the controller has anything to do: not at a receiver, a control connection or a socket that
        listens.
        """
        return not self.is_listening and (self.in_flight > 0 or self.delivered >= _SENT_MIN)


class Status(NamedTuple):
    """A loaded controller: `is_kept` when it stays without its process, `default_of` the namespaces whose default it is
    (empty: the caller's).
    """

    name: str
    kernel_name: str
    is_kept: bool
    params: dict[str, Param]
    sockets: list[Socket]
    default_of: list[str]


class Loaded:
    """A controller that this process holds: unloaded at the end of ``with``, by `unload`, or with the process; or it
    stays, after `keep`.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self.name: str = native.name
        self.kernel_name: str = native.kernel_name
        #: Network namespaces whose default controller was the previous version; switched to this one.
        self.renewed: list[str] = native.renewed

    def keep(self) -> None:
        """Leave it registered, until `dumbbell.kernel.unload`."""
        with _told():
            self._native.keep()

    def unload(self) -> None:
        """Take it away from new sockets; those that use it keep it until they close."""
        self._native.unload()

    def __enter__(self) -> Loaded:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.unload()


def built_in() -> dict[str, str]:
    """Names of the controllers that can be loaded, and the kernel's for them; empty if this was built without clang."""
    from . import _native

    return dict(_native.kernel_built_in())


class Listed(NamedTuple):
    """A controller that is loaded or can be; `is_kept` is None where it is not loaded."""

    name: str
    kernel_name: str
    is_loaded: bool
    is_kept: bool | None
    summary: str


def listed(loaded: Sequence[tuple[str, str, bool]]) -> list[Listed]:
    """These `instances`, and each other controller that is built in, by name."""
    from .controllers import known

    summaries, built = known(), built_in()
    names = {name for name, _, _ in loaded}
    others = ((name, kernel_name, None) for name, kernel_name in built.items() if name not in names)
    rows = []
    for name, kernel_name, is_kept in (*loaded, *others):
        # A file of one's own may have taken the place of one that is built in, so it is not described as that.
        summary = summaries[name].summary if name in built and name in summaries else "a file of your own"
        rows.append(Listed(name, kernel_name, is_kept is not None, is_kept, summary))
    return sorted(rows, key=lambda row: (row.name, row.kernel_name))


def load(
    source: str, params: Mapping[str, int | str] | None = None, *, name: str | None = None, numbered: bool = False
) -> Loaded:
    """Register a controller with these parameters: one built in, by name, or the path of a C file in this project's
    style (``.c``) or of a policy (``.safetensors``).

    There is one of each name on a machine. `name` is what the kernel is to call it (1 to 15 letters, digits and ``_``),
    so that there may be several of one source, with different parameters. Otherwise that is the name of the controller
    or of the file, with ``_`` for ``-``, and with ``d_`` before it where Linux has one of that name (``d_cubic``), or
    somebody else has registered it. With `numbered` it is the first of ``d_bbr2_1``, ``d_bbr2_2``, ... that is free.
    Raises KernelError, also for a name that is taken, and ScenarioError for a file that is no policy.
    """
    from . import _native

    with _c_file(source) as file, _told():
        return Loaded(_native.kernel_load(file, _texts(params or {}), numbered=numbered, name=name))


@contextmanager
def _c_file(source: str) -> Iterator[str]:
    """What the loader takes, as long as it needs it: a policy is made into a C file."""
    from .policy import ENDING

    if not source.endswith(ENDING):
        yield source
        return
    from .policy import file
    from .policy.source import write
    from .temporary import Temporary

    folder = Temporary("policy")
    yield str(write(file.read(Path(source), at=""), folder.path))


def loaded() -> dict[str, tuple[str, bool]]:
    """Loaded controllers: for each name, the kernel's name and whether it stays without its process.

    If several loads share a name, the one that owns the kernel's name for it; otherwise the lowest id. `status` lists
    all.
    """
    from . import _native

    with _told():
        # The first of a name comes last, and stays.
        return {name: (kernel_name, is_kept) for name, kernel_name, is_kept in reversed(_native.kernel_loaded())}


def instances() -> list[tuple[str, str, bool]]:
    """All that are loaded, also several of one source: name, the kernel's name, and whether it stays without its
    process.
    """
    from . import _native

    with _told():
        return _native.kernel_loaded()


def left_over() -> list[str]:
    """The kernel's names whose pins a process that was killed has left; the next `load` removes them."""
    from . import _native

    return _native.kernel_left_over()


def status(name: str | None = None) -> list[Status]:
    """Status of the loaded controllers, or of one of them, with parameters and the sockets that use them, in every
    network namespace.
    """
    from . import _native

    with _told():
        return [_status(item) for item in json.loads(_native.kernel_status(name))]


def set_params(name: str, params: Mapping[str, int | str]) -> None:
    """Change parameters of a loaded controller, all or none; its sockets obey from their next ACK."""
    from . import _native

    with _told():
        _native.kernel_set(name, _texts(params))


def unload(name: str) -> Status:
    """Take a controller away. What comes back is how things stood just before: sockets in it keep the controller until
    they close.
    """
    from . import _native

    with _told():
        return _status(json.loads(_native.kernel_unload(name)))


@contextmanager
def _told() -> Iterator[None]:
    from . import _native

    try:
        yield
    except _native.KernelError as error:
        text, is_input, unknown = error.args
        raise KernelError(text + (nearest(*unknown) if unknown else ""), is_input=is_input) from None


def _texts(params: Mapping[str, int | str]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in params.items()]


def _status(item: dict[str, Any]) -> Status:
    params = {param["name"]: Param(**param) for param in item["params"]}
    sockets = [Socket(**{**socket, "estimates": _estimates(socket["estimates"])}) for socket in item["sockets"]]
    return Status(item["name"], item["kernel_name"], item["is_kept"], params, sockets, item["default_of"])


def _estimates(item: dict[str, Any]) -> Estimates:
    """BBR and its variants set their gains with their first rate sample. Until then the gains are 0, and the bandwidth
    is 0 or one unit of the controller's own scale.
    """
    estimates = Estimates(**item)
    return (
        estimates._replace(bw_bps=None, pacing_gain=None, cwnd_gain=None) if estimates.pacing_gain == 0 else estimates
    )
