"""`dumbbell._native` where the engine is WebAssembly (crates/wasm): the same names, asked as JSON.

A run is not made here, where it would keep the page from asking: its engine is in a worker of its own. What it gave is
left here (`Finished`), and `run` writes it where it is asked for that plan.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Ask = Callable[[str], str]


class PlanError(ValueError):
    """A plan that the engine does not accept."""


class ControllerError(RuntimeError):
    """A controller of one's own failed; there is none here."""


class BuildError(ValueError):
    """A controller of one's own does not compile; there is no compiler here."""


#: The errors of an answer by the names that the engine gives them.
_ERRORS = {"plan_error": PlanError, "value_error": ValueError, "runtime_error": RuntimeError}


class Finished(NamedTuple):
    """What the engine gave for a run: its answer, and the files by name."""

    answer: str
    files: Mapping[str, bytes]


def given(answer: str) -> Any:
    """What an answer of the engine gives; raises the error that it is."""
    told = json.loads(answer)
    for name, error in _ERRORS.items():
        if name in told:
            raise error(told[name])
    return told["given"]


class Engine:
    """The engine, and the runs that it has made, by their plans."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.finished: dict[str, Finished] = {}

    def ask(self, call: str, **asked: Any) -> Any:
        """Ask for something that is no run."""
        return given(self._ask(json.dumps({"call": call, **asked})))

    def run(self, plan_json: str, out_dir: str, *_: object) -> str:
        """Write the run of this plan, which the engine has made, into a folder; raises its error."""
        answer, files = self.finished.pop(plan_json)
        summary: str = given(answer)
        for name, content in files.items():
            (Path(out_dir) / name).write_bytes(content)
        return summary


def module(engine: Engine) -> ModuleType:
    """The module that `dumbbell._native` is here: what planning and the simulator ask for, and no more."""
    made = ModuleType("dumbbell._native", __doc__)
    told = engine.ask("told")
    kept = {name: told.pop(name) for name in ("MANIFEST_VERSION", "SCHEMA_VERSION")}

    def telling(value: Any) -> Callable[[], Any]:
        return lambda: value

    def course(call: str) -> Callable[..., Any]:
        def ask(kind: str, mobility: str, mean_bps: int, length_ms: int, seed: int) -> Any:
            found = engine.ask(call, kind=kind, mobility=mobility, mean_bps=mean_bps, length_ms=length_ms, seed=seed)
            return found if isinstance(found, str) else [tuple(row) for row in found]

        return ask

    made.__dict__.update(
        kept,
        **{name: telling(value) for name, value in told.items()},
        **{call: course(call) for call in ("path_course", "radio_course", "radio_trace")},
        check=lambda plan_json: engine.ask("check", plan=plan_json),
        indented=lambda text: engine.ask("indented", json=text),
        kernel_name=lambda name: engine.ask("kernel_name", name=name),
        run=engine.run,
        PlanError=PlanError, ControllerError=ControllerError, BuildError=BuildError,
    )  # fmt: skip
    return made
