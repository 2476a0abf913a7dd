"""Back ends: each turns a plan into a result folder. None is imported before it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from dumbbell.errors import ScenarioError, show, wrong

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dumbbell.runs.plan import Planned
    from dumbbell.scenario.own import Own

    from .folder import Progress

#: Names of those that there are, as ``--on`` takes them.
NAMES = ("sim", "linux", "bpf", "netem", "ssh")


class Backend(Protocol):
    """What a back end's module has."""

    def run(
        self,
        planned: Planned,
        folder: Path,
        *,
        scenario_text: str,
        overrides: tuple[str, ...],
        progress: Progress,
        own: Own,
    ) -> dict[str, Any]:
        """Run one plan into `folder`, which must not exist yet, and return its manifest."""


def run(
    on: str,
    planned: Planned,
    folder: Path,
    *,
    scenario_text: str,
    overrides: tuple[str, ...],
    progress: Progress,
    own: Own,
) -> dict[str, Any]:
    """Run one plan on the back end of this name; ``ssh://...`` names the hosts as well."""
    given: dict[str, Any] = {"scenario_text": scenario_text, "overrides": overrides, "progress": progress, "own": own}
    if on.startswith("ssh:"):
        given["on"] = on
    made: dict[str, Any] = named(on).run(planned, folder, **given)
    return made


def check(on: str, planned: Planned, own: Own) -> None:
    """Raise for what of a plan the back end of this name cannot do; the simulator does everything."""
    module: Any = named(on)
    if on.startswith("ssh:"):
        module.check(planned, own, on)
    elif on != "sim":
        module.check(planned, own)


def named(on: str) -> Backend:
    """The back end of this name."""
    module: Any = import_module(f"{__name__}.{on.partition(':')[0]}")
    backend: Backend = module
    return backend


def check_name(on: str) -> None:
    """Raise ScenarioError for a back end that there is not."""
    name = on.partition(":")[0]
    if name not in NAMES or name not in ("ssh", on):
        raise wrong("--on", on, f"one of: {', '.join(map(show, NAMES))}", list(NAMES))


def workers(on: str, plans: Iterable[tuple[Planned, Own]], wanted: int | None) -> int | None:
    """How many runs go at once, `None` for the default, on a back end that can run these plans. Raises ScenarioError
    for one that it cannot.
    """
    if on == "sim":
        return wanted
    if on in ("linux", "bpf"):
        from . import linux

        return linux.workers(plans, wanted, ours=on == "bpf")
    if wanted not in (None, 1):
        raise ScenarioError(
            "--jobs", f"got {wanted}, wanted 1 with --on {on.partition(':')[0]}: runs at once would disturb each other"
        )
    for planned, own in plans:
        check(on, planned, own)
    return 1
