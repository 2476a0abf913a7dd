"""Yang and others, "BBRv2+: Towards balancing aggressiveness and fairness with delay-based bandwidth probing", Computer
Networks 206 (2022); arXiv 2021: two hosts on each side of three routers in Mininet, netem on all links, and Mahimahi.

`testbed.py` has the set-up; `fairness.py` Figs. 4, 5, 10, 19 and 20; `losses.py` 6 to 9 and 21; `dynamics.py` 11, 12,
15 and 18; `traces.py` 17 and 23.
"""

from dumbbell.suites.claims import of_suite

from . import dynamics, fairness, losses, traces

_MADE = {**fairness.ENTRIES, **losses.ENTRIES, **dynamics.ENTRIES, **traces.ENTRIES}

#: In the paper's order.
ENTRIES = {item: _MADE[item] for item in (name.partition("/")[2] for name in of_suite("yang2021"))}
