"""Plans: what an engine runs, made from a scenario, and what can be said of one before it is run.

>>> from dumbbell import from_dict, plan
>>> path = {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"}
>>> scenario = from_dict({"duration": "1s", "path": path, "flow": [{"cca": "cubic"}]})
>>> [planned.plan["seed"] for planned in plan.runs(scenario)]
[1]

Names of `make` are loaded when first used, because who reads the plan of a result makes none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .make import bdp_bytes, cases, derived_seed, each, plan, runs
    from .planned import Case, Planned

__all__ = ["Case", "Planned", "bdp_bytes", "cases", "derived_seed", "each", "plan", "runs"]


def __getattr__(name: str) -> object:
    """Load a public name."""
    if name not in __all__:
        raise AttributeError(f"module 'dumbbell.plan' has no attribute {name!r}")
    from . import make

    return getattr(make, name)
