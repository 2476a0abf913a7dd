"""The program that turns a plan into tables: digests of the engine or of sources, of controllers, of the kernel."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from dumbbell import backends
from dumbbell.plan import identity, origin

from .request import Request


def key(request: Request) -> str:
    """Key of a run (`plan/identity.py`). Raises ScenarioError for a controller whose code is nowhere to be read,
    EngineError where the back end lacks what the run needs.
    """
    return identity.key(request.planned.plan, request.own.record(), _program(request))


def digests(request: Request) -> dict[str, str]:
    """Digests of the build that makes a run: of the engine, or of all sources where real hosts run the plan, and of the
    built-in controllers that it names. In virtual time of the kernel as well; raises EngineError where there is none.
    """
    known, kind = _known(), backends.kind(request.on)
    if not kind.is_exact and not kind.has_kernels:
        return {"all": known["all"]}
    of_engine = {"engine": known["engine"], **_kernel(request)}
    return of_engine | {f"cca/{cca}": known[f"cca/{cca}"] for cca in _built_in(request) if f"cca/{cca}" in known}


def _program(request: Request) -> dict[str, Any]:
    """Describe the program that turns the plan into tables."""
    known, kind = _known(), backends.kind(request.on)
    ours = {cca: known.get(f"cca/{cca}", "") for cca in _built_in(request)}
    if kind.is_exact:
        return {"on": backends.recorded(request.on), "engine": known["engine"], "controllers": ours}
    program: dict[str, Any] = {"on": request.on, "sources": _sources(kind.sources)}
    if kind.has_kernels:
        return {**program, "engine": known["engine"], "controllers": ours, **_kernel(request)}
    return {**program, "all": known["all"], "kernel": origin.kernel(), "host": origin.host()}


def _kernel(request: Request) -> dict[str, str]:
    """The kernel that a run in virtual time needs, and the modules of ours in it."""
    if not backends.kind(request.on).has_kernels:
        return {}
    return {"modules": _known()["modules"], "kernel": backends.kernel_of(request)}


def _known() -> dict[str, str]:
    """The digests of what this package was built of."""
    from dumbbell import _native

    return _native.digests()


def _built_in(request: Request) -> list[str]:
    """The controllers that the plan names, but for those of the user's own."""
    own = {record["name"] for record in request.own.record()}
    return [cca for cca in identity.controllers(request.planned.plan) if cca not in own]


@lru_cache
def _sources(places: tuple[str, ...]) -> str:
    """The digest of these files and folders of the package."""
    import hashlib

    root, digest = Path(__file__).resolve().parents[1], hashlib.sha256()
    for place in places:
        folder = root / place
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(root).as_posix()}\n{path.stat().st_size}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
