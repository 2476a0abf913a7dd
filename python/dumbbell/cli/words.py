"""Commands about the command line itself: help, version, completion."""

from __future__ import annotations

import argparse

from .commands import parser
from .status import OK


def help_(arguments: argparse.Namespace) -> int:
    """Print help."""
    print(parser(arguments.name).format_help(), end="")  # print_help is silent of a disk that is full
    return OK


def version(_: argparse.Namespace) -> int:
    """Versions of package, engine and Python, and the commit."""
    from dumbbell.plan import origin

    versions = {**origin.versions(), "commit": origin.git_revision() or "unknown"}
    print(" ".join(f"{name} {value}" for name, value in versions.items()))
    return OK


def completion(arguments: argparse.Namespace) -> int:
    """A script that completes commands, options, files, and the names of controllers and of the gallery."""
    import shtab

    whole = parser()
    _complete_names(whole)
    if arguments.shell == "fish":
        from .fish import script

        print(script(whole), end="")
        return OK
    _complete_files(whole)
    print(shtab.complete(whole, shell=arguments.shell))
    return OK


def _complete_files(of_program: argparse.ArgumentParser) -> None:
    """Tell which arguments are files or folders, by what they are called."""
    import shtab

    kinds = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
    for action in of_program._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _complete_files(each)
        elif isinstance(action.metavar, str) and action.metavar in kinds:
            vars(action)["complete"] = kinds[action.metavar]


def _complete_names(of_program: argparse.ArgumentParser) -> None:
    """Offer the names that come with the package where a command takes one of them."""
    from dumbbell import controllers
    from dumbbell.scenario import gallery

    names = [entry.name for entry in gallery.entries()]
    known = list(controllers.known())
    for words, choices in (
        (("race",), known),
        (("new",), names),
        (("gallery",), names),
        (("cca", "show"), known),
        (("kernel", "load"), known),
    ):
        at = of_program
        for word in words:
            inner = next(action for action in at._actions if isinstance(action, argparse._SubParsersAction))
            at = inner.choices[word]
        next(action for action in at._actions if not action.option_strings).choices = choices
