"""`dumbbell kernel`: our controllers in the running kernel."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from dumbbell import kernel
from dumbbell.errors import OutError, ScenarioError
from dumbbell.files import written_whole

from .status import BAD_INPUT, FAILED, OK

#: Of a socket.
HEADS = (
    "local",
    "remote",
    "state",
    "recovery",
    "bw Mbit/s",
    "min RTT ms",
    "sRTT ms",
    "cwnd",
    "in flight",
    "bounds lo, hi",
    "pacing Mbit/s",
    "lost",
)


def main(arguments: argparse.Namespace) -> int:
    """The action in `arguments`."""
    actions = {
        "list": show_list,
        "load": load,
        "module": module,
        "set": change,
        "unload": unload,
        "status": status,
    }
    try:
        return actions[arguments.action](arguments)
    except kernel.KernelError as error:
        print(f"dumbbell: {error}", file=sys.stderr)
        return BAD_INPUT if error.is_input else FAILED


def _params(texts: list[str]) -> dict[str, int | str]:
    params: dict[str, int | str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ScenarioError("", f"got {text}, wanted a parameter and its value, as in beta=76")
        params[name] = value
    return params


def show_list(arguments: argparse.Namespace) -> int:
    """What can be loaded, what is, and what a killed process has left."""
    rows = _listed()
    if arguments.json:
        import json

        for row in rows:
            print(json.dumps(row))
        return OK
    if not kernel.built_in():
        print(
            "dumbbell: no objects for BPF are in this build, because it was made without clang 14 or newer",
            file=sys.stderr,
        )
    loaded = {None: "-", True: "yes", False: "held"}
    _print_columns(
        [
            ("name", "in the kernel", "loaded", ""),
            *((row["name"], row["kernel_name"], loaded[row["is_kept"]], row["summary"]) for row in rows),
        ]
    )
    left = kernel.left_over()
    if left:
        print(
            f"dumbbell: left by processes that were killed, until the next load: {', '.join(left)} (in"
            " /sys/fs/bpf/dumbbell)",
            file=sys.stderr,
        )
    return OK


def _listed() -> list[dict[str, Any]]:
    """One row for each controller that is loaded, and for each other one that is built in; `is_kept` is None for
    these.
    """
    from dumbbell.controllers import known

    summaries, built_in = known(), kernel.built_in()

    def row(name: str, kernel_name: str, *, is_kept: bool | None) -> dict[str, Any]:
        # A file of one's own may have taken the place of one that is built in, so it is not described as that.
        summary = summaries[name].summary if name in built_in and name in summaries else "a file of your own"
        return {
            "name": name,
            "kernel_name": kernel_name,
            "is_loaded": is_kept is not None,
            "is_kept": is_kept,
            "summary": summary,
        }

    loaded = [row(name, kernel_name, is_kept=is_kept) for name, kernel_name, is_kept in _instances()]
    names = {one["name"] for one in loaded}
    others = [row(name, kernel_name, is_kept=None) for name, kernel_name in built_in.items() if name not in names]
    return sorted(loaded + others, key=lambda one: (one["name"], one["kernel_name"]))


def _instances() -> list[tuple[str, str, bool]]:
    """What is loaded, as far as this user may see."""
    try:
        return kernel.instances()
    except kernel.KernelError as error:
        print(f"dumbbell: what is loaded cannot be seen: {error}", file=sys.stderr)
        return []


def load(arguments: argparse.Namespace) -> int:
    """Register one; stdout is the name that sockets ask for."""
    with kernel.load(arguments.name, _params(arguments.param), name=arguments.kernel_name) as controller:
        if controller.kernel_name.startswith("d_") and arguments.kernel_name is None:
            print(
                f"dumbbell: as {controller.kernel_name}, because the kernel has, or may have, a"
                f" {controller.kernel_name[2:]} of its own (--as NAME)",
                file=sys.stderr,
            )
        if controller.renewed:
            where = _places(controller.renewed)
            print(
                f"dumbbell: set again as the default (net.ipv4.tcp_congestion_control) of {where}, where an earlier"
                f" {controller.kernel_name} was left",
                file=sys.stderr,
            )
        if not arguments.foreground:
            controller.keep()
            print(controller.kernel_name)
            return OK
        signal.signal(signal.SIGTERM, _end)
        print(controller.kernel_name, flush=True)
        print("loaded until this ends (Ctrl-C)", file=sys.stderr)
        try:
            while True:
                signal.pause()
        except KeyboardInterrupt:
            print(f"unloading {controller.name}{_remains(kernel.status(controller.kernel_name)[0])}", file=sys.stderr)
    return OK


def module(arguments: argparse.Namespace) -> int:
    """Compile some as kernel modules; stdout is the paths of the files."""
    from dumbbell.temporary import Temporary
    from dumbbell.uml import modules

    if arguments.kernel_name is not None and len(arguments.names) > 1:
        raise ScenarioError(
            "--as", f"got {len(arguments.names)} controllers, wanted one: a name exists once in a kernel"
        )
    wanted = [modules.Wanted(name, arguments.kernel_name) for name in arguments.names]
    tree = Path(arguments.build).absolute() if arguments.build else modules.headers_of_this_kernel()
    out = Path(arguments.out)
    kept = Temporary("modules")
    made = modules.build(wanted, tree, kept.path)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for one in made:
            with written_whole(out / one.file.name) as beside:
                shutil.copy(one.file, beside)
            print(out / one.file.name)
    except OSError as error:
        raise OutError(f"--out: {error.filename}: {error.strerror}") from None
    return OK


def _end(_: int, __: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def change(arguments: argparse.Namespace) -> int:
    """Set parameters of a loaded one."""
    params = _params(arguments.values)
    kernel.set_params(arguments.name, params)
    for name in params:
        param = kernel.status(arguments.name)[0].params[name]
        print(f"{name} = {param.value} {param.unit}")
    return OK


def unload(arguments: argparse.Namespace) -> int:
    """Take one away."""
    before = kernel.unload(arguments.name)
    print(f"{before.kernel_name} is unloaded{_remains(before)}")
    return OK


def _remains(before: kernel.Status) -> str:
    """What outlives a controller: its sockets, and defaults that name it."""
    text = ""
    if before.sockets:
        count = len(before.sockets)
        text += f"; {count} {'socket keeps' if count == 1 else 'sockets keep'} it until closed: "
        text += ", ".join(f"{_place(socket.netns)}{socket.local} to {socket.remote}" for socket in before.sockets)
    if before.default_of:
        where = _places(before.default_of)
        text += (
            f"; still the default (net.ipv4.tcp_congestion_control) of {where}, whose new sockets get it until that is"
            " changed"
        )
    return text


def _places(namespaces: list[str]) -> str:
    return ", ".join(name or "this namespace" for name in namespaces)


def _place(netns: str) -> str:
    return f"[{netns}] " if netns else ""


def status(arguments: argparse.Namespace) -> int:
    """Loaded ones and their sockets."""
    found = kernel.status(arguments.name)
    if arguments.json:
        import json

        for one in found:
            params = {name: param.value for name, param in one.params.items()}
            sockets = [{**socket._asdict(), "estimates": socket.estimates._asdict()} for socket in one.sockets]
            print(json.dumps({**one._asdict(), "params": params, "sockets": sockets}))
        return OK
    if not found:
        print("none is loaded", file=sys.stderr)
    for one in found:
        _print_status(one, is_all=arguments.all)
    return OK


#: Segments that a connection has sent when it counts as one that sends: more than requests, answers and iperf3's
#: control connection do.
_SENT_MIN = 50


def _sends(socket: kernel.Socket) -> bool:
    """Whether the controller has anything to do: not at a receiver, a control connection or a socket that listens."""
    return not socket.is_listening and (socket.in_flight > 0 or socket.delivered >= _SENT_MIN)


def _print_status(one: kernel.Status, *, is_all: bool) -> None:
    held = "" if one.is_kept else ", held by a process"
    print(f"{one.name} ({one.kernel_name}){held}")
    for param in one.params.values():
        if param.value != param.default:
            print(f"  {param.name} = {param.value} {param.unit} (default {param.default})")
    if one.default_of:
        print(f"  default of: {_places(one.default_of)}")
    shown = [socket for socket in one.sockets if is_all or _sends(socket)]
    hidden = len(one.sockets) - len(shown)
    if shown:
        _print_columns([HEADS, *map(_row, shown)], indent="  ")
    elif not hidden:
        print("  no sockets")
    if hidden:
        print(
            f"  {hidden} {'socket that sends' if hidden == 1 else 'sockets that send'} next to nothing (--all shows"
            " them)"
        )


def _row(socket: kernel.Socket) -> tuple[str, ...]:
    local = _place(socket.netns) + socket.local
    if socket.is_listening:
        return (local, "listens", *[""] * (len(HEADS) - 2))
    own = socket.estimates
    bounds = [str(bound) if bound is not None else "-" for bound in (own.inflight_lo, own.inflight_hi)]
    return (
        local,
        socket.remote,
        own.state or "-",
        socket.tcp_state,
        _scaled(own.bw_bps, 1e6),
        _scaled(own.min_rtt_us if own.min_rtt_us is not None else socket.tcp_min_rtt_us, 1e3),
        _scaled(socket.srtt_us, 1e3),
        str(socket.cwnd),
        str(socket.in_flight),
        ", ".join(bounds),
        _scaled(socket.pacing_rate_bps, 1e6),
        str(socket.lost),
    )


def _scaled(value: int | None, unit: float) -> str:
    return "-" if value is None else f"{value / unit:.2f}"


def _print_columns(rows: list[tuple[str, ...]], indent: str = "") -> None:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print(indent + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip())
