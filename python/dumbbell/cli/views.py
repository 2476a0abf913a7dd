"""Commands that run nothing: check, cca, schema."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dumbbell.controllers import Controller
from dumbbell.errors import ScenarioError, show, wrong
from dumbbell.files import make_folder

from .status import OK


def check(arguments: argparse.Namespace) -> int:
    """What each file would run."""
    from dumbbell import backends
    from dumbbell.runs.check import describe
    from dumbbell.scenario.file import from_file
    from dumbbell.scenario.own import Own
    from dumbbell.scenario.source import placed

    backends.kind(arguments.on)
    own = Own.load(arguments.cca, on=[arguments.on])
    for text in own.kernel_refusals():
        print(f"dumbbell: warning: {text}", file=sys.stderr)
    for file in arguments.files:
        given = from_file(file, overrides=tuple(arguments.overrides))
        try:
            text, warnings = describe(given.scenario, own, on=arguments.on, jobs=arguments.jobs)
        except ScenarioError as error:
            raise placed(error, given.text, file, tuple(arguments.overrides)) from None
        print(text)
        for warning in warnings:
            print(f"dumbbell: warning: {file}: {warning}", file=sys.stderr)
    return OK


def cca(arguments: argparse.Namespace) -> int:
    """Controllers and their parameters."""
    from dumbbell.scenario.own import Own

    if arguments.action == "headers":
        return headers(arguments.dir)
    files = list(arguments.cca)
    if arguments.action == "show" and arguments.name and Path(arguments.name).suffix in (".c", ".py"):
        files.append(arguments.name)
        arguments.name = None
    own = Own.load(files)
    controllers = own.known()
    if arguments.action == "list":
        width = max(map(len, controllers))
        for name, one in controllers.items():
            print(f"{name:{width}}  {one.summary}")
        return OK
    names = [arguments.name] if arguments.name else list(own.sources)
    if not names:
        raise ScenarioError("NAME", "missing: the name of a controller, or a file with one")
    for name in names:
        if name not in controllers:
            raise wrong("NAME", name, f"one of: {', '.join(controllers)}, or a file (.c, .py)", list(controllers))
        _show_controller(controllers[name])
    return OK


def headers(folder: str) -> int:
    """The headers of C controllers, written into a folder."""
    import tempfile

    from dumbbell import _native

    to = Path(folder)
    try:
        to.mkdir(parents=True, exist_ok=True)
        to = to.resolve()  # the folder may be named by a link; nothing below it is one
        with tempfile.TemporaryDirectory(prefix=".dumbbell-", dir=to) as made:  # a header is there whole or not at all
            _native.write_headers(made)
            for file in sorted(path for path in Path(made).rglob("*") if path.is_file()):
                place = to / file.relative_to(made)
                for above in reversed(file.relative_to(made).parents[:-1]):
                    make_folder(to / above)
                file.replace(place)
    except OSError as error:  # those of the library have a text only
        why = error.strerror or str(error).partition(" (os error")[0]
        raise ScenarioError("DIR", f"got {show(folder)}, wanted a folder to write to ({why})") from None
    print(f"{folder}/cca/include for controllers with cca.h, {folder}/kernel for Linux modules")
    return OK


def _show_controller(one: Controller) -> None:
    print(f"{one.name} ({one.license or 'no licence given'})\n\n{one.doc}\n")
    if one.states:
        print(f"States: {', '.join(one.states)}\n")
    print("Parameters:" if one.params else "No parameters.")
    for param in one.params.values():
        unit = f" {param.unit}" if param.unit else ""
        print(
            f"  {param.name} = {param.default}{unit}  ({param.minimum} to {param.maximum})"
            + (f"\n      {param.doc}" if param.doc else "")
        )
    if one.presets:
        print("\nPresets:")
    for preset in one.presets.values():
        print(
            f"  {preset.name}\n      {preset.doc}:\n     "
            f" {', '.join(f'{name} = {value}' for name, value in preset.values.items())}"
        )


def schema(_: argparse.Namespace) -> int:
    """The JSON Schema of scenario files."""
    from dumbbell.scenario.schema import text

    sys.stdout.write(text())
    return OK
