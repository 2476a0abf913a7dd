"""Commands that run nothing: check, cca, schema."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dumbbell.controllers import Controller
from dumbbell.errors import ScenarioError, wrong

from .output import note
from .status import OK
from .writers import write_object


def check(arguments: argparse.Namespace) -> int:
    """Say what each file would run."""
    from dumbbell import backends
    from dumbbell.runs.check import describe
    from dumbbell.scenario.file import from_file
    from dumbbell.scenario.own import Own
    from dumbbell.scenario.source import placed

    backends.kind(arguments.on)
    own = Own.load(arguments.cca, on=[arguments.on])
    for text in () if arguments.json else own.kernel_refusals():
        note(f"warning: {text}")
    for file in arguments.files:
        given = from_file(file, overrides=tuple(arguments.overrides))
        if given.scenario.expect:
            from dumbbell.expect.asked import expectations

            expectations(given, overrides=tuple(arguments.overrides))
        try:
            told = describe(given.scenario, own, on=arguments.on, jobs=arguments.jobs)
        except ScenarioError as error:
            raise placed(error, given.text, file, tuple(arguments.overrides)) from None
        if arguments.json:
            write_object(
                {
                    "scenario": given.scenario.name,
                    "file": file,
                    "on": arguments.on,
                    "runs": told.runs,
                    "at_once": told.workers,
                    "packets": told.packets,
                    "time_s": round(told.seconds, 3),
                    "warnings": [*own.kernel_refusals(), *told.warnings],
                }
            )
            continue
        print(told.text)
        for warning in told.warnings:
            note(f"warning: {file}: {warning}")
    return OK


def cca_list(arguments: argparse.Namespace) -> int:
    """All controllers."""
    from dumbbell.scenario.own import Own

    controllers = Own.load(arguments.cca).known()
    if arguments.json:
        for name, controller in controllers.items():
            write_object({"name": name, "summary": controller.summary, "parameters": _parameters(controller)})
        return OK
    width = max(map(len, controllers))
    for name, controller in controllers.items():
        print(f"{name:{width}}  {controller.summary}")
    return OK


def cca_show(arguments: argparse.Namespace) -> int:
    """One controller with its parameters, or those of one's own files."""
    from dumbbell.scenario.own import Own, is_file

    given = [arguments.name] if arguments.name else []
    files = [name for name in given if is_file(name)]
    own = Own.load([*arguments.cca, *files])
    controllers, names = own.known(), list(own.sources) if files or not given else given
    if not names:
        raise ScenarioError("NAME", "missing: the name of a controller, or a file with one")
    for name in names:
        if name not in controllers:
            raise wrong("NAME", name, f"one of: {', '.join(controllers)}, or a file (.c, .py)", list(controllers))
        is_own = name in own.sources
        if arguments.json:
            write_object(_described(controllers[name], is_own=is_own))
        else:
            _show_controller(controllers[name], is_own=is_own)
    return OK


def cca_headers(arguments: argparse.Namespace) -> int:
    """The headers of C controllers, written into a folder."""
    from dumbbell.controllers import write_headers

    folder = arguments.dir
    try:
        write_headers(Path(folder))
    except OSError as error:  # those of the library have a text only
        why = error.strerror or str(error).partition(" (os error")[0]
        raise wrong("DIR", folder, f"a folder to write to ({why})") from None
    print(f"{folder}/cca/include for controllers with cca.h, {folder}/kernel for Linux modules")
    return OK


def _described(controller: Controller, *, is_own: bool) -> dict[str, object]:
    """A controller as `cca show --json` prints it; what papers say is about built-in ones."""
    from dumbbell.suites import specification

    return {
        "name": controller.name,
        "summary": controller.summary,
        "license": controller.license,
        "states": controller.states,
        "variables": {v.name: {"unit": v.unit, "words": v.words} for v in controller.variables.values()},
        "parameters": _parameters(controller),
        "presets": {preset.name: preset.values for preset in controller.presets.values()},
        "papers": [] if is_own else [statement.as_json() for statement in specification.about(controller.name)],
    }


def _parameters(controller: Controller) -> dict[str, object]:
    return {
        param.name: {"default": param.default, "min": param.minimum, "max": param.maximum, "unit": param.unit}
        for param in controller.params.values()
    }


def _show_controller(controller: Controller, *, is_own: bool) -> None:
    from dumbbell.suites import specification

    print(f"{controller.name} ({controller.license or 'no licence given'})\n\n{controller.doc}\n")
    if controller.states:
        print(f"States: {', '.join(controller.states)}\n")
    if controller.variables:
        print("Variables that [record] variables = true keeps:")
        for variable in controller.variables.values():
            print(f"  {variable.name} ({variable.unit or ' | '.join(variable.words)})\n      {variable.doc}")
        print()
    said = "" if is_own else specification.summary(controller.name)
    if said:
        print(said + "\n")
    print("Parameters:" if controller.params else "No parameters.")
    for param in controller.params.values():
        unit = f" {param.unit}" if param.unit else ""
        print(
            f"  {param.name} = {param.default}{unit}  ({param.minimum} to {param.maximum})"
            + (f"\n      {param.doc}" if param.doc else "")
        )
    if controller.presets:
        print("\nPresets:")
    for preset in controller.presets.values():
        print(
            f"  {preset.name}\n      {preset.doc}:\n     "
            f" {', '.join(f'{name} = {value}' for name, value in preset.values.items())}"
        )


def schema(_: argparse.Namespace) -> int:
    """The JSON Schema of scenario files."""
    from dumbbell.scenario.schema import text

    sys.stdout.write(text())
    return OK
