"""Controllers of the guest of a plan: the kernel's own, and ours or the user's as modules.

Flows that want the same controller with the same parameters share a module; each other combination is a module of its
own name, because parameters are a module's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from dumbbell.controllers import NAME_MAX, known
from dumbbell.errors import ScenarioError, wrong

if TYPE_CHECKING:
    from dumbbell.plan.types import FlowPlan, Plan
    from dumbbell.scenario.own import Own

    from .modules import Wanted
    from .store import Kernel

#: Those of the plans' controllers that the kernel has itself, as `kernel/kernel.config` has it.
LINUX = ("reno", "cubic", "bbr", "htcp", "dctcp", "vegas")


class Instance(NamedTuple):
    """A controller with its parameters; `source` is its name, or the user's file."""

    cca: str
    source: str
    params: tuple[tuple[str, int], ...] = ()


class Loaded(NamedTuple):
    """Controllers for a guest: the kernel's name of each flow's controller, the modules' files, each with its
    parameters, and the names of those that report.
    """

    names: Sequence[str]
    files: Mapping[str, Path] = MappingProxyType({})
    modules: Sequence[str] = ()
    reports: Sequence[str] = ()


def instances(plan: Plan, own: Own, *, ours: bool) -> list[Instance | None]:
    """Module that each flow needs, None for the kernel's own controller. Raises ScenarioError for one that there is
    not.
    """
    return [_instance(flow, f"flow[{i}]", own, ours=ours) for i, flow in enumerate(plan["flows"])]


def _instance(flow: FlowPlan, at: str, own: Own, *, ours: bool) -> Instance | None:
    cca, params = flow["cca"], tuple(sorted(flow["params"].items()))
    if cca in own.sources:
        file = own.sources[cca].c_file
        if not file.endswith(".c"):
            raise ScenarioError(
                f"{at}.cca",
                f'got "{cca}" of {file}, wanted a controller in C: a kernel runs no Python and no program;'
                " --on sim does",
            )
        return Instance(cca, file, params)
    if not ours and not params and cca in LINUX:
        return None
    if cca not in known():
        raise wrong(f"{at}.cca", cca, f"one that is there: {', '.join(known())}", list(known()))
    return Instance(cca, cca, params)


def load(plan: Plan, own: Own, kernel: Kernel, *, ours: bool) -> Loaded:
    """Compile the modules that a plan needs, where the kernel's cache has none yet. Raises ScenarioError for a source
    that does not compile, EngineError where the compiler fails.
    """
    from . import modules

    wanted = instances(plan, own, ours=ours)
    names = _kernel_names([instance for instance in dict.fromkeys(wanted) if instance is not None])
    modules_ = modules.build(list(names.values()), kernel.tree, kernel.modules, arch="um") if names else []
    built = dict(zip(names, modules_, strict=True))
    asks = any(plan["record"].get(what) for what in ("states", "variables", "limits"))
    return Loaded(
        [
            flow["cca"] if instance is None else built[instance].kernel_name
            for flow, instance in zip(plan["flows"], wanted)
        ],
        {f"{module.file.stem}.ko": module.file for module in built.values()},
        [_loading(module.file, dict(instance.params)) for instance, module in built.items()],
        [module.kernel_name for instance, module in built.items() if asks and _reports(instance)],
    )


def _kernel_names(wanted: list[Instance]) -> dict[Instance, Wanted]:
    """The first of a controller has its own name, with ``d_`` before it where Linux has one of that name; others with
    other parameters have a number after it.
    """
    from dumbbell import _native

    from .modules import Wanted

    named: dict[Instance, Wanted] = {}
    for instance in wanted:
        number = sum(other.cca == instance.cca for other in named)
        tail = f"_{number + 1}" if number else ""
        named[instance] = Wanted(instance.source, f"{_native.kernel_name(instance.cca)[: NAME_MAX - len(tail)]}{tail}")
    return named


def _loading(file: Path, params: Mapping[str, int]) -> str:
    return " ".join([f"{file.stem}.ko", *(f"{name}={value}" for name, value in params.items())])


def _reports(instance: Instance) -> bool:
    """A Linux module of the user's is compiled as it is, and reports nothing."""
    return instance.source == instance.cca or "cca.h" in Path(instance.source).read_text(
        encoding="utf-8", errors="replace"
    )
