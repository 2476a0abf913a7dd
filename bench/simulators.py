"""The simulators that dumbbell is measured against: how each is built and called, and what its TCP is."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PEERS = Path(__file__).resolve().parent / "peers"
FACTORS = {"cubic100": 1.60, "bbr-cubic": 2.76, "bbr-rtts": 5.76}
"""Rates of ns-3.48's optimised build over those of the 3.44 wheel, on the machine of docs/speed.md, November 2026. A
Xeon had 1.61, 3.10 and 6.64: where a derived rate decides something, measure the checkout itself."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """How a scenario is asked for. The run is as long as is needed for start-up not to count: as many packets as of
    dumbbell would take minutes with some.
    """

    seconds: float
    """Simulated."""
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """Another simulator, ready to run."""

    name: str
    what: str
    """What it has of TCP, in a few words."""
    program: tuple[str, ...]
    """Prints a line with a JSON object that has ``goodput_bytes``."""
    calls: Mapping[str, Call]
    """By the name of the scenario; one that is not there cannot be simulated."""
    faster_build: str = ""
    """A build that is faster than the one that can be had."""
    factors: Mapping[str, float] = field(default_factory=dict)
    """Rate of that build over this one's, by scenario, where it was measured once with both on one machine."""


class UnavailableError(Exception):
    """A simulator that is not to be had here; the message says why, and what would help."""


def ns3(checkout: Path | None, build: Path) -> Peer:
    """ns-3: the optimised build of a checkout, or else that of the Python registry, which its asserts and logs make
    slower.
    """
    has = "SACK, PRR, BBRv1; no RACK, no TSO"
    calls = {
        "cubic100": _ns3(10, "--rate=1Gbps", "--flows=TcpCubic*100@20", "--bufferBytes=2500000"),
        "bbr-cubic": _ns3(30, "--rate=100Mbps", "--flows=TcpBbr*1@40,TcpCubic*1@40", "--bufferBytes=500000"),
        "bbr-rtts": _ns3(60, "--rate=40Mbps", "--flows=TcpBbr*1@40,TcpBbr*1@150", "--bufferBytes=750000"),
    }
    place = build / ("wheel" if checkout is None else "checkout")
    try:
        subprocess.run([PEERS / "ns3/build.sh", place, *([] if checkout is None else [checkout.resolve()])], check=True)
    except subprocess.CalledProcessError as error:
        why = "no wheel for this Python or this machine" if checkout is None else f"from {checkout}"
        msg = f"ns-3 could not be built: {why} (above is why)"
        raise UnavailableError(msg) from error
    program = (str(place / "dumbbell"),)
    if checkout is not None:
        version = (checkout / "VERSION").read_text(encoding="utf-8").strip()
        return Peer(name=f"ns-{version}, optimised", what=has, program=program, calls=calls)
    return Peer(
        name="ns-3.44 of the registry",
        what=f"{has}; asserts compiled in",
        program=program,
        calls=calls,
        faster_build="ns-3.48, optimised",
        factors=FACTORS,
    )


def _ns3(seconds: float, *arguments: str) -> Call:
    return Call(seconds=seconds, arguments=(*arguments, f"--time={seconds:g}"))


def ns2() -> Peer:
    """ns-2 of the system's packages (``ns2`` in Debian), which has no BBR."""
    program = shutil.which("ns")
    if program is None:
        msg = "ns-2 is not installed (package ns2 of Debian and Ubuntu)"
        raise UnavailableError(msg)
    return Peer(
        name="ns-2.35 of Debian",
        what="SACK, CUBIC of Linux 2.6; no RACK, no TSO",
        program=(program, str(PEERS / "ns2/dumbbell.tcl")),
        # 1651 packets of 1514 bytes are 2.5 MB.
        calls={"cubic100": Call(seconds=10, arguments=("1000", "100", "20", "1651", "10", "cubic"))},
    )


def htsim(checkout: Path | None, build: Path) -> Peer:
    """A checkout of htsim's repository. NewReno is all the TCP that htsim has, so the flows are not of CUBIC."""
    if checkout is None:
        msg = "htsim is in no registry: HTSIM=DIR names a checkout (bench/peers/htsim/README.md)"
        raise UnavailableError(msg)
    try:
        subprocess.run([PEERS / "htsim/build.sh", checkout, build], check=True)
    except subprocess.CalledProcessError as error:
        msg = f"htsim could not be built from {checkout} (above is why)"
        raise UnavailableError(msg) from error
    commit = subprocess.run(
        ["git", "-C", checkout, "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True
    ).stdout.strip()
    return Peer(
        name=f"htsim {commit}".strip(),
        what="NewReno without SACK, RACK or pacing; an ACK for each packet",
        program=(str(build / "dumbbell"),),
        calls={"cubic100": Call(seconds=30, arguments=("1000", "100", "20", "2500000", "30"))},
    )


def available(build: Path, *, htsim_checkout: Path | None, ns3_checkout: Path | None) -> tuple[list[Peer], list[str]]:
    """The peers that can be had here, and of the others why not."""
    found: list[Peer] = []
    left_out: list[str] = []
    makers: tuple[Callable[[], Peer], ...] = (
        lambda: htsim(htsim_checkout, build / "htsim"),
        ns2,
        lambda: ns3(ns3_checkout, build / "ns3"),
    )
    for make in makers:
        try:
            found.append(make())
        except UnavailableError as error:
            left_out.append(str(error))
    return found, left_out
