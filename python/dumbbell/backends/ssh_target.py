"""The hosts that ``--on ssh://...`` names."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple
from urllib.parse import parse_qsl

from dumbbell.errors import wrong

from . import script

_OPTION_NAMES = ("to", "from", "iface", "port")
_FORM = "ssh://[user@]sender[:port],[user@]receiver[:port][?to=ADDRESS&from=ADDRESS&iface=DEVICE&port=5201]"


#: Letters that no name of a host or of a user has, and a shell or ssh would take for something else.
_SHELL = frozenset(" \t'\"`$\\;&<>|(){}*?!#=,/")


class Target(NamedTuple):
    """The hosts and options of ``--on ssh://...``."""

    sender: tuple[str, ...]
    receiver: tuple[str, ...]
    to: str | None
    source: str | None
    iface: str | None
    port: int


def target(url: str) -> Target:
    """Read the URL; raises ScenarioError that says what is wrong with it."""
    rest, _, query = url.removeprefix("ssh://").partition("?")
    hosts = rest.rstrip("/").split(",")
    if not url.startswith("ssh://") or len(hosts) != 2 or not all(hosts):
        raise wrong("--on", url, _FORM)
    given = dict(parse_qsl(query, keep_blank_values=True))
    for name, value in given.items():
        if name not in _OPTION_NAMES:
            raise wrong("--on", name, f"an option among: {', '.join(_OPTION_NAMES)}", list(_OPTION_NAMES))
        if name in ("to", "from"):
            _address(name, value)
    iface = given.get("iface")
    if iface is not None and (not 0 < len(iface) < 16 or any(c in "/ \t" for c in iface) or iface.startswith("-")):
        raise wrong("--on", iface, "iface=, the name of a network device of the receiver")
    port = given.get("port", str(script.SERVER_PORT))
    if not port.isdigit() or not 1024 <= int(port) <= 65_535:
        raise wrong("--on", port, "port=, the first port of the iperf3 servers, 1024 to 65535")
    sender, receiver = (_destination(host) for host in hosts)
    return Target(sender, receiver, given.get("to"), given.get("from"), iface, int(port))


def _address(name: str, value: str) -> None:
    try:
        ipaddress.IPv4Address(value)
    except ValueError:
        raise wrong("--on", value, f"{name}=, an IPv4 address") from None


def _destination(host: str) -> tuple[str, ...]:
    """Arguments of ssh for ``user@host:port``; IPv6 addresses stand in brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, ""
    elif not port.isdigit() or not 0 < int(port) < 65_536:
        raise wrong("--on", host, "host:port with a number for the port")
    bare = name.replace("[", "").replace("]", "")
    # What follows a user's name, too: ssh takes it apart, and gives the host to whatever ProxyCommand there is.
    user, at, address = bare.rpartition("@")
    parts = (user, address) if at else (address,)
    if any(not part or part.startswith("-") or not part.isprintable() or set(part) & _SHELL for part in parts):
        raise wrong("--on", host, "the name of a host, with that of a user and @ before it or without")
    return ("-p", port, bare) if port else (bare,)
