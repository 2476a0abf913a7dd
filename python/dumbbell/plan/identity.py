"""What a run is a function of, as a short text: two requests with the same one have the same tables.

It is made of the plan without what changes no table (the scenario's name, the part that figures cover, the limits of
cost, where a trace lies), the sources of the engine and of the controllers that the plan names, and the back end.
Python code is part of it only where it makes the run: that of a back end other than the simulator, and controllers of
the user's own.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ScenarioError

from . import origin

if TYPE_CHECKING:
    from dumbbell.backends.request import Request

    from .types import FlowPlan, LinkPlan

#: Grows when what a key is made of changes.
_FORM = 1

#: Parts of a plan that change no table: a limit ends a run or does nothing.
_IDLE = ("name", "measure", "limits")

#: What of this package makes a run on a back end, below `dumbbell`; all back ends where nothing is said.
_SOURCES = {"uml.backend": ("uml", "backends/tc.py")}


def key(request: Request) -> str:
    """The identity of a run: 64 hexadecimal digits. Raises ScenarioError for a controller whose code is nowhere to be
    read, EngineError where the back end lacks what the run needs.
    """
    import hashlib

    parts = {"form": _FORM, "plan": _plan(request), "own": _own(request), **_program(request)}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plan(request: Request) -> dict[str, Any]:
    plan = request.planned.plan
    kept = {name: value for name, value in plan.items() if name not in _IDLE}
    return {**kept, **{name: [_link(link) for link in plan[name]] for name in ("links", "ack_links")}}


def _link(link: LinkPlan) -> dict[str, Any]:
    """A link; its trace is known by its content."""
    trace = link["trace"]
    return {**link, "trace": trace and {**trace, "path": ""}}


def _used(flows: list[FlowPlan]) -> list[str]:
    return sorted({flow["cca"] for flow in flows})


def _own(request: Request) -> list[dict[str, Any]]:
    """The controllers of the user's own that the plan names, by their content."""
    used, found = _used(request.planned.plan["flows"]), []
    for record in request.own.record():
        if record["name"] not in used:
            continue
        if record["sha256"] is None:
            raise ScenarioError(
                "controllers",
                f'"{record["name"]}" is a class without a file, whose runs cannot be told from those of another;'
                " wanted a file (cca=[...])",
            )
        beside = [one["sha256"] for one in record.get("with", [])]
        python = None if record["compiler"] else origin.versions()["python"]
        known = {name: record[name] for name in ("name", "sha256", "compiler")}
        found.append({**known, "with": beside, "python": python})
    return found


def digests(request: Request) -> dict[str, str]:
    """Digests of the build that makes a run: of the engine, or of all sources where real hosts run the plan, and of the
    built-in controllers that it names. In virtual time of the kernel as well; raises EngineError where there is none.
    """
    from dumbbell import _native, backends

    known, module = _native.digests(), backends.kind(request.on).module
    if request.recorded != "sim" and module != "uml.backend":
        return {"all": known["all"]}
    made = {"engine": known["engine"]}
    if module == "uml.backend":
        from dumbbell.uml import store

        made |= {"modules": known["modules"], "kernel": store.kernel_of(request).key}
    return made | {f"cca/{cca}": known[f"cca/{cca}"] for cca in _built_in(request) if f"cca/{cca}" in known}


def _built_in(request: Request) -> list[str]:
    """The controllers that the plan names, but for those of the user's own."""
    own = {record["name"] for record in request.own.record()}
    return [cca for cca in _used(request.planned.plan["flows"]) if cca not in own]


def _program(request: Request) -> dict[str, Any]:
    """What turns the plan into tables."""
    from dumbbell import _native, backends

    digests = _native.digests()
    ours = {cca: digests.get(f"cca/{cca}", "") for cca in _built_in(request)}
    if request.recorded == "sim":
        return {"on": "sim", "engine": digests["engine"], "controllers": ours}
    module = backends.kind(request.on).module
    made: dict[str, Any] = {"on": request.on, "sources": _sources(_SOURCES.get(module, ("backends",)))}
    if module == "uml.backend":
        from dumbbell.uml import store

        made |= {"kernel": store.kernel_of(request).key, "engine": digests["engine"], "controllers": ours}
        return {**made, "modules": digests["modules"]}
    return {**made, "all": digests["all"], "kernel": origin.kernel(), "host": origin.host()}


@lru_cache
def _sources(places: tuple[str, ...]) -> str:
    """The digest of these files and folders of the package."""
    import hashlib

    root, found = Path(__file__).resolve().parents[1], hashlib.sha256()
    for place in places:
        folder = root / place
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(f"{path.relative_to(root).as_posix()}\n{path.stat().st_size}\n".encode())
                found.update(path.read_bytes())
    return found.hexdigest()
