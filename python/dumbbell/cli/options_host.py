"""Options of the commands about controllers, the running kernel and real paths: cca, kernel, shell."""

from __future__ import annotations

import argparse

from .options_run import add_own


def add_cca(cca: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell cca`."""
    actions = cca.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="list all")
    listed.add_argument("--json", action="store_true", help="print one JSON object per controller and line")
    add_own(listed)
    show = actions.add_parser("show", help="show one in full")
    show.add_argument("name", metavar="NAME", nargs="?", help="name of a controller, or a file as for --cca")
    show.add_argument(
        "--json", action="store_true", help="print one JSON object, with the verdicts on what papers say about it"
    )
    add_own(show)
    actions.add_parser("headers", help="write the headers that a C controller includes, for an editor").add_argument(
        "dir", metavar="DIR"
    )


def add_kernel(kernel: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell kernel`."""
    actions = kernel.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list what can be loaded, the name for sockets, and what is loaded")
    listing.add_argument(
        "--json", action="store_true", help="print one JSON object per controller and line, and nothing else"
    )
    load = actions.add_parser("load", help="register a controller until unload")
    load.add_argument("name", metavar="NAME", help="name, or a C file that includes cca.h or a policy (need clang)")
    load.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the controller; repeatable"
    )
    load.add_argument(
        "--as",
        dest="kernel_name",
        metavar="NAME",
        help="its name in the kernel, up to 15 letters; allows several with different parameters",
    )
    load.add_argument("--foreground", action="store_true", help="only as long as this process runs")
    _add_default(actions)
    module = actions.add_parser(
        "module", help="compile controllers as kernel modules (NAME.ko), for insmod; print their paths"
    )
    module.add_argument(
        "names", metavar="NAME", nargs="+", help="name, a C file that includes cca.h, or the source of a Linux module"
    )
    module.add_argument(
        "--as", dest="kernel_name", metavar="NAME", help="its name in the kernel and of its file, for one controller"
    )
    module.add_argument(
        "--build",
        metavar="DIR",
        help="headers or sources of the kernel (default: /lib/modules/VERSION/build of the running one)",
    )
    module.add_argument("--out", metavar="DIR", default=".", help="folder for the modules (default: this one)")
    change = actions.add_parser(
        "set", help="change parameters of a loaded controller, from the next ACK of its flows on"
    )
    change.add_argument("name", metavar="NAME", help="name of a loaded controller")
    change.add_argument("values", nargs="+", metavar="K=V", help="a parameter and its new value")
    actions.add_parser("unload", help="unload a controller; flows that use it keep it until they end").add_argument(
        "name", metavar="NAME"
    )
    status = actions.add_parser(
        "status", help="show loaded controllers, their flows in all network namespaces, and what they estimate"
    )
    status.add_argument("name", metavar="NAME", nargs="?", help="only this one")
    status.add_argument(
        "--all",
        action="store_true",
        help="also sockets that send almost nothing: receivers, control connections, listening ones",
    )
    status.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per controller and line, with all sockets, and nothing else",
    )


def _add_default(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Of what makes a controller the default."""
    enable = actions.add_parser(
        "enable", help="load a controller and make it the default of new sockets; a timer undoes that unless confirmed"
    )
    enable.add_argument("name", metavar="NAME", help="name, or a C file that includes cca.h or a policy (need clang)")
    enable.add_argument("--default", action="store_true", help="make it the default (net.ipv4.tcp_congestion_control)")
    enable.add_argument(
        "--persist", action="store_true", help="also after the next start, by a unit of systemd; from confirm on"
    )
    enable.add_argument(
        "--undo-after",
        type=_seconds,
        metavar="SECONDS",
        help="undo it after this time unless confirmed (default: 120); 0: never",
    )
    enable.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the controller; repeatable"
    )
    actions.add_parser("confirm", help="keep what enable has set: its timer ends")
    disable = actions.add_parser(
        "disable", help="bring back the default that was there before enable, and unload what it loaded"
    )
    disable.add_argument("--unconfirmed", action="store_true", help="only if it is not confirmed, as the timer does")


def _seconds(text: str) -> int:
    """A whole number of seconds up to a day; raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) > 86_400:
        raise argparse.ArgumentTypeError(f"got {text}, wanted whole seconds, 0 to 86400")
    return int(text)


def add_shell(shell: argparse.ArgumentParser) -> None:
    """Add the arguments of `dumbbell shell`."""
    path = shell.add_argument_group("the path")
    runs = shell.add_argument_group("what runs on it, and what is written")
    path.add_argument("--rate", metavar="RATE", help="rate of both directions (12mbit, 12Mbps); default: unlimited")
    path.add_argument(
        "--delay", metavar="TIME", default="0s", help="one-way delay (20ms); the round trip takes twice that"
    )
    path.add_argument(
        "--buffer", metavar="SIZE", help="buffer of each direction, such as 2bdp, 100pkt, 150kB (default: 1000pkt)"
    )
    path.add_argument("--aqm", metavar="NAME", help="queue discipline of each direction (default: fifo)")
    path.add_argument("--loss", metavar="SHARE", default="0%", help="random loss in each direction (0.1%%)")
    one_way = shell.add_argument_group("one direction of it")
    for name, which in (("up", "from the command to the far end"), ("down", "from the far end to the command")):
        one_way.add_argument(f"--{name}-rate", metavar="RATE", help=f"rate {which}")
        one_way.add_argument(f"--{name}-trace", metavar="FILE", help=f"Mahimahi trace instead of a rate, {which}")
        one_way.add_argument(f"--{name}-buffer", metavar="SIZE", help=f"buffer {which}")
        one_way.add_argument(f"--{name}-aqm", metavar="NAME", help=f"queue discipline {which}")
        one_way.add_argument(f"--{name}-loss", metavar="SHARE", help=f"random loss {which}")
        one_way.add_argument(
            f"--{name}-onoff",
            metavar="ON,OFF",
            help=f"switch the direction on and off, for exponential times with these means (4s,500ms), {which}",
        )
    path.add_argument("--seed", type=int, default=1, help="seed of the random numbers (default: 1)")
    runs.add_argument(
        "--far",
        action="append",
        default=[],
        metavar="COMMAND",
        help="command to run at the far end at the same time, such as 'iperf3 -s'; repeatable",
    )
    runs.add_argument(
        "--forward",
        action="append",
        default=[],
        metavar="PORT=HOST:PORT",
        help="forward a port of the far end to a server in this machine's network; repeatable",
    )
    runs.add_argument("--json", metavar="FILE", help="write the figures of both directions to FILE")
    shell.add_argument(
        "argv",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND",
        help="command at the near end; the far end is $DUMBBELL_FAR (10.2.0.1)",
    )
