"""`dumbbell trace`: what recordings and traces of paths hold, in another form, as a picture; and synthetic ones."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import units
from dumbbell.errors import EngineError, ScenarioError, printable, wrong
from dumbbell.files import written_whole
from dumbbell.units import UnitError, parse_option

from .output import note
from .status import OK

if TYPE_CHECKING:
    from dumbbell.scenario.recordings.model import Choice

    from .trace_series import File

#: What `dumbbell trace` writes: one of rates, and one of rate, RTT and loss.
RADIOS, PATHS = ("lte", "wifi"), ("leo", "5g")

#: Suffixes of pictures.
_PICTURES = (".png", ".pdf", ".svg")

_STEP_S = 0.02


def main(arguments: argparse.Namespace) -> int:
    """The action in `arguments`."""
    action = arguments.action
    if action in (*RADIOS, *PATHS):
        mobility = getattr(arguments, "mobility", "mobile")
        text = _generated(action, arguments.mean, arguments.length, mobility, arguments.seed)
        _write(arguments.output, text)
        return OK
    if action == "plot" and Path(arguments.output).suffix not in _PICTURES:
        raise wrong("--output", arguments.output, f"a name that ends in one of: {', '.join(_PICTURES)}")
    choice = _choice(arguments.column, arguments.unit, arguments.time, arguments.time_unit, arguments.where)
    files = _files(arguments.file, arguments.format, choice, bin_=arguments.bin, opportunity=arguments.opportunity)
    if action == "info":
        from .trace_info import as_json, described

        print(("\n" if arguments.json else "\n\n").join(map(as_json if arguments.json else described, files)))
    elif action == "convert":
        _convert(files, arguments.to, arguments.output, arguments.opportunity)
    else:
        _plot(files, arguments.output)
    return OK


def _files(
    names: list[str], forms: list[str], choice: Choice, *, bin_: str | None, opportunity: str | None
) -> list[File]:
    from . import trace_series

    bin_ns = None if bin_ is None else parse_option("--bin", bin_, units.span_ns)
    if bin_ns is not None and bin_ns < 1_000_000:
        raise wrong("--bin", bin_, "1ms or more")
    size = None if opportunity is None else parse_option("--opportunity", opportunity, units.size_bytes)
    if size is not None and not 1 <= size <= 10**9:
        raise wrong("--opportunity", opportunity, "1B to 1GB")
    if len(forms) not in (0, 1, len(names)):
        raise wrong("--format", len(forms), f"it once, or once for each of {len(names)} files")
    return [
        trace_series.read(Path(name), choice._replace(form=form), bin_ns, size)
        for name, form in zip(names, (*forms, *[forms[0] if forms else None] * len(names)))
    ]


def _choice(column: str | None, unit: str | None, time: str | None, time_unit: str | None, where: list[str]) -> Choice:
    """Choices in the files, from the options."""
    from dumbbell.scenario import schedule
    from dumbbell.scenario.recordings.model import Choice

    cells = {}
    for text in where:
        name, separator, value = text.partition("=")
        if not separator:
            raise wrong("--where", text, "a heading and the text of its cells, such as run_num=1")
        cells[name] = value
    try:
        schedule.check_units(unit, time_unit, column)
    except UnitError as error:
        raise wrong("--unit", unit or time_unit, str(error)) from None
    return Choice(None, column, unit, time, time_unit, tuple(cells.items()))


def _say(files: Sequence[File], *, is_same: bool = False) -> None:
    """Say what files were taken for and what of them is not as it seems; not where the same form is written."""
    for file in files:
        if file.assumed and not is_same:
            note(f"{file.path}: {file.assumed}")
        for said in file.said:
            if said.is_warning:
                note(f"{file.path}: {said.text}")


def _convert(files: Sequence[File], form: str, output: str, opportunity: str | None) -> None:
    from . import trace_convert

    _say(files, is_same=form == "mahimahi")
    size = units.FRAME_BYTES if opportunity is None else units.size_bytes(opportunity)
    converted = trace_convert.convert(files, form, size)
    _write(output, converted.text)
    for lost in converted.lost:
        note(f"lost: {lost}")


def _plot(files: Sequence[File], output: str) -> None:
    _say(files)
    from dumbbell.plots import style
    from dumbbell.plots.recording import recording

    from .trace_series import UNITS

    drawn = []
    for file in files:
        for series in file.series:
            scale = UNITS[series.quantity][1]
            name = printable(series.name) if len(files) == 1 else f"{file.path.name}: {printable(series.name)}"
            values = [value / scale for _, value in series.points]
            drawn.append((name, series.quantity, [at / 1e9 for at, _ in series.points], values, series.length_ns / 1e9))
    caption = ", ".join(f"{file.path.name} ({units.span_text(file.length_ns)})" for file in files)
    style.save(recording(drawn, caption), Path(output))
    print(output)


def _generated(kind: str, mean: str, length: str, mobility: str, seed: int) -> str:
    """The text of a synthetic one."""
    from dumbbell import _native

    mean_bps = parse_option("--mean", mean, units.rate_bps)
    length_ns = parse_option("--length", length, units.span_ns)
    if length_ns % 20_000_000:
        raise wrong("--length", length, "whole steps of 20ms")
    given = (kind, mobility, mean_bps, length_ns // 1_000_000, seed)
    try:
        return _native.radio_trace(*given) if kind in RADIOS else _rows(_native.path_course(*given))
    except (ValueError, OverflowError) as error:
        raise ScenarioError("", str(error)) from None


def _rows(points: list[tuple[int, int, int]]) -> str:
    """A table of rate, RTT and loss, with a row for each 20 ms."""
    lines = ["time_s,rate_mbps,rtt_ms,loss_percent"]
    for i, (bps, rtt_ns, ppb) in enumerate(points):
        lines.append(f"{i * _STEP_S:.2f},{bps / 1e6:.3f},{rtt_ns / 1e6:.3f},{ppb / 1e7:g}")
    return "\n".join(lines) + "\n"


def _write(output: str, text: str) -> None:
    try:
        with written_whole(Path(output)) as beside:
            beside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EngineError(f"{output}: {error.strerror}") from None
    print(output)
