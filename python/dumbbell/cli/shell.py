"""`dumbbell shell`: one command at one end of an emulated path; its exit status becomes ours."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import fields
from pathlib import Path as File

from dumbbell import shell
from dumbbell.backends import linux
from dumbbell.errors import ResultError, ScenarioError, wrong
from dumbbell.files import written_whole

from .output import note


def main(arguments: argparse.Namespace) -> int:
    """Run the command; see `dumbbell shell --help`."""
    command = arguments.argv[1:] if arguments.argv[:1] == ["--"] else arguments.argv
    if not command:
        raise ScenarioError(
            "shell", "wanted a command after --, as in: dumbbell shell --delay 20ms -- iperf3 -c 10.2.0.1"
        )
    given = vars(arguments)
    up, down = (
        shell.Direction(**{field.name: given[f"{way}_{field.name}"] for field in fields(shell.Direction)})
        for way in ("up", "down")
    )
    up, down = shell.directions(arguments.rate, up, down)
    path = shell.Path(
        up=up, down=down, delay=arguments.delay, buffer=arguments.buffer, aqm=arguments.aqm, loss=arguments.loss,
        seed=arguments.seed
    )  # fmt: skip
    shell.plan(path)
    _check_writable(arguments.json)
    linux.prepare()
    ended = shell.run(path, command, far=arguments.far, forward=arguments.forward)
    if arguments.json:
        try:
            with written_whole(File(arguments.json)) as beside:
                beside.write_text(json.dumps(ended) + "\n", encoding="utf-8")
        except OSError as error:
            raise ResultError(f"{arguments.json}: {error.strerror}") from None
    for warning in ended["warnings"]:
        note(warning)
    return int(ended["status"])


def _check_writable(name: str | None) -> None:
    """Raise ScenarioError for a file that the figures could not go to, while no command has run for them."""
    if name is None:
        return
    file = File(name)
    is_possible = os.access(file if file.exists() else file.parent, os.W_OK) and file.parent.is_dir()
    if file.is_dir() or not is_possible:
        raise wrong("--json", name, "a file that can be written, in a folder that exists")
