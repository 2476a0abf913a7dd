"""Kfoury, Gomez, Crichigno and Bou-Harb, "An emulation-based evaluation of TCP BBRv2 alpha for wired broadband",
Computer Communications 161 (2020): 100 hosts on each side of three switches in Mininet, netem for delay and loss, tbf
for rate and buffer.

What the paper leaves open and the authors' public scripts say (gomezgaona/bbr2) is taken from there: netem delays one
direction, so that its delay is the RTT; tbf has a burst of 500 kB; clients are started in a loop.
"""

from __future__ import annotations

from dumbbell.suites.table import Entry

from . import against, alone, completion, mixed

ENTRIES: dict[str, Entry] = {**alone.ENTRIES, **against.ENTRIES, **completion.ENTRIES, **mixed.ENTRIES}
