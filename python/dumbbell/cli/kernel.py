"""`dumbbell kernel`: our controllers in the running kernel."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType
from typing import NoReturn

from dumbbell import kernel
from dumbbell.errors import ScenarioError

from . import BAD_INPUT, FAILED, OK

#: Of a socket.
HEADS = ("local", "remote", "state", "recovery", "bw Mbit/s", "min RTT ms", "sRTT ms", "cwnd", "in flight", "bounds lo, hi", "pacing Mbit/s", "lost")


def main(arguments: argparse.Namespace) -> int:
    """The action in `arguments`."""
    actions = {"list": show_list, "load": load, "set": change, "unload": unload, "status": status}
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


def show_list(_: argparse.Namespace) -> int:
    """What can be loaded, and what is."""
    from dumbbell.controllers import known

    built_in, loaded = kernel.built_in(), _loaded()
    names = {**built_in, **{name: kernel_name for name, (kernel_name, _) in loaded.items()}}
    if not built_in:
        print("dumbbell: no objects for BPF are in this build, because it was made without clang 14 or newer", file=sys.stderr)
    summaries = known()
    rows: list[tuple[str, ...]] = [("name", "in the kernel", "loaded", "")]
    for name, kernel_name in names.items():
        told = {None: "-", True: "yes", False: "held"}[loaded[name][1] if name in loaded else None]
        # A file of one's own may have taken the place of one that is built in, so it is not described as that.
        rows.append((name, kernel_name, told, summaries[name].summary if name in built_in else "a file of your own"))
    _print_columns(rows)
    return OK


def _loaded() -> dict[str, tuple[str, bool]]:
    """What is loaded, as far as this user may see."""
    try:
        return kernel.loaded()
    except kernel.KernelError as error:
        print(f"dumbbell: what is loaded cannot be seen: {error}", file=sys.stderr)
        return {}


def load(arguments: argparse.Namespace) -> int:
    """Register one; stdout is the name that sockets ask for."""
    with kernel.load(arguments.name, _params(arguments.param)) as controller:
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
            print(f"unloading {controller.name}{_remains(kernel.status(controller.name)[0])}", file=sys.stderr)
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
        where = ", ".join(name or "this namespace" for name in before.default_of)
        text += f"; still the default (net.ipv4.tcp_congestion_control) of {where}, whose new sockets get it until that is changed"
    return text


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
        _print_status(one)
    return OK


def _print_status(one: kernel.Status) -> None:
    held = "" if one.is_kept else ", held by a process"
    print(f"{one.name} ({one.kernel_name}){held}")
    for param in one.params.values():
        if param.value != param.default:
            print(f"  {param.name} = {param.value} {param.unit} (default {param.default})")
    if one.default_of:
        print(f"  default of: {', '.join(name or 'this namespace' for name in one.default_of)}")
    if not one.sockets:
        print("  no sockets")
        return
    _print_columns([HEADS, *map(_row, one.sockets)], indent="  ")


def _row(socket: kernel.Socket) -> tuple[str, ...]:
    local = _place(socket.netns) + socket.local
    if socket.is_listening:
        return (local, "listens", *[""] * (len(HEADS) - 2))
    told = socket.estimates
    bounds = [str(bound) if bound is not None else "-" for bound in (told.inflight_lo, told.inflight_hi)]
    return (
        local,
        socket.remote,
        told.state or "-",
        socket.tcp_state,
        _scaled(told.bw_bps, 1e6),
        _scaled(told.min_rtt_us if told.min_rtt_us is not None else socket.tcp_min_rtt_us, 1e3),
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
