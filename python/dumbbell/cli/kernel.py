"""`dumbbell kernel`: our controllers in the running kernel."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dumbbell import kernel, kernel_default
from dumbbell.errors import OutError, ScenarioError
from dumbbell.files import written_whole

from .output import note
from .status import OK
from .writers import write_object

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


def _params(texts: list[str]) -> dict[str, int | str]:
    params: dict[str, int | str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ScenarioError("", f"got {text}, wanted a parameter and its value, as in beta=76")
        params[name] = value
    return params


def list_(arguments: argparse.Namespace) -> int:
    """List what can be loaded, what is loaded, and what a killed process has left."""
    try:
        loaded = kernel.instances()
    except kernel.KernelError as error:
        note(f"what is loaded cannot be seen: {error}")
        loaded = []
    rows = kernel.listed(loaded)
    if arguments.json:
        for row in rows:
            write_object(row._asdict())
        return OK
    if not kernel.built_in():
        note("no objects for BPF are in this build, because it was made without clang 14 or newer")
    words = {None: "-", True: "yes", False: "held"}
    heads = ("name", "in the kernel", "loaded", "")
    _print_columns([heads, *((row.name, row.kernel_name, words[row.is_kept], row.summary) for row in rows)])
    left = kernel.left_over()
    if left:
        note(f"left by processes that were killed, until the next load: {', '.join(left)} (in /sys/fs/bpf/dumbbell)")
    return OK


def load_(arguments: argparse.Namespace) -> int:
    """Register one; stdout is the name that sockets ask for."""
    with kernel.load(arguments.name, _params(arguments.param), name=arguments.kernel_name) as controller:
        if controller.kernel_name.startswith("d_") and arguments.kernel_name is None:
            note(
                f"as {controller.kernel_name}, because the kernel has, or may have, a {controller.kernel_name[2:]} of"
                " its own (--as NAME)"
            )
        if controller.renewed:
            where = _places(controller.renewed)
            note(
                f"set again as the default (net.ipv4.tcp_congestion_control) of {where}, where an earlier"
                f" {controller.kernel_name} was left"
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


def enable_(arguments: argparse.Namespace) -> int:
    """Load one, and make it the default until it is undone."""
    if not arguments.default and (arguments.persist or arguments.undo_after is not None):
        raise ScenarioError("--persist" if arguments.persist else "--undo-after", "is of --default, which is not given")
    if not arguments.default:
        raise ScenarioError(
            "--default", f"wanted, or dumbbell kernel load {arguments.name}, which sockets then ask for"
        )
    undo_s = kernel_default.UNDO_S if arguments.undo_after is None else arguments.undo_after
    params = {name: str(value) for name, value in _params(arguments.param).items()}
    enabled = kernel_default.enable(arguments.name, params, is_persistent=arguments.persist, undo_s=undo_s or None)
    print(f"{enabled.kernel_name} is the default of new sockets of this namespace; before: {enabled.before}")
    if undo_s:
        how = ", and makes it the default after the next start too" if arguments.persist else ""
        print(f"in {undo_s} s it is undone, unless you say: dumbbell kernel confirm{how}")
    if advice := kernel_default.advice(enabled.name, enabled.kernel_name):
        note(advice)
    return OK


def confirm_(_: argparse.Namespace) -> int:
    """Keep what is enabled."""
    enabled = kernel_default.confirm()
    stays = "also after the next start" if enabled.is_persistent else "until the next start"
    print(f"{enabled.kernel_name} stays the default, {stays}; dumbbell kernel disable undoes it")
    return OK


def disable_(arguments: argparse.Namespace) -> int:
    """Bring back the default that was there."""
    done = kernel_default.disable(is_timer=arguments.unconfirmed)
    if done is None:
        return OK
    if done.is_foreign:
        note(f"the default is {done.default}, which somebody has set since: it stays")
    print(f"{done.default} is the default of new sockets of this namespace{_remains_of(done.unloaded)}")
    return OK


def _remains_of(unloaded: kernel.Status | None) -> str:
    return f"; {unloaded.kernel_name} is unloaded{_remains(unloaded)}" if unloaded else ""


def module_(arguments: argparse.Namespace) -> int:
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
    built = modules.build(wanted, tree, kept.path)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for each in built:
            with written_whole(out / each.file.name) as beside:
                shutil.copy(each.file, beside)
            print(out / each.file.name)
    except OSError as error:
        raise OutError(f"--out: {error.filename}: {error.strerror}") from None
    return OK


def _end(_: int, __: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def set_(arguments: argparse.Namespace) -> int:
    """Set parameters of a loaded one."""
    params = _params(arguments.values)
    kernel.set_params(arguments.name, params)
    for name in params:
        param = kernel.status(arguments.name)[0].params[name]
        print(f"{name} = {param.value} {param.unit}")
    return OK


def unload_(arguments: argparse.Namespace) -> int:
    """Take one away."""
    before = kernel.unload(arguments.name)
    print(f"{before.kernel_name} is unloaded{_remains(before)}")
    return OK


def _remains(before: kernel.Status) -> str:
    """Say what outlives a controller: its sockets, and defaults that name it."""
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


def status_(arguments: argparse.Namespace) -> int:
    """Loaded ones and their sockets."""
    loaded = kernel.status(arguments.name)
    if not loaded and not arguments.json:
        print("none is loaded", file=sys.stderr)
    for each in loaded:
        if arguments.json:
            params = {name: param.value for name, param in each.params.items()}
            sockets = [{**socket._asdict(), "estimates": socket.estimates._asdict()} for socket in each.sockets]
            write_object({**each._asdict(), "params": params, "sockets": sockets})
        else:
            _print_status(each, is_all=arguments.all)
    return OK


def _print_status(loaded: kernel.Status, *, is_all: bool) -> None:
    held = "" if loaded.is_kept else ", held by a process"
    print(f"{loaded.name} ({loaded.kernel_name}){held}")
    for param in loaded.params.values():
        if param.value != param.default:
            print(f"  {param.name} = {param.value} {param.unit} (default {param.default})")
    if loaded.default_of:
        print(f"  default of: {_places(loaded.default_of)}")
    shown = [socket for socket in loaded.sockets if is_all or socket.is_sending]
    hidden = len(loaded.sockets) - len(shown)
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
