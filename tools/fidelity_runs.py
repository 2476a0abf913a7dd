"""Runs of the fidelity table, kept by content: a run that was made once by the same plan, engine or kernel, and
controllers is not made again.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dumbbell import backends
from dumbbell.backends.folder import remove
from dumbbell.backends.request import Request
from dumbbell.errors import ScenarioError
from dumbbell.judge import versus
from dumbbell.results.manifest import Summary
from dumbbell.runs.execute import execute
from dumbbell.runs.job import Job
from dumbbell.runs.place import Place
from fidelity_rows import ROOT

if TYPE_CHECKING:
    from dumbbell.plan.planned import Planned
    from dumbbell.uml.store import Kernel

#: Sources that decide what the simulator gives for a plan.
ENGINE = [
    "Cargo.lock", "cca/*.c", "cca/*.h", "cca/bbr1", "cca/bbr2", "cca/include", "cca/hosts/sim",
    *(f"crates/{name}/src" for name in ("units", "net", "cca", "transport", "record", "path", "sim")),
]  # fmt: skip
#: Sources that decide what Linux gives, beside the kernel and what the guest is told: its program, and its readers.
GUEST = ["python/dumbbell/uml/agent", "python/dumbbell/uml/measured.py", "python/dumbbell/backends/tables.py"]


class Ran(NamedTuple):
    """One run's figures by name, and what it warned of; warnings of the scenario's own keys are left out."""

    figures: dict[str, float]
    warnings: list[str]


class Side(NamedTuple):
    """A back end, with what identifies it."""

    on: str
    identity: str

    def key(self, planned: Planned) -> str:
        """Names the result of a plan here. What it is called, and limits that it does not reach, change nothing."""
        kept = {name: value for name, value in planned.plan.items() if name not in ("name", "limits", "record")}
        guest = _guest(Request(planned, self.on)) if self.on.startswith("uml") else []
        text = json.dumps([self.on, self.identity, kept, guest], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _guest(request: Request) -> list[object]:
    """What a guest is told for a plan, and the modules that it loads; or why it refuses."""
    from dumbbell.uml import controllers, script, store

    plan, ours = request.planned.plan, request.backend == "uml-ours"
    kernel = store.kernel_of(request.on, plan["host"]["hz"])
    try:
        loaded = controllers.load(plan, request.own, kernel, ours=ours)
        guest = script.guest(plan, loaded)
    except ScenarioError as refusal:
        return [str(refusal)]
    return [*guest, {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in loaded.files.items()}]


def side(on: str) -> Side:
    """The back end of this name. Raises EngineError where it has no kernel."""
    if not on.startswith("uml"):
        return Side(on, digest(ENGINE))
    return Side(on, f"{_kernel(on).key} {digest(GUEST)}")


def described(on: str) -> str:
    """The back end as the page names it: the kernel with its version."""
    if not on.startswith("uml"):
        return on
    kernel = _kernel(on)
    return f"Linux {kernel.release} ({kernel.package})"


def _kernel(on: str) -> Kernel:
    from dumbbell.uml import store

    return store.find(on.partition(":")[2] or None)


@cache
def _digest(patterns: tuple[str, ...]) -> str:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    total = hashlib.sha256()
    for name in sorted(filter(None, listed.split("\0"))):
        if name.endswith((".md", ".pyi")) or "/tests" in name:
            continue
        total.update(f"{name}\0".encode() + hashlib.sha256((ROOT / name).read_bytes()).digest())
    return total.hexdigest()


def digest(patterns: Iterable[str]) -> str:
    """A digest of the repository's files that these patterns of git name, as they are now."""
    return _digest(tuple(patterns))


def commit() -> str:
    """The commit that is checked out, with ``+`` where files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno", "--", *ENGINE) else "")


class Kept:
    """A folder with the results of runs, each in a file named by its content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def found(self, key: str) -> Ran | None:
        """The result of this key, if there is one."""
        try:
            return msgspec.json.decode((self.folder / f"{key}.json").read_bytes(), type=Ran)
        except OSError:
            return None

    def keep(self, key: str, ran: Ran) -> None:
        """Write a result, whole or not at all."""
        beside = self.folder / f".{key}"
        beside.write_bytes(msgspec.json.encode(ran))
        beside.rename(self.folder / f"{key}.json")


def make(
    side: Side, plans: Iterable[Planned], kept: Kept, *, jobs: int | None, note: Callable[[str], None]
) -> dict[str, str]:
    """Make the runs of these plans that are not kept; errors by the key of the run that had them."""
    errors: dict[str, str] = {}
    missing, workers = [], None
    for key, planned in {side.key(planned): planned for planned in plans}.items():
        request = Request(planned, side.on)
        try:
            if not kept.found(key):
                workers = backends.workers(side.on, [request], jobs)
                missing.append((key, request))
        except ScenarioError as refusal:
            errors[key] = str(refusal)
    if not missing:
        return errors
    listed = [Job(i, Path(str(i)), request) for i, (_, request) in enumerate(missing)]
    with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
        for done, (key, error, made) in enumerate(_ended(listed, missing, Path(folder), workers), start=1):
            if error:
                errors[key] = error
            else:
                kept.keep(key, _ran(made))
            what = error or f"{made['wall_s']:.1f} s"
            note(f"{side.on} {done}/{len(missing)}: {listed[done - 1].planned.name}: {what}")
    return errors


def _ended(
    listed: list[Job], missing: list[tuple[str, Request]], folder: Path, workers: int | None
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Key, error and manifest of each run as it ends; what it wrote is taken away."""
    for outcome in execute(listed, Place(folder), workers=workers):
        key = missing[outcome.job.number][0]
        yield key, str(outcome.error or ""), outcome.manifest or {}
        remove(outcome.job.folder)


def _ran(manifest: dict[str, Any]) -> Ran:
    summary = msgspec.convert(manifest["summary"], Summary)
    warnings = [text for text in manifest["warnings"] if not text.startswith(("path.", "flow[", "host."))]
    return Ran(versus.measured(summary), warnings)
