"""Scenarios into runs: a job for each combination of varied values and repetition, with the folder that it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from dumbbell import backends, plan, units
from dumbbell.backends.request import Request
from dumbbell.errors import ScenarioError
from dumbbell.scenario import source
from dumbbell.scenario.file import Given, Scenario, from_dict, from_file, from_text
from dumbbell.scenario.own import Own

from .job import Job
from .place import plain_name

AnyScenario = Scenario | str | Path | Mapping[str, object]
"""A scenario as Python has it: an object, the path of a file, or its tables as nested dictionaries."""


def given(scenario: AnyScenario, *, overrides: tuple[str, ...] = ()) -> Given:
    """The scenario with its text; raises ScenarioError."""
    if isinstance(scenario, (str, Path)):
        return from_file(scenario, overrides=overrides)
    whole = scenario if isinstance(scenario, Scenario) else from_dict(scenario)
    text = text_of(whole)
    return Given(from_text(text, overrides=overrides, folder=whole.folder) if overrides else whole, text)


def text_of(scenario: AnyScenario) -> str:
    """The text of a scenario file, as it is or as it would be written; raises ScenarioError."""
    if isinstance(scenario, (str, Path)):
        return source.read(source.located(scenario))
    from dumbbell.scenario.toml_text import to_toml

    return to_toml(scenario if isinstance(scenario, Scenario) else from_dict(scenario))


def folder_of(scenario: AnyScenario) -> Path:
    """Where files that a scenario names are looked for; raises ScenarioError for an unknown one of the gallery."""
    if isinstance(scenario, Scenario):
        return Path(scenario.folder)
    return source.located(scenario).parent if isinstance(scenario, (str, Path)) else Path()


def jobs_of(
    scenarios: Iterable[Given],
    out: Path,
    *,
    overrides: tuple[str, ...] = (),
    pcap: bool = False,
    traffic: str | None = None,
    own: Own | None = None,
    on: str = "sim",
    accept: Callable[[plan.Planned], None] | None = None,
) -> list[Job]:
    """Every run of these scenarios, in order, each with its folder below `out`; `traffic` is for those that leave
    `host.traffic` open. `accept` gets each run before the next one is planned; what it raises ends the planning.
    """
    jobs: list[Job] = []
    names: dict[str, str] = {}
    own, once = own or Own(), backends.kind(on).is_exact
    for scenario, text, file in scenarios:
        _refuse_twice(scenario.name, names.get(scenario.name), file)
        names[scenario.name] = file
        try:
            runs = []
            for planned in plan.each(scenario, own.known() if own else None, once=once):
                if accept:
                    accept(planned)
                runs.append(planned)
        except ScenarioError as error:
            raise source.placed(error, text, file, overrides) from None
        for planned in runs:
            if pcap:
                planned.plan["record"] = {**planned.plan["record"], "pcap": True}
            host = planned.plan["host"]
            if traffic and host["traffic"] == "auto":
                planned.plan["host"] = {**host, "traffic": traffic}
            request = Request(planned, on, text, overrides, own)
            jobs.append(Job(len(jobs), out / folder_name(planned, scenario.repetitions), request))
    if len({job.folder for job in jobs}) < len(jobs):
        jobs = [job._replace(folder=out / f"{job.planned.name}_{job.number:05d}") for job in jobs]
    return jobs


def _refuse_twice(name: str, before: str | None, file: str) -> None:
    """Raise ScenarioError for a scenario whose name one had `before`, in that file; None for a name that is new."""
    if before is None:
        return
    if file and file == before:
        raise ScenarioError("FILE", f"{file} is given twice")
    of = f" ({before}, {file})" if file else ""
    raise ScenarioError("name", f'two scenarios{of} are called "{name}", wanted different names')


def folder_name(planned: plan.Planned, repetitions: int = 1) -> str:
    """Name of a run's folder: ``name_buffer=1bdp_flow0.cca=bbr_r0``."""
    parts = [planned.name]
    for path, value in planned.vary.items():
        key = path.removeprefix("path.").replace("[", "").replace("]", "")
        parts.append(f"{key}={plain_name(units.value_text(value)).replace('_', '-')}")
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
