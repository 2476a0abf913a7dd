"""An unmodified Linux in virtual time: its TCP, netem, tbf and queue disciplines in a guest whose clock stands still
while anything runs. A run is a function of plan, seed and kernel. docs/uml.md.

`uml` takes the kernel's own controllers, and ours as modules where the kernel has none of that name or a flow sets
parameters; `uml-ours` takes ours for every flow.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from dumbbell.errors import EngineError, ScenarioError, wrong

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dumbbell.runs.plan_types import Plan
    from dumbbell.uml.script import Guest
    from dumbbell.uml.store import Kernel

    from .request import Request

#: Programs that the guest runs, and where they come from.
_PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "setarch": "util-linux"}
#: The kernel's own controllers: its configuration (uml/kernel/kernel.config) has all that Linux has.
OWN = (
    *("reno", "cubic", "bbr", "htcp", "dctcp", "vegas", "westwood", "highspeed", "hybla", "veno", "nv", "scalable"),
    *("yeah", "illinois", "bic", "cdg", "lp"),
)


def check(request: Request) -> None:
    """Raise ScenarioError for what of a plan the guest cannot do, EngineError for what this machine lacks."""
    from dumbbell.uml import script

    plan = request.planned.plan
    try:
        script.refuse(plan)
        if request.own:
            raise ScenarioError("--cca", f"files are not taken with --on {request.backend}; --on sim takes them")
        controllers(plan, ours=_is_ours(request))
    except ScenarioError as error:
        raise error.under(request.planned.name) from None
    kernel_of(request)
    for program, package in _PROGRAMS.items():
        if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            raise EngineError(f"--on {request.backend}: needs the program {program} (Debian: {package})")


def run(request: Request, folder: Path) -> dict[str, Any]:
    """Run one plan into `folder`, as `sim.run` does, and return its manifest."""
    from dumbbell.uml import guest, script
    from dumbbell.uml.measured import Measured

    from .folder import ResultFolder

    check(request)
    plan = request.planned.plan
    kernel, names = kernel_of(request), controllers(plan, ours=_is_ours(request))
    made_for = script.guest(plan, names)
    with ResultFolder(request, folder) as made:
        raw = made.path / "raw"
        _write(raw, made_for)
        given = {"init": made_for.script, "memory_mb": made_for.memory_mb, "seed": plan["seed"]}
        guest.boot(kernel, raw, tick=_tick(raw, request.progress), **given)  # type: ignore[arg-type]
        measured = Measured(plan, raw)
        summary = measured.write(made.path)
        shutil.rmtree(raw)
        more = {"kernel": f"Linux {kernel.release}, {kernel.hz} Hz, in virtual time", "hosts": _hosts(kernel, names)}
        return made.finish(summary, warnings=_warnings(plan, kernel), more=more)


def kernel_of(request: Request) -> Kernel:
    """The kernel that runs this plan, of the series that ``uml:6.1`` names; raises EngineError where there is none."""
    from dumbbell.uml import store

    return store.find(request.on.partition(":")[2] or None, hz=request.planned.plan["host"]["hz"])


def controllers(plan: Plan, *, ours: bool) -> list[str]:
    """The kernel's name of each flow's controller; raises ScenarioError for one that there is not."""
    for i, flow in enumerate(plan["flows"]):
        if ours or flow["cca"] not in OWN:
            raise wrong(f"flow[{i}].cca", flow["cca"], f"one that this Linux has: {', '.join(OWN)}", list(OWN))
        if flow["params"]:
            raise ScenarioError(f"flow[{i}].params", "got some, wanted none with the kernel's own controllers")
    return [flow["cca"] for flow in plan["flows"]]


def _is_ours(request: Request) -> bool:
    return request.backend == "uml-ours"


def _write(raw: Path, made_for: Guest) -> None:
    from dumbbell.uml import store

    raw.mkdir()
    for name, text in made_for.files.items():
        (raw / name).write_text(text, encoding="ascii")
    (raw / "agent").symlink_to(store.program("agent"))


def _tick(raw: Path, progress: Callable[[int, int], None]) -> Callable[[], None]:
    """Report how far the guest's clock is."""

    def tick() -> None:
        try:
            said = (raw / "progress").read_text(encoding="ascii").strip()
        except OSError:
            said = ""
        progress(int(said) if said.isdigit() else 0, 0)

    return tick


def _hosts(kernel: Kernel, names: list[str]) -> dict[str, Any]:
    return {
        "controllers": names,
        "package": kernel.package,
        "source_sha256": kernel.source_sha256,
        "recipe": kernel.recipe,
        "linux_sha256": kernel.key,
    }


def _warnings(plan: Plan, kernel: Kernel) -> list[str]:
    """What this kernel is otherwise than planned."""
    wanted = plan["host"]["hz"]
    return [] if kernel.hz == wanted else [f"host.hz: this kernel's tick is {kernel.hz}, not {wanted}"]
