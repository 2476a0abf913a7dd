"""Zhang, "An evaluation of BBR and its variants", arXiv:1909.03673 (2019): eight controllers over the author's own QUIC
in ns-3.26.

The bottleneck is l2 of n0, n1 - n2 - l2 - n3 - n4, n5; l1 and l4 lead to it, l3 and l5 from it. All tests but those of
unequal RTTs run from n2 to n3.
"""

from __future__ import annotations

from dumbbell.suites.table import Entry

from . import intra, tables

ENTRIES: dict[str, Entry] = {**intra.ENTRIES, **tables.ENTRIES}
