"""An unmodified Linux in virtual time: its TCP, netem, tbf and queue disciplines in a guest whose clock stands still
while anything runs. A run is a function of plan, seed and kernel. docs/uml.md.

`uml` takes the kernel's own controllers, and ours as modules where the kernel has none of that name or a flow sets
parameters; `uml-ours` takes ours for every flow.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from dumbbell.errors import EngineError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from dumbbell.backends.request import Request

    from .controllers import Loaded
    from .script import Guest
    from .store import Kernel

#: Programs that a run needs.
_PROGRAMS = ("ip", "tc", "setarch")


def check(request: Request) -> None:
    """Raise ScenarioError for what of a plan the guest cannot do, EngineError for what this machine lacks."""
    from . import build

    refuse(request)
    _kernel(request)
    for program in build.missing(_PROGRAMS):
        raise EngineError(f"--on {request.backend}: needs the program {program} (Debian: {build.PROGRAMS[program]})")


def refuse(request: Request) -> None:
    """Raise ScenarioError for what of a plan the guest cannot do, whatever this machine has."""
    from . import controllers, script

    try:
        script.refuse(request.planned.plan)
        controllers.instances(request.planned.plan, request.own, ours=_is_ours(request))
    except ScenarioError as error:
        raise error.under(request.planned.name) from None


def warnings(request: Request) -> list[str]:
    """Warnings that every result of this plan has."""
    from . import script

    return script.warnings(request.planned.plan)


def kernel_of(request: Request) -> str:
    """The digest of the kernel that a run needs; raises EngineError where there is none."""
    return _kernel(request).key


def _kernel(request: Request) -> Kernel:
    from . import store

    return store.kernel_of(request.on, request.planned.plan["host"]["hz"])


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan into `folder`, as `sim.run` does, and return its manifest."""
    from dumbbell.backends.folder import ResultFolder

    from . import controllers, guest, script
    from .measured import Measured

    check(request)
    plan = request.planned.plan
    kernel = _kernel(request)
    loaded = controllers.load(plan, request.own, kernel, ours=_is_ours(request))
    told = script.guest(plan, loaded)
    with ResultFolder(request, folder) as results:
        raw = results.path / "raw"
        _write(raw, told, loaded.files)
        guest.boot(
            kernel,
            raw,
            init=told.script,
            memory_mb=told.memory_mb,
            seed=plan["seed"],
            tick=_tick(raw, request.progress),
        )
        summary = Measured(plan, raw).write(results.path)
        if plan["record"]["pcap"]:
            (raw / "trace.pcap").rename(results.path / "trace.pcap")
        shutil.rmtree(raw)
        more = {"kernel": f"Linux {kernel.release}, {kernel.hz} Hz, in virtual time", "hosts": _hosts(kernel, loaded)}
        return results.finish(summary, controllers=request.own.record(), hz=kernel.hz, more=more)


def _is_ours(request: Request) -> bool:
    return request.backend == "uml-ours"


def _write(raw: Path, told: Guest, modules: Mapping[str, Path]) -> None:
    from . import store

    raw.mkdir()
    for name, text in told.files.items():
        (raw / name).write_text(text, encoding="ascii")
    for name, file in {**modules, "agent": store.program("agent")}.items():
        shutil.copy(file, raw / name)


def _tick(raw: Path, progress: Callable[[int, int], None]) -> Callable[[], None]:
    """Report how far the guest's clock is."""

    def tick() -> None:
        try:
            said = (raw / "progress").read_text(encoding="ascii").strip()
        except OSError:
            said = ""
        progress(int(said) if said.isdigit() else 0, 0)

    return tick


def _hosts(kernel: Kernel, loaded: Loaded) -> dict[str, Any]:
    return {
        "controllers": loaded.names,
        "modules": loaded.modules,
        "package": kernel.package,
        "source_sha256": kernel.source_sha256,
        "recipe": kernel.recipe,
        "linux_sha256": kernel.key,
    }
