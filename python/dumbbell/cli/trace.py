"""`dumbbell trace`: a synthetic radio link as a Mahimahi trace."""

from __future__ import annotations

import argparse
from pathlib import Path

from dumbbell.errors import EngineError, ScenarioError, wrong
from dumbbell.scenario import units
from dumbbell.scenario.units import UnitError

from . import OK


def main(arguments: argparse.Namespace) -> int:
    """Write it."""
    from dumbbell import _native

    mean = _taken("--mean", arguments.mean, units.rate_bps)
    length = _taken("--length", arguments.length, units.span_ns)
    if length % 20_000_000:
        raise wrong("--length", arguments.length, "whole steps of 20ms")
    try:
        text = _native.radio_trace(arguments.radio, arguments.mobility, mean, length // 1_000_000, arguments.seed)
    except (ValueError, OverflowError) as error:
        raise ScenarioError("", str(error)) from None
    try:
        Path(arguments.output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise EngineError(f"{arguments.output}: {error.strerror}") from None
    print(arguments.output)
    return OK


def _taken(name: str, text: str, parse: object) -> int:
    try:
        return int(parse(text))  # type: ignore[operator]
    except UnitError as error:
        raise wrong(name, text, str(error)) from None
