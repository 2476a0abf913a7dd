"""The parts of the simulator, and which of them an instruction belongs to.

An instruction belongs to the part of the file that it was compiled from. What many parts share (the standard library,
rings, packets, units, clocks, fields of the socket) belongs to who uses it: such an instruction was inlined, its debug
information names all functions around it, and the innermost of them whose file has a part counts. Where no function
around it has one, because it was not inlined or the compiler kept no trace, the part of the whole function counts: that
of the outermost file of most of its instructions. What then is left is the C library's; start-up; and what other crates
and the standard library did in functions of their own, which for quinn is a tenth.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from callgrind import Place

#: In the order of a packet's way; each with the beginnings of its files' names below ``crates/``, or of foreign crates
#: (``CRATE-``). The longest beginning that a file has decides.
PARTS: dict[str, tuple[str, ...]] = {
    "event queue": ("path/src/timeline",),
    "event loop and hosts": ("sim/src/",),
    "route and delay lines": ("path/src/", "net/src/"),
    "link": (
        "path/src/link", "path/src/histogram", "path/src/waiting", "net/src/fifo", "net/src/bucket", "net/src/qdisc/",
        "net/src/link/",
    ),
    "host queue": ("transport/src/tcp/host_queue",),
    "sender: what it sends": ("transport/src/tcp/", "transport/src/common/socket", "transport/src/app"),
    "sender: ACKs and timers": (
        "transport/src/tcp/sender/ack", "transport/src/tcp/sender/timers", "transport/src/tcp/ack_state",
        "transport/src/tcp/rtt", "transport/src/tcp/timer", "transport/src/tcp/ecn", "transport/src/common/rate",
        "transport/src/tcp/cwnd_use", "transport/src/common/stats",
    ),
    "scoreboard and RACK": ("transport/src/tcp/recovery/", "transport/src/tcp/rtx_queue"),
    "controller": ("cca/",),
    "receiver": ("transport/src/tcp/receiver/",),
    "receiver: ACKs": (
        "transport/src/tcp/receiver/ack", "transport/src/tcp/receiver/compression",
        "transport/src/tcp/receiver/sack_blocks",
    ),
    "QUIC": (
        "transport/src/quic/", "net/src/quic", "quinn/", "quinn-cca/", "sim/src/quinn", "quinn-proto-", "rustls-",
    ),
    "samples and tables": (
        "sim/src/probe.rs", "sim/src/qlog", "sim/src/capture/", "sim/src/totals", "path/src/totals", "path/src/counts",
        "record/", "parquet-", "snap-",
    ),
    "C library: memory and copies": (),
    "start-up and the rest": (
        "path/src/plan/", "path/src/build/", "path/src/memory", "net/src/settings", "net/src/generate/", "sim/src/main",
        "sim/src/lib", "sim/src/controllers", "sim/src/guard", "sim/src/bounds", "serde", "cca/src/modul",
        "cca/src/watch", "cca/src/names",
    ),
}  # fmt: skip
LIBC, REST = "C library: memory and copies", "start-up and the rest"

#: Files that belong to who uses them.
SHARED = (
    "net/src/ring", "net/src/packet", "net/src/frame", "net/src/rng", "net/src/lists", "net/src/fetch", "net/src/lib",
    "net/src/crossing", "units/", "transport/src/common/clock", "transport/src/common/mod", "cca/src/sock",
    "cca/src/sample",
)  # fmt: skip

_BEGINNINGS = sorted(
    [(begin, part) for part, begins in PARTS.items() for begin in begins] + [(begin, "") for begin in SHARED],
    key=lambda pair: -len(pair[0]),
)
#: What of a file's name says where it is: below ``crates/``, or the folder of a foreign crate in cargo's registry.
_NAMED = re.compile(r"(?:(?:^|/)crates|/registry/src/[^/]+)/(.+)")


def of_file(name: str) -> str | None:
    """The part of a source file; ``None`` when it belongs to who uses it, or is none of ours."""
    named = _NAMED.search(name)
    if named is None:
        return None
    return next((part for begin, part in _BEGINNINGS if named[1].startswith(begin)), None) or None


def by_part(counts: Mapping[Place, int], files: Mapping[int, tuple[str, ...]], program: str) -> Counter[str]:
    """Instructions by part, in the order of :data:`PARTS`; their sum is that of `counts`.

    Parameters
    ----------
    counts
        As of :func:`callgrind.read`.
    files
        Of the addresses of `program`, as of :func:`callgrind.files`.
    program
        Its name in `counts`; every other object is a library.

    Raises
    ------
    ValueError
        When the program has no debug information.
    """
    parts = {name: _of_files(around) for name, around in files.items()}
    if not any(parts.values()):
        msg = f"{program} has no debug information: what ran there cannot be told apart"
        raise ValueError(msg)
    whole = _of_functions(counts, files, program)
    found = Counter(dict.fromkeys(PARTS, 0))
    for place, n in counts.items():
        if place.ob == program:
            found[parts.get(place.address) or whole.get(place.fn, REST)] += n
        else:
            found[LIBC if "/libc." in place.ob or "/libm." in place.ob else REST] += n
    return found


def _of_files(around: tuple[str, ...]) -> str | None:
    """The part of the innermost file that has one."""
    return next((part for part in map(of_file, around) if part), None)


def _of_functions(counts: Mapping[Place, int], files: Mapping[int, tuple[str, ...]], program: str) -> dict[str, str]:
    """The part of each function as a whole: that of the outermost file of most of its instructions."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for place, n in counts.items():
        if place.ob == program and (part := of_file(files.get(place.address, ("",))[-1])):
            votes[place.fn][part] += n
    return {name: parts.most_common(1)[0][0] for name, parts in votes.items()}


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Instructions per packet as a Markdown table: a row for each part, a column for each case.

    Parameters
    ----------
    rows
        By case, then by part.
    """
    lines = [("instructions per packet", *rows), ("---",) * (len(rows) + 1)]
    lines += [
        (part, *(f"{row[part]:,.0f}" for row in rows.values()))
        for part in PARTS
        if any(row[part] >= 0.5 for row in rows.values())
    ]
    lines.append(("all", *(f"{sum(row.values()):,.0f}" for row in rows.values())))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
