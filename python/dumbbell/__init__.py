"""Dumbbell, a congestion-control laboratory: describe a path and its flows, run it, see who got what.

>>> import dumbbell
>>> scenario = dumbbell.Scenario(
...     duration="2s",
...     path=dumbbell.Path(rate="10Mbps", rtt="20ms", buffer="1bdp"),
...     flow=[dumbbell.Flow(cca="cubic"), dumbbell.Flow(cca="bbr")],
... )
>>> len(dumbbell.plan.runs(scenario))
1

Names are loaded when first used (PEP 562), because a whole `dumbbell run` is measured and must not import what it does
not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import kernel, plan
    from . import plots as plot
    from .api import check, compare, evaluate, fidelity, find, race, reproduce, run, sweep, verify
    from .errors import ControllerError, DumbbellError, EngineError, OutError, ResultError, ScenarioError
    from .explain.told import why
    from .results import metrics
    from .results.load import Result, Results, load
    from .scenario.file import Flow, Path, Record, Scenario, from_dict, from_file, from_text
    from .scenario.host import Host
    from .scenario.impairments import Jitter
    from .scenario.qdiscs import Qdisc
    from .scenario.ranges import ranged
    from .scenario.routes import Ack, Link
    from .searching.search import search

    __version__: str

_HOME = {
    "kernel": (".kernel", ""),
    "metrics": (".results.metrics", ""),
    "plot": (".plots", ""),
    "ControllerError": (".errors", "ControllerError"),
    "DumbbellError": (".errors", "DumbbellError"),
    "EngineError": (".errors", "EngineError"),
    "OutError": (".errors", "OutError"),
    "ResultError": (".errors", "ResultError"),
    "ScenarioError": (".errors", "ScenarioError"),
    "plan": (".plan", ""),
    "Result": (".results.load", "Result"),
    "Results": (".results.load", "Results"),
    "load": (".results.load", "load"),
    "Ack": (".scenario.routes", "Ack"),
    "Flow": (".scenario.file", "Flow"),
    "Host": (".scenario.host", "Host"),
    "Jitter": (".scenario.impairments", "Jitter"),
    "Link": (".scenario.routes", "Link"),
    "Path": (".scenario.file", "Path"),
    "Qdisc": (".scenario.qdiscs", "Qdisc"),
    "Record": (".scenario.file", "Record"),
    "Scenario": (".scenario.file", "Scenario"),
    "check": (".api", "check"),
    "compare": (".api", "compare"),
    "find": (".api", "find"),
    "evaluate": (".api", "evaluate"),
    "fidelity": (".api", "fidelity"),
    "race": (".api", "race"),
    "reproduce": (".api", "reproduce"),
    "search": (".searching.search", "search"),
    "sweep": (".api", "sweep"),
    "verify": (".api", "verify"),
    "from_dict": (".scenario.file", "from_dict"),
    "from_file": (".scenario.file", "from_file"),
    "from_text": (".scenario.file", "from_text"),
    "ranged": (".scenario.ranges", "ranged"),
    "run": (".api", "run"),
    "why": (".explain.told", "why"),
}

__all__ = [
    "Ack", "ControllerError", "DumbbellError", "EngineError", "Flow", "Host", "Jitter", "Link", "OutError", "Path",
    "Qdisc", "Record", "Result",
    "ResultError", "Results", "Scenario", "ScenarioError",
    "check", "compare", "evaluate", "fidelity", "find", "from_dict", "from_file", "from_text", "kernel", "load",
    "metrics", "plan", "plot", "race", "ranged", "reproduce", "run", "search", "sweep", "verify",
    "why",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Load a public name from where it lives; the version is the engine's, whose Cargo.toml alone says it."""
    if name == "__version__":
        from . import _native

        return _native.version()
    if name not in _HOME:
        raise AttributeError(f"module 'dumbbell' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    home = import_module(module, __name__)
    value = getattr(home, attribute) if attribute else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
