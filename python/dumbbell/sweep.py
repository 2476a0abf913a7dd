"""Many runs: grids, repetitions, parallel workers, resume.

Workers are threads: the engine releases the GIL, and threads share the interpreter's start-up cost. Runs are handed out in order and reported
in order, whichever ends first; what a run writes does not depend on the worker.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import backends, origin, plan, units
from .backends import folder as result_folder
from .errors import DumbbellError, EngineError, ResultError, ScenarioError
from .own import Own
from .scenario import Given, Scenario, from_dict, from_file

if TYPE_CHECKING:
    from .results import Results

Observe = Callable[["Job", int, int], None]
"""Called with (job, simulated nanoseconds, delivered packets) while a run goes on and when it has ended, from its worker's thread."""


class Job(NamedTuple):
    """One run and the folder that it writes."""

    number: int
    planned: plan.Planned
    folder: Path
    scenario_text: str
    overrides: tuple[str, ...]
    own: Own = Own()
    on: str = "sim"


class Outcome(NamedTuple):
    """How a run ended: a manifest or an error; `kept` when it was found finished by --resume."""

    job: Job
    manifest: dict[str, Any] | None
    error: DumbbellError | None
    kept: bool = False


class _Stopped(BaseException):
    """Raised in a worker's progress callback when the sweep is interrupted."""


def jobs_of(
    scenarios: Iterable[Given],
    out: Path,
    *,
    overrides: tuple[str, ...] = (),
    pcap: bool = False,
    traffic: str | None = None,
    own: Own | None = None,
    on: str = "sim",
) -> list[Job]:
    """Every run of these scenarios, in order, each with its folder below `out`; `traffic` is for those that leave `host.traffic` open."""
    jobs: list[Job] = []
    names: set[str] = set()
    own = own or Own()
    for scenario, text, source in scenarios:
        if scenario.name in names:
            raise ScenarioError("name", f'"{scenario.name}" stands in two scenarios, wanted a name of its own in each')
        names.add(scenario.name)
        try:
            runs = plan.runs(scenario, own.known() if own else None)
        except ScenarioError as error:
            raise error.under(source) from None
        for planned in runs:
            if pcap:
                planned.plan["record"] = {**planned.plan["record"], "pcap": True}
            host = planned.plan["host"]
            if traffic and host["traffic"] == "auto":
                planned.plan["host"] = {**host, "traffic": traffic}
            jobs.append(Job(len(jobs), planned, out / folder_name(planned, scenario.repetitions), text, overrides, own, on))
    if len({job.folder for job in jobs}) < len(jobs):
        jobs = [job._replace(folder=out / f"{job.planned.name}_{job.number:05d}") for job in jobs]
    return jobs


def folder_name(planned: plan.Planned, repetitions: int = 1) -> str:
    """Name of a run's folder: ``name_buffer=1bdp_flow0.cca=bbr_r0``."""
    parts = [planned.name]
    for path, value in planned.vary.items():
        key = path.removeprefix("path.").replace("[", "").replace("]", "")
        word = units.value_text(value)
        parts.append(f"{key}={''.join(c if c.isalnum() or c in '.-+%=' else '-' for c in word)}")
    if repetitions > 1:
        parts.append(f"r{planned.repetition}")
    name = "_".join(parts)
    return name if len(name.encode()) <= 180 else f"{planned.name}_{hash_text(name)}"


def hash_text(text: str) -> str:
    """A short stable hash (FNV-1a, 64 bit) for names that are too long for a folder."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return f"{value:016x}"


def default_out(name: str) -> Path:
    """A new folder ``results/<name>-<n>`` below the current one, with the first n that is free."""
    n = 1
    while True:
        folder = Path("results") / f"{name}-{n}"
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            n += 1
        except OSError as error:
            raise ResultError(f"{folder}: {error.strerror}") from None


def open_out(out: Path, *, resume: bool) -> None:
    """Make the folder `out` ready; raises ResultError where it holds something and this is no resumption."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        held = sorted(p.name for p in out.iterdir())
    except OSError as error:
        raise ResultError(f"{out}: {error.strerror}") from None
    if not resume and held:
        raise ResultError(f"{out}: holds {held[0]} already; --resume runs only what is missing, or choose another --out")
    for name in held:
        if name.startswith(".tmp-") and not _alive(name.split("-")[1]):
            result_folder.remove(out / name)


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True


def finished(job: Job) -> dict[str, Any] | None:
    """The manifest of a run that is there already; raises ResultError where the folder holds another run than this."""
    if not job.folder.exists():
        return None
    from dumbbell import _native

    try:
        manifest: dict[str, Any] = json.loads((job.folder / "manifest.json").read_text(encoding="utf-8"))
        planned = json.loads(json.dumps(job.planned.plan))  # steps are tuples in a plan, lists in a file
        same = manifest["plan"] == planned and manifest["schema_version"] == _native.SCHEMA_VERSION
        same = same and manifest.get("controllers", []) == job.own.record() and manifest["backend"] == job.on
        engine = manifest["versions"]["engine"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{job.folder}: not a result of this program ({type(error).__name__}); choose another --out") from None
    if not same:
        raise ResultError(f"{job.folder}: holds the result of another plan; choose another --out")
    if engine != origin.versions()["engine"]:
        raise ResultError(f"{job.folder}: made by engine {engine}, this is {origin.versions()['engine']}; choose another --out")
    return manifest


def execute(jobs: list[Job], *, workers: int, resume: bool = False, observe: Observe | None = None) -> Iterator[Outcome]:
    """Run what is missing and yield every outcome in order; on KeyboardInterrupt the running ones stop and finished folders stay."""
    kept = {job.number: Outcome(job, found, None, True) for job in jobs if resume and (found := finished(job))}
    todo = [job for job in jobs if job.number not in kept]
    running = _in_order(todo, workers, observe) if min(workers, len(todo)) > 1 else (_one(job, observe, None) for job in todo)
    for job in jobs:
        yield kept[job.number] if job.number in kept else next(running)


def _one(job: Job, observe: Observe | None, stop: list[bool] | None) -> Outcome:
    def progress(sim_ns: int, packets: int) -> None:
        if stop:
            raise _Stopped
        if observe:
            observe(job, sim_ns, packets)

    try:
        given: dict[str, Any] = {"scenario_text": job.scenario_text, "overrides": job.overrides, "progress": progress, "own": job.own}
        made = backends.run(job.on, job.planned, job.folder, **given)
    except DumbbellError as error:
        return Outcome(job, None, error)
    if observe:
        observe(job, job.planned.plan["duration_ns"], made["summary"]["packets_delivered"])
    return Outcome(job, made, None)


def _in_order(todo: list[Job], workers: int, observe: Observe | None) -> Iterator[Outcome]:
    """Outcomes in the order of `todo`, from that many threads."""
    import threading

    stop: list[bool] = []
    done: dict[int, Outcome] = {}
    changed = threading.Condition()
    waiting = iter(todo)

    def work() -> None:
        while not stop:
            with changed:
                job = next(waiting, None)
            if job is None:
                return
            try:
                outcome = _one(job, observe, stop)
            except _Stopped:
                return
            except BaseException as error:  # a bug: hand it to the caller's thread in place of a silent hang
                outcome = Outcome(job, None, EngineError(f"{job.folder}: {type(error).__name__}: {error}"))
            with changed:
                done[job.number] = outcome
                changed.notify_all()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(todo)))]
    for thread in threads:
        thread.start()
    try:
        for job in todo:
            with changed:
                changed.wait_for(lambda number=job.number: number in done)  # type: ignore[misc]
                outcome = done.pop(job.number)
            yield outcome
    finally:
        stop.append(True)
        for thread in threads:
            thread.join()


def default_workers() -> int:
    """As many workers as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    scenario: Scenario | str | Path | Mapping[str, object],
    out: str | Path | None = None,
    jobs: int | None = None,
    *,
    resume: bool = False,
    controllers: Mapping[str, type] | None = None,
    cca: Iterable[str | Path] = (),
    on: str = "sim",
) -> Results:
    """Run a scenario, with all its varied values and repetitions, and return the results in order.

    Parameters
    ----------
    scenario
        A `Scenario`, the path of a scenario file, or the same tables as nested dictionaries.
    out
        Folder to write to; ``results/<name>-<n>`` unless given. It must be empty or new, unless `resume`.
    jobs
        How many runs go at once; as many as there are cores unless given. Results do not depend on it.
    resume
        Keep finished runs of the same plan in `out`, and run only what is missing.
    controllers
        Controllers of one's own by name: classes with ``on_ack(sample) -> (cwnd, pacing_rate)`` (docs/own-controller.md). An exception in one of
        them ends the run with ControllerError.
    cca
        Files with controllers of one's own (.c or .py), as ``dumbbell run --cca`` takes them.
    on
        Back end: ``sim``, or ``linux`` for real hosts (docs/linux.md), whose runs go one by one unless told otherwise.

    Raises
    ------
    ScenarioError
        The scenario cannot be run as written.
    ResultError
        `out` holds something else.
    ControllerError
        A controller of one's own in Python raised an exception.
    EngineError
        A run failed; the finished ones stay in `out`.
    """
    from .results import Results

    if isinstance(scenario, (str, Path)):
        given = from_file(scenario)
    else:
        made = scenario if isinstance(scenario, Scenario) else from_dict(scenario)
        given = Given(made, to_toml(made))
    backends.check_name(on)
    planned = jobs_of([given], Path(), own=Own.load(cca, controllers), on=on)
    jobs = backends.workers(on, [(job.planned, job.own) for job in planned], jobs)
    folder = default_out(given.scenario.name) if out is None else Path(out)
    open_out(folder, resume=resume)
    placed = [job._replace(folder=folder / job.folder) for job in planned]
    outcomes = list(execute(placed, workers=jobs or default_workers(), resume=resume))
    for outcome in outcomes:
        if outcome.error:
            raise outcome.error
    return Results.of([outcome.job.folder for outcome in outcomes])


def to_toml(scenario: Scenario) -> str:
    """The scenario as a file would hold it."""
    from .declare import plain

    raw = plain(scenario)
    flows = raw.pop("flow")
    lines = [f"{name} = {_value(value)}" for name, value in raw.items() if not isinstance(value, dict)]
    tables = [(f"[{name}]", value) for name, value in raw.items() if isinstance(value, dict)] + [("[[flow]]", flow) for flow in flows]
    for head, table in tables:
        lines += ["", head, *(f"{name} = {_value(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_name(name)} = {_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _name(name: str) -> str:
    bare = name.replace("_", "a").replace("-", "a")
    return name if bare.isalnum() and bare.isascii() else json.dumps(name)
