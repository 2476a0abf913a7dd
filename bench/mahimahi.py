"""Mahimahi as a peer: mm-delay with mm-link inside, in a network namespace of its own, so that the machine's network
stays as it is.

Its shells refuse root and want forwarding and a NAT to the outside. Here they run as nobody; forwarding is switched on
in their namespaces only; and the NAT, which nothing measured here crosses, is replaced by a route (so a kernel without
iptables' CONNMARK does too).
"""

from __future__ import annotations

import math
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FAR = "100.64.0.1"
"""Outside of both shells."""

OPPORTUNITY_BYTES = 1504
"""What a line of a trace lets through (``PACKET_SIZE`` of its link_queue.hh): an IP packet of 1500 bytes and four
of the device's."""

NOBODY = 65534

_SCRIPT = f"""\
set -eu
folder=$1 delay=$2 packets=$3 near=$4 far=$5
mount --bind /bin/true "$(readlink -f /usr/sbin/iptables)"
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
sh -c "$far" >&2 & far=$!
inside='
    echo $$ > "$0/pid"
    while [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 0 ]; do sleep 0.05; done
    exec mm-link "$0/trace" "$0/trace" --uplink-queue=droptail --uplink-queue-args=packets="$1" \
        --downlink-queue=droptail --downlink-queue-args=packets="$1" -- sh -c "$2"
'
setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups env HOME="$folder" \\
    mm-delay "$delay" sh -c "$inside" "$folder" "$packets" "$near" & shells=$!
until [ -s "$folder/pid" ]; do sleep 0.05; done
nsenter --net --target "$(cat "$folder/pid")" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
ip route add 100.64.0.4/32 via 100.64.0.2
status=0
wait $shells || status=$?
kill $far 2> /dev/null || true
exit $status
"""


def why_not() -> str:
    """What is missing to run it, if anything."""
    missing = [
        program
        for program in ("mm-link", "mm-delay", "iptables", "setpriv", "unshare", "nsenter")
        if not shutil.which(program)
    ]
    return (
        f"Mahimahi is not measured: {', '.join(missing)} not found (mahimahi is a package of Debian 11 and of Ubuntu)"
        if missing
        else ""
    )


def trace(mbps: float) -> str:
    """A second of a link of that rate, in delivery opportunities at whole milliseconds."""
    opportunities = round(mbps * 1e6 / 8 / OPPORTUNITY_BYTES)
    return "".join(f"{math.ceil(i * 1000 / opportunities)}\n" for i in range(1, opportunities + 1))


def run(folder: Path, *, mbps: float, delay_ms: int, packets: int, near: str, far: str) -> str:
    """Run shell command `near` behind the path and `far`, until that ends, on its other side; what `near` printed."""
    folder.chmod(0o777)
    (folder / "trace").write_text(trace(mbps))
    (folder / "pid").unlink(missing_ok=True)
    command = ["unshare", "--net", "--mount", "sh", "-c", _SCRIPT, "sh", folder, str(delay_ms), str(packets), near, far]
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120
    ).stdout
