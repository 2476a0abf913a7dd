"""Dumbbell, a congestion-control laboratory: describe a path and its flows, run it, see who got what.

>>> import dumbbell
>>> scenario = dumbbell.Scenario(
...     duration="2s",
...     path=dumbbell.Path(rate="10Mbps", rtt="20ms", buffer="1bdp"),
...     flow=[dumbbell.Flow(cca="cubic"), dumbbell.Flow(cca="bbr")],
... )
>>> len(dumbbell.plan.runs(scenario))
1

Names are loaded when first used (PEP 562), because a whole `dumbbell run` is measured and must not import what it does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import metrics, plan
    from . import plots as plot
    from .errors import ControllerError, DumbbellError, EngineError, OutError, ResultError, ScenarioError
    from .impairments import Jitter
    from .qdiscs import Qdisc
    from .results import Result, Results, load
    from .routes import Ack, Link
    from .scenario import Flow, Host, Path, Record, Scenario, from_dict, from_file, from_text
    from .sweep import run

    __version__: str

_HOME = {
    "metrics": (".metrics", ""),
    "plot": (".plots", ""),
    "ControllerError": (".errors", "ControllerError"),
    "DumbbellError": (".errors", "DumbbellError"),
    "EngineError": (".errors", "EngineError"),
    "OutError": (".errors", "OutError"),
    "ResultError": (".errors", "ResultError"),
    "ScenarioError": (".errors", "ScenarioError"),
    "plan": (".plan", ""),
    "Result": (".results", "Result"),
    "Results": (".results", "Results"),
    "load": (".results", "load"),
    "Ack": (".routes", "Ack"),
    "Flow": (".scenario", "Flow"),
    "Host": (".scenario", "Host"),
    "Jitter": (".impairments", "Jitter"),
    "Link": (".routes", "Link"),
    "Path": (".scenario", "Path"),
    "Qdisc": (".qdiscs", "Qdisc"),
    "Record": (".scenario", "Record"),
    "Scenario": (".scenario", "Scenario"),
    "from_dict": (".scenario", "from_dict"),
    "from_file": (".scenario", "from_file"),
    "from_text": (".scenario", "from_text"),
    "run": (".sweep", "run"),
}

__all__ = [
    "Ack", "ControllerError", "DumbbellError", "EngineError", "Flow", "Host", "Jitter", "Link", "OutError", "Path", "Qdisc", "Record", "Result",
    "ResultError", "Results", "Scenario", "ScenarioError", "from_dict", "from_file", "from_text", "load", "metrics", "plan", "plot", "run",
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
    found = getattr(home, attribute) if attribute else home
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]
