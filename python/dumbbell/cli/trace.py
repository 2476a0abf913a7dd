"""`dumbbell trace`: what recordings and traces of paths hold, in another form, as a picture; and synthetic ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import units
from dumbbell.errors import EngineError, ScenarioError, printable, wrong
from dumbbell.files import written_whole
from dumbbell.units import UnitError

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
    actions: dict[str, Callable[[argparse.Namespace], int]] = {"info": _info, "convert": _convert, "plot": _plot}
    return actions.get(arguments.action, _generate)(arguments)


def _files(arguments: argparse.Namespace) -> list[File]:
    from . import trace_series

    bin_ns = None if arguments.bin is None else _taken("--bin", arguments.bin, units.span_ns)
    if bin_ns is not None and bin_ns < 1_000_000:
        raise wrong("--bin", arguments.bin, "1ms or more")
    size = None if arguments.opportunity is None else _taken("--opportunity", arguments.opportunity, units.size_bytes)
    if size is not None and not 1 <= size <= 10**9:
        raise wrong("--opportunity", arguments.opportunity, "1B to 1GB")
    choice, forms = _choice(arguments), arguments.format or [None]
    if len(forms) not in (1, len(arguments.file)):
        raise wrong("--format", len(forms), f"it once, or once for each of {len(arguments.file)} files")
    return [
        trace_series.read(Path(name), choice._replace(form=form), bin_ns, size)
        for name, form in zip(arguments.file, forms * len(arguments.file))
    ]


def _choice(arguments: argparse.Namespace) -> Choice:
    """What the options say of the files."""
    from dumbbell.scenario import schedule
    from dumbbell.scenario.recordings.model import Choice

    where = {}
    for text in arguments.where:
        name, separator, value = text.partition("=")
        if not separator:
            raise wrong("--where", text, "a heading and the text of its cells, such as run_num=1")
        where[name] = value
    try:
        schedule.check_units(arguments.unit, arguments.time_unit, arguments.column)
    except UnitError as error:
        raise wrong("--unit", arguments.unit or arguments.time_unit, str(error)) from None
    return Choice(None, arguments.column, arguments.unit, arguments.time, arguments.time_unit, tuple(where.items()))


def _say(files: Sequence[File], *, is_same: bool = False) -> None:
    """Say what files were taken for and what of them is not as it seems; not where the same form is written."""
    for file in files:
        if file.assumed and not is_same:
            print(f"dumbbell: {file.path}: {file.assumed}", file=sys.stderr)
        for note in file.said:
            if note.is_warning:
                print(f"dumbbell: {file.path}: {note.text}", file=sys.stderr)


def _info(arguments: argparse.Namespace) -> int:
    from .trace_info import as_json, described

    files = _files(arguments)
    print(("\n" if arguments.json else "\n\n").join(map(as_json if arguments.json else described, files)))
    return OK


def _convert(arguments: argparse.Namespace) -> int:
    from . import trace_convert

    files = _files(arguments)
    _say(files, is_same=arguments.to == "mahimahi")
    size = units.FRAME_BYTES if arguments.opportunity is None else units.size_bytes(arguments.opportunity)
    made = trace_convert.convert(files, arguments.to, size)
    _write(arguments.output, made.text)
    for lost in made.lost:
        print(f"dumbbell: lost: {lost}", file=sys.stderr)
    return OK


def _plot(arguments: argparse.Namespace) -> int:
    output = Path(arguments.output)
    if output.suffix not in _PICTURES:
        raise wrong("--output", arguments.output, f"a name that ends in one of: {', '.join(_PICTURES)}")
    files = _files(arguments)
    _say(files)
    from dumbbell.plots import style
    from dumbbell.plots.recording import recording

    from .trace_series import UNITS

    drawn = []
    for file in files:
        for one in file.series:
            scale = UNITS[one.quantity][1]
            name = printable(one.name) if len(files) == 1 else f"{file.path.name}: {printable(one.name)}"
            values = [value / scale for _, value in one.points]
            drawn.append((name, one.quantity, [at / 1e9 for at, _ in one.points], values, one.length_ns / 1e9))
    caption = ", ".join(f"{file.path.name} ({units.span_text(file.length_ns)})" for file in files)
    style.save(recording(drawn, caption), output)
    print(arguments.output)
    return OK


def _generate(arguments: argparse.Namespace) -> int:
    """Write a synthetic one."""
    from dumbbell import _native

    mean = _taken("--mean", arguments.mean, units.rate_bps)
    length = _taken("--length", arguments.length, units.span_ns)
    if length % 20_000_000:
        raise wrong("--length", arguments.length, "whole steps of 20ms")
    given = (arguments.action, getattr(arguments, "mobility", "mobile"), mean, length // 1_000_000, arguments.seed)
    try:
        text = _native.radio_trace(*given) if arguments.action in RADIOS else _rows(_native.path_course(*given))
    except (ValueError, OverflowError) as error:
        raise ScenarioError("", str(error)) from None
    _write(arguments.output, text)
    return OK


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


def _taken(name: str, text: str, parse: object) -> int:
    try:
        return int(parse(text))  # type: ignore[operator]
    except UnitError as error:
        raise wrong(name, text, str(error)) from None
